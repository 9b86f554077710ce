/*
 * bpe.h - byte pair encoding of one piece of text.
 *
 * At the beginning every byte is a token. While any pair of neighbouring tokens is in the list of
 * merges, the pair that comes first in the list is replaced, and its leftmost occurrence first
 * (Sennrich, Haddow, Birch, "Neural machine translation of rare words with subword units", ACL
 * 2016; over bytes: Radford et al., "Language models are unsupervised multitask learners", 2019).
 *
 * For short pieces, the encoder searches all pairs for the lowest rank, and processes several
 * pieces alternately. For long pieces it keeps a heap of pairs. A piece of n bytes then costs O(n
 * log n), without recursion.
 */
#pragma once

#include "common/base/ids.h"
#include "tokenizer/cut/pieces.h"
#include "tokenizer/model/merge.h"

struct bpe;

/* Makes an encoder. `byte_ids[b]` is the id of byte b, or -1 if it has none. `merges` are in order
 * of rank and are copied. A pair that occurs twice has the rank of its last occurrence. */
struct bpe *bpe_new(const int64_t byte_ids[256], const struct bpe_merge *merges, size_t count);
void bpe_free(struct bpe *b);

/* From now on, removes bytes without a token from a piece before merging, as Hugging Face does.
 * Otherwise such bytes are an error. Call it before encoding any piece. */
void bpe_drop_missing(struct bpe *b);

/* For each id below `ids`, sets whole[id] to 1 if the token's bytes are certain to merge to that
 * one token (whole.h), else to 0. `merges` are those given to bpe_new. own_ids[b] is the id of the
 * token that is byte b alone, or -1 for none. */
void bpe_mark_whole(const struct bpe *b, uint8_t *whole, size_t ids, const int64_t own_ids[256],
                    const struct bpe_merge *merges, size_t count);

/* Working memory of one thread. Initialise it with zeroes. */
struct bpe_scratch {
    struct bpe_short *shorts; /* the pieces being merged alternately */
    uint32_t *ids, *prev, *next, *ranks;
    size_t cap;
    uint64_t *heap;
    size_t heap_count, heap_cap;
    unsigned char *known; /* copy of a piece without the bytes that have no token */
    size_t known_cap;
};
void bpe_scratch_release(struct bpe_scratch *s);

/* Merges the tokens ids[0..n), which may be any tokens, and appends the resulting ids to `out`.
 * Returns 0, or -1 with an error if there are 2^32 ids or more. */
int bpe_encode_ids(const struct bpe *b, struct bpe_scratch *s, const uint32_t *ids, size_t n,
                   struct ids *out);

/* Appends the ids of the pieces to `out`, in order. The ids of piece i end before
 * out->data[ends[i]]. Returns 0, or -1 with an error if a byte has no token or a piece has 4 GiB or
 * more. */
int bpe_encode_all(const struct bpe *b, struct bpe_scratch *s, const struct pieces *p,
                   struct ids *out, size_t *ends);

/* Appends the ids of one piece to `out`. Returns 0, or -1 with an error if a byte has no token or
 * the piece has 4 GiB or more. */
int bpe_encode(const struct bpe *b, struct bpe_scratch *s, const char *piece, size_t n,
               struct ids *out);
