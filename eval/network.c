#include "eval/network.h"

#include "common/base/least.h"

int network_open(struct network *n, const char *dir, enum model_head head, const char *device,
                 int threads, enum ops_type weights, int64_t batch)
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
    n->batch = batch;
    n->rows = larger(batch, n->model.config.positions);
    return 0;
}

void network_close(struct network *n)
{
    if (!n->ops)
        return;
    inputs_release(&n->inputs, n->ops);
    free(n->ids);
    free(n->segments);
    free(n->lengths);
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

size_t network_run_rows(struct network *n, struct ops_array *x, int64_t T, network_row *row,
                        const void *source, size_t first, size_t end)
{
    int64_t tokens = 0;
    size_t i = first;
    for (; i < end; i++) {
        const size_t k = i - first, at = k * (size_t)T;
        mem_grow(n->ids, n->ids_cap, at + (size_t)T);
        mem_grow(n->segments, n->segments_cap, at + (size_t)T);
        mem_grow(n->lengths, n->lengths_cap, k + 1);
        n->lengths[k] = row(source, i, n->ids + at, n->segments + at);
        tokens += n->lengths[k];
        if (tokens > n->batch && i > first)
            break;
    }
    const struct batch b = { .B = (int64_t)(i - first),
                             .T = T,
                             .ids = n->ids,
                             .segments = n->segments,
                             .lengths = n->lengths };
    *x = network_run(n, &b);
    return i;
}
