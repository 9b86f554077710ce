/*
 * forms.h - a text in another form: Unicode's normalization forms, lower case, without accents; and
 * the kinds of characters that text is cut at.
 *
 * All as Hugging Face's tokenizers do it, whose tables are of several versions of Unicode: the
 * normalization forms know no character newer than about version 9, the others are of 16 and later.
 * scripts/make-form-tables asked for them, code point by code point.
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

/* What a code point is, a bit each. */
enum {
    FORMS_SPACE = 1,        /* White_Space */
    FORMS_PUNCTUATION = 2,  /* BERT's */
    FORMS_NUMBER = 4,       /* N */
    FORMS_WORD = 8,         /* letters, marks, digits, connectors: \w */
    FORMS_MARK = 16,        /* M */
    FORMS_NON_SPACING = 32, /* Mn */
    FORMS_CONTROL = 64,     /* C, as BertNormalizer has it */
};
int forms_is(uint32_t code_point, unsigned bits); /* any of them */

/* Appends the characters that are none of these. */
void forms_drop(struct buf *out, const char *text, size_t n, unsigned bits);

/* ---- tables --------------------------------------------------------------------------------- */

/* Full decompositions: forms_decomposition_points[at..at+len). */
struct forms_decomposition {
    uint32_t from, at, len;
};
struct forms_composite {
    uint32_t first, second, composite;
};

extern const struct forms_decomposition forms_canonical[], forms_compatible[];
extern const size_t forms_canonical_count, forms_compatible_count;
extern const uint32_t forms_decomposition_points[];
extern const struct forms_composite forms_composites[];
extern const size_t forms_composites_count;
extern const struct unicode_class_run forms_class_runs[];
extern const struct unicode_range forms_marks[], forms_numbers[], forms_word_characters[];

#endif
