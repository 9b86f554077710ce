/*
 * plan.h - decides everything about a run before any large memory is allocated: the data and the
 * model (plan_parts.h), the division of an update into micro-batches, the program of a step, and
 * the memory that it takes. The plan does not change after that.
 */
#pragma once

#include "model/network/model.h"
#include "model/network/split.h"
#include "tokenizer/tokenizer.h"
#include "train/program/program.h"
#include "train/program/timeline.h"
#include "train/samples/task.h"
#include "train/settings.h"
#include "train/step/engine.h"
#include "train/step/optimizer.h"
#include "train/step/schedule.h"

/* Bytes of memory outside the store. */
struct plan_memory {
    uint64_t batches;       /* of two updates, and the sequences of a round of the validation */
    uint64_t kernels;       /* scratch memory, and what the back end needs */
    uint64_t communication; /* gradients in transfer between the hosts' memories */
    uint64_t saving;        /* the tensor that a checkpoint assembles, where the store is */
};

struct plan {
    struct settings *settings; /* borrowed */
    const struct task *task;
    struct model_config config; /* configuration of the model to start from, or defaults of the
                                 * architecture */
    struct model model;         /* the whole model */
    struct split split;
    struct model own;                  /* this rank's part of the model; without tensor parallelism,
                                        * the whole model */
    struct model teacher;              /* zeroed: none */
    struct tokenizer *tokenizer;       /* NULL: none */
    struct buf chat;                   /* the tokenizer's chat template; empty: none */
    struct ids ends;                   /* tokens that end a text in the model to start from */
    struct buf sampling;               /* and its settings of sampling (folder_ends) */
    struct samples *data, *validation; /* NULL: none (data: only when a plan is printed) */
    struct step_config engine;
    struct schedule schedule;
    struct optimizer optimizer;
    unsigned char *moments; /* result of optimizer_moments */
    unsigned char *whole;   /* result of optimizer_whole */
    struct program program;
    struct store_config store;
    struct store_plan stored;
    struct ops_needs needs; /* of the back end */
    struct plan_memory other;
    struct timeline_costs costs; /* of the phases, relative to each other */
    int64_t ranks;               /* data-parallel ones */
    int64_t steps;               /* 0: not known, because there is no data */
};

/* Makes the plan. Reads the tokenizer, the model folder's configuration and the indexes of the
 * data. Fills in the settings that are not set, so that the saved configuration is complete, and
 * checks that all settings fit together. `seed` is the seed of all random numbers. With want_data
 * 1, missing data is an error. Returns 0, or -1 with an error. The caller releases the plan, also
 * after an error. */
int plan_make(struct plan *p, struct settings *s, uint64_t seed, int want_data);
void plan_release(struct plan *p);

/* Checks that the machine has the bytes that all its ranks need, unless --memory is given: else the
 * kernel would kill them. Returns 0, or -1 with an error. */
int plan_check_machine(const struct plan *p, uint64_t needed);

/* Returns 0, or -1 with an error about `what` if the folder has another vocabulary than the run. */
int plan_check_vocabulary(const struct plan *p, const char *dir, const char *what);

/* Checks that the training fits in the free memory of the GPU of `o`, before any of this memory is
 * allocated. Returns 0, or -1 with an error if it does not fit. */
int plan_check_device(const struct plan *p, const struct ops *o);

int plan_on_gpu(const struct plan *p); /* 1 if the run computes on a GPU, else 0 */

/* Sets *out to the memory that the plan needs outside the store (plan_memory.c). */
void plan_measure(struct plan_memory *out, const struct plan *p);
/* Returns the bytes of memory that a rank needs, including the store. */
uint64_t plan_bytes(const struct plan *p);

/* Returns the number of partial sums of gradients in an update, over all ranks (--leaves). */
uint64_t plan_leaves(const struct plan *p);

/* Sets `out` to a name of what decides about the last bits of sums beside --leaves: how the
 * tensor-parallel ranks share a layer, if there are any, and ops_arithmetic. */
enum { PLAN_ARITHMETIC = 96 };
void plan_arithmetic(char out[PLAN_ARITHMETIC], const struct plan *p, const struct ops *o);

/* Returns the number of micro-batches that the stages evaluate in a round of the validation. A
 * round fills and empties the pipeline once: a stage waits for about a ninth of its time. */
int plan_validation_round(const struct plan *p);

/* Returns the floating-point operations of training per token. */
double plan_flops_per_token(const struct plan *p);
