/*
 * js_scan.h - JSON read from front to back, without a tree: for the long and regular parts of a
 * file.
 *
 *     js_scan_mark(&s, '{');
 *     for (size_t i = 0; (more = js_scan_next(&s, '}', i)) > 0; i++)
 *         if (js_scan_key(&s, &key, &len) < 0 || js_scan_int(&s, &value) < 0)
 *             return -1;
 *
 * As strict as js.h (RFC 8259) with what is read, but for two things that the caller sees to: that
 * the text is UTF-8, and that no key stands twice. Errors name byte and line.
 */
#ifndef TEXTMILL_COMMON_JS_SCAN_H
#define TEXTMILL_COMMON_JS_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct js_scan {
    const char *text; /* borrowed */
    size_t n, at;     /* its bytes; the next one's place */
    struct buf plain; /* a string without its escapes */
};

void js_scan_init(struct js_scan *s, const char *text, size_t n);
void js_scan_release(struct js_scan *s);

/* The first byte behind white space, -1 at the text's end. */
int js_scan_peek(struct js_scan *s);

/* Steps over a mark, such as '{'. */
int js_scan_mark(struct js_scan *s, char mark);

/* Behind an opening mark and `items` items: 1 where another follows, at s->at; 0 behind `close`;
 * -1. */
int js_scan_next(struct js_scan *s, char close, size_t items);

/* A string, not NUL-ended: a part of the text, or s->plain, until the next one is read. */
int js_scan_text(struct js_scan *s, const char **out, size_t *len);

/* A member's name, and the colon behind it. */
int js_scan_key(struct js_scan *s, const char **out, size_t *len);

/* A number of 64 bits without fraction and exponent. */
int js_scan_int(struct js_scan *s, int64_t *out);

/* Steps over a value. Only where it ends is certain then, not that it is one. */
int js_scan_skip(struct js_scan *s);

/* Sets the error for bad JSON at a byte of the text; -1. */
int js_scan_error(const struct js_scan *s, size_t at, const char *what);

#endif
