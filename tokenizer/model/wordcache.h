/*
 * wordcache.h - a cache of the ids of recent pieces, because words occur again and again.
 *
 * The cache is a hash table with entries of 32 bytes, four to a bucket, the newest first. An entry
 * holds a piece of less than 16 bytes, padded with zeroes, the piece's length in the last byte,
 * and up to four ids. More ids, and the bytes of longer pieces, are stored in a ring buffer, where
 * new records overwrite the oldest. The entry then holds the position in the ring. For a longer
 * piece, it holds a hash instead of the bytes, and the ring holds the bytes after the ids. The
 * table grows with the number of pieces, up to a limit; the ring has a fixed size. A piece that is
 * not found is encoded again, so the ids do not depend on the state of the cache.
 *
 * Pieces are looked up in groups. Pieces that are not in the first half of their bucket wait until
 * the others are done; meanwhile the second half is fetched from memory. Those that are not there
 * either are encoded together. Uses AVX-512 or plain C, depending on the processor.
 */
#pragma once

#include "common/base/ids.h"
#include "tokenizer/cut/pieces.h"

struct wordcache;

/* A function that encodes pieces: it appends their ids; those of piece i end at out->data[ends[i]].
 * The ids must depend on the piece alone. Returns 0, or -1 if a piece cannot be encoded. */
typedef int wordcache_encode_fn(void *ctx, const struct pieces *p, struct ids *out, size_t *ends);

/* Makes an empty cache; pieces that it does not have are encoded by encode(ctx, ...). */
struct wordcache *wordcache_new(wordcache_encode_fn *encode, void *ctx);
void wordcache_free(struct wordcache *c);

/* Appends the ids of the pieces to `out`, in order. Returns 0, or -1 with an error if a piece
 * cannot be encoded; *failed is then set to the number of that piece in p, from 0. */
int wordcache_encode(struct wordcache *c, const struct pieces *p, struct ids *out, size_t *failed);
