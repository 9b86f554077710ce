/*
 * squad_windows.h - rows for a model that reads a question and a part of its context:
 *
 *     [CLS] question [SEP] context tokens first..first+count [SEP] [PAD]...
 *     segment 0                    segment 1                       0
 *
 * A context that does not fit is cut into windows, by one of two customs:
 *   Hugging Face  neighbours share `stride` tokens. The question stays whole, unless it leaves
 *                 the context no more than that: then it is cut to question_tokens.
 *   Google        a window begins `stride` tokens after the one before. The question is cut to
 *                 question_tokens. Of each token the window counts in which it has the most
 *                 context: the largest min(tokens left of it, right of it) + 0.01 count, the
 *                 earlier of two.
 * In both the last window is the first that reaches the context's end, and a context without
 * tokens has one window without any.
 *
 * An answer's place in a window: the last token that begins at or before it, and the first that
 * ends at or behind it. A window that does not hold all of it, or a question without answer, has
 * 0, the place of [CLS]. Of several answers the first is learnt.
 *
 * This folder knows no tokenizer, so tokens come from a function; their places are in code
 * points of the text, so that an answer is a slice of the text as it is written.
 *
 * Sources: Devlin et al. 2019, run_squad.py of the reference; Hugging Face's question answering
 * examples.
 */
#ifndef TEXTMILL_SQUAD_SQUAD_WINDOWS_H
#define TEXTMILL_SQUAD_SQUAD_WINDOWS_H

#include "common/ids.h"
#include "squad/squad.h"

/* Token i is code points [begins[i], ends[i]) of its text. */
struct squad_tokens {
    struct ids ids, begins, ends;
};

/* Appends the tokens of a text, in order, without special ones. -1 with an error. */
typedef int squad_encode(void *encoder, struct squad_text text, struct squad_tokens *out);

struct squad_window_rules {
    int google;
    uint32_t length, stride, question_tokens; /* usually 384, 128, 64 */
    int64_t cls, sep, pad; /* ids; negative: the vocabulary has none, which is an error */
};

struct squad_window {
    size_t question;
    uint32_t first, count; /* of the context's tokens */
    uint32_t start, end;   /* positions in the row of the answer's first and last token, or 0 */
};

struct squad_windows {
    struct squad_window_rules rules;
    const struct squad *squad;      /* borrowed */
    struct squad_tokens *contexts;  /* by paragraph */
    struct squad_tokens *questions; /* by question, cut already */
    struct squad_window *items;
    size_t count, cap;
    size_t *of_question; /* windows of question q: of_question[q]..of_question[q + 1) */
    size_t cut_questions, dropped_questions;
};

/* What the stride is where nobody says: a third of the length, but at most 128. */
uint32_t squad_usual_stride(uint32_t length);

/* Makes the windows of all questions. For training those are dropped whose first answer is
 * nowhere in its context. -1 with an error, and *w released: a question that leaves no room for
 * its context, or what `encode` says. */
int squad_windows_make(struct squad_windows *w, const struct squad *s,
                       const struct squad_window_rules *rules, int training, squad_encode *encode,
                       void *encoder);
void squad_windows_release(struct squad_windows *w);

/* The row position of a window's first context token. */
uint32_t squad_window_offset(const struct squad_windows *w, size_t window);

/* Writes a window's row: rules.length ids and segments. Returns how many are no padding. */
uint32_t squad_window_row(const struct squad_windows *w, size_t window, uint32_t *ids,
                          uint32_t *segments);

/* Whether of all windows this has the most context of the context's token, which it holds. */
int squad_window_counts(const struct squad_windows *w, size_t window, uint32_t token);

#endif
