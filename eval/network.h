/*
 * network.h - a model loaded from its folder, which runs forward over batches.
 *
 *     struct network n;
 *     network_open(&n, "model", HEAD_NEXT, "cpu", threads, OPS_F32, 4096);
 *     struct ops_array x = network_run(&n, &batch);    the last layer's output
 *     network_close(&n);
 */
#pragma once

#include "model/folder/parameters.h"
#include "model/network/forward.h"

struct network {
    struct ops *ops;
    struct model model;
    struct parameters parameters;
    struct forward forward;
    int64_t batch;        /* the most tokens in a batch of several sequences */
    int64_t rows;         /* the most tokens in any batch: one sequence may be longer */
    struct inputs inputs; /* the last batch on the device */
    /* the last batch of network_run_rows, in memory that is reused */
    uint32_t *ids, *segments; /* [rows of a batch,T] */
    int64_t *lengths;
    size_t ids_cap, segments_cap, lengths_cap;
};

/* Loads the model folder `dir` with the head `head` onto a device (ops_open). `weights` is the type
 * of the stored weights (parameters.h). `batch` is the most tokens in a batch of several sequences.
 * Returns 0, or -1 with an error. */
int network_open(struct network *n, const char *dir, enum model_head head, const char *device,
                 int threads, enum ops_type weights, int64_t batch);
void network_close(struct network *n); /* does nothing for a zeroed struct */

/* Runs a batch and returns the output of the last layer, one row of C numbers for each token that
 * is not padding; it is valid until the next run. b must have at most n->rows such tokens, and
 * sequences no longer than the model's positions. */
struct ops_array network_run(struct network *n, const struct batch *b);

/* Writes row i of `source` to ids[] and segments[], each with room for T. Returns its number of
 * tokens. */
typedef uint32_t network_row(const void *source, size_t i, uint32_t *ids, uint32_t *segments);

/* Runs rows of `source` through an encoder: from `first` on, before `end`, as many as fit a batch;
 * padding costs no time. Sets *x to the output of the last layer, and n->lengths to the rows'
 * numbers of tokens. Returns the number of the first row that is not in the batch. */
size_t network_run_rows(struct network *n, struct ops_array *x, int64_t T, network_row *row,
                        const void *source, size_t first, size_t end);
