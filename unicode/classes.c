#include "unicode/classes.h"

#include <string.h>

static void add(struct classes_set *s, uint32_t first, uint32_t last)
{
    for (uint32_t c = first; c <= last; c++)
        s->bits[c >> 3] |= (uint8_t)(1 << (c & 7));
}

int classes_category(struct classes_set *s, const char *name, size_t n)
{
    static const char names[] = "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCoCn";
    uint64_t wanted = 0;
    for (unsigned i = 0; i < sizeof names / 2; i++)
        if ((n == 1 || n == 2) && !memcmp(names + 2 * i, name, n))
            wanted |= (uint64_t)1 << i;
    memset(s, 0, sizeof *s);
    uint32_t next = 0; /* code points below have been seen */
    for (const struct classes_run *r = classes_runs; r->first <= r->last; r++) {
        if (wanted >> CLASS_CN & 1 && next < r->first)
            add(s, next, r->first - 1);
        if (wanted >> r->category & 1)
            add(s, r->first, r->last);
        next = r->last + 1;
    }
    if (wanted >> CLASS_CN & 1)
        add(s, next, UNICODE_LIMIT - 1);
    return wanted ? 0 : -1;
}

void classes_word_set(struct classes_set *s, int in_brackets)
{
    static const unsigned char alone[] = { 0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE };
    memset(s, 0, sizeof *s);
    for (const struct unicode_range *r = classes_word; r->first <= r->last; r++)
        add(s, r->first, r->last);
    for (size_t i = 0; i < sizeof alone && in_brackets; i++)
        s->bits[alone[i] >> 3] &= (uint8_t) ~(1 << (alone[i] & 7));
}
