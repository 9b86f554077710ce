/*
 * choice.h - lists of words in one string, such as "one|two|three", or "one, two".
 */
#pragma once

#include "common/base/std.h"

/* Returns the index of word[0..n) in the list; -1 if it is not there. */
static inline int choice_find(const char *list, const char *word, size_t n)
{
    for (int i = 0;; i++) {
        const size_t len = strcspn(list, "|");
        if (len == n && !memcmp(list, word, n))
            return i;
        if (!list[len])
            return -1;
        list += len + 1;
    }
}

/* Returns word `i` of the list, or the last one if there are fewer, and sets *n to its length. */
static inline const char *choice_at(const char *list, size_t i, size_t *n)
{
    while (i-- && strchr(list, '|'))
        list = strchr(list, '|') + 1;
    *n = strcspn(list, "|");
    return list;
}

/* Returns 1 if word[0..n) is a word of the list, which commas or ", " separate, else 0. */
static inline int choice_listed(const char *list, const char *word, size_t n)
{
    for (; *list; list += strcspn(list, ","), list += strspn(list, ", "))
        if (!strncmp(list, word, n) && (list[n] == ',' || !list[n]))
            return 1;
    return 0;
}
