#include "eval/network.h"

static int load(struct network *n, const char *dir, enum model_kind kind)
{
    return kind == MODEL_GPT ? folder_load(&n->model, n->ops, &n->blocks, dir)
                             : folder_load_bert(&n->model, n->ops, &n->blocks, dir, kind, 0, NULL);
}

int network_open(struct network *n, const char *dir, enum model_kind kind, const char *device,
                 int threads, int64_t rows)
{
    *n = (struct network){ .ops = ops_open(device, threads) };
    if (!n->ops || load(n, dir, kind) < 0) {
        ops_free(n->ops);
        *n = (struct network){ 0 };
        return -1;
    }
    const struct model_config *c = &n->model.config;
    n->rows = rows > c->positions ? rows : c->positions;
    n->x = ops_buffer(n->ops, OPS_F32, n->rows * c->width);
    n->y = ops_buffer(n->ops, OPS_F32, n->rows * c->width);
    return 0;
}

void network_close(struct network *n)
{
    if (!n->ops)
        return;
    int64_t numbers = n->rows * n->model.config.width;
    inputs_release(&n->inputs, n->ops);
    ops_buffer_free(n->ops, n->x, numbers);
    ops_buffer_free(n->ops, n->y, numbers);
    folder_free_blocks(&n->model, n->ops, n->blocks);
    model_release(&n->model);
    ops_free(n->ops);
    *n = (struct network){ 0 };
}

struct ops_array network_run(struct network *n, const struct batch *b)
{
    const struct model *m = &n->model;
    const struct inputs *in = &n->inputs;
    inputs_set(&n->inputs, n->ops, m, b);
    m->embedding_fwd(m, n->ops, n->x, n->blocks[0], in);
    for (int64_t l = 0; l < m->config.layers; l++) {
        m->layer_fwd(m, n->ops, l, n->y, n->x, n->blocks[l + 1], (struct model_cache){ 0 }, in);
        struct ops_array swap = n->x;
        n->x = n->y;
        n->y = swap;
    }
    return n->x;
}

struct ops_array network_head(const struct network *n)
{
    return n->blocks[n->model.config.layers + 1];
}

struct ops_array network_embedding(const struct network *n)
{
    return n->blocks[0];
}
