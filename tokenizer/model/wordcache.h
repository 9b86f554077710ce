/*
 * wordcache.h - the ids of the pieces seen last: words come again.
 *
 * A table of entries of 32 bytes, four to a bucket, the newer in front. An entry is a piece of less
 * than 16 bytes, zero-padded, its length in the last byte, and up to four ids. More ids stand in a
 * ring, where new records overwrite the oldest, and the entry says where; so does that of a longer
 * piece, which has a hash for bytes, and the bytes in the ring, behind the ids. Table and ring have
 * a fixed size; what is not found is encoded again, so that the ids do not depend on what is
 * remembered.
 *
 * Pieces are looked up some at a time, and those that are not found are encoded together.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_WORDCACHE_H
#define TEXTMILL_TOKENIZER_MODEL_WORDCACHE_H

#include <stddef.h>

#include "common/ids.h"
#include "tokenizer/cut/pieces.h"

struct wordcache;

/* Appends the ids of pieces that are not known, those of piece i up to out->data[ends[i]]; they
 * depend on the piece alone. -1: one of them cannot be encoded. */
typedef int wordcache_encode_fn(void *ctx, const struct pieces *p, struct ids *out, size_t *ends);

struct wordcache *wordcache_new(wordcache_encode_fn *encode, void *ctx);
void wordcache_free(struct wordcache *c);

/* Makes the piece known, unless it has too many bytes or ids. */
void wordcache_put(struct wordcache *c, const char *piece, size_t n, const uint32_t *ids,
                   size_t count);

/* Appends the ids of the pieces in order. -1: piece *failed cannot be encoded. */
int wordcache_encode(struct wordcache *c, const struct pieces *p, struct ids *out, size_t *failed);

#endif
