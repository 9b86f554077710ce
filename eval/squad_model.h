/*
 * squad_model.h - a BERT with the head for questions, run over windows (squad/squad_windows.h).
 *
 * Windows run side by side, their real tokens one behind the other: padding costs nothing.
 */
#ifndef TEXTMILL_EVAL_SQUAD_MODEL_H
#define TEXTMILL_EVAL_SQUAD_MODEL_H

#include <stdint.h>

#include "eval/network.h"
#include "eval/squad_answers.h"
#include "tokenizer/tokenizer.h"

struct squad_model {
    struct network net;
    /* of a batch, reused */
    uint32_t *ids, *segments; /* [windows,T] */
    int64_t *lengths;         /* [windows] */
    size_t ids_cap, segments_cap, lengths_cap;
    struct ops_array last; /* [net.rows,2], */
    float *logits;         /* and the host's copy */
};

/* Loads the model folder `dir`. `rows`: tokens run at a time, raised to hold one window. */
int squad_model_open(struct squad_model *m, const char *dir, const char *device, int threads,
                     enum ops_type weights, int64_t rows);
void squad_model_close(struct squad_model *m); /* fine on a zeroed one */

/* The windows of all questions, as for evaluation. Of the rules cls, sep and pad are set. */
int squad_model_windows(struct squad_windows *w, const struct squad *s,
                        const struct squad_window_rules *rules, const struct tokenizer *t);

/* Answers all questions. `progress` is called with the windows done so far. */
int squad_model_answer(struct squad_answers *a, struct squad_model *m,
                       const struct squad_windows *w, void (*progress)(uint64_t done));

/* The answer to question 0. */
int squad_model_best(struct squad_best *best, struct squad_model *m,
                     const struct squad_answer_rules *rules, const struct squad_windows *w);

#endif
