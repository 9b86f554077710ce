/*
 * ops_optimizer.c - the optimizers beside AdamW (ops.h). All but Muon read and write each number
 * once or twice, so that memory sets their pace.
 */
#include <assert.h>
#include <math.h>

#include "common/trace.h"
#include "model/context.h"

enum {
    GRAIN = 8192,      /* floats that are worth a thread */
    NEWTON_SCHULZ = 5, /* steps */
};

/* ---- Adam ----------------------------------------------------------------------------------- */

struct adam {
    float *w, *m, *v;
    const float *gradient;
    float *direction; /* LAMB's x */
    const struct ops_adamw *h;
};

/* The moments take in g; what stands is the step of Adam. */
static inline float adam_step(float *m, float *v, float g, const struct ops_adamw *h)
{
    *m = (float)h->beta1 * *m + (float)(1 - h->beta1) * g;
    *v = (float)h->beta2 * *v + (float)(1 - h->beta2) * g * g;
    return *m * (float)h->m_correction / (sqrtf(*v * (float)h->v_correction) + (float)h->epsilon);
}

static void adam_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct adam *a = ctx;
    const struct ops_adamw h = *a->h;
    for (int64_t i = begin; i < end; i++) {
        float g = (float)h.gradient_scale * a->gradient[i] + (float)h.decay * a->w[i];
        a->w[i] -= (float)h.rate * adam_step(&a->m[i], &a->v[i], g, &h);
    }
}

void ops_adam(struct ops *o, float *w, float *m, float *v, const float *gradient, int64_t n,
              const struct ops_adamw *h)
{
    TRACE_KERNEL(0, 28.0 * n);
    struct adam a = { .w = w, .m = m, .v = v, .gradient = gradient, .h = h };
    pool_for(o->pool, n, GRAIN, adam_part, &a);
}

/* ---- y = y_scale y + x_scale x ---------------------------------------------------------------- */

struct blend {
    float *y;
    const float *x;
    float y_scale, x_scale;
};

static void blend_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct blend b = *(struct blend *)ctx;
    for (int64_t i = begin; i < end; i++)
        b.y[i] = b.y_scale * b.y[i] + b.x_scale * b.x[i];
}

void ops_blend(struct ops *o, float *y, double y_scale, const float *x, double x_scale, int64_t n)
{
    TRACE_KERNEL(0, 12.0 * n);
    pool_for(o->pool, n, GRAIN, blend_part,
             &(struct blend){ y, x, (float)y_scale, (float)x_scale });
}

/* ---- LAMB ------------------------------------------------------------------------------------ */

static void direction_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct adam *a = ctx;
    const struct ops_adamw h = *a->h;
    for (int64_t i = begin; i < end; i++) {
        float g = (float)h.gradient_scale * a->direction[i];
        a->direction[i] = adam_step(&a->m[i], &a->v[i], g, &h) + (float)h.decay * a->w[i];
    }
}

/* The squares of each row's parts, [row][part] pairs of w's and x's, and then the parts' steps. */
struct lamb {
    const struct kernels *k;
    float *w;
    const float *x;
    double *squares;
    float steps[OPS_LAMB_PARTS]; /* rate * ratio */
    int64_t C;
    int parts;
};

static void lamb_squares_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct lamb *l = ctx;
    int64_t width = l->C / l->parts;
    for (int64_t i = begin * l->parts; i < end * l->parts; i++) {
        l->squares[2 * i] = l->k->sum_squares(l->w + i * width, width);
        l->squares[2 * i + 1] = l->k->sum_squares(l->x + i * width, width);
    }
}

static void lamb_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct lamb *l = ctx;
    int64_t width = l->C / l->parts;
    for (int64_t i = begin * l->parts; i < end * l->parts; i++)
        for (int64_t k = i * width; k < (i + 1) * width; k++)
            l->w[k] -= l->steps[i % l->parts] * l->x[k];
}

static double lamb_ratio(const struct lamb *l, int64_t R, int part, double cap)
{
    double weight = 0, step = 0;
    for (int64_t r = 0; r < R; r++) {
        weight += l->squares[2 * (r * l->parts + part)];
        step += l->squares[2 * (r * l->parts + part) + 1];
    }
    return weight > 0 && step > 0 ? fmin(sqrt(weight), cap) / sqrt(step) : 1;
}

void ops_lamb(struct ops *o, float *w, float *m, float *v, float *gradient,
              const struct ops_lamb *h)
{
    TRACE_KERNEL(0, 28.0 * h->R * h->C);
    assert(h->parts >= 1 && h->parts <= OPS_LAMB_PARTS && h->C % h->parts == 0);
    struct adam a = { .w = w, .m = m, .v = v, .direction = gradient, .h = &h->adam };
    struct lamb l = { .k = o->k, .w = w, .x = gradient, .C = h->C, .parts = h->parts };
    pool_for(o->pool, h->R * h->C, GRAIN, direction_part, &a);
    l.squares = (double *)(void *)ops_work(o, 4 * h->R * h->parts);
    pool_for(o->pool, h->R, ops_row_grain(h->C), lamb_squares_rows, &l);
    for (int p = 0; p < h->parts; p++)
        l.steps[p] = (float)(h->adam.rate * lamb_ratio(&l, h->R, p, h->cap));
    pool_for(o->pool, h->R, ops_row_grain(h->C), lamb_rows, &l);
}

/* ---- schedule-free AdamW ---------------------------------------------------------------------- */

struct schedule_free {
    struct adam a; /* m is z */
    float share;
};

static void schedule_free_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct schedule_free *s = ctx;
    const struct adam a = s->a;
    const struct ops_adamw h = *a.h;
    const float beta2 = (float)h.beta2, rest2 = (float)(1 - h.beta2), share = s->share;
    const float rate = (float)h.rate, decay = (float)h.decay;
    const float inner = (float)(h.rate * (1 - h.beta1 * (1 - (double)share)));
    for (int64_t i = begin; i < end; i++) {
        float g = (float)h.gradient_scale * a.gradient[i];
        a.v[i] = beta2 * a.v[i] + rest2 * g * g;
        float d = g / (sqrtf(a.v[i] * (float)h.v_correction) + (float)h.epsilon) + decay * a.w[i];
        a.w[i] = (1 - share) * a.w[i] + share * a.m[i] - inner * d;
        a.m[i] -= rate * d;
    }
}

void ops_schedule_free(struct ops *o, float *w, float *z, float *v, const float *gradient,
                       int64_t n, const struct ops_adamw *h, double share)
{
    TRACE_KERNEL(0, 28.0 * n);
    struct schedule_free s = { { .w = w, .m = z, .v = v, .gradient = gradient, .h = h },
                               (float)share };
    pool_for(o->pool, n, GRAIN, schedule_free_part, &s);
}

/* ---- SGD -------------------------------------------------------------------------------------- */

struct sgd {
    float *w, *a;
    const float *gradient;
    const struct ops_sgd *h;
};

static void sgd_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct sgd *s = ctx;
    const float rate = (float)s->h->rate, decay = (float)s->h->decay;
    const float momentum = (float)s->h->momentum, scale = (float)s->h->gradient_scale;
    for (int64_t i = begin; i < end; i++) {
        float g = scale * s->gradient[i] + decay * s->w[i];
        if (s->a)
            g = s->a[i] = momentum * s->a[i] + g;
        s->w[i] -= rate * g;
    }
}

void ops_sgd(struct ops *o, float *w, float *a, const float *gradient, int64_t n,
             const struct ops_sgd *h)
{
    TRACE_KERNEL(0, a ? 20.0 * n : 12.0 * n);
    pool_for(o->pool, n, GRAIN, sgd_part, &(struct sgd){ w, a, gradient, h });
}

/* ---- Muon ------------------------------------------------------------------------------------- */

/* X[R,C] <- aX + (bA + cA^2) X with A = X X^T, or X (bA + cA^2) with A = X^T X, whichever A is
 * the smaller: singular values s become a s + b s^3 + c s^5, which drives those in (0, 1] towards
 * 1. The constants are Jordan's, for speed from below and not for a fixed point at 1. */
static void newton_schulz(struct ops *o, float *X, int64_t R, int64_t C)
{
    const double a = 3.4445, b = -4.7750, c = 2.0315;
    int tall = R > C;
    int64_t n = tall ? C : R;
    float *A = ops_work(o, 2 * n * n + R * C), *P = A + n * n, *Y = P + n * n;
    struct ops_matmul gram = { .a_transposed = tall,
                               .b_transposed = !tall,
                               .M = n,
                               .N = n,
                               .K = tall ? R : C,
                               .lda = C,
                               .ldb = C,
                               .ldc = n };
    struct ops_matmul square = { .M = n, .N = n, .K = n, .lda = n, .ldb = n, .ldc = n };
    struct ops_matmul apply = {
        .M = R, .N = C, .K = n, .lda = tall ? C : n, .ldb = tall ? n : C, .ldc = C
    };
    for (int i = 0; i < NEWTON_SCHULZ; i++) {
        ops_matmul(o, A, X, X, &gram);
        ops_matmul(o, P, A, A, &square);
        ops_blend(o, P, c, A, b, n * n);
        ops_matmul(o, Y, tall ? X : P, tall ? P : X, &apply);
        ops_blend(o, X, a, Y, 1, R * C);
    }
}

void ops_muon(struct ops *o, float *w, float *a, float *gradient, int64_t R, int64_t C,
              const struct ops_sgd *h)
{
    TRACE_KERNEL(0, 0);
    int64_t n = R * C;
    ops_blend(o, a, h->momentum, gradient, h->gradient_scale, n);
    ops_blend(o, gradient, h->gradient_scale, a, h->momentum, n);
    double norm = sqrt(ops_sum_squares(o, gradient, n));
    ops_blend(o, gradient, 1 / (norm > 1e-30 ? norm : 1e-30), gradient, 0, n);
    newton_schulz(o, gradient, R, C);
    ops_blend(o, w, 1 - h->rate * h->decay, gradient,
              -h->rate * 0.2 * sqrt((double)(R > C ? R : C)), n);
}

/* ---- bf16 ------------------------------------------------------------------------------------- */

struct halves {
    const struct kernels *k;
    float *floats;
    uint16_t *halves;
    uint64_t key, first;
};

static void from_bf16_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct halves *h = ctx;
    h->k->from_bf16(h->floats + begin, h->halves + begin, end - begin);
}

void ops_from_bf16(struct ops *o, float *y, const uint16_t *x, int64_t n)
{
    TRACE_KERNEL(0, 6.0 * n);
    struct halves h = { .k = o->k, .floats = y, .halves = (uint16_t *)x };
    pool_for(o->pool, n, GRAIN, from_bf16_part, &h);
}

static void to_bf16_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct halves *h = ctx;
    h->k->to_bf16(h->halves + begin, h->floats + begin, end - begin);
}

void ops_to_bf16(struct ops *o, uint16_t *y, const float *x, int64_t n)
{
    TRACE_KERNEL(0, 6.0 * n);
    struct halves h = { .k = o->k, .floats = (float *)x, .halves = y };
    pool_for(o->pool, n, GRAIN, to_bf16_part, &h);
}

static void trim_bf16_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct halves *h = ctx;
    h->k->trim_bf16(h->floats + begin, end - begin);
}

void ops_trim_bf16(struct ops *o, float *x, int64_t n)
{
    TRACE_KERNEL(0, 8.0 * n);
    struct halves h = { .k = o->k, .floats = x };
    pool_for(o->pool, n, GRAIN, trim_bf16_part, &h);
}

static void round_bf16_part(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct halves *h = ctx;
    h->k->round_bf16(h->halves + begin, h->floats + begin, end - begin, h->key,
                     h->first + (uint64_t)begin);
}

void ops_round_bf16(struct ops *o, uint16_t *y, const float *x, int64_t n, uint64_t key,
                    uint64_t first)
{
    TRACE_KERNEL(0, 6.0 * n);
    assert(first % 4 == 0);
    struct halves h = { o->k, (float *)x, y, key, first };
    pool_for(o->pool, n, GRAIN, round_bf16_part, &h);
}
