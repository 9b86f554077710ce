/*
 * export_vocabulary.h - writes a vocabulary as llama.cpp's keys tokenizer.ggml.*
 * (tokenizer/files/files.h), and whole as tokenizer.huggingface.json, which textmill reads.
 *
 * byte-level BPE            "gpt2", with the name of the pre-tokenizer
 * BPE with tokens of bytes  "llama": llama.cpp merges two tokens if the joined text is a token, the
 *                           highest score first. A score is minus the rank of the first merge.
 * WordPiece                 "bert"
 * Unigram, WordLevel and BPE of characters without tokens of bytes have no keys.
 */
#pragma once

#include "common/formats/gguf.h"
#include "tokenizer/tokenizer.h"

/* Adds the keys. vocabulary: the number of ids in the model; ids without a token are unused ones.
 * Sets *doubt to what llama.cpp does in another way than textmill, or to NULL if its tokens are the
 * same. Returns 0, or -1 with an error if a token has an id that the model lacks. */
int export_vocabulary(struct gguf_writer *w, const struct tokenizer *t, int64_t vocabulary,
                      const char **doubt);
