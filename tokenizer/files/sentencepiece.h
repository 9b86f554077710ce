/*
 * sentencepiece.h - a vocabulary of SentencePiece that a file lists piece by piece: a .model file,
 * or the keys of a GGUF file (files.h).
 *
 *     struct sentencepiece m = { .v = v, .model = SENTENCEPIECE_BPE, .dummy_prefix = 1 };
 *     sentencepiece_put(&m, 0, "<unk>", 5, 0, SENTENCEPIECE_UNKNOWN);
 *     ...
 *     sentencepiece_finish(&m);
 *     sentencepiece_release(&m);
 *
 * BPE has no list of merges. Two neighbouring pieces are merged if the joined text is a piece; the
 * pair with the highest score comes first, and of equal scores the leftmost one.
 */
#pragma once

#include "tokenizer/model/vocabulary.h"

/* Types of pieces, and models, numbered as in .model files. GGUF files have the same types. */
enum sentencepiece_type {
    SENTENCEPIECE_NORMAL = 1,
    SENTENCEPIECE_UNKNOWN,
    SENTENCEPIECE_CONTROL,
    SENTENCEPIECE_USER_DEFINED,
    SENTENCEPIECE_UNUSED,
    SENTENCEPIECE_BYTE
};
enum sentencepiece_model { SENTENCEPIECE_UNIGRAM = 1, SENTENCEPIECE_BPE };

struct sentencepiece {
    struct vocabulary *v; /* borrowed; initialised */
    enum sentencepiece_model model;
    int dummy_prefix; /* 1: a space is put before each text */
    int suffix;       /* 1: that space is put after the text */
    int keeps_spaces; /* 1: spaces do not become U+2581 */
    int remove_extra; /* 1: spaces at the ends of a text, and double ones, are removed */
    const unsigned char *charsmap; /* normalizer's map, or NULL; borrowed */
    size_t charsmap_bytes;
    const char *end; /* the control piece that ends a text, borrowed; only for .model files */
    size_t end_bytes;
    uint8_t *types; /* of each id; 0: an id without a piece */
    size_t types_cap;
    uint32_t spaced; /* 1 + the id of a user-defined piece that remove_extra changes; 0: none */
};

/* Adds a piece. Unknown and control pieces become special tokens, user-defined ones added tokens
 * that are searched for in the normalized text. Returns 0, or -1 with an error if the text or the
 * score is bad, or the id or the text occurs twice. */
int sentencepiece_put(struct sentencepiece *m, int64_t id, const char *bytes, size_t n,
                      double score, enum sentencepiece_type type);
/* Completes the vocabulary after the last piece. Returns 0, or -1 with an error. */
int sentencepiece_finish(struct sentencepiece *m);
void sentencepiece_release(struct sentencepiece *m); /* frees what *m owns, not the vocabulary */
