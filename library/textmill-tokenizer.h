/*
 * textmill-tokenizer.h - converts text to token ids and back, for programs in C and other
 * languages that can call C.
 *
 *     struct textmill_error why;
 *     struct textmill_tokens tokens;
 *     struct textmill_tokenizer *t = textmill_open("tokenizer.json", NULL, &why);
 *     uint64_t end = strlen(text);
 *     if (!t || textmill_encode(t, text, &end, 1, 0, 1, &tokens, &why) < 0)
 *         errx(1, "%s", why.text);
 *     ... tokens.ids[0..tokens.ends[0]) ...
 *     textmill_tokens_free(&tokens);
 *     textmill_close(t);
 *
 * A batch of texts is one string and an array of the offsets where the texts end, as in an Arrow
 * column. Text i is text[ends[i - 1]..ends[i]); the first text begins at 0. A batch of ids has the
 * same form. A single text is a batch of one.
 *
 * Any number of threads may use one tokenizer at the same time, but only one thread may open it,
 * and only one may close it, once. A call with `threads` > 1 starts threads that end with the
 * call; 0 means one thread per available processor. The result does not depend on the number of
 * threads.
 *
 * No function prints, exits or changes signal handlers. A function that fails returns -1 or NULL,
 * writes one line of text with the reason to *why, and sets no result. Running out of memory is
 * reported in the same way; the function may then leak the memory and the file that it held.
 * Violations of the rules in this header, such as the use of a closed tokenizer, are not detected.
 *
 * For a given vocabulary file, the ids are those of Hugging Face's tokenizers, tiktoken or
 * SentencePiece.
 */
#pragma once

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

/* Loads a vocabulary: a tokenizer.json, tekken.json, vocab.json with merges.txt, vocab.txt,
 * .tiktoken or SentencePiece .model file, a GGUF file, or a folder that holds one of the others.
 * `options` is NULL or a list of name=value, separated by commas. The names and values are those of
 * tokenize(1): pattern=cl100k, missing=drop, rules=google, case=cased. Returns NULL and sets *why
 * if this fails. */
TEXTMILL_API struct textmill_tokenizer *textmill_open(const char *path, const char *options,
                                                      struct textmill_error *why);
TEXTMILL_API void textmill_close(struct textmill_tokenizer *t); /* does nothing if t is NULL */

TEXTMILL_API uint32_t textmill_vocabulary_size(const struct textmill_tokenizer *t);

/* Returns the bytes of a token and sets *n to their number. Returns NULL if no token has this id.
 * The bytes stay valid until the tokenizer is closed. */
TEXTMILL_API const char *textmill_token(const struct textmill_tokenizer *t, uint32_t id, size_t *n);

/* Returns 1 if the id is that of a special token, such as <|endoftext|>; else 0. */
TEXTMILL_API int textmill_is_special(const struct textmill_tokenizer *t, uint32_t id);

/* textmill_find returns the id of the token with exactly these bytes, textmill_end_of_text the id
 * of the end-of-text token. Both return -1 if there is none. */
TEXTMILL_API int64_t textmill_find(const struct textmill_tokenizer *t, const char *bytes, size_t n);
TEXTMILL_API int64_t textmill_end_of_text(const struct textmill_tokenizer *t);

/* ---- encode -------------------------------------------------------------------------------- */

enum {
    TEXTMILL_SPECIAL = 1, /* spellings of special tokens, such as <|endoftext|>, become their ids */
    TEXTMILL_WRAP = 2,    /* put the vocabulary's special tokens, such as [CLS], around each text */
    TEXTMILL_STRICT = 4,  /* bytes that are not UTF-8 are an error, not replaced by U+FFFD */
    TEXTMILL_OFFSETS_CHARACTERS = 8, /* report each token's range in its text, in code points */
    TEXTMILL_OFFSETS_BYTES = 16,     /* or in bytes; the text must be UTF-8 for both */
};

struct textmill_tokens {
    uint32_t *ids;
    uint64_t *ends; /* the ids of text i are ids[ends[i - 1]..ends[i]) */
    uint64_t texts;
    uint32_t (*offsets)[2]; /* for each id, the begin and end of its range in its text, as Hugging
                               Face's tokenizers report them; 0, 0 for special tokens around the
                               text. NULL if not requested */
    uint64_t replaced;      /* bytes that were not UTF-8 */
};

/* Encodes a batch of `texts` texts into *out. Text i is the bytes ends[i - 1] to ends[i] - 1 of
 * `text`; text 0 begins at 0. The offsets in `ends` must not decrease. `how` is a combination of
 * the flags above. Returns 0, or -1 with *why set. The caller frees the result with
 * textmill_tokens_free. */
TEXTMILL_API int textmill_encode(struct textmill_tokenizer *t, const char *text,
                                 const uint64_t *ends, uint64_t texts, unsigned how, int threads,
                                 struct textmill_tokens *out, struct textmill_error *why);
/* As textmill_encode, for texts that need not lie one after another: text i begins at texts[i], and
 * has ends[i] - ends[i - 1] bytes (text 0: ends[0]). */
TEXTMILL_API int textmill_encode_texts(struct textmill_tokenizer *t, const char *const *texts,
                                       const uint64_t *ends, uint64_t count, unsigned how,
                                       int threads, struct textmill_tokens *out,
                                       struct textmill_error *why);
TEXTMILL_API void textmill_tokens_free(struct textmill_tokens *tokens);

/* ---- conversations ------------------------------------------------------------------------- */

enum textmill_chat_use {
    TEXTMILL_CHAT_LEARN, /* a conversation in which the assistant says nothing is an error */
    TEXTMILL_CHAT_READ,
    TEXTMILL_CHAT_ASK /* adds the beginning of the assistant's next message */
};

/* Encodes the conversation line[0..n), JSON as --chat of tokenize(1) reads it. `form` is a value of
 * --chat, such as "auto" or "chatml"; its first use checks it. out->ends has the positions in
 * out->ids where spans end: ids that are no labels, then labels (what the assistant says), and so
 * on. Returns 0, or -1 with *why set. The caller frees the result with textmill_tokens_free. */
TEXTMILL_API int textmill_encode_chat(struct textmill_tokenizer *t, const char *form,
                                      const char *line, size_t n, enum textmill_chat_use use,
                                      struct textmill_tokens *out, struct textmill_error *why);

/* ---- decode -------------------------------------------------------------------------------- */

enum { TEXTMILL_SKIP_SPECIAL = 32 /* leave out special tokens */ };

struct textmill_texts {
    char *bytes;    /* not always valid UTF-8, because a token may be a part of a character */
    uint64_t *ends; /* text i is bytes[ends[i - 1]..ends[i]) */
    uint64_t texts;
};

/* Decodes a batch of ids into *out. Text i has the ids ends[i - 1] to ends[i] - 1; text 0 begins at
 * 0. Ids in range that have no token are left out; an id that is not below
 * textmill_vocabulary_size is an error. `how` is 0 or TEXTMILL_SKIP_SPECIAL. Returns 0, or -1 with
 * *why set. The caller frees the result with textmill_texts_free. */
TEXTMILL_API int textmill_decode(struct textmill_tokenizer *t, const uint32_t *ids,
                                 const uint64_t *ends, uint64_t texts, unsigned how, int threads,
                                 struct textmill_texts *out, struct textmill_error *why);

/* Sets *out to one text: a tokenizer.json, which describes the whole vocabulary. Returns 0, or -1
 * with *why set. The caller frees the result with textmill_texts_free. */
TEXTMILL_API int textmill_json(const struct textmill_tokenizer *t, struct textmill_texts *out,
                               struct textmill_error *why);
TEXTMILL_API void textmill_texts_free(struct textmill_texts *texts);

#ifdef __cplusplus
}
#endif
