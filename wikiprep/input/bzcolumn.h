/*
 * bzcolumn.h - decodes the symbols of a bzip2 block to the last column of the sorted rotations.
 *
 * A symbol is a digit of a run length, or a position in a move-to-front list of bytes. The digits
 * are 1 and 2, in base 2, lowest first. A run repeats the byte at the front of the list. Each group
 * of 50 symbols uses one of up to six Huffman codes.
 *
 * A group is decoded in two steps. First its symbols become positions, each with the length of the
 * run that follows it, without branches. Then each position moves its byte to the front of the
 * list, and the byte is written with its run.
 */
#pragma once

#include "wikiprep/input/bzbits.h"
#include "wikiprep/input/bzchain.h"
#include "wikiprep/input/bzcode.h"

enum {
    BZCOLUMN_GROUP = 50, /* symbols per group; a group uses one code */
    BZCOLUMN_CODES = 6,
    BZCOLUMN_GROUPS_MAX = BZCHAIN_MAX / BZCOLUMN_GROUP + 2
};

struct bzcolumn {
    struct bzcode codes[BZCOLUMN_CODES];
    uint8_t choice[BZCOLUMN_GROUPS_MAX]; /* index of the code of each group */
    int groups;
    uint8_t alphabet[256];      /* the byte values that occur, ascending */
    int used;                   /* number of bytes in `alphabet` */
    struct bzchain_column last; /* set by bzcolumn_read; it may have no bytes */
    uint8_t memory[BZCHAIN_MAX + 128];
};

/* Reads symbols up to the end mark. Returns NULL, or a sentence that says what is wrong. */
const char *bzcolumn_read(struct bzcolumn *c, struct bzbits *in);
