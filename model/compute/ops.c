/*
 * ops.c - the context, its scratch, and the way from each function of ops.h to its back end.
 */
#include "model/compute/ops.h"

#include <math.h>

#include "common/files/plugin.h"
#include "common/program/trace.h"
#include "model/compute/cpu.h"

enum { SCRATCH_ALIGN = 64 }; /* bytes */

/* ---- the context -------------------------------------------------------------------------- */

/* Splits a device name, NAME or NAME:N, into `name` and *number (-1 if there is none). Returns 0,
 * or -1 with a usage error if it is not valid. */
static int parse_device(const char *device, char name[16], int *number)
{
    int end = 0;
    *number = -1;
    int words = sscanf(device, "%15[a-z]%n:%3d%n", name, &end, number, &end);
    int known = words > 0 && (!strcmp(name, "cuda") || !strcmp(name, "emulated") ||
                              (!strcmp(name, "cpu") && words == 1));
    return known && !device[end] && (words == 1 || *number >= 0)
               ? 0
               : err_usage("'%s' is no device: give cpu, cuda or cuda:N", device);
}

int ops_check_device(const char *device)
{
    char name[16];
    int number;
    return parse_device(device, name, &number);
}

/* Returns the back end of a device, and its number, -1 if the name has none; NULL with an error. */
static const struct ops_backend *find_back_end(const char *device, char name[16], int *number)
{
    if (parse_device(device, name, number) < 0)
        return NULL;
    return strcmp(name, "cpu") != 0 ? plugin_open(name, OPS_LAYOUT) : &ops_cpu;
}

int ops_needs(const char *device, const struct ops_sizes *s, struct ops_needs *out)
{
    char name[16];
    int number;
    const struct ops_backend *b = find_back_end(device, name, &number);
    if (!b)
        return -1;
    const int64_t most = s->shares > 1 ? (int64_t)OPS_SHARED_ROWS * s->shares : b->loss_rows;
    out->loss_floats = (s->N < most ? s->N : most) * (s->V + 2 * s->C + OPS_LOGITS_ALIGN);
    out->bytes = b->bytes(s);
    return 0;
}

struct ops *ops_open_local(const char *device, int local, int threads)
{
    char name[16];
    int number, count;
    const struct ops_backend *b = find_back_end(device, name, &number);
    if (!b || (count = b->count()) < 0)
        return NULL;
    number = number < 0 ? local % count : number;
    if (number >= count) {
        err_set("there is no device %s:%d: this machine has %d, counted from 0", name, number,
                count);
        return NULL;
    }
    struct ops *o = mem_zalloc(1, b->context);
    o->b = b;
    o->threads = threads < 1 ? 1 : threads;
    if (b->open(o, number) < 0) {
        free(o);
        return NULL;
    }
    return o;
}

struct ops *ops_open(const char *device, int threads)
{
    return ops_open_local(device, 0, threads);
}

static void scratch_release(struct ops *o)
{
    for (int i = 0; i < o->scratch.count; i++)
        ops_buffer_free(o, o->scratch.blocks[i].data);
    o->scratch = (struct ops_scratch){ 0 };
}

void ops_free(struct ops *o)
{
    if (!o)
        return;
    scratch_release(o);
    o->b->close(o);
    free(o);
}

int ops_threads(const struct ops *o)
{
    return o->threads;
}

void ops_each(struct ops *o, int64_t n, void (*fn)(void *ctx, int64_t i, int thread), void *ctx)
{
    if (o->b->each)
        o->b->each(o, n, fn, ctx);
    else
        for (int64_t i = 0; i < n; i++)
            fn(ctx, i, 0);
}

const char *ops_describe(const struct ops *o)
{
    return o->name;
}

const char *ops_arithmetic(const struct ops *o)
{
    return o->b->arithmetic ? o->b->arithmetic(o) : o->name;
}

const char *ops_kernels(void)
{
    const struct kernels *k = kernels_choose();
    return k ? k->name : err_get();
}

void ops_set_precision(struct ops *o, enum ops_type precision)
{
    assert(precision == OPS_F32 || precision == OPS_BF16);
    o->precision = precision;
}

enum ops_type ops_operand(const struct ops *o)
{
    return o->precision;
}

/* ---- functions that only pass their arguments on ------------------------------------------- */

/* clang-format off */
#define PASS_ON(name, parameters, arguments) \
    void ops_##name parameters { o->b->name arguments; }
#define PASS_IF(condition, name, parameters, arguments) \
    void ops_##name parameters { assert(condition); o->b->name arguments; }
#define PASS_IF_THERE(name, parameters, arguments) \
    void ops_##name parameters { if (o->b->name) o->b->name arguments; }
#define PASS_BACK(result, name, parameters, arguments) \
    result ops_##name parameters { return o->b->name arguments; }
PASS_BACK(uint64_t, free_bytes, (const struct ops *o), (o))
PASS_ON(upload, (struct ops *o, struct ops_array to, const void *from, int64_t n), (o, to, from, n))
PASS_ON(download, (struct ops *o, void *to, struct ops_array from, int64_t n), (o, to, from, n))
PASS_BACK(void *, map, (struct ops *o, struct ops_array a, int64_t n), (o, a, n))
PASS_BACK(void *, fill, (struct ops *o, struct ops_array a, int64_t n), (o, a, n))
PASS_ON(unmap, (struct ops *o, struct ops_array a, int64_t n, void *mapped), (o, a, n, mapped))
PASS_BACK(struct ops_array, host_buffer, (struct ops *o, int64_t bytes), (o, bytes))
PASS_IF_THERE(mark, (struct ops *o, enum ops_queue q, struct ops_mark *m), (o, q, m))
PASS_IF(q == OPS_IN || q == OPS_OUT, move,
        (struct ops *o, enum ops_queue q, struct ops_array to, struct ops_array from, int64_t n), (o, q, to, from, n))
PASS_IF_THERE(finish, (struct ops *o), (o))
PASS_BACK(void *, map_later, (struct ops *o, struct ops_array a, int64_t n, struct ops_mark *arrived),
        (o, a, n, arrived))
PASS_IF_THERE(unmap_unchanged, (struct ops *o, struct ops_array a, void *mapped), (o, a, mapped))
PASS_BACK(int, group_identify, (struct ops *o, char id[OPS_GROUP_ID]), (o, id))
PASS_BACK(struct ops_group *, group_join, (struct ops *o, const char id[OPS_GROUP_ID], int rank, int size, int local),
          (o, id, rank, size, local))
PASS_BACK(int, group_takes, (const struct ops *o, struct ops_array x), (o, x))
PASS_BACK(int, group_reduce, (struct ops *o, struct ops_group *g, int most, struct ops_array x, const int64_t *bounds),
          (o, g, most, x, bounds))
PASS_BACK(int, group_gather, (struct ops *o, struct ops_group *g, struct ops_array x, const int64_t *bounds), (o, g, x, bounds))
PASS_BACK(int, group_check, (const struct ops *o, struct ops_group *g), (o, g))
PASS_ON(norm_join, (struct ops *o, struct ops_moments kept, struct ops_array parts, int ranks, const struct ops_norm *l),
        (o, kept, parts, ranks, l))
PASS_ON(tanh_fwd, (struct ops *o, struct ops_array x, int64_t n), (o, x, n))
PASS_ON(tanh_bwd, (struct ops *o, struct ops_array d, struct ops_array y, int64_t n), (o, d, y, n))
PASS_IF(l->n == rows->B, span_loss,
        (struct ops *o, struct ops_scores out, struct ops_array logits, int side, const struct ops_labels *l,
         const struct ops_rows *rows, int gradient, double scale), (o, out, logits, side, l, rows, gradient, scale))
PASS_IF(sum.type == OPS_F64 && (x.type == OPS_F32 || x.type == OPS_U8), add_sum,
        (struct ops *o, struct ops_array sum, struct ops_array x, int64_t n), (o, sum, x, n))
/* clang-format on */

/* ---- functions that are measured and passed on --------------------------------------------- */

/* Returns the bytes of n numbers of the array's type, for the trace. */
static double bytes(struct ops_array a, int64_t n)
{
    return ops_is_none(a) ? 0 : (double)n * (double)ops_type_bytes(a.type);
}

/* Returns the operations of `products` matrix products with each of the maps, for the trace; 0 on
 * the CPU, which calls ops_matmul: the spans of ops_matmul count them. */
static double of_maps(const struct ops *o, const struct ops_linear *l, int count, int products)
{
    double sum = 0;
    for (int i = 0; i < count && !ops_on_host(o); i++)
        sum += 2.0 * products * (double)(l[i].N * l[i].I * l[i].O);
    return sum;
}

/* Returns the number of pairs of a query and a key that it sees, in all heads of all sequences. */
static double pairs(const struct ops_attention *a)
{
    double sum = 0;
    for (int64_t b = 0; b < a->rows.B; b++) {
        const double n = (double)ops_rows_of(&a->rows, b), w = (double)a->window;
        const double far = w && n > w ? n - w : 0; /* pairs of one side that are too far apart */
        const double side = n * (n + 1) / 2 - far * (far + 1) / 2;
        sum += a->causal ? side : 2 * side - n;
    }
    return sum * (double)a->NH;
}

static int64_t row_numbers(const struct ops_attention *a)
{
    return ops_rows_count(&a->rows) * a->NH * a->HS;
}

/* Returns the size of the keys, for all heads, that the sequences see, cached and new ones. */
static int64_t seen(const struct ops_past *past, const struct ops_attention *a)
{
    int64_t sum = 0;
    for (int64_t b = 0; b < a->rows.B; b++)
        sum += past[b].used + a->rows.T;
    return sum * a->NH * a->HS;
}

/* MEASURED defines ops_NAME, which calls the back end. The trace gets its floating-point
 * operations, and the bytes that it reads and writes. CHECKED also has a condition for the
 * arguments. */
/* clang-format off */
#define CHECKED(name, condition, flops, memory, parameters, arguments) \
    void ops_##name parameters { TRACE_OPERATION(flops, memory); assert(condition); o->b->name arguments; }
#define MEASURED(name, flops, memory, parameters, arguments) CHECKED(name, 1, flops, memory, parameters, arguments)
CHECKED(matmul, p->M > 0 && p->N > 0 && p->K > 0 && !p->C.transposed && (ops_is_none(p->sums) || !p->B.transposed),
        2.0 * p->M * p->N * p->K, bytes(p->A.x, p->M * p->K) + bytes(p->B.x, p->K * p->N) + bytes(p->C.x, p->M * p->N),
        (struct ops *o, const struct ops_matmul *p), (o, p))
MEASURED(linear_bwd, of_maps(o, l, 1, !ops_is_none(dx.to) + !ops_is_none(dw.to)), 0,
         (struct ops *o, struct ops_gradient dx, struct ops_gradient dw, struct ops_gradient dbias, struct ops_array dy,
          struct ops_array x, const struct ops_linear *l), (o, dx, dw, dbias, dy, x, l))
CHECKED(residual_fwd, y.address != base.address, of_maps(o, l, 1, 1), 0,
        (struct ops *o, struct ops_array y, struct ops_array base, struct ops_array x, const struct ops_linear *l,
         struct ops_dropout drop), (o, y, base, x, l, drop))
MEASURED(embedding_fwd, 0, 12.0 * t->N * e->C,
         (struct ops *o, struct ops_array x, const struct ops_tokens *t, const struct ops_embedding *e), (o, x, t, e))
MEASURED(embedding_bwd, 0, 12.0 * t->N * d->C,
         (struct ops *o, const struct ops_embedding *d, struct ops_array dx, const struct ops_tokens *t), (o, d, dx, t))
MEASURED(norm_fwd, 0, bytes(x, l->N * l->C) + bytes(y, l->N * l->C),
         (struct ops *o, struct ops_array y, struct ops_moments kept, struct ops_array x, const struct ops_norm *l),
         (o, y, kept, x, l))
CHECKED(norm_bwd, (b->dx.add || ops_is_none(b->before.to)) && (!ops_is_none(b->dgain.to) || !ops_is_none(b->sums)),
        0, (ops_is_none(b->sums) ? 16 : ops_is_none(b->dx.to) ? 8 : 12) * (double)(l->N * l->C),
        (struct ops *o, const struct ops_norm_bwd *b, const struct ops_norm *l), (o, b, l))
CHECKED(rotate, r->HS % 2 == 0 && r->base > 0, 0, 2 * bytes(x, t->N * r->heads * r->HS),
        (struct ops *o, struct ops_array x, const struct ops_tokens *t, const struct ops_rotary *r), (o, x, t, r))
CHECKED(attention_fwd, !a->KV || a->NH % a->KV == 0, 4.0 * pairs(a) * a->HS, 4 * bytes(x.q, row_numbers(a)),
        (struct ops *o, struct ops_array y, struct ops_array lse, struct ops_qkv x, const struct ops_attention *a),
        (o, y, lse, x, a))
CHECKED(attention_bwd, !a->KV || a->NH % a->KV == 0, 10.0 * pairs(a) * a->HS, 9 * bytes(x.q, row_numbers(a)),
        (struct ops *o, struct ops_qkv dx, const struct ops_gradient *sums, struct ops_array dy, struct ops_qkv x,
         struct ops_array y, struct ops_array lse, const struct ops_attention *a), (o, dx, sums, dy, x, y, lse, a))
CHECKED(attention_cached, !a->rows.lengths && a->drop.rate == 0, 4.0 * (double)(a->rows.T * seen(past, a)),
        2 * bytes(past->keys, seen(past, a)),
        (struct ops *o, struct ops_array y, const struct ops_past *past, int64_t layer, struct ops_qkv x,
         const struct ops_attention *a), (o, y, past, layer, x, a))
MEASURED(gated_fwd, 0, bytes(y, g->N * g->I) + bytes(gate, g->N * g->I) + bytes(up, g->N * g->I),
         (struct ops *o, const struct ops_gate *g, struct ops_array y, struct ops_array gate, struct ops_array up),
         (o, g, y, gate, up))
MEASURED(gated_bwd, 0, (ops_is_none(up) ? 2 : 3) * (bytes(dgate, g->N * g->I) + bytes(gate, g->N * g->I)),
         (struct ops *o, const struct ops_gate *g, struct ops_array dgate, struct ops_array dup, struct ops_array y,
          struct ops_gradient sums, struct ops_array dy, struct ops_array gate, struct ops_array up),
         (o, g, dgate, dup, y, sums, dy, gate, up))
MEASURED(zero, 0, bytes(x, n), (struct ops *o, struct ops_array x, int64_t n), (o, x, n))
MEASURED(add, n, 12.0 * n, (struct ops *o, struct ops_array y, struct ops_array x, int64_t n), (o, y, x, n))
MEASURED(blend, 0, 12.0 * n,
         (struct ops *o, struct ops_array y, double y_scale, struct ops_array x, double x_scale, int64_t n),
         (o, y, y_scale, x, x_scale, n))
MEASURED(gather_rows, 0, 8.0 * n * C,
         (struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows, int64_t n, int64_t C),
         (o, y, x, rows, n, C))
MEASURED(scatter_rows, 0, 12.0 * n * C,
         (struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows, int64_t n, int64_t C),
         (o, y, x, rows, n, C))
MEASURED(columns_most, 0, 4.0 * c->n * c->V, (struct ops *o, const struct ops_columns *c), (o, c))
MEASURED(columns_sums, 0, 8.0 * c->n * c->V, (struct ops *o, const struct ops_columns *c), (o, c))
MEASURED(columns_loss, 0, gradient ? 8.0 * c->n * c->V : 0,
         (struct ops *o, struct ops_scores out, const struct ops_columns *c, int gradient, double scale),
         (o, out, c, gradient, scale))
CHECKED(round, y.at.type == OPS_BF16 && x.type == OPS_F32 && first % 4 == 0, 0, 6.0 * n,
        (struct ops *o, struct ops_state y, struct ops_array x, int64_t n, uint64_t first), (o, y, x, n, first))
MEASURED(adam, 0, 28.0 * n,
         (struct ops *o, struct ops_array w, struct ops_array m, struct ops_array v, struct ops_array gradient, int64_t n,
          const struct ops_adamw *h), (o, w, m, v, gradient, n, h))
MEASURED(lamb_begin, 0, 36.0 * n,
         (struct ops *o, struct ops_array squares, struct ops_array w, struct ops_array m, struct ops_array v,
          struct ops_array gradient, int64_t n, const struct ops_adamw *h), (o, squares, w, m, v, gradient, n, h))
MEASURED(lamb_end, 0, 12.0 * n,
         (struct ops *o, struct ops_array w, struct ops_array x, struct ops_array squares, int64_t n,
          const struct ops_adamw *h), (o, w, x, squares, n, h))
MEASURED(sgd, 0, ops_is_none(a) ? 12.0 * n : 20.0 * n,
         (struct ops *o, struct ops_array w, struct ops_array a, struct ops_array gradient, int64_t n,
          const struct ops_adamw *h), (o, w, a, gradient, n, h))
MEASURED(normalise, 0, 12.0 * n, (struct ops *o, struct ops_array x, int64_t n), (o, x, n))
/* clang-format on */

/* ---- arrays ------------------------------------------------------------------------------- */

struct ops_array ops_buffer(struct ops *o, enum ops_type type, int64_t n)
{
    assert(n >= 0);
    return o->b->buffer(o, type, n);
}

void ops_buffer_free(struct ops *o, struct ops_array a)
{
    if (!ops_is_none(a))
        o->b->buffer_free(o, a);
}

struct ops_array ops_room(struct ops *o, struct ops_room *r, enum ops_type type, int64_t n)
{
    if (r->n < n) {
        ops_buffer_free(o, r->at);
        r->at = ops_buffer(o, type, n);
        r->n = n;
    }
    return r->at;
}

void ops_room_free(struct ops *o, struct ops_room *r)
{
    ops_buffer_free(o, r->at);
    *r = (struct ops_room){ 0 };
}

int ops_on_host(const struct ops *o)
{
    return o->b == &ops_cpu;
}

struct ops_array ops_host_array(void *memory, enum ops_type type)
{
    return (struct ops_array){ memory, type };
}

static void scratch_grow(struct ops *o, int64_t bytes)
{
    struct ops_scratch *s = &o->scratch;
    assert(s->count < OPS_SCRATCH_BLOCKS);
    s->blocks[s->count].data = ops_buffer(o, OPS_U8, bytes);
    s->blocks[s->count++].bytes = bytes;
    s->used = 0;
}

void ops_scratch_begin(struct ops *o)
{
    struct ops_scratch *s = &o->scratch;
    int64_t bytes = 0;
    for (int i = 0; i < s->count; i++)
        bytes += s->blocks[i].bytes;
    if (s->count > 1) {
        scratch_release(o);
        scratch_grow(o, bytes);
    }
    s->used = 0;
}

struct ops_array ops_scratch(struct ops *o, enum ops_type type, int64_t n)
{
    struct ops_scratch *s = &o->scratch;
    int64_t bytes = n * (int64_t)ops_type_bytes(type);
    bytes = (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
    if (!s->count || s->used + bytes > s->blocks[s->count - 1].bytes)
        scratch_grow(o, bytes);
    struct ops_array a = ops_part(s->blocks[s->count - 1].data, s->used);
    s->used += bytes;
    a.type = type;
    return a;
}

void ops_mark_free(struct ops *o, struct ops_mark *m)
{
    if (m->event)
        o->b->mark_free(o, m);
    m->event = NULL;
}

void ops_after(struct ops *o, enum ops_queue q, const struct ops_mark *m)
{
    if (m->event)
        o->b->after(o, q, m);
}

int ops_reached(struct ops *o, const struct ops_mark *m)
{
    return !m->event || o->b->reached(o, m);
}

/* ---- exchanges of devices ----------------------------------------------------------------- */

int ops_group_find(struct ops *o, char name[OPS_DEVICE_NAME])
{
    if (o->b->group_find)
        return o->b->group_find(o, name);
    err_set("%s does not exchange arrays with other devices", ops_describe(o));
    return 0;
}

void ops_group_leave(struct ops *o, struct ops_group *g)
{
    if (g)
        o->b->group_leave(o, g);
}

/* ---- rows --------------------------------------------------------------------------------- */

int64_t ops_rows_of(const struct ops_rows *rows, int64_t b)
{
    return rows->lengths ? rows->lengths[b] : rows->T;
}

int64_t ops_rows_count(const struct ops_rows *rows)
{
    int64_t count = 0;
    for (int64_t b = 0; b < rows->B; b++)
        count += ops_rows_of(rows, b);
    return count;
}

/* ---- matrix products ---------------------------------------------------------------------- */

void ops_linear_fwd(struct ops *o, struct ops_array y, struct ops_array x,
                    const struct ops_linear *l, int count)
{
    TRACE_OPERATION(of_maps(o, l, count, 1), 0);
    for (int i = 0, end; i < count; i = end) {
        int64_t outputs = 0;
        for (end = i; end < count && l[end].w.type == l[i].w.type; end++) {
            assert(l[end].N == l->N && l[end].I == l->I && l[end].turned == l->turned);
            outputs += l[end].N * l[end].O;
        }
        o->b->linear_fwd(o, y, x, l + i, end - i); /* weights of one type */
        y = ops_part(y, outputs);
    }
}

void ops_linear_activation_fwd(struct ops *o, enum ops_activation f, struct ops_array y,
                               struct ops_array inner, struct ops_array x,
                               const struct ops_linear *l)
{
    if (o->b->linear_activation_fwd) {
        TRACE_OPERATION(of_maps(o, l, 1, 1), 0);
        o->b->linear_activation_fwd(o, f, y, inner, x, l);
        return;
    }
    ops_linear_fwd(o, inner, x, l, 1);
    ops_gated_fwd(o, &(struct ops_gate){ f, l->N, l->O, l->O }, y, inner, OPS_NONE);
}

/* ---- rows and elements -------------------------------------------------------------------- */

/* Returns the number of the rotary pair, not rounded, whose wave fits `turns` times into the length
 * of the training texts. */
static double pair_of(const struct ops_rotary *r, double turns)
{
    return (double)r->HS * log(r->stretch.original / (turns * 6.283185307179586)) /
           (2 * log(r->base));
}

/* Sets pairs[2] to the numbers of the first and the last pair between which YaRN interpolates. */
static void yarn_pairs(double pairs[2], const struct ops_rotary *r)
{
    const double first = pair_of(r, r->stretch.high), last = pair_of(r, r->stretch.low);
    pairs[0] = fmax(r->stretch.whole ? floor(first) : first, 0);
    pairs[1] = fmin(r->stretch.whole ? ceil(last) : last, (double)r->HS - 1);
    if (pairs[1] == pairs[0])
        pairs[1] += 0.001; /* as transformers does */
}

double ops_yarn_scale(double factor, double weight)
{
    return factor > 1 ? 0.1 * weight * log(factor) + 1 : 1;
}

double ops_rotary_frequency(const struct ops_rotary *r, int64_t i)
{
    const struct ops_stretch *s = &r->stretch;
    const double frequency = pow(r->base, -2.0 * (double)i / (double)r->HS);
    if (s->divided)
        return frequency / s->divisors[i];
    if (!s->factor)
        return frequency;
    if (!s->original)
        return frequency / s->factor;
    double share = (s->original * frequency / 6.283185307179586 - s->low) / (s->high - s->low);
    if (s->yarn) {
        double pairs[2];
        yarn_pairs(pairs, r);
        share = (pairs[1] - (double)i) / (pairs[1] - pairs[0]);
    }
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return share * frequency + (1 - share) * frequency / s->factor;
}

void ops_dropout(struct ops *o, struct ops_array y, struct ops_array x, int64_t n,
                 struct ops_dropout drop)
{
    TRACE_OPERATION(0, drop.rate > 0 ? 8.0 * n : 0);
    assert(drop.rate >= 0 && drop.rate < 1);
    if (drop.rate > 0 || y.address != x.address)
        o->b->dropout(o, y, x, n, drop);
}

void ops_copy(struct ops *o, struct ops_array y, struct ops_array x, int64_t n)
{
    TRACE_OPERATION(0, bytes(x, n) + bytes(y, n));
    if (y.address != x.address)
        o->b->copy(o, y, x, n);
}

/* ---- steps -------------------------------------------------------------------------------- */

void ops_repeat(struct ops *o, const struct ops_past *past, int64_t B, void (*step)(void *context),
                void *context)
{
    if (o->b->repeat)
        o->b->repeat(o, past, B, step, context);
    else
        step(context);
}

/* ---- losses ------------------------------------------------------------------------------- */

void ops_logits(struct ops *o, struct ops_array logits, struct ops_array x, int64_t N,
                const struct ops_decoder *d)
{
    TRACE_OPERATION(0, 0);
    o->b->logits(o, logits, d->V, x, N, d, 0);
}

void ops_cross_entropy(struct ops *o, struct ops_scores out, struct ops_array logits, int64_t V,
                       const struct ops_labels *l, int gradient, double scale)
{
    assert(ops_is_none(l->rows));
    o->b->cross_entropy(o, out, logits, V, V, l->labels, l->n, gradient ? logits : OPS_NONE, scale);
}

/* ---- sums --------------------------------------------------------------------------------- */

void ops_sum_squares(struct ops *o, struct ops_array sums, struct ops_array x,
                     const struct ops_run *runs, int count)
{
    int64_t n = 0;
    for (int i = 0; i < count; i++)
        n += runs[i].n;
    TRACE_OPERATION(2.0 * n, 4.0 * n);
    assert(sums.type == OPS_F64 && x.type == OPS_F32);
    o->b->sum_squares(o, sums, x, runs, count);
}

/* ---- the optimizer's part ----------------------------------------------------------------- */

void ops_adamw(struct ops *o, const struct ops_state state[OPS_STATES], struct ops_array gradient,
               int64_t n, const struct ops_adamw *h)
{
    double each = 4;
    for (int i = 0; i < OPS_STATES; i++)
        each += 2 * (double)ops_type_bytes(state[i].at.type);
    TRACE_OPERATION(0, each * n);
    o->b->adamw(o, state, gradient, n, h);
}
