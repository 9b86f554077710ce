/*
 * tensor.h - the tensor table: the tensors of a model, one row each.
 *
 * Sizes, offsets, the layout of checkpoints, the choice of tensors with weight decay, parallel
 * shards and the memory plan all derive from the table. Rows are grouped in blocks: 0 the
 * embedding, 1..L the layers, L+1 the head. Layers have equal rows, except that the first or the
 * last one may lack or add a norm (ModernBERT). Within a block, tensors follow each other in row
 * order, each at a multiple of TENSOR_ALIGN floats.
 */
#pragma once

#include "common/base/base.h"

enum { TENSOR_ALIGN = 16, TENSOR_RANK = 2, TENSOR_NAME = 64 };

enum tensor_init { INIT_ZERO, INIT_ONE, INIT_NORMAL };

struct tensor {
    char name[TENSOR_NAME]; /* the name in Hugging Face's model.safetensors */
    int rank;
    int64_t shape[TENSOR_RANK]; /* row-major */
    enum tensor_init init;
    float std;      /* standard deviation for INIT_NORMAL */
    int maps;       /* number of matrices side by side in the columns: 3 for queries, keys and
                     * values; else 1 */
    int across;     /* the axis of the residual stream's channels (split.h); -1: none */
    int biased;     /* 1: the next row is its bias, with the same name except for the end ".bias" */
    int precious;   /* 1: rounding it costs more quality than rounding others (layer.c) */
    int transposed; /* 1: files hold the transpose, [shape[1],shape[0]] */
    int block;
    int64_t offset; /* in floats, from the start of the block */
};

struct tensor_table {
    struct tensor *rows;
    size_t count, cap;
    int blocks;
    int64_t *block_size; /* [blocks] floats in each block, with padding */
    size_t *first;       /* [blocks + 1] the row with which each block begins, and `count` */
};

/* Begins the next block, which may stay empty. Does nothing if the block has begun. */
void tensor_block(struct tensor_table *t, int block);

/* Adds a row to the last block or the next one. `columns` is 0 for a tensor of rank 1. */
void tensor_add(struct tensor_table *t, int block, const char *name, int64_t rows, int64_t columns,
                enum tensor_init init, float std);
void tensor_release(struct tensor_table *t);

int64_t tensor_elements(const struct tensor *row); /* numbers in a tensor */

/* Returns the number of numbers in all tensors, without padding. */
int64_t tensor_parameters(const struct tensor_table *t);

/* Returns the row of the tensor called `name`, or NULL if there is none. */
const struct tensor *tensor_find(const struct tensor_table *t, const char *name);

/* Fills out[n] with the initial values of the tensor's elements `first` to first + n - 1. They
 * depend only on the seed and the tensor's name, not on the order of calls or the number of
 * threads. */
void tensor_initialise(const struct tensor *row, uint64_t seed, int64_t first, int64_t n,
                       float *out);
