/* gpu.c - the table of functions of the GPU back end, its memory, and the operations that launch
 * several kernels. */
#include <math.h>

#include "common/base/log.h"
#include "common/files/plugin.h"
#include "cuda/cuda.h"

enum {
    FEW_ROWS = 4,    /* most rows of a product limited by memory speed */
    BIAS_ALIGN = 16, /* bytes; cuBLASLt's kernels read several elements of a bias at once */
};

/* ---- recorded steps ----------------------------------------------------------------------- */

/* Returns 1 if an array has the keys or values of a text in the table of pasts. */
static int is_past(const struct ops *o, struct ops_array a)
{
    const struct cuda_past *past = (const void *)o->pasts.last;
    const char *address = cuda_address(a);
    for (size_t b = 0; b < o->pasts.bytes / sizeof *past; b++)
        if (past[b].keys == address || past[b].values == address)
            return 1;
    return 0;
}

void cuda_forget_steps(struct ops *o)
{
    device_unrecord(o);
    for (int i = 0; i < CUDA_STEPS; i++) {
        if (o->steps[i].recording)
            device_forget(o, o->steps[i].recording);
        o->steps[i] = (struct cuda_step){ 0 };
    }
}

static struct cuda_step *find_step(struct ops *o, const struct cuda_step *s)
{
    for (int i = 0; i < CUDA_STEPS; i++) {
        struct cuda_step *x = &o->steps[i];
        if (x->step == s->step && x->context == s->context && x->B == s->B && x->room == s->room &&
            x->precision == s->precision)
            return x;
    }
    return NULL;
}

/* Remembers a step after its first run, in place of the one that was remembered first. */
static void keep_step(struct ops *o, const struct cuda_step *s)
{
    struct cuda_step *oldest = &o->steps[o->next_step++ % CUDA_STEPS];
    if (oldest->recording)
        device_forget(o, oldest->recording);
    *oldest = *s;
}

static void record(struct ops *o, struct cuda_step *s)
{
    if (device_record(o, s->step, s->context, &s->recording) < 0) {
        o->no_recordings = 1;
        log_detail("steps run without CUDA graphs: %s", err_get());
    }
}

/* Does ops_repeat. The first run of a step is not recorded: it sizes buffers and chooses algorithms
 * of products. The table of caches is uploaded before each run: recordings cannot copy from the
 * host. */
static void repeat(struct ops *o, const struct ops_past *past, int64_t B,
                   void (*step)(void *context), void *context)
{
    const struct cuda_step wanted = { .step = step,
                                      .context = context,
                                      .B = B,
                                      .room = ops_most_room(past, B),
                                      .precision = o->precision };
    cuda_pasts(o, past, B);
    struct cuda_step *s = find_step(o, &wanted);
    if (s && !s->recording && !o->no_recordings)
        record(o, s);
    if (s && s->recording) {
        device_repeat(o, s->recording);
        return;
    }
    step(context);
    if (!s)
        keep_step(o, &wanted);
}

/* ---- the context -------------------------------------------------------------------------- */

static int open_context(struct ops *o, int number)
{
    if (device_open(o, number) < 0)
        return -1;
    if (products_open(o) < 0) {
        device_close(o);
        return -1;
    }
    return 0;
}

static void release_table(struct cuda_table *t)
{
    free(t->next);
    free(t->last);
}

static void close_context(struct ops *o)
{
    cuda_forget_steps(o);
    for (int i = 0; i < CUDA_ROOMS; i++)
        if (o->rooms[i].address)
            device_free(o, o->rooms[i].address);
    release_table(&o->sequences);
    release_table(&o->pasts);
    products_close(o);
    free(o->group);
    device_close(o);
}

/* Returns the bytes of bf16 copies of f32 operands, results that are added, partial sums, and
 * cuBLASLt's workspace. */
static uint64_t bytes_for(const struct ops_sizes *s)
{
    const int64_t in = s->N * s->wide, matrix = (s->V > s->wide ? s->V : s->wide) * s->C;
    const int64_t operand = s->precision == OPS_BF16 ? 2 * (in > matrix ? in : matrix) : 0;
    return (s->group > 1 ? OPS_GROUP_ROOM * sizeof(float) : 0) +
           (uint64_t)(3 * operand + 4 * in + 16 * s->N + in / 8) + (32 << 20);
}

/* ---- arrays ------------------------------------------------------------------------------- */

static struct ops_array buffer(struct ops *o, enum ops_type type, int64_t n)
{
    return (struct ops_array){ device_alloc(o, cuda_bytes(type, n)), type };
}

/* Frees an array and drops the recordings of steps, which may use it. Freeing a text's keys or
 * values drops none, because recordings find these by the table of pasts. */
static void buffer_free(struct ops *o, struct ops_array a)
{
    if (!is_past(o, a))
        cuda_forget_steps(o);
    device_free(o, a.address);
}

struct ops_array cuda_room(struct ops *o, enum cuda_rooms which, enum ops_type type, int64_t n)
{
    struct cuda_room *r = &o->rooms[which];
    int64_t bytes = (int64_t)cuda_bytes(type, n > 0 ? n : 1);
    if (r->bytes < bytes) {
        cuda_forget_steps(o);
        if (r->address)
            device_free(o, r->address);
        r->address = device_alloc(o, (size_t)bytes);
        r->bytes = bytes;
        if (which == ROOM_ROWS)
            o->sequences.bytes = 0;
        if (which == ROOM_PASTS)
            o->pasts.bytes = 0;
        if (which == ROOM_ANGLES)
            o->angles_places = 0;
    }
    return (struct ops_array){ r->address, type };
}

static void *map(struct ops *o, struct ops_array a, int64_t n)
{
    if (device_is_host(o, a.address)) {
        device_finish(o);
        return a.address;
    }
    void *host = device_borrow(o, cuda_bytes(a.type, n));
    device_download(o, host, a, n);
    return host;
}

static void *fill(struct ops *o, struct ops_array a, int64_t n)
{
    return device_is_host(o, a.address) ? map(o, a, n) : device_borrow(o, cuda_bytes(a.type, n));
}

static void unmap(struct ops *o, struct ops_array a, int64_t n, void *mapped)
{
    if (mapped != a.address)
        device_send(o, a.address, mapped, cuda_bytes(a.type, n));
}

/* Copies in a queue of its own (ops_map_later), so that the arithmetic goes on. */
static void *map_later(struct ops *o, struct ops_array a, int64_t n, struct ops_mark *arrived)
{
    if (device_is_host(o, a.address))
        return map(o, a, n);
    void *host = device_borrow(o, cuda_bytes(a.type, n));
    device_mark(o, OPS_COMPUTE, arrived);
    device_after(o, OPS_OUT, arrived);
    device_move(o, OPS_OUT, (struct ops_array){ host, a.type }, a, (int64_t)cuda_bytes(a.type, n));
    device_mark(o, OPS_OUT, arrived);
    return host;
}

static void unmap_unchanged(struct ops *o, struct ops_array a, void *mapped)
{
    if (mapped != a.address)
        device_return(o, mapped);
}

/* ---- tables of sequences ------------------------------------------------------------------ */

/* Returns host memory for a table, to be filled and passed to send_table. */
static void *fill_table(struct cuda_table *t, size_t bytes)
{
    if (t->room < bytes) {
        t->next = mem_resize(t->next, bytes, 1);
        t->last = mem_resize(t->last, bytes, 1);
        t->room = bytes;
    }
    return t->next;
}

static struct ops_array send_table(struct ops *o, enum cuda_rooms which, struct cuda_table *t,
                                   size_t bytes)
{
    struct ops_array out = cuda_room(o, which, OPS_U8, (int64_t)bytes);
    if (t->bytes == bytes && !memcmp(t->last, t->next, bytes))
        return out;
    void *to = device_borrow(o, bytes);
    memcpy(to, t->next, bytes);
    memcpy(t->last, t->next, bytes);
    t->bytes = bytes;
    device_send(o, out.address, to, bytes);
    return out;
}

struct ops_array cuda_sequences(struct ops *o, const struct ops_rows *rows)
{
    const size_t bytes = (size_t)(2 * rows->B) * sizeof(int64_t);
    int64_t *to = fill_table(&o->sequences, bytes), first = 0;
    for (int64_t b = 0; b < rows->B; b++) {
        to[2 * b] = first;
        to[2 * b + 1] = ops_rows_of(rows, b);
        first += to[2 * b + 1];
    }
    return send_table(o, ROOM_ROWS, &o->sequences, bytes);
}

struct ops_array cuda_pasts(struct ops *o, const struct ops_past *past, int64_t B)
{
    const size_t bytes = (size_t)B * sizeof(struct cuda_past);
    struct cuda_past *to = fill_table(&o->pasts, bytes);
    for (int64_t b = 0; b < B; b++)
        to[b] = (struct cuda_past){ cuda_address(past[b].keys), cuda_address(past[b].values),
                                    past[b].room, past[b].used };
    return send_table(o, ROOM_PASTS, &o->pasts, bytes);
}

/* ---- products ----------------------------------------------------------------------------- */

/* Returns the matrix in the type of the product, converted if necessary. */
static struct ops_matrix operand(struct ops *o, enum cuda_rooms where, enum ops_type type,
                                 struct ops_matrix m, int64_t rows, int64_t columns)
{
    if (m.x.type == type)
        return m;
    int64_t r = m.transposed ? columns : rows, c = m.transposed ? rows : columns;
    struct ops_array to = cuda_room(o, where, type, r * c);
    cuda_copy_rows(o, to, m, r, c);
    return (struct ops_matrix){ to, c, m.transposed };
}

/* Returns the bias as the library takes it: in the type of the result, and aligned. */
static struct ops_array bias_of(struct ops *o, const struct ops_matmul *p)
{
    if (p->bias.type == p->C.x.type && (uintptr_t)p->bias.address % BIAS_ALIGN == 0)
        return p->bias;
    struct ops_array to = cuda_room(o, ROOM_BIAS, p->C.x.type, p->N);
    cuda_copy(o, to, p->bias, p->N);
    return to;
}

/* Computes a product of operands that are rounded to `type`. Sums are computed in f32 and rounded
 * once. The bias is rounded to the type of C. cuBLASLt writes bf16 only from bf16 operands. It adds
 * a base only of C's type, and a bias not for all shapes. Where it cannot do what p asks, it
 * computes the product in f32, and a kernel adds base and bias. */
static void matmul_as(struct ops *o, const struct ops_matmul *p, enum ops_type type)
{
    struct ops_matmul q = *p;
    if (!ops_is_none(p->sums))
        cuda_column_sums(o, ops_added(p->sums), p->B.x, p->B.ld, p->K, p->N);
    q.A = operand(o, ROOM_A, type, p->A, p->M, p->K);
    q.B = operand(o, ROOM_B, type, p->B, p->K, p->N);
    const enum ops_type result = p->C.x.type;
    if ((result == OPS_F32 || type == OPS_BF16) &&
        (ops_is_none(p->base) || p->base.type == result)) {
        if (!ops_is_none(p->bias))
            q.bias = bias_of(o, p);
        if (products_multiply(o, &q, OPS_NONE))
            return;
    }
    q.base = q.bias = OPS_NONE;
    q.C = (struct ops_matrix){ cuda_room(o, ROOM_PRODUCT, OPS_F32, p->M * p->N), p->N, 0 };
    if (!products_multiply(o, &q, OPS_NONE))
        log_fatal("the GPU failed: cuBLASLt has no product for M %lld, N %lld, K %lld",
                  (long long)p->M, (long long)p->N, (long long)p->K);
    cuda_add_rows(o, p->C, q.C.x, q.C.ld, p->base, p->bias, p->M, p->N);
}

/* Returns the type of the operands of a product of M rows with a matrix of type `matrix`. With few
 * rows, reading the matrix takes most of the time: it is not converted. A stored matrix (stored.h)
 * in bf16 is never converted: the other operand is rounded to bf16. */
static enum ops_type product_type(const struct ops *o, int stored, int64_t M, enum ops_type matrix)
{
    if (matrix == OPS_F32 ? M <= FEW_ROWS : stored)
        return matrix;
    return o->precision;
}

static void multiply(struct ops *o, int stored, const struct ops_matmul *p)
{
    matmul_as(o, p, product_type(o, stored, p->M, p->B.x.type));
}

void cuda_matmul(struct ops *o, const struct ops_matmul *p)
{
    multiply(o, 0, p);
}

static void linear(struct ops *o, struct ops_array y, struct ops_array base, struct ops_array x,
                   const struct ops_linear *l)
{
    const struct ops_matmul p = ops_product(y, base, x, l);
    multiply(o, l->turned, &p);
}

/* Computes several linear maps of the same rows x. The rows are converted to the type of the
 * products once, not for each map. */
void cuda_linear_fwd(struct ops *o, struct ops_array y, struct ops_array x,
                     const struct ops_linear *l, int count)
{
    const enum ops_type type = product_type(o, l->turned, l->N, l->w.type);
    const struct ops_matrix rows = { x, l->I, 0 };
    x = operand(o, ROOM_A, type, rows, l->N, l->I).x;
    for (int i = 0; i < count; y = ops_part(y, l[i].N * l[i].O), i++)
        linear(o, y, OPS_NONE, x, &l[i]);
}

/* Computes the map and its GELU in one call of cuBLASLt. Returns 1, or 0 if it cannot. */
static int linear_gelu(struct ops *o, struct ops_array y, struct ops_array inner,
                       struct ops_array x, const struct ops_linear *l)
{
    struct ops_matmul p = ops_product(y, OPS_NONE, x, l);
    if (product_type(o, l->turned, l->N, l->w.type) != OPS_BF16 || y.type != OPS_BF16 ||
        inner.type != OPS_BF16 || ops_is_none(l->bias) || l->O % 8 ||
        (uintptr_t)inner.address % BIAS_ALIGN)
        return 0;
    p.A = operand(o, ROOM_A, OPS_BF16, p.A, p.M, p.K);
    p.B = operand(o, ROOM_B, OPS_BF16, p.B, p.K, p.N);
    p.bias = bias_of(o, &p);
    return products_multiply(o, &p, inner);
}

static void linear_activation_fwd(struct ops *o, enum ops_activation f, struct ops_array y,
                                  struct ops_array inner, struct ops_array x,
                                  const struct ops_linear *l)
{
    if (f == OPS_GELU_TANH && linear_gelu(o, y, inner, x, l))
        return;
    cuda_linear_fwd(o, inner, x, l, 1);
    cuda_gated_fwd(o, &(struct ops_gate){ f, l->N, l->O, l->O }, y, inner, OPS_NONE);
}

/* Computes the gradients of a linear map by two products. dy is converted once for both. */
void cuda_linear_bwd(struct ops *o, struct ops_gradient dx, struct ops_gradient dw,
                     struct ops_gradient dbias, struct ops_array dy, struct ops_array x,
                     const struct ops_linear *l)
{
    assert(!l->turned);
    if (!ops_is_none(dbias.to))
        cuda_column_sums(o, dbias, dy, l->O, l->N, l->O);
    struct ops_matrix d = { dy, l->O, 0 },
                      d_operand = operand(o, ROOM_WORK, o->precision, d, l->N, l->O);
    const struct ops_matmul p = ops_product_dw(dw, x, d_operand, l),
                            q = ops_product_dx(dx, d_operand, l);
    if (!ops_is_none(dw.to))
        cuda_matmul(o, &p);
    if (!ops_is_none(dx.to))
        cuda_matmul(o, &q);
}

void cuda_residual_fwd(struct ops *o, struct ops_array y, struct ops_array base, struct ops_array x,
                       const struct ops_linear *l, struct ops_dropout drop)
{
    if (!(drop.rate > 0)) {
        linear(o, y, base, x, l);
        return;
    }
    struct ops_array branch = cuda_room(o, ROOM_PRODUCT, OPS_F32, l->N * l->O);
    cuda_linear_fwd(o, branch, x, l, 1);
    cuda_residual(o, y, base, branch, l->N * l->O, drop);
}

/* ---- losses ------------------------------------------------------------------------------- */

static void logits(struct ops *o, struct ops_array to, int64_t ld, struct ops_array x, int64_t N,
                   const struct ops_decoder *d, int)
{
    const struct ops_linear l = {
        .w = d->table, .bias = d->bias, .N = N, .I = d->C, .O = d->V, .turned = 1
    };
    struct ops_matmul p = ops_product(to, OPS_NONE, x, &l);
    p.C.ld = ld;
    multiply(o, d->stored, &p);
}

static struct ops_array decoder_table(struct ops *o, int64_t N, const struct ops_decoder *d)
{
    const enum ops_type type = product_type(o, d->stored, N, d->table.type);
    return operand(o, ROOM_B, type, (struct ops_matrix){ d->table, d->C, 0 }, d->V, d->C).x;
}

/* ---- the table ---------------------------------------------------------------------------- */

#define GROUP_ROW(name) .name = name,
#define CUDA_ROW(name)  .name = cuda_##name,

static const struct ops_backend table = {
    .context = sizeof(struct ops),
    .count = device_count,
    .open = open_context,
    .close = close_context,
    .free_bytes = device_free_bytes,
    .bytes = bytes_for,
    .buffer = buffer,
    .buffer_free = buffer_free,
    .upload = device_upload,
    .download = device_download,
    .map = map,
    .fill = fill,
    .unmap = unmap,
    .map_later = map_later,
    .unmap_unchanged = unmap_unchanged,
    .host_buffer = device_host_buffer,
    .mark = device_mark,
    .mark_free = device_mark_free,
    .after = device_after,
    .reached = device_reached,
    .move = device_move,
    .finish = device_finish,
    OPS_EXCHANGES(GROUP_ROW) OPS_OPERATIONS(CUDA_ROW).repeat = repeat,
    .linear_activation_fwd = linear_activation_fwd,
    .logits = logits,
    .loss_rows = 8192,
    .rounds_logits = 1,
    .decoder_table = decoder_table,
    .cross_entropy = cuda_cross_entropy,
    .column_sums = cuda_column_sums,
};

extern const struct plugin textmill_plugin __attribute__((visibility("default")));
const struct plugin textmill_plugin = { OPS_LAYOUT, &table };
