/* attention_mma.cu - attention on tensor cores, for products in bf16 (Dao et al. 2022, Dao 2023). A
 * block computes 64 queries, each of its warps 16 of them, over tiles of 64 keys.
 *
 *     for each block of queries of each head of each sequence           attend
 *         for each tile of keys, while the next one is loading
 *             S = Q K^T                                                 multiply_turned
 *             P = dropout(2^(S - max)); update max and sum
 *             y += P V                                                  multiply_add
 *     y /= sum, lse = max + log(sum)
 *
 * Backward, where P is computed again from lse, in two passes without atomic operations. Only tiles
 * in which some pairs are not visible compare positions. The factor scale of dS comes last.
 *
 *     for each block of queries, each tile of keys:                     attend_bwd_queries
 *         S = Q K^T, dP = dy V^T, dS = P (dP - dy . y), dq += dS K
 *     for each block of keys, each head that uses them, each tile of queries:   attend_bwd_keys
 *         S^T = K Q^T, dP^T = V dy^T, dv += P^T dy, dk += dS^T Q
 */
#include "cuda/attention.h"
#include "cuda/mma.h"

enum { THREADS = 128, ROWS = MMA_ROWS };

/* The kernels for each size of heads. The name of each ends with the size. */
#define JOIN(name, head)    name##_##head
#define OF_HEAD(name, head) JOIN(name, head)
#define NAME(name)          OF_HEAD(name, HEAD)

#define HEAD 16
#include "cuda/attention_mma.inc"
#define HEAD 32
#include "cuda/attention_mma.inc"
#define HEAD 64
#include "cuda/attention_mma.inc"
#define HEAD 80
#include "cuda/attention_mma.inc"
#define HEAD 96
#include "cuda/attention_mma.inc"
#define HEAD 128
#include "cuda/attention_mma.inc"

static const struct {
    int64_t HS;
    void (*run[2])(struct ops *o, struct attention a); /* forward, backward */
} sizes[] = {
    { 16, { run_fwd_16, run_bwd_16 } }, { 32, { run_fwd_32, run_bwd_32 } },
    { 64, { run_fwd_64, run_bwd_64 } }, { 80, { run_fwd_80, run_bwd_80 } },
    { 96, { run_fwd_96, run_bwd_96 } }, { 128, { run_fwd_128, run_bwd_128 } },
};

EXTERN_C int cuda_attention_mma(struct ops *o, const struct attention *a, int backward)
{
    /* of attend_bwd_queries, which takes the most; some GPUs have too little for heads of 128 */
    const size_t shared = 6 * ROWS * (size_t)(a->HS + 8) * sizeof(uint16_t) + ROWS * sizeof(float);
    if (backward && shared > device_shared(o))
        return 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].HS == a->HS) {
            sizes[i].run[backward](o, *a);
            return 1;
        }
    return 0;
}
