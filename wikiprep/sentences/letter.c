#include "wikiprep/sentences/letter.h"

#include "common/base/utf8.h"
#include "unicode/letter_case.h"

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

/* Returns the lower case of a letter with case, or 0 for other characters. */
static unsigned lower_of(unsigned c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c | 0x20 : c >= 'a' && c <= 'z' ? c : 0;
    if (c >= 0x400 && c <= 0x45F)
        return c <= 0x40F ? c + 0x50 : c <= 0x42F ? c + 0x20 : c;
    if (c >= 0xC0 && c <= 0xFF)
        return c == 0xD7 || c == 0xF7 ? 0 : c <= 0xDE ? c + 0x20 : c;
    if (c == 0x130 || c == 0x178) /* Turkish dotted I; Y with two dots */
        return c == 0x130 ? 'i' : 0xFF;
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E)) /* pairs with an odd upper case */
        return c & 1 ? c + 1 : c;
    if (c >= 0x180 && c <= 0x2AF) { /* Vietnamese, Romanian, Azerbaijani and others */
        unsigned lower = letter_case_lower(c);
        return lower < 0x800 ? lower : c; /* the result must not take more bytes */
    }
    if ((c >= 0x100 && c <= 0x17F) || (c >= 0x460 && c <= 0x481) || (c >= 0x48A && c <= 0x52F) ||
        (c >= 0x1E00 && c <= 0x1EFF))
        return c | 1;
    switch (c) { /* Greek with accents */
    case 0x386: return 0x3AC;
    case 0x388 ... 0x38A: return c + 0x25;
    case 0x38C: return 0x3CC;
    case 0x38E ... 0x38F: return c + 0x3F;
    }
    if (c >= 0x390 && c <= 0x3FF)
        return c >= 0x391 && c <= 0x3AB ? c + 0x20 : c;
    if (c >= 0x531 && c <= 0x587)
        return c <= 0x556 ? c + 0x30 : c;
    return 0;
}

/* Returns the kind of a mark beyond ASCII, or LETTER_OTHER. */
static enum letter_kind mark_kind(unsigned c)
{
    switch (c) {
    case 0xA0:
    case 0x2002 ... 0x200A:
    case 0x202F:
    case 0x205F:
    case 0x3000: return LETTER_SPACE;
    case 0xA1:
    case 0xAB:
    case 0xBF:
    case 0x2018:
    case 0x201A:
    case 0x201C:
    case 0x201E:
    case 0x2039:
    case 0x3008:
    case 0x300A:
    case 0x300C:
    case 0x300E:
    case 0x3010:
    case 0xFF08: return LETTER_OPEN;
    case 0xBB:
    case 0x2019:
    case 0x201D:
    case 0x203A:
    case 0x3009:
    case 0x300B:
    case 0x300D:
    case 0x300F:
    case 0x3011:
    case 0xFF09: return LETTER_CLOSE;
    case 0xB7:
    case 0x60C:
    case 0x61B:
    case 0x2010 ... 0x2015:
    case 0x2212:
    case 0x3001:
    case 0xFF0C:
    case 0xFF1B: return LETTER_DASH;
    case 0x37E:           /* Greek */
    case 0x61F:           /* Arabic */
    case 0x6D4:           /* Urdu */
    case 0xF0D ... 0xF0E: /* Tibetan */
    case 0x2026:
    case 0x203C ... 0x203D:
    case 0x2047 ... 0x2049: return LETTER_END;
    case 0x589:           /* Armenian */
    case 0x964 ... 0x965: /* Devanagari */
    case 0x104B:          /* Burmese */
    case 0x1362:
    case 0x1367 ... 0x1368: /* Ethiopic */
    case 0x17D4 ... 0x17D5: /* Khmer */
    case 0x1803:
    case 0x1809: /* Mongolian */
    case 0x3002:
    case 0xFF01:
    case 0xFF1F:
    case 0xFF61: /* Chinese and Japanese */ return LETTER_FULL_END;
    case 0x660 ... 0x669:
    case 0x6F0 ... 0x6F9:
    case 0x966 ... 0x96F: /* Arabic, Persian, Devanagari */ return LETTER_DIGIT;
    default: return LETTER_OTHER;
    }
}

static enum letter_kind kind_of(unsigned c)
{
    if (c < 0x80)
        return letter_ascii_kinds[c];
    unsigned lower = lower_of(c);
    if (lower)
        return lower == c ? LETTER_LOWER : LETTER_UPPER;
    if (c > 0x3040 && c < 0xFF00)
        return LETTER_CASELESS; /* Chinese, Japanese, Korean and others */
    enum letter_kind kind = mark_kind(c);
    if (kind == LETTER_OTHER && ((c >= 0x5BE && c < 0x2000) || c >= 0x10000))
        return LETTER_CASELESS;
    return kind;
}

/* ---- letters -------------------------------------------------------------------------------- */

struct letter letter_beyond_ascii(const char *s, const char *end)
{
    struct letter c;
    c.len = utf8_read(s, (size_t)(end - s), &c.code);
    c.kind = c.len == 1 ? LETTER_OTHER : kind_of(c.code);
    return c;
}

struct letter letter_before(const char *begin, const char *s)
{
    if (s == begin)
        return (struct letter){ 0 };
    unsigned c;
    return letter_at(s - utf8_last(begin, (size_t)(s - begin), &c), s);
}

size_t letter_lower(char *out, const char *s, size_t n)
{
    const char *end = s + n;
    size_t written = 0;
    while (s < end) {
        struct letter c = letter_at(s, end);
        if (c.kind == LETTER_UPPER)
            written += utf8_put(out + written, lower_of(c.code));
        else
            for (size_t i = 0; i < c.len; i++)
                out[written++] = s[i];
        s += c.len;
    }
    return written;
}
