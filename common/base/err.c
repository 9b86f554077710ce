#include "common/base/err.h"

#include <stdarg.h>

static _Thread_local struct err last;

enum { QUOTED_MOST = 300, QUOTED_FIRST = 200, QUOTED_LAST = 80 };

size_t err_control(const char *p, size_t n)
{
    static const unsigned char ranges[][4] = {
        /* the first character's 2 or 3 bytes (0: none), and the last byte of the last character */
        { 0xc2, 0x80, 0, 0x9f },    { 0xd8, 0x9c, 0, 0x9c },    { 0xe2, 0x80, 0x8e, 0x8f },
        { 0xe2, 0x80, 0xaa, 0xae }, { 0xe2, 0x81, 0xa6, 0xa9 },
    };
    const unsigned char *c = (const unsigned char *)p;
    if (n && (c[0] < 0x20 || c[0] == 0x7f))
        return 1;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const size_t width = ranges[i][2] ? 3 : 2;
        if (n >= width && !memcmp(c, ranges[i], width - 1) &&
            c[width - 1] >= ranges[i][width - 1] && c[width - 1] <= ranges[i][3])
            return width;
    }
    return 0;
}

static size_t put_byte(char *out, size_t at, size_t size, const char *p, int plain)
{
    char text[8];
    int n = snprintf(text, sizeof text, plain ? "%c" : "\\x%02x", (unsigned char)*p);
    if (at + (size_t)n < size) {
        memcpy(out + at, text, (size_t)n);
        at += (size_t)n;
    }
    return at;
}

/* Returns the start of the character of UTF-8 that p is in. */
static const char *whole(const char *p)
{
    for (int i = 0; i < 3 && ((unsigned char)*p & 0xC0) == 0x80; i++)
        p--;
    return p;
}

void err_tame(char *out, size_t size, const char *text)
{
    size_t at = 0;
    for (const char *p = text, *quote = NULL, *cut = NULL; *p;) {
        if (*p == '\'') {
            quote = strchr(p + 1, '\'');
            cut = quote && quote - p - 1 > QUOTED_MOST ? whole(p + 1 + QUOTED_FIRST) : NULL;
        }
        if (p == cut) {
            for (int i = 0; i < 3; i++)
                at = put_byte(out, at, size, ".", 1);
            p = whole(quote - QUOTED_LAST);
        }
        size_t n = err_control(p, strnlen(p, 3));
        for (size_t i = 0; i < (n ? n : 1); i++)
            at = put_byte(out, at, size, p + i, !n);
        p += n ? n : 1;
    }
    out[at] = '\0';
}

/* Sets the thread's error; `usage` 1 makes it a usage error (err_usage). It formats into a new
 * buffer first, because the arguments may point into `last`. err_tame shortens long messages. */
static void set(int usage, const char *format, va_list args)
{
    struct err now = { .usage = usage };
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(now.text, sizeof now.text, format, again);
    va_end(again);
    char *whole = n > QUOTED_MOST ? malloc((size_t)n + 1) : NULL;
    if (whole) {
        vsnprintf(whole, (size_t)n + 1, format, args);
        err_tame(now.text, sizeof now.text, whole);
        free(whole);
    }
    last = now;
}

int err_set(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(0, format, args);
    va_end(args);
    return -1;
}

int err_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(1, format, args);
    va_end(args);
    return -1;
}

int err_in(const char *format, ...)
{
    struct err before = last, now = { .usage = last.usage };
    va_list args;
    va_start(args, format);
    vsnprintf(now.text, sizeof now.text / 2, format, args);
    va_end(args);
    size_t n = strlen(now.text);
    snprintf(now.text + n, sizeof now.text - n, ": %s", before.text);
    last = now;
    return -1;
}

const char *err_get(void)
{
    return last.text;
}

int err_is_usage(void)
{
    return last.usage;
}

struct err err_keep(void)
{
    return last;
}

int err_restore(const struct err *why)
{
    last = *why;
    return -1;
}
