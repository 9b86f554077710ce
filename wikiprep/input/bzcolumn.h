/*
 * bzcolumn.h - the symbols of a bzip2 block: from bits to the last column of the sorted rotations.
 *
 * A symbol is a digit of a run's length, or a place in a move-to-front list of bytes. Digits to the
 * base 2 have the values 1 and 2, the lowest comes first; a run repeats the byte at the list's
 * front. Each 50 symbols have one of six Huffman codes.
 *
 * A group of 50 becomes places, each with the run that follows it, without a branch. Then each
 * place moves a byte to the front, and is written with its run.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_BZCOLUMN_H
#define TEXTMILL_WIKIPREP_INPUT_BZCOLUMN_H

#include <stddef.h>
#include <stdint.h>

#include "wikiprep/input/bzbits.h"
#include "wikiprep/input/bzcode.h"

enum {
    BZCOLUMN_MAX = 900000, /* bytes */
    BZCOLUMN_GROUP = 50,   /* symbols that share a code */
    BZCOLUMN_CODES = 6,
    BZCOLUMN_GROUPS_MAX = BZCOLUMN_MAX / BZCOLUMN_GROUP + 2
};

struct bzcolumn {
    struct bzcode codes[BZCOLUMN_CODES];
    uint8_t choice[BZCOLUMN_GROUPS_MAX]; /* the code of each group */
    int groups;
    uint8_t alphabet[256]; /* the bytes that occur, in order */
    int used;              /* how many */

    /* What is found: */
    size_t count;         /* of the column's bytes */
    uint32_t occurs[256]; /* how often each byte is in it */
    size_t middle;        /* somewhere about its middle, or the end */
    uint32_t before[256]; /* how often each byte is in front of the middle */
    uint8_t *bytes;
    uint8_t memory[BZCOLUMN_MAX + 128];
};

/* Reads up to the end mark: NULL, or what is wrong, a sentence. */
const char *bzcolumn_read(struct bzcolumn *c, struct bzbits *in);

/* The same without the instructions that not all processors have. */
const char *bzcolumn_read_portable(struct bzcolumn *c, struct bzbits *in);

#endif
