/*
 * bzblock.h - one block of a bzip2 stream: from bits to bytes, checked.
 *
 *     48 bits  magic: 0x314159265359 (a stream ends with 0x177245385090 and its checksum)
 *     32       CRC of the block's bytes
 *      1       randomised: by bzip2 0.9.0 and older; refused
 *     24       where the first byte stands in the sorted block
 *     16 + ..  which of the 256 bytes occur
 *      3 15 .. two to six Huffman codes, and which of them codes each 50 symbols
 *     ..       the symbols, up to the end mark
 *
 * Symbols are runs of the front of a move-to-front list, or places in it; they spell the last
 * column of the sorted rotations (Burrows and Wheeler 1994). Following each of its bytes to its
 * place in the first column spells the block backwards in sorting order, that is, forwards here;
 * in that text four equal bytes are followed by a count of more of the same.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_BZBLOCK_H
#define TEXTMILL_WIKIPREP_INPUT_BZBLOCK_H

#include <stddef.h>
#include <stdint.h>

#define BZBLOCK_BEGIN      UINT64_C(0x314159265359)
#define BZBLOCK_STREAM_END UINT64_C(0x177245385090)

enum {
    BZBLOCK_MAX = 900000, /* bytes of a block before runs are expanded: 100000 a level */
    BZBLOCK_SPARE = 8     /* readable bytes behind packed ones */
};

enum bzblock_state {
    BZBLOCK_GOOD,
    BZBLOCK_CUT, /* the bits end before the block does */
    BZBLOCK_BAD
};

struct bzblock {
    const uint8_t *packed; /* borrowed; BZBLOCK_SPARE bytes more may be read */
    uint64_t begin, end;   /* bits of `packed`: where the magic begins, and where the bits end */

    /* What bzblock_decode found: */
    enum bzblock_state state;
    const char *why; /* it is BAD: a sentence */
    uint64_t after;  /* bit behind the block */
    uint32_t crc;
    uint8_t *bytes; /* the caller's, BZBLOCK_MAX: the text, with its runs not yet expanded */
    size_t count;
};

/* Tables for one thread: see bzchain.h. */
struct bzblock_tables *bzblock_tables_new(void);
void bzblock_tables_free(struct bzblock_tables *t);

/* Decodes a block and checks its CRC. */
void bzblock_decode(struct bzblock_tables *t, struct bzblock *b);

/* n bits (at most 32) of packed[], first bit highest. */
uint32_t bzblock_bits(const uint8_t *packed, uint64_t at, int n);

/* The first magic, of a block or of a stream's end, in bits [from, to): where it begins, or
 * UINT64_MAX. *magic tells which. */
uint64_t bzblock_find(const uint8_t *packed, uint64_t from, uint64_t to, uint64_t *magic);

#endif
