/*
 * span.h - a borrowed piece of text, without a NUL at its end.
 */
#pragma once

#include "unicode/whitespace.h" /* struct span */

static inline struct span span_of(const char *s) /* a NUL-terminated string */
{
    return (struct span){ s, strlen(s) };
}

static inline struct span span_of_buf(const struct buf *b)
{
    return (struct span){ b->data, b->len };
}

static inline struct span span_between(const char *s, const char *end)
{
    return (struct span){ s, (size_t)(end - s) };
}

static inline void span_put(struct span s, struct buf *out)
{
    buf_add(out, s.s, s.n);
}

static inline int span_equal(struct span a, struct span b) /* 1: they have the same bytes */
{
    return a.n == b.n && !memcmp(a.s, b.s, a.n);
}

/* Returns the position of the first byte c in [s, end), or `end`. */
static inline const char *span_until(const char *s, const char *end, char c)
{
    const char *found = memchr(s, c, (size_t)(end - s));
    return found ? found : end;
}

/* Returns the position of the first byte in [s, end) that is none of `signs`, or `end`. */
static inline const char *span_past(const char *s, const char *end, const char *signs)
{
    while (s < end && *s && strchr(signs, *s)) /* strchr would find the NUL of `signs` */
        s++;
    return s;
}

struct span span_trim(struct span s);       /* drops spaces and marks.h bytes at both ends */
struct span span_trim_space(struct span s); /* drops what PHP's trim() drops at both ends */

/* Returns 1 if [s, end) begins with `text`, else 0. */
static inline int span_begins(const char *s, const char *end, const char *text)
{
    return bytes_begin(s, (size_t)(end - s), text);
}

/* Returns the byte that a percent code such as "%41" at s stands for; -1 if s is not one. */
static inline int span_percent(const char *s, const char *end)
{
    return *s == '%' && end - s > 2 ? hex_value(s + 1, 2, 2) : -1;
}

/* Returns 1 if s equals `text`, else 0. The case of ASCII letters does not count. */
int span_is(struct span s, const char *text);

/* Returns 1 if s is not empty and equals one of the words "word|word|...", else 0. The case of
 * ASCII letters does not count. */
int span_in(struct span s, const char *words);

/* Returns 1 if one of the space-separated words of s is in `words` (span_in), else 0. */
int span_has_word(struct span s, const char *words);

/* Returns the index (from 0) of the item of a list such as "A|B C|D" that has s among its words, or
 * -1. The case of ASCII letters does not count. */
int span_place(struct span s, const char *list);

/* span_next sets *item to the first item of *list and moves *list past it. Returns 1, or 0 at the
 * end of the list. span_item returns item `place` (from 0) of "A|B|C", or an empty span. */
int span_next(const char **list, char separator, struct span *item);
struct span span_item(const char *list, int place);

/* Copies s with a NUL to `to`. Returns 1, or 0 if it does not fit. */
int span_copy(struct span s, char *to, size_t size);

/* Returns 1 for "yes", "y", "true", "1" and "on"; 0 for "no", "n", "false", "0" and "off", in any
 * case of letters; `otherwise` for anything else. */
int span_truth(struct span s, int otherwise);

/* Returns the length in bytes of the digit, of any script, at the start of s, and sets *value; 0:
 * there is none. */
size_t span_digit(struct span s, int *value);

/* Sets *value to the number s of 1 to 9 digits and returns 1. Returns 0 if s is anything else. */
int span_number(struct span s, int *value);
