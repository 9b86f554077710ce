/*
 * flat_tokens.h - token ids stored one after the other, as nanoGPT, llm.c and NumPy have them.
 *
 *    nanoGPT   u16 ids only; each document is followed by an end-of-text
 *    llm.c     256 int32 numbers, then the ids; each document begins with an end-of-text. The first
 *              three numbers are a magic number, a version, and the number of ids:
 *              20240520, version 1   u16 ids (GPT-2)
 *              20240801, version 7   u32 ids (Llama 3)
 *    NumPy     an array of one dimension of u16, u32 or i32 (.npy, version 1)
 *
 * All numbers are little-endian.
 */
#pragma once

#include "common/files/file.h"

enum { FLAT_HEAD_BYTES = 1024 };

struct flat_tokens {
    struct file_map map;
    uint64_t begin; /* byte of the first id */
    int width;      /* bytes per id; 0: not open */
    uint64_t tokens;
};

/* Returns 1 if the regular file at `path` begins like a file of llm.c or NumPy, 0 if not, or -1
 * with an error if it cannot be read. */
int flat_tokens_has_head(const char *path);

/* Maps a file; one without a header has ids only. Returns 0, or -1 with an error that names the
 * file if its size is not a whole number of ids, its version or type is not supported, or its
 * number of ids does not match its size. */
int flat_tokens_open(struct flat_tokens *f, const char *path);
void flat_tokens_close(struct flat_tokens *f);

/* Reads ids [first, first + n), which must exist. */
void flat_tokens_read(const struct flat_tokens *f, uint64_t first, size_t n, uint32_t *ids);

/* Fills the header of a file of llm.c. `width` is 2 or 4; `tokens` is at most INT32_MAX. */
void flat_tokens_head(unsigned char head[FLAT_HEAD_BYTES], int width, uint64_t tokens);
