/*
 * classmasks.h - the classes of characters that are not ASCII, 64 bytes of text at a step, as bit
 * masks.
 *
 * AVX-512 or plain C, whichever the processor has.
 */
#ifndef TEXTMILL_TOKENIZER_CUT_CLASSMASKS_H
#define TEXTMILL_TOKENIZER_CUT_CLASSMASKS_H

#include <stddef.h>
#include <stdint.h>

/* Bit i of a mask is about byte i: the first byte of a character that is one. */
struct class_masks {
    uint64_t letters, numbers, spaces;
};

/* Adds the characters of block[0..64) that begin at `leads`, in valid UTF-8, the last one of which
 * may end behind the block. `classes` are unicode.h's. */
void classmasks_add(struct class_masks *m, const uint8_t *classes, const unsigned char *block,
                    uint64_t leads);

#endif
