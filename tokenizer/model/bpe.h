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
#include "tokenizer/model/merge.h"

struct bpe;

/* Makes an encoder. `byte_ids[b]` is the id of byte b, or -1 if it has none. `merges` are in order
 * of rank and are copied. A pair that occurs twice has the rank of its last occurrence. `drop` 1:
 * bytes without a token are removed from a piece before merging, as Hugging Face does; 0: they are
 * an error. */
struct bpe *bpe_new(const int64_t byte_ids[256], const struct bpe_merge *merges, size_t count,
                    int drop);
void bpe_free(struct bpe *b);

/* Working memory of one thread. Initialise it with zeroes. */
struct bpe_scratch {
    struct bpe_short *shorts; /* the pieces being merged alternately */
    uint32_t *ids, *prev, *next, *ranks;
    size_t cap;
    uint64_t *heap;
    size_t heap_count, heap_cap;
};
void bpe_scratch_release(struct bpe_scratch *s);

/* Appends to `ids` the tokens with which the merging of piece[0..n) begins (starts.h). Returns 0,
 * or -1 with an error if a byte has no token. */
int bpe_begin(const struct bpe *b, const char *piece, size_t n, struct ids *ids);

/* Merges the tokens of several lists, each apart, and appends the resulting ids to `out`, in order.
 * List i ends before ids[list_ends[i]], where list i + 1 begins. A list may have any tokens, fewer
 * than 2^32. The resulting ids of list i end before out->data[ends[i]]. */
void bpe_merge(const struct bpe *b, struct bpe_scratch *s, const uint32_t *ids,
               const size_t *list_ends, size_t count, struct ids *out, size_t *ends);
