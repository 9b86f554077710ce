/*
 * safetensors.h - Hugging Face's file of named tensors.
 *
 *     u64 n, little-endian; n bytes of JSON; data
 *
 *     {"__metadata__":{"format":"pt"},
 *      "wte.weight":{"dtype":"F32","shape":[50257,768],"data_offsets":[0,154389504]}, ...}
 *
 * Offsets count from the end of the header. The tensors must cover the data exactly: no hole, no
 * overlap, nothing behind the last. Format:
 * https://github.com/huggingface/safetensors. Checked by tests/unit/test_safetensors.c,
 * tests/fuzz/safetensors.c and tests/peers/model.py.
 */
#ifndef TEXTMILL_MODEL_SAFETENSORS_H
#define TEXTMILL_MODEL_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "common/file.h"

enum { SAFETENSORS_RANK = 8, SAFETENSORS_HEADER_MAX = 100000000 };

struct safetensor {
    char *name;
    const char *dtype; /* "F32", "BF16", ...; static */
    int rank;
    int64_t shape[SAFETENSORS_RANK];
    int64_t elements;
    uint64_t offset, bytes; /* in the file; of a strided one, bytes are of its elements alone */
    int strided;            /* 1: the numbers stand by the strides, in elements (torch.h) */
    int64_t stride[SAFETENSORS_RANK];
};

/* ---- one file ---------------------------------------------------------------------------- */

struct safetensors {
    char *path;
    struct file_map map;
    struct safetensor *tensors; /* by offset; torch's by name */
    size_t count, cap;
};

/* Maps the file and checks all of its header. -1 with an error that names file and tensor. */
int safetensors_open(struct safetensors *s, const char *path);
/* The same for bytes in memory (borrowed), which `name` stands for in errors. */
int safetensors_parse(struct safetensors *s, const void *bytes, uint64_t n, const char *name);
/* Both by another reader, which fills in the tensors from path and map. */
int safetensors_open_by(struct safetensors *s, const char *path,
                        int (*read)(struct safetensors *s));
int safetensors_parse_by(struct safetensors *s, const void *bytes, uint64_t n, const char *name,
                         int (*read)(struct safetensors *s));
void safetensors_close(struct safetensors *s);

const struct safetensor *safetensors_find(const struct safetensors *s, const char *name);

/* out[elements] from F64, F32, F16 or BF16. -1 with an error when it is of another type. */
int safetensors_read(const struct safetensors *s, const struct safetensor *t, float *out);

/* 1 when two tensors have the same bytes. */
int safetensors_same(const struct safetensors *s, const struct safetensor *t,
                     const struct safetensors *other_s, const struct safetensor *other);

/* ---- writing ----------------------------------------------------------------------------- */

/* The header first, then the data of all tensors in order, in as many pieces as it likes. */
struct safetensors_writer {
    struct output out;
    uint64_t expected; /* bytes of the whole file */
};

/* Of each tensor name, rank, shape and dtype (F32 or BF16; NULL: F32) are read. */
int safetensors_create(struct safetensors_writer *w, const char *path,
                       const struct safetensor *tensors, size_t count);
/* n numbers of so many bytes each, the dtype's: floats 4, halves 2. */
int safetensors_write(struct safetensors_writer *w, const void *data, int64_t n, size_t bytes);
int safetensors_finish(struct safetensors_writer *w); /* publishes the file */
void safetensors_abandon(struct safetensors_writer *w);

#endif
