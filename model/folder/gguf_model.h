/*
 * gguf_model.h - reads and writes a model in a GGUF file (gguf.h): its configuration as keys, its
 * tensors with llama.cpp's names and order of rows.
 *
 * GGUF stores matrices of linear maps as [out,in]. If the architecture's row says `paired`, the
 * rows of query and key matrices are in pair order: rotary positions turn two rows at a time, and
 * these two are neighbours. The rows of a head of HS are then 0, HS/2, 1, HS/2 + 1, ...
 *
 * A file whose key textmill.layout is GGUF_MODEL_LAYOUT is for textmill alone, which uses its
 * matrices as they are: no rows are in pair order, and matrices of Q8 and IQ4_NL are in groups
 * (stored.h). These are tensors of type I8, [groups, bytes of a group].
 */
#pragma once

#include "common/formats/gguf.h"
#include "model/formats/matrix.h"
#include "model/network/model.h"

enum { GGUF_MODEL_LAYOUT = 2 };

/* Sets *c to the configuration in the file's keys, with `head`. Returns 0, or -1 with an error that
 * names the key or tensor that is missing, malformed or not supported. */
int gguf_model_config(struct model_config *c, const struct gguf *g, enum model_head head);

/* Sets *x to the matrix that the file has for row `row` of the table, after checking its shape.
 * name: the tensor's name, or NULL for that of gguf_model_name. Returns 0, or -1 with an error. */
int gguf_model_matrix(struct matrix *x, const struct gguf *g, const struct model *m, size_t row,
                      const char *name);
/* Checks that the file holds the table's tensors, in their shapes, and no others that change what
 * the model computes. If made is not NULL, tensors of the head may be missing, and *made is set to
 * their number. Returns 0, or -1 with an error that names a tensor. */
int gguf_model_check(const struct gguf *g, const struct model *m, int *made);
/* Returns 1 if the file has a tensor for row `row` of the table, else 0. */
int gguf_model_has(const struct gguf *g, const struct model *m, size_t row);
/* Returns the width of a head (HS) if the rows of this tensor are in pair order in GGUF files that
 * are for all programs, else 0. */
int64_t gguf_model_paired(const struct model *m, size_t row);

/* Adds the keys of the model's configuration to *w. Returns 0, or -1 with an error if GGUF cannot
 * express the configuration. */
int gguf_model_keys(struct gguf_writer *w, const struct model *m);
/* Sets out[], unless it is NULL, to the divisors of the rotary frequencies in tensor k, and *name
 * to its name: rope_freqs.weight for Llama 3's scaling, rope_factors_short.weight and
 * rope_factors_long.weight for LongRoPE. Returns their number; 0: there is no tensor k. */
int64_t gguf_model_divisors(float *out, const char **name, const struct model_config *c, int k);
/* Sets `out` to the name of row `row` in GGUF files. */
void gguf_model_name(char out[TENSOR_NAME], const struct model *m, size_t row);
