/*
 * tokenizer.h - text to token ids and back: the door to this folder for the other programs.
 *
 *     struct tokenizer *t = tokenizer_load("gpt2/");
 *     struct encoder *e = encoder_new(t);
 *     struct ids ids = { 0 };
 *     encoder_encode(e, text, n, TOKENIZER_ORDINARY, &ids);
 *     tokenizer_decode(t, ids.data, ids.count, &out);
 *
 * A tokenizer does not change once loaded and is shared by threads; an encoder holds the
 * scratch of one thread. The ids of a text depend on the text alone.
 */
#ifndef TEXTMILL_TOKENIZER_TOKENIZER_H
#define TEXTMILL_TOKENIZER_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/ids.h"
#include "tokenizer/model/roles.h"

struct tokenizer;
struct encoder;

enum tokenizer_special {
    TOKENIZER_ORDINARY, /* "<|endoftext|>" in the text is text */
    TOKENIZER_SPECIAL,  /* the special tokens' spellings in the text become their ids */
};

/* `path`: a tokenizer.json, a .tiktoken file, a vocab.json with merges.txt beside it (also
 * NAME-vocab.json with NAME-merges.txt), BERT's vocab.txt, or a folder with one of these. NULL
 * with an error that names file and line or byte. */
struct tokenizer *tokenizer_load(const char *path);
struct tokenizer *tokenizer_load_with(const char *path, const struct tokenizer_options *o);
void tokenizer_free(struct tokenizer *t);

struct vocabulary;

/* The tokenizer that v describes; v is taken and left empty. NULL: a pattern of its normalizer
 * takes too much. */
struct tokenizer *tokenizer_from_vocabulary(struct vocabulary *v);

/* And back: t is freed; v, which is not initialised, is the caller's. */
void tokenizer_into_vocabulary(struct tokenizer *t, struct vocabulary *v);

/* Writes tokenizer.json, tokenizer_config.json and vocab.json, merges.txt, vocab.tiktoken, or for
 * WordPiece vocab.txt, into `dir`, so that Hugging Face's AutoTokenizer and tiktoken load it. */
int tokenizer_save(const struct tokenizer *t, const char *dir);

/* Appends the text of tokenizer.json alone, which holds the whole vocabulary. */
void tokenizer_print(const struct tokenizer *t, struct buf *out);

uint32_t tokenizer_size(const struct tokenizer *t);       /* ids are below this */
int64_t tokenizer_end_of_text(const struct tokenizer *t); /* -1: none */
uint64_t tokenizer_checksum(const struct tokenizer *t);   /* of ids and their bytes */
int tokenizer_tiles(const struct tokenizer *t);           /* tokens' bytes are those of the text */
int64_t tokenizer_role(const struct tokenizer *t, enum tokenizer_role role); /* -1: none */

/* The bytes of a token, not NUL-ended; NULL if id is out of range or a hole. */
const char *tokenizer_token(const struct tokenizer *t, uint32_t id, size_t *len);
/* The id of exactly these bytes, -1 if none. */
int64_t tokenizer_find(const struct tokenizer *t, const char *bytes, size_t n);

/* Appends the tokens' bytes, which need not be valid UTF-8; with WordPiece a space before each that
 * begins a word, as Hugging Face's decoder does. -1 on an id out of range. */
int tokenizer_decode(const struct tokenizer *t, const uint32_t *ids, size_t n, struct buf *out);
/* The same without the special tokens. */
int tokenizer_decode_text(const struct tokenizer *t, const uint32_t *ids, size_t n,
                          struct buf *out);

struct encoder *encoder_new(const struct tokenizer *t); /* t borrowed */
void encoder_free(struct encoder *e);

/* Appends the ids of text[0..n). Invalid UTF-8 becomes U+FFFD per maximal subpart, as Python's
 * errors="replace" does. -1 with an error only when the text cannot be encoded (a vocabulary
 * without some byte). */
int encoder_encode(struct encoder *e, const char *text, size_t n, enum tokenizer_special special,
                   struct ids *out);

/* The same of valid UTF-8 for BERT's words and byte-level BPE, and where each token stands: code
 * points [begins[i], ends[i]) of the text, as Hugging Face has them. Characters that the rules drop
 * at its sides are no part of it, nor are spaces, as far as the vocabulary's post-processor says
 * so; a character of several tokens is in all of them. */
int encoder_encode_places(struct encoder *e, const char *text, size_t n, struct ids *out,
                          struct ids *begins, struct ids *ends);

/* Makes places in bytes of places in code points of the same text. */
void encoder_places_in_bytes(const char *text, size_t n, uint32_t *begins, uint32_t *ends,
                             size_t count);

/* Appends a text's ids with the special tokens that the vocabulary puts around it, and the type of
 * each; b NULL: one text, else two. `a` and `b` are ids as encoder_encode gives them. */
void tokenizer_assemble(const struct tokenizer *t, const struct ids *a, const struct ids *b,
                        struct ids *out, struct ids *types);

/* Appends the special tokens that the vocabulary puts before a text (Llama's <s>; GPT-2 has none).
 */
void tokenizer_begin_text(const struct tokenizer *t, struct ids *out);

/* Tokens with their places. */
struct placed {
    struct ids ids, begins, ends;
};
void placed_clear(struct placed *p);
void placed_release(struct placed *p);

/* Appends a text's tokens as tokenizer_assemble does, at 0, 0 what is put around it. */
void tokenizer_assemble_places(const struct tokenizer *t, const struct placed *a,
                               struct placed *out);

/* Hands the pieces of a text that would be encoded one by one to `put`, added tokens being text
 * like any other. -1: what `put` returned, or an error as above. */
int encoder_pieces(struct encoder *e, const char *text, size_t n,
                   int (*put)(void *ctx, const char *piece, size_t n), void *ctx);

/* How many bytes encoder_encode has replaced since the encoder was made. */
uint64_t encoder_replaced(const struct encoder *e);

/* Appends the text as encoder_encode reads it: with U+FFFD for what is not UTF-8. Returns how many
 * bytes it replaced. */
size_t encoder_repair(struct buf *out, const char *text, size_t n);

#endif
