/*
 * gguf_export.h - writes a model folder as one GGUF file (gguf.h), with weights of a chosen type.
 *
 * Matrices are stored in the type and with the values that parameters.h would use in memory, and so
 * is a table that the decoder and the lookups share. Other lookup tables, norms and biases are F32.
 * A file for textmill alone has a shared table twice if its type is computed in groups (stored.h):
 * row by row as token_embd.weight, and in groups as output.weight.
 */
#pragma once

#include "common/formats/gguf.h"
#include "model/compute/ops.h"

struct gguf_export {
    enum ops_type weights;
    int ours; /* 1: for textmill alone, in the layout that it uses in the mapped file */
    int threads;
    /* Adds the tokenizer's keys. `vocabulary` is the number of ids in the model. Returns 0, or -1
     * with an error. */
    int (*add)(void *ctx, struct gguf_writer *w, int64_t vocabulary);
    void *ctx;
};

/* Writes the model in the folder `dir` to the file `path`. For an encoder, a file for all programs
 * has no head, because GGUF has no heads. A file for textmill alone needs the head for questions,
 * the only one that textmill runs. Returns 0, or -1 with an error. */
int gguf_export(const char *dir, const char *path, const struct gguf_export *how);
