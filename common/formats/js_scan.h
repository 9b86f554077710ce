/*
 * js_scan.h - reads JSON from front to back without building a tree, for the long and regular parts
 * of a file.
 *
 *     js_scan_mark(&s, '{');
 *     for (size_t i = 0; (more = js_scan_next(&s, '}', i)) > 0; i++)
 *         if (js_scan_key(&s, &key, &len) < 0 || js_scan_int(&s, &value) < 0)
 *             return -1;
 *
 * It is as strict as js.h (RFC 8259), with two exceptions that the caller must check: the text must
 * be UTF-8, and no key may occur twice. Errors name byte and line.
 */
#pragma once

#include "common/base/base.h"

struct js_scan {
    const char *text; /* borrowed */
    size_t n, at;     /* length of the text; position of the next byte */
    struct buf plain; /* working memory: a string after unescaping */
    int halves;       /* set by the caller, 1: half a surrogate pair is no error, but U+FFFD */
};

void js_scan_init(struct js_scan *s, const char *text, size_t n);
void js_scan_release(struct js_scan *s);

/* Skips white space and returns the next byte without consuming it, or -1 at the text's end. */
int js_scan_peek(struct js_scan *s);

/* Skips white space and consumes the character `mark`, such as '{'. Returns 0, or -1 with an error
 * if another byte is there. */
int js_scan_mark(struct js_scan *s, char mark);

/* Finds out whether another item follows; for use after an opening bracket and after each item.
 * `items` is the number of items read so far. Returns 1 if one follows, which then begins at s->at;
 * 0 if not, after it has consumed the closing bracket `close`; -1 with an error. */
int js_scan_next(struct js_scan *s, char close, size_t items);

/* Reads a string and sets *out and *len to its bytes after unescaping, which are not
 * NUL-terminated. *out points into the text or into s->plain, and is valid until the next string is
 * read. Returns 0, or -1 with an error. */
int js_scan_text(struct js_scan *s, const char **out, size_t *len);

/* Reads a member's name, as js_scan_text does, and the colon after it. Returns 0, or -1 with an
 * error. */
int js_scan_key(struct js_scan *s, const char **out, size_t *len);

/* Reads a 64-bit integer, a number without fraction and exponent, into *out. Returns 0, or -1 with
 * an error. */
int js_scan_int(struct js_scan *s, int64_t *out);

/* Skips a value. It only finds the value's end; it does not check that the value is valid. Returns
 * 0, or -1 with an error. */
int js_scan_skip(struct js_scan *s);

/* Reads over a value, which must be valid as for js_parse_line. Returns 0, or -1 with an error,
 * also if more than `depth` brackets are open at once. The byte after the text must be readable,
 * and be a NUL or another byte that cannot be part of a number. */
int js_scan_value(struct js_scan *s, int depth);

/* Sets the error for bad JSON at byte `at` of the text. Returns -1. */
int js_scan_error(const struct js_scan *s, size_t at, const char *what);
