#include "unicode/lower.h"

#include "common/base/utf8.h"
#include "unicode/letter_case.h"
#include "unicode/unicode.h"

enum {
    COMBINING_DOT = 0x307,
    CAPITAL_SIGMA = 0x3A3,
    SIGMA = 0x3C3,
    FINAL_SIGMA = 0x3C2,
    SIGMA_BYTES = 2,
};

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
    size_t len;
    for (; at < n; at += len) {
        uint32_t c = utf8_get((const unsigned char *)s + at, &len);
        if (!unicode_is(c, sets))
            return unicode_is(c, UNICODE_IS_CASED);
    }
    return 0;
}

int lower_is_final(const char *s, size_t n, size_t at, unsigned sets)
{
    return cased_before(s, at, sets | UNICODE_IS_CASE_IGNORABLE) &&
           !cased_from(s, n, at + SIGMA_BYTES, sets | UNICODE_IS_CASE_IGNORABLE);
}

void lower_add(struct buf *out, const char *s, size_t n)
{
    size_t len;
    for (size_t i = 0; i < n; i += len) {
        uint32_t c = utf8_get((const unsigned char *)s + i, &len);
        if (c < 0x80) {
            buf_addc(out, c >= 'A' && c <= 'Z' ? (int)c + 'a' - 'A' : (int)c);
        } else if (c == LETTER_CASE_DOTTED_I) {
            buf_addc(out, 'i');
            utf8_add(out, COMBINING_DOT);
        } else if (c == CAPITAL_SIGMA) {
            utf8_add(out, lower_is_final(s, n, i, 0) ? FINAL_SIGMA : SIGMA);
        } else {
            utf8_add(out, letter_case_lower(c));
        }
    }
}
