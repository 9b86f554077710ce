/*
 * classic_spans.h - finds spans in a text; for classic.c.
 */
#pragma once

#include "common/base/base.h"

/* In bytes. A longer tag is not recognised, which keeps the time linear. */
enum { SPAN_TAG_MAX = 1 << 12 };

/* text[begin, end) */
struct range {
    size_t begin, end;
};

/* Finds the first span at or after `from` that matches `what`. Returns 1 and sets *found, or 0 if
 * there is none. */
typedef int (*span_finder)(const struct buf *text, size_t from, const char *what,
                           struct range *found);

/* These are span_finders. span_find_text finds the text `what`, span_find_open the tag <what …> but
 * not <what …/>, and span_find_close the tag </what>. In tags, upper and lower case are equal, and
 * spaces may precede the name. */
int span_find_text(const struct buf *text, size_t from, const char *what, struct range *found);
int span_find_open(const struct buf *text, size_t from, const char *what, struct range *found);
int span_find_close(const struct buf *text, size_t from, const char *what, struct range *found);

/* Returns the position of the '>' that ends the tag, ignoring any '>' in quotes. `at` is the end of
 * the tag's name. Returns 0 if there is none within SPAN_TAG_MAX bytes. */
size_t span_tag_end(const struct buf *text, size_t at);

/* If the tag <name>, or with `closing` 1 the tag </name>, begins at text[at] == '<', returns the
 * end of its name, else 0. `spaces` 1: spaces may come before the name. */
size_t span_tag(const struct buf *text, size_t at, const char *name, int closing, int spaces);

struct ranges {
    struct range *items;
    size_t count, cap;
};

void spans_add(struct ranges *s, size_t begin, size_t end);

/* Replaces `out` with the outermost spans of the text. A span begins where `open` finds `opening`
 * and ends with the matching place where `close` finds `closing`. If openings and closings are not
 * balanced, a span may also include text before it. */
void spans_nested(struct ranges *out, const struct buf *text, span_finder open, const char *opening,
                  span_finder close, const char *closing);
