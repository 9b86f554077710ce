/*
 * blas.h - the matrix library: OpenBLAS, found when the program runs.
 *
 * It is loaded, not linked, for its environment must be set before its constructor runs: an
 * OPENBLAS_CORETYPE left over from elsewhere (Haswell, say) halves the speed of a processor with
 * AVX-512, and a second pool of threads would fight with ours. It runs single-threaded; each of
 * our threads multiplies its part of the output.
 */
#ifndef TEXTMILL_BLAS_H
#define TEXTMILL_BLAS_H

#include <stdint.h>

/* Loads the library, once a process. -1 with an error when none is found. */
int blas_load(void);

/* e.g. "OpenBLAS 0.3.21 SkylakeX". Valid after blas_load. */
const char *blas_describe(void);

enum blas_form { BLAS_PLAIN = 111, BLAS_TRANSPOSED = 112 };

/* C[M,N] = alpha * op(A)[M,K] op(B)[K,N] + beta * C, row-major with row strides lda, ldb, ldc;
 * op(X) is X or, where transposed, X^T of a stored [K,M] or [N,K]. On the calling thread alone;
 * several threads may call it at once. */
void blas_gemm(enum blas_form a_form, enum blas_form b_form, int64_t M, int64_t N, int64_t K,
               float alpha, const float *A, int64_t lda, const float *B, int64_t ldb, float beta,
               float *C, int64_t ldc);

#endif
