/*
 * settings.h - the values of the options of train. 0 or NULL means that an option is not set; the
 * plan (plan.h) then sets it, if the run needs a value.
 */
#pragma once

#include "common/program/opt.h"
#include "model/network/split.h"
#include "train/samples/samples.h"
#include "train/step/optimizer.h"

struct settings {
    int force;                 /* 1: a run in the output folder is replaced */
    int task;                  /* enum task_kind */
    const char *architecture;  /* NULL: the architecture of start_from, or the task's default */
    int activation;            /* enum ops_activation + 1; 0: the architecture's default */
    double dropout;            /* the rate of all kinds of dropout but attention's */
    int late_dropout;          /* 1: the rates rise from 0 during the training */
    struct model_config model; /* its members that have an option */
    const char *start_from, *vocab;
    int verify;          /* 1: the checksums of start_from and teacher are checked */
    const char *teacher; /* NULL: none */
    double teacher_share, teacher_dropout;
    struct opt_list data, validation;
    struct samples_config samples; /* its members that have an option of the same name */
    /* 1: the value is a preset's, which the data overrides */
    int loose_vocabulary, loose_length, loose_masks;
    int64_t sequence_length, mask_tokens, micro_batch_size, global_batch_size, group;
    int recompute;      /* enum recompute */
    const char *device; /* for ops_open */
    uint64_t device_memory;
    int precision; /* enum ops_type, like the next three */
    int parameter_precision, state_precision, activation_precision;
    int64_t steps;
    double epochs;
    double learning_rate, minimum_learning_rate, warmup;
    const char *schedule; /* for schedule_init */
    struct optimizer optimizer;
    const char *memmap_dir;
    uint64_t memory;
    const char *output;
    int64_t save_every, keep, validate_every, validation_batches, log_every;
    int save, resume, calibrate;
    int checkpoint_files;                /* enum saved_files; the plan replaces SAVED_AUTO */
    int64_t data_parallel, rank, leaves; /* data-parallel ranks; this rank's number; leaves
                                          * per update */
    int64_t zero;                        /* ZeRO stage */
    /* values of --tensor-parallel, --pipeline-parallel and --leaves, N or AxB: each sets two of the
     * numbers below or, for --leaves, `leaves` and leaf_rounds */
    const char *tensor_grid, *pipeline_grid, *leaf_grid;
    int64_t leaf_rounds;              /* rounds of `leaves` leaves in an update */
    int64_t tensor_parallel;          /* number of tensor-parallel ranks, which share each layer */
    int64_t tensor_width;             /* how many of them divide the residual stream */
    int64_t pipeline_parallel, stage; /* number of stages of a pipeline; this rank's stage */
    int64_t pipeline_interleave;      /* number of runs of layers that each stage has */
    int sequence_parallel; /* 1: tensor-parallel ranks also share the rows of the activations */
    struct split split;  /* communication of the tensor-parallel ranks; without functions, the plan
                          * can only be printed */
    double comm_timeout; /* seconds */
    int exchange;        /* enum comm_way */
    const char *profile;
    const char *sample;        /* prompt for a text at each validation; NULL: none */
    int dry_run, list_presets; /* do this instead of training */
    int64_t ranks;             /* number of all ranks; 0: not set */
    const char *machine;       /* with dry_run: the machine file (cluster.h); NULL: none */
};

/* The default values of the options. */
extern const struct settings settings_default;
