/*
 * noun.h - nouns beside counts: "1 document", "2 documents".
 */
#pragma once

#include "common/base/std.h"

/* Returns the end of a regular noun after the count n:
 *
 *     buf_addf(&b, "%d document%s", n, noun_end(n));
 */
static inline const char *noun_end(uint64_t n)
{
    return n == 1 ? "" : "s";
}
