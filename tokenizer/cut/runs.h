/*
 * runs.h - finds the matches of the simplest patterns without PCRE2: runs of a character, and runs
 * of some characters at the beginning or the end of a text.
 *
 * The patterns are c+, c{m,}, \A[cd]+, [cd]+\z and \A[cd]+|[cd]+\z, where c and d are any
 * characters without a special meaning. Normalizers squeeze and strip spaces with them.
 */
#pragma once

#include "common/base/base.h"

enum { RUNS_MAX = 2, RUN_CHARS = 2, RUN_BYTES = 32 };

/* One alternative: as many as possible, and at least least_count, of its characters. */
struct run {
    char chars[RUN_CHARS][4]; /* UTF-8 */
    size_t lens[RUN_CHARS];
    int count;             /* of chars */
    char least[RUN_BYTES]; /* the shortest match; for a run that may be anywhere in the text */
    size_t least_len, least_count;
    int at_begin, at_end; /* the run must begin or end with the text */
};

struct runs {
    struct run items[RUNS_MAX];
    int count;
};

/* Reads pattern[0..n) into *r. Returns 1, or 0 if it is none of the patterns above. */
int runs_read(struct runs *r, const char *pattern, size_t n);

/* Finds the first match in text[from..n), as regex_find does, and sets *begin and *end to its
 * range. Returns 1, or 0 if there is none. */
int runs_find(const struct runs *r, const char *text, size_t n, size_t from, size_t *begin,
              size_t *end);
