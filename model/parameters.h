/*
 * parameters.h - a model and its parameters, loaded to be run forward alone: evaluation and
 * generation.
 *
 * Of type F32 each block is one array, as training has it. Of another type each block is a LIST of
 * its tensors (ops.h): matrices of linear maps and the decoder's table are of that type and lie as
 * products read them; tables that are looked up, norms and biases are F32. Matrices whose rows are
 * no whole blocks of Q8 and Q4, and maps to few outputs, are F32, too. A table that is tied to the
 * decoder is there twice: for lookups as F32, and, last in the list of its block, for the decoder.
 */
#ifndef TEXTMILL_MODEL_PARAMETERS_H
#define TEXTMILL_MODEL_PARAMETERS_H

#include "common/gguf.h"
#include "common/pool.h"
#include "model/model.h"

struct parameters {
    struct ops_array *blocks; /* [model.tensors.blocks] */
    struct ops_array *items;  /* of the lists; NULL: there are none */
    const void **kept;        /* [count]: where an item is a part of the file */
    size_t count;
    struct gguf file; /* which is mapped as long as it is used */
};

/* Loads the model folder `dir` with `head`, as folder_load does, or a GGUF file, whose f32, f16 and
 * bf16 are used where they are mapped if `weights` is their type or STORED_AUTO. */
int parameters_load(struct parameters *p, struct model *m, struct ops *o, const char *dir,
                    enum model_head head, enum ops_type weights);
/* And the model; fine on zeroed ones. */
void parameters_release(struct parameters *p, struct model *m, struct ops *o);

/* The type in which a row's numbers are kept when `weights` are asked for. */
enum ops_type parameters_type(const struct model *m, size_t row, enum ops_type weights);
/* A row of the table as stored.h has rows, matrices [out,in]; from numbers as files have them
 * (folder_each). The caller's to free. */
char *parameters_rows(const struct model *m, size_t row, enum ops_type type, const float *numbers,
                      struct pool *pool);

#endif
