#include "common/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

char buf_empty[1];

void buf_init(struct buf *b)
{
    *b = (struct buf)BUF_INIT;
}

void buf_release(struct buf *b)
{
    if (b->cap)
        free(b->data);
    buf_init(b);
}

char *buf_detach(struct buf *b)
{
    char *s = b->cap ? b->data : mem_strdup("");
    buf_init(b);
    return s;
}

void buf_reserve(struct buf *b, size_t more)
{
    size_t need = b->len + more + 1;
    if (need <= b->cap)
        return;
    size_t cap = b->cap * 2 > need ? b->cap * 2 : need;
    if (cap < 64)
        cap = 64;
    b->data = mem_resize(b->cap ? b->data : NULL, cap, 1);
    b->cap = cap;
    b->data[b->len] = '\0';
}

void buf_clear(struct buf *b)
{
    buf_truncate(b, 0);
}

void buf_truncate(struct buf *b, size_t len)
{
    b->len = len;
    if (b->cap)
        b->data[len] = '\0';
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
    if (!n)
        return;
    buf_reserve(b, n);
    memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, int c)
{
    buf_reserve(b, 1);
    b->data[b->len++] = (char)c;
    b->data[b->len] = '\0';
}

void buf_addf(struct buf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n > 0) {
        buf_reserve(b, (size_t)n);
        vsnprintf(b->data + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_add_utf8(struct buf *b, unsigned c)
{
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        c = 0xFFFD;
    if (c < 0x80) {
        buf_addc(b, (int)c);
    } else if (c < 0x800) {
        buf_addc(b, (int)(0xC0 | c >> 6));
        buf_addc(b, (int)(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
        buf_addc(b, (int)(0xE0 | c >> 12));
        buf_addc(b, (int)(0x80 | (c >> 6 & 0x3F)));
        buf_addc(b, (int)(0x80 | (c & 0x3F)));
    } else {
        buf_addc(b, (int)(0xF0 | c >> 18));
        buf_addc(b, (int)(0x80 | (c >> 12 & 0x3F)));
        buf_addc(b, (int)(0x80 | (c >> 6 & 0x3F)));
        buf_addc(b, (int)(0x80 | (c & 0x3F)));
    }
}

void buf_rtrim(struct buf *b)
{
    size_t n = b->len;
    while (n && b->data[n - 1] && strchr(" \t\r\n", b->data[n - 1]))
        n--;
    buf_truncate(b, n);
}
