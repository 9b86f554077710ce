/*
 * arguments.h - the arguments of a template call, by position and by name.
 *
 * In {{name| first | key = second |2=third}} argument 1 is "first", argument 2 is "third" and the
 * argument "key" is "second". If a position is given twice, its last value counts; for a name, its
 * last value that is not empty. Values are trimmed by span_trim. All spans point into the text of
 * the call.
 */
#pragma once

#include "wikiprep/text/call.h"
#include "wikiprep/values/span.h"

struct named_argument {
    struct span key, value;
};

struct arguments {
    struct span *at; /* positions 1 to count; at[0] is unused, and two more follow the last one */
    int count;       /* highest position given */
    struct named_argument *named;
    int named_count;
    size_t at_cap, named_cap;
};

/* Splits "key=value" at its '=' and trims both. Returns 1, or 0 if the argument has no '=' except
 * those of headings: then the value is the whole argument. */
int arguments_split(struct span argument, struct span *key, struct span *value);

/* Reads the arguments of the call; arguments_release frees them. A name such as "150" is left out
 * if it is higher than 200 and than the number of arguments. */
void arguments_read(struct arguments *a, const struct wikitext_call *call);
void arguments_release(struct arguments *a);

/* Returns the value of the argument at position `place` (from 1), or an empty span if it is not
 * given. */
struct span arguments_at(const struct arguments *a, int place);

/* Looks up the arguments named in `keys`, "a|b|c", in this order. A numeric key such as "1" names a
 * position. Returns the first value that is not empty, or an empty span. */
struct span arguments_any(const struct arguments *a, const char *keys);

/* Returns 1 if the value of the argument `key` is "yes", "y", "on", "1" or "true", else 0. */
int arguments_yes(const struct arguments *a, const char *key);
