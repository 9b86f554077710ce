/*
 * attention.h - the arguments of the attention kernels, and where each head of each sequence lies
 * in the arrays.
 */
#pragma once

#include "cuda/kernel.h"

enum { MMA_ROWS = 64 }; /* queries or keys of a block of attention_mma.cu */

struct attention {
    struct view q, k, v, y, dy, dq, dk, dv; /* rows begin ldq, ldk or ldy apart */
    /* For each sequence [NH,rows]: the log of each softmax's sum, and the dot product of each
     * head's rows of dy and y. */
    float *lse, *dots;
    /* [B * blocks of a sequence, (NH + 2 KV) * HS], or NULL: sums of the columns of dq, dk and dv
     * over the rows of a block. The sums of blocks beyond the end of a sequence are not set. */
    float *parts;
    const int64_t *sequences;          /* [B,2]: first row and number of rows of each */
    int64_t ldq, ldk, ldy, B, longest; /* longest: number of rows of the longest sequence */
    int64_t past;                      /* number of cached keys before the first query's own key */
    int64_t from;                      /* number of the head whose blocks have blockIdx.y 0 */
    int64_t NH, KV, HS;
    int64_t first_head, all_heads; /* as in struct ops_attention */
    float scale;
    int causal;
    int apart; /* 1: each sequence has a dropout mask of its own */
    struct ops_mask mask;
};

/* Returns the kernels' arguments for the attention `a` of x. Does not set the arrays of results. */
EXTERN_C struct attention cuda_attention_of(struct ops *o, struct ops_qkv x,
                                            const struct ops_attention *a);
/* Runs attention, or its backward pass, on tensor cores, for products in bf16. Returns 1, or 0
 * without doing anything if the tensor core kernels do not support the head size or the device
 * lacks the shared memory. */
EXTERN_C int cuda_attention_mma(struct ops *o, const struct attention *a, int backward);

/* Runs a kernel with x blocks for each of the heads 0..heads-1. Takes several launches if there are
 * more heads than rows in a grid. */
#define LAUNCH_HEADS(o, name, x, heads, bytes, a)                                                  \
    for ((a).from = 0; (a).from < (heads); (a).from += GRID_ROWS)                                  \
    LAUNCH(o, name, x, least((heads) - (a).from, GRID_ROWS), THREADS, bytes, a)

/* One query head of one sequence: the indices of its first elements in the arrays. */
struct head {
    int64_t q, k, y, sums;
    int64_t queries, keys;
    int64_t index; /* index of the head in the dropout mask */
    struct ops_mask mask;
};

DEVICE struct head head_of(const struct attention *a, int64_t number)
{
    const int64_t b = number / a->NH, head = number % a->NH;
    const int64_t row = a->sequences[2 * b], n = a->sequences[2 * b + 1];
    struct head h;
    h.q = row * a->ldq + head * a->HS;
    h.k = row * a->ldk + head / (a->NH / a->KV) * a->HS;
    h.y = row * a->ldy + head * a->HS;
    h.sums = row * a->NH + head * n;
    h.queries = n;
    h.keys = a->past + n;
    h.index = (a->apart ? 0 : b * a->all_heads) + a->first_head + head;
    h.mask = a->mask;
    if (a->apart)
        h.mask.key = rng_key(a->mask.key, (uint64_t)b);
    return h;
}

/* Returns where this block stores the column sums of its rows (a->parts), for sequence b. `head`
 * counts the heads of dq, then those of dk, then those of dv. */
DEVICE float *part_of(const struct attention *a, int64_t b, int64_t head)
{
    return a->parts + ((b * gridDim.x + blockIdx.x) * (a->NH + 2 * a->KV) + head) * a->HS;
}

/* Returns the number of keys that query q sees; 0 for q after the last query. */
DEVICE int64_t visible_to(const struct attention *a, const struct head *h, int64_t q)
{
    return q >= h->queries ? 0 : a->causal ? a->past + q + 1 : h->keys;
}

/* Returns the index of the pair (q, k) in the dropout mask. A query has an even number of
 * indices. */
DEVICE uint64_t mask_index(const struct head *h, int64_t q, int64_t k)
{
    return (uint64_t)((h->index * h->queries + q) * ((h->keys + 1) / 2 * 2) + k);
}
