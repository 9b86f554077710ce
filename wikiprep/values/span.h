/*
 * span.h - a borrowed piece of text, without a NUL at its end.
 */
#pragma once

#include "common/base/base.h"

struct span {
    const char *s;
    size_t n;
};

struct span span_of(const char *s);         /* a NUL-terminated string */
struct span span_trim(struct span s);       /* drops spaces and marks.h bytes at both ends */
struct span span_trim_space(struct span s); /* drops what PHP's trim() does at both ends */

/* Returns 1 if s equals `text`, else 0. The case of ASCII letters does not count. */
int span_is(struct span s, const char *text);

/* Returns 1 if s is not empty and equals one of the words "word|word|...", else 0. The case of
 * ASCII letters does not count. */
int span_in(struct span s, const char *words);

/* Returns the place (from 0) of the item of the list "A|B C|D" that has the word s, or -1. The case
 * of ASCII letters does not count. */
int span_place(struct span s, const char *list);

/* Returns 1 for "yes", "y", "true", "1" and "on"; 0 for "no", "n", "false", "0" and "off", in any
 * case of letters; `otherwise` for anything else. */
int span_truth(struct span s, int otherwise);

/* Sets *value to the number s of 1 to 9 digits and returns 1. Returns 0 if s is anything else. */
int span_number(struct span s, int *value);

void span_put(struct span s, struct buf *out);
