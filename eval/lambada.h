/*
 * lambada.h - predicting the last word of a passage (Paperno et al. 2016), by two rules.
 *
 * Input: JSON lines, each an object whose "text" is a passage.
 *
 *   word  W is the last word (separated by white space). The context is the text before it, without
 *         white space at its ends. The labels are the tokens that the context with " W" has more
 *         than the context. The passage is right if each label is the model's most probable token
 *         after the context and the labels before it. This is the published rule.
 *   token The label is the last token of the whole passage. It is usually only a part of a word,
 *         so this rule is easier.
 *
 * The tokens with which the vocabulary begins a text stand before the context, as
 * lm-evaluation-harness has them. A passage longer than the model's positions is cut at its
 * beginning. A passage without context (a single word) is counted as skipped and not scored.
 */
#pragma once

#include "eval/score.h"
#include "tokenizer/tokenizer.h"

struct lambada_score {
    uint64_t passages;    /* scored */
    uint64_t skipped;     /* without context */
    uint64_t words_right; /* passages right by the rule `word` */
    uint64_t tokens_right;
    uint64_t word_tokens; /* labels of the rule `word` */
    double word_nll;      /* sum of the losses of the last words, in nats */
    double word_squares;  /* sum of the squares of these losses */
};

/* Reads `path` ("-": stdin) to its end, scores its passages and sets *score. Returns 0, or -1, with
 * file and line in the error, for bad JSON or a missing "text". */
int lambada_score(struct lambada_score *score, struct scorer *s, const struct tokenizer *t,
                  struct encoder *e, const char *path);

/* Appends the "text" of one line to `text`. `name` names the line in errors. Returns 0, or -1 with
 * an error. */
int lambada_parse(const char *line, size_t n, const char *name, struct buf *text);
