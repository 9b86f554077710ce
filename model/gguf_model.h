/*
 * gguf_model.h - a model in a GGUF file (gguf.h): its configuration in keys, its tensors under the
 * names and in the order of rows that llama.cpp gives them.
 *
 * Matrices of linear maps are [out,in] there. Where the row of the architecture says `paired`, rows
 * of queries and keys are in the order of pairs that rotary positions turn: of each head 0, HS/2,
 * 1, HS/2 + 1, ...
 */
#ifndef TEXTMILL_MODEL_GGUF_MODEL_H
#define TEXTMILL_MODEL_GGUF_MODEL_H

#include "common/gguf.h"
#include "model/model.h"

/* Initialises *m, with `head`, as the file's keys say. -1 with an error that names what is missing,
 * of another form or not supported. */
int gguf_model_read(struct model *m, const struct gguf *g, enum model_head head);

/* The file's tensor of row `row`, whose shape is checked. NULL with an error. */
const struct gguf_tensor *gguf_model_tensor(const struct gguf *g, const struct model *m,
                                            size_t row);
/* Whether rows of a tensor are in the order of pairs: width of a head, else 0. */
int64_t gguf_model_paired(const struct model *m, size_t row);

/* The type of ops.h whose rows (stored.h) a tensor's are; -1: they must be read by
 * gguf_model_numbers. */
int gguf_model_stored(const struct gguf_tensor *t);
/* out[elements]: from any type. A scale or a number that is infinite or none is an error that names
 * the byte; the second looks for one alone. */
int gguf_model_numbers(const struct gguf *g, const struct gguf_tensor *t, float *out);
int gguf_model_check(const struct gguf *g, const struct gguf_tensor *t);

/* Rows of `bytes` bytes in the order of pairs, heads of HS; or back. */
void gguf_model_pair(void *to, const void *from, int64_t rows, uint64_t bytes, int64_t HS,
                     int back);

/* Adds the keys of a model's configuration. -1 with an error where the format has no word for it.
 */
int gguf_model_keys(struct gguf_writer *w, const struct model *m);
/* The name that row `row` has in the file. */
void gguf_model_name(char out[TENSOR_NAME], const struct model *m, size_t row);

#endif
