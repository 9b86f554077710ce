/*
 * layout.h - the arrays of a training: their number, their types, and where they are kept.
 *
 * Each block of the tensor table has an array of parameters, one of gradients, and up to two of the
 * optimizer's moments. Tensors lie in them in the order of the table; an array of moments leaves
 * out the tensors for which the optimizer keeps none. There are also arrays of activations (x), of
 * their gradients (dx) and of the layers' caches: one array per micro-batch of a group, and for x
 * and the caches also per layer (program.h). Such an array is called a row. So an array is
 * identified by its kind and by a number: the number of a block or of a row.
 *
 * Parameters, moments and activations may be kept as bf16, for half the memory, traffic and disk.
 * Gradients and the sums in the caches are always f32.
 *
 * A stage of a pipeline (program.h) has only the arrays that its program uses; the others have no
 * elements. It owns the blocks that its program updates.
 *
 * Ranks may share the moments, the gradients and the parameters (program.h). A rank keeps only its
 * share of a shared array. While the array is used, it is whole in a window of memory (shared.h).
 *
 * All arrays are in memory, or some are in a file (mapped.h). The memory limit decides which: the
 * arrays that a step would move most often stay in memory (program.h). If a kind has only one row,
 * this row always stays in memory. An array in the file is used in a window of memory (home.h). The
 * window is large enough for every phase: for the arrays that the phase uses, and for those that
 * are read ahead meanwhile. The size of the window for shared arrays is computed in the same way;
 * gradients stay in it until they are summed over the ranks.
 *
 * On a GPU, "memory" is the GPU's, and the host's memory takes the place of the file (offload.h).
 * If there is a file, too, it holds the arrays for which the host's memory is too small. They are
 * chosen in the same order.
 */
#pragma once

#include "model/compute/ops_update.h"
#include "model/network/split.h"
#include "model/network/tensor.h"
#include "train/program/program.h"

/* In a plan, the rank of the stage whose shares take the most memory. */
enum { LAYOUT_FULLEST = -1 };

struct store_config {
    const unsigned char *moments;  /* [tensors of the table]: number of moments of each tensor, 0 to
                                    * 2; NULL: 2 for all */
    const struct program *program; /* borrowed: says how a step uses the arrays; NULL: the store has
                                    * only the blocks' arrays, all in memory */
    int64_t row[STORE_KINDS];      /* elements of a row, for the kinds from STORE_X on */
    int half_parameters, half_moments, half_activations;
    int ranks, rank;                    /* ranks that share arrays; 0 or 1: nothing is shared;
                                         * this rank's number, or LAYOUT_FULLEST */
    int zero;                           /* ZeRO stage, 1 to 3 */
    const struct split *split;          /* borrowed: the tensor-parallel ranks; NULL: none */
    const struct tensor_table *unsplit; /* borrowed: with `split`, the table of the whole model */
    const unsigned char *whole; /* [tensors of the table]: 1: the tensor must not be cut; NULL: all
                                 * may be cut */
    const char *dir;            /* folder of the file; NULL: no file */
    int offload;                /* 1: memory is the GPU's; others are in the host's memory and, with
                                 * `dir`, in the file */
    uint64_t memory_bytes;      /* with `dir` or `offload`: limit for the store's memory; 0: as
                                 * little as possible */
    uint64_t host_bytes;        /* with `offload`: limit for the host's memory; 0: as little as
                                 * possible with `dir`, no limit without */
};

/* Where an array is kept between its uses. */
enum place {
    PLACE_MEMORY, /* in the memory where it is used */
    PLACE_HOST,   /* in the host's memory; it is used in the GPU's */
    PLACE_FILE,
};

struct layout {
    int count[STORE_KINDS];            /* number of arrays */
    enum ops_type type[STORE_KINDS];   /* F32 or BF16 */
    int64_t *elements[STORE_KINDS];    /* [count] */
    unsigned char *place[STORE_KINDS]; /* [count]: an enum place */
    int64_t *offset[STORE_BLOCKS];     /* [tensors of the table]: offset of a tensor in its block's
                                        * whole array; -1: the array does not have it */
    int ranks, rank;                   /* ranks 1: nothing is shared */
    int zero;                          /* ZeRO stage; 0: nothing is shared */
    int64_t *bounds[STORE_BLOCKS]; /* [blocks][ranks+1]: offset of each rank's share in the block's
                                    * whole array */
    int *owner, stage;             /* owner [blocks]: the stage of a pipeline that owns the block
                                    * (program.h); this rank's stage */
    uint64_t window_bytes;         /* size of the window for arrays of the file or the host */
    uint64_t gathered_bytes;       /* size of the window for shared arrays (shared.h) */
    uint64_t stage_bytes;          /* host memory for copies between file and GPU (offload.h) */
};

/* Returns the bytes that an array of n elements takes in the window of shared arrays (shared.h).
 * They are rounded up so that the next array there is as well aligned as an array of its own. */
static inline uint64_t layout_whole_bytes(int64_t n, enum ops_type type)
{
    enum { ALIGN = 256 };
    return ((uint64_t)n * ops_type_bytes(type) + ALIGN - 1) / ALIGN * ALIGN;
}

/* The number of arrays that fit in the host memory for copies between the file and a GPU
 * (offload.h): two that are copied to or from the GPU, two that are read or written. */
enum { LAYOUT_STAGES = 4 };

/* Decides the layout. Returns 0, or -1 with an error when memory_bytes is too small. The caller
 * releases the layout in any case. */
int layout_init(struct layout *l, const struct tensor_table *t, const struct store_config *c);
void layout_release(struct layout *l); /* fine on a zeroed struct */

/* A block is cut into one share of about equal size for each rank. Cuts lie between tensors or, in
 * tensors that may be cut, at multiples of LAYOUT_PIECE elements. */
enum { LAYOUT_PIECE = OPS_PIECE };

/* Return the part of a tensor that is in this rank's share of the tensor's block, or in that of
 * rank `rank`. */
struct split_part layout_share(const struct layout *l, const struct tensor_table *t, size_t row);
struct split_part layout_share_of(const struct layout *l, const struct tensor_table *t, size_t row,
                                  int rank);
/* Returns the part of a tensor that this rank updates: its share; no elements if the rank does not
 * own the tensor's block. */
struct split_part layout_own(const struct layout *l, const struct tensor_table *t, size_t row);
/* Returns 1 if a rank keeps only its share of the arrays of this kind, else 0. */
int layout_is_shared(const struct layout *l, int kind);
/* Returns 1 if arrays of this kind are shared and the whole array is gathered when it is used, else
 * 0. */
int layout_is_gathered(const struct layout *l, int kind);

/* Returns the bounds [ranks+1] of the shares in the whole array of a block: share q is elements
 * bounds[q] to bounds[q+1] - 1. */
const int64_t *layout_bounds(const struct layout *l, enum store_kind kind, int block);

/* Returns 1 if this rank's stage of the pipeline owns the block, else 0. */
int layout_owns(const struct layout *l, int block);
/* Returns 1 if this rank has the block's array of that kind, or a share of it, else 0. */
int layout_has(const struct layout *l, enum store_kind kind, int block);

/* Returns the size in bytes of array i of a kind; for a shared array, of this rank's share. */
uint64_t layout_bytes(const struct layout *l, enum store_kind kind, int i);

struct store_plan {
    uint64_t kind_bytes[STORE_KINDS];   /* including padding */
    uint64_t memory_bytes;              /* of arrays that stay in memory */
    uint64_t host_bytes;                /* on a GPU: host memory for arrays, and for copies between
                                         * the file and the GPU */
    uint64_t file_bytes;                /* of arrays in the file */
    uint64_t window_bytes;              /* most bytes of arrays from the file or the host that are
                                         * in memory at the same time */
    uint64_t gathered_bytes;            /* most bytes of arrays that ranks share and that are whole
                                         * in memory at the same time, beside the shares */
    uint64_t read_bytes, written_bytes; /* from and to the file, per step */
};
/* Sets *p to the memory and the file traffic of a store (train/store/store.h) for the tensors t.
 * Returns 0, or -1 with an error when c->memory_bytes is too small. */
int store_plan(struct store_plan *p, const struct tensor_table *t, const struct store_config *c);
uint64_t store_plan_total(const struct store_plan *p); /* bytes of memory */
