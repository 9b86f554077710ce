/*
 * letter_case.h - upper and lower case, one letter to one (Unicode standard, section 4.2).
 *
 * Of Unicode 14, as Python 3.11 and MediaWiki's PHP have it: unicode/data/case.txt.
 */
#ifndef TEXTMILL_UNICODE_LETTER_CASE_H
#define TEXTMILL_UNICODE_LETTER_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "unicode/unicode.h"

/* The other case of a code point, where that is one letter; else itself. */
unsigned letter_case_upper(unsigned c);
unsigned letter_case_lower(unsigned c);

/* Lower case as Hugging Face's tokenizers have it, which know some newer letters. */
unsigned letter_case_lower_new(unsigned c);

/* The lower case of the capital I with a dot is two characters: the functions above leave it. */
enum { LETTER_CASE_DOTTED_I = 0x130 };

/* As a title begins: Georgian, whose capitals are for whole words alone, stays as it is. */
unsigned letter_case_title(unsigned c);

/* Appends s[0..n) with each character changed by one of the functions above; letters whose other
 * case is several become all of them. Bytes that are not UTF-8 stay. */
void letter_case_put(struct buf *out, const char *s, size_t n, unsigned (*change)(unsigned));

/* ---- tables --------------------------------------------------------------------------------- */

/* Every `step`-th letter of [first, last] and its other case lie `delta` apart. In rising order. */
struct letter_case_run {
    uint32_t first, last, step;
    int32_t delta;
};
extern const struct letter_case_run letter_case_lowers[], letter_case_laters[],
    letter_case_uppers[];
extern const size_t letter_case_lowers_count, letter_case_laters_count, letter_case_uppers_count;

#endif
