/*
 * letter_case.h - upper and lower case of letters and of texts (Unicode standard, sections 3.13 and
 * 4.2).
 *
 * Follows Unicode 14, as Python 3.11 and MediaWiki's PHP do: unicode/data/case.txt.
 */
#pragma once

#include "unicode/unicode.h"

/* letter_case_upper returns the code point in upper case, letter_case_lower in lower case. They
 * return c itself if the result would not be a single code point. */
unsigned letter_case_upper(unsigned c);
unsigned letter_case_lower(unsigned c);

/* Returns the lower case of c as Hugging Face's tokenizers have it, which know some newer
 * letters. */
unsigned letter_case_lower_new(unsigned c);

/* Capital I with a dot: its lower case is two characters, so the functions above do not change
 * it. */
enum { LETTER_CASE_DOTTED_I = 0x130 };

/* Returns a code point in the case that begins a title. Georgian letters do not change, because
 * Georgian uses capitals only for whole words. */
unsigned letter_case_title(unsigned c);

/* Appends s[0..n) with each character changed by one of the functions above. Letters whose upper or
 * lower case is several characters are replaced by all of them. By letter_case_lower a capital
 * sigma becomes the final form (U+03C2) where letter_case_is_final, as in Python's str.lower(), on
 * which the published SQuAD scores depend. Invalid bytes are kept. */
void letter_case_put(struct buf *out, const char *s, size_t n, unsigned (*change)(unsigned));

/* Returns 1 if the sigma at s[at] ends its word in s[0..n), which is valid UTF-8: if a cased letter
 * precedes it and none follows it, not counting case-ignorable characters and those in any of the
 * sets (UNICODE_IS_*) (Unicode standard, table 3-17; Python's str.lower). Else returns 0. */
int letter_case_is_final(const char *s, size_t n, size_t at, unsigned sets);

/* ---- tables --------------------------------------------------------------------------------- */

/* A run of letters: `count` code points from `first` on, `step` apart, have their other case at a
 * distance of `delta`. The tables are in rising order. */
struct letter_case_run {
    uint32_t first, count, step;
    int32_t delta;
};
extern const struct letter_case_run letter_case_lowers[], letter_case_laters[],
    letter_case_uppers[];
extern const size_t letter_case_lowers_count, letter_case_laters_count, letter_case_uppers_count;

/* A letter whose upper case is several characters: unicode/data/upper.txt. */
struct letter_case_several {
    uint32_t c;
    const char *upper;
};
extern const struct letter_case_several letter_case_severals[];
extern const size_t letter_case_severals_count;
