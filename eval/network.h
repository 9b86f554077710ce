/*
 * network.h - a model loaded from its folder, to be run forward over batches.
 *
 *     struct network n;
 *     network_open(&n, "model", HEAD_NEXT, "cpu", threads, OPS_F32, 4096);
 *     struct ops_array x = network_run(&n, &batch);    the last layer's output
 *     network_close(&n);
 */
#ifndef TEXTMILL_EVAL_NETWORK_H
#define TEXTMILL_EVAL_NETWORK_H

#include <stdint.h>

#include "model/forward.h"
#include "model/parameters.h"

struct network {
    struct ops *ops;
    struct model model;
    struct parameters parameters;
    struct forward forward;
    int64_t rows;         /* most tokens of a batch */
    struct inputs inputs; /* of the last batch */
};

/* Loads the model folder `dir`, whose model gets `head`, onto a device (ops_open), with
 * `weights` as parameters.h has them. `rows` is raised
 * to hold one sequence of full length. */
int network_open(struct network *n, const char *dir, enum model_head head, const char *device,
                 int threads, enum ops_type weights, int64_t rows);
void network_close(struct network *n); /* fine on a zeroed one */

/* The output of the last layer [rows of b,C], valid until the next run. b has at most `rows` real
 * tokens, and no more than the model has positions in a sequence. */
struct ops_array network_run(struct network *n, const struct batch *b);

#endif
