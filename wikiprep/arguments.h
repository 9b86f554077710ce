/*
 * arguments.h - the arguments of a template call, by place and by name.
 *
 * {{name| first | key = second |2=third}} has "first" at 1, "third" at 2 (the last wins) and
 * "second" by "key". Spaces around are left out, and what markup.h's marks of dropped things are
 * at either end. Spans point into the call; they are not terminated.
 */
#ifndef TEXTMILL_ARGUMENTS_H
#define TEXTMILL_ARGUMENTS_H

#include <stddef.h>

#include "common/buf.h"
#include "wikiprep/wikitext.h"

struct span {
    const char *s;
    size_t n;
};

enum { ARGUMENTS_PLACES = 200, ARGUMENTS_NAMES = 40 }; /* more are left out */

struct arguments {
    struct span at[ARGUMENTS_PLACES + 1]; /* at[1] is the first; only up to `count` */
    int count;                            /* the last place that was given */
    struct {
        struct span key, value;
    } named[ARGUMENTS_NAMES];
    int named_count;
};

void arguments_read(struct arguments *a, const struct wikitext_call *call);

/* Empty when it was not given. */
struct span arguments_at(const struct arguments *a, int place);

/* The first of these keys, with '|' between them, that has a value; "1" is the first place. */
struct span arguments_any(const struct arguments *a, const char *keys);

/* Whether the value says yes: "yes", "y", "on", "1", "true". */
int arguments_yes(const struct arguments *a, const char *key);

struct span span_of(const char *s); /* all of a string */
struct span span_trim(const char *s, size_t n);
int span_is(struct span s, const char *text);  /* equal but for the case of ASCII letters */
int span_in(struct span s, const char *words); /* one of words with '|' between; not empty */
int span_number(struct span s, int *value);    /* 1 when all of it is a whole number */
void span_put(struct span s, struct buf *out);

#endif
