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

/* ---- tables --------------------------------------------------------------------------------- */

/* A run of `count` consecutive code points from `first` on. Each decomposes into `parts`
 * characters; those of the first begin at forms_points[at], and those of the others follow.
 * Decompositions are full. The tables are in rising order and lack Hangul syllables. */
struct forms_run {
    uint32_t first;
    uint16_t count, parts, at;
};
extern const struct forms_run forms_canonical[], forms_compatible[];
extern const size_t forms_canonical_count, forms_compatible_count;
extern const uint32_t forms_points[];

/* Two characters that NFC composes, in rising order. */
struct forms_pair {
    uint32_t first, second, whole;
};
extern const struct forms_pair forms_pairs[];
extern const size_t forms_pairs_count;
