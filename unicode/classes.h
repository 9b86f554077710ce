/*
 * classes.h - the character classes of regular expressions as Oniguruma has them, of Unicode 16,
 * for a library whose tables are older: general categories, and \w.
 *
 * scripts/make-form-tables made the tables.
 */
#ifndef TEXTMILL_UNICODE_CLASSES_H
#define TEXTMILL_UNICODE_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "unicode/unicode.h"

enum {
    CLASS_LU,
    CLASS_LL,
    CLASS_LT,
    CLASS_LM,
    CLASS_LO,
    CLASS_MN,
    CLASS_MC,
    CLASS_ME,
    CLASS_ND,
    CLASS_NL,
    CLASS_NO,
    CLASS_PC,
    CLASS_PD,
    CLASS_PS,
    CLASS_PE,
    CLASS_PI,
    CLASS_PF,
    CLASS_PO,
    CLASS_SM,
    CLASS_SC,
    CLASS_SK,
    CLASS_SO,
    CLASS_ZS,
    CLASS_ZL,
    CLASS_ZP,
    CLASS_CC,
    CLASS_CF,
    CLASS_CO,
    CLASS_CN, /* the others */
};

/* A set of code points: a bit each, of 8 KiB blocks of bytes. */
struct classes_set {
    uint8_t bits[UNICODE_LIMIT / 8];
};

static inline int classes_has(const struct classes_set *s, uint32_t c)
{
    return s->bits[c >> 3] >> (c & 7) & 1;
}

/* Fills the set with a category, "Lu", or with all that begin with a letter, "L". -1 (no error
 * set): there is none of that name. */
int classes_category(struct classes_set *s, const char *name, size_t n);
void classes_word_set(struct classes_set *s, int in_brackets); /* \w; [\w] is smaller */

/* ---- tables --------------------------------------------------------------------------------- */

struct classes_run {
    uint32_t first, last, category;
};
extern const struct classes_run classes_runs[]; /* in rising order; what is in none is CLASS_CN */
extern const struct unicode_range classes_word[];

#endif
