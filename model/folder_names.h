/*
 * folder_names.h - what tensors are called in the files of a model folder, beside their names in
 * the tensor table.
 *
 * A name stands with or without the submodule that the tensor is of in the model with its heads
 * ("transformer.", "bert.", "model."), and in other spellings that the architecture knows: BERT's
 * norms have weight and bias or, as TensorFlow called them and the first converted models still do,
 * gamma and beta.
 */
#ifndef TEXTMILL_MODEL_FOLDER_NAMES_H
#define TEXTMILL_MODEL_FOLDER_NAMES_H

#include "model/architecture.h"
#include "model/weights.h"

/* Room for a row's name in any spelling; longer ones are of no row. */
enum { FOLDER_NAME = 2 * TENSOR_NAME + 16 };

/* What we write: as transformers does. */
void folder_names_saved(char out[FOLDER_NAME], const struct model *m, const char *name);

/* The tensor of the files that the table calls `name`, however they spell it; NULL: none. *file is
 * where it was found. */
const struct safetensor *folder_names_find(const struct model *m, const struct weights *set,
                                           const char *name, const struct safetensors **file);

/* The row of the table that a file calls `name`; NULL: none. */
const struct tensor *folder_names_row(const struct model *m, const char *name);

/* The row's name that the model takes for a file's `name` as well; NULL if there is none. */
const char *folder_names_tied_to(const struct model *m, const char *name);

/* Whether a file's `name`, which no row has, is of no use to the model: buffers that it makes
 * itself, and heads for other tasks. */
int folder_names_passed_over(const struct model *m, const char *name);

#endif
