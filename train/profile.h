/*
 * profile.h - where a training's time goes (common/trace.h), beside what the machine can do.
 *
 * The limits are measured in the same process with the same threads: the rate of a matrix product
 * of 1024 x 1024 x 1024 in the precision of the run, and of y += x on arrays that no cache holds.
 */
#ifndef TEXTMILL_TRAIN_PROFILE_H
#define TEXTMILL_TRAIN_PROFILE_H

#include "model/ops.h"

/* Says on stderr what each kernel and phase took, and writes the trace to `path`. `precision` is
 * that of the run, which took `seconds`; it is the context's again afterwards. */
int profile_finish(const char *path, struct ops *o, enum ops_type precision, double seconds);

#endif
