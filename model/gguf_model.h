/*
 * gguf_model.h - reads and writes a model in a GGUF file (gguf.h): its configuration as keys, its
 * tensors with llama.cpp's names and order of rows.
 *
 * GGUF stores matrices of linear maps as [out,in]. If the architecture's row says `paired`, the
 * rows of query and key matrices are in pair order: rotary positions turn two rows at a time, and
 * these two are neighbours. The rows of a head of HS are then 0, HS/2, 1, HS/2 + 1, ...
 */
#ifndef TEXTMILL_MODEL_GGUF_MODEL_H
#define TEXTMILL_MODEL_GGUF_MODEL_H

#include "common/gguf.h"
#include "model/model.h"

/* Initialises *m, with `head`, from the file's keys. Returns -1 with an error that names the key or
 * tensor that is missing, malformed or not supported. */
int gguf_model_read(struct model *m, const struct gguf *g, enum model_head head);

/* Returns the file's tensor for row `row` of the table, after checking its shape. NULL with an
 * error. */
const struct gguf_tensor *gguf_model_tensor(const struct gguf *g, const struct model *m,
                                            size_t row);
/* Returns the width of a head (HS) if the tensor's rows are in pair order in the file, else 0. */
int64_t gguf_model_paired(const struct model *m, size_t row);

/* Returns the type of ops.h whose rows (stored.h) have the tensor's byte layout, or -1 if there is
 * none: gguf_model_numbers must convert the tensor. */
int gguf_model_stored(const struct gguf_tensor *t);
/* gguf_model_numbers converts a tensor of any type to floats, out[elements]. gguf_model_check only
 * checks it. An infinite or NaN scale or number is an error that gives the position of the byte.
 * Both return 0, or -1 with an error. */
int gguf_model_numbers(const struct gguf *g, const struct gguf_tensor *t, float *out);
int gguf_model_check(const struct gguf *g, const struct gguf_tensor *t);

/* Copies `rows` rows of `bytes` bytes each and changes their order within each head of HS rows.
 * Ours: rows i and i + HS/2 are turned together. Pair order: they are rows 2i and 2i + 1. `back` 0
 * converts to pair order, 1 from it. */
void gguf_model_pair(void *to, const void *from, int64_t rows, uint64_t bytes, int64_t HS,
                     int back);

/* Adds the keys of the model's configuration to *w. Returns -1 with an error if GGUF cannot express
 * the configuration. */
int gguf_model_keys(struct gguf_writer *w, const struct model *m);
/* Sets `out` to the name of row `row` in GGUF files. */
void gguf_model_name(char out[TENSOR_NAME], const struct model *m, size_t row);

#endif
