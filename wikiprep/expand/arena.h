/*
 * arena.h - an arena allocator: blocks are allocated one by one and freed all at once.
 */
#pragma once

#include "common/base/base.h"

struct arena {
    struct arena_chunk *chunk; /* current chunk; links to the earlier chunks */
};

/* A zeroed struct is an empty arena. */
void *arena_take(struct arena *a, size_t bytes); /* aligned to 16 bytes, not cleared */
void arena_reset(struct arena *a);               /* frees all blocks; keeps one chunk */
void arena_release(struct arena *a);             /* frees all memory */
