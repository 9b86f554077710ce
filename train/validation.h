/*
 * validation.h - the loss on the validation data, and the calibration of the logits.
 *
 * The data-parallel ranks share the micro-batches: micro-batch k is evaluated by rank k mod ranks.
 * Scores are added in the order of the micro-batches, so the loss has the same bits for any number
 * of ranks.
 */
#pragma once

#include "train/plan.h"
#include "train/report/page.h"
#include "train/step/engine.h"

struct validation {
    const struct plan *plan; /* borrowed, like engine */
    struct engine *engine;
    struct sequences *round;            /* [plan_validation_round]: micro-batches */
    uint64_t bytes;                     /* of text (validation_check); 0: not known */
    struct page_calibration calibrated; /* set by validation_calibrate */
};

/* Makes room for the micro-batches of a round. The plan must have validation data. */
void validation_open(struct validation *v, const struct plan *p, struct engine *e);
void validation_close(struct validation *v); /* fine on a zeroed struct */

/* Adds to *score the score of the first samples of the validation data (--validation-batches). All
 * ranks must call it. After a second signal (stop.h) it ends early, and the score is zero. Returns
 * 0, or -1 with an error. */
int validation_score(struct validation *v, struct engine_score *score);

/* Reads the validation's samples, so that errors show before the first update, and sets v->bytes to
 * the number of bytes of text that their labels stand for, special tokens not counted. It stays 0
 * unless the tokens of a GPT or a Llama are bytes of the text. Returns 0, or -1 with an error. */
int validation_check(struct validation *v);

/* Multiplies the logits by the factor for which the validation loss is least: temperature scaling
 * (Guo et al., "On Calibration of Modern Neural Networks", ICML 2017). Sets v->calibrated if there
 * is one. All ranks must call it. Returns 0, or -1 with an error. */
int validation_calibrate(struct validation *v);
