/*
 * safetensors.h - reads and writes Hugging Face's file format for named tensors.
 *
 *     u64 n, little-endian; n bytes of JSON; data
 *
 *     {"__metadata__":{"format":"pt","textmill.crc32c":"1a2b3c4d"},
 *      "wte.weight":{"dtype":"F32","shape":[50257,768],"data_offsets":[0,154389504]}, ...}
 *
 * Offsets count from the end of the header. The tensors must cover the data exactly: without holes,
 * overlaps, or bytes after the last. textmill.crc32c is the CRC32C of all bytes of the file but its
 * own eight digits. Format: https://github.com/huggingface/safetensors. Checked by
 * tests/unit/model/formats/test_safetensors.c, tests/fuzz/safetensors.c and tests/peers/model.py.
 */
#pragma once

#include "common/files/file.h"
#include "model/compute/ops.h"

enum { SAFETENSORS_RANK = 8, SAFETENSORS_HEADER_MAX = 100000000 };

struct safetensor {
    char *name;
    const char *dtype; /* "F32", "BF16", ...; static */
    int rank;
    int64_t shape[SAFETENSORS_RANK];
    int64_t elements;
    uint64_t offset, bytes; /* in the file; for a strided tensor, bytes counts only its elements */
    int strided;            /* 1: elements lie at the strides below, in elements (torch.h) */
    int64_t stride[SAFETENSORS_RANK];
};

/* ---- one file ---------------------------------------------------------------------------- */

struct safetensors {
    char *path;
    struct file_map map;
    struct safetensor *tensors; /* sorted by offset; from torch.h, by name */
    size_t count, cap;
    uint64_t sum_at; /* place of the checksum's digits in the file; 0: it has none */
};

/* Checks the file against the checksum in its header, "textmill.crc32c" in "__metadata__". Files of
 * other programs have none. Returns 0, or -1 with an error. */
int safetensors_check(const struct safetensors *s);

/* Maps the file and checks its whole header. Returns 0, or -1 with an error that names the file and
 * the tensor. */
int safetensors_open(struct safetensors *s, const char *path);
/* Opens a file whose n bytes are in memory, as safetensors_open does. Error messages begin with
 * `name`. The bytes are borrowed: set s->map to zeros before safetensors_close, which would unmap
 * them. */
int safetensors_parse(struct safetensors *s, const void *bytes, uint64_t n, const char *name);
/* Open a file of another format, as safetensors_open and safetensors_parse do for this one. `read`
 * sets s->tensors from s->path and s->map, and returns 0, or -1 with an error. */
int safetensors_open_by(struct safetensors *s, const char *path,
                        int (*read)(struct safetensors *s));
int safetensors_parse_by(struct safetensors *s, const void *bytes, uint64_t n, const char *name,
                         int (*read)(struct safetensors *s));
void safetensors_close(struct safetensors *s);

/* Returns the tensor called `name`, or NULL if there is none. */
const struct safetensor *safetensors_find(const struct safetensors *s, const char *name);

/* safetensors_type sets *type to the type of a tensor's numbers: F64, F32, F16 or BF16.
 * safetensors_read reads them into out[elements]. Both return 0, or -1 with an error if the tensor
 * has another type. */
int safetensors_type(const struct safetensors *s, const struct safetensor *t, enum ops_type *type);
int safetensors_read(const struct safetensors *s, const struct safetensor *t, float *out);
/* Reads the elements first to first + n - 1 into out[n], as safetensors_read does all of them. */
int safetensors_read_part(const struct safetensors *s, const struct safetensor *t, int64_t first,
                          int64_t n, float *out);

/* Returns the tensor's bytes in row-major order. They are in the mapped file, or in *copy if the
 * tensor is a strided view. *copy is NULL in the first case; the caller frees it in the second. */
const unsigned char *safetensors_bytes(const struct safetensors *s, const struct safetensor *t,
                                       unsigned char **copy);

/* Returns 1 if two tensors have the same bytes, else 0. */
int safetensors_same(const struct safetensors *s, const struct safetensor *t,
                     const struct safetensors *other_s, const struct safetensor *other);

/* ---- writing ----------------------------------------------------------------------------- */

/* Writes a file: first the header, then the data of all tensors in order, in any number of pieces.
 */
struct safetensors_writer {
    struct output out;
    uint64_t expected; /* bytes of the whole file */
};

/* Returns the entry of a tensor of F32 or BF16 in a file to write; the caller frees its name. */
struct safetensor safetensors_entry(const char *name, enum ops_type type, int rank,
                                    const int64_t *shape);

/* Creates the file and writes its header. Returns 0, or -1 with an error. */
int safetensors_create(struct safetensors_writer *w, const char *path,
                       const struct safetensor *tensors, size_t count);
/* Writes the next n numbers of the data, of `bytes` bytes each: 4 for a tensor of F32, 2 for one of
 * BF16. Returns 0, or -1 with an error. */
int safetensors_write(struct safetensors_writer *w, const void *data, int64_t n, size_t bytes);

/* safetensors_complete is called after the last number: all bytes go to the system. Then
 * safetensors_finish, at any time and in any thread, waits until they are on the disk, and gives
 * the file its final name. Both return 0, or -1 with an error. */
int safetensors_complete(struct safetensors_writer *w);
int safetensors_finish(struct safetensors_writer *w);
void safetensors_abandon(struct safetensors_writer *w);
