/*
 * weights.h - the files of a model folder that hold its tensors: the first of these that is there,
 *
 *     model.safetensors
 *     model.safetensors.index.json    says which file holds which tensor, {"weight_map":{...}}
 *     pytorch_model.bin               as torch.save writes it (torch.h)
 *     pytorch_model.bin.index.json    the same of several
 */
#ifndef TEXTMILL_MODEL_WEIGHTS_H
#define TEXTMILL_MODEL_WEIGHTS_H

#include "model/safetensors.h"

struct weights {
    struct safetensors *files;
    size_t count, cap;
};

/* -1 with an error that names the file, and, where there is none of them, what is there instead. */
int weights_open(struct weights *w, const char *dir);
void weights_close(struct weights *w);

/* Looks in all files; *file is where it was found. */
const struct safetensor *weights_find(const struct weights *w, const char *name,
                                      const struct safetensors **file);

#endif
