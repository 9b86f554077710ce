/*
 * loop.h - the training run: steps, validation, log lines, checkpoints, and the files of OUT.
 *
 *     OUT/config.yaml                    the configuration in force
 *     OUT/metrics.jsonl                  metrics.h
 *     OUT/training.csv                   the same numbers as a table
 *     OUT/events.out.tfevents.textmill   event.h
 *     OUT/report.html                    page.h
 *     OUT/checkpoints/step-000100/       checkpoint.h
 *     OUT/config.json model.safetensors  the finished model, with the tokenizer's files:
 *                                        written when the last step is done, and not before
 *
 * SIGINT, SIGTERM and SIGHUP, to any of the ranks, let the step end, save a checkpoint and return;
 * a second one kills.
 */
#ifndef TEXTMILL_TRAIN_LOOP_H
#define TEXTMILL_TRAIN_LOOP_H

#include <stdint.h>

#include "train/comm.h"
#include "train/plan.h"

struct loop_result {
    int64_t steps; /* done by this run */
    uint64_t tokens;
};

/* `config`: the text of config.yaml, without `resume`. `flags`: of an option, OPT_FIXED and the
 * others: they say whether a run that is resumed may have another value. Every rank of `c` calls
 * it; the first one alone logs and writes. All return the same result. */
int loop_run(struct plan *p, const char *config, unsigned (*flags)(const char *option), int threads,
             struct comm *c, struct loop_result *result);

/* The signal that ends the run after this step; 0: none yet. */
const volatile int *loop_stop_signal(void);

#endif
