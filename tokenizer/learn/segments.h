/*
 * segments.h - the parts of words inside which the pieces of a Unigram vocabulary are learned.
 *
 * A piece never crosses the end of a segment, so a division of a word into pieces is a division of
 * each of its segments. As in SentencePiece, a segment ends before each U+2581 (which stands for a
 * space), where the script changes (unicode.h), and at characters that are not in the alphabet,
 * which belong to no segment. Equal segments of different words are one segment.
 */
#pragma once

#include "tokenizer/learn/word_counts.h"

struct segment {
    uint32_t at, len; /* its characters are text[at..at+len) */
    uint64_t count;   /* number of its occurrences in the words */
};

struct segments {
    uint32_t *text; /* code points; a 0 follows each segment */
    size_t length;
    struct segment *items; /* in order of their bytes */
    size_t count;
    uint32_t *alphabet; /* code points, in rising order */
    size_t alphabet_count;
};

/* Cuts the words, which are valid UTF-8, into segments. The alphabet has the most frequent
 * characters of the words that together make up at least the share `coverage` of the text, but
 * never U+0000. Among equally frequent characters, smaller code points come first. Returns 0, or -1
 * with an error if the segments have 2^32 characters or more. */
int segments_cut(struct segments *s, const struct counted_words *words, double coverage);
void segments_release(struct segments *s);
