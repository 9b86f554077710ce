/*
 * folder_names.h - finds tensors of a model folder by the names that files use for them.
 *
 * In files a name may have the prefix of its submodule ("transformer.", "bert.", "model.") or lack
 * it, and may have another ending that the architecture knows: the parameters of BERT's norms are
 * called weight and bias or, in TensorFlow and in the first converted models, gamma and beta.
 */
#pragma once

#include "model/formats/weights.h"
#include "model/network/architecture.h"

/* Bytes for any spelling of a tensor's name. A longer name matches no row. */
enum { FOLDER_NAME = 2 * TENSOR_NAME + 16 };

/* Sets `out` to the name that textmill writes into files for the tensor that the table calls
 * `name`. The transformers library writes the same name. */
void folder_names_saved(char out[FOLDER_NAME], const struct model *m, const char *name);

/* Finds in the files the tensor that the tensor table calls `name`, under any of its spellings.
 * Returns it and sets *file to the file that has it. Returns NULL if none has it. */
const struct safetensor *folder_names_find(const struct model *m, const struct weights *set,
                                           const char *name, const struct safetensors **file);

/* Returns the tensor table's row for the tensor that a file calls `name`; NULL if there is none. */
const struct tensor *folder_names_row(const struct model *m, const char *name);

/* If the file's tensor `name` is a copy of another tensor (tied weights), returns the table's name
 * of that tensor; else NULL. */
const char *folder_names_tied_to(const struct model *m, const char *name);

/* Returns 1 if the model ignores the file's tensor `name`, which is not in the table: a buffer that
 * the model computes itself, or part of a head for another task. Else returns 0. */
int folder_names_passed_over(const struct model *m, const char *name);
