/*
 * ascii.h - classifies 64 bytes of text at a time. The results are bit masks: bit i describes byte
 * i.
 *
 * Uses AVX-512, AVX2 or plain C, depending on the processor.
 */
#pragma once

#include "common/base/base.h"
#include "common/base/simd.h"

enum {
    ASCII_BLOCK = 64,
    ASCII_AHEAD = 1024, /* text is prefetched so many bytes ahead */
};

struct ascii_masks {
    uint64_t letters, digits;
    uint64_t spaces;   /* TAB LF VT FF CR and space */
    uint64_t blanks;   /* the space alone */
    uint64_t quotes;   /* ' */
    uint64_t controls; /* below 0x20, and 0x7F, except TAB LF CR */
    uint64_t high;     /* 0x80 and above: not ASCII */
    uint64_t tails;    /* 0x80 to 0xBF: bytes of a UTF-8 character after its first */
};

/* The implementations of the functions below, one set per level of simd.h. */
extern const struct ascii_functions {
    void (*classify)(struct ascii_masks *m, unsigned char *lower, const unsigned char *text);
    size_t (*places)(size_t *to, uint64_t bits, size_t base);
    uint64_t (*find)(const unsigned char *text, unsigned char byte);
} ascii_functions[SIMD_LEVELS];

/* Prefetches the text ASCII_AHEAD bytes after `text`. The address is computed as a number, because
 * it may be beyond the text's end. */
static inline void ascii_fetch_ahead(const unsigned char *text)
{
    __builtin_prefetch((const void *)((uintptr_t)text + ASCII_AHEAD));
}

/* Computes the masks of text[0..64). If `lower` is not NULL, also copies the text to lower[0..64)
 * with A-Z as a-z. */
static inline void ascii_classify(struct ascii_masks *m, unsigned char *lower,
                                  const unsigned char *text)
{
    ascii_fetch_ahead(text);
    ascii_functions[simd_level()].classify(m, lower, text);
}

/* Returns a mask of the bytes of text[0..64) that equal `byte`. */
static inline uint64_t ascii_find(const unsigned char *text, unsigned char byte)
{
    return ascii_functions[simd_level()].find(text, byte);
}

/* Writes base + i to to[] for each set bit i of `bits`, in ascending order. Returns their number.
 * to[] needs room for 64 values; the function may overwrite all of them. */
static inline size_t ascii_places(size_t *to, uint64_t bits, size_t base)
{
    return ascii_functions[simd_level()].places(to, bits, base);
}
