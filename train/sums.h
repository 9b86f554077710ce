/*
 * sums.h - the checksums of a checkpoint's files, as lines of its `state`:
 *
 *     file=NAME BYTES CRC32C                  each file, by its name in the checkpoint
 *     tensor=NAME OFFSET BYTES CRC32C TENSOR  each tensor of a safetensors file, in the file's
 * order
 *
 * A file is sound when its own sum is right. When it is not, the sums of its tensors tell where:
 * they cover all of it but the header.
 */
#ifndef TEXTMILL_TRAIN_SUMS_H
#define TEXTMILL_TRAIN_SUMS_H

#include "common/kv.h"

/* Adds the lines of the files in `dir`/`sub`, folders in it left out; `sub` is "" or ends in '/'.
 */
int sums_add(struct kv *state, const char *dir, const char *sub);

/* Checks the files that `state` lists. -1 with an error that names the first that is damaged, and
 * of a safetensors file the tensor and its byte. A state that lists none is an error. */
int sums_check(const struct kv *state, const char *dir);

#endif
