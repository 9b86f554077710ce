/*
 * program.h - the phases of a training step, compiled once into a list.
 *
 * A step learns from A micro-batches, in groups of G. Within a group every micro-batch goes through
 * one phase before the next phase begins:
 *
 *     embedding forward            x[0]
 *     layer 0 .. L-1 forward       x[l+1] from x[l]
 *     head, forward and backward   losses; dx; the tied table's gradient
 *     layer L-1 .. 0 backward      dx in place; with recomputation the layer's forward again
 *     embedding backward
 *
 * The gradients of micro-batches are added in an order that does not depend on the number of ranks.
 * The micro-batches are divided into leaves of equal size. Within a leaf, gradients are added one
 * after the other. The sums of the leaves are added as a binary tree, neighbours first, and so are
 * the sums of the ranks (reduce.h). A sum that waits for its partner in the tree lies on a stack of
 * gradients. Position s of the stack has one array for each of the L+2 blocks: array s (L+2) + b is
 * that of block b. Position 0 receives the final sum. A group never contains micro-batches of two
 * leaves.
 *
 * In the last group of the step, the gradients of a block are summed over the ranks as soon as they
 * are complete; those of a tied table after the head, except for the rows to which the embedding
 * will add (word_table.h). Then the blocks are updated, one after the other. A block whose sum is
 * not complete yet is updated later, when the next step uses its parameters (engine.h).
 *
 * Ranks may share the state of a training (Rajbhandari et al. 2020, "ZeRO"): from stage 1 on the
 * optimizer's moments, from stage 2 on also the gradients, at stage 3 also the parameters. Each
 * rank then updates only its share of each block. Shared gradients are summed over the ranks after
 * each leaf. Each rank keeps its share of these sums, and adds the shares of different leaves as a
 * binary tree. Leaf k of every rank is summed before leaf k+1 of any rank, so the micro-batches are
 * dealt to the ranks leaf by leaf (program_micro_batch). Parameters that are not shared are
 * gathered after the update.
 *
 * Ranks may form a pipeline (Huang et al. 2019, "GPipe"). Each of its stages owns a run of
 * consecutive blocks: the first one has the embedding, and the last one the head. The layers are
 * divided such that all stages have about the same work. A stage receives x from the stage before
 * it and sends its own x to the next one; in the backward pass dx goes the other way. Micro-batches
 * go through the pipeline one by one. Stage s first does the forward passes of S-1-s micro-batches,
 * and then a forward and a backward pass in turn (Narayanan et al. 2019, "PipeDream"; one forward,
 * one backward). So it keeps the activations of at most S-s micro-batches.
 *
 * A stage may own several runs of blocks, its pieces (Narayanan et al. 2021, "Efficient large-scale
 * language model training on GPU clusters"). Piece k of stage s is run k S + s of all runs. The
 * last stage sends x of its pieces, but for the last piece, to the first stage. S micro-batches go
 * through one piece after the other, and then the next S. With V pieces, stage s first does the
 * forward passes of 2 (S-1-s) + (V-1) S micro-batches and pieces. The stages wait for each other
 * 1/V as long, but send V times as much.
 *
 * The first stage owns a tied table. The last stage has a copy of the embedding's parameters, which
 * it receives after each update. In a leaf, the head's gradients of the table are added first, on
 * the last stage, and sent to the first one. The embedding's gradients are added to them there.
 * This is the order of one rank whose group is a whole leaf, and the gradients have the same bits.
 * Ranks that share parameters send and receive only their shares of the table.
 *
 * An entry of the list is one phase of one micro-batch, with the arrays that it uses. The engine
 * executes the list. All other code that needs the order of a step reads the same list: the store,
 * which fetches arrays ahead and releases them, the memory plan, the file's traffic, and the trace.
 *
 * A block's arrays are fetched once per phase of a group, so each weight that comes from the file
 * is used G times. G = 1 is the usual loop over micro-batches.
 *
 * Activations: x has (L+1) G arrays ("rows"), dx has G. The values that layers keep between forward
 * and backward are L G caches, each in parts (model.h). Row l G + i is that of layer l and
 * micro-batch i of the group. A part that is recomputed has only one row, which all layers use. In
 * a stage of a pipeline, L counts only its own layers, and instead of G there is the number K of
 * micro-batches that the stage keeps: micro-batch m of the step has row m modulo K.
 */
#pragma once

#include "model/network/layer.h"

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
    STORE_BLOCKS = STORE_X, /* kinds below this one have an array per block */
};

enum phase_kind {
    PHASE_INPUTS, /* takes the next micro-batch of the step */
    PHASE_EMBEDDING_FORWARD,
    PHASE_LAYER_FORWARD,
    PHASE_HEAD,            /* forward and backward */
    PHASE_ATTENTION_AGAIN, /* recomputes the values of attention */
    PHASE_LAYER_AGAIN,     /* recomputes the layer's whole forward pass */
    PHASE_LAYER_BACKWARD,
    PHASE_EMBEDDING_BACKWARD,
    PHASE_MERGE,     /* adds two sums of leaves */
    PHASE_SUM_TABLE, /* begins to sum the gradients of a tied table over the ranks (word_table.h) */
    PHASE_SUM,       /* sums the block's complete gradients over the ranks */
    PHASE_UPDATE,
    PHASE_GATHER,       /* gathers the parameters that the other ranks updated */
    PHASE_GATHER_TABLE, /* gathers those of the embedding that the phases before have left out */
    PHASE_SEND_X,       /* to the next stage of the pipeline */
    PHASE_RECEIVE_X,    /* begins to receive; the first phase that uses the array waits for it */
    PHASE_SEND_DX,      /* to the stage before */
    PHASE_RECEIVE_DX,
    PHASE_SEND_TIED, /* the head's gradients of a tied table, to the first stage */
    PHASE_RECEIVE_TIED,
    PHASE_SEND_TABLE, /* the updated parameters of the embedding, to the last stage */
    PHASE_RECEIVE_TABLE,
    PHASE_LAYER_EVALUATION, /* forward pass of a layer that keeps nothing */
    PHASE_HEAD_EVALUATION,  /* forward pass of the head */
    PHASE_KINDS
};
const char *phase_name(enum phase_kind kind);
int phase_is_transfer(enum phase_kind kind); /* between stages */

/* The purpose of an array in a phase. */
enum use_role {
    USE_NONE,
    USE_W,      /* the block's parameters */
    USE_TIED,   /* the embedding's parameters, in the head */
    USE_DW,     /* the block's gradients */
    USE_DTIED,  /* the embedding's gradients, in the head */
    USE_MERGED, /* gradients that are added to USE_DW and then dropped */
    USE_SUM,    /* the final sum of the block's gradients, over leaves and ranks */
    USE_M,      /* first moments; USE_V: second moments */
    USE_V,
    USE_X, /* the input rows */
    USE_Y, /* the output rows */
    USE_DX,
    USE_ATTENTION, /* these three: the parts of the layer's cache, in the order of the parts */
    USE_REST,
    USE_SUMS,
    USE_ROLES
};

/* How an array is used: MODE_READ, it is only read; MODE_WRITE, it is changed; MODE_MAKE, all
 * of it is overwritten. An array fetched with MODE_MAKE may hold zeros in place of its old
 * contents. */
enum use_mode { MODE_READ, MODE_WRITE, MODE_MAKE };

/* What happens to an array at its last release. THEN_LEAVES: it is written to the file if it was
 * changed, and leaves memory. THEN_STAYS: it stays in memory, because a fetch follows soon.
 * THEN_DROPPED: it leaves memory without being written, because its contents are not needed any
 * more; the next fetch must be MODE_MAKE. */
enum use_then { THEN_LEAVES, THEN_STAYS, THEN_DROPPED };

/* One array that a phase uses: array `number` of kind `kind`. */
struct use {
    unsigned char role, kind; /* enum use_role, enum store_kind */
    unsigned char mode;       /* enum use_mode */
    unsigned char then;       /* enum use_then: what happens to the array after the phase */
    unsigned char own;        /* 1: only this rank's share of the array is used */
    int number;
};

enum { PHASE_USES = 7, PROGRAM_TOGETHER = 8 * PHASE_USES };

struct phase {
    enum phase_kind kind;
    int block;  /* 0: embedding, 1 to L: layers, L+1: head */
    int layer;  /* -1: the block is not a layer */
    int merges; /* PHASE_SUM with shared gradients: number of waiting sums of leaves that are added
                 * to this leaf's sum, one by one */
    int micro;  /* number in the group or, in a pipeline, modulo program.micros; -1: none */
    int peer;   /* PHASE_SEND_ and PHASE_RECEIVE_: the other stage */
    int add;    /* 1: gradients are added to those in the array; 0: they replace them (first
                 * micro-batch of a leaf) */
    int run;    /* number of a run of phases: phases of one run do the same work on successive
                 * micro-batches */
    int64_t turns; /* how often the phase is executed in a step */
    int ahead;     /* while this phase runs, the arrays of this many next phases are read ahead, */
    int next;      /* and the block's arrays of the phase that is this many phases later */
    int count;
    struct use uses[PHASE_USES];
};

/* How often a step moves an array between memory and the file, if the array is kept in the file. If
 * ranks share the array, the file has a share of it. Then `reads` is how often the whole array is
 * needed, and the others say how often phases and sums read and write the share. */
struct moves {
    int64_t reads, writes, own_reads, own_writes;
};

/* What the backward pass recomputes: nothing; the values of attention (queries, keys, values and
 * the output of the heads: nearly half of a layer's cache, for a twelfth more arithmetic); or the
 * whole layer. */
enum recompute { RECOMPUTE_NONE, RECOMPUTE_ATTENTION, RECOMPUTE_LAYER };
#define RECOMPUTE_WORDS "none|attention|layer" /* in the order of the enum */

/* What a step does, in which order. B, T, most and seed are for the engine (engine.h). */
struct step_config {
    int64_t B, T, A, G; /* sequences per micro-batch, tokens per sequence, micro-batches of this
                         * rank per step, micro-batches per group */
    int64_t most;       /* most sequences in a micro-batch: B, or more where several are packed in
                         * one row */
    uint64_t seed;      /* for dropout */
    int64_t rise;       /* updates in which the rates of dropout rise from 0; 0: none */
    int leaves;         /* leaves of this rank per step; divides A; 0: 1 */
    int rounds;         /* the leaves are summed in this many rounds of equal size; 0: 1 */
    enum recompute recompute;
    int zero;          /* ZeRO stage, 0 to 3 */
    int head;          /* work of the head, as a number of layers; the stages of a pipeline get
                        * equal work */
    int stages, stage; /* of a pipeline; 0 or 1 stages: none. It needs stages <= layers and, if
                        * tied, all micro-batches of a leaf in one group */
    int interleave;    /* runs of layers of each stage of a pipeline; 0: 1. Several need stages *
                        * interleave <= layers, and a number of micro-batches in a leaf that is a
                        * multiple of `stages` */
    /* The model's, which engine_program sets: */
    int layers;
    int tied; /* 1: the head uses the embedding's parameters and computes gradients of them */
    int embedding_again; /* 1: the embedding's backward pass reads the embedding's parameters */
    int moments;         /* moments that the optimizer keeps: 0 to 2 */
};

/* A section of the list that is executed `turns` times. The sections are the first group of each
 * leaf, its middle groups, and its last group, or all leaves of a pipeline; and the update. */
struct program_part {
    int64_t first, end; /* phases */
    int64_t turns;
};

struct program {
    struct phase *phases; /* [count]; the phases of a part are stored once */
    int64_t count;
    struct program_part *parts; /* [part_count] */
    int part_count;
    int update; /* number of the part that updates. In the first and the last stage of a pipeline
                   with a tied table, the next part sends the updated table */
    int zero;
    int layers, stages, stage;
    int *owners; /* [layers+2]: the stage that owns each block, which means that it updates it */
    int micros;  /* number of micro-batches whose inputs are kept at a time */
    int arrays[STORE_KINDS];          /* number of arrays of each kind */
    struct moves *moves[STORE_KINDS]; /* [arrays] */
};

/* program_step makes the program of a training step. program_evaluation makes a program of one part
 * that evaluates one micro-batch; of *c it uses only layers, tied, head, stages, stage and
 * interleave. The caller releases the program. */
void program_step(struct program *p, const struct step_config *c);
void program_evaluation(struct program *p, const struct step_config *c);
void program_release(struct program *p); /* fine on a zeroed struct */

/* Sets `all` to the arrays that should be in memory while phase n runs, each array once: first
 * those that the phase uses, in the order of phase.uses, then those that are read ahead. The last
 * phase is followed by the first phase of the next step. Returns the number of arrays. */
int program_together(const struct program *p, int64_t n, const struct use *all[PROGRAM_TOGETHER]);

/* The micro-batches of a step are numbered from 0 over all ranks. Returns the number of micro-batch
 * m (0 to A-1) of rank `rank`, for ZeRO stage `zero` and `leaves` leaves per rank. */
int64_t program_micro_batch(int zero, int64_t A, int leaves, int ranks, int rank, int64_t m);

/* Appends the list as text, one line per phase. */
void program_print(const struct program *p, struct buf *out);
