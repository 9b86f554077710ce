/*
 * alphabet.h - the byte alphabet of GPT-2's files, which writes each byte as a printable
 * character.
 */
#pragma once

#include "common/base/base.h"

/* GPT-2's files write byte b as the character of code point b if that is printable (33-126,
 * 161-172, 174-255). They write the other 68 bytes, in order, as U+0100, U+0101, ... */
enum { ALPHABET_LIMIT = 0x100 + 68 }; /* all code points of the alphabet are below this */
unsigned alphabet_char(unsigned char byte);
void alphabet_encode(struct buf *out, const char *bytes, size_t n); /* appends UTF-8 */
size_t alphabet_width(const char *bytes, size_t n); /* bytes that alphabet_encode appends */
/* Appends the bytes that `text` spells. Returns 0, or -1, with out unchanged and no error set, if a
 * character of the text is not in the alphabet. */
int alphabet_decode(struct buf *out, const char *text, size_t n);

/* Returns the byte that a token's name stands for, such as <0x0A>, or -1 if it is no such name. */
int alphabet_named(const char *name, size_t n);
