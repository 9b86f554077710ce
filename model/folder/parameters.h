/*
 * parameters.h - a model with its parameters loaded for forward passes only (evaluation,
 * generation).
 *
 * Of a folder with weights of type F32 each block is one array, as in training. With another type,
 * and of a GGUF file, each block is a LIST of its tensors (ops.h): matrices of linear maps and the
 * decoder's table have that type and the layout that products read (stored.h); norms and biases are
 * F32 or BF16. Lookup tables have the type of the file. A matrix is F32 if its rows cannot be
 * divided into whole blocks of Q8 or Q4, or if it has few outputs. A table that is tied to the
 * decoder is there twice: for lookups and, last in the list of its block, for the decoder.
 *
 * A tensor that the file holds in the wanted type and layout is used in place, in the mapped file.
 * Other tensors are converted, and their numbers are checked. In place, only the scales of matrices
 * in groups are checked, by all threads. f32, bf16 and f16 numbers are not checked in place, so
 * that each page of the file is first read where it is used.
 *
 * A device other than the host takes model folders alone, with weights of type F32 or BF16. With
 * BF16, its memory has the matrices as BF16 and all else as F32, except that lookup tables stay
 * BF16 if they are so in the file. A tied decoder and the lookups share one BF16 table there.
 * Beside the mapped files, the host holds no more than one tensor at a time.
 */
#pragma once

#include "model/folder/folder.h"

struct parameters {
    struct ops_array *blocks; /* [model.tensors.blocks] */
    struct ops_array *items;  /* items of the lists; NULL: no lists */
    void **own;               /* [count]: memory of each item; NULL: it is in a file */
    size_t count;
    struct folder_files files; /* mapped until parameters_release */
};

/* Loads the model folder `dir` with `head`, as folder_load does, or a GGUF file, into *p and *m.
 * `weights`: the type of the weights. Returns 0, or -1 with an error. */
int parameters_load(struct parameters *p, struct model *m, struct ops *o, const char *dir,
                    enum model_head head, enum ops_type weights);
/* Frees the parameters and the model. Both may be zeroed structs. */
void parameters_release(struct parameters *p, struct model *m, struct ops *o);

/* Returns the type in which the tensor of row `row` of the table is kept if `weights` is the wanted
 * type: F32 for tensors that cannot have that type. With IQ4_NL it is Q8 for the decoder and for
 * tensors that are precious (tensor.h): most of the error of 4 bits would be theirs. */
enum ops_type parameters_type(const struct model *m, size_t row, enum ops_type weights);
