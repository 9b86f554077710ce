/*
 * textmill-tokenizer.h - text to token ids and back, for programs in C and for whatever calls C.
 *
 *     struct textmill_error why;
 *     struct textmill_tokens tokens;
 *     struct textmill_tokenizer *t = textmill_open("tokenizer.json", NULL, &why);
 *     uint64_t end = strlen(text);
 *     if (!t || textmill_encode(t, text, &end, 1, 0, 1, &tokens, &why) < 0)
 *         fprintf(stderr, "%s\n", why.text);
 *     ... tokens.ids[0..tokens.ends[0]) ...
 *     textmill_tokens_free(&tokens);
 *     textmill_close(t);
 *
 * A batch of texts is one string with the places where each text ends, as in an Arrow column, and
 * so is a batch of ids: text i is text[ends[i - 1]..ends[i]), and the first begins at 0. One text
 * is a batch of one.
 *
 * Any number of threads may use a tokenizer at the same time; open and close it once. A call with
 * several `threads` starts them for its own time; 0 stands for the processors there are. The
 * result is the same for any number.
 *
 * No function prints, exits or changes signal handlers. A function that fails returns -1 or NULL,
 * says why in one line of text, and sets no result. When memory runs out it fails like that, too;
 * it may then keep the memory and the file that it held. Broken rules of this header, such as a
 * tokenizer that was closed, are not detected.
 *
 * The ids are those of Hugging Face's tokenizers, tiktoken and SentencePiece for their files.
 */
#ifndef TEXTMILL_LIBRARY_TEXTMILL_TOKENIZER_H
#define TEXTMILL_LIBRARY_TEXTMILL_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEXTMILL_API __attribute__((visibility("default")))

struct textmill_error {
    char text[1024];
};

/* ---- a vocabulary -------------------------------------------------------------------------- */

struct textmill_tokenizer;

/* Reads a tokenizer.json, vocab.json with merges.txt, vocab.txt, .tiktoken or SentencePiece .model
 * file, or a folder that holds one. `options` is NULL, or name=value with commas between them, with
 * the names and values that tokenize(1) has: pattern=cl100k, missing=drop, rules=google,
 * case=cased. */
TEXTMILL_API struct textmill_tokenizer *textmill_open(const char *path, const char *options,
                                                      struct textmill_error *why);
TEXTMILL_API void textmill_close(struct textmill_tokenizer *t); /* NULL is fine */

TEXTMILL_API uint32_t textmill_vocabulary_size(const struct textmill_tokenizer *t);

/* The bytes of a token, *n of them; NULL if no token has this id. They stay until the close. */
TEXTMILL_API const char *textmill_token(const struct textmill_tokenizer *t, uint32_t id, size_t *n);

/* The id of the token with exactly these bytes, or of the end of a text; -1: there is none. */
TEXTMILL_API int64_t textmill_find(const struct textmill_tokenizer *t, const char *bytes, size_t n);
TEXTMILL_API int64_t textmill_end_of_text(const struct textmill_tokenizer *t);

/* ---- encode -------------------------------------------------------------------------------- */

enum {
    TEXTMILL_SPECIAL = 1, /* spellings of special tokens, such as <|endoftext|>, become their ids */
    TEXTMILL_WRAP = 2,    /* put the vocabulary's special tokens, such as [CLS], around each text */
    TEXTMILL_STRICT = 4,  /* bytes that are not UTF-8 are an error; else U+FFFD stands for them */
    TEXTMILL_OFFSETS_CHARACTERS = 8, /* say where in its text each token is: in code points */
    TEXTMILL_OFFSETS_BYTES = 16,     /* or in bytes; not with TEXTMILL_SPECIAL */
};

struct textmill_tokens {
    uint32_t *ids;
    uint64_t *ends; /* text i has ids[ends[i - 1]..ends[i]) */
    uint64_t texts;
    uint32_t (*offsets)[2]; /* of each id where it begins and ends in its text, as Hugging Face has
                             * it; 0, 0 for tokens around the text. NULL: not asked for */
    uint64_t replaced;      /* bytes that were not UTF-8 */
};

/* Encodes a batch of texts. `ends` must not fall. `how` is a sum of the names above. */
TEXTMILL_API int textmill_encode(struct textmill_tokenizer *t, const char *text,
                                 const uint64_t *ends, uint64_t texts, unsigned how, int threads,
                                 struct textmill_tokens *out, struct textmill_error *why);
TEXTMILL_API void textmill_tokens_free(struct textmill_tokens *tokens);

/* ---- decode -------------------------------------------------------------------------------- */

enum { TEXTMILL_SKIP_SPECIAL = 32 /* leave out special tokens */ };

struct textmill_texts {
    char *bytes;    /* which need not be valid UTF-8 where tokens are parts of characters */
    uint64_t *ends; /* text i is bytes[ends[i - 1]..ends[i]) */
    uint64_t texts;
};

/* Decodes a batch of ids; an id that no token has is an error. */
TEXTMILL_API int textmill_decode(struct textmill_tokenizer *t, const uint32_t *ids,
                                 const uint64_t *ends, uint64_t texts, unsigned how, int threads,
                                 struct textmill_texts *out, struct textmill_error *why);
TEXTMILL_API void textmill_texts_free(struct textmill_texts *texts);

#ifdef __cplusplus
}
#endif

#endif
