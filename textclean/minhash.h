/*
 * minhash.h - signatures that are similar for similar texts (Broder 1997), and their bands.
 *
 * A shingle is a run of words, or of characters, of the normal form of a text (normal.h), with x
 * its XXH64. Permutation i is
 *
 *     h_i(x) = ((a_i x + b_i) mod 2^64) mod (2^61 - 1)
 *
 * and number i of the signature is the least h_i(x) of all shingles. a and b are drawn as NumPy's
 * RandomState(seed) draws integers from [1, 2^61 - 1) and [0, 2^61 - 1). Two texts share number i
 * with the probability s, the share of shingles that they have in common (Jaccard). Documents are
 * candidates if a band of r numbers is equal; with b bands the probability is 1 - (1 - s^r)^b.
 *
 * Arithmetic and words are those of datatrove 0.10.
 */
#pragma once

#include "textclean/normal.h"
#include "textclean/words.h"

struct minhash {
    size_t shingle; /* words, or characters, of a shingle */
    int characters; /* 1: shingles are of characters */
    size_t bands, rows;
    size_t count;    /* numbers of a signature: bands x rows */
    uint64_t *a, *b; /* [count], padded to a multiple of 8 */
};

/* Sets count, a and b from the other fields. minhash_release frees a and b. */
void minhash_init(struct minhash *m, uint32_t seed);
void minhash_release(struct minhash *m);

/* Working memory for one thread. */
struct minhash_tools {
    struct normal normal;
    struct words words;
    struct buf joined; /* the words, with blanks between them */
    uint32_t *ends;    /* ends[i]: where word i - 1 ends in `joined`; ends[0] is -1 */
    size_t ends_cap;
    uint64_t *shingles, *signature;
    size_t shingles_cap;
};
void minhash_tools_init(struct minhash_tools *t, const struct minhash *m);
void minhash_tools_release(void *tools);

/* Sets t->signature to that of text[0..n), n < 2^30. Returns the number of shingles; 0: the text is
 * shorter than a shingle, and has no signature. */
size_t minhash_sign(const struct minhash *m, struct minhash_tools *t, const char *text, size_t n);

/* Returns the hash of a band of t->signature and of the band's number. */
uint64_t minhash_band(const struct minhash *m, const struct minhash_tools *t, size_t band);
