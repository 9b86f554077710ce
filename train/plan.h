/*
 * plan.h - all that is decided about a run before any large memory is touched.
 *
 * Settings are what the options say, 0 or NULL where they leave something open. plan_make reads
 * the tokenizer, the model folder's config and the data's indexes, fills in what was open (in
 * the settings too, so that the configuration that is saved is the one in force), and checks
 * that it all fits together. plan_print is `train --dry-run`.
 */
#ifndef TEXTMILL_TRAIN_PLAN_H
#define TEXTMILL_TRAIN_PLAN_H

#include <stdint.h>

#include "common/buf.h"
#include "common/opt.h"
#include "model/model.h"
#include "model/split.h"
#include "tokenizer/tokenizer.h"
#include "train/engine.h"
#include "train/loss_scale.h"
#include "train/optimizer.h"
#include "train/program.h"
#include "train/schedule.h"
#include "train/task.h"

enum divergence { DIVERGENCE_STOP, DIVERGENCE_SKIP };
#define DIVERGENCE_WORDS "stop|skip" /* in the order of the enum */

struct settings {
    int force;                /* the output may hold a run, which goes */
    int task;                 /* enum task_kind */
    const char *architecture; /* NULL: the one to start from has, or the task's default */
    int activation;           /* enum ops_activation + 1; 0: the architecture's */
    int untied;
    int64_t kv_heads, head_width; /* 0: as many as heads, and width / heads */
    double rope_theta;            /* 0: 10000 */
    int64_t layers, width, heads, inner, positions, vocabulary;
    double epsilon, dropout, attention_dropout, init_std;
    int64_t types; /* these of BERT: see struct model_config */
    int dropout_first, bare_head;
    const char *start_from, *vocab;
    struct opt_list data, validation;
    int google; /* style */
    int64_t stride, question_tokens;
    int64_t sequence_length, mask_tokens, micro_batch_size, global_batch_size, group;
    int recompute;      /* enum recompute */
    const char *device; /* as ops_open takes it */
    uint64_t device_memory;
    int products;  /* enum ops_products */
    int precision; /* these of enum ops_type */
    int parameter_precision, state_precision, activation_precision;
    const char *loss_scale;
    int64_t loss_scale_window;
    int64_t steps;
    double epochs;
    double learning_rate, minimum_learning_rate, warmup;
    int schedule; /* enum schedule_kind */
    double power, decay_rate, cooldown;
    int64_t decay_steps;
    struct opt_list rates;
    int optimizer; /* enum optimizer_kind */
    int bias_correction;
    double beta1, beta2, adam_epsilon, momentum, weight_decay, clip, lamb_cap;
    int lamb_thirds, decay_all;
    const char *memmap_dir;
    uint64_t memory;
    const char *output;
    int64_t save_every, keep, validate_every, validation_batches, log_every;
    int save, resume;
    int64_t data_parallel, rank, leaves; /* ranks that learn from other samples, this one's number
                                          * among them; leaves of the sum over micro-batches */
    int64_t zero;                        /* stage */
    int64_t tensor_parallel;             /* ranks that share each layer; 0: 1 */
    int sequence_parallel;               /* they share its rows, too */
    struct split split;                  /* these; without ranks the plan is on paper */
    double comm_timeout;                 /* seconds */
    int on_divergence;                   /* enum divergence */
    const char *profile;
    int dry_run, list_presets; /* instead of training */
    int64_t ranks;             /* with dry_run: how many; 0: not said */
    const char *machine,
        *on_paper; /* with dry_run: see cluster.h; NULL: no estimate, the run's own split */
    struct opt_list more_data; /* --data by other names */
};

/* What an option holds when nothing sets it. */
extern const struct settings settings_default;

struct plan {
    struct settings *settings; /* borrowed */
    const struct task *task;
    struct model_config config; /* of the model to start from, or of any of its architecture */
    struct model model;         /* as a whole */
    struct split split;
    struct model own;                  /* this rank's part; without a split the same */
    struct tokenizer *tokenizer;       /* NULL: none */
    struct samples *data, *validation; /* NULL: none, of data only to print a plan */
    struct engine_config engine;
    struct schedule schedule;
    struct optimizer optimizer;
    struct loss_scale loss_scale;
    unsigned char *moments; /* optimizer_moments */
    unsigned char *whole;   /* optimizer_whole */
    struct program program;
    struct store_config store;
    struct store_plan stored;
    int64_t steps; /* 0: not known, for want of data */
};

/* `seed`: of everything. want_data: a plan without data is an error. The plan is the caller's
 * to release, also after an error. */
int plan_make(struct plan *p, struct settings *s, uint64_t seed, int want_data);
/* Whether a training fits what is free of a GPU's memory: -1 with an error. Before it takes any. */
int plan_check_device(const struct plan *p, const struct ops *o);

void plan_release(struct plan *p);

/* key=value lines: sizes, arithmetic, memory; with --machine an estimate. -1 with an error: a
 * machine file or a split that cannot be used. */
int plan_print(const struct plan *p, struct buf *out);

/* Samples of a global batch. */
int64_t plan_samples_per_step(const struct plan *p);

/* Floating-point operations of training on one token. */
double plan_flops_per_token(const struct plan *p);

#endif
