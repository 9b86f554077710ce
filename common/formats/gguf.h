/*
 * gguf.h - GGUF, llama.cpp's file format for a model with its tokenizer: keys with values, and
 * tensors.
 *
 *     "GGUF", u32 version (2 or 3), u64 tensors, u64 keys
 *     each key: its name, u32 type, its value
 *     each tensor: its name, u32 rank, u64 sizes (the innermost first), u32 type, u64 offset
 *     zeros up to a multiple of the key general.alignment (32 without it); offsets count from here
 *     data: each tensor at an offset that is such a multiple
 *
 * The key textmill.crc32c of our files is the CRC32C of all bytes of the file but its own eight
 * digits.
 *
 * A name is its u64 length and its bytes; all numbers are little-endian. Format:
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Checked by
 * tests/unit/model/folder/test_gguf_model.c, tests/fuzz/gguf.c and tests/peers/gguf_files.py.
 */
#pragma once

#include "common/files/file.h"

enum { GGUF_RANK = 4, GGUF_ALIGNMENT = 32 };

/* clang-format off */
/* The supported types of tensors: IS(name, number in the file, numbers of a block, bytes of a block). */
#define GGUF_TENSORS(IS) \
    IS(F32, 0, 1, 4) IS(F16, 1, 1, 2) IS(Q4_0, 2, 32, 18) IS(Q4_1, 3, 32, 20) IS(Q5_0, 6, 32, 22) \
    IS(Q5_1, 7, 32, 24) IS(Q8_0, 8, 32, 34) IS(Q2_K, 10, 256, 84) IS(Q3_K, 11, 256, 110) IS(Q4_K, 12, 256, 144) \
    IS(Q5_K, 13, 256, 176) IS(Q6_K, 14, 256, 210) IS(IQ4_NL, 20, 32, 18) IS(IQ4_XS, 23, 256, 136) \
    IS(I8, 24, 1, 1) IS(BF16, 30, 1, 2) IS(TQ1_0, 34, 256, 54) IS(TQ2_0, 35, 256, 66) IS(MXFP4, 39, 32, 17) \
    IS(NVFP4, 40, 64, 36) IS(IQ2_XXS, 16, 256, 66) IS(IQ2_XS, 17, 256, 74) IS(IQ2_S, 22, 256, 82) \
    IS(IQ3_XXS, 18, 256, 98) IS(IQ3_S, 21, 256, 110) IS(IQ1_S, 19, 256, 50) IS(IQ1_M, 29, 256, 56)
/* clang-format on */
#define GGUF_TENSOR_NUMBER(name, number, ...) GGUF_TENSOR_##name = number,
enum { GGUF_TENSORS(GGUF_TENSOR_NUMBER) };

/* Types of a key's value, numbered as in the file. */
enum gguf_form {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_TEXT,
    GGUF_LIST,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_FORMS
};

struct gguf_key {
    const char *name; /* name[0..n) in the mapped file */
    size_t n;
    enum gguf_form form;
    /* the value in the mapped file; for a text or a list, the bytes after its length field */
    const unsigned char *value;
    uint64_t count;       /* bytes of a text, items of a list, else 1 */
    enum gguf_form items; /* type of a list's items */
};

struct gguf_tensor {
    char *name;
    uint32_t type; /* a GGUF_TENSOR_ value */
    int rank;
    int64_t shape[GGUF_RANK]; /* outermost dimension first (the file has the innermost first) */
    int64_t elements;
    uint64_t offset, bytes; /* place and size of the data in the file */
};

struct gguf {
    char *path;
    struct file_map map;
    struct gguf_key *keys;
    struct gguf_tensor *tensors;
    size_t key_count, key_cap, tensor_count, tensor_cap;
};

/* ---- reading ------------------------------------------------------------------------------ */

/* Returns 1 if the path ends in ".gguf", else 0. */
int gguf_is(const char *path);

/* Maps the file and checks names, types, sizes and offsets. Returns 0, or -1 with an error that
 * names the file and the byte. */
int gguf_open(struct gguf *g, const char *path);
/* Parses bytes in memory as gguf_open does, with the same results. `name` stands for the path in
 * errors. The bytes are borrowed: set g->map to zeros before gguf_close, which would unmap them. */
int gguf_parse(struct gguf *g, const void *bytes, uint64_t n, const char *name);
void gguf_close(struct gguf *g);

/* Checks the file against its checksum. Files of other programs have none. Returns 0, or -1 with an
 * error. */
int gguf_check(const struct gguf *g);

const struct gguf_key *gguf_find(const struct gguf *g, const char *name); /* NULL if absent */
/* gguf_real sets *out to the value of the key `name`, a number or boolean of any type; for an f32,
 * to the shortest decimal number that rounds to it. Without this key *out stays. gguf_text appends
 * the value of a key that is a text to *out. Both return 0, or -1 with an error if the value has
 * another type. */
int gguf_real(const struct gguf *g, const char *name, double *out);
int gguf_text(const struct gguf *g, const struct gguf_key *k, struct buf *out);

/* Return an item of a list. gguf_item_text returns the text at *at, which is at first the key's
 * value, sets *n to its bytes, and moves *at to the next item. */
const char *gguf_item_text(const unsigned char **at, size_t *n);
int32_t gguf_item_i32(const struct gguf_key *k, uint64_t i);
float gguf_item_f32(const struct gguf_key *k, uint64_t i);

const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name); /* NULL if absent */

/* ---- writing ------------------------------------------------------------------------------ */

/* Writes a file. Add all keys first, then declare all tensors, then write the tensors' data in the
 * same order. The data of a tensor may be written in several pieces. */
struct gguf_writer {
    struct output out;
    struct buf keys, tensors;
    uint64_t key_count, tensor_count, data_bytes, written;
};

void gguf_begin(struct gguf_writer *w);
void gguf_add_u32(struct gguf_writer *w, const char *key, uint32_t x);
void gguf_add_f32(struct gguf_writer *w, const char *key, float x);
void gguf_add_bool(struct gguf_writer *w, const char *key, int x);
void gguf_add_text(struct gguf_writer *w, const char *key, const char *s, size_t n);
/* Adds a list of `count` items. `items` holds them in the file's encoding: little-endian numbers of
 * type `form`, or texts that gguf_put_text appended. */
void gguf_add_list(struct gguf_writer *w, const char *key, enum gguf_form form, uint64_t count,
                   const struct buf *items);
void gguf_put_text(struct buf *out, const char *s, size_t n);

/* Declares a tensor. Each row of shape[rank - 1] numbers must consist of whole blocks. */
void gguf_add_tensor(struct gguf_writer *w, const char *name, uint32_t type, int rank,
                     const int64_t *shape);

/* Opens the file and writes its head: the keys, and the declarations of the tensors. A checksum is
 * among the keys unless `path` is a pipe or a device. Returns 0, or -1 with an error, as gguf_write
 * and gguf_end_tensor do; then the caller calls gguf_abandon. */
int gguf_create(struct gguf_writer *w, const char *path);

/* gguf_write writes bytes of the current tensor, and gguf_end_tensor pads it to the alignment. */
int gguf_write(struct gguf_writer *w, const void *data, uint64_t n);
int gguf_end_tensor(struct gguf_writer *w);

/* Gives the file its final name and frees what *w holds. Returns 0, or -1 with an error. */
int gguf_finish(struct gguf_writer *w);
void gguf_abandon(struct gguf_writer *w); /* drops the file without publishing it */
