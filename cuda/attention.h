/*
 * attention.h - what the kernels of attention share: where a head of a sequence lies in the arrays.
 */
#ifndef TEXTMILL_CUDA_ATTENTION_H
#define TEXTMILL_CUDA_ATTENTION_H

#include "cuda/kernel.h"

struct attention {
    struct view q, k, v, y, dy, dq, dk, dv; /* rows ldq, ldk or ldy apart */
    float *lse, *dots;                 /* [N*NH], a sequence's behind the other's; dots: dy . y */
    const int64_t *sequences;          /* [B,2] first row and length */
    int64_t ldq, ldk, ldy, B, longest; /* longest of the lengths */
    int64_t past;                      /* keys before the first query's own */
    int64_t NH, KV, HS;
    int64_t first_head, all_heads; /* whose masks these heads have */
    float scale;
    int causal;
    struct mask mask;
    int64_t pieces; /* of the keys, for few queries */
    float *parts;   /* theirs: [queries, pieces, HS + 2] y, maximum and sum */
};

EXTERN_C struct attention cuda_attention_of(struct ops *o, struct ops_qkv x,
                                            const struct ops_attention *a);
/* By tensor cores, for products in bf16: 0 where heads have a size that they do not take. */
EXTERN_C int cuda_attention_fwd_mma(struct ops *o, const struct attention *a);
EXTERN_C int cuda_attention_bwd_mma(struct ops *o, const struct attention *a);

/* A head of queries of one sequence: the first elements of it in the arrays. */
struct head {
    int64_t q, k, y, sums;
    int64_t queries, keys;
    int64_t index; /* of its dropout masks */
    struct mask mask;
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
    h.index = (a->causal ? b * a->all_heads : 0) + a->first_head + head;
    h.mask = a->mask;
    if (!a->causal)
        h.mask.key = rng_key(a->mask.key, (uint64_t)b);
    return h;
}

/* Keys that query q sees; behind the last query none. */
DEVICE int64_t visible_to(const struct attention *a, const struct head *h, int64_t q)
{
    return q >= h->queries ? 0 : a->causal ? a->past + q + 1 : h->keys;
}

/* Of the pair in the dropout mask; for each query an even number of keys. */
DEVICE uint64_t mask_index(const struct head *h, int64_t q, int64_t k)
{
    return (uint64_t)((h->index * h->queries + q) * ((h->keys + 1) / 2 * 2) + k);
}

#endif
