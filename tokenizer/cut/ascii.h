/*
 * ascii.h - 64 bytes of text at a step, as bit masks: bit i of a mask is about byte i.
 *
 * AVX-512, AVX2 or plain C, whichever the processor has.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_ASCII_H
#define TEXTMILL_TOKENIZER_CUT_ASCII_H

#include <stddef.h>
#include <stdint.h>

#include "common/simd.h"

enum { ASCII_BLOCK = 64 };

struct ascii_masks {
    uint64_t letters, digits;
    uint64_t spaces;   /* TAB LF VT FF CR and space */
    uint64_t blanks;   /* the space alone */
    uint64_t quotes;   /* ' */
    uint64_t controls; /* below 0x20 and 0x7F, but for TAB LF CR */
    uint64_t high;     /* 0x80 and above: no ASCII */
    uint64_t tails;    /* 0x80 to 0xBF: UTF-8's bytes behind a character's first */
};

/* The functions below for each level of simd.h. */
extern const struct ascii_functions {
    void (*classify)(struct ascii_masks *m, const unsigned char *text);
    void (*classify_lower)(struct ascii_masks *m, unsigned char *lower, const unsigned char *text);
    size_t (*places)(size_t *to, uint64_t bits, size_t base);
} ascii_functions[SIMD_LEVELS];

/* Reads text[0..64). */
static inline void ascii_classify(struct ascii_masks *m, const unsigned char *text)
{
    ascii_functions[simd_level()].classify(m, text);
}

/* The same, and lower[0..64) becomes the text with 'A'-'Z' as 'a'-'z'. */
static inline void ascii_classify_lower(struct ascii_masks *m, unsigned char *lower,
                                        const unsigned char *text)
{
    ascii_functions[simd_level()].classify_lower(m, lower, text);
}

/* Writes base + i for each bit i that is set, in rising order, and returns how many: to[] has room
 * for 64, and any of it may be overwritten. */
static inline size_t ascii_places(size_t *to, uint64_t bits, size_t base)
{
    return ascii_functions[simd_level()].places(to, bits, base);
}

#endif
