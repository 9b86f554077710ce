/*
 * classmasks.h - classifies the characters that are not ASCII, 64 bytes of text at a time, as bit
 * masks.
 *
 * Uses AVX-512 or plain C, depending on the processor.
 */
#pragma once

#include "common/base/base.h"

/* Bit i of a mask is set if byte i is the first byte of a character of that class. */
struct class_masks {
    uint64_t letters, numbers, spaces;
};

/* Sets the bits in *m of those characters in block[0..64) whose first bytes are given by the mask
 * `leads`. Other bits do not change. The text is valid UTF-8; the last character may end after the
 * block. `classes` is the table of unicode.h. */
void classmasks_add(struct class_masks *m, const uint8_t *classes, const unsigned char *block,
                    uint64_t leads);
