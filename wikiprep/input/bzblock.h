/*
 * bzblock.h - decodes one block of a bzip2 stream and checks its CRC.
 *
 *     48 bits  magic: 0x314159265359 (a stream ends with 0x177245385090 and its checksum)
 *     32       CRC of the block's bytes
 *      1       randomised: set by bzip2 0.9.0 and older; such blocks are refused
 *     24       row of the original text among the sorted rotations
 *     16 + ..  which of the 256 byte values occur
 *      3 15 .. two to six Huffman codes, and the code of each group of 50 symbols
 *     ..       the symbols, up to the end mark
 *
 * A symbol is part of a run length for the byte at the front of a move-to-front list, or a position
 * in that list. Decoded, the symbols give the last column of the sorted rotations of the text, from
 * which the inverse Burrows-Wheeler transform (Burrows and Wheeler 1994; bzchain.h) restores the
 * text. In that text, four equal bytes are followed by a count of further equal bytes (bzrun.h).
 */
#pragma once

#include "common/base/base.h"

#define BZBLOCK_BEGIN      UINT64_C(0x314159265359)
#define BZBLOCK_STREAM_END UINT64_C(0x177245385090)

enum {
    BZBLOCK_MAX = 900000, /* bytes of a block before runs are expanded: 100000 per level */
    BZBLOCK_SPARE = 8     /* bytes after `packed` that must be readable */
};

enum bzblock_state {
    BZBLOCK_GOOD,
    BZBLOCK_CUT, /* the input ends before the block does */
    BZBLOCK_BAD
};

struct bzblock {
    const uint8_t *packed; /* borrowed; BZBLOCK_SPARE further bytes may be read */
    uint64_t begin, end;   /* bit positions in `packed`: start of the magic, end of the input */

    /* Set by bzblock_decode: */
    enum bzblock_state state;
    const char *why; /* for BZBLOCK_BAD: the reason */
    uint64_t after;  /* position of the first bit after the block */
    uint32_t crc;
    /* The text, its runs not yet expanded. The caller provides BZBLOCK_MAX bytes. */
    uint8_t *bytes;
    size_t count;
};

/* Decoding tables of one thread; see bzchain.h. */
struct bzblock_tables *bzblock_tables_new(void);
void bzblock_tables_free(struct bzblock_tables *t);

/* Decodes a block and checks its CRC. */
void bzblock_decode(struct bzblock_tables *t, struct bzblock *b);

/* Returns n bits (at most 32) of packed[], starting at bit `at`; the first bit is the highest. */
uint32_t bzblock_bits(const uint8_t *packed, uint64_t at, int n);

/* Finds the first block header or end-of-stream marker whose first bit lies in [from, to). Returns
 * its bit position, or UINT64_MAX if there is none. *magic is set to the marker found. */
uint64_t bzblock_find(const uint8_t *packed, uint64_t from, uint64_t to, uint64_t *magic);
