/* products.c - matrix products by cuBLASLt.
 *
 * Its matrices are column-major: C = A B in row-major order is C^T = B^T A^T there. So the operands
 * are exchanged and no data are moved. The library is asked once per shape for an algorithm, and
 * its first choice is used. Only algorithms that add in a fixed order are allowed, so that the same
 * inputs give the same bits. */
#include <cublasLt.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "cuda/cuda.h"

enum { WORKSPACE = 32 << 20, BUCKETS = 1024, ALIGNED_MOST = 256 };

/* Everything that the choice of algorithm depends on; compared byte by byte. */
struct shape {
    int64_t M, N, K, lda, ldb, ldc;
    int32_t transposed_a, transposed_b, type, type_c, biased, based;
    int32_t aligned_a, aligned_b, aligned_c, aligned_base, aligned_bias, gelu;
};

struct plan {
    struct shape shape;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithm;
    int exists; /* 0: the library has no algorithm for the shape */
    struct plan *next;
};

struct products {
    cublasLtHandle_t library;
    char *workspace;
    struct plan *plans[BUCKETS];
};

static void check(const char *what, cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        log_fatal("the GPU failed: %s: %s", what, cublasLtGetStatusString(status));
}

int products_open(struct ops *o)
{
    struct products *p = o->products = mem_zalloc(1, sizeof *p);
    cublasStatus_t status = cublasLtCreate(&p->library);
    if (status != CUBLAS_STATUS_SUCCESS) {
        free(p);
        return err_set("cannot use the GPU: cuBLASLt: %s", cublasLtGetStatusString(status));
    }
    p->workspace = device_alloc(o, WORKSPACE);
    return 0;
}

static void free_plan(struct plan *p)
{
    cublasLtMatmulDescDestroy(p->product);
    cublasLtMatrixLayoutDestroy(p->a);
    cublasLtMatrixLayoutDestroy(p->b);
    cublasLtMatrixLayoutDestroy(p->c);
    free(p);
}

void products_close(struct ops *o)
{
    struct products *p = o->products;
    for (int i = 0; i < BUCKETS; i++)
        while (p->plans[i]) {
            struct plan *next = p->plans[i]->next;
            free_plan(p->plans[i]);
            p->plans[i] = next;
        }
    device_free(o, p->workspace);
    cublasLtDestroy(p->library);
    free(p);
}

/* ---- plans -------------------------------------------------------------------------------- */

static cudaDataType_t type_of(int32_t type)
{
    return type == OPS_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

static int32_t aligned(struct ops_array a)
{
    int32_t bytes = ALIGNED_MOST;
    while ((uintptr_t)a.address % (uintptr_t)bytes)
        bytes /= 2;
    return bytes;
}

static struct shape shape_of(const struct ops_matmul *p, struct ops_array inner)
{
    struct shape s;
    memset(&s, 0, sizeof s);
    s.M = p->M;
    s.N = p->N;
    s.K = p->K;
    s.lda = p->A.ld;
    s.ldb = p->B.ld;
    s.ldc = p->C.ld;
    s.transposed_a = p->A.transposed;
    s.transposed_b = p->B.transposed;
    s.type = p->A.x.type;
    s.type_c = p->C.x.type;
    s.biased = !ops_is_none(p->bias);
    s.aligned_a = aligned(p->A.x);
    s.aligned_b = aligned(p->B.x);
    s.aligned_c = aligned(p->C.x);
    s.based = !ops_is_none(p->base);
    s.aligned_base = s.based ? aligned(p->base) : s.aligned_c;
    s.aligned_bias = aligned(p->bias);
    s.gelu = !ops_is_none(inner);
    return s;
}

static void set(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t what, const void *to,
                size_t bytes)
{
    check("describing a product", cublasLtMatmulDescSetAttribute(d, what, to, bytes));
}

static void prefer(cublasLtMatmulPreference_t p, cublasLtMatmulPreferenceAttributes_t what,
                   uint64_t to, size_t bytes)
{
    uint32_t small = (uint32_t)to;
    check("describing a product", cublasLtMatmulPreferenceSetAttribute(
                                      p, what, bytes == 4 ? (void *)&small : (void *)&to, bytes));
}

/* Returns cuBLASLt's description of our matrix of `rows` rows and `columns` columns. */
static cublasLtMatrixLayout_t layout(int32_t type, int64_t rows, int64_t columns, int64_t ld,
                                     int transposed)
{
    cublasLtMatrixLayout_t out;
    check("describing a matrix",
          cublasLtMatrixLayoutCreate(&out, type_of(type), (uint64_t)(transposed ? rows : columns),
                                     (uint64_t)(transposed ? columns : rows), ld));
    return out;
}

static void set_pointers(const struct plan *p, const struct ops_matmul *m, struct ops_array inner)
{
    const void *bias = m->bias.address, *to = inner.address;
    if (p->shape.gelu)
        set(p->product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &to, sizeof to);
    if (p->shape.biased)
        set(p->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
}

static void describe(struct plan *p)
{
    const struct shape *s = &p->shape;
    cublasOperation_t a = s->transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t b = s->transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    check("describing a product",
          cublasLtMatmulDescCreate(&p->product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set(p->product, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a);
    set(p->product, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b);
    if (s->biased) {
        cublasLtEpilogue_t epilogue = s->gelu ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS
                                              : CUBLASLT_EPILOGUE_BIAS;
        cudaDataType_t type = type_of(s->type_c);
        set(p->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
        set(p->product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type);
    }
    if (s->gelu)
        set(p->product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &s->ldc, sizeof s->ldc);
    p->a = layout(s->type, s->K, s->N, s->ldb, s->transposed_b);
    p->b = layout(s->type, s->M, s->K, s->lda, s->transposed_a);
    p->c = layout(s->type_c, s->M, s->N, s->ldc, 0);
}

/* Chooses the algorithm of plan p, or sets p->exists to 0. Call set_pointers before: the library
 * reads the alignment of a bias from its address. The library supports each type and layout, but
 * does not promise an algorithm for each alignment and epilogue. */
static void choose(cublasLtHandle_t library, struct plan *p)
{
    const struct shape *s = &p->shape;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    check("describing a product", cublasLtMatmulPreferenceCreate(&preference));
    prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, WORKSPACE, 8);
    prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 4);
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, (uint64_t)s->aligned_b, 4);
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, (uint64_t)s->aligned_a, 4);
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, (uint64_t)s->aligned_base, 4);
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, (uint64_t)s->aligned_c, 4);
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(library, p->product, p->a, p->b, p->c,
                                                           p->c, preference, 1, &found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    p->exists = status == CUBLAS_STATUS_SUCCESS && count && found.state == CUBLAS_STATUS_SUCCESS;
    if (p->exists)
        p->algorithm = found.algo;
    else if (status != CUBLAS_STATUS_SUCCESS && status != CUBLAS_STATUS_NOT_SUPPORTED)
        check("choosing a product", status);
}

static struct plan *plan_of(struct products *all, const struct ops_matmul *p,
                            struct ops_array inner)
{
    struct shape s = shape_of(p, inner);
    struct plan **at = &all->plans[hash_more(HASH_START, &s, sizeof s) % BUCKETS];
    for (struct plan *i = *at; i; i = i->next)
        if (!memcmp(&i->shape, &s, sizeof s))
            return i;
    struct plan *made = mem_zalloc(1, sizeof *made);
    made->shape = s;
    made->next = *at;
    describe(made);
    set_pointers(made, p, inner);
    choose(all->library, made);
    return *at = made;
}

/* ---- products ----------------------------------------------------------------------------- */

static int has_type(struct ops_array a, enum ops_type type)
{
    return ops_is_none(a) || a.type == type;
}

int products_multiply(struct ops *o, const struct ops_matmul *p, struct ops_array inner)
{
    struct products *all = o->products;
    struct plan *plan = plan_of(all, p, inner);
    const int based = plan->shape.based;
    const float one = 1, beta = based ? 1 : 0;
    assert(p->A.x.type == p->B.x.type);
    assert(has_type(p->base, p->C.x.type) && has_type(p->bias, p->C.x.type));
    if (!plan->exists)
        return 0;
    set_pointers(plan, p, inner);
    cublasStatus_t status = cublasLtMatmul(
        all->library, plan->product, &one, p->B.x.address, plan->a, p->A.x.address, plan->b, &beta,
        based ? p->base.address : p->C.x.address, plan->c, p->C.x.address, plan->c,
        &plan->algorithm, all->workspace, WORKSPACE, *(cudaStream_t *)o->device);
    if (status == CUBLAS_STATUS_SUCCESS || !device_unrecord(o))
        check("a product", status);
    return 1;
}
