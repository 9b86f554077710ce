/*
 * forms.h - a text in another form: Unicode's normalization forms, lower case, without accents.
 *
 * All as Hugging Face's tokenizers do it, whose tables are of several versions of Unicode: the
 * normalization forms know no character newer than about version 9, the others are of 16 and later.
 * unicode/data says which.
 *
 * Source of the forms: Unicode standard, section 3.11, and annex 15.
 */
#ifndef TEXTMILL_UNICODE_FORMS_H
#define TEXTMILL_UNICODE_FORMS_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "unicode/unicode.h"

enum form { FORM_NFD, FORM_NFKD, FORM_NFC, FORM_NFKC };

/* The full decomposition of a code point, canonical or by compatibility, into parts[]: how many, 1
 * where it is itself. */
enum { FORMS_PARTS_MAX = 18, FORMS_HANGUL = 0xAC00, FORMS_HANGUL_COUNT = 11172 };
size_t forms_decompose(uint32_t parts[FORMS_PARTS_MAX], uint32_t code_point, int compatible);

/* Each appends to `out` what becomes of text[0..n), which is valid UTF-8 and no part of `out`. */
void forms_normalize(struct buf *out, const char *text, size_t n, enum form form);
/* How many bytes from the start are characters that stay as they are in the form, whatever is
 * beside them, but for those that the last one of them may join. */
size_t forms_stable(const char *text, size_t n, enum form form);
void forms_lower(struct buf *out, const char *text, size_t n);
void forms_strip_marks(struct buf *out, const char *text, size_t n); /* Mn, Mc and Me go */
void forms_nmt(struct buf *out, const char *text, size_t n); /* some controls go or become spaces */

/* Appends the characters that are in none of these sets (unicode.h). */
void forms_drop(struct buf *out, const char *text, size_t n, unsigned sets);

/* The code points with a canonical decomposition, in rising order, Hangul syllables aside. */
size_t forms_canonical_count(void);
uint32_t forms_canonical_point(size_t i);

/* ---- tables --------------------------------------------------------------------------------- */

/* Runs "#HEX:" of consecutive code points. Each has one entry: a letter for how many characters it
 * becomes, from "A" for one on, and these. In lower case NFC composes them again: the last one with
 * the character that the others make, which stands behind them if they are several. Or "*COUNT:"
 * and a character: so many code points become this one and those that follow it. */
extern const char forms_canonical[], forms_compatible[];

#endif
