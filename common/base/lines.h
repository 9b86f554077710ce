/*
 * lines.h - the lines of a text in memory.
 *
 *     struct lines l = LINES_OF(text, n);
 *     while (lines_next(&l))
 *         ... l.line[0..l.len), number l.number
 *
 * A line ends with LF, which is not part of it. The last line may lack its LF. An empty text has no
 * lines.
 */
#pragma once

#include "common/base/std.h"
#include "common/base/utf8.h"

struct lines {
    const char *at, *end; /* the rest of the text, not read yet */
    const char *line;
    size_t len;
    uint64_t number; /* of `line`, from 1 */
};

#define LINES_OF(text, n)                                                                          \
    {                                                                                              \
        .at = (text), .end = (text) + (n)                                                          \
    }

/* Sets l->line, l->len and l->number to the next line. Returns 1, or 0 at the end. */
static inline int lines_next(struct lines *l)
{
    if (l->at >= l->end)
        return 0;
    const char *lf = memchr(l->at, '\n', (size_t)(l->end - l->at));
    l->line = l->at;
    l->len = (size_t)((lf ? lf : l->end) - l->at);
    l->at = lf ? lf + 1 : l->end;
    l->number++;
    return 1;
}

/* As lines_next, but also drops CRs at the line's end, and a byte order mark before the first. */
static inline int lines_next_text(struct lines *l)
{
    if (!lines_next(l))
        return 0;
    const size_t mark = l->number == 1 ? utf8_mark(l->line, l->len) : 0;
    l->line += mark;
    l->len -= mark;
    while (l->len && l->line[l->len - 1] == '\r')
        l->len--;
    return 1;
}
