/* gpt COMMAND DIR ...: runs a GPT of model/ for tests/peers/model.py.
 *
 *   gpt logits DIR IDS OUT      reads u32 IDS (one sequence), writes f32 logits [T,V] to OUT
 *   gpt gradients DIR IDS B T OUT  reads B*(T+1) u32, writes the mean loss and the gradients of all
 *                               tensors, in table order, as f32 to OUT
 *   gpt create DIR L C NH P V SEED  saves a model with initial weights
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/files/file.h"
#include "model/compute/ops_update.h"
#include "model/folder/folder.h"
#include "model/network/embedding.h"
#include "model/network/forward.h"
#include "model/network/layer.h"
#include "tests/unit/cache.h"
#include "tests/unit/save_model.h"

struct net {
    struct ops *o;
    struct model m;
    struct ops_array *w;
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Writes the logits of one sequence. */
static int logits(struct net *n, const char *ids_path, const char *out_path)
{
    struct buf ids = BUF_INIT;
    if (file_read(ids_path, &ids) < 0)
        return -1;
    const struct model_config *c = &n->m.config;
    int64_t T = (int64_t)ids.len / 4, V = c->vocabulary;
    struct batch b = { .B = 1, .T = T, .ids = (const uint32_t *)(const void *)ids.data };
    struct ops_array out = ops_buffer(n->o, OPS_F32, T * V);
    struct inputs in = { 0 };
    inputs_set(&in, n->o, &n->m, &b);
    struct forward f = { .model = &n->m, .ops = n->o, .blocks = n->w };
    forward_logits(&f, out, forward_layers(&f, &in), T);
    float *floats = ops_map(n->o, out, T * V);
    int failed = file_write(out_path, floats, (size_t)(T * V) * sizeof *floats);
    ops_unmap(n->o, out, T * V, floats);
    inputs_release(&in, n->o);
    ops_buffer_free(n->o, out);
    forward_release(&f);
    buf_release(&ids);
    return failed;
}

static void write_gradients(const struct net *n, const struct ops_array *g, float loss,
                            struct buf *out)
{
    buf_add(out, &loss, sizeof loss);
    for (size_t i = 0; i < n->m.tensors.count; i++) {
        const struct tensor *row = &n->m.tensors.rows[i];
        const int64_t size = tensor_elements(row);
        struct ops_array d = ops_part(g[row->block], row->offset);
        float *floats = ops_map(n->o, d, size);
        buf_add(out, floats, (size_t)size * sizeof *floats);
        ops_unmap(n->o, d, size, floats);
    }
}

static struct ops_array *zero_blocks(struct net *n)
{
    struct ops_array *g = mem_zalloc((size_t)n->m.tensors.blocks, sizeof *g);
    for (int b = 0; b < n->m.tensors.blocks; b++)
        g[b] = ops_buffer(n->o, OPS_F32, n->m.tensors.block_size[b]);
    return g;
}

static double sum_of(struct ops *o, struct ops_array losses, int64_t n)
{
    double total;
    struct ops_array sum = ops_buffer(o, OPS_F64, 1);
    ops_add_sum(o, sum, losses, n);
    ops_download(o, &total, sum, 1);
    ops_buffer_free(o, sum);
    return total;
}

static float forward_backward(struct net *n, struct ops_array *g, const struct batch *b)
{
    const struct model *m = &n->m;
    int64_t L = m->config.layers, N = b->B * b->T, C = m->config.width;
    int64_t size = layer_cache(m, b->B, b->T, NULL);
    struct ops_array x = ops_buffer(n->o, OPS_F32, (L + 1) * N * C);
    struct ops_array cache = ops_buffer(n->o, OPS_F32, larger(L, 1) * size);
    struct ops_array dx = ops_buffer(n->o, OPS_F32, N * C);
    struct ops_scores out = { .losses = ops_buffer(n->o, OPS_F32, N) };
    struct inputs in = { 0 };
    inputs_set(&in, n->o, m, b);
    embedding_fwd(m, n->o, x, n->w[0], &in);
    for (int64_t l = 0; l < L; l++)
        layer_fwd(m, n->o, l, ops_part(x, (l + 1) * N * C), ops_part(x, l * N * C), n->w[l + 1],
                  cache_in(m, ops_part(cache, l * size), b->B, b->T), &in);
    m->head(m, n->o,
            &(struct head_pass){ out, ops_part(x, L * N * C), n->w[L + 1], n->w[0], &in, dx,
                                 ops_set(g[L + 1]), ops_set(g[0]), 1.0 / (double)N });
    for (int64_t l = L; l-- > 0;)
        layer_bwd(m, n->o, l, dx, ops_set(g[l + 1]), ops_part(x, l * N * C), n->w[l + 1],
                  cache_in(m, ops_part(cache, l * size), b->B, b->T), &in);
    embedding_bwd(m, n->o, ops_set(g[0]), dx, n->w[0], &in);
    double loss = sum_of(n->o, out.losses, N);
    inputs_release(&in, n->o);
    ops_buffer_free(n->o, out.losses);
    ops_buffer_free(n->o, x);
    ops_buffer_free(n->o, cache);
    ops_buffer_free(n->o, dx);
    return (float)(loss / (double)N);
}

static int gradients(struct net *n, const char *ids_path, int64_t B, int64_t T,
                     const char *out_path)
{
    struct buf file = BUF_INIT, out = BUF_INIT;
    if (file_read(ids_path, &file) < 0)
        return -1;
    if ((int64_t)file.len != 4 * B * (T + 1))
        return err_set("%s: %zu bytes, not B*(T+1) ids", ids_path, file.len);
    uint32_t *ids = mem_alloc((size_t)(B * T) * sizeof *ids);
    int32_t *labels = mem_alloc((size_t)(B * T) * sizeof *labels);
    for (int64_t i = 0; i < B; i++) {
        memcpy(ids + i * T, file.data + 4 * i * (T + 1), (size_t)T * 4);
        memcpy(labels + i * T, file.data + 4 * (i * (T + 1) + 1), (size_t)T * 4);
    }
    struct ops_array *g = zero_blocks(n);
    struct batch b = { .B = B, .T = T, .ids = ids, .labels = labels };
    write_gradients(n, g, forward_backward(n, g, &b), &out);
    int failed = file_write(out_path, out.data, out.len);
    folder_free_blocks(&n->m, n->o, g);
    free(ids);
    free(labels);
    buf_release(&out);
    buf_release(&file);
    return failed;
}

static int create(struct net *n, const char *dir, char **argv)
{
    struct model_config c = { .layers = atoll(argv[0]),
                              .width = atoll(argv[1]),
                              .heads = atoll(argv[2]),
                              .positions = atoll(argv[3]),
                              .vocabulary = atoll(argv[4]),
                              .epsilon = 1e-5,
                              .init_std = 0.2 };
    c.inner = 4 * c.width;
    if (model_init(&n->m, &c) < 0)
        return -1;
    n->w = zero_blocks(n);
    for (size_t i = 0; i < n->m.tensors.count; i++) {
        const struct tensor *row = &n->m.tensors.rows[i];
        const int64_t size = tensor_elements(row);
        struct ops_array w = ops_part(n->w[row->block], row->offset);
        float *floats = ops_map(n->o, w, size);
        tensor_initialise(row, (uint64_t)atoll(argv[5]), 0, tensor_elements(row), floats);
        ops_unmap(n->o, w, size, floats);
    }
    return save_whole_model(&n->m, n->o, n->w, dir, c.vocabulary - 1);
}

int main(int argc, char **argv)
{
    struct net n = { .o = ops_open("cpu", 2) };
    int failed = n.o ? 0 : -1;
    if (failed == 0 && argc == 9 && !strcmp(argv[1], "create"))
        failed = create(&n, argv[2], argv + 3);
    else if (failed == 0 && argc == 5 && !strcmp(argv[1], "logits"))
        failed = folder_load(&n.m, n.o, &n.w, argv[2], HEAD_NEXT, 0, NULL) < 0 ||
                 logits(&n, argv[3], argv[4]) < 0;
    else if (failed == 0 && argc == 7 && !strcmp(argv[1], "gradients"))
        failed = folder_load(&n.m, n.o, &n.w, argv[2], HEAD_NEXT, 0, NULL) < 0 ||
                 gradients(&n, argv[3], atoll(argv[4]), atoll(argv[5]), argv[6]) < 0;
    else if (failed == 0)
        failed = err_set("usage: see the head of gpt.c");
    if (failed)
        fprintf(stderr, "gpt: %s\n", err_get());
    folder_free_blocks(&n.m, n.o, n.w);
    model_release(&n.m);
    ops_free(n.o);
    return failed ? 1 : 0;
}
