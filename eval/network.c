#include "eval/network.h"

int network_open(struct network *n, const char *dir, enum model_head head, const char *device,
                 int threads, enum ops_type weights, int64_t rows)
{
    *n = (struct network){ .ops = ops_open(device, threads) };
    if (!n->ops || parameters_load(&n->parameters, &n->model, n->ops, dir, head, weights) < 0) {
        ops_free(n->ops);
        *n = (struct network){ 0 };
        return -1;
    }
    n->forward = (struct forward){ &n->model, n->ops, n->parameters.blocks };
    const struct model_config *c = &n->model.config;
    n->rows = rows > c->positions ? rows : c->positions;
    return 0;
}

static void free_room(struct network *n)
{
    ops_buffer_free(n->ops, n->x, n->room * n->model.config.width);
    ops_buffer_free(n->ops, n->y, n->room * n->model.config.width);
}

void network_close(struct network *n)
{
    if (!n->ops)
        return;
    inputs_release(&n->inputs, n->ops);
    free_room(n);
    parameters_release(&n->parameters, &n->model, n->ops);
    ops_free(n->ops);
    *n = (struct network){ 0 };
}

/* A model may have many more positions than a text has tokens. */
static void reserve(struct network *n, int64_t tokens)
{
    if (tokens <= n->room)
        return;
    free_room(n);
    n->room = tokens;
    n->x = ops_buffer(n->ops, OPS_F32, tokens * n->model.config.width);
    n->y = ops_buffer(n->ops, OPS_F32, tokens * n->model.config.width);
}

struct ops_array network_run(struct network *n, const struct batch *b)
{
    inputs_set(&n->inputs, n->ops, &n->model, b);
    reserve(n, n->inputs.N);
    return forward_layers(&n->forward, n->x, n->y, &n->inputs);
}
