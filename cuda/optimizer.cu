/* optimizer.cu - the optimizers: one pass over the state. AdamW and the rounding of state give the
 * same bits as on the host: MULTIPLY_ADD is used wherever the host fuses a product and a sum. */
#include "cuda/kernel.h"

enum { THREADS = 256, EACH = 4, RANDOM = 4 };

struct state {
    struct view at;
    uint64_t key;
};

struct adam {
    struct state state[OPS_STATES];
    float *gradient;
    int64_t n;
    uint64_t first; /* index of the first element, for random rounding */
    float beta1, rest1, beta2, rest2, gradient_scale, epsilon, m_correction, v_correction;
    float rate, momentum, decay, step, shrink; /* step: rate * m_correction; shrink: rate * decay */
};

static inline struct adam adam_of(struct ops_array w, struct ops_array m, struct ops_array v,
                                  struct ops_array gradient, int64_t n, const struct ops_adamw *h)
{
    struct adam a = { 0 };
    const struct ops_array state[OPS_STATES] = { w, m, v };
    for (int i = 0; i < OPS_STATES; i++)
        a.state[i].at = view_of(state[i]);
    a.gradient = floats(view_of(gradient));
    a.n = n;
    a.beta1 = (float)h->beta1;
    a.rest1 = (float)(1 - h->beta1);
    a.beta2 = (float)h->beta2;
    a.rest2 = (float)(1 - h->beta2);
    a.gradient_scale = (float)h->gradient_scale;
    a.epsilon = (float)h->epsilon;
    a.m_correction = (float)h->m_correction;
    a.v_correction = (float)h->v_correction;
    a.rate = (float)h->rate;
    a.momentum = (float)h->momentum;
    a.decay = (float)h->decay;
    a.step = (float)(h->rate * h->m_correction);
    a.shrink = (float)(h->rate * h->decay);
    return a;
}

static inline int64_t blocks_of(int64_t n)
{
    return div_up(n, THREADS * EACH);
}

/* A thread's first element, and the end of its block's elements. A thread's elements are THREADS
 * apart: threads beside each other access elements beside each other. */
#define FIRST  ((int64_t)blockIdx.x * THREADS * EACH + threadIdx.x)
#define END(n) least(n, (int64_t)(blockIdx.x + 1) * THREADS * EACH)

/* ---- AdamW, and state as it is kept ------------------------------------------------------- */

DEVICE void put_state(const struct adam *a, int state, int64_t i, float x)
{
    const struct state *s = &a->state[state];
    const uint64_t element = a->first + (uint64_t)i;
    if (s->at.type == OPS_BF16) {
        const uint64_t random = rng_at(s->key, element / RANDOM) >> 16 * (element % RANDOM);
        ((uint16_t *)s->at.at)[i] = round_by(x, (uint32_t)random & 0xffff);
    } else {
        ((float *)s->at.at)[i] = x;
    }
}

KERNEL(adamw, adam, THREADS)
{
    for (int64_t i = FIRST; i < END(a.n); i += THREADS) {
        float w = get(a.state[OPS_W].at, i), m = get(a.state[OPS_M].at, i);
        float v = get(a.state[OPS_V].at, i), g = MULTIPLY(a.gradient[i], a.gradient_scale);
        m = MULTIPLY_ADD(m, a.beta1, MULTIPLY(g, a.rest1));
        v = MULTIPLY_ADD(v, a.beta2, MULTIPLY(MULTIPLY(g, g), a.rest2));
        float under = ADD(sqrtf(MULTIPLY(v, a.v_correction)), a.epsilon);
        w = ADD(w, -MULTIPLY_ADD(w, a.shrink, MULTIPLY(m, a.step) / under));
        put_state(&a, OPS_W, i, w);
        put_state(&a, OPS_M, i, m);
        put_state(&a, OPS_V, i, v);
    }
}

EXTERN_C void cuda_adamw(struct ops *o, const struct ops_state *state, struct ops_array gradient,
                         int64_t n, const struct ops_adamw *h)
{
    struct adam a = adam_of(state[OPS_W].at, state[OPS_M].at, state[OPS_V].at, gradient, n, h);
    for (int i = 0; i < OPS_STATES; i++)
        a.state[i].key = state[i].key;
    LAUNCH(o, adamw, blocks_of(n), 1, THREADS, 0, a);
}

KERNEL(round_state, adam, THREADS)
{
    for (int64_t i = FIRST; i < END(a.n); i += THREADS)
        put_state(&a, OPS_W, i, a.gradient[i]);
}

EXTERN_C void cuda_round(struct ops *o, struct ops_state y, struct ops_array x, int64_t n,
                         uint64_t first)
{
    static const struct ops_adamw none = { 0 };
    struct adam a = adam_of(y.at, OPS_NONE, OPS_NONE, x, n, &none);
    a.state[0].key = y.key;
    a.first = first;
    LAUNCH(o, round_state, blocks_of(n), 1, THREADS, 0, a);
}

/* ---- Adam, SGD ---------------------------------------------------------------------------- */

/* Updates the moments of element i with the gradient g and returns Adam's step. */
DEVICE float adam_step(const struct adam *a, int64_t i, float g)
{
    float *m = floats(a->state[OPS_M].at) + i, *v = floats(a->state[OPS_V].at) + i;
    *m = a->beta1 * *m + a->rest1 * g;
    *v = a->beta2 * *v + a->rest2 * g * g;
    return *m * a->m_correction / (sqrtf(*v * a->v_correction) + a->epsilon);
}

KERNEL(adam_l2, adam, THREADS)
{
    float *w = floats(a.state[OPS_W].at);
    for (int64_t i = FIRST; i < END(a.n); i += THREADS)
        w[i] -= a.rate * adam_step(&a, i, a.gradient_scale * a.gradient[i] + a.decay * w[i]);
}

EXTERN_C void cuda_adam(struct ops *o, struct ops_array w, struct ops_array m, struct ops_array v,
                        struct ops_array gradient, int64_t n, const struct ops_adamw *h)
{
    struct adam a = adam_of(w, m, v, gradient, n, h);
    LAUNCH(o, adam_l2, blocks_of(n), 1, THREADS, 0, a);
}

KERNEL(sgd_step, adam, THREADS)
{
    float *w = floats(a.state[OPS_W].at), *m = floats(a.state[OPS_M].at);
    for (int64_t i = FIRST; i < END(a.n); i += THREADS) {
        float g = a.gradient_scale * a.gradient[i] + a.decay * w[i];
        if (m)
            g = m[i] = a.momentum * m[i] + g;
        w[i] -= a.rate * g;
    }
}

EXTERN_C void cuda_sgd(struct ops *o, struct ops_array w, struct ops_array a,
                       struct ops_array gradient, int64_t n, const struct ops_adamw *h)
{
    struct adam s = adam_of(w, a, OPS_NONE, gradient, n, h);
    LAUNCH(o, sgd_step, blocks_of(n), 1, THREADS, 0, s);
}

/* ---- LAMB --------------------------------------------------------------------------------- */

KERNEL(lamb_direction, adam, THREADS)
{
    const float *w = floats(a.state[OPS_W].at);
    for (int64_t i = FIRST; i < END(a.n); i += THREADS)
        a.gradient[i] = adam_step(&a, i, a.gradient_scale * a.gradient[i]) + a.decay * w[i];
}

struct lamb {
    float *w;
    const float *x;
    const double *squares; /* the sums of the squares of w and x */
    int64_t n;
    double rate;
};

KERNEL(lamb_step, lamb, THREADS)
{
    const double weight = a.squares[0], step = a.squares[1];
    const double ratio = weight > 0 && step > 0 ? sqrt(weight) / sqrt(step) : 1;
    for (int64_t i = FIRST; i < END(a.n); i += THREADS)
        a.w[i] -= (float)(a.rate * ratio) * a.x[i];
}

EXTERN_C void cuda_lamb_begin(struct ops *o, struct ops_array squares, struct ops_array w,
                              struct ops_array m, struct ops_array v, struct ops_array gradient,
                              int64_t n, const struct ops_adamw *h)
{
    struct adam a = adam_of(w, m, v, gradient, n, h);
    LAUNCH(o, lamb_direction, blocks_of(n), 1, THREADS, 0, a);
    cuda_all_squares(o, squares, w, n);
    cuda_all_squares(o, ops_part(squares, 1), gradient, n);
}

EXTERN_C void cuda_lamb_end(struct ops *o, struct ops_array w, struct ops_array x,
                            struct ops_array squares, int64_t n, const struct ops_adamw *h)
{
    struct lamb l;
    l.w = floats(view_of(w));
    l.x = floats(view_of(x));
    l.squares = (const double *)view_of(squares).at;
    l.n = n;
    l.rate = h->rate;
    LAUNCH(o, lamb_step, blocks_of(n), 1, THREADS, 0, l);
}

/* ---- Muon --------------------------------------------------------------------------------- */

struct normalise {
    float *x;
    const double *square;
    int64_t n;
};

KERNEL(normalise, normalise, THREADS)
{
    const float factor = (float)(1 / fmax(sqrt(*a.square), 1e-30));
    for (int64_t i = FIRST; i < END(a.n); i += THREADS)
        a.x[i] *= factor;
}

EXTERN_C void cuda_normalise(struct ops *o, struct ops_array x, int64_t n)
{
    struct normalise s;
    struct ops_array square = cuda_room(o, ROOM_NORM, OPS_F64, 1);
    cuda_all_squares(o, square, x, n);
    s.x = floats(view_of(x));
    s.square = (const double *)view_of(square).at;
    s.n = n;
    LAUNCH(o, normalise, blocks_of(n), 1, THREADS, 0, s);
}
