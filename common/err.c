#include "common/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[1024];
static _Thread_local int usage;

static void set(const char *format, va_list args)
{
    char line[sizeof text]; /* the arguments may point into `text` */
    vsnprintf(line, sizeof line, format, args);
    memcpy(text, line, sizeof text);
}

int err_set(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(format, args);
    va_end(args);
    usage = 0;
    return -1;
}

int err_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(format, args);
    va_end(args);
    usage = 1;
    return -1;
}

int err_in(const char *format, ...)
{
    char context[sizeof text / 2], before[sizeof text];
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    memcpy(before, text, sizeof text);
    if (snprintf(text, sizeof text, "%s: ", context) >= 0)
        strncat(text, before, sizeof text - strlen(text) - 1);
    return -1;
}

const char *err_get(void)
{
    return text;
}

int err_is_usage(void)
{
    return usage;
}
