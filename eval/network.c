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
    n->forward = (struct forward){ .model = &n->model,
                                   .ops = n->ops,
                                   .blocks = n->parameters.blocks };
    const struct model_config *c = &n->model.config;
    n->rows = rows > c->positions ? rows : c->positions;
    return 0;
}

void network_close(struct network *n)
{
    if (!n->ops)
        return;
    inputs_release(&n->inputs, n->ops);
    forward_release(&n->forward);
    parameters_release(&n->parameters, &n->model, n->ops);
    ops_free(n->ops);
    *n = (struct network){ 0 };
}

struct ops_array network_run(struct network *n, const struct batch *b)
{
    inputs_set(&n->inputs, n->ops, &n->model, b);
    return forward_layers(&n->forward, &n->inputs);
}
