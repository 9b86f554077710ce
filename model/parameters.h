/*
 * parameters.h - a model with its parameters loaded for forward passes only (evaluation,
 * generation).
 *
 * With weights of type F32 each block is one array, as in training. With another type each block is
 * a LIST of its tensors (ops.h): matrices of linear maps and the decoder's table have that type and
 * the layout that products read; lookup tables, norms and biases are F32. A matrix is also F32 if
 * its rows cannot be divided into whole blocks of Q8 or Q4, or if it has few outputs. A table that
 * is tied to the decoder is stored twice: as F32 for lookups, and, last in the list of its block,
 * for the decoder.
 */
#ifndef TEXTMILL_MODEL_PARAMETERS_H
#define TEXTMILL_MODEL_PARAMETERS_H

#include "common/gguf.h"
#include "common/pool.h"
#include "model/model.h"

struct parameters {
    struct ops_array *blocks; /* [model.tensors.blocks] */
    struct ops_array *items;  /* items of the lists; NULL: no lists */
    const void **kept;        /* [count]: the data of each item that points into the file */
    size_t count;
    struct gguf file; /* mapped until parameters_release */
};

/* Loads the model folder `dir` with `head`, as folder_load does, or a GGUF file. `weights`: the
 * type of the weights. A GGUF file's f32, f16 and bf16 weights are used in the mapped file, without
 * a copy, if `weights` is their type or STORED_AUTO. Returns 0, or -1 with an error. */
int parameters_load(struct parameters *p, struct model *m, struct ops *o, const char *dir,
                    enum model_head head, enum ops_type weights);
/* Frees the parameters and the model. Both may be zeroed structs. */
void parameters_release(struct parameters *p, struct model *m, struct ops *o);

/* Returns the type in which the tensor of a row is kept when `weights` is asked for. */
enum ops_type parameters_type(const struct model *m, size_t row, enum ops_type weights);
/* Converts the tensor of a row from the layout of files (folder_each) to the layout of stored.h;
 * matrices become [out,in]. The caller frees the result. */
char *parameters_rows(const struct model *m, size_t row, enum ops_type type, const float *numbers,
                      struct pool *pool);

#endif
