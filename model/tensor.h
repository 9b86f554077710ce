/*
 * tensor.h - the tensor table: what a model is made of, one row a tensor.
 *
 * Sizes, offsets, checkpoint layout, decay mask, parallel shards and the memory plan all derive
 * from it. Rows are grouped in blocks (0 the embedding, 1..L the layers, L+1 the head); all
 * layers have equal rows, so that one layer's memory serves another. Within a block tensors
 * follow each other in row order, each at a multiple of TENSOR_ALIGN floats.
 */
#ifndef TEXTMILL_MODEL_TENSOR_H
#define TEXTMILL_MODEL_TENSOR_H

#include <stddef.h>
#include <stdint.h>

enum { TENSOR_ALIGN = 16, TENSOR_RANK = 2, TENSOR_NAME = 64 };

enum tensor_init { INIT_ZERO, INIT_ONE, INIT_NORMAL };

struct tensor {
    char name[TENSOR_NAME]; /* as in Hugging Face's model.safetensors */
    int rank;
    int64_t shape[TENSOR_RANK]; /* row-major */
    enum tensor_init init;
    float std;      /* of INIT_NORMAL */
    int decay;      /* 1: weight decay applies */
    int maps;       /* side by side in the columns: 3 of queries, keys and values; else 1 */
    int biased;     /* 1: the next row is its bias: of the same name, but for its end ".bias" */
    int transposed; /* 1: files hold the transpose, [shape[1],shape[0]] */
    int block;
    int64_t offset; /* in floats, from the start of the block */
    int64_t place;  /* its number in the block */
};

struct tensor_table {
    struct tensor *rows;
    size_t count, cap;
    int blocks;
    int64_t *block_size; /* floats a block, padding included; [blocks] */
};

/* Begins the next block, which may stay empty; fine if it has begun. */
void tensor_block(struct tensor_table *t, int block);

/* Adds a row to the last block or the next; shape[1] is 0 for rank 1. */
void tensor_add(struct tensor_table *t, int block, const char *name, int64_t rows, int64_t columns,
                enum tensor_init init, float std, int decay);
void tensor_release(struct tensor_table *t);

int64_t tensor_elements(const struct tensor *row);
int64_t tensor_parameters(const struct tensor_table *t); /* exact count, without padding */
const struct tensor *tensor_find(const struct tensor_table *t, const char *name); /* or NULL */

/* Initial values of one tensor into out[tensor_elements], from the seed and the tensor's name
 * alone: no order of initialisation, no number of threads matters. */
void tensor_initialise(const struct tensor *row, uint64_t seed, float *out);

#endif
