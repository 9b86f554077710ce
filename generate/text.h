/*
 * text.h - tokens' bytes on their way to a reader: whole characters, and nothing of a stop text.
 *
 * A token may end within a character, and a stop text may begin within a token; what could yet
 * become one or the other is held back until it is known. Bytes that are no UTF-8 become U+FFFD,
 * one for each maximal subpart, so that what comes out is always valid.
 */
#ifndef TEXTMILL_GENERATE_TEXT_H
#define TEXTMILL_GENERATE_TEXT_H

#include <stddef.h>

#include "common/buf.h"

struct text {
    const char *const *stops; /* borrowed; none is empty */
    size_t stop_count;
    int stopped;    /* a stop text was met: the text ends before it */
    struct buf all; /* the text so far, unfinished characters apart */
    struct buf raw; /* bytes of an unfinished character */
    size_t told;    /* all.data[0..told) has been given out */
};

void text_init(struct text *t, const char *const *stops, size_t stop_count);
void text_release(struct text *t);

void text_add(struct text *t, const char *bytes, size_t n); /* no effect once stopped */
void text_end(struct text *t); /* nothing follows: what was held back is text */

/* What is newly certain: n bytes (perhaps 0), valid until the next text_add. */
const char *text_news(struct text *t, size_t *n);

#endif
