/*
 * bzcode.h - a canonical Huffman code of a bzip2 block.
 *
 * Its symbols are the digits 1 and 2 of a run length (symbols 0 and 1), the positions 1 to 255 in a
 * move-to-front list, and the end mark.
 */
#pragma once

#include "common/base/base.h"

enum {
    BZCODE_SYMBOLS = 258,   /* maximum: two digits, 255 positions, the end mark */
    BZCODE_LENGTH_MAX = 20, /* bits of a code word */
    BZCODE_FAST = 10        /* bits per lookup in the table `fast` */
};

/* Encoding of a decoded symbol in 16 bits: the value (digit or position) << 8, BZCODE_PLACE if it
 * is a position, and the length of its code word. The end mark is the position after the last. */
enum { BZCODE_PLACE = 1 << 7, BZCODE_LENGTH = 63 };

/* Decoding tables. `fast` decodes code words of up to BZCODE_FAST bits. For a longer length,
 * `limit` is the first value too large for a word of that length, in the top BZCODE_LENGTH_MAX
 * bits. */
struct bzcode {
    uint16_t fast[1 << BZCODE_FAST]; /* 0: longer word, end mark, or no word */
    uint32_t limit[BZCODE_LENGTH_MAX + 1];
    /* index in `sorted` of the first symbol of each length, minus the code word of that symbol */
    uint16_t first[BZCODE_LENGTH_MAX + 1];
    uint16_t sorted[BZCODE_SYMBOLS]; /* symbols in order of code length */
};

/* Builds the tables from the code lengths of `symbols` symbols. Returns 0, or -1, without an error
 * set, if the lengths are impossible: too many words. Unused words are allowed; a block that
 * contains one is bad. */
int bzcode_make(struct bzcode *c, const uint8_t *lengths, int symbols);

/* Returns the symbol whose code word is at the top of `bits`, of any length; 0 if there is none. */
unsigned bzcode_find(const struct bzcode *c, uint64_t bits);
