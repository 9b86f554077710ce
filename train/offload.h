/*
 * offload.h - arrays in the host's memory that a GPU computes with: a window in the GPU's memory
 * holds those in use.
 *
 * The functions are mapped.h's, with the GPU's memory in the place of the host's and the host's in
 * the place of the file: an array that is expected is copied in meanwhile, one that was changed is
 * copied out when it is released, what is dropped is not. Copies have queues of their own, so that
 * the arithmetic waits for what it needs alone. What is in the window stays there until another
 * array needs its room.
 */
#ifndef TEXTMILL_TRAIN_OFFLOAD_H
#define TEXTMILL_TRAIN_OFFLOAD_H

#include "model/ops.h"
#include "train/mapped.h"

struct offload;

/* `count` arrays of so many bytes, zero, and a window of at most window_bytes. */
struct offload *offload_new(struct ops *o, const uint64_t *bytes, int count, uint64_t window_bytes);
void offload_free(struct offload *m); /* fine on NULL */

/* Array i in the GPU's memory (U8), until as many releases. */
struct ops_array offload_fetch(struct offload *m, int i, enum mapped_use use);
void offload_release(struct offload *m, int i, enum mapped_then then);
void offload_expect(struct offload *m, int i, enum mapped_use use);

/* Array i in the host's memory, for use between steps; ops.h's copies and ops_map take it. */
struct ops_array offload_data(const struct offload *m, int i);

struct mapped_traffic offload_traffic(const struct offload *m); /* no waiting is measured */

#endif
