/* blas.c - cuBLASLt for an emulated device (toolkit/cublasLt.h): plain loops. It refuses what the
 * library does not support, and an algorithm that is used with another problem, or with addresses
 * that are less aligned, than it was chosen for. */
#include <stdlib.h>

#include "common/base/mem.h"
#include "cuda/kernel.h"
#include "tests/emulate/queue.h"
#include "tests/emulate/toolkit/cublasLt.h"

enum { WORKSPACE_ALIGN = 256, BIAS_ALIGN = 16, USUAL_ALIGN = 256, SCRATCHED = 4096 };

struct emulated_blas {
    int unused;
};

struct emulated_product {
    cublasOperation_t a, b;
    cublasLtEpilogue_t epilogue;
    const char *bias;
    int32_t bias_type;
    char *inner;
    int64_t inner_ld;
};

struct emulated_layout {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t ld;
};

struct emulated_preference {
    uint64_t workspace;
    uint32_t scheme, aligned[4]; /* A, B, C, D */
};

/* What an algorithm was chosen for: the words of cublasLtMatmulAlgo_t. */
enum { ALGO_A, ALGO_B, ALGO_C, ALGO_D, ALGO_BIAS, ALGO_WORKSPACE, ALGO_PROBLEM };

struct problem {
    int64_t m, n, k, lda, ldb, ldc;
    int32_t transposed_a, transposed_b, type, type_c, epilogue, pad;
};

/* ---- descriptions ------------------------------------------------------------------------- */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *h)
{
    *h = mem_zalloc(1, sizeof **h);
    return emulated_lost() ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t h)
{
    free(h);
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    default: return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    *d = mem_zalloc(1, sizeof **d);
    (*d)->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    (*d)->bias_type = -1;
    return compute == CUBLAS_COMPUTE_32F && scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS
                                                                : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    free(d);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_bytes(void *to, size_t size, const void *from, size_t bytes)
{
    if (bytes != size)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, from, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t what, const void *to,
                                              size_t bytes)
{
    switch (what) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return set_bytes(&d->a, sizeof d->a, to, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return set_bytes(&d->b, sizeof d->b, to, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return set_bytes(&d->epilogue, sizeof d->epilogue, to, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set_bytes(&d->bias, sizeof d->bias, to, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
        return set_bytes(&d->inner, sizeof d->inner, to, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
        return set_bytes(&d->inner_ld, sizeof d->inner_ld, to, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
        return set_bytes(&d->bias_type, sizeof d->bias_type, to, bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *m, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
    *m = mem_alloc(sizeof **m);
    **m = (struct emulated_layout){ type, rows, columns, ld };
    return rows && columns && ld >= (int64_t)rows ? CUBLAS_STATUS_SUCCESS
                                                  : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t m)
{
    free(m);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p)
{
    *p = mem_zalloc(1, sizeof **p);
    for (int i = 0; i < 4; i++)
        (*p)->aligned[i] = USUAL_ALIGN;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    free(p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t what,
                                                    const void *to, size_t bytes)
{
    if (what == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return set_bytes(&p->workspace, sizeof p->workspace, to, bytes);
    if (what == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        return set_bytes(&p->scheme, sizeof p->scheme, to, bytes);
    return set_bytes(&p->aligned[what - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
                     sizeof *p->aligned, to, bytes);
}

/* ---- what is supported -------------------------------------------------------------------- */

static struct problem problem_of(const struct emulated_product *d, const struct emulated_layout *a,
                                 const struct emulated_layout *b, const struct emulated_layout *c)
{
    struct problem p;
    memset(&p, 0, sizeof p);
    p.m = (int64_t)c->rows;
    p.n = (int64_t)c->columns;
    p.k = (int64_t)(d->a == CUBLAS_OP_T ? a->rows : a->columns);
    p.lda = a->ld;
    p.ldb = b->ld;
    p.ldc = c->ld;
    p.transposed_a = d->a == CUBLAS_OP_T;
    p.transposed_b = d->b == CUBLAS_OP_T;
    p.type = (int32_t)a->type;
    p.type_c = (int32_t)c->type;
    p.epilogue = (int32_t)d->epilogue;
    return p;
}

static uint64_t name_of(const struct problem *p)
{
    const unsigned char *bytes = (const unsigned char *)p;
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof *p; i++)
        hash = rng_key(hash, bytes[i]);
    return hash;
}

static uint64_t aligned(const void *at)
{
    uint64_t bytes = USUAL_ALIGN;
    while ((uintptr_t)at % bytes)
        bytes /= 2;
    return bytes;
}

/* The documentation's table for sums and scales in f32. */
static int is_supported(const struct emulated_product *d, const struct emulated_layout *a,
                        const struct emulated_layout *b, const struct emulated_layout *c)
{
    const struct problem p = problem_of(d, a, b, c);
    const uint64_t m = p.transposed_a ? a->columns : a->rows;
    const uint64_t n = p.transposed_b ? b->rows : b->columns;
    const uint64_t k = p.transposed_b ? b->columns : b->rows;
    const int types = a->type == b->type && (c->type == CUDA_R_32F || a->type == CUDA_R_16BF);
    const int bias = d->epilogue == CUBLASLT_EPILOGUE_DEFAULT || d->bias_type == (int32_t)c->type;
    if (d->epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS &&
        (d->inner_ld < p.m || d->inner_ld % 8 || aligned(d->inner) < BIAS_ALIGN))
        return 0;
    return types && bias && m == c->rows && n == c->columns && k == (uint64_t)p.k;
}

/* A mask with schemes that add in another order each time is not supported here. The planted fault
 * `plain` leaves only products with results in f32, to which nothing is added. */
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t to,
                                              cublasLtMatmulPreference_t p, int wanted,
                                              cublasLtMatmulHeuristicResult_t *found, int *count)
{
    const struct problem problem = problem_of(d, a, b, c);
    (void)h;
    *count = 0;
    if (wanted < 1 || c != to || p->scheme != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ||
        !is_supported(d, a, b, c) ||
        (emulated_planted("plain") &&
         (d->epilogue != CUBLASLT_EPILOGUE_DEFAULT || c->type != CUDA_R_32F)))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    memset(found, 0, sizeof *found);
    for (int i = 0; i < 4; i++)
        found->algo.data[ALGO_A + i] = p->aligned[i];
    found->algo.data[ALGO_BIAS] = aligned(d->bias);
    found->algo.data[ALGO_WORKSPACE] = found->workspaceSize = p->workspace;
    found->algo.data[ALGO_PROBLEM] = name_of(&problem);
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- the product -------------------------------------------------------------------------- */

struct multiply {
    struct problem p;
    const char *a, *b, *c, *bias;
    char *to, *workspace, *inner;
    int64_t inner_ld;
    float alpha, beta;
};

static float number_at(const char *x, int32_t type, int64_t i)
{
    return type == CUDA_R_16BF ? from_bf16(((const uint16_t *)(const void *)x)[i])
                               : ((const float *)(const void *)x)[i];
}

/* Returns a matrix as floats, where element [outer,inner] is that at outer * by_outer + inner *
 * by_inner. */
static float *unpack(const char *x, int32_t type, int64_t outer, int64_t by_outer, int64_t inner,
                     int64_t by_inner)
{
    float *out = mem_alloc((size_t)(outer * inner) * sizeof *out);
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++)
            out[i * inner + j] = number_at(x, type, i * by_outer + j * by_inner);
    return out;
}

static void put_number(char *x, int32_t type, int64_t i, float y)
{
    if (type == CUDA_R_16BF)
        ((uint16_t *)(void *)x)[i] = nearest_bf16(y);
    else
        ((float *)(void *)x)[i] = y;
}

/* Writes a column of the result. */
static void put_column(const struct multiply *x, int64_t column, const float *sums)
{
    for (int64_t i = 0; i < x->p.m; i++) {
        const int64_t at = column * x->p.ldc + i;
        float y = x->alpha * sums[i];
        if (x->beta != 0)
            y += x->beta * number_at(x->c, x->p.type_c, at);
        if (x->bias)
            y += number_at(x->bias, x->p.type_c, i);
        if (x->inner) {
            put_number(x->inner, x->p.type_c, column * x->inner_ld + i, y);
            y *= 0.5F * (1 + tanhf(0.7978845608F * (y + 0.044715F * y * y * y)));
        }
        put_number(x->to, x->p.type_c, at, y);
    }
}

/* The workspace is written, because the library may do so. */
static int run_multiply(void *work)
{
    struct multiply *x = work;
    const struct problem *p = &x->p;
    float *A = unpack(x->a, p->type, p->k, p->transposed_a ? 1 : p->lda, p->m,
                      p->transposed_a ? p->lda : 1);
    float *B = unpack(x->b, p->type, p->n, p->transposed_b ? 1 : p->ldb, p->k,
                      p->transposed_b ? p->ldb : 1);
    float *sums = mem_alloc((size_t)p->m * sizeof *sums);
    memset(x->workspace, 0xff, SCRATCHED);
    for (int64_t j = 0; j < p->n; j++) {
        memset(sums, 0, (size_t)p->m * sizeof *sums);
        for (int64_t k = 0; k < p->k; k++)
            for (int64_t i = 0; i < p->m; i++)
                sums[i] += A[k * p->m + i] * B[j * p->k + k];
        put_column(x, j, sums);
    }
    free(A);
    free(B);
    free(sums);
    free(x);
    return 1;
}

static char *memory(const void *at)
{
    return device_memory((char *)(uintptr_t)at);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha,
                              const void *a_at, cublasLtMatrixLayout_t a, const void *b_at,
                              cublasLtMatrixLayout_t b, const void *beta, const void *c_at,
                              cublasLtMatrixLayout_t c, void *to_at, cublasLtMatrixLayout_t to,
                              const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                              size_t workspace_bytes, cudaStream_t s)
{
    const struct problem p = problem_of(d, a, b, c);
    const uint64_t *algo = algorithm->data;
    const int gelu = d->epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    const int biased = d->epilogue == CUBLASLT_EPILOGUE_BIAS || gelu;
    (void)h;
    emulated_count_product();
    if (emulated_lost())
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (c != to || algo[ALGO_PROBLEM] != name_of(&p) || (biased && !d->bias) ||
        (uintptr_t)workspace % WORKSPACE_ALIGN || workspace_bytes < algo[ALGO_WORKSPACE])
        return CUBLAS_STATUS_INVALID_VALUE;
    if (aligned(a_at) < algo[ALGO_A] || aligned(b_at) < algo[ALGO_B] ||
        aligned(c_at) < algo[ALGO_C] || aligned(to_at) < algo[ALGO_D] ||
        (biased && (aligned(d->bias) < algo[ALGO_BIAS] || aligned(d->bias) < BIAS_ALIGN)))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    struct multiply *x = mem_alloc(sizeof *x);
    *x = (struct multiply){ .p = p, .a = memory(a_at), .b = memory(b_at), .to = memory(to_at) };
    x->c = memory(c_at);
    x->bias = biased ? memory(d->bias) : NULL;
    x->inner = gelu ? memory(d->inner) : NULL;
    x->inner_ld = d->inner_ld;
    x->workspace = memory(workspace);
    memcpy(&x->alpha, alpha, sizeof x->alpha);
    memcpy(&x->beta, beta, sizeof x->beta);
    s->add(s, run_multiply, x, sizeof *x);
    return CUBLAS_STATUS_SUCCESS;
}
