#include "common/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct err last;

enum { QUOTED_MOST = 300, QUOTED_FIRST = 200, QUOTED_LAST = 80 };

/* Returns the length in bytes of the control character at p, or 0 if there is none. C1 control
 * characters in UTF-8 count, too, since terminals may act on them. */
static size_t control(const char *p)
{
    unsigned char c = (unsigned char)p[0], next = (unsigned char)(c ? p[1] : 0);
    if (c < 0x20 || c == 0x7f)
        return 1;
    return c == 0xc2 && next >= 0x80 && next < 0xa0 ? 2 : 0;
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

void err_tame(char *out, size_t size, const char *text)
{
    size_t at = 0;
    for (const char *p = text, *quote = NULL, *cut = NULL; *p;) {
        if (*p == '\'') {
            quote = strchr(p + 1, '\'');
            cut = quote && quote - p - 1 > QUOTED_MOST ? p + 1 + QUOTED_FIRST : NULL;
        }
        if (p == cut) {
            for (int i = 0; i < 3; i++)
                at = put_byte(out, at, size, ".", 1);
            p = quote - QUOTED_LAST;
        }
        size_t n = control(p);
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
