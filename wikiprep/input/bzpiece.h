/*
 * bzpiece.h - a bzip2 file, cut before every magic number.
 *
 * Blocks begin at any bit, and nothing says where but their magic (bzblock.h). A piece holds the
 * bits from one magic to the next, and is a block as a rule; now and then the next magic is data,
 * and the piece wants the one behind it, too.
 *
 *     struct bzcutter c = { .pull = ..., .ctx = ... };
 *     struct bzpiece p = { 0 };
 *     while (bzpiece_cut(&c, &p))
 *         ...
 *     bzpiece_release(&p);
 *     bzcutter_release(&c);
 *
 * Bits are counted from the file's first, the highest of a byte first.
 */
#ifndef TEXTMILL_WIKIPREP_INPUT_BZPIECE_H
#define TEXTMILL_WIKIPREP_INPUT_BZPIECE_H

#include <stddef.h>
#include <stdint.h>

#include "wikiprep/input/bzblock.h"

enum bzpiece_kind {
    BZPIECE_PLAIN, /* begins with no magic: the file's first bytes, and the rest of what is too long
                    */
    BZPIECE_BLOCK, /* with a block's */
    BZPIECE_END    /* with that of a stream's end */
};

/* Bits [begin, end) of the file. Reused by the next bzpiece_cut. */
struct bzpiece {
    enum bzpiece_kind kind;
    uint64_t begin, end;
    uint8_t *packed; /* the bytes that hold them, BZBLOCK_SPARE zeros behind */
    size_t cap;
    struct bzblock block; /* over these bits, to be decoded */
    int done;             /* the caller's: nobody works on it any more */
};

struct bzcutter {
    /* Gives up to n more packed bytes: how many, 0 at the end, -1 with the error set. */
    int64_t (*pull)(void *ctx, void *bytes, size_t n);
    void *ctx;

    uint8_t *data; /* bytes [offset, offset + len) of the file */
    size_t len, cap;
    uint64_t offset;
    uint64_t begin; /* bit of the file where the next piece begins, of this kind */
    enum bzpiece_kind kind;
    int ended;
    char *error; /* of a failed pull, which ends the file; or NULL */
};

/* The next piece, of 4 MiB at most: 1, or 0 when there are no more. */
int bzpiece_cut(struct bzcutter *c, struct bzpiece *p);
void bzcutter_release(struct bzcutter *c);

/* Adds the piece that follows p in the file. */
void bzpiece_join(struct bzpiece *p, const struct bzpiece *next);

/* Makes p->block the block in bits [begin, end) of the file, to be decoded; as cut and joined, it
 * is the whole piece. */
void bzpiece_set_block(struct bzpiece *p, uint64_t begin, uint64_t end);

/* The first magic at or behind a bit: where, or UINT64_MAX when there is none in the piece. */
uint64_t bzpiece_find(const struct bzpiece *p, uint64_t from, uint64_t *magic);

/* Where packed[0] stands in the file. */
static inline uint64_t bzpiece_offset(const struct bzpiece *p)
{
    return p->begin / 8;
}

void bzpiece_release(struct bzpiece *p);

#endif
