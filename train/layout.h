/*
 * layout.h - the arrays of a training: which there are, in what form they are kept, and where.
 *
 * Of each block of the tensor table there are parameters, gradients and the optimizer's moments,
 * laid out by the table (moments without the tensors that the optimizer keeps none of); of the
 * engine's micro-batches the rows of activations x and dx and the parts of the layers' caches
 * (engine.h). So an array has a kind and, within it, a number: a block's or a row's.
 *
 * Parameters, moments and activations may be kept as bf16 (gradients, which are sums, and the
 * caches' own sums are f32), for half the memory, traffic and disk.
 *
 * Ranks may share the moments, the gradients and the parameters (program.h). Of an array that they
 * share a rank keeps its share alone, and the whole array is in a window while it is used
 * (shared.h).
 *
 * All arrays are in memory, or some of them in a file (mapped.h). Which ones follows from how much
 * memory there may be: what a step would move most often stays (program.h), and so does a row that
 * is the only one of its kind. A window is left over the file: the most that a phase uses of it
 * together with what is expected meanwhile. The window for what ranks share is found in the same
 * way; gradients stay in it until they are summed.
 */
#ifndef TEXTMILL_TRAIN_LAYOUT_H
#define TEXTMILL_TRAIN_LAYOUT_H

#include <stdint.h>

#include "model/model.h"
#include "model/tensor.h"
#include "train/program.h"

struct store_config {
    const unsigned char *moments; /* [rows of the table]: how many the optimizer has of each tensor,
                                   * 0 to 2; NULL: 2 */
    const struct program *program; /* borrowed: how the arrays are used; NULL: blocks' arrays alone,
                                    * in memory */
    int64_t row[STORE_KINDS];      /* elements of a row, of the kinds from STORE_X on */
    int half_parameters, half_moments, half_activations;
    int ranks, rank;           /* that share something; 0 or 1: this process has all */
    int zero;                  /* what they share: stage 1 to 3 */
    const struct split *split; /* borrowed: the ranks that share each layer; NULL: none. Then also
                                * borrowed, the table of the model as a whole: */
    const struct tensor_table *unsplit;
    const unsigned char *whole; /* [rows of the table]: the tensor must not be cut; NULL: none */
    const char *dir;            /* for the file; NULL: all in memory */
    int offload;                /* without dir: the host's memory in the place of the file */
    uint64_t memory_bytes;      /* with either: what the store may have; 0: as little as it can */
};

/* Elements `first` to first + count - 1 of a tensor. */
struct layout_part {
    int64_t first, count;
};

struct layout {
    int count[STORE_KINDS];              /* arrays */
    enum ops_type type[STORE_KINDS];     /* F32 or BF16 */
    int64_t *elements[STORE_KINDS];      /* [count] */
    unsigned char *in_file[STORE_KINDS]; /* [count] */
    int64_t *offset[STORE_BLOCKS];       /* [rows of the table]: elements to a tensor in its block's
                                          * whole array; -1: none */
    int ranks, rank;                     /* ranks 1: nothing is shared */
    int zero;                            /* stage; 0: the same */
    int64_t *bounds[STORE_BLOCKS];       /* [blocks][ranks+1]: elements of the block's whole array
                                          * before the share of each rank */
    uint64_t window_bytes;
};

/* -1 with an error when memory_bytes is less than any plan needs. The layout is the caller's to
 * release in any case. */
int layout_init(struct layout *l, const struct tensor_table *t, const struct store_config *c);
void layout_release(struct layout *l); /* fine on a zeroed struct */

/* A block is cut into shares of nearly equal size, one a rank, between tensors or, where tensors
 * may be cut, at multiples of LAYOUT_PIECE elements of a tensor. */
enum { LAYOUT_PIECE = 1 << 16 };

/* The part of a tensor that is in this rank's share. */
struct layout_part layout_own(const struct layout *l, const struct tensor_table *t, size_t row);
/* Whether a rank keeps its share of such arrays alone. */
int layout_is_shared(const struct layout *l, int kind);
/* Whether, besides, the whole array is made when it is used. */
int layout_is_gathered(const struct layout *l, int kind);

/* The shares of a kind: bounds [ranks+1] of a block's whole array. */
const int64_t *layout_bounds(const struct layout *l, enum store_kind kind, int block);

/* What an array takes, in memory or in the file. */
uint64_t layout_bytes(const struct layout *l, enum store_kind kind, int i);

struct store_plan {
    uint64_t kind_bytes[STORE_KINDS];   /* padding included */
    uint64_t memory_bytes;              /* of arrays that stay in memory */
    uint64_t file_bytes;                /* of the others */
    uint64_t window_bytes;              /* most of these that is resident at a time */
    uint64_t read_bytes, written_bytes; /* of the file, in a step */
};
/* -1 as layout_init. */
int store_plan(struct store_plan *p, const struct tensor_table *t, const struct store_config *c);
uint64_t store_plan_total(const struct store_plan *p); /* of memory */

#endif
