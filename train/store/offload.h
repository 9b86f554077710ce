/*
 * offload.h - arrays in the host's memory that a GPU computes with, through a window in the GPU's
 * memory that holds the arrays in use.
 *
 * The functions are those of mapped.h; the GPU's memory takes the place of the host's memory, and
 * the host's memory takes the place of the file. An expected array is copied into the window ahead
 * of its use. A changed array is copied out when it is released, unless it is dropped. Copies have
 * queues of their own, so the arithmetic waits only for the copies that it needs. An array stays in
 * the window until another array needs its room.
 *
 * Some arrays may be in a file instead (mapped.h). They go through stages, pieces of host memory
 * that a GPU can copy from and to: a file's memory is no such memory. An expected array is read
 * from the file ahead of its use, and copied to the window when it is fetched.
 */
#ifndef TEXTMILL_TRAIN_STORE_OFFLOAD_H
#define TEXTMILL_TRAIN_STORE_OFFLOAD_H

#include "model/compute/ops.h"
#include "train/store/mapped.h"

struct offload;

/* Makes `count` arrays, all zero; array i has bytes[i] bytes. It is array in_file[i] of `file`,
 * which is borrowed, or in the host's memory if in_file[i] is below 0. The window takes at most
 * window_bytes. */
struct offload *offload_new(struct ops *o, const uint64_t *bytes, const int *in_file, int count,
                            struct mapped *file, uint64_t window_bytes);
void offload_free(struct offload *m); /* fine on NULL */

/* The three functions do what mapped_fetch, mapped_release and mapped_expect do
 * (train/store/mapped.h), in the GPU's memory: offload_fetch returns array i there, as bytes (U8).
 * It stays there until it was released as often as it was fetched. */
struct ops_array offload_fetch(struct offload *m, int i, enum use_mode use);
void offload_release(struct offload *m, int i, enum use_then then);
void offload_expect(struct offload *m, int i, enum use_mode use);

struct mapped_traffic offload_traffic(const struct offload *m); /* no waiting is measured */

#endif
