/*
 * gguf_export.h - a model folder as one GGUF file (gguf.h), with weights of a chosen type.
 *
 * Matrices are of the type that parameters.h would keep them in, with the same values; tables that
 * are looked up, norms and biases are F32. A table that is tied to the decoder is there twice if
 * the type is not F32: as token_embd.weight and as output.weight.
 */
#ifndef TEXTMILL_MODEL_GGUF_EXPORT_H
#define TEXTMILL_MODEL_GGUF_EXPORT_H

#include "common/gguf.h"
#include "model/ops.h"

/* Writes the folder `dir`, of a decoder, to `path`. `add` adds the tokenizer's keys, given the
 * number of ids that the model has; -1: it has set an error. */
int gguf_export(const char *dir, const char *path, enum ops_type weights, int threads,
                int (*add)(void *ctx, struct gguf_writer *w, int64_t vocabulary), void *ctx);

#endif
