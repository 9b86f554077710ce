/*
 * cpu_optimizer.c - the optimizers of the CPU back end. All but the iteration of Muon read and
 * write each number once or twice, so memory bandwidth limits their speed.
 */
#include <math.h>

#include "model/compute/cpu.h"

enum {
    GRAIN = 8192,      /* minimum number of floats per thread */
    STATE_PIECE = 512, /* elements of bf16 state that are converted to f32 at a time */
};

/* ---- Adam ----------------------------------------------------------------------------------- */

struct adam {
    float *w, *m, *v;
    float *gradient; /* LAMB replaces it by the direction of the update */
    const struct ops_adamw *h;
};

/* Updates the moments *m and *v with the gradient g. Returns Adam's step for a learning rate of 1.
 */
static inline float adam_step(float *m, float *v, float g, const struct ops_adamw *h)
{
    *m = (float)h->beta1 * *m + (float)(1 - h->beta1) * g;
    *v = (float)h->beta2 * *v + (float)(1 - h->beta2) * g * g;
    return *m * (float)h->m_correction / (sqrtf(*v * (float)h->v_correction) + (float)h->epsilon);
}

static void adam_part(void *ctx, int64_t begin, int64_t end, int)
{
    const struct adam *a = ctx;
    const struct ops_adamw h = *a->h;
    for (int64_t i = begin; i < end; i++) {
        float g = (float)h.gradient_scale * a->gradient[i] + (float)h.decay * a->w[i];
        a->w[i] -= (float)h.rate * adam_step(&a->m[i], &a->v[i], g, &h);
    }
}

static struct adam adam_of(struct ops_array w, struct ops_array m, struct ops_array v,
                           struct ops_array gradient, const struct ops_adamw *h)
{
    return (struct adam){ .w = cpu_floats(w),
                          .m = cpu_floats(m),
                          .v = cpu_floats(v),
                          .gradient = cpu_floats(gradient),
                          .h = h };
}

void cpu_adam(struct ops *o, struct ops_array w, struct ops_array m, struct ops_array v,
              struct ops_array gradient, int64_t n, const struct ops_adamw *h)
{
    struct adam a = adam_of(w, m, v, gradient, h);
    pool_for(o->pool, n, GRAIN, adam_part, &a);
}

/* ---- y = y_scale y + x_scale x --------------------------------------------------------------- */

struct blend {
    float *y;
    const float *x;
    float y_scale, x_scale;
};

static void blend_part(void *ctx, int64_t begin, int64_t end, int)
{
    const struct blend b = *(struct blend *)ctx;
    for (int64_t i = begin; i < end; i++)
        b.y[i] = b.y_scale * b.y[i] + b.x_scale * b.x[i];
}

void cpu_blend(struct ops *o, struct ops_array y, double y_scale, struct ops_array x,
               double x_scale, int64_t n)
{
    pool_for(o->pool, n, GRAIN, blend_part,
             &(struct blend){ cpu_floats(y), cpu_floats(x), (float)y_scale, (float)x_scale });
}

/* ---- LAMB ------------------------------------------------------------------------------------ */

static void direction_part(void *ctx, int64_t begin, int64_t end, int)
{
    const struct adam *a = ctx;
    const struct ops_adamw h = *a->h;
    for (int64_t i = begin; i < end; i++) {
        float g = (float)h.gradient_scale * a->gradient[i];
        a->gradient[i] = adam_step(&a->m[i], &a->v[i], g, &h) + (float)h.decay * a->w[i];
    }
}

void cpu_lamb_begin(struct ops *o, struct ops_array squares, struct ops_array w, struct ops_array m,
                    struct ops_array v, struct ops_array gradient, int64_t n,
                    const struct ops_adamw *h)
{
    struct adam a = adam_of(w, m, v, gradient, h);
    double *sums = (double *)(void *)squares.address;
    pool_for(o->pool, n, GRAIN, direction_part, &a);
    sums[0] = cpu_squares(o, w, n);
    sums[1] = cpu_squares(o, gradient, n);
}

void cpu_lamb_end(struct ops *o, struct ops_array w, struct ops_array x, struct ops_array squares,
                  int64_t n, const struct ops_adamw *h)
{
    const double *sums = (const double *)(void *)squares.address;
    const double ratio = sums[0] > 0 && sums[1] > 0 ? sqrt(sums[0]) / sqrt(sums[1]) : 1;
    cpu_blend(o, w, 1, x, -h->rate * ratio, n);
}

/* ---- SGD ------------------------------------------------------------------------------------- */

static void sgd_part(void *ctx, int64_t begin, int64_t end, int)
{
    const struct adam *s = ctx;
    const float rate = (float)s->h->rate, decay = (float)s->h->decay;
    const float momentum = (float)s->h->momentum, scale = (float)s->h->gradient_scale;
    for (int64_t i = begin; i < end; i++) {
        float g = scale * s->gradient[i] + decay * s->w[i];
        if (s->m)
            g = s->m[i] = momentum * s->m[i] + g;
        s->w[i] -= rate * g;
    }
}

void cpu_sgd(struct ops *o, struct ops_array w, struct ops_array a, struct ops_array gradient,
             int64_t n, const struct ops_adamw *h)
{
    struct adam s = adam_of(w, a, OPS_NONE, gradient, h);
    pool_for(o->pool, n, GRAIN, sgd_part, &s);
}

/* ---- AdamW and state in bf16 ----------------------------------------------------------------- */

struct rounding {
    const struct kernels *k;
    struct ops_state y;
    const float *x;
    uint64_t first;
};

/* Rounds x[n] to bf16 and writes it to elements [at, at + n) of y. `first` is the index of the
 * first element for the random numbers. */
static void round_state(const struct kernels *k, struct ops_state y, int64_t at, const float *x,
                        int64_t n, uint64_t first)
{
    uint16_t *to = (uint16_t *)(void *)ops_part(y.at, at).address;
    k->round_bf16(to, x, n, y.key, first);
}

static void round_part(void *ctx, int64_t begin, int64_t end, int)
{
    const struct rounding *r = ctx;
    round_state(r->k, r->y, begin, r->x + begin, end - begin, r->first + (uint64_t)begin);
}

void cpu_round(struct ops *o, struct ops_state y, struct ops_array x, int64_t n, uint64_t first)
{
    pool_for(o->pool, n, GRAIN, round_part, &(struct rounding){ o->k, y, cpu_floats(x), first });
}

struct adamw {
    const struct kernels *k;
    const struct ops_state *state;
    const float *gradient;
    const struct ops_adamw *h;
};

/* Updates elements [first, first + n); n <= STATE_PIECE. */
static void adamw_piece(const struct adamw *a, int64_t first, int64_t n)
{
    float floats[OPS_STATES][STATE_PIECE], *at[OPS_STATES];
    for (int i = 0; i < OPS_STATES; i++) {
        struct ops_array kept = ops_part(a->state[i].at, first);
        int half = kept.type == OPS_BF16;
        at[i] = half ? floats[i] : cpu_floats(kept);
        if (half)
            a->k->copy(cpu_f32(at[i]), kept, n);
    }
    a->k->adamw(at[OPS_W], at[OPS_M], at[OPS_V], a->gradient + first, n, a->h);
    for (int i = 0; i < OPS_STATES; i++)
        if (a->state[i].at.type == OPS_BF16)
            round_state(a->k, a->state[i], first, at[i], n, (uint64_t)first);
}

static void adamw_part(void *ctx, int64_t begin, int64_t end, int)
{
    for (int64_t i = begin; i < end; i += STATE_PIECE)
        adamw_piece(ctx, i, end - i < STATE_PIECE ? end - i : STATE_PIECE);
}

void cpu_adamw(struct ops *o, const struct ops_state state[OPS_STATES], struct ops_array gradient,
               int64_t n, const struct ops_adamw *h)
{
    struct adamw a = { o->k, state, cpu_floats(gradient), h };
    pool_for(o->pool, n, GRAIN, adamw_part, &a);
}
