/*
 * bpe.h - byte pair encoding of one piece of text.
 *
 * Every byte is a token; then, as long as some neighbouring pair is in the list of merges, the
 * pair that comes first in the list is replaced, leftmost first (Sennrich, Haddow, Birch, "Neural
 * machine translation of rare words with subword units", ACL 2016; over bytes: Radford et al.,
 * "Language models are unsupervised multitask learners", 2019).
 *
 * Short pieces search for the least rank, several pieces in turn; long ones keep a heap, so that n
 * bytes cost O(n log n), however long the piece, without recursion.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_BPE_H
#define TEXTMILL_TOKENIZER_MODEL_BPE_H

#include <stddef.h>
#include <stdint.h>

#include "common/ids.h"
#include "tokenizer/cut/pieces.h"
#include "tokenizer/model/merge.h"

struct bpe;

/* `byte_ids[b]` is the id of byte b, -1 for none; merges in order of rank, copied. A pair that
 * occurs twice has its last rank. */
struct bpe *bpe_new(const int64_t byte_ids[256], const struct bpe_merge *merges, size_t count);
void bpe_free(struct bpe *b);

/* Bytes without a token are left out of pieces before these are merged, as Hugging Face does, and
 * no longer an error. Before the first piece. */
void bpe_drop_missing(struct bpe *b);

/* Sets whole[id], id below `ids`, for tokens that are certain to be what their own bytes merge to
 * (whole.h). `merges` are those of bpe_new; own_ids[b] is the id of a token that is byte b, -1 for
 * none. */
void bpe_mark_whole(const struct bpe *b, uint8_t *whole, size_t ids, const int64_t own_ids[256],
                    const struct bpe_merge *merges, size_t count);

/* One thread's memory. Starts as zeroes. */
struct bpe_scratch {
    struct bpe_short *shorts; /* pieces that are merged together */
    uint32_t *ids, *prev, *next, *ranks;
    size_t cap;
    uint64_t *heap;
    size_t heap_count, heap_cap;
    unsigned char *known; /* a piece without the bytes that have no token */
    size_t known_cap;
};
void bpe_scratch_release(struct bpe_scratch *s);

/* Appends what ids[0..n) merge to, any tokens. -1 with an error: 2^32 ids or more. */
int bpe_encode_ids(const struct bpe *b, struct bpe_scratch *s, const uint32_t *ids, size_t n,
                   struct ids *out);

/* Appends the ids of the pieces in order; those of piece i end at out->data[ends[i]]. -1 with an
 * error: a byte that has no token, or a piece of 4 GiB or more. */
int bpe_encode_all(const struct bpe *b, struct bpe_scratch *s, const struct pieces *p,
                   struct ids *out, size_t *ends);

/* The same of one piece. */
int bpe_encode(const struct bpe *b, struct bpe_scratch *s, const char *piece, size_t n,
               struct ids *out);

#endif
