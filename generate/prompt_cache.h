/*
 * prompt_cache.h - the keys and values of a prompt in a file, so that a later run need not compute
 * them again.
 *
 * The file, all numbers little-endian:
 *
 *     8 bytes   "TMPROMPT"
 *     u32       version, 1
 *     u32, ...  bytes of the model folder's name, and these; for messages alone
 *     u64       checksum of the vocabulary (tokenizer.h)
 *     u32 x 3   layers L; numbers of a key, K; tokens n
 *     f32 x 16  logits, evenly out of the vocabulary, of what follows the first of the tokens (8 at
 *               most): a model that gives others is not the one that made the file
 *     u32 x n   the tokens
 *     f32       keys [L,n,K], then values [L,n,K]
 *     u32       CRC-32C of all before
 */
#ifndef TEXTMILL_GENERATE_PROMPT_CACHE_H
#define TEXTMILL_GENERATE_PROMPT_CACHE_H

#include "generate/generator.h"

enum { PROMPT_CACHE_LOGITS = 16 };

/* Writes the prompt that g has taken last. model: the name of its folder. */
int prompt_cache_save(struct generator *g, const char *model, const char *path);

/* Reads a file into g->saved: prompts that begin with its tokens take their keys and values from
 * there. -1 with an error when it is no such file, damaged, or made with another model. */
int prompt_cache_load(struct generator *g, const char *model, const char *path);

/* A file's parts, which point into its bytes. -1 when it is no prompt cache or is damaged; `name`
 * stands in errors. */
struct prompt_cache {
    const char *model; /* not NUL-ended */
    size_t model_bytes;
    uint64_t vocabulary;
    uint32_t layers, width, tokens;
    const unsigned char *logits, *ids, *keys, *values;
};
int prompt_cache_parse(struct prompt_cache *out, const void *bytes, size_t n, const char *name);

#endif
