/*
 * loop.h - runs a training: steps, validation, log lines, checkpoints, and the files in OUT.
 *
 *     OUT/config.yaml                    where the run comes from, and the configuration in force
 *     OUT/metrics.jsonl                  metrics.h
 *     OUT/training.csv                   the same numbers as a table
 *     OUT/events.out.tfevents.textmill   event.h
 *     OUT/report.html                    page.h
 *     OUT/checkpoints/step-000100/       checkpoint.h
 *     OUT/config.json model.safetensors  the finished model, with the tokenizer's files and a
 *                                        README.md (page.h):
 *                                        written only after the last step
 *
 * After a signal to any rank (stop.h), the run finishes its step, saves a checkpoint and returns.
 * After a second signal, a run of one rank leaves its step after the current micro-batch (or group
 * of them), and saves the state before that step.
 */
#pragma once

#include "common/formats/kv.h"
#include "train/plan.h"
#include "train/ranks/comm.h"

/* Runs the training of plan p. `config` is the text of config.yaml, without `resume`. `origin` has
 * the facts that say where the run comes from (origin.h); loop_run adds more. They are not in
 * checkpoints, whose bytes do not depend on the host. Every rank of `c` must call it; only the
 * first one logs and writes. Counts the steps and tokens of this run for the summary line (tool.h).
 * Returns the same value on all ranks: 0, or -1 with an error. */
int loop_run(struct plan *p, const char *config, struct kv *origin, int threads, struct comm *c);
