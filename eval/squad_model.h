/*
 * squad_model.h - runs a BERT with the question answering head over windows
 * (squad/squad_windows.h).
 *
 * Only tokens that are not padding are run; those of a batch's windows are packed one after
 * another, so padding costs no time.
 */
#pragma once

#include "eval/network.h"
#include "eval/squad_answers.h"
#include "tokenizer/tokenizer.h"

struct squad_model {
    struct network net;
    struct ops_array last; /* [net.rows,2]: logits on the device */
    float *logits;         /* copy of `last` in host memory */
};

/* Prepares a model whose `net` was opened with HEAD_QUESTIONS; the rest of it is zeroed. `dir` is
 * its folder. Returns 0, or -1 with an error if it cannot tell question and context apart. */
int squad_model_init(struct squad_model *m, const char *dir);
void squad_model_close(struct squad_model *m); /* does nothing for a zeroed struct */

/* Makes the windows of all questions, for evaluation. The rules' cls, sep and pad are set from t.
 * Returns 0, or -1 with an error. */
int squad_model_windows(struct squad_windows *w, const struct squad *s,
                        const struct squad_window_rules *rules, const struct tokenizer *t);

/* Answers all questions of w and adds the answers to *a. Calls `progress` with the number of
 * windows done so far. Returns 0, or -1 with an error. */
int squad_model_answer(struct squad_answers *a, struct squad_model *m,
                       const struct squad_windows *w, void (*progress)(uint64_t done));

/* Answers question 0 of w only, and sets *best. Returns 0, or -1 with an error. */
int squad_model_best(struct squad_best *best, struct squad_model *m,
                     const struct squad_answer_rules *rules, const struct squad_windows *w);
