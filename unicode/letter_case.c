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
    static const struct {
        unsigned c;
        const char *upper;
    } uppers_of[] = { { 0xDF, "SS" },    { 0x149, "ʼN" },  { 0x1F0, "J̌" },   { 0x587, "ԵՒ" },
                      { 0xFB00, "FF" },  { 0xFB01, "FI" }, { 0xFB02, "FL" }, { 0xFB03, "FFI" },
                      { 0xFB04, "FFL" }, { 0xFB05, "ST" }, { 0xFB06, "ST" } };
    if (change == letter_case_lower && c == 0x130)
        return "i̇";
    for (size_t i = 0; change == letter_case_upper && i < sizeof uppers_of / sizeof *uppers_of; i++)
        if (uppers_of[i].c == c)
            return uppers_of[i].upper;
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
