/*
 * metrics.h - the measurements of a run: in memory, in metrics.jsonl, in training.csv, and in a
 * TensorBoard file.
 *
 * metrics.jsonl has one object a line:
 *
 *     {"step":100,"loss":4.123,"learning_rate":6e-04,"gradient_norm":0.9,"tokens":409600,
 *      "seconds":0.611,"elapsed_seconds":61.5,"tokens_per_second":6703.8,"validation_loss":4.2}
 *
 * step is the number of updates done. loss is the loss of the update's global batch before the
 * update, in nats per label. gradient_norm is the norm before clipping. null means infinity or NaN.
 * tokens and elapsed_seconds count from step 0, over all resumed runs. seconds is the mean time per
 * update since the line before, without validation and saving; tokens_per_second is computed from
 * the same time. validation_loss is present if it was measured (after the update). If the loss has
 * several parts, each part has its loss and its accuracy (the fraction of labels that were
 * predicted as the most likely): "mlm_loss":7.4,"mlm_accuracy":0.12,"nsp_loss":0.69, ..., and
 * "validation_mlm_loss":7.2, .... In the TensorBoard file these are loss/mlm, accuracy/mlm,
 * loss/validation_mlm and accuracy/validation_mlm.
 *
 * The first line of each run, also of a resumed one, ends in an object with the facts that say
 * where the run comes from (origin.h): "run":{"command":"train ...","date":..., ...}. The
 * TensorBoard file has them as a text, and the run's settings as hyperparameters.
 *
 * "sample" is present if the model has written a text after the update (train --sample). "shares"
 * says which share of the time of this run's updates went where: {"products":0.71, ...}. Some of
 * the updates are measured, so it is present from the second on, and on a CPU only.
 *
 * training.csv has the same numbers, but those of "shares", in columns of the same names. A field
 * without a number is empty.
 */
#pragma once

#include "common/formats/kv.h"
#include "model/network/model.h"
#include "train/report/event.h"

enum { METRICS_PARTS = MODEL_PARTS };

/* The values of a part of the loss. */
enum metrics_value {
    METRICS_LOSS,
    METRICS_ACCURACY,
    METRICS_VALIDATION, /* validation loss; the next value is the validation accuracy */
    METRICS_VALUES = METRICS_VALIDATION + 2
};

/* Where the time of an update goes. TIME_OPTIMIZER includes the norm of the gradients, TIME_WAITING
 * the waiting for the disk and for other ranks, TIME_READING the reading of samples. */
enum metrics_time {
    TIME_PRODUCTS,
    TIME_ATTENTION,
    TIME_LOSS,
    TIME_OPTIMIZER,
    TIME_WAITING,
    TIME_READING,
    TIME_OTHER,
    TIME_KINDS
};
extern const char *const metrics_times[TIME_KINDS]; /* their names */

struct metrics_point {
    int64_t step;
    double loss, validation; /* validation: NAN if not measured */
    double rate, norm;
    double tokens, seconds, elapsed, tokens_per_second;
    double part[METRICS_PARTS][METRICS_VALUES]; /* NAN if not measured */
    double seconds_of[TIME_KINDS]; /* only their proportions count; all 0: not measured */
    char *sample;                  /* NULL: none */
};

struct metrics {
    struct metrics_point *points;
    size_t count, cap;
    struct file_log log, csv, events;
    struct buf run;                         /* what is added to the next line of metrics.jsonl */
    const struct model_part *parts;         /* borrowed */
    int part_count;                         /* 0 if the parts have no names */
    struct model_part found[METRICS_PARTS]; /* the parts of a run that metrics_read has read */
};

/* Opens the files in folder `dir` to continue after step `step`. Points of later steps are removed
 * from the files; the others are read into m->points. Step 0 starts new files. The loss has the
 * `count` parts in `parts`, which is borrowed; if count is above 1, the values of each part are
 * written, too. Returns 0, or -1 with an error; the caller calls metrics_close even then. */
int metrics_open(struct metrics *m, const char *dir, int64_t step, const struct model_part *parts,
                 int count);

/* Reads the points of the run in folder `dir`, which may go on meanwhile; changes no file. The
 * struct is zeroed before, and the caller calls metrics_close even after an error. Returns 0, or -1
 * with an error, also if there are no points. */
int metrics_read(struct metrics *m, const char *dir);

/* Begins a run after step `step`: gives the files its facts and the text of its config.yaml. Call
 * it once, after metrics_open. Returns 0, or -1 with an error. */
int metrics_begin(struct metrics *m, int64_t step, const struct kv *origin, const char *config);

/* Append the first line of training.csv, and the line of a point. */
void metrics_csv_header(const struct metrics *m, struct buf *out);
void metrics_csv_line(const struct metrics *m, const struct metrics_point *p, struct buf *out);

/* Appends the member "shares" of a point, after a comma; nothing if they were not measured. */
void metrics_shares(const struct metrics_point *p, struct buf *out);

/* metrics_add adds a point to m->points and to the files; its sample is taken. metrics_sync waits
 * until all data is on the disk. metrics_close is fine on a zeroed struct. All return 0, or -1 with
 * an error. */
int metrics_add(struct metrics *m, const struct metrics_point *p);
int metrics_sync(struct metrics *m);
int metrics_close(struct metrics *m);
