/*
 * start.h - how a training begins: in a new folder, from the weights of a model, or from the latest
 * checkpoint of an earlier run.
 */
#pragma once

#include "train/checkpoint.h"
#include "train/plan.h"

struct run_start {
    struct plan *plan;  /* all are borrowed */
    const char *config; /* text of config.yaml */
    struct ops *ops;
    struct comm *comm;
    struct store *store;   /* opened by start_run */
    struct checkpoint *at; /* set by start_run: the state of the run */
};

/* Returns -1 with an error if the folder was moved or removed since output_folder_lock, and perhaps
 * another run has begun in one of the same name: nothing may be written there. Else returns 0. */
int start_has_folder(const char *folder, int lock);

/* Returns -1 with an error if the output folder holds a run, a model or the user's config.yaml, and
 * there is no --force; else 0. --resume begins a run without a checkpoint again, over no model. */
int start_refuse_old_run(const struct settings *s);

/* Removes the old run's files from the folder, so that its checkpoints and model cannot be taken
 * for the new run's. Returns 0, or -1 with an error. */
int start_remove_old_run(const char *folder);

/* Begins at step 0, or with --resume goes on from the latest checkpoint: opens the store with the
 * weights and moments, and sets the state of the run. All ranks must call it. Returns 0, or -1
 * with an error on this rank; the store may be open then, too. */
int start_run(const struct run_start *s);
