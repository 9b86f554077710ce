#include "unicode/bert_classes.h"

static uint32_t lower_in(const struct lower_run *r, uint32_t c)
{
    for (; r->first <= r->last && r->first <= c; r++)
        if (c <= r->last && (c - r->first) % r->step == 0)
            return (uint32_t)((int32_t)c + r->delta);
    return c;
}

uint32_t bert_classes_lower(uint32_t c, int google)
{
    uint32_t lower = lower_in(unicode_lower, c);
    return lower == c && !google ? lower_in(unicode_lower_later, c) : lower;
}
