/*
 * tokenizer.h - converts text to token ids and back. Other programs use this folder through this
 * header.
 *
 *     struct tokenizer *t = tokenizer_load("gpt2/");
 *     struct encoder *e = encoder_new(t);
 *     struct ids ids = { 0 };
 *     encoder_encode(e, text, n, TOKENIZER_ORDINARY, &ids);
 *     tokenizer_decode(t, ids.data, ids.count, 0, &out);
 *
 * A tokenizer does not change after loading, so threads may share it. An encoder holds the working
 * memory of one thread. The ids of a text depend on nothing but the text and the vocabulary.
 */
#pragma once

#include "common/base/base.h"
#include "common/base/ids.h"
#include "tokenizer/model/roles.h"

struct js;
struct tokenizer;
struct encoder;

enum tokenizer_special {
    TOKENIZER_ORDINARY, /* a special token's spelling in the text is encoded as ordinary text */
    TOKENIZER_SPECIAL,  /* a special token's spelling in the text becomes its id */
};

/* Loads a vocabulary. `path` is a tokenizer.json, a .tiktoken file, a SentencePiece .model file, a
 * vocab.json with merges.txt in the same folder (or NAME-vocab.json with NAME-merges.txt), BERT's
 * vocab.txt, a GGUF file (.gguf), or a folder with one of the others. NULL stands for the 256 bytes
 * and end-of-text, 257 tokens. Returns NULL with an error that names the file and the line or byte.
 * tokenizer_load_with also takes options (roles.h). */
struct tokenizer *tokenizer_load(const char *path);
struct tokenizer *tokenizer_load_with(const char *path, const struct tokenizer_options *o);
void tokenizer_free(struct tokenizer *t);

/* SCOPED_TOKENIZER t = tokenizer_load(path); declares one that is freed at the end of its scope. */
#define SCOPED_TOKENIZER SCOPED_BY(tokenizer_free_scoped) struct tokenizer *
static inline void tokenizer_free_scoped(struct tokenizer **t)
{
    tokenizer_free(*t);
}

struct vocabulary;

/* Makes a tokenizer from v. Takes over the contents of v and leaves v empty, also on failure.
 * Returns NULL with an error if a pattern of the normalizer needs too much memory or time. */
struct tokenizer *tokenizer_from_vocabulary(struct vocabulary *v);

/* Moves the vocabulary of t to *v, which need not be initialised, and frees t. The caller releases
 * *v. */
void tokenizer_into_vocabulary(struct tokenizer *t, struct vocabulary *v);

/* Writes the vocabulary files into the folder `dir`: tokenizer.json and tokenizer_config.json, and
 * vocab.json, merges.txt and vocab.tiktoken, or vocab.txt for WordPiece. Hugging Face's
 * AutoTokenizer and tiktoken can load them. `longest` is the number of tokens of the longest text
 * that the model in the folder takes, and `types` the number of its segment types; both 0 if there
 * is no model. Returns 0, or -1 with an error. */
int tokenizer_save(const struct tokenizer *t, int64_t longest, int64_t types, const char *dir);

/* Returns the name that GGUF files have for how a tokenizer.json, `root`, cuts a text; NULL if
 * there is none. */
const char *tokenizer_gguf_pre(const struct js *root);

/* Appends the text of a tokenizer.json. It describes the whole vocabulary. */
void tokenizer_print(const struct tokenizer *t, struct buf *out);

uint32_t tokenizer_size(const struct tokenizer *t); /* number of ids; all ids are below it */
/* Checks that a model with embeddings for the ids below `rows` has one for each token of t. If
 * `all` is 0, added tokens may have none: people add a token that pads texts, and leave the model
 * as it is. Messages name the vocabulary `from` and the model `dir`. Returns 0, or -1 with an
 * error. */
int tokenizer_check_rows(const struct tokenizer *t, const char *from, const char *dir, int64_t rows,
                         int all);
int64_t tokenizer_end_of_text(const struct tokenizer *t);   /* -1: none */
int64_t tokenizer_begin_of_text(const struct tokenizer *t); /* vocabulary_begin_of_text */

/* Sets the id of the end-of-text token if the vocabulary's files name none. -1: does nothing. */
void tokenizer_want_end_of_text(struct tokenizer *t, int64_t id);

/* Returns a checksum of the lengths and bytes of all tokens, in the order of ids. */
uint64_t tokenizer_checksum(const struct tokenizer *t);

/* Returns 1 if a text's ordinary tokens, joined, are the text, else 0. A space may stand before it,
 * and bytes that the options drop (drop_missing) may be missing. */
int tokenizer_tiles(const struct tokenizer *t);
int64_t tokenizer_role(const struct tokenizer *t, enum tokenizer_role role); /* -1: none */

/* Returns the bytes of a token, which are not NUL-terminated; *len is their number. Returns NULL
 * if id is out of range or has no token. */
const char *tokenizer_token(const struct tokenizer *t, uint32_t id, size_t *len);
/* Returns the text that the token adds if it is decoded after other tokens: " the" for "▁the". It
 * may be a part of a character. *len and NULL are as for tokenizer_token. */
const char *tokenizer_text(const struct tokenizer *t, uint32_t id, size_t *len);
int tokenizer_is_special(const struct tokenizer *t,
                         uint32_t id); /* 0, too, if id is out of range */
/* Returns the id of the token with exactly these bytes, -1 if there is none. */
int64_t tokenizer_find(const struct tokenizer *t, const char *bytes, size_t n);

/* Appends the text of the tokens ids[0..n) to `out`; it need not be valid UTF-8. With WordPiece, a
 * space is put before each token that begins a word, as Hugging Face's decoder does. Ids in range
 * that have no token are left out; so are special tokens if `skip` is 1. Returns 0, or -1 with an
 * error if an id is out of range or the decoder needs too much memory or time. */
int tokenizer_decode(const struct tokenizer *t, const uint32_t *ids, size_t n, int skip,
                     struct buf *out);

struct encoder *encoder_new(const struct tokenizer *t); /* t borrowed */
void encoder_free(struct encoder *e);

/* Appends the ids of text[0..n) to `out`. U+FFFD replaces each maximal subpart of invalid UTF-8, as
 * with Python's errors="replace". Returns 0, or -1 with an error only if the text cannot be
 * encoded, for example because the vocabulary lacks a byte; `out` may then have got some ids. */
int encoder_encode(struct encoder *e, const char *text, size_t n, enum tokenizer_special special,
                   struct ids *out);

/* Appends the tokens of text[0..n) to `out`, with their ranges in code points, as Hugging Face's
 * tokenizers report them. The text must be valid UTF-8 of at most 1 GiB. A token's range leaves out
 * characters at its sides that normalization drops. It also leaves out spaces if the vocabulary's
 * post-processor says so. A character that is split between tokens is in the range of each of them.
 * cut/origins.h has the rules for normalized text. Returns 0, or -1 with an error. */
int encoder_encode_places(struct encoder *e, const char *text, size_t n,
                          enum tokenizer_special special, struct placed *out);

/* Converts the ranges of the tokens from `first` on, which lie in text[0..n), from code points to
 * bytes. */
void encoder_places_in_bytes(const char *text, size_t n, struct placed *p, size_t first);

/* Appends to `out` the ids of one text (b is NULL) or of a pair of texts, with the special tokens
 * that the vocabulary puts around them. Appends the token type of each of these ids to `types`,
 * unless it is NULL. `a` and `b` are ids from encoder_encode. */
void tokenizer_assemble(const struct tokenizer *t, const struct ids *a, const struct ids *b,
                        struct ids *out, struct ids *types);

/* Appends to `out` the special tokens that the vocabulary puts before a text, such as Llama's <s>.
 */
void tokenizer_begin_text(const struct tokenizer *t, struct ids *out);

/* Appends the tokens `a` of a text, with special tokens around them as in tokenizer_assemble, to
 * *out. The special tokens get the range 0, 0. */
void tokenizer_assemble_places(const struct tokenizer *t, const struct placed *a,
                               struct placed *out);

/* Cuts the text (after its normalization) into pieces that are encoded independently, and calls
 * `put` with each piece; special tokens are ordinary text, other added tokens are left out. Returns
 * 0, or -1 if `put` returns less than 0 or if there is an error as for encoder_encode. */
int encoder_pieces(struct encoder *e, const char *text, size_t n,
                   int (*put)(void *ctx, const char *piece, size_t n), void *ctx);

/* Returns the number of bytes of invalid UTF-8 that the encoder has replaced since it was made. */
uint64_t encoder_replaced(const struct encoder *e);
