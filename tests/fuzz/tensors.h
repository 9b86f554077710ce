/* tensors.h - reads the tensors that a parser of model files has accepted, for the fuzzers. */
#pragma once

#include <stdlib.h>

#include "common/base/mem.h"
#include "model/formats/safetensors.h"

/* Reads the values of all tensors, and closes the file, whose bytes are borrowed. */
static inline void read_tensors(struct safetensors *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct safetensor *t = &s->tensors[i];
        float *out = mem_alloc((size_t)t->elements * sizeof *out);
        safetensors_read(s, t, out);
        free(out);
    }
    s->map = (struct file_map){ 0 };
    safetensors_close(s);
}
