/*
 * forms.h - Unicode normalization forms, removal of accents.
 *
 * All functions give the results of Hugging Face's tokenizers, whose tables come from several
 * versions of Unicode: the normalization forms know no character newer than about version 9, the
 * others those of version 16 and later. unicode/data lists the versions.
 *
 * Source of the forms: Unicode standard, section 3.11, and annex 15.
 */
#pragma once

#include "unicode/unicode.h"

enum form { FORM_NFD, FORM_NFKD, FORM_NFC, FORM_NFKC };

/* Writes the full decomposition of a code point to parts[] and returns the number of parts. It is
 * the compatibility decomposition if `compatible` is set, else the canonical one. A code point
 * without one is its own single part. */
enum { FORMS_PARTS_MAX = 18, FORMS_HANGUL = 0xAC00, FORMS_HANGUL_COUNT = 11172 };
size_t forms_decompose(uint32_t parts[FORMS_PARTS_MAX], uint32_t code_point, int compatible);

/* The functions below append the converted text[0..n) to `out`. The text is valid UTF-8 and is not
 * inside `out`. */
void forms_normalize(struct buf *out, const char *text, size_t n, enum form form);
/* Returns the length in bytes of the longest prefix in which the form changes no character,
 * whatever follows. Only its last character may compose with characters after it. */
size_t forms_stable(const char *text, size_t n, enum form form);
void forms_nmt(struct buf *out, const char *text, size_t n); /* drops or blanks controls */

/* Appends the characters that are in none of these sets (UNICODE_IS_* of unicode.h, or'ed). */
void forms_drop(struct buf *out, const char *text, size_t n, unsigned sets);

/* The code points that have a canonical decomposition, in rising order, without Hangul syllables:
 * forms_canonical_count returns their number, forms_canonical_point the i-th of them. */
size_t forms_canonical_count(void);
uint32_t forms_canonical_point(size_t i);

/* ---- tables --------------------------------------------------------------------------------- */

/* Decompositions. "#HEX:" begins a run of consecutive code points. A letter is the number of parts
 * of the next one ("A" is 1), and the parts follow. A number before the letter says for how many
 * code points parts follow. The lower-case letter "b" stands for two parts that NFC composes
 * again; the first of them may decompose further. "*COUNT:" and a character stands for COUNT code
 * points, which become this character and those that follow it. */
extern const char forms_canonical[], forms_compatible[];
