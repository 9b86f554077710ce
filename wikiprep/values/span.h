/*
 * span.h - a borrowed piece of text, without a NUL at its end.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_SPAN_H
#define TEXTMILL_WIKIPREP_VALUES_SPAN_H

#include <stddef.h>

#include "common/buf.h"

struct span {
    const char *s;
    size_t n;
};

struct span span_of(const char *s);            /* a NUL-terminated string */
struct span span_trim(struct span s);          /* drops spaces and marks.h bytes at both ends */
struct span span_trim_space(struct span s);    /* drops what PHP's trim() does at both ends */
int span_is(struct span s, const char *text);  /* 1: s equals `text`, ignoring the case of ASCII
                                                * letters */
int span_in(struct span s, const char *words); /* 1: s is not empty and equals one of the words
                                                * "word|word|...", ignoring case */
int span_truth(struct span s, int otherwise);  /* 1 for "yes", 0 for "no", else `otherwise` */
int span_number(struct span s, int *value);    /* sets *value to s, 1 to 9 digits, and returns 1;
                                                * 0: s is anything else */
void span_put(struct span s, struct buf *out);

#endif
