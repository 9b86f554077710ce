#include "common/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct err last;

static void set(int usage, const char *format, va_list args)
{
    struct err now = { .usage = usage }; /* the arguments may point into `last` */
    vsnprintf(now.text, sizeof now.text, format, args);
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
