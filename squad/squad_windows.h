/*
 * squad_windows.h - input rows for a model that reads a question and a part of its context:
 *
 *     [CLS] question [SEP] context tokens first..first+count [SEP] [PAD]...
 *     segment 0                    segment 1                       0
 *
 * A context that does not fit in one row is cut into windows, by one of two conventions:
 *   - Hugging Face: neighbouring windows share `stride` tokens. The question is cut to
 *     question_tokens only if it leaves room for `stride` context tokens or fewer.
 *   - Google: a window begins `stride` tokens after the previous one. The question is always cut to
 *     question_tokens. A token in several windows is scored only in the window with the most
 *     context around it: the largest min(tokens left of it, tokens right of it) + 0.01 * count; of
 *     equal windows, the first.
 *
 * In both, the last window is the first one that reaches the end of the context. A context without
 * tokens has one empty window.
 *
 * In a window, the answer's first token is the last token that begins at or before the answer, and
 * its last token is the first one that ends at or after the answer's end. The positions are 0, the
 * position of [CLS], if the question is not answerable or the window lacks a part of the answer. If
 * there are several answers, the first one is used.
 *
 * This folder does not use a tokenizer of its own: the caller passes a function that returns
 * tokens. The positions of tokens are given in code points of the text, so an answer is a slice of
 * the original text.
 *
 * Sources: Devlin et al. 2019, run_squad.py of the reference; Hugging Face's question answering
 * examples.
 */
#pragma once

#include "common/base/ids.h"
#include "squad/squad.h"

/* Appends the tokens of a text to `out`, in order, without special tokens. Returns 0, or -1 with an
 * error. */
typedef int squad_encode(void *encoder, struct span text, struct placed *out);

struct squad_window_rules {
    int google;
    uint32_t length, stride;  /* usually 384, 128 */
    uint32_t question_tokens; /* 0: half of the length, at most 64 */
    int64_t cls, sep, pad;    /* token ids; negative: not in the vocabulary, an error */
};

struct squad_window {
    size_t question;
    uint32_t first, count; /* range of context tokens */
    uint32_t start, end;   /* row positions of the answer's first and last token, or 0 */
};

struct squad_windows {
    struct squad_window_rules rules;
    const struct squad *squad; /* borrowed */
    struct placed *contexts;   /* by paragraph */
    struct placed *questions;  /* by question, after cutting */
    struct squad_window *items;
    size_t count, cap;
    size_t *of_question; /* question q has windows of_question[q]..of_question[q + 1) */
    size_t cut_questions, dropped_questions;
};

/* Returns the default stride: a third of the row length, at most 128. */
uint32_t squad_usual_stride(uint32_t length);

/* Makes the windows of all questions. For training, questions whose first answer is not in its
 * context are dropped. Returns 0, or -1 with an error and *w released, if a special token is
 * missing, a question leaves no room for its context, or `encode` fails. */
int squad_windows_make(struct squad_windows *w, const struct squad *s,
                       const struct squad_window_rules *rules, int training, squad_encode *encode,
                       void *encoder);
void squad_windows_release(struct squad_windows *w);

/* Returns the row position of a window's first context token. */
uint32_t squad_window_offset(const struct squad_windows *w, size_t window);

/* Writes a window's row: rules.length ids and segments. Returns the number of tokens before the
 * padding. */
uint32_t squad_window_row(const struct squad_windows *w, size_t window, uint32_t *ids,
                          uint32_t *segments);

/* Returns 1 if, of all windows with the context token `token`, this window has the most context
 * around it, else 0 (Google's rule above). The window must contain the token. */
int squad_window_counts(const struct squad_windows *w, size_t window, uint32_t token);
