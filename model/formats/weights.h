/*
 * weights.h - opens the files of a model folder that hold its tensors: the first one that exists of
 *
 *     model.safetensors
 *     model.safetensors.index.json    names the file of each tensor, {"weight_map":{...}}
 *     pytorch_model.bin               written by torch.save (torch.h)
 *     pytorch_model.bin.index.json    names the file of each tensor, as above
 */
#ifndef TEXTMILL_MODEL_FORMATS_WEIGHTS_H
#define TEXTMILL_MODEL_FORMATS_WEIGHTS_H

#include "model/formats/safetensors.h"

struct weights {
    struct safetensors *files;
    size_t count, cap;
};

/* Opens the files of the folder `dir`. Returns 0, or -1 with an error that names the file. If none
 * of the files exists but `dir` has a weight file of another format, the error names that. */
int weights_open(struct weights *w, const char *dir);
void weights_close(struct weights *w);

/* Finds a tensor in any of the files and sets *file to the file. Returns NULL if there is none. */
const struct safetensor *weights_find(const struct weights *w, const char *name,
                                      const struct safetensors **file);

#endif
