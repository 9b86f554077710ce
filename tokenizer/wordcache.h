/*
 * wordcache.h - the ids of the pieces seen last: words come again.
 *
 * A table of entries of 32 bytes, two to a bucket, the newer in front. An entry is a piece of less than
 * 16 bytes, zero-padded, its length in the last byte, and up to four ids. A piece with more bytes or
 * more ids has its entry too, with a hash for bytes, but the rest of it stands in a ring, where new
 * records overwrite the oldest. Both have a fixed size; what is not found is encoded again, so that
 * the ids do not depend on what is remembered.
 */
#ifndef TEXTMILL_WORDCACHE_H
#define TEXTMILL_WORDCACHE_H

#include <stddef.h>

#include "tokenizer/pieces.h"
#include "tokenizer/tokenizer.h"

struct wordcache;

/* `encode` appends the ids of a piece that is not known, 0 or -1; they depend on the piece alone. */
struct wordcache *wordcache_new(int (*encode)(void *ctx, const char *piece, size_t n,
                                              struct ids *out),
                                void *ctx);
void wordcache_free(struct wordcache *c);

/* Makes the piece known, unless it has too many bytes or ids. */
void wordcache_put(struct wordcache *c, const char *piece, size_t n, const uint32_t *ids,
                   size_t count);

/* Appends the ids of the pieces in order. -1: piece *failed cannot be encoded. */
int wordcache_encode(struct wordcache *c, const struct pieces *p, struct ids *out, size_t *failed);

#endif
