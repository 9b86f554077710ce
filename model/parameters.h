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

#include "model/model.h"

struct parameters {
    struct ops_array *blocks; /* [model.tensors.blocks] */
    struct ops_array *items;  /* of the lists; NULL: there are none */
    size_t count;
};

/* Loads the model folder `dir` with `head`, as folder_load does. */
int parameters_load(struct parameters *p, struct model *m, struct ops *o, const char *dir,
                    enum model_head head, enum ops_type weights);
/* And the model; fine on zeroed ones. */
void parameters_release(struct parameters *p, struct model *m, struct ops *o);

#endif
