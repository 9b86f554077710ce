/*
 * subword.h - encodes one piece of text with any model: byte-level BPE, BPE over characters,
 * WordPiece, Unigram or whole words.
 *
 * BPE over characters begins with one token per character. So does BPE over bytes if there is a
 * prefix or a suffix; each byte is then a character. The vocabulary's prefix is put before the name
 * of each character but the first, its suffix after the last. A character without a token becomes
 * the tokens <0x00> ... <0xFF> of its bytes if the vocabulary has byte fallback. Otherwise it
 * becomes the unknown token, one for a whole run of such characters if fuse_unknown is set. If
 * there is no unknown token, the character is left out.
 */
#pragma once

#include "common/base/ids.h"
#include "tokenizer/cut/pieces.h"
#include "tokenizer/model/bpe.h"
#include "tokenizer/model/unigram.h"

struct vocabulary;
struct subword;

struct subword *subword_new(const struct vocabulary *v); /* v borrowed */
void subword_free(struct subword *s);

/* Working memory of one thread. Initialise it with zeroes. */
struct subword_scratch {
    struct bpe_scratch bpe;
    struct unigram_scratch unigram;
    struct ids ids, merged;
    struct buf name;
};
void subword_scratch_release(struct subword_scratch *s);

/* Appends the ids of piece[0..n), n > 0, to `out`. The piece is valid UTF-8 unless the model is
 * byte-level. Returns 0, or -1 with an error if a byte has no token or the piece has 4 GiB or
 * more. */
int subword_encode(const struct subword *s, struct subword_scratch *scratch, const char *piece,
                   size_t n, struct ids *out);

/* Returns the model if it is Unigram, whose ids may depend on the text before a piece
 * (unigram_settle, with scratch->unigram); else NULL. */
const struct unigram *subword_unigram(const struct subword *s);

/* Appends the ids of several pieces to `out`, in order. The ids of piece i end before
 * out->data[ends[i]]. Errors are as for subword_encode. */
int subword_encode_all(const struct subword *s, struct subword_scratch *scratch,
                       const struct pieces *p, struct ids *out, size_t *ends);

/* For BPE: appends to `out`, for each of the tokens ids[0..count) of piece[0..n), the number of
 * bytes that it stands for. If the model is byte-level, bytes are counted in the byte alphabet
 * (alphabet.h). Characters that are left out count for no token. */
void subword_widths(const struct subword *s, struct subword_scratch *scratch, const char *piece,
                    size_t n, const uint32_t *ids, size_t count, struct ids *out);
