/*
 * normal.h - a text without the differences that copies of it may have: all in lower case, each
 * number 0, punctuation and white space one blank, no accents.
 *
 * A number is digits of any script, perhaps with one separator between them: . or , or an Arabic or
 * decimal one. Punctuation is that of CCNet (UNICODE_IS_CCNET_PUNCTUATION). Accents are the marks
 * without width (Mn) of the canonical decomposition, as Python 3.11 knows them. The results are
 * those of datatrove's text normalisation.
 */
#pragma once

#include "common/base/base.h"

struct normal {
    struct buf text;                /* the result */
    struct buf valid, lower, plain; /* working memory */
};
void normal_init(struct normal *t);
void normal_release(struct normal *t);

/* Replaces t->text by the normal form of text[0..n), n < 2^30. Invalid bytes become U+FFFD. */
void normal_set(struct normal *t, const char *text, size_t n);
