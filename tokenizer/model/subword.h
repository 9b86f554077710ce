/*
 * subword.h - the ids of one piece of text, whichever the model: byte-level BPE, BPE over
 * characters, WordPiece, Unigram or whole words.
 *
 * BPE over characters begins with a token for each character: the vocabulary's prefix stands in
 * front of all but the first, its suffix behind the last. A character without a token is the
 * tokens <0x00> ... <0xFF> of its bytes, where the vocabulary falls back to these; or the unknown
 * token, one for a row of such characters where they are fused; or nothing, where there is none.
 */
#ifndef TEXTMILL_TOKENIZER_MODEL_SUBWORD_H
#define TEXTMILL_TOKENIZER_MODEL_SUBWORD_H

#include <stddef.h>

#include "common/buf.h"
#include "common/ids.h"
#include "tokenizer/cut/pieces.h"
#include "tokenizer/model/bpe.h"
#include "tokenizer/model/unigram.h"

struct vocabulary;
struct subword;

struct subword *subword_new(const struct vocabulary *v); /* v borrowed */
/* Bytes without a token are left out from now on (bpe_drop_missing). */
void subword_drop_missing(struct subword *s);
void subword_free(struct subword *s);

/* Sets whole[id], of all ids, for tokens that are certain to be encoded as themselves; others may
 * be too. */
void subword_mark_whole(const struct subword *s, uint8_t *whole);

/* One thread's memory. Starts as zeroes. */
struct subword_scratch {
    struct bpe_scratch bpe;
    struct unigram_scratch unigram;
    struct ids ids;
    struct buf name;
};
void subword_scratch_release(struct subword_scratch *s);

/* Appends the ids of piece[0..n), n > 0, which is valid UTF-8 unless the model is of bytes. -1 with
 * an error: a byte that has no token, or a piece of 4 GiB or more. */
int subword_encode(const struct subword *s, struct subword_scratch *scratch, const char *piece,
                   size_t n, struct ids *out);

/* The same of pieces in order; the ids of piece i end at out->data[ends[i]]. */
int subword_encode_all(const struct subword *s, struct subword_scratch *scratch,
                       const struct pieces *p, struct ids *out, size_t *ends);

#endif
