/*
 * words.h - cuts a text into words and punctuation marks.
 *
 * White space separates chunks. A chunk loses marks at its beginning and end, each of which is a
 * word of its own, and is divided at hyphens and similar marks between letters: "(well-known),"
 * gives "(", "well", "-", "known", ")" and ",", in this order. Runs of periods stay together.
 * English contractions are divided ("do" "n't"), and abbreviations keep their period ("Mr.");
 * addresses of the web stay whole. These are the conventions of Penn Treebank and of spaCy's
 * English tokenizer, by which published filters count.
 */
#pragma once

#include "common/base/base.h"

/* What a word is. Names in capitals are sets UNICODE_IS_* of unicode/unicode.h. */
enum {
    WORD_HAS_LETTER = 1, /* a character of category L */
    WORD_HAS_MORE = 2,   /* a character that is neither CCNET_PUNCTUATION nor SENTENCE_TERMINAL */
    WORD_ENDS = 4,       /* one character, which may end a sentence (SENTENCE_TERMINAL) */
    WORD_IS_MARKS = 8,   /* all characters have category P */
};

struct word {
    uint32_t at, bytes; /* where in the text */
    uint32_t chars, flags;
    uint64_t hash; /* stands for its bytes: two words share it with probability 2^-64 */
};

/* Hashes of runs of words are sums of the words' hashes times powers of this number. */
#define WORDS_BASE UINT64_C(0x9E3779B97F4A7C15)
static inline uint64_t words_power(size_t n)
{
    return n ? WORDS_BASE * words_power(n - 1) : 1;
}

struct words {
    struct word *list; /* in the order of the text */
    size_t count, cap;
    struct nameset *specials;        /* chunk_specials */
    uint64_t *maybe;                 /* one bit per hash; 0: no such chunk is in the set */
    unsigned char *letters, *spaces; /* bit i: byte i of the text is an ASCII letter, a space */
    size_t bits_cap;
    uint32_t *tails; /* working memory: lengths of marks at a chunk's end */
    size_t tails_cap;
    uint8_t ascii[128]; /* flags of a word of one ASCII character */
};

void words_init(struct words *w);
void words_release(struct words *w);

/* Replaces the words by those of text[0..n); n < 2^32. The text may be any bytes. WORDS_PAD bytes
 * after it must be readable. */
enum { WORDS_PAD = 8 };
void words_split(struct words *w, const char *text, size_t n);

/* Returns 1 if the word of up to 8 bytes occurs. */
int words_has(const struct words *w, const char *word);

/* Returns the end of the sentence that begins with word `from`, at most `to`. It ends after a mark
 * such as "." and the marks that follow. words_sentences returns the number of sentences. */
size_t words_sentence(const struct words *w, size_t from, size_t to);
size_t words_sentences(const struct words *w, size_t from, size_t to);
