/*
 * arena.h - memory that is given back all at once, such as that of one page.
 */
#ifndef TEXTMILL_WIKIPREP_EXPAND_ARENA_H
#define TEXTMILL_WIKIPREP_EXPAND_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_chunk *chunk; /* the one in use, which leads to those before it */
};

/* Begin with a zeroed struct. */
void *arena_take(struct arena *a, size_t bytes);            /* aligned, not cleared */
char *arena_copy(struct arena *a, const char *s, size_t n); /* with a NUL behind */
void arena_reset(struct arena *a);   /* all that was taken is gone; keeps the first chunk */
void arena_release(struct arena *a); /* frees */

#endif
