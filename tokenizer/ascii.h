/*
 * ascii.h - 64 bytes of text at a step, as bit masks: bit i of a mask is about byte i.
 *
 * AVX-512, AVX2 or plain C, whichever the processor has; chosen at the first call.
 */
#ifndef TEXTMILL_ASCII_H
#define TEXTMILL_ASCII_H

#include <stdint.h>

enum { ASCII_BLOCK = 64 };

struct ascii_masks {
    uint64_t letters, digits;
    uint64_t spaces;   /* TAB LF VT FF CR and space */
    uint64_t blanks;   /* the space alone */
    uint64_t quotes;   /* ' */
    uint64_t controls; /* below 0x20 and 0x7F, but for TAB LF CR */
    uint64_t high;     /* 0x80 and above: no ASCII */
};

/* Reads text[0..64). */
extern void (*ascii_classify)(struct ascii_masks *m, const unsigned char *text);

/* The same, and lower[0..64) becomes the text with 'A'-'Z' as 'a'-'z'. */
extern void (*ascii_classify_lower)(struct ascii_masks *m, unsigned char *lower,
                                    const unsigned char *text);

#endif
