/*
 * chunk.h - the marks at which a chunk of text, which has no white space, is divided into words.
 *
 * The rules are those of spaCy's English tokenizer (version 3.8), found from its behaviour: which
 * marks are cut off the beginning and the end, at which marks between letters or digits a chunk is
 * cut, which chunks are exceptions.
 */
#pragma once

#include "common/files/nameset.h"

/* Classes of bytes. */
enum {
    CHUNK_LETTER = 1, /* of ASCII */
    CHUNK_LOWER = 2,
    CHUNK_SPACE = 4,
    CHUNK_TAIL = 32, /* a mark that comes off at the end */
};
extern const uint8_t chunk_classes[256];

/* Returns the number of ASCII letters at the beginning of the 8 bytes x. */
static inline size_t chunk_letters(uint64_t x)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = 0x80 * ones;
    uint64_t y = (x | 0x20 * ones) & ~high;
    uint64_t others = ~((y + 0x1F * ones) & ~(y + 0x05 * ones) & ~x) & high; /* no a <= y <= z */
    return others ? (size_t)__builtin_ctzll(others) / 8 : 8;
}

/* Returns the exceptions. The value of each is the lengths of its parts, up to CHUNK_PARTS, and 0
 * for each missing one. A chunk that stays whole has one part. The caller frees the set. */
enum { CHUNK_PARTS = 4 };
struct nameset *chunk_specials(void);

/* Return the length of the mark that is cut off the beginning, or the end, of s[0..n); 0: none. */
size_t chunk_prefix(const char *s, size_t n);
size_t chunk_suffix(const char *s, size_t n);

/* Finds the next mark from byte *at of s[0..n) on at which the chunk is cut. Returns its bytes and
 * sets *at to its place, or returns 0 if there is none. */
size_t chunk_infix(const char *s, size_t n, size_t *at);

/* Returns 1 if s[0..n) is an address of the web or of mail. */
int chunk_is_address(const char *s, size_t n);
