#include "unicode/letter_case.h"

#include "common/base/utf8.h"

static uint32_t find(const struct letter_case_run *runs, size_t count, uint32_t c)
{
    const struct letter_case_run *r = unicode_run(runs, count, sizeof *runs, c);
    const uint32_t distance = r ? c - r->first : 0;
    if (!r || distance % r->step || distance / r->step >= r->count)
        return c;
    return (uint32_t)((int32_t)c + r->delta);
}

unsigned letter_case_upper(unsigned c)
{
    if (c < 0x80)
        return c >= 'a' && c <= 'z' ? c - 0x20 : c;
    return find(letter_case_uppers, letter_case_uppers_count, c);
}

unsigned letter_case_lower(unsigned c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 0x20 : c;
    return find(letter_case_lowers, letter_case_lowers_count, c);
}

unsigned letter_case_lower_new(unsigned c)
{
    unsigned lower = letter_case_lower(c);
    return lower == c ? find(letter_case_laters, letter_case_laters_count, c) : lower;
}

unsigned letter_case_title(unsigned c)
{
    return c >= 0x10D0 && c <= 0x10FF ? c : letter_case_upper(c);
}

/* Returns the result of `change` for c if it is several characters, else NULL. */
static const char *special(unsigned c, unsigned (*change)(unsigned))
{
    if (change == letter_case_lower && c == 0x130)
        return "i̇";
    for (size_t i = 0; change == letter_case_upper && i < letter_case_severals_count; i++)
        if (letter_case_severals[i].c == c)
            return letter_case_severals[i].upper;
    return NULL;
}

void letter_case_put(struct buf *out, const char *s, size_t n, unsigned (*change)(unsigned))
{
    for (size_t i = 0, len; i < n; i += len) {
        unsigned c;
        len = utf8_read(s + i, n - i, &c);
        if (len == 1 && c >= 0x80)
            buf_addc(out, (int)c); /* not valid UTF-8 */
        else if (c >= 0x80 && special(c, change))
            buf_adds(out, special(c, change));
        else
            utf8_add(out, change(c));
    }
}
