/*
 * seeds.h - the pieces from which a Unigram vocabulary is learned, and where they match.
 *
 * The seeds are all characters of the alphabet, and those longer substrings of the segments that
 * have the highest frequency times length (Kudo 2018, section 3.2). Of substrings that always occur
 * as the beginning of the same longer substring, only the longest is considered, so the candidates
 * are the nodes of the suffix tree. They are found by sorting all suffixes.
 *
 * The pieces that match at a place of the text form a chain: `longest` has the longest of them,
 * and each piece has a link to its longest proper prefix that is a piece. So no search structure
 * is needed to find the pieces while learning.
 */
#pragma once

#include "common/base/pool.h"
#include "tokenizer/learn/segments.h"

enum { SEEDS_NONE = UINT32_MAX, SEEDS_LENGTH_MAX = 64 };

struct seed {
    double probability, score; /* score: the logarithm of the probability */
    uint32_t prefix;           /* the longest other piece that begins this one; SEEDS_NONE: none */
    uint32_t length;           /* in characters */
};

/* The pieces, in alphabetical order of their code points. A prefix comes before longer pieces. */
struct seeds {
    struct seed *items;
    uint32_t *at; /* a place in the segments' text where each piece occurs */
    size_t count;
    uint32_t *longest; /* longest piece at each place of the text; SEEDS_NONE at segments' ends */
    size_t places;
};

/* Finds at most `most` pieces of 2 to `length_max` characters, and adds all characters. The
 * probability of a piece is proportional to its frequency times its length. Among equal
 * candidates, the first in alphabetical order are taken. */
void seeds_find(struct seeds *p, const struct segments *s, uint32_t length_max, size_t most,
                struct pool *pool);
void seeds_release(struct seeds *p);

/* Removes the pieces for which keep[i] is 0. Characters must be kept. */
void seeds_keep(struct seeds *p, const unsigned char *keep);
