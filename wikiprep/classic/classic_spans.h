/*
 * classic_spans.h - what a search finds in a text, and dropping it: for classic.c.
 */
#ifndef TEXTMILL_WIKIPREP_CLASSIC_CLASSIC_SPANS_H
#define TEXTMILL_WIKIPREP_CLASSIC_CLASSIC_SPANS_H

#include <stddef.h>

#include "common/buf.h"

enum { SPAN_TAG_MAX = 1 << 12 }; /* bytes; a longer tag is none: keeps the time linear */

/* text[begin, end) */
struct range {
    size_t begin, end;
};

/* The first span at or after `from` that looks like `what`: 1, or 0 when there is none. */
typedef int (*span_finder)(const struct buf *text, size_t from, const char *what,
                           struct range *found);

int span_find_text(const struct buf *text, size_t from, const char *what, struct range *found);

/* <what …> but for <what …/>, and </what>; case and spaces in front do not matter. */
int span_find_open(const struct buf *text, size_t from, const char *what, struct range *found);
int span_find_close(const struct buf *text, size_t from, const char *what, struct range *found);

/* Of a tag whose name ends at `at`: where its '>' is, which is not in quotes; 0: nowhere near. */
size_t span_tag_end(const struct buf *text, size_t at);

/* Whether the tag `name` begins at text[at] == '<', perhaps as </name>: where its name ends, or 0.
 */
size_t span_tag(const struct buf *text, size_t at, const char *name, int closing, int spaces);

struct ranges {
    struct range *items;
    size_t count, cap;
};

void spans_add(struct ranges *s, size_t begin, size_t end);

/* Replaces `out` with the text but for the spans, in rising order; of those that overlap the first
 * counts. */
void spans_drop(const struct ranges *s, const struct buf *text, struct buf *out);

/* The spans from each opening that is not in another to the closing that belongs to it. What is not
 * balanced may take what is before it, too. Replaces `out`. */
void spans_nested(struct ranges *out, const struct buf *text, span_finder open, const char *opening,
                  span_finder close, const char *closing);

#endif
