/*
 * metrics.h - what a run measured, in memory, in metrics.jsonl, training.csv and a TensorBoard
 * file.
 *
 * metrics.jsonl has one object a line:
 *
 *     {"step":100,"loss":4.123,"learning_rate":6e-04,"gradient_norm":0.9,"tokens":409600,
 *      "seconds":0.611,"elapsed_seconds":61.5,"tokens_per_second":6703.8,"validation_loss":4.2}
 *
 * step counts updates done; loss is that of the update's global batch, before the update, in nats
 * a label; gradient_norm is before clipping; null stands for what is no number; tokens and
 * elapsed_seconds count from step 0, over all resumed runs; seconds is the mean of an update since
 * the line before, without validation and saving, and tokens_per_second follows from it;
 * validation_loss stands where it was measured (after the update); loss_scale, of this update,
 * where it is automatic. A loss of several parts has each of them too, with the share of labels
 * that were the most likely: "mlm_loss":7.4,"mlm_accuracy":0.12,"nsp_loss":0.69, ..., and
 * "validation_mlm_loss":7.2, .... In the TensorBoard file these are loss/mlm, accuracy/mlm,
 * loss/validation_mlm and accuracy/validation_mlm.
 *
 * training.csv has the same numbers in columns of the same names; a field is empty where there is
 * no number.
 */
#ifndef TEXTMILL_TRAIN_METRICS_H
#define TEXTMILL_TRAIN_METRICS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/model.h"
#include "train/event.h"

enum { METRICS_PARTS = MODEL_PARTS };

/* What is known of a part. */
enum metrics_value {
    METRICS_LOSS,
    METRICS_ACCURACY,
    METRICS_VALIDATION, /* and its accuracy behind it */
    METRICS_VALUES = METRICS_VALIDATION + 2
};

struct metrics_point {
    int64_t step;
    double loss, validation; /* validation: NAN where not measured */
    double rate, norm;
    uint64_t tokens;
    double seconds, elapsed, tokens_per_second;
    double loss_scale;                          /* above 0 where it is automatic */
    double part[METRICS_PARTS][METRICS_VALUES]; /* NAN where not measured */
};

struct metrics {
    struct metrics_point *points;
    size_t count, cap;
    char *path, *csv_path;
    FILE *file, *csv;
    struct event_writer events;
    const struct model_part *parts; /* borrowed */
    int part_count;                 /* 0 where the loss is of one piece */
};

/* Opens the files in folder `dir` to go on after `step`: points beyond it are dropped from the
 * files, the others are read back. Step 0 starts afresh. The loss has `count` parts; what there is
 * of each is written where there are several. */
int metrics_open(struct metrics *m, const char *dir, int64_t step, const struct model_part *parts,
                 int count);

int metrics_add(struct metrics *m, const struct metrics_point *p);
int metrics_sync(struct metrics *m);  /* all on the disk */
int metrics_close(struct metrics *m); /* fine on a zeroed struct */

#endif
