/*
 * offload.h - arrays that are kept in the host's memory and used by a GPU. A window in the GPU's
 * memory (home.h) holds the arrays in use.
 *
 * An expected array is copied into the window ahead of its use. A changed array is copied out when
 * it is released, unless it is dropped. Copies have queues of their own, so computations wait only
 * for the copies that they need. An array stays in the window until another array needs its space.
 *
 * Some arrays may be in a file instead (mapped.h). They are copied through stages: buffers of host
 * memory that a GPU can copy from and to, which it cannot do with the memory of a mapped file. An
 * expected array is read from the file ahead of its use, and copied to the window when it is
 * fetched.
 */
#pragma once

#include "model/compute/ops.h"
#include "train/store/mapped.h"

struct offload;

/* Makes `count` arrays, all zero; array i has bytes[i] bytes. If in_file[i] is above 0, it is array
 * i of `file`, which is borrowed; else it is in the host's memory. The window takes at most
 * window_bytes. */
struct offload *offload_new(struct ops *o, const uint64_t *bytes, const uint64_t *in_file,
                            int count, struct mapped *file, uint64_t window_bytes);
void offload_free(struct offload *m); /* fine on NULL */

struct home *offload_home(struct offload *m); /* fetch returns bytes (U8) in the GPU's memory */
