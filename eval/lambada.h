/*
 * lambada.h - predicting the last word of a passage (Paperno et al. 2016), by two rules.
 *
 * Input: JSON lines, each an object whose "text" is a passage.
 *
 *   word  W is the last word (between white space), the context what stands before it, stripped.
 *         The labels are the tokens of " W". Right if each label is the model's first choice
 *         after the context and the labels before it. This is the published rule.
 *   token The label is the last token of the whole passage: usually a part of a word, so easier.
 *
 * A passage longer than the model is cut at its beginning. One without context (a single word)
 * is counted apart and not scored.
 */
#ifndef TEXTMILL_EVAL_LAMBADA_H
#define TEXTMILL_EVAL_LAMBADA_H

#include <stdint.h>

#include "common/buf.h"
#include "eval/score.h"
#include "tokenizer/tokenizer.h"

struct lambada_score {
    uint64_t passages;    /* scored */
    uint64_t skipped;     /* without context */
    uint64_t words_right; /* rule `word` */
    uint64_t tokens_right;
    uint64_t word_tokens; /* labels of rule `word` */
    double word_nll;      /* nats, of all last words */
    double word_squares;  /* sum of their losses squared */
};

/* Reads `path` ("-": stdin) to its end. -1 with file and line for bad JSON and missing text. */
int lambada_score(struct lambada_score *score, struct scorer *s, struct encoder *e,
                  const char *path, void (*progress)(uint64_t done));

/* The "text" of one line, appended to `text`. `name` stands in errors. */
int lambada_parse(const char *line, size_t n, const char *name, struct buf *text);

#endif
