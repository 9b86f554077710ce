/*
 * profile.h - reports where the time of a training goes (common/program/trace.h), compared with the
 * limits of the machine.
 *
 * The limits are measured in the same process with the same threads: the speed of a matrix product
 * of 1024 x 1024 x 1024, or of more on a fast device, in the precision of the run, and the speed of
 * y += x on arrays that are larger than any cache.
 */
#pragma once

#include "model/compute/ops.h"
#include "train/report/metrics.h"

/* Divides the time of some work among the kinds of seconds[]: call it with sign -1 before the work
 * and with 1 after it. Moves `sign` times the seconds of kernels and of waiting that the trace has
 * so far from seconds[TIME_OTHER] to their kinds. */
void profile_add(double *seconds, double sign);

/* Prints the time of each kernel and phase on stderr and writes the trace to `path`. `precision` is
 * the precision of the run, `seconds` its duration. Sets the precision of `o` to `precision` and
 * measures the limits of the machine with it, if anything was computed. Returns 0, or -1 with an
 * error if the trace cannot be written. */
int profile_finish(const char *path, struct ops *o, enum ops_type precision, double seconds);
