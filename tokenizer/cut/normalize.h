/*
 * normalize.h - cuts text into BERT's words: cleans it, converts it to lower case, and cuts it at
 * white space and punctuation, in one pass.
 *
 * Hugging Face's rules, for each character: Control and private characters (general category
 * "Other", except TAB LF CR) are dropped. A Chinese character is a word by itself. With
 * strip_accents, the character is decomposed (NFD) and its non-spacing marks are dropped. With
 * lowercase, the remaining characters become lower case. Then white space ends a word, and each
 * punctuation character is a word.
 *
 * Google's reference (tokenization.py) differs: It uses tables of Unicode 14; Hugging Face's are
 * of about version 8. It keeps private characters. It converts to lower case first, and a sigma at
 * the end of a word becomes a final sigma. Chinese characters from U+2B820 on are words, not only
 * those from U+2B920 on.
 */
#pragma once

#include "tokenizer/cut/pieces.h"

struct bert_rules {
    int clean_text, chinese_chars, strip_accents, lowercase; /* the options of BertNormalizer */
    int google; /* use the rules of Google's reference */
};

struct normalizer;
struct normalizer *normalizer_new(const struct bert_rules *rules); /* copies *rules */
void normalizer_free(struct normalizer *n);

/* An iteration over the words of one text. It belongs to one thread and can be reused for other
 * texts. */
struct words;
struct words *words_new(const struct normalizer *n); /* n borrowed */
void words_free(struct words *w);
void words_begin(struct words *w, const char *text, size_t n); /* valid UTF-8, borrowed */

/* Sets *p to some of the next words and returns 1, or returns 0 at the end of the text. The words
 * are valid until the next call. At least 64 more bytes may be read after each word. A call before
 * the end of the text may return 1 with no words. */
int words_next(struct words *w, struct pieces *p);

/* Steps of Hugging Face's BertNormalizer; both append the changed text. normalize_clean drops
 * control characters and writes U+0020 for white space; normalize_space_chinese puts spaces around
 * Chinese characters. */
void normalize_clean(struct buf *out, const char *text, size_t n);
void normalize_space_chinese(struct buf *out, const char *text, size_t n);
