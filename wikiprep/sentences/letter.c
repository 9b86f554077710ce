#include "wikiprep/sentences/letter.h"

#include "common/base/utf8.h"
#include "unicode/letter_case.h"
#include "unicode/unicode.h"

/* ---- kinds ---------------------------------------------------------------------------------- */

const unsigned char letter_ascii_kinds[128] = {
    ['\t'] = LETTER_SPACE,        [' '] = LETTER_SPACE,         ['('] = LETTER_OPEN,
    ['['] = LETTER_OPEN,          ['{'] = LETTER_OPEN,          [')'] = LETTER_CLOSE,
    [']'] = LETTER_CLOSE,         ['}'] = LETTER_CLOSE,         ['"'] = LETTER_QUOTE,
    ['\''] = LETTER_QUOTE,        ['.'] = LETTER_END,           ['!'] = LETTER_END,
    ['?'] = LETTER_END,           [','] = LETTER_DASH,          [':'] = LETTER_DASH,
    [';'] = LETTER_DASH,          ['-'] = LETTER_DASH,          ['/'] = LETTER_DASH,
    ['`'] = LETTER_OPEN,          ['0' ... '9'] = LETTER_DIGIT, ['A' ... 'Z'] = LETTER_UPPER,
    ['a' ... 'z'] = LETTER_LOWER,
};

/* Returns the kind of a non-ASCII punctuation mark that its Unicode category does not tell, or
 * LETTER_OTHER. The marks are those of Latin, Greek (0x37E), Armenian (0x589), Arabic, Urdu
 * (0x6D4), N'Ko (0x7F9), Devanagari (0x964), Tibetan (0xF0D), Burmese (0x104B), Ethiopic (0x1362),
 * Cree (0x166E), Khmer (0x17D4), Mongolian (0x1803), Santali (0x1C7E), Chinese and Japanese (0x3001
 * on), Meitei (0xABEB). */
/* clang-format off */
static enum letter_kind mark_kind(unsigned c)
{
    switch (c) {
    case 0xA1: case 0xBF: return LETTER_OPEN;
    case 0x55B ... 0x55C: case 0x55E: return LETTER_LOWER; /* Armenian signs on a vowel of a word */
    case 0x200C ... 0x200D: return LETTER_CASELESS; /* joiners in words of Persian, Sinhala and others */
    case 0xB7: case 0x60C: case 0x61B: case 0x2212: case 0x3001: case 0xFF0C: case 0xFF1B: return LETTER_DASH;
    case 0x37E: case 0x61F: case 0x6D4: case 0x7F9: case 0xF0D ... 0xF0E: case 0x2026: case 0x203C ... 0x203D:
    case 0x2047 ... 0x2049: return LETTER_END;
    case 0x589: case 0x964 ... 0x965: case 0x104B: case 0x1362: case 0x1367 ... 0x1368: case 0x166E:
    case 0x17D4 ... 0x17D5: case 0x1803: case 0x1809: case 0x1C7E ... 0x1C7F: case 0x3002: case 0xABEB:
    case 0xFF01: case 0xFF1F: case 0xFF61: return LETTER_FULL_END;
    default: return LETTER_OTHER;
    }
}
/* clang-format on */

static enum letter_kind kind_of(unsigned c)
{
    enum { HEBREW = 0x5BE, GEORGIAN = 0x10D0, GEORGIAN_END = 0x10FF }; /* letters without case */
    switch (unicode_of(c)->category) {
    case UNICODE_LU:
    case UNICODE_LT: return LETTER_UPPER;
    case UNICODE_LL: return c >= GEORGIAN && c <= GEORGIAN_END ? LETTER_CASELESS : LETTER_LOWER;
    case UNICODE_LM:
    case UNICODE_LO:
    case UNICODE_MN:
    case UNICODE_MC: return c >= HEBREW ? LETTER_CASELESS : LETTER_OTHER;
    case UNICODE_PS:
    case UNICODE_PI: return LETTER_OPEN;
    case UNICODE_PE:
    case UNICODE_PF: return LETTER_CLOSE;
    case UNICODE_PD: return LETTER_DASH;
    case UNICODE_ND: return LETTER_DIGIT;
    case UNICODE_ZS: return LETTER_SPACE;
    default: return mark_kind(c);
    }
}

/* ---- letters -------------------------------------------------------------------------------- */

struct letter letter_beyond_ascii(const char *s, const char *end)
{
    struct letter c;
    c.len = utf8_read(s, (size_t)(end - s), &c.code);
    c.kind = c.len == 1 ? LETTER_OTHER : kind_of(c.code);
    if (c.code == 0x1361 && end - s >= 6 && !memcmp(s, s + 3, 3)) /* twice: typed for 0x1362 */
        return (struct letter){ .code = 0x1362, .len = 6, .kind = LETTER_FULL_END };
    return c;
}

struct letter letter_before(const char *begin, const char *s)
{
    unsigned c;
    return letter_at(s - utf8_last(begin, (size_t)(s - begin), &c), s);
}

size_t letter_lower(char *out, const char *s, size_t n)
{
    const char *end = s + n;
    size_t written = 0;
    while (s < end) {
        struct letter c = letter_at(s, end);
        unsigned lower = c.code == LETTER_CASE_DOTTED_I ? 'i' : letter_case_lower(c.code);
        if (c.kind == LETTER_UPPER && (lower < 0x800 || c.code >= 0x800)) /* no longer than c */
            written += utf8_put(out + written, lower);
        else
            for (size_t i = 0; i < c.len; i++)
                out[written++] = s[i];
        s += c.len;
    }
    return written;
}
