/*
 * bzcode.h - a canonical Huffman code of a bzip2 block.
 *
 * Its symbols are the digits 1 and 2 of a run's length (symbols 0 and 1), the places 1 to 255 in a
 * move-to-front list, and the end mark.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_BZCODE_H
#define TEXTMILL_WIKIPREP_INPUT_BZCODE_H

#include <stdint.h>

enum {
    BZCODE_SYMBOLS = 258,   /* at most: two digits, 255 places, the end */
    BZCODE_LENGTH_MAX = 20, /* bits of a code word */
    BZCODE_FAST = 10        /* bits that are looked up at once */
};

/* A symbol: its value (a digit's or a place's) << 8 | BZCODE_PLACE if it is no digit | the length
 * of its code word. The end mark is the place behind the last. */
enum { BZCODE_PLACE = 1 << 7, BZCODE_LENGTH = 63 };

/* Code words of up to BZCODE_FAST bits are looked up in `fast`; for longer ones, `limit` is the
 * first word of each length that is too large, from the top of BZCODE_LENGTH_MAX bits. */
struct bzcode {
    uint16_t fast[1 << BZCODE_FAST]; /* 0: a longer word, the end mark, or no word at all */
    uint32_t limit[BZCODE_LENGTH_MAX + 1];
    uint16_t
        first[BZCODE_LENGTH_MAX + 1]; /* place in `sorted` of the length's first, less its word */
    uint16_t sorted[BZCODE_SYMBOLS];  /* symbols by length */
};

/* -1 when there are more words than fit. Words may be missing: a block that uses one is bad. */
int bzcode_make(struct bzcode *c, const uint8_t *lengths, int symbols);

/* The symbol whose word stands at the top of `bits`, whatever its length; 0: no word. */
unsigned bzcode_find(const struct bzcode *c, uint64_t bits);

#endif
