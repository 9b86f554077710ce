/*
 * network.h - a model loaded from its folder, which runs forward over batches.
 *
 *     struct network n;
 *     network_open(&n, "model", HEAD_NEXT, "cpu", threads, OPS_F32, 4096);
 *     struct ops_array x = network_run(&n, &batch);    the last layer's output
 *     network_close(&n);
 */
#pragma once

#include <stdint.h>

#include "model/folder/parameters.h"
#include "model/network/forward.h"

struct network {
    struct ops *ops;
    struct model model;
    struct parameters parameters;
    struct forward forward;
    int64_t rows;         /* the most tokens in a batch */
    struct inputs inputs; /* the last batch on the device */
};

/* Loads the model folder `dir` with the head `head` onto a device (ops_open). `weights` is the type
 * of the stored weights (parameters.h). `rows` is the most tokens in a batch; it is raised to hold
 * at least one sequence of full length. Returns 0, or -1 with an error. */
int network_open(struct network *n, const char *dir, enum model_head head, const char *device,
                 int threads, enum ops_type weights, int64_t rows);
void network_close(struct network *n); /* does nothing for a zeroed struct */

/* Runs a batch and returns the output of the last layer, one row of C numbers for each token that
 * is not padding; it is valid until the next run. b must have at most n->rows such tokens, and
 * sequences no longer than the model's positions. */
struct ops_array network_run(struct network *n, const struct batch *b);
