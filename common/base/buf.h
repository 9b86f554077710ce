/*
 * buf.h - a growable string of bytes.
 *
 *     struct buf b = BUF_INIT;
 *     buf_addf(&b, "%d documents", n);
 *     ...b.data, b.len...            data[len] is always NUL, also when empty
 *     buf_release(&b);
 *
 * Reuse one buffer with buf_clear: it keeps its memory, so the steady state allocates nothing.
 */
#pragma once

#include <stdarg.h>

#include "common/base/scope.h"

struct buf {
    char *data;
    size_t len;
    size_t cap; /* bytes allocated; 0 while data is the shared empty string */
};

extern char buf_empty[1];
#define BUF_INIT                                                                                   \
    {                                                                                              \
        buf_empty, 0, 0                                                                            \
    }

void buf_init(struct buf *b);
struct buf buf_format(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* in a new buffer */
void buf_release(struct buf *b);           /* frees; b is empty and usable again */
char *buf_detach(struct buf *b);           /* the caller frees the returned string; b is empty */

void buf_reserve(struct buf *b, size_t more); /* makes room for `more` bytes after len */
void buf_clear(struct buf *b);
void buf_truncate(struct buf *b, size_t len);        /* len <= b->len */
void buf_cut(struct buf *b, size_t from, size_t to); /* removes bytes [from, to) */

/* Append bytes, a string, a byte, or a formatted text. What is appended must not lie in b itself:
 * its memory may move. */
void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_adds(struct buf *b, const char *s);
static inline void buf_addc(struct buf *b, int c);
void buf_addu(struct buf *b, uint64_t n); /* in decimal */
/* Appends x with the fewest digits, at least `least`, that read back as the same number. */
void buf_add_real(struct buf *b, double x, int least);
void buf_addf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vaddf(struct buf *b, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Replace the content by bytes, or by a formatted text, which must not lie in b itself. */
void buf_set(struct buf *b, const void *bytes, size_t n);
void buf_setf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends text[0..n), with to[0..to_len) in place of each from[0..len), unless len is 0. */
void buf_add_replaced(struct buf *out, const char *text, size_t n, const char *from, size_t len,
                      const char *to, size_t to_len);

/* Replaces in b the first text of each pair by the second, one pair after the other. */
void buf_replace_all(struct buf *b, const char *const (*pairs)[2], size_t count);

/* Returns the first occurrence of what[0..n) in [s, end), or NULL; n >= 1. Faster than memmem if
 * the byte what[0] is rare in the text. */
const char *bytes_find(const char *s, const char *end, const char *what, size_t n);

/* Return 1 if s[0..n) equals the string, begins with it, or ends with it, else 0. */
static inline int bytes_are(const char *s, size_t n, const char *string)
{
    return n == strlen(string) && !memcmp(s, string, n);
}

static inline int bytes_begin(const char *s, size_t n, const char *string)
{
    const size_t len = strlen(string);
    return n >= len && !memcmp(s, string, len);
}

static inline int bytes_end(const char *s, size_t n, const char *string)
{
    const size_t len = strlen(string);
    return n >= len && !memcmp(s + n - len, string, len);
}

/* Returns the value of a hexadecimal digit, or of `digits` of them (at most 6) at the start of
 * s[0..n); -1 if c is none, or if they are not all there. */
int hex_digit(char c);
int hex_value(const char *s, size_t n, size_t digits);

/* Drops spaces, tabs, CR and LF at the end. */
void buf_rtrim(struct buf *b);

static inline void buf_addc(struct buf *b, int c)
{
    if (b->len + 2 > b->cap)
        buf_reserve(b, 1);
    b->data[b->len++] = (char)c;
    b->data[b->len] = '\0';
}

static inline void buf_swap(struct buf *a, struct buf *b)
{
    struct buf c = *a;
    *a = *b;
    *b = c;
}
