/* sgemm: prints the speed in GFLOP/s that OpenBLAS's f32 matrix products reach on all cores of this
 * machine: the best of a few tries, for the widest layer of GPT-2 small on 1,024 tokens and for a
 * large square matrix. 0 if the library is not installed. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "model/compute/kernels.h"

enum { TRIES = 5, ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 }; /* the words of CBLAS */

typedef void gemm(int order, int ta, int tb, int M, int N, int K, float alpha, const float *A,
                  int lda, const float *B, int ldb, float beta, float *C, int ldc);

static const struct shape {
    int M, N, K, times;
} shapes[] = { { 1024, 3072, 768, 20 }, { 4096, 4096, 4096, 1 } };

/* Opens the library, preferably its OpenMP variant if that has its own name. Returns NULL if there
 * is none. */
static void *library(void)
{
    static const char *const names[] = { "libopenblaso.so.0", "libopenblas.so.0",
                                         "libopenblasp.so.0", "libopenblas.so" };
    unsetenv("OPENBLAS_CORETYPE");            /* so that it asks the processor, as it is loaded */
    if (!strcmp(kernels_set(0)->word, "amx")) /* which a release older than it does not know */
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    unsetenv("OPENBLAS_L2_SIZE");
    unsetenv("OPENBLAS_NUM_THREADS");
    void *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = dlopen(names[i], RTLD_NOW);
    return found;
}

static float *matrix(int rows, int columns)
{
    size_t n = (size_t)rows * (size_t)columns;
    float *x = mem_aligned(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i % 7) - 3;
    return x;
}

/* Returns the best speed of a linear layer's product, C = A B^T. */
static double rate_of(gemm *sgemm, const struct shape *s)
{
    float *A = matrix(s->M, s->K), *B = matrix(s->N, s->K), *C = matrix(s->M, s->N);
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        double began = log_seconds();
        for (int t = 0; t < s->times; t++)
            sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, s->M, s->N, s->K, 1, A, s->K, B, s->K, 0, C, s->N);
        double rate = 2.0 * s->M * s->N * s->K * s->times / (log_seconds() - began);
        best = rate > best ? rate : best;
    }
    free(A);
    free(B);
    free(C);
    return best;
}

int main(void)
{
    void *blas = library();
    gemm *sgemm = blas ? (gemm *)dlsym(blas, "cblas_sgemm") : NULL;
    double best = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && sgemm; i++) {
        double rate = rate_of(sgemm, &shapes[i]);
        best = rate > best ? rate : best;
    }
    printf("%.0f\n", best * 1e-9);
    return 0;
}
