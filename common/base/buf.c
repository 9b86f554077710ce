#include "common/base/buf.h"

#include "common/base/mem.h"

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

void buf_cut(struct buf *b, size_t from, size_t to)
{
    memmove(b->data + from, b->data + to, b->len - to);
    buf_truncate(b, b->len - (to - from));
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

void buf_addu(struct buf *b, uint64_t n)
{
    char digits[20], *p = digits + sizeof digits;
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    buf_add(b, p, (size_t)(digits + sizeof digits - p));
}

void buf_add_real(struct buf *b, double x, int least)
{
    char digits[32];
    do
        snprintf(digits, sizeof digits, "%.*g", least, x);
    while (strtod(digits, NULL) != x && least++ < 17);
    buf_adds(b, digits);
}

void buf_addf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vaddf(b, format, args);
    va_end(args);
}

void buf_set(struct buf *b, const void *bytes, size_t n)
{
    buf_clear(b);
    buf_add(b, bytes, n);
}

void buf_setf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_clear(b);
    buf_vaddf(b, format, args);
    va_end(args);
}

struct buf buf_format(const char *format, ...)
{
    struct buf b = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vaddf(&b, format, args);
    va_end(args);
    return b;
}

void buf_vaddf(struct buf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n > 0) {
        buf_reserve(b, (size_t)n);
        vsnprintf(b->data + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_rtrim(struct buf *b)
{
    size_t n = b->len;
    while (n && b->data[n - 1] && strchr(" \t\r\n", b->data[n - 1]))
        n--;
    buf_truncate(b, n);
}

const char *bytes_find(const char *s, const char *end, const char *what, size_t n)
{
    for (; (size_t)(end - s) >= n; s++) {
        s = memchr(s, what[0], (size_t)(end - s) - (n - 1));
        if (!s)
            return NULL;
        if (!memcmp(s, what, n))
            return s;
    }
    return NULL;
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hex_value(const char *s, size_t n, size_t digits)
{
    int value = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = i < n ? hex_digit(s[i]) : -1;
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

void buf_add_replaced(struct buf *out, const char *text, size_t n, const char *from, size_t len,
                      const char *to, size_t to_len)
{
    const char *end = text + n;
    for (const char *hit; len && (hit = memmem(text, (size_t)(end - text), from, len));) {
        buf_add(out, text, (size_t)(hit - text));
        buf_add(out, to, to_len);
        text = hit + len;
    }
    buf_add(out, text, (size_t)(end - text));
}

void buf_replace_all(struct buf *b, const char *const (*pairs)[2], size_t count)
{
    SCOPED(buf) next = BUF_INIT;
    for (size_t i = 0; i < count; i++) {
        buf_clear(&next);
        buf_add_replaced(&next, b->data, b->len, pairs[i][0], strlen(pairs[i][0]), pairs[i][1],
                         strlen(pairs[i][1]));
        buf_swap(b, &next);
    }
}
