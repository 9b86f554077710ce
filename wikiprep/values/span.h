/*
 * span.h - a piece of somebody else's text: its bytes are borrowed and not terminated.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_SPAN_H
#define TEXTMILL_WIKIPREP_VALUES_SPAN_H

#include <stddef.h>

#include "common/buf.h"

struct span {
    const char *s;
    size_t n;
};

struct span span_of(const char *s);             /* all of a string */
struct span span_trim(const char *s, size_t n); /* without spaces and marks.h's at its ends */
int span_is(struct span s, const char *text);   /* equal but for the case of ASCII letters */
int span_in(struct span s, const char *words);  /* one of words with '|' between; not empty */
int span_truth(struct span s, int otherwise);   /* what "yes" or "no" says; else `otherwise` */
int span_number(struct span s, int *value);     /* 1 when all of it is a whole number */
void span_put(struct span s, struct buf *out);

#endif
