/*
 * program.h - what a training step does, as a list that is compiled once.
 *
 * A step learns from A micro-batches, in groups of G. Within a group every micro-batch goes through
 * one phase before the next begins:
 *
 *     embedding forward            x[0]
 *     layer 0 .. L-1 forward       x[l+1] from x[l]
 *     head, forward and backward   losses; dx; the tied table's gradient
 *     layer L-1 .. 0 backward      dx in place; with recomputation the layer's forward again
 *     embedding backward
 *
 * Micro-batches are summed in an order that does not depend on how many ranks share a step: they
 * stand in leaves of equal size; within a leaf gradients are added one after the other, and leaves
 * are added as a binary tree, neighbours first, as ranks are (reduce.h). A stack of gradients holds
 * the sums that wait: array s (L+2) + b is that of slot s and block b, and slot 0 gets the whole.
 * Groups do not reach beyond a leaf.
 *
 * With the last group of all, a block's gradients are summed over the ranks as soon as they are
 * complete. The update of block after block follows.
 *
 * Ranks may share what they keep of a training (Rajbhandari et al. 2020, "ZeRO"): from stage 1 on
 * the optimizer's state, from 2 on the gradients, at 3 the parameters. Then a rank updates its
 * share of each block alone. Gradients that are shared are summed over the ranks leaf by leaf, each
 * rank keeps the sums of its share, and the tree over leaves goes on with those: leaf k of every
 * rank is summed before leaf k+1, so the leaves of the ranks take turns (program_micro_batch).
 * Parameters that are not shared are gathered after the update.
 *
 * An entry of the list is one phase of one micro-batch, with the arrays that it uses. The engine
 * runs the list; what else has to know the order of a step reads it: the store, which fetches ahead
 * and lets go, the memory plan, the file's traffic, and the trace.
 *
 * A block's arrays are fetched once per phase of a group, so G is how often a weight that comes
 * from the file is used; G = 1 is the usual loop over micro-batches.
 *
 * Activations: x has (L+1) G rows, dx has G rows. What layers keep between forward and backward is
 * L G caches, in parts (model.h); a part that is recomputed has one row. Row l G + i is that of
 * layer l and micro-batch i of the group.
 */
#ifndef TEXTMILL_TRAIN_PROGRAM_H
#define TEXTMILL_TRAIN_PROGRAM_H

#include <stdint.h>

#include "common/buf.h"
#include "model/model.h"
#include "train/mapped.h"

/* The arrays of a training (layout.h). */
enum store_kind {
    STORE_PARAMETERS,
    STORE_GRADIENTS,
    STORE_MOMENT1,
    STORE_MOMENT2,
    STORE_X,
    STORE_DX,
    STORE_CACHE, /* the first of CACHE_PARTS kinds */
    STORE_KINDS = STORE_CACHE + CACHE_PARTS,
    STORE_BLOCKS = STORE_X, /* kinds of arrays that are blocks' */
};

enum phase_kind {
    PHASE_INPUTS, /* takes the next micro-batch of the step */
    PHASE_EMBEDDING_FORWARD,
    PHASE_LAYER_FORWARD,
    PHASE_HEAD,            /* forward and backward */
    PHASE_ATTENTION_AGAIN, /* recomputation: what attention made, */
    PHASE_LAYER_AGAIN,     /* or the layer's whole forward */
    PHASE_LAYER_BACKWARD,
    PHASE_EMBEDDING_BACKWARD,
    PHASE_MERGE, /* two sums of leaves become one */
    PHASE_SUM,   /* the block's gradients are complete: their sum over the ranks, and its squares */
    PHASE_UPDATE,
    PHASE_GATHER,           /* of the parameters that the other ranks have updated */
    PHASE_LAYER_EVALUATION, /* evaluation: a layer's forward that keeps nothing, */
    PHASE_HEAD_EVALUATION,  /* and the head's */
    PHASE_KINDS
};
const char *phase_name(enum phase_kind kind);

/* What an array is to a phase. */
enum use_role {
    USE_NONE,
    USE_W,    /* the block's parameters */
    USE_TIED, /* the embedding's parameters, in the head */
    USE_DW,   /* the block's gradients */
    USE_DTIED,
    USE_MERGED, /* gradients that are added to the others, and not needed any more */
    USE_SUM,    /* gradients summed over leaves and ranks */
    USE_M,      /* moments */
    USE_V,
    USE_X, /* the input rows */
    USE_Y, /* the output rows */
    USE_DX,
    USE_ATTENTION, /* the parts of the layer's cache, in their order */
    USE_REST,
    USE_SUMS,
    USE_ROLES
};

/* One array that a phase uses: array `number` of a kind of the store. */
struct use {
    unsigned char role, kind; /* enum use_role, enum store_kind */
    unsigned char mode;       /* enum mapped_use */
    unsigned char then;       /* enum mapped_then: by when and how the array is used next */
    unsigned char own;        /* this rank's share of the array alone */
    int number;
};

enum { PHASE_USES = 7, PROGRAM_TOGETHER = 8 * PHASE_USES };

struct phase {
    enum phase_kind kind;
    int block;     /* 0: embedding, 1 to L: layers, L+1: head */
    int layer;     /* -1: not a layer's */
    int merges;    /* of PHASE_SUM, where gradients are shared: so many of the sums of leaves that
                    * wait become one with this leaf's */
    int micro;     /* of the group; -1: none */
    int add;       /* gradients are added to; 0: they are set, by the leaf's first micro-batch */
    int run;       /* phases of one run do the same work, on micro-batch after micro-batch */
    int64_t turns; /* how often the phase comes */
    int ahead;     /* so many of the next entries are expected while this one runs; */
    int next;      /* and the block's arrays of the entry that is so many further */
    int count;
    struct use uses[PHASE_USES];
};

/* How often a step moves an array between memory and the file, if it is kept there. */
struct moves {
    int64_t reads, writes;
};

/* What backward makes again: nothing; what attention made (queries, keys, values and what the
 * heads found: nearly half of what a layer keeps, for a twelfth more arithmetic); or all. */
enum recompute { RECOMPUTE_NONE, RECOMPUTE_ATTENTION, RECOMPUTE_LAYER };
#define RECOMPUTE_WORDS "none|attention|layer" /* in the order of the enum */

struct program_config {
    int layers;
    int64_t micro, group; /* micro-batches of a step, and of a group: A and G */
    int leaves;           /* in a step; divides A; 0: 1 */
    enum recompute recompute;
    int zero;    /* what the ranks share: stage 0 to 3 */
    int tied;    /* the head reads the embedding's parameters and makes gradients of them */
    int moments; /* that the optimizer keeps: 0 to 2 */
};

/* A stretch of the list that comes one or more times: of each leaf the first group, those between,
 * and the last; the update. */
struct program_part {
    int64_t first, end; /* phases */
    int64_t turns;
};

struct program {
    struct phase *phases; /* [count]; those of a part once */
    int64_t count;
    struct program_part *parts; /* [part_count]; the update is the last */
    int part_count;
    int zero;
    int arrays[STORE_KINDS];          /* how many of each kind are used */
    struct moves *moves[STORE_KINDS]; /* [arrays] */
};

/* A training step; an evaluation of one micro-batch, which is one part. */
void program_step(struct program *p, const struct program_config *c);
void program_evaluation(struct program *p, int layers, int tied);
void program_release(struct program *p); /* fine on a zeroed struct */

/* All that is to be in memory while phase n runs, each array once: what it uses, in the order of
 * phase.uses, and then what is expected. After the last phase comes the first, of the next step.
 * Returns how many. */
int program_together(const struct program *p, int64_t n, const struct use *all[PROGRAM_TOGETHER]);

/* The number, among those of all ranks, of micro-batch m of a step (of A) on rank `rank`. */
int64_t program_micro_batch(int zero, int64_t A, int leaves, int ranks, int rank, int64_t m);

/* The list as text, a line per phase. */
void program_print(const struct program *p, struct buf *out);

#endif
