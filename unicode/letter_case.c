#include "unicode/letter_case.h"

#include "common/base/utf8.h"

static const char dotted_i[] = "i\xCC\x87"; /* the lower case of LETTER_CASE_DOTTED_I */

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
    return lower == c && c >= 0x80 ? find(letter_case_laters, letter_case_laters_count, c) : lower;
}

unsigned letter_case_title(unsigned c)
{
    return c >= 0x10D0 && c <= 0x10FF ? c : letter_case_upper(c);
}

/* Returns 1 if the nearest character before s[at] that is in none of the sets is cased. */
static int cased_before(const char *s, size_t at, unsigned sets)
{
    for (unsigned c; at;) {
        at -= utf8_last(s, at, &c);
        if (!unicode_is(c, sets))
            return unicode_is(c, UNICODE_IS_CASED);
    }
    return 0;
}

static int cased_from(const char *s, size_t n, size_t at, unsigned sets)
{
    for (unsigned c; at < n;) {
        at += utf8_read(s + at, n - at, &c);
        if (!unicode_is(c, sets))
            return unicode_is(c, UNICODE_IS_CASED);
    }
    return 0;
}

int letter_case_is_final(const char *s, size_t n, size_t at, unsigned sets)
{
    enum { SIGMA_BYTES = 2 };
    return cased_before(s, at, sets | UNICODE_IS_CASE_IGNORABLE) &&
           !cased_from(s, n, at + SIGMA_BYTES, sets | UNICODE_IS_CASE_IGNORABLE);
}

/* Returns the result of `change` for c if it is several characters, else NULL. */
static const char *special(unsigned c, unsigned (*change)(unsigned))
{
    if (c == LETTER_CASE_DOTTED_I &&
        (change == letter_case_lower || change == letter_case_lower_new))
        return dotted_i;
    for (size_t i = 0; change == letter_case_upper && i < letter_case_severals_count; i++)
        if (letter_case_severals[i].c == c)
            return letter_case_severals[i].upper;
    return NULL;
}

void letter_case_put(struct buf *out, const char *s, size_t n, unsigned (*change)(unsigned))
{
    enum { CAPITAL_SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2 };
    const unsigned first = change('a') == 'a' ? 'A' : 'a'; /* of the 26 letters that change */
    for (size_t i = 0, len; i < n; i += len) {
        unsigned c;
        len = utf8_read(s + i, n - i, &c);
        if (c < 0x80)
            buf_addc(out, (int)(c - first < 26 ? c ^ 0x20 : c));
        else if (len == 1)
            buf_addc(out, (int)c); /* not valid UTF-8 */
        else if (special(c, change))
            buf_adds(out, special(c, change));
        else if (c == CAPITAL_SIGMA && change == letter_case_lower &&
                 letter_case_is_final(s, n, i, 0))
            utf8_add(out, FINAL_SIGMA);
        else
            utf8_add(out, change(c));
    }
}
