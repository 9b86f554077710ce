/*
 * dry_run.h - what `train --dry-run` prints of a plan.
 */
#pragma once

#include "train/plan.h"

/* Appends key=value lines to `out`: sizes, floating-point operations, memory, what ranks send to
 * each other and, with --machine, the estimated time of a step. Returns 0, or -1 with an error if
 * the machine file cannot be used. */
int dry_run_print(const struct plan *p, struct buf *out);
