/*
 * checkpoint.h - checkpoints: the files from which a training run can be resumed.
 *
 * OUT/checkpoints/step-000100/ is a model folder (model/folder/folder.h, with the tokenizer's
 * files). It also holds
 *
 *     training/optimizer.safetensors  the optimizer's moments of each tensor, NAME.moment1 and
 *                                     NAME.moment2 (only those that the optimizer has), F32 or
 *                                     BF16. These and the weights may be in one file for each
 *                                     block (saved.h).
 *     training/config.yaml            the configuration of the run
 *     training/state                  key=value: step, position (samples used), order (number of
 *                                     the sample order, batches.h; 1 if absent), tokens,
 *                                     milliseconds, sequences (in the data set; 0: generated),
 *                                     content (hash of the checksums of its files; absent if they
 *                                     are not known),
 *                                     blend (hash of its sources; absent if it is no blend),
 *                                     vocabulary (its checksum; absent if it is not known),
 *                                     validation (the loss at that step, if it was measured),
 *                                     next_rate (the learning rate that the next update would
 *                                     have), arithmetic (plan_arithmetic), leaves (partial sums of
 *                                     an update), all three absent in older checkpoints; and the
 *                                     checksums of all files (sums.h)
 *
 * All random numbers are computed from counters (rng.h), so step and position are the whole random
 * state. A checkpoint is written in a temporary folder, synced, and then renamed, and it is renamed
 * before it is removed, so a folder with a checkpoint's name is always complete. Every file is
 * checked against `state` before it is used.
 */
#pragma once

#include "train/plan.h"
#include "train/ranks/comm.h"
#include "train/saved.h"
#include "train/store/store.h"

struct checkpoint {
    int64_t step;        /* updates done */
    uint64_t position;   /* samples used */
    uint64_t order;      /* number of the sample order when it was saved (BATCHES_ORDER) */
    uint64_t tokens;     /* tokens used, without padding */
    uint64_t sequences;  /* sequences in the data set; 0: generated */
    uint64_t content;    /* dataset_facts.content of the data set; 0: not known */
    uint64_t blend;      /* samples.blend of the data set; 0: no blend */
    uint64_t vocabulary; /* checksum; 0: not known */
    uint64_t leaves;     /* partial sums of gradients in an update; 0: not known */
    double seconds;      /* seconds of training, over all resumed runs */
    double validation;   /* loss at this step; NAN: not measured */
    double next_rate;    /* learning rate that the next update would have; NAN: not known */
    char arithmetic[PLAN_ARITHMETIC]; /* plan_arithmetic; "": not known */
};

/* What is saved beside the state, to the output folder in the plan's settings: the store, and the
 * plan's tokenizer and other texts. All pointers are borrowed. */
struct checkpoint_content {
    const struct plan *plan;
    struct store *store;
    struct comm *comm;
    const char *config; /* the text of config.yaml */
};

/* Saves the checkpoint OUT/checkpoints/step-N, and then prunes (checkpoint_prune). All ranks must
 * call these functions. The bytes of a checkpoint do not depend on the number of ranks (saved.h).
 *
 * checkpoint_begin writes all tensors to the system's page cache; then the store may change.
 * Threads wait for the disk and compute checksums. A checkpoint of that step that exists already is
 * kept unchanged. Sets *work, or NULL if nothing is left to do. Returns 0, or -1 with an error.
 * *from must stay unchanged, except its store. checkpoint_waits returns 1 if a thread of this rank
 * is busy, else 0. checkpoint_go_on waits for the threads, and begins what follows. Returns 1 if it
 * is to be called again; 0, or -1 with an error, when the checkpoint has ended, and sets *work to
 * NULL. If only the last part fails, which the first rank does, only it returns the error. */
struct checkpoint_work;
int checkpoint_begin(struct checkpoint_work **work, const struct checkpoint *c,
                     const struct checkpoint_content *from);
int checkpoint_waits(struct checkpoint_work *w);
int checkpoint_go_on(struct checkpoint_work **work);

/* Begins to write the model folder OUT, with the tokenizer's files, as checkpoint_begin does a
 * checkpoint. Its tensors are F32 or BF16, as the store keeps them. Old files of weights in the
 * folder, in one file or several, are replaced. */
int checkpoint_begin_model(struct checkpoint_work **work, const struct checkpoint_content *from);

/* Checks all files of the checkpoint at `path`, and sets *c and *config to its state and the text
 * of its config.yaml. All ranks must call it; each checks a part of the files. Returns the same on
 * all ranks: 0; SUMS_DAMAGED with an error if a file is damaged or missing; or -1 with an error if
 * a file cannot be read, as after an I/O error. */
int checkpoint_read(const char *path, struct comm *comm, struct checkpoint *c, struct buf *config);

/* Checks that all ranks see the folder `path`: the output folder `out`, or a checkpoint in it.
 * Returns the same on all of them: 0, or -1 with an error. */
int checkpoint_all_see(struct comm *comm, const char *out, const char *path);

/* Finds the newest undamaged checkpoint of the output folder `out`. All ranks must call it. Returns
 * 1 and sets *path, *c and *config (checkpoint_read); 0 when there is no checkpoint; -1 with the
 * error of the newest one when all are damaged, or if one cannot be read, or a rank does not see
 * the checkpoint that the first rank sees. Renames damaged checkpoints that are newer than the one
 * found to "step-000100.damaged" (or ".damaged-2" and so on), so that the run can save those steps
 * again. Appends one line to `damaged` for each damaged checkpoint, which says what is wrong. */
int checkpoint_find(const char *out, struct comm *comm, struct buf *path, struct checkpoint *c,
                    struct buf *config, struct buf *damaged);

/* Sets *path to the newest checkpoint of the output folder `out` whose small files (all but weights
 * and moments) are undamaged. If all are damaged, *path is the oldest checkpoint; if there is no
 * checkpoint, it is "". Returns 0, or -1 with an error. */
int checkpoint_newest(const char *out, struct buf *path);

/* Removes all checkpoints of the folder `out` except the last `keep` and the one with the lowest
 * validation loss. keep 0 removes none. One that is read-only, or holds other files than those that
 * its state lists, stays, with a warning. Returns 0, or -1 with an error. */
int checkpoint_prune(const char *out, int64_t keep);

/* Removes all checkpoints of the folder `out`. Returns 0, or -1 with an error, also if one would
 * stay when checkpoint_prune removes it. */
int checkpoint_remove_all(const char *out);
