#include "eval/lower.h"

#include "unicode/bert_classes.h"

enum {
    CAPITAL_I_DOT = 0x130,
    COMBINING_DOT = 0x307,
    CAPITAL_SIGMA = 0x3A3,
    SIGMA = 0x3C3,
    FINAL_SIGMA = 0x3C2
};

static uint32_t lower_one(uint32_t c)
{
    for (const struct lower_run *r = unicode_lower; r->first <= r->last && r->first <= c; r++)
        if (c <= r->last && (c - r->first) % r->step == 0)
            return c + (uint32_t)r->delta;
    return c;
}

static int is_in(const struct unicode_range *r, uint32_t c)
{
    for (; r->first <= r->last && r->first <= c; r++)
        if (c <= r->last)
            return 1;
    return 0;
}

static int is_cased(uint32_t c)
{
    return is_in(google_cased, c);
}

static int is_ignored(uint32_t c)
{
    return is_in(google_case_ignorable, c);
}

/* Whether the nearest letter before s[at] that counts is cased. */
static int cased_before(const char *s, size_t at)
{
    while (at) {
        size_t len;
        do
            at--;
        while (((unsigned char)s[at] & 0xC0) == 0x80);
        uint32_t c = utf8_get((const unsigned char *)s + at, &len);
        if (!is_ignored(c))
            return is_cased(c);
    }
    return 0;
}

static int cased_from(const char *s, size_t n, size_t at)
{
    size_t len;
    for (; at < n; at += len) {
        uint32_t c = utf8_get((const unsigned char *)s + at, &len);
        if (!is_ignored(c))
            return is_cased(c);
    }
    return 0;
}

void lower_add(struct buf *out, const char *s, size_t n)
{
    size_t len;
    for (size_t i = 0; i < n; i += len) {
        uint32_t c = utf8_get((const unsigned char *)s + i, &len);
        if (c < 0x80) {
            buf_addc(out, c >= 'A' && c <= 'Z' ? (int)c + 'a' - 'A' : (int)c);
        } else if (c == CAPITAL_I_DOT) {
            buf_addc(out, 'i');
            buf_add_utf8(out, COMBINING_DOT);
        } else if (c == CAPITAL_SIGMA) {
            int final = cased_before(s, i) && !cased_from(s, n, i + len);
            buf_add_utf8(out, final ? FINAL_SIGMA : SIGMA);
        } else {
            buf_add_utf8(out, lower_one(c));
        }
    }
}
