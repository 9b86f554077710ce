/*
 * checkpoint.h - a training run on disk, to go on from.
 *
 * OUT/checkpoints/step-000100/ is a model folder (model/folder.h, with the tokenizer's files)
 * and beside it
 *
 *     training/optimizer.safetensors  the optimizer's moments of each tensor:
 *                                     NAME.moment1 and NAME.moment2, as far as it has them, F32
 *                                     or BF16; of a schedule-free one also NAME.point, where
 *                                     gradients are taken, the model being its weights
 *     training/config.yaml            the configuration that made it
 *     training/state                  key=value: step, position (samples used), order (what
 *                                     positions mean: batches.h; 1 where it is not said), tokens,
 *                                     milliseconds, sequences (of the data set; 0 generated),
 *                                     validation (the loss at that step, where it was measured),
 *                                     where there is one rate_squares, and loss_scale with
 *                                     scale_good (updates since it has changed); and the checksums
 *                                     of all files and tensors (sums.h)
 *
 * Everything random comes from counters (rng.h), so step and position are the whole random
 * state. A checkpoint is written under another name, synced, and renamed: the ones that can be
 * seen are complete, whatever happens. Every file is checked against `state` before it is used.
 */
#ifndef TEXTMILL_TRAIN_CHECKPOINT_H
#define TEXTMILL_TRAIN_CHECKPOINT_H

#include <stdint.h>

#include "common/buf.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"
#include "train/comm.h"
#include "train/store.h"

struct checkpoint {
    int64_t step;        /* updates done */
    uint64_t position;   /* samples used */
    uint64_t order;      /* which sample a position is: BATCHES_ORDER when it was saved */
    uint64_t tokens;     /* seen, without padding */
    uint64_t sequences;  /* in the data set */
    double seconds;      /* of training, over all runs */
    double validation;   /* loss at this step; NAN: not measured */
    double rate_squares; /* of a schedule-free optimizer; 0: none */
    double loss_scale;   /* automatic; 0: none */
    int64_t scale_good;  /* updates since it has changed */
};

/* Saves OUT/checkpoints/step-N. All ranks call it; the first one writes, with what the others have
 * of the state, so that the bytes do not depend on how many ranks there are. The other ranks
 * return 0. `tokenizer` may be NULL. Of a schedule-free optimizer the store has the model, and the
 * point in its gradients (optimizer_to_model). A checkpoint of that step that is there already is
 * left as it is. */
int checkpoint_save(const char *out, const struct checkpoint *c, const struct model *m,
                    struct store *s, struct comm *comm, const struct tokenizer *tokenizer,
                    const char *config);

/* The model folder alone (folder_save), its tensors F32 or BF16 as the store keeps them. All ranks
 * call it; the first one writes. */
int checkpoint_save_model(const char *dir, const struct model *m, struct store *s,
                          struct comm *comm, int64_t end_of_text);

/* The latest by number: 1 and its path, 0 when there is none. Removes what killed runs left. */
int checkpoint_latest(const char *out, struct buf *path);

/* Checks all files of the checkpoint and reads its state and configuration. */
int checkpoint_read(const char *path, struct checkpoint *c, struct buf *config);

/* The newest checkpoint that is sound: 1 with its path, state and configuration; 0 when there is
 * none at all; -1 with the newest one's error when all are damaged. Damaged ones that are newer
 * than the sound one are renamed to "step-000100.damaged", so that the run can save those steps
 * again, and `damaged` gets a line for each that says what is wrong with it. */
int checkpoint_find(const char *out, struct buf *path, struct checkpoint *c, struct buf *config,
                    struct buf *damaged);

/* The moments that the store has, as far as they are in its share, and the point of a schedule-free
 * optimizer, into it. */
int checkpoint_load_moments(const char *path, const struct checkpoint *c, struct store *s);

/* Removes all but the last `keep` checkpoints and the one of lowest validation loss; 0 keeps
 * all. */
int checkpoint_prune(const char *out, int64_t keep);

#endif
