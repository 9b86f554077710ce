/*
 * bzpiece.h - cuts a bzip2 file into pieces before every block or end-of-stream marker.
 *
 * Blocks begin at any bit, and only a marker shows where (bzblock.h). A piece holds the bits from
 * one marker to the next. Normally it is one block. Rarely the next marker is only data inside the
 * block; the block then continues in the following piece.
 *
 *     struct bzcutter c = { .pull = ..., .ctx = ... };
 *     struct bzpiece p = { 0 };
 *     while (bzpiece_cut(&c, &p))
 *         ...
 *     bzpiece_release(&p);
 *     bzcutter_release(&c);
 *
 * Bit positions count from the first bit of the file, the highest bit of a byte first.
 */
#pragma once

#include "wikiprep/input/bzblock.h"

enum bzpiece_kind {
    /* Begins with no marker: the start of the file, or the rest of an overlong piece. */
    BZPIECE_PLAIN,
    BZPIECE_BLOCK, /* begins with a block marker */
    BZPIECE_END    /* begins with an end-of-stream marker */
};

/* Bits [begin, end) of the file. bzpiece_cut may be called again with the same struct: it then
 * reuses the memory of `packed`. */
struct bzpiece {
    enum bzpiece_kind kind;
    uint64_t begin, end;
    uint8_t *packed; /* the bytes that contain these bits, then BZBLOCK_SPARE zeros */
    size_t cap;
    struct bzblock block; /* the block in these bits, for bzblock_decode */
    int done;             /* for the caller: no thread works on it any more */
};

struct bzcutter {
    /* Stores up to n more compressed bytes. Returns their number, 0 at the end, or -1 with the
     * error set. */
    int64_t (*pull)(void *ctx, void *bytes, size_t n);
    void *ctx;

    uint8_t *data; /* bytes [offset, offset + len) of the file */
    size_t len, cap;
    uint64_t offset;
    uint64_t begin; /* bit position of the next piece */
    enum bzpiece_kind kind;
    int ended;
    char *error; /* error of a failed pull, which ends the input; or NULL */
};

/* Cuts the next piece, of at most 4 MiB, into *p. Returns 1, or 0 if there are no more. */
int bzpiece_cut(struct bzcutter *c, struct bzpiece *p);
void bzcutter_release(struct bzcutter *c);

/* Appends the piece that follows p in the file to p. */
void bzpiece_join(struct bzpiece *p, const struct bzpiece *next);

/* Sets p->block to bits [begin, end) of the file, for decoding. After bzpiece_cut and bzpiece_join
 * it covers the whole piece. */
void bzpiece_set_block(struct bzpiece *p, uint64_t begin, uint64_t end);

/* Finds the first marker at or after bit `from`. Returns its bit position, or UINT64_MAX if the
 * piece has none. *magic is set to the marker found. */
uint64_t bzpiece_find(const struct bzpiece *p, uint64_t from, uint64_t *magic);

/* Returns the offset of packed[0] in the file, in bytes. */
static inline uint64_t bzpiece_offset(const struct bzpiece *p)
{
    return p->begin / 8;
}

void bzpiece_release(struct bzpiece *p);
