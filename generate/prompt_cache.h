/*
 * prompt_cache.h - stores the keys and values of a prompt in a file, so that a later run need not
 * compute them again.
 *
 * The file, all numbers little-endian:
 *
 *     8 bytes   "TMPROMPT"
 *     u32       version, 1
 *     u32, ...  length of the model folder's name, and the name; used only in messages
 *     u64       checksum of the vocabulary (tokenizer.h)
 *     u32 x 3   layers L; floats in one position's keys, K; tokens n
 *     f32 x 16  logits after the first 8 tokens (or all, if fewer), for 16 ids spread evenly over
 *               the vocabulary: a model with other logits is not the one that made the file
 *     u32 x n   the tokens
 *     f32       keys [L,n,K], then values [L,n,K]
 *     u32       CRC-32C of all bytes before
 */
#pragma once

#include "generate/generator.h"

enum { PROMPT_CACHE_LOGITS = 16 };

/* Writes the tokens, keys and values of `start`, a prompt that g has run, to the file `path`.
 * `model` is the name of the model folder. Returns 0, or -1 with an error. */
int prompt_cache_save(struct generator *g, const struct start *start, const char *model,
                      const char *path);

/* Reads the file `path` into g->saved. Prompts that begin with the same tokens then take their keys
 * and values from there. `model` is the name of g's model folder. Returns 0, or -1 with an error if
 * the file is not a prompt cache, is damaged, or was made with another model. */
int prompt_cache_load(struct generator *g, const char *model, const char *path);

/* The parts of a file; the pointers point into its bytes. prompt_cache_parse returns 0, or -1 with
 * an error if the bytes are not a prompt cache or are damaged; `name` names the file in errors. */
struct prompt_cache {
    const char *model; /* not NUL-terminated */
    size_t model_bytes;
    uint64_t vocabulary;
    uint32_t layers, width, tokens;
    const unsigned char *logits, *ids, *keys, *values;
};
int prompt_cache_parse(struct prompt_cache *out, const void *bytes, size_t n, const char *name);
