/*
 * arguments.h - the arguments of a template call, by place and by name.
 *
 * {{name| first | key = second |2=third}} has "first" at 1, "third" at 2 (the last wins) and
 * "second" by "key". Spaces around values are left out, as
 * span_trim does. Spans point into the call.
 */
#ifndef TEXTMILL_WIKIPREP_TEXT_ARGUMENTS_H
#define TEXTMILL_WIKIPREP_TEXT_ARGUMENTS_H

#include <stddef.h>

#include "common/buf.h"
#include "wikiprep/text/call.h"
#include "wikiprep/values/span.h"

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

#endif
