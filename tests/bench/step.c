/* step B T [ITERATIONS [LAYERS WIDTH HEADS VOCABULARY DROPOUT]]: times the forward pass, the
 * backward pass and AdamW of GPT-2 small (by default) on random tokens, and in the same process the
 * speed of plain matrix products. PRECISION=bf16 in the environment selects bf16. Prints key=value
 * lines; times are medians. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/pool.h"
#include "common/base/rng.h"
#include "model/compute/ops_update.h"
#include "model/network/embedding.h"
#include "model/network/layer.h"
#include "model/network/model.h"
#include "tests/unit/cache.h"

struct run {
    struct model m;
    struct ops *o;
    struct batch b;
    struct inputs in;
    struct ops_scores scores;
    struct ops_array *w, *g, *m1, *m2, *cache, *x, dx, sum;
};

static double seconds[4]; /* forward, head, backward, optimizer of the last step */

static struct ops_array *blocks(struct run *r)
{
    const struct tensor_table *t = &r->m.tensors;
    struct ops_array *p = mem_zalloc((size_t)t->blocks, sizeof *p);
    for (int i = 0; i < t->blocks; i++)
        p[i] = ops_buffer(r->o, OPS_F32, t->block_size[i]);
    return p;
}

static void set_up(struct run *r)
{
    const struct model_config *c = &r->m.config;
    int64_t N = r->b.B * r->b.T;
    r->w = blocks(r);
    r->g = blocks(r);
    r->m1 = blocks(r);
    r->m2 = blocks(r);
    for (size_t i = 0; i < r->m.tensors.count; i++) {
        const struct tensor *row = &r->m.tensors.rows[i];
        const int64_t n = tensor_elements(row);
        struct ops_array w = ops_part(r->w[row->block], row->offset);
        float *floats = ops_map(r->o, w, n);
        tensor_initialise(row, 1, 0, tensor_elements(row), floats);
        ops_unmap(r->o, w, n, floats);
    }
    r->cache = mem_zalloc((size_t)c->layers, sizeof *r->cache);
    r->x = mem_zalloc((size_t)c->layers + 1, sizeof *r->x);
    for (int64_t l = 0; l <= c->layers; l++)
        r->x[l] = ops_buffer(r->o, OPS_F32, N * c->width);
    for (int64_t l = 0; l < c->layers; l++)
        r->cache[l] = ops_buffer(r->o, OPS_F32, layer_cache(&r->m, r->b.B, r->b.T, NULL));
    r->dx = ops_buffer(r->o, OPS_F32, N * c->width);
    uint32_t *ids = mem_zalloc((size_t)N, sizeof *ids);
    int32_t *labels = mem_zalloc((size_t)N, sizeof *labels);
    for (int64_t i = 0; i < N; i++) {
        ids[i] = (uint32_t)(rng_at(1, (uint64_t)i) % (uint64_t)c->vocabulary);
        labels[i] = (int32_t)(rng_at(1, (uint64_t)i + 1) % (uint64_t)c->vocabulary);
    }
    r->b.ids = ids;
    r->b.labels = labels;
    r->sum = ops_buffer(r->o, OPS_F64, 1);
    r->scores.losses = ops_buffer(r->o, OPS_F32, N);
    inputs_set(&r->in, r->o, &r->m, &r->b);
}

static double step(struct run *r, int t)
{
    struct model *m = &r->m;
    int64_t L = m->config.layers, N = r->b.B * r->b.T;
    double begin = log_seconds();
    embedding_fwd(m, r->o, r->x[0], r->w[0], &r->in);
    for (int64_t l = 0; l < L; l++)
        layer_fwd(m, r->o, l, r->x[l + 1], r->x[l], r->w[l + 1],
                  cache_in(m, r->cache[l], r->b.B, r->b.T), &r->in);
    double forward = log_seconds();
    m->head(m, r->o,
            &(struct head_pass){ r->scores, r->x[L], r->w[L + 1], r->w[0], &r->in, r->dx,
                                 ops_set(r->g[L + 1]), ops_set(r->g[0]), 1.0 / (double)N });
    double head = log_seconds();
    for (int64_t l = L; l-- > 0;)
        layer_bwd(m, r->o, l, r->dx, ops_set(r->g[l + 1]), r->x[l], r->w[l + 1],
                  cache_in(m, r->cache[l], r->b.B, r->b.T), &r->in);
    embedding_bwd(m, r->o, ops_set(r->g[0]), r->dx, r->w[0], &r->in);
    double backward = log_seconds();
    struct ops_adamw h = { 1e-4, 0.9, 0.999, 1e-8, 0, 1, 1, 1, 0 };
    h.m_correction = 1 / (1 - __builtin_pow(h.beta1, t));
    h.v_correction = 1 / (1 - __builtin_pow(h.beta2, t));
    for (int b = 0; b < m->tensors.blocks; b++) {
        const struct ops_state state[] = { { r->w[b], 0 }, { r->m1[b], 0 }, { r->m2[b], 0 } };
        ops_adamw(r->o, state, r->g[b], m->tensors.block_size[b], &h);
    }
    double end = log_seconds();
    seconds[0] = forward - begin;
    seconds[1] = head - forward;
    seconds[2] = backward - head;
    seconds[3] = end - backward;
    double loss = 0, *sum = ops_map(r->o, r->sum, 1);
    *sum = 0;
    ops_unmap(r->o, r->sum, 1, sum);
    ops_add_sum(r->o, r->sum, r->scores.losses, N);
    ops_download(r->o, &loss, r->sum, 1);
    return loss / (double)N;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return x[n / 2];
}

/* Returns the speed of matrix products of a size that suits them. */
static double matmul_rate(struct ops *o)
{
    enum { N = 1536, TIMES = 7 };
    struct ops_array a = ops_buffer(o, OPS_F32, N * N), b = ops_buffer(o, OPS_F32, N * N);
    struct ops_array c = ops_buffer(o, OPS_F32, N * N);
    const struct ops_matmul product = {
        .C = { c, N }, .A = { a, N }, .B = { b, N }, .M = N, .N = N, .K = N
    };
    double rate[TIMES];
    for (int i = 0; i < TIMES; i++) {
        double begin = log_seconds();
        ops_matmul(o, &product);
        rate[i] = 2.0 * N * N * N / (log_seconds() - begin);
    }
    ops_buffer_free(o, a);
    ops_buffer_free(o, b);
    ops_buffer_free(o, c);
    return median(rate, TIMES);
}

static int64_t argument(int argc, char **argv, int i, int64_t otherwise)
{
    return argc > i ? atoll(argv[i]) : otherwise;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s B T [ITERATIONS [LAYERS WIDTH HEADS VOCABULARY DROPOUT]]\n",
                argv[0]);
        return 2;
    }
    const char *threads = getenv("THREADS");
    struct run r = { .o = ops_open("cpu", threads ? atoi(threads) : pool_cpus()) };
    const char *precision = getenv("PRECISION");
    ops_set_precision(r.o, precision && !strcmp(precision, "bf16") ? OPS_BF16 : OPS_F32);
    int iterations = (int)argument(argc, argv, 3, 5);
    struct model_config c = { .layers = argument(argc, argv, 4, 12),
                              .width = argument(argc, argv, 5, 768),
                              .heads = argument(argc, argv, 6, 12),
                              .vocabulary = argument(argc, argv, 7, 50257),
                              .epsilon = 1e-5,
                              .init_std = 0.02 };
    c.inner = 4 * c.width;
    r.b = (struct batch){ .B = atoll(argv[1]), .T = atoll(argv[2]), .key = 1, .dropout = 1 };
    c.positions = r.b.T < 1024 ? 1024 : r.b.T;
    c.embedding_dropout = c.attention_dropout = c.residual_dropout = argc > 8 ? atof(argv[8]) : 0;
    if (!r.o || iterations < 1 || iterations > 1000 || model_init(&r.m, &c) < 0) {
        fprintf(stderr, "%s: %s\n", argv[0], err_get());
        return 1;
    }
    set_up(&r);
    double parts[4][1000], total[1000], loss = 0;
    for (int i = -1; i < iterations; i++) { /* the first warms up */
        loss = step(&r, i + 2);
        for (int p = 0; p < 4 && i >= 0; p++)
            parts[p][i] = seconds[p];
        if (i >= 0)
            total[i] = seconds[0] + seconds[1] + seconds[2] + seconds[3];
    }
    double peak = matmul_rate(r.o), tokens = (double)(r.b.B * r.b.T);
    double time = median(total, iterations);
    double rate = model_flops_per_token(&r.m.config, r.b.T, 1) * tokens / time;
    printf("kernels=\"%s\" threads=%d B=%lld T=%lld loss=%.6f\n", ops_describe(r.o),
           ops_threads(r.o), (long long)r.b.B, (long long)r.b.T, loss);
    printf("step_ms=%.1f forward_ms=%.1f head_ms=%.1f backward_ms=%.1f optimizer_ms=%.1f\n",
           1e3 * time, 1e3 * median(parts[0], iterations), 1e3 * median(parts[1], iterations),
           1e3 * median(parts[2], iterations), 1e3 * median(parts[3], iterations));
    printf("tokens_per_s=%.0f gflop_per_s=%.0f matmul_gflop_per_s=%.0f share=%.3f\n", tokens / time,
           rate * 1e-9, peak * 1e-9, rate / peak);
    return 0;
}
