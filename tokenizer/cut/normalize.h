/*
 * normalize.h - BERT's words: the text is cleaned and lower-cased, and cut at white space and
 * punctuation, in one pass.
 *
 * Hugging Face's rules, character by character: what is a control or private (general category
 * "Other", but for TAB LF CR) goes; a Chinese character is a word of its own; with strip_accents
 * the character is decomposed (NFD) and its non-spacing marks go; with lowercase what is left
 * becomes lower case; then white space ends a word, and each punctuation is one.
 *
 * Google's reference (tokenization.py) differs: tables of Unicode 14 where Hugging Face's are of
 * about version 8; private characters stay; lower case comes first, and a sigma that ends a word
 * is a final one; Chinese characters from U+2B820 on stand apart too, not only from U+2B920.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_NORMALIZE_H
#define TEXTMILL_TOKENIZER_CUT_NORMALIZE_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "tokenizer/cut/pieces.h"

struct bert_rules {
    int clean_text, chinese_chars, strip_accents, lowercase; /* as BertNormalizer names them */
    int google;                                              /* the reference's rules */
};

struct normalizer;
struct normalizer *normalizer_new(const struct bert_rules *rules);
void normalizer_free(struct normalizer *n);

/* A walk over the words of one text; belongs to one thread and may be used again. */
struct words;
struct words *words_new(const struct normalizer *n); /* n borrowed */
void words_free(struct words *w);
void words_begin(struct words *w, const char *text, size_t n); /* valid UTF-8, borrowed */

/* The next words: good until the next call, and at least 64 more bytes may be read behind each. Any
 * number of calls before the last may give none. */
int words_next(struct words *w, struct pieces *p); /* 1, 0 at the end of the text */

/* Hugging Face's BertNormalizer, step by step: appends the normalized text. Which steps are done
 * `rules` says. */
void normalize_text(struct buf *out, const char *text, size_t n, const struct bert_rules *rules);

#endif
