/*
 * words.h - cuts a text into words and punctuation marks.
 *
 * White space separates chunks. A chunk loses marks at its begin and end, each of which is a word
 * of its own, and is divided at hyphens and similar marks between letters: "(well-known)," gives (
 * well
 * - known ) , in this order. Runs of periods stay together. English contractions are divided ("do"
 * "n't"), and abbreviations keep their period ("Mr."); addresses of the web stay whole. These are
 * the conventions of Penn Treebank and of spaCy's English tokenizer, by which published filters
 * count.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What a word is. */
enum {
    WORD_HAS_LETTER = 1, /* a character of category L */
    WORD_HAS_MORE = 2,   /* a character that is no punctuation mark (stops_is_mark, stops_is_end) */
    WORD_ENDS = 4,       /* one character, which may end a sentence (stops_is_end) */
    WORD_IS_MARKS = 8,   /* all characters have category P */
};

struct word {
    uint32_t at, bytes; /* where in the text */
    uint32_t chars, flags;
    uint64_t hash; /* of its bytes; stands for them, as two words share one with odds of 2^-64 */
};

struct words {
    struct word *list; /* in the order of the text */
    size_t count, cap;
    struct special *specials;        /* hash table of chunks with parts of their own */
    uint64_t *maybe;                 /* bits of hashes that may be in it */
    unsigned char *letters, *spaces; /* a bit for each byte of the text: ASCII's */
    size_t bits_cap;
    uint32_t *tails; /* working memory: lengths of marks at a chunk's end */
    size_t tails_cap;
    uint8_t ascii[128]; /* flags of words of one character */
};

void words_init(struct words *w);
void words_release(struct words *w);

/* Replaces the words by those of text[0..n); n < 2^32. The text may be any bytes. WORDS_PAD bytes
 * behind it must be readable. */
enum { WORDS_PAD = 8 };
void words_split(struct words *w, const char *text, size_t n);

/* Sets plain[i] to 1 if chunk i of the text is ASCII letters that stay one word, else to 0. ends[i]
 * is its end; one byte divides it from the next one. WORDS_PAD bytes behind the text must be
 * readable. */
void words_find_plain(struct words *w, const char *text, const uint32_t *ends, size_t count,
                      uint8_t *plain);

/* Returns 1 if the word of up to 8 bytes occurs. */
int words_has(const struct words *w, const char *word);

/* Returns the number of sentences in the words [from, to): one, and one more for each word after a
 * sentence's end that is no mark. */
size_t words_sentences(const struct words *w, size_t from, size_t to);
