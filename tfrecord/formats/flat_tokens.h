/*
 * flat_tokens.h - files of token ids back to back, as nanoGPT and llm.c train with.
 *
 *     nanoGPT    u16 ids and nothing else; an end-of-text behind each document
 *     llm.c      256 int32 numbers, of which the first are a magic number, a version and how many
 * ids follow; then the ids, with an end-of-text before each document 20240520, version 1    u16 ids
 * (GPT-2) 20240801, version 7    u32 ids   (Llama 3)
 *
 * All numbers are little-endian.
 */
#ifndef TEXTMILL_TFRECORD_FORMATS_FLAT_TOKENS_H
#define TEXTMILL_TFRECORD_FORMATS_FLAT_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "common/file.h"

enum flat_kind { FLAT_NANOGPT, FLAT_LLMC };

enum { FLAT_HEAD_BYTES = 1024 };

struct flat_tokens {
    struct file_map map;
    uint64_t begin; /* byte of the first id */
    int width;      /* bytes of an id; 0: not open */
    uint64_t tokens;
};

/* Whether the regular file at `path` begins as one of llm.c: 1, 0, or -1 if it cannot be read. */
int flat_tokens_is_llmc(const char *path);

/* -1 with an error that names the file: an odd size, another version, a count that does not fit the
 * size. */
int flat_tokens_open(struct flat_tokens *f, const char *path, enum flat_kind kind);
void flat_tokens_close(struct flat_tokens *f);

/* Ids [first, first + n), which must exist. */
void flat_tokens_read(const struct flat_tokens *f, uint64_t first, size_t n, uint32_t *ids);

/* The header of a file of llm.c: width 2 or 4, and at most INT32_MAX ids. */
void flat_tokens_head(unsigned char head[FLAT_HEAD_BYTES], int width, uint64_t tokens);

#endif
