/* check DEVICE...: compares every operation of ops.h on other devices with the CPU's back end,
 * which the unit tests compare with plain loops. All get the same numbers. The results may differ
 * by rounding, or not at all where that is promised. All devices that are named must give the same
 * bits, so they must be of one kind: emulated:0 emulated:1 emulated:2, or cuda cuda. Prints a line
 * for each operation that fails, and exits with 1 if there is any. --list prints the names of the
 * cases; --only runs one of them. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "model/compute/ops.h"
#include "model/compute/ops_exchange.h"
#include "model/compute/ops_update.h"
#include "tests/unit/gauss.h"

enum { ARRAYS_MOST = 40, RESULTS_MOST = 32 };

/* The result of one run of a case. */
struct result {
    const char *name;
    double tolerance; /* of the largest number; 0: the same bits */
    enum ops_type type;
    int64_t n;
    char *data;
};

/* One run of one case on one device. */
struct run {
    struct ops *o;
    struct {
        struct ops_array a;
        int64_t n;
    } arrays[ARRAYS_MOST];
    int array_count;
    struct result results[RESULTS_MOST];
    int result_count;
    enum ops_type type;  /* of this case's activations */
    enum ops_type other; /* of others */
    int way;
    uint64_t key;
    const char *broken; /* what is wrong beside the numbers, or NULL */
};

/* ---- arrays of a run ---------------------------------------------------------------------- */

static uint16_t bf16_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double number_at(const struct result *r, int64_t i)
{
    const void *p = r->data;
    uint32_t bits;
    float x;
    switch (r->type) {
    case OPS_F32: return ((const float *)p)[i];
    case OPS_F64: return ((const double *)p)[i];
    case OPS_BF16:
        bits = (uint32_t)((const uint16_t *)p)[i] << 16;
        memcpy(&x, &bits, sizeof x);
        return x;
    default: return ((const unsigned char *)p)[i];
    }
}

static struct ops_array put(struct run *r, enum ops_type type, const void *from, int64_t n)
{
    assert(r->array_count < ARRAYS_MOST);
    struct ops_array a = ops_buffer(r->o, type, n);
    ops_upload(r->o, a, from, n);
    r->arrays[r->array_count].n = n;
    r->arrays[r->array_count++].a = a;
    return a;
}

/* Returns an array of n random numbers, which differ from call to call. */
static struct ops_array numbers(struct run *r, enum ops_type type, int64_t n, double scale)
{
    struct rng g = { rng_key(1, r->key++), 0 };
    char *data = mem_alloc((size_t)n * 8);
    for (int64_t i = 0; i < n; i++) {
        float x = (float)(scale * rng_normal(&g));
        if (type == OPS_BF16)
            ((uint16_t *)(void *)data)[i] = bf16_of(x);
        else if (type == OPS_F64)
            ((double *)(void *)data)[i] = x;
        else if (type == OPS_U8)
            data[i] = (char)rng_below(&g, 2);
        else
            ((float *)(void *)data)[i] = x;
    }
    struct ops_array a = put(r, type, data, n);
    free(data);
    return a;
}

static struct ops_array positive(struct run *r, int64_t n)
{
    struct rng g = { rng_key(2, r->key++), 0 };
    float *data = mem_alloc((size_t)n * sizeof *data);
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)rng_real(&g);
    struct ops_array a = put(r, OPS_F32, data, n);
    free(data);
    return a;
}

/* Returns an array of n random integers from `least` to most - 1, of an integer type. */
static struct ops_array integers(struct run *r, enum ops_type type, int64_t n, int64_t least,
                                 int64_t most)
{
    struct rng g = { rng_key(3, r->key++), 0 };
    char *data = mem_alloc((size_t)n * 8);
    for (int64_t i = 0; i < n; i++) {
        int64_t x = least + (int64_t)rng_below(&g, (uint64_t)(most - least));
        if (type == OPS_I64)
            ((int64_t *)(void *)data)[i] = x;
        else
            ((int32_t *)(void *)data)[i] = (int32_t)x;
    }
    struct ops_array a = put(r, type, data, n);
    free(data);
    return a;
}

/* Returns the numbers of every second row, from `first` on. */
static struct ops_array some_rows(struct run *r, int64_t n, int64_t first)
{
    int64_t *rows = mem_alloc((size_t)n * sizeof *rows);
    for (int64_t i = 0; i < n; i++)
        rows[i] = first + 2 * i;
    struct ops_array a = put(r, OPS_I64, rows, n);
    free(rows);
    return a;
}

static void leave(struct run *r, const char *name, struct ops_array a, int64_t n, double tolerance)
{
    assert(r->result_count < RESULTS_MOST);
    char *data = mem_alloc((size_t)n * ops_type_bytes(a.type));
    ops_download(r->o, data, a, n);
    double least = a.type == OPS_BF16 && tolerance > 0 && tolerance < 8e-3 ? 8e-3 : tolerance;
    r->results[r->result_count++] = (struct result){ name, least, a.type, n, data };
}

static enum ops_type precision;

/* Returns the tolerance for the results of products. */
static double of_products(void)
{
    return precision == OPS_BF16 ? 2e-2 : 1e-5;
}

/* ---- elements ------------------------------------------------------------------------------ */

static void elements(struct run *r)
{
    const int64_t n = r->way ? 2048 : 5003;
    struct ops_array x = numbers(r, r->type, n, 1), y = numbers(r, r->other, n, 1);
    struct ops_array z = numbers(r, r->other, n, 1), f = numbers(r, OPS_F32, n, 1);
    struct ops_array g = numbers(r, OPS_F32, n, 1), t = numbers(r, OPS_F32, n, 1);
    struct ops_array q = numbers(r, r->type, n, 1), fresh = ops_buffer(r->o, r->type, n);
    leave(r, "new array", fresh, n, 0);
    ops_buffer_free(r->o, fresh);
    ops_copy(r->o, y, x, n);
    leave(r, "copy", y, n, 0);
    ops_add(r->o, z, x, n);
    leave(r, "add", z, n, 0);
    ops_blend(r->o, f, 0.3, g, -1.7, n);
    leave(r, "blend", f, n, 1e-6);
    ops_zero(r->o, ops_part(x, 3), n - 5);
    leave(r, "zero", x, n, 0);
    ops_tanh_fwd(r->o, t, n);
    leave(r, "tanh_fwd", t, n, 1e-6);
    ops_tanh_bwd(r->o, g, t, n);
    leave(r, "tanh_bwd", g, n, 1e-6);
    ops_copy(r->o, ops_part(q, 1), ops_part(y, 1), n - 1);
    leave(r, "copy from an odd place", q, n, 0);
}

static void activations(struct run *r)
{
    static const int64_t sizes[][2] = { { 3, 401 }, { 401, 3 }, { 25, 48 } };
    const int64_t n = 1203;
    for (int f = 0; f < OPS_ACTIVATIONS; f++) {
        const int64_t N = sizes[(r->type + r->other + f) % 3][0],
                      I = sizes[(r->type + r->other + f) % 3][1];
        struct ops_array sums = numbers(r, OPS_F32, n, 1);
        struct ops_array x = numbers(r, r->type, n, 3), dy = numbers(r, r->other, n, 1);
        struct ops_array y = numbers(r, r->other, n, 1), up = numbers(r, r->type, n, 1);
        const struct ops_gate form = { f, 1, n, n }, rows = { f, N, I, I };
        const struct ops_gradient none = { 0 };
        ops_gated_fwd(r->o, &form, y, x, OPS_NONE);
        leave(r, "activation_fwd", y, n, 2e-6);
        if (r->way) {
            ops_gated_fwd(r->o, &form, y, x, up);
            leave(r, "gated_fwd", y, n, 2e-6);
            ops_gated_bwd(r->o, &form, x, up, y, none, dy, x, up);
            leave(r, "gated_bwd up", up, n, 2e-6);
        } else {
            const struct ops_gradient bias = { sums, f & 1 };
            ops_gated_bwd(r->o, &rows, up, OPS_NONE, y, bias, dy, x, OPS_NONE);
            leave(r, "activation_bwd dx", up, n, 2e-6);
            leave(r, "activation_bwd sums", sums, n, 1e-5);
            ops_gated_bwd(r->o, &rows, dy, OPS_NONE, y, none, dy, x, OPS_NONE);
            leave(r, "activation_bwd y", y, n, 2e-6);
            leave(r, "activation_bwd", dy, n, 2e-6);
            continue;
        }
        leave(r, "gated_bwd gate", x, n, 2e-6);
    }
}

static void dropout(struct run *r)
{
    const int64_t n = 3001;
    const double rates[] = { 0.1, 0.5, 0 };
    struct ops_array x = numbers(r, r->type, n, 1), y = numbers(r, r->other, n, 1);
    struct ops_dropout drop = { .key = 77, .rate = rates[r->way], .first = r->way ? 1000 : 0 };
    ops_dropout(r->o, y, x, n, drop);
    leave(r, "dropout", y, n, 0);
    drop.columns = 30;
    drop.stride = 44;
    ops_dropout(r->o, y, x, n, drop);
    leave(r, "dropout of columns", y, n, 0);
}

/* ---- norms, rows --------------------------------------------------------------------------- */

static void norms(struct run *r)
{
    static const int64_t sizes[][2] = { { 70, 64 },  { 9, 300 }, { 130, 33 },
                                        { 3, 2100 }, { 1, 8 },   { 8300, 3 } };
    const int64_t N = sizes[r->way % 6][0], C = sizes[r->way % 6][1];
    struct ops_norm l = { .N = N, .C = C, .epsilon = 1e-5, .rms = r->way >= 6 };
    l.gain = ops_part(numbers(r, OPS_F32, C + 1, 1), l.rms);
    if (!l.rms)
        l.bias = numbers(r, OPS_F32, C, 1);
    struct ops_array x = numbers(r, r->type, N * C, 2), y = numbers(r, r->other, N * C, 1);
    struct ops_moments kept = { numbers(r, OPS_F32, N, 1), numbers(r, OPS_F32, N, 1), 0 };
    struct ops_array dy = numbers(r, r->other, N * C, 1), dx = numbers(r, r->type, N * C, 1);
    struct ops_array dgain = numbers(r, OPS_F32, C, 1), dbias = numbers(r, OPS_F32, C, 1);
    struct ops_array before = numbers(r, OPS_F32, C, 1), again = numbers(r, r->other, N * C, 1);
    int add = (r->way + l.rms) % 2;
    ops_norm_fwd(r->o, y, kept, x, &l);
    leave(r, "norm_fwd", y, N * C, 2e-6);
    if (!l.rms)
        leave(r, "norm_fwd mean", kept.mean, N, 1e-6);
    leave(r, "norm_fwd rstd", kept.rstd, N, 1e-6);
    const struct ops_norm_bwd whole = { .dx = { dx, add },
                                        .dgain = { dgain, !add },
                                        .dbias = { l.rms ? OPS_NONE : dbias, add },
                                        .dy = dy,
                                        .x = x,
                                        .kept = kept,
                                        .before = { add ? before : OPS_NONE, r->type },
                                        .y = r->other ? again : OPS_NONE };
    ops_norm_bwd(r->o, &whole, &l);
    leave(r, "norm_bwd dx", dx, N * C, 1e-5);
    leave(r, "norm_bwd dgain", dgain, C, 1e-5);
    leave(r, "norm_bwd dbias", dbias, C, 1e-5);
    leave(r, "norm_bwd before", before, C, 1e-5);
    leave(r, "norm_bwd again", again, N * C, 2e-6);
    l.all = 2 * C;
    struct ops_array sums = numbers(r, OPS_F32, 2 * N, 1);
    ops_norm_fwd(r->o, OPS_NONE, kept, x, &l);
    leave(r, "norm_fwd, moments", kept.rstd, N, 1e-6);
    kept.known = 1;
    ops_norm_fwd(r->o, y, kept, x, &l);
    leave(r, "norm_fwd, known moments", y, N * C, 2e-6);
    struct ops_norm_bwd part = { .dgain = { dgain, add }, .dy = dy, .x = x, .kept = kept };
    part.dbias = (struct ops_gradient){ l.rms ? OPS_NONE : dbias, !add };
    part.sums = sums;
    ops_norm_bwd(r->o, &part, &l);
    leave(r, "norm_sums", sums, 2 * N, 1e-5);
    leave(r, "norm_sums dgain", dgain, C, 1e-5);
    leave(r, "norm_sums dbias", dbias, C, 1e-5);
    part = (struct ops_norm_bwd){ { dx, !add }, .dy = dy, .x = x, .kept = kept, .sums = sums };
    ops_norm_bwd(r->o, &part, &l);
    leave(r, "norm_dx", dx, N * C, 1e-5);
    ops_norm_join(r->o, kept, numbers(r, OPS_F32, 3 * 2 * N, 1), 3, &l);
    leave(r, "norm_join rstd", kept.rstd, N, 1e-6);
    if (!l.rms)
        leave(r, "norm_join mean", kept.mean, N, 1e-6);
}

/* way: 0 positions by number; 1 places and segments; 2 words alone. Has many tokens and few
 * words. */
static void embeddings(struct run *r)
{
    const int64_t T = 25, N = 16 * T, C = r->type == OPS_BF16 ? 48 : 21, V = 70;
    struct ops_tokens t = { .N = N, .T = T, .ids = integers(r, OPS_U32, N, 0, V) };
    struct ops_embedding e = { .words = numbers(r, r->type, V * C, 1), .C = C }, d = { .C = C };
    struct ops_array x = numbers(r, r->other, N * C, 1), dx = numbers(r, r->other, N * C, 1);
    d.words = numbers(r, OPS_F32, V * C, 1);
    if (r->way < 2) {
        e.positions = numbers(r, r->type, T * C, 1);
        d.positions = numbers(r, OPS_F32, T * C, 1);
    }
    if (r->way == 1) {
        t.places = integers(r, OPS_U32, N, 0, T);
        t.segments = integers(r, OPS_U32, N, 0, 2);
        e.types = numbers(r, r->type, 2 * C, 1);
        d.types = numbers(r, OPS_F32, 2 * C, 1);
    }
    ops_embedding_fwd(r->o, x, &t, &e);
    leave(r, "embedding_fwd", x, N * C, r->other == OPS_BF16 ? 8e-3 : 1e-7);
    ops_embedding_bwd(r->o, &d, dx, &t);
    leave(r, "embedding_bwd words", d.words, V * C, 2e-6);
    if (r->way < 2)
        leave(r, "embedding_bwd positions", d.positions, T * C, 2e-6);
    if (r->way == 1)
        leave(r, "embedding_bwd types", d.types, 2 * C, 4e-6);
}

/* Has one token more than one block sorts and sums. */
static void many_tokens(struct run *r)
{
    const int64_t T = 4099, C = 2, V = 700;
    struct ops_tokens t = { .N = T, .T = T, .ids = integers(r, OPS_U32, T, 0, V) };
    struct ops_embedding d = { .words = numbers(r, OPS_F32, V * C, 1), .C = C };
    d.positions = numbers(r, OPS_F32, T * C, 1);
    struct ops_array dx = numbers(r, OPS_F32, T * C, 1);
    ops_embedding_bwd(r->o, &d, dx, &t);
    leave(r, "embedding_bwd words", d.words, V * C, 2e-6);
    leave(r, "embedding_bwd positions", d.positions, T * C, 2e-6);
}

static void some(struct run *r)
{
    const int64_t n = 37, N = 80, C = r->way ? 16 : 11;
    struct ops_array rows = some_rows(r, n, 3), x = numbers(r, r->type, N * C, 1);
    struct ops_array y = numbers(r, r->other, n * C, 1), z = numbers(r, r->other, N * C, 1);
    ops_gather_rows(r->o, y, x, rows, n, C);
    leave(r, "gather_rows", y, n * C, 0);
    ops_scatter_rows(r->o, z, y, rows, n, C);
    leave(r, "scatter_rows", z, N * C, 0);
}

static void rotations(struct run *r)
{
    const int64_t T = 13, N = 3 * T, HS = 10, heads = 3, ld = 50;
    struct ops_tokens t = { .N = N, .T = T, .first = r->way ? 5 : 0 };
    struct ops_array x = numbers(r, r->type, N * ld, 1);
    if (r->way == 2)
        t.places = integers(r, OPS_U32, N, 0, T);
    struct ops_rotary way = { .heads = heads, .HS = HS, .ld = ld, .base = 1e4 };
    ops_rotate(r->o, x, &t, &way);
    leave(r, "rotate", x, N * ld, 2e-6);
    way.base = 500;
    const struct ops_stretch stretches[] = { { .factor = 2 },
                                             { 8, 1, 4, 300, .scale = 0 },
                                             { 8, 1, 4, 300, .scale = 1.5, .yarn = 1 } };
    way.stretch = stretches[r->way];
    way.back = 1;
    ops_rotate(r->o, x, &t, &way);
    leave(r, "rotate back", x, N * ld, 2e-6);
}

/* ---- products ------------------------------------------------------------------------------ */

static void products(struct run *r)
{
    const int64_t M = 21, N = r->way & 4 ? 40 : 19, K = 56, lda = 60, ldb = 60, ldc = 44;
    int ta = r->way & 1, tb = r->way >> 1 & 1, base = r->way >> 2;
    struct ops_array a = numbers(r, r->type, 60 * lda, 1), b = numbers(r, r->other, 60 * ldb, 1);
    struct ops_array c = numbers(r, r->type, M * ldc, 1), sums = numbers(r, OPS_F32, N, 1);
    struct ops_matmul p = { .C = { c, ldc }, .A = { a, lda, ta }, .B = { b, ldb, tb } };
    p.M = M;
    p.N = N;
    p.K = K;
    if (base == 1)
        p.base = c;
    if (base == 2)
        p.base = numbers(r, r->type, M * ldc, 1);
    if (base >= 2)
        p.bias = numbers(r, r->other, N, 1);
    if (!tb)
        p.sums = sums;
    ops_matmul(r->o, &p);
    leave(r, "matmul", c, M * ldc, of_products());
    leave(r, "matmul sums", sums, N, 1e-5);
}

static void linears(struct run *r)
{
    const int64_t N = r->way ? 65 : 3, I = 24, O = 40;
    struct ops_linear l = { .w = numbers(r, r->other, I * O, 1), .N = N, .I = I, .O = O };
    l.bias = numbers(r, OPS_F32, O, 1);
    struct ops_array x = numbers(r, r->type, N * I, 1), dy = numbers(r, r->type, N * O, 1);
    struct ops_array y = numbers(r, r->type, N * O, 1), z = numbers(r, OPS_F32, N * O, 1);
    struct ops_array base = numbers(r, OPS_F32, N * O, 1), dw = numbers(r, OPS_F32, I * O, 1);
    struct ops_array dx = numbers(r, r->type, N * I, 1), dbias = numbers(r, OPS_F32, O, 1);
    ops_linear_fwd(r->o, y, x, &l, 1);
    leave(r, "linear_fwd", y, N * O, of_products());
    struct ops_array active = numbers(r, r->type, N * O, 1);
    ops_linear_activation_fwd(r->o, r->way ? OPS_GELU_TANH : OPS_SILU, active, y, x, &l);
    leave(r, "linear_activation_fwd", active, N * O, of_products());
    leave(r, "linear_activation_fwd inner", y, N * O, of_products());
    ops_residual_fwd(r->o, z, base, x, &l, (struct ops_dropout){ .key = 5, .rate = 0.25 * r->way });
    leave(r, "residual_fwd", z, N * O, of_products());
    ops_linear_bwd(r->o, (struct ops_gradient){ dx, r->way }, (struct ops_gradient){ dw, !r->way },
                   (struct ops_gradient){ dbias, r->way }, dy, x, &l);
    leave(r, "linear_bwd dx", dx, N * I, of_products());
    leave(r, "linear_bwd dw", dw, I * O, of_products());
    leave(r, "linear_bwd dbias", dbias, O, 1e-5);
    ops_linear_bwd(r->o, (struct ops_gradient){ 0 }, (struct ops_gradient){ 0 },
                   (struct ops_gradient){ dbias, !r->way }, dy, x, &l);
    leave(r, "linear_bwd dbias alone", dbias, O, 1e-5);
}

/* Sets r->broken if results a and b have other bits. */
static void expect_same(struct run *r, int a, int b, const char *broken)
{
    const struct result *x = &r->results[a], *y = &r->results[b];
    if (memcmp(x->data, y->data, (size_t)x->n * ops_type_bytes(x->type)))
        r->broken = broken;
}

/* The table of a tied decoder: tokens are looked up in it, and it decodes their rows. */
static void tied(struct run *r, const struct ops_decoder *d, int64_t N)
{
    const struct ops_tokens t = { .N = N, .T = N, .ids = integers(r, OPS_U32, N, 0, d->V) };
    const struct ops_embedding e = { .words = d->table, .C = d->C };
    const struct ops_labels l = { .n = N, .labels = integers(r, OPS_I32, N, 0, d->V) };
    struct ops_array x = numbers(r, OPS_F32, N * d->C, 1), z = numbers(r, OPS_F32, N * d->V, 1);
    struct ops_scores out = { numbers(r, OPS_F32, N, 1), OPS_NONE };
    ops_embedding_fwd(r->o, x, &t, &e);
    leave(r, "stored: embedding_fwd", x, N * d->C, 0);
    ops_logits(r->o, z, x, N, d);
    leave(r, "stored: logits of a tied decoder", z, N * d->V, 1e-5);
    ops_loss(r->o, out, OPS_NONE, (struct ops_gradient){ 0 }, (struct ops_gradient){ 0 }, x, N, 1,
             &l, d);
    leave(r, "stored: loss_fwd", out.losses, N, of_products());
}

/* Stored matrices in bf16. Rows in bf16 give the products of their values; a GPU rounds other rows
 * to bf16 first. */
static void stored(struct run *r)
{
    static const int64_t rows[] = { 1, 7, 8, 33 },
                         sizes[][2] = { { 24, 40 }, { 64, 16 }, { 36, 100 } };
    const int64_t N = rows[r->way % 4], I = sizes[r->way / 4][0], O = sizes[r->way / 4][1];
    const double most = r->type == OPS_BF16 ? 1e-5 : 1e-2;
    struct ops_array x = numbers(r, r->type, N * I, 1), y = numbers(r, r->other, 2 * N * O, 1);
    struct ops_array rounded = numbers(r, OPS_BF16, N * I, 1), z = numbers(r, OPS_F32, N * O, 1);
    struct ops_array base = numbers(r, OPS_F32, N * O, 1), w = numbers(r, OPS_BF16, 2 * I * O, 1);
    struct ops_linear l = { .w = w, .N = N, .I = I, .O = O, .turned = 1 }, second = l;
    struct ops_decoder d = { .table = w, .V = O, .C = I, .stored = 1 };
    l.bias = numbers(r, OPS_F32, O, 1);
    second.w = ops_part(w, I * O);
    ops_copy(r->o, rounded, x, N * I);
    ops_residual_fwd(r->o, z, base, x, &l, (struct ops_dropout){ 0 });
    leave(r, "stored: residual_fwd", z, N * O, most);
    ops_residual_fwd(r->o, z, base, rounded, &l, (struct ops_dropout){ 0 });
    leave(r, "stored: residual_fwd of rounded rows", z, N * O, 1e-5);
    ops_logits(r->o, z, x, N, &d);
    leave(r, "stored: logits", z, N * O, most);
    ops_logits(r->o, z, rounded, N, &d);
    leave(r, "stored: logits of rounded rows", z, N * O, 1e-5);
    if (!ops_on_host(r->o)) {
        expect_same(r, 0, 1, "stored: a map does not round its rows");
        expect_same(r, 2, 3, "stored: a decoder does not round its rows");
    }
    ops_linear_fwd(r->o, y, x, (const struct ops_linear[]){ l, second }, 2);
    leave(r, "stored: linear_fwd", y, 2 * N * O, most);
    tied(r, &d, N);
}

/* ---- attention ----------------------------------------------------------------------------- */

static void attentions(struct run *r)
{
    static const int64_t lengths[] = { 7, 70, 1, 33 };
    static const struct {
        int64_t B, T, NH, KV, HS;
        int causal, rows;
        double rate;
    } cases[] = {
        { 2, 37, 2, 0, 16, 1, 0, 0 },    { 1, 70, 4, 2, 24, 1, 0, 0.1 },
        { 4, 70, 2, 0, 16, 0, 1, 0.2 },  { 2, 33, 2, 1, 32, 0, 0, 0 },
        { 1, 150, 1, 0, 64, 1, 0, 0.1 }, { 1, 5, 2, 0, 130, 1, 0, 0 },
        { 2, 80, 3, 0, 80, 1, 0, 0 },    { 1, 66, 2, 1, 128, 1, 0, 0.1 },
        { 4, 70, 2, 0, 96, 0, 1, 0.1 },
    };
    struct ops_attention a = { .NH = cases[r->way].NH, .HS = cases[r->way].HS };
    a.rows = (struct ops_rows){ cases[r->way].B, cases[r->way].T,
                                cases[r->way].rows ? lengths : NULL };
    a.KV = cases[r->way].KV;
    a.causal = cases[r->way].causal;
    a.drop = (struct ops_dropout){ .key = 99, .rate = cases[r->way].rate };
    a.scale = r->way == 1 ? 0.2 : 0;
    a.first_head = r->way % 2 ? 2 : 0;
    a.all_heads = r->way % 2 ? a.NH + 3 : 0;
    const int64_t N = ops_rows_count(&a.rows), C = a.NH * a.HS, K = (a.KV ? a.KV : a.NH) * a.HS;
    const int64_t ld = C + 2 * K, odd = !r->way; /* way 0: arrays that are not aligned */
    struct ops_array qkv = ops_part(numbers(r, r->type, N * ld + odd, 1), odd);
    struct ops_array dqkv = ops_part(numbers(r, r->type, N * ld + odd, 1), odd);
    struct ops_array y = numbers(r, r->other, N * C, 1), dy = numbers(r, r->other, N * C, 1);
    struct ops_array lse = numbers(r, OPS_F32, N * a.NH, 1), same = numbers(r, OPS_F32, N * C, 1);
    struct ops_array biases = numbers(r, OPS_F32, ld + 1, 1);
    const int apart = r->way % 3 == 2, added = r->way % 2; /* apart: sums of values lie elsewhere */
    const struct ops_gradient sums[] = { { biases, added },
                                         { ops_part(biases, C), added },
                                         { ops_part(biases, C + K + apart), added } };
    ops_copy(r->o, same, dy, N * C);
    if (ops_on_host(r->o)) /* takes F32 only */
        dy = same;
    struct ops_qkv x = { qkv, ops_part(qkv, C), ops_part(qkv, C + K), ld, ld };
    struct ops_qkv dx = { dqkv, ops_part(dqkv, C), ops_part(dqkv, C + K), ld, ld };
    ops_attention_fwd(r->o, y, lse, x, &a);
    leave(r, "attention_fwd", y, N * C, of_products());
    leave(r, "attention_fwd lse", lse, N * a.NH, of_products());
    const struct ops_gradient none = { 0 };
    const struct ops_linear map = { .N = N, .I = 1, .O = C };
    ops_linear_bwd(r->o, none, none, none, same, OPS_NONE, &map); /* leaves numbers in scratch */
    ops_attention_bwd(r->o, dx, sums, dy, x, y, lse, &a);
    /* of y in bf16 a number may be rounded the other way */
    const double most = r->other == OPS_BF16 ? fmax(5e-4, of_products()) : of_products();
    leave(r, "attention_bwd", dqkv, N * ld, most);
    leave(r, "attention_bwd sums", biases, ld + 1,
          r->type == OPS_BF16 ? fmax(5e-4, of_products()) : most);
}

/* More heads than the emulated GPU allows in the second dimension of a grid. */
static void many_heads(struct run *r)
{
    enum { N = 130, NH = 2, HS = 16, C = NH * HS, LD = 3 * C };
    const struct ops_attention a = { .rows = { N, 1, NULL }, .NH = NH, .HS = HS, .causal = 1 };
    struct ops_array qkv = numbers(r, OPS_F32, N * LD, 1), dqkv = numbers(r, OPS_F32, N * LD, 1);
    struct ops_array y = numbers(r, OPS_F32, N * C, 1), dy = numbers(r, OPS_F32, N * C, 1);
    struct ops_array lse = numbers(r, OPS_F32, N * NH, 1);
    const struct ops_qkv x = { qkv, ops_part(qkv, C), ops_part(qkv, 2 * C), LD, LD };
    const struct ops_qkv dx = { dqkv, ops_part(dqkv, C), ops_part(dqkv, 2 * C), LD, LD };
    ops_attention_fwd(r->o, y, lse, x, &a);
    leave(r, "attention_fwd", y, N * C, of_products());
    struct ops_array biases = numbers(r, OPS_F32, LD, 1);
    const struct ops_gradient sums[] = { ops_set(biases), ops_set(ops_part(biases, C)),
                                         ops_set(ops_part(biases, 2 * C)) };
    ops_attention_bwd(r->o, dx, sums, dy, x, y, lse, &a);
    leave(r, "attention_bwd", dqkv, N * LD, of_products());
    leave(r, "attention_bwd sums", biases, LD, of_products());
}

static void caches(struct run *r)
{
    enum { B = 2, PAST = 45, SHORT = 3, LAYERS = 2 };
    const int64_t NH = 4, KV = r->way ? 2 : 4, HS = 16, C = NH * HS, K = KV * HS;
    const int64_t N = r->way == 2 ? 9 : 1, ld = C + 2 * K, room = PAST + N, all = LAYERS * room * K;
    struct ops_attention a = { .rows = { B, N, NULL }, .NH = NH, .HS = HS, .KV = KV, .causal = 1 };
    struct ops_array keys = numbers(r, r->type, B * all, 1),
                     values = numbers(r, r->type, B * all, 1);
    struct ops_array qkv = numbers(r, r->other, B * N * ld, 1);
    struct ops_array y = numbers(r, OPS_F32, B * N * C, 1);
    struct ops_qkv x = { qkv, ops_part(qkv, C), ops_part(qkv, C + K), ld, ld };
    const struct ops_past past[B] = { { keys, values, room, PAST },
                                      { ops_part(keys, all), ops_part(values, all), room, SHORT } };
    ops_attention_cached(r->o, y, past, 1, x, &a);
    leave(r, "attention_cached", y, B * N * C, of_products());
    leave(r, "attention_cached keys", keys, B * all, 0);
    leave(r, "attention_cached values", values, B * all, 0);
}

/* ---- repeated steps ------------------------------------------------------------------------ */

enum { TEXTS = 2, TOKENS = 24, DEEP = 2, HEADS = 4, HEAD = 24, WIDE = HEADS * HEAD };

/* A decoder of DEEP layers that have nothing but attention. */
struct decoder {
    struct run *r;
    struct ops_array x, w, y, places;
    struct ops_past past[TEXTS];
    struct ops_mark mark;
    int64_t KV, B;
    int repeats, calls, stored; /* stored: the maps are turned and in bf16 */
};

/* A GPU records the second call first, which needs more scratch than the first one did. It records
 * the fourth next, which waits for another queue. */
static void append_token(void *decoder)
{
    struct decoder *d = decoder;
    struct ops *o = d->r->o;
    const int64_t K = d->KV * HEAD, ld = WIDE + 2 * K;
    const struct ops_attention a = {
        .rows = { d->B, 1, NULL }, .NH = HEADS, .KV = d->KV, .HS = HEAD, .causal = 1
    };
    const struct ops_tokens t = { .N = d->B, .T = 1, .first = 99, .places = d->places };
    struct ops_rotary rotary = { .heads = HEADS, .HS = HEAD, .ld = ld, .base = 1e4 };
    ops_scratch_begin(o);
    struct ops_array qkv = ops_scratch(o, OPS_F32, d->B * ld);
    if (d->calls == 1)
        ops_scratch(o, OPS_F32, 10000);
    if (d->calls++ == 3)
        ops_after(o, OPS_COMPUTE, &d->mark);
    for (int64_t l = 0; l < DEEP; l++) {
        const struct ops_linear map = {
            .w = ops_part(d->w, l * WIDE * ld), .N = d->B, .I = WIDE, .O = ld, .turned = d->stored
        };
        const struct ops_qkv x = { qkv, ops_part(qkv, WIDE), ops_part(qkv, WIDE + K), ld, ld };
        ops_linear_fwd(o, qkv, l ? d->y : d->x, &map, 1);
        ops_rotate(o, qkv, &t, &rotary);
        ops_attention_cached(o, d->y, d->past, l, x, &a);
    }
}

static void free_past(struct decoder *d, const struct ops_past *p)
{
    ops_buffer_free(d->r->o, p->keys);
    ops_buffer_free(d->r->o, p->values);
}

/* Gives a text arrays with `room` positions, and keeps the positions that are used. */
static void new_past(struct decoder *d, int text, int64_t room, int64_t used)
{
    struct ops *o = d->r->o;
    const struct ops_past old = d->past[text];
    const int64_t K = d->KV * HEAD, n = DEEP * room * K;
    const struct ops_past p = { ops_buffer(o, d->r->type, n), ops_buffer(o, d->r->type, n), room,
                                used };
    for (int64_t l = 0; l < DEEP && old.room; l++) {
        const int64_t to = l * room * K, from = l * old.room * K;
        ops_copy(o, ops_part(p.keys, to), ops_part(old.keys, from), used * K);
        ops_copy(o, ops_part(p.values, to), ops_part(old.values, from), used * K);
    }
    free_past(d, &old);
    d->past[text] = p;
}

static void take_token(struct decoder *d, struct ops_array x)
{
    uint32_t places[TEXTS];
    for (int64_t b = 0; b < d->B; b++)
        places[b] = (uint32_t)d->past[b].used;
    ops_upload(d->r->o, d->places, places, d->B);
    ops_copy(d->r->o, d->x, x, d->B * WIDE);
    if (d->repeats)
        ops_repeat(d->r->o, d->past, d->B, append_token, d);
    else
        append_token(d);
    for (int64_t b = 0; b < d->B; b++)
        d->past[b].used++;
}

/* Turns some numbers by angles that the steps do not use. */
static void turn_others(struct decoder *d)
{
    const struct ops_tokens t = { .N = 1, .T = 1 };
    ops_rotate(d->r->o, d->x, &t,
               &(struct ops_rotary){ .heads = HEADS, .HS = HEAD, .ld = WIDE, .base = 500 });
}

/* Texts grow, end, change places, and move to larger arrays; other work comes between; and the
 * result moves. */
static void take_tokens(struct decoder *d, struct ops_array out, struct ops_array x)
{
    enum { ENDS = 5, CHANGES = 9, GROWS = 12, TURNS = 15, MOVES = 18 };
    struct ops *o = d->r->o;
    d->y = ops_buffer(o, OPS_F32, TEXTS * WIDE);
    ops_mark(o, OPS_OUT, &d->mark);
    new_past(d, 0, 64, 52);
    new_past(d, 1, 40, 3);
    for (int i = 0; i < TOKENS; i++) {
        if (i == GROWS)
            new_past(d, 1, 100, d->past[1].used);
        if (i == TURNS)
            turn_others(d);
        if (i == MOVES) {
            ops_buffer_free(o, d->y);
            d->y = ops_buffer(o, OPS_F32, TEXTS * WIDE);
        }
        if (i == CHANGES) {
            struct ops_past first = d->past[0];
            d->past[0] = d->past[1];
            d->past[1] = first;
        }
        d->B = i >= ENDS && i < CHANGES ? 1 : TEXTS;
        take_token(d, ops_part(x, i * TEXTS * WIDE));
        ops_copy(o, ops_part(out, i * TEXTS * WIDE), d->y, d->B * WIDE);
    }
    for (int text = 0; text < TEXTS; text++)
        free_past(d, &d->past[text]);
    ops_mark_free(o, &d->mark);
    ops_buffer_free(o, d->y);
}

/* Steps that are repeated have the bits of those that are not, and most of them are repeated. */
static void steps(struct run *r)
{
    const int64_t KV = r->way ? 2 : HEADS, ld = WIDE + 2 * KV * HEAD, n = TOKENS * TEXTS * WIDE;
    const int is_stored = r->way == 2;
    const enum ops_type type = is_stored ? OPS_BF16 : OPS_F32;
    struct ops_array x = numbers(r, r->other, n, 1), w = numbers(r, type, DEEP * WIDE * ld, 0.2);
    struct ops_array now = numbers(r, OPS_F32, TEXTS * WIDE, 1), out[2];
    struct ops_array places = integers(r, OPS_U32, TEXTS, 0, 1);
    for (int repeats = 1; repeats >= 0; repeats--) {
        struct decoder d = { .r = r,
                             .x = now,
                             .w = w,
                             .places = places,
                             .KV = KV,
                             .repeats = repeats,
                             .stored = is_stored };
        out[repeats] = ops_buffer(r->o, OPS_F32, n);
        take_tokens(&d, out[repeats], x);
        if (repeats && !ops_on_host(r->o) && d.calls > 14)
            r->broken = "repeated steps: called too often";
    }
    /* a key in bf16 may be rounded the other way; stored maps round the rows */
    const double most = is_stored ? 6e-2 : r->type == OPS_BF16 ? 5e-3 : of_products();
    leave(r, "repeated steps", out[1], n, most);
    leave(r, "steps", out[0], n, most);
    expect_same(r, 0, 1, "repeated steps: other bits than without repeating");
    ops_buffer_free(r->o, out[0]);
    ops_buffer_free(r->o, out[1]);
}

/* ---- losses -------------------------------------------------------------------------------- */

static void losses(struct run *r)
{
    const int64_t N = 50, V = r->way & 1 ? 333 : 96, C = 24;
    int rows = r->way >> 1 & 1, bias = r->way >> 2;
    struct ops_decoder d = { .table = numbers(r, r->type, V * C, 0.3), .V = V, .C = C };
    if (bias)
        d.bias = numbers(r, OPS_F32, V, 1);
    struct ops_labels l = { .n = rows ? 20 : N };
    l.labels = integers(r, OPS_I32, l.n, 0, V);
    if (rows)
        l.rows = some_rows(r, l.n, 1);
    struct ops_array x = numbers(r, r->other, N * C, 1), dx = numbers(r, OPS_F32, N * C, 1);
    struct ops_array logits = numbers(r, OPS_F32, N * V, 1), dtable = numbers(r, OPS_F32, V * C, 1);
    struct ops_array dbias = numbers(r, OPS_F32, V, 1);
    struct ops_scores out = { numbers(r, OPS_F32, N, 1), numbers(r, OPS_U8, N, 1) };
    ops_logits(r->o, logits, x, N, &d);
    leave(r, "logits", logits, N * V, of_products());
    ops_loss(r->o, out, OPS_NONE, (struct ops_gradient){ 0 }, (struct ops_gradient){ 0 }, x, N, 1,
             &l, &d);
    leave(r, "loss_fwd", out.losses, N, of_products());
    if (precision == OPS_F32)
        leave(r, "loss_fwd correct", out.correct, N, 0);
    ops_loss(r->o, out, dx, (struct ops_gradient){ dtable, rows },
             bias ? (struct ops_gradient){ dbias, rows } : (struct ops_gradient){ 0 }, x, N, 0.7,
             &l, &d);
    leave(r, "loss_fwd_bwd", out.losses, N, of_products());
    leave(r, "loss_fwd_bwd dx", dx, N * C, of_products());
    leave(r, "loss_fwd_bwd dtable", dtable, V * C, of_products());
    leave(r, "loss_fwd_bwd dbias", dbias, V, of_products());
    const struct ops_teacher t = { numbers(r, OPS_F32, N * 40, 1),
                                   { .table = numbers(r, OPS_F32, V * 40, 0.3), .V = V, .C = 40 },
                                   0.4 };
    l.teacher = &t;
    ops_loss(r->o, out, dx, ops_set(dtable), (struct ops_gradient){ 0 }, x, N, 0.7, &l, &d);
    leave(r, "loss_fwd_bwd with a teacher", out.losses, N, of_products());
    leave(r, "loss_fwd_bwd dx with a teacher", dx, N * C, of_products());
    leave(r, "loss_fwd_bwd dtable with a teacher", dtable, V * C, of_products());
}

/* The second span loss follows the first at once, with other lengths. */
static void small_losses(struct run *r)
{
    static const int64_t lengths[] = { 5, 12, 300, 1 }, others[] = { 9, 2, 44, 263 };
    const struct ops_rows rows = { 4, 300, lengths }, more_rows = { 4, 300, others };
    const int64_t N = ops_rows_count(&rows), V = 7;
    struct ops_labels l = { .n = 4, .labels = integers(r, OPS_I32, 4, -1, 9) };
    struct ops_labels m = { .n = 30, .labels = integers(r, OPS_I32, 30, -3, V) };
    struct ops_scores out = { numbers(r, OPS_F32, 30, 1), numbers(r, OPS_U8, 30, 1) };
    struct ops_array logits = numbers(r, OPS_F32, 2 * N, 2), few = numbers(r, OPS_F32, 30 * V, 2);
    struct ops_scores more = { numbers(r, OPS_F32, 4, 1), numbers(r, OPS_U8, 4, 1) };
    struct ops_array second = numbers(r, OPS_F32, 2 * N, 2);
    ops_span_loss(r->o, out, logits, r->way, &l, &rows, 1, 0.3);
    ops_span_loss(r->o, more, second, r->way, &l, &more_rows, 1, 0.3);
    leave(r, "span_loss of other lengths", more.losses, 4, 1e-6);
    leave(r, "span_loss gradient of other lengths", second, 2 * N, 1e-6);
    leave(r, "span_loss", out.losses, 4, 1e-6);
    leave(r, "span_loss correct", out.correct, 4, 0);
    leave(r, "span_loss gradient", logits, 2 * N, 1e-6);
    ops_cross_entropy(r->o, out, few, V, &m, r->way, 0.3);
    leave(r, "cross_entropy", out.losses, 30, 1e-6);
    leave(r, "cross_entropy correct", out.correct, 30, 0);
    if (r->way)
        leave(r, "cross_entropy gradient", few, 30 * V, 1e-6);
}

/* Divides the columns into two parts, which are computed one after the other. */
static void columns(struct run *r)
{
    const int64_t n = 30, V = 700;
    struct ops_columns c = { .n = n, .V = V, .first = r->way ? V : 0 };
    c.labels = integers(r, OPS_I32, n, 0, 2 * V);
    c.logits = numbers(r, OPS_F32, n * V, 3);
    c.most = numbers(r, OPS_F32, n, 1);
    c.sums = numbers(r, OPS_F32, n, 1);
    c.wanted = numbers(r, OPS_F32, n, 1);
    struct ops_scores out = { numbers(r, OPS_F32, n, 1), numbers(r, OPS_U8, n, 1) };
    ops_columns_most(r->o, &c);
    leave(r, "columns_most", c.most, n, 0);
    ops_columns_sums(r->o, &c);
    leave(r, "columns_sums", c.sums, n, 1e-6);
    leave(r, "columns_sums wanted", c.wanted, n, 0);
    leave(r, "columns_sums exponentials", c.logits, n * V, 1e-6);
    ops_columns_loss(r->o, out, &c, 1, 0.3);
    leave(r, "columns_loss", out.losses, n, 1e-6);
    leave(r, "columns_loss correct", out.correct, n, 0);
    leave(r, "columns_loss gradient", c.logits, n * V, 1e-6);
}

static void sums(struct run *r)
{
    const int64_t n = r->way ? 70001 : 5, C = 5, rows = n / C;
    struct ops_array x = numbers(r, OPS_F32, n, 1), y = numbers(r, OPS_U8, n, 1);
    struct ops_array sum = numbers(r, OPS_F64, 3, 1), squares = numbers(r, OPS_F64, 180, 1),
                     columns = numbers(r, OPS_F32, C, 1);
    const struct ops_linear l = { .N = rows, .I = 1, .O = C };
    const struct ops_gradient none = { 0 };
    /* more runs than a launch takes; some begin where eight numbers cannot be read at once, have no
     * elements, or two pieces */
    struct ops_run runs[90];
    for (int i = 0; i < 90; i++)
        runs[i] = (struct ops_run){ i % n, (i % 30 ? n / 2 * (i % 3) / 2 : n) - i % n, 2 * i };
    for (int i = 0; i < 90; i++)
        runs[i].n = runs[i].n < 0 ? 0 : runs[i].n;
    runs[89].n = n - runs[89].first;
    ops_sum_squares(r->o, squares, x, runs, 90);
    leave(r, "sums of squares", squares, 180, 1e-12);
    ops_add_sum(r->o, ops_part(sum, 1), x, n);
    ops_add_sum(r->o, ops_part(sum, 2), y, n);
    leave(r, "sums", sum, 3, 1e-12);
    ops_linear_bwd(r->o, none, none, ops_added(columns), x, OPS_NONE, &l);
    leave(r, "sums of columns", columns, C, 1e-5);
}

/* ---- optimizers ---------------------------------------------------------------------------- */

static const struct ops_adamw adamw_of = {
    1e-2, 0.9, 0.95, 1e-8, 0.1, 0.5, 1 / (1 - 0.9), 20, 0.9
};

/* way: selects the states that are bf16. */
static void adamws(struct run *r)
{
    const int64_t n = 3003;
    struct ops_state state[OPS_STATES];
    static const char *const names[] = { "adamw w", "adamw m", "adamw v" };
    struct ops_array g = numbers(r, OPS_F32, n, 1), x = numbers(r, OPS_F32, n, 1);
    struct ops_array v = positive(r, n), y = numbers(r, OPS_BF16, n, 1);
    for (int i = 0; i < OPS_STATES; i++) {
        enum ops_type type = r->way >> i & 1 ? OPS_BF16 : OPS_F32;
        state[i] = (struct ops_state){ numbers(r, type, n, 1), 40 + (uint64_t)i };
    }
    ops_copy(r->o, state[OPS_V].at, v, n);
    ops_adamw(r->o, state, g, n, &adamw_of);
    for (int i = 0; i < OPS_STATES; i++)
        leave(r, names[i], state[i].at, n, 0);
    ops_round(r->o, (struct ops_state){ y, 8 }, x, n, 12);
    leave(r, "round", y, n, 0);
}

static void optimizers(struct run *r)
{
    const int64_t R = r->way ? 30 : 18, C = r->way ? 12 : 48, n = R * C;
    struct ops_array w = numbers(r, OPS_F32, n, 1), m = numbers(r, OPS_F32, n, 1);
    struct ops_array v = positive(r, n), g = numbers(r, OPS_F32, n, 1);
    struct ops_array squares = numbers(r, OPS_F64, 2, 1);
    ops_adam(r->o, w, m, v, g, n, &adamw_of);
    leave(r, "adam", w, n, 1e-6);
    ops_sgd(r->o, w, r->way ? m : OPS_NONE, g, n, &adamw_of);
    leave(r, "sgd", w, n, 1e-6);
    ops_lamb_begin(r->o, squares, w, m, v, g, n, &adamw_of);
    leave(r, "lamb squares", squares, 2, 1e-6);
    ops_lamb_end(r->o, w, g, squares, n, &adamw_of);
    leave(r, "lamb", w, n, 1e-6);
    leave(r, "lamb moments", m, n, 1e-6);
    g = numbers(r, OPS_F32, n, 1);
    ops_normalise(r->o, g, n);
    leave(r, "normalise", g, n, 1e-6);
}

/* ---- the cases ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    void (*run)(struct run *r);
    int ways, types, products; /* types: 1: f32 alone, 2: bf16 alone, too, 4: mixed, too */
} cases[] = {
    { "elements", elements, 2, 4, 0 },
    { "activations", activations, 2, 4, 0 },
    { "dropout", dropout, 3, 4, 0 },
    { "norms", norms, 12, 4, 0 },
    { "embeddings", embeddings, 3, 4, 0 },
    { "many tokens", many_tokens, 1, 1, 0 },
    { "some rows", some, 2, 4, 0 },
    { "rotations", rotations, 3, 2, 0 },
    { "products", products, 16, 4, 1 },
    { "linears", linears, 2, 4, 1 },
    { "stored", stored, 12, 4, 1 },
    { "attentions", attentions, 9, 4, 1 },
    { "many heads", many_heads, 1, 1, 1 },
    { "caches", caches, 3, 4, 1 },
    { "steps", steps, 3, 2, 1 },
    { "losses", losses, 8, 4, 1 },
    { "small losses", small_losses, 2, 1, 0 },
    { "columns", columns, 2, 1, 0 },
    { "sums", sums, 2, 1, 0 },
    { "adamws", adamws, 8, 1, 0 },
    { "optimizers", optimizers, 2, 1, 1 },
};
enum { CASES = sizeof cases / sizeof *cases, MOST = 1000 };

static struct run of_cpu[MOST], of_first[MOST];
static int run_count, failures;
static const char *only;

static void say(const char *device, const struct run *r, int number, const char *what,
                const struct result *x)
{
    failures++;
    printf("FAIL %s: %s (%s way %d, types %d %d, precision %d)%s\n", device, x->name,
           cases[number].name, r->way, r->type, r->other, precision, what);
}

static void compare(const char *device, int number, const struct run *r, const struct run *cpu)
{
    for (int k = 0; k < r->result_count; k++) {
        const struct result *x = &r->results[k], *y = &cpu->results[k];
        double largest = 1e-30, worst = 0;
        for (int64_t i = 0; i < x->n; i++) {
            double a = number_at(x, i), b = number_at(y, i);
            largest = fabs(b) > largest ? fabs(b) : largest;
            worst = fabs(a - b) > worst || isnan(a) ? fabs(a - b) : worst;
            if (isnan(worst))
                break;
        }
        int same = !memcmp(x->data, y->data, (size_t)x->n * ops_type_bytes(x->type));
        char text[64];
        snprintf(text, sizeof text, ": differs by %.3g, %.3g allowed", worst / largest,
                 x->tolerance);
        if (x->tolerance == 0 ? !same : !(worst <= x->tolerance * largest))
            say(device, r, number, text, x);
    }
}

static void compare_bits(const char *device, int number, const struct run *r,
                         const struct run *first)
{
    for (int k = 0; k < r->result_count; k++) {
        const struct result *x = &r->results[k], *y = &first->results[k];
        if (memcmp(x->data, y->data, (size_t)x->n * ops_type_bytes(x->type)))
            say(device, r, number, ": other bits than on the first device", x);
    }
}

static void forget(struct run *r)
{
    for (int i = 0; i < r->result_count; i++)
        free(r->results[i].data);
    r->result_count = 0;
}

/* turn: 0 runs the case on the CPU, 1 on the first device, 2 on another device. */
static void run_one(struct ops *o, const char *device, int turn, int number, int way, int types)
{
    struct run r = { .o = o, .way = way, .key = (uint64_t)number * 1000 };
    r.type = types & 1 ? OPS_BF16 : OPS_F32;
    r.other = types == 1 || types == 2 ? OPS_BF16 : OPS_F32;
    assert(run_count < MOST);
    ops_set_precision(o, precision);
    ops_scratch_begin(o);
    cases[number].run(&r);
    for (int i = 0; i < r.array_count; i++)
        ops_buffer_free(o, r.arrays[i].a);
    if (r.broken)
        say(device, &r, number, "", &(struct result){ .name = r.broken });
    if (turn)
        compare(device, number, &r, &of_cpu[run_count]);
    if (turn > 1)
        compare_bits(device, number, &r, &of_first[run_count]);
    if (turn < 2)
        (turn ? of_first : of_cpu)[run_count] = r;
    else
        forget(&r);
    run_count++;
}

static int run_all(const char *device, int turn)
{
    struct ops *o = ops_open(device, turn ? 1 : 2); /* of host threads */
    if (!o)
        return err_in("%s", device);
    run_count = 0;
    for (int n = 0; n < CASES; n++)
        for (int p = OPS_F32; p <= OPS_BF16; p++) {
            if ((only && strcmp(only, cases[n].name) != 0) || (p && !cases[n].products))
                continue;
            precision = p;
            for (int types = 0; types < cases[n].types; types++)
                for (int way = 0; way < cases[n].ways; way++)
                    run_one(o, device, turn, n, way, types);
        }
    ops_free(o);
    return 0;
}

int main(int argc, char **argv)
{
    int first = 1;
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (int i = 0; i < CASES; i++)
            printf("%s\n", cases[i].name);
        return 0;
    }
    if (argc > 2 && !strcmp(argv[1], "--only")) {
        only = argv[2];
        first = 3;
    }
    if (argc <= first) {
        fprintf(stderr, "usage: %s --list | [--only CASE] DEVICE...\n", argv[0]);
        return 2;
    }
    int result = run_all("cpu", 0);
    for (int i = first; i < argc && !result; i++)
        result = run_all(argv[i], i == first ? 1 : 2);
    if (result)
        fprintf(stderr, "check: error: %s\n", err_get());
    for (int i = 0; i < run_count; i++) {
        forget(&of_cpu[i]);
        forget(&of_first[i]);
    }
    printf("backends: %d passed, %d failed\n", (argc - first) * run_count - failures, failures);
    return result || failures;
}
