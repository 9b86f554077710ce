/*
 * profile.h - reports where the time of a training goes (common/program/trace.h), compared with the
 * limits of the machine.
 *
 * The limits are measured in the same process with the same threads: the speed of a matrix product
 * of 1024 x 1024 x 1024 in the precision of the run, and the speed of y += x on arrays that are
 * larger than any cache.
 */
#pragma once

#include "model/compute/ops.h"
#include "train/report/metrics.h"

/* Moves `sign` times the seconds that the trace has so far of kernels and of waiting from
 * seconds[TIME_OTHER] to their kinds. Called with -1 before and with 1 after some work, it divides
 * the time of that work. */
void profile_add(double *seconds, double sign);

/* Prints the time of each kernel and phase on stderr and writes the trace to `path`. `precision` is
 * the precision of the run, `seconds` its duration. Sets the precision of `o` to `precision` and
 * measures the limits of the machine with it, if anything was computed. Returns 0, or -1 with an
 * error if the trace cannot be written. */
int profile_finish(const char *path, struct ops *o, enum ops_type precision, double seconds);
