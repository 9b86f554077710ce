/*
 * mma.h - tensor core products and asynchronous copies, for both compilers of the kernels.
 *
 * A warp computes D[16,8] += A[16,16] B[16,8], with A and B in bf16 and D in f32 (PTX's
 * mma.m16n8k16). With g = lane / 4 and t = lane % 4, a lane holds these elements [row][column]:
 *
 *     word a[0]    A[g][2t], A[g][2t+1]          word b[0]    B[2t][g], B[2t+1][g]
 *     word a[1]    A[g+8][2t], A[g+8][2t+1]      word b[1]    B[2t+8][g], B[2t+9][g]
 *     word a[2]    A[g][2t+8], A[g][2t+9]        float d[0]   D[g][2t]      d[1]   D[g][2t+1]
 *     word a[3]    A[g+8][2t+8], A[g+8][2t+9]    float d[2]   D[g+8][2t]    d[3]   D[g+8][2t+1]
 *
 * Of the two numbers in a word, the first is in the low half.
 */
#pragma once

#include "cuda/kernel.h"

/* Returns two numbers, rounded to bf16, in one word: `low` in its low half. */
DEVICE uint32_t pack_bf16(float low, float high)
{
#ifdef __CUDACC__
    uint32_t out;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
    return out;
#else
    return nearest_bf16(low) | (uint32_t)nearest_bf16(high) << 16;
#endif
}

#ifdef __CUDACC__

DEVICE uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

DEVICE void warp_mma(float *d, const uint32_t *a, const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Load four 8 x 8 matrices from shared memory. Lanes 8i to 8i+7 pass the addresses of the 16-byte
 * rows of matrix i. With g and t as above, word i of a lane gets two elements of matrix i:
 * warp_load elements 2t and 2t+1 of row g, warp_load_turned elements 2t and 2t+1 of column g. */
DEVICE void warp_load(uint32_t *out, const uint16_t *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared_address(row))
                 : "memory");
}

DEVICE void warp_load_turned(uint32_t *out, const uint16_t *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* Starts a copy of 16 bytes to shared memory, or, if `valid` is 0, of 16 zeros. The bytes are there
 * after ASYNC_WAIT and a barrier. */
DEVICE void async_copy(void *to, const void *from, int valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(to)), "l"(from), "r"(valid ? 16 : 0)
                 : "memory");
}

#define ASYNC_COMMIT()     asm volatile("cp.async.commit_group;" ::: "memory")
#define ASYNC_WAIT(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")

#else
#include "tests/emulate/emulate_mma.h"
#endif
