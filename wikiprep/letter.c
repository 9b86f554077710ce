#include "wikiprep/letter.h"

#include "common/buf.h"
#include "wikiprep/codepoint.h"

/* ---- kinds ---------------------------------------------------------------------------------- */

static int one_of(unsigned c, const unsigned *list)
{
    for (; *list; list++)
        if (*list == c)
            return 1;
    return 0;
}

/* By ASCII character. */
static const unsigned char ascii_kinds[128] = {
    ['\t'] = LETTER_SPACE,        [' '] = LETTER_SPACE,         ['('] = LETTER_OPEN,
    ['['] = LETTER_OPEN,          ['{'] = LETTER_OPEN,          [')'] = LETTER_CLOSE,
    [']'] = LETTER_CLOSE,         ['}'] = LETTER_CLOSE,         ['"'] = LETTER_QUOTE,
    ['\''] = LETTER_QUOTE,        ['.'] = LETTER_END,           ['!'] = LETTER_END,
    ['?'] = LETTER_END,           [','] = LETTER_DASH,          [':'] = LETTER_DASH,
    [';'] = LETTER_DASH,          ['-'] = LETTER_DASH,          ['/'] = LETTER_DASH,
    ['`'] = LETTER_OPEN,          ['0' ... '9'] = LETTER_DIGIT, ['A' ... 'Z'] = LETTER_UPPER,
    ['a' ... 'z'] = LETTER_LOWER,
};

/* The lower case of a letter of an alphabet that has case; the letter itself where it is lower
 * case; 0 for what is no such letter. */
static unsigned lower_of(unsigned c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c | 0x20 : c >= 'a' && c <= 'z' ? c : 0;
    if (c >= 0xC0 && c <= 0xFF)
        return c == 0xD7 || c == 0xF7 ? 0 : c <= 0xDE ? c + 0x20 : c;
    if (c == 0x130 || c == 0x178) /* of Turkish; Y with two dots */
        return c == 0x130 ? 'i' : 0xFF;
    if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E)) /* pairs that begin odd */
        return c & 1 ? c + 1 : c;
    if ((c >= 0x100 && c <= 0x17F) || (c >= 0x218 && c <= 0x21B) || (c >= 0x460 && c <= 0x481) ||
        (c >= 0x48A && c <= 0x52F) || (c >= 0x1E00 && c <= 0x1EFF))
        return c | 1;
    switch (c) { /* Greek with accents */
    case 0x386: return 0x3AC;
    case 0x388 ... 0x38A: return c + 0x25;
    case 0x38C: return 0x3CC;
    case 0x38E ... 0x38F: return c + 0x3F;
    }
    if (c >= 0x390 && c <= 0x3FF)
        return c >= 0x391 && c <= 0x3AB ? c + 0x20 : c;
    if (c >= 0x400 && c <= 0x45F)
        return c <= 0x40F ? c + 0x50 : c <= 0x42F ? c + 0x20 : c;
    if (c >= 0x531 && c <= 0x587)
        return c <= 0x556 ? c + 0x30 : c;
    return 0;
}

static enum letter_kind kind_of(unsigned c)
{
    static const unsigned open[] = { 0xA1,   0xAB,   0xBF,   0x2018, 0x201A, 0x201C, 0x201E, 0x2039,
                                     0x3008, 0x300A, 0x300C, 0x300E, 0x3010, 0xFF08, 0 };
    static const unsigned close[] = { 0xBB,   0x2019, 0x201D, 0x203A, 0x3009, 0x300B,
                                      0x300D, 0x300F, 0x3011, 0xFF09, 0 };
    static const unsigned dash[] = { 0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0xB7,
                                     0x60C,  0x61B,  0x2212, 0x3001, 0xFF0C, 0xFF1B, 0 };
    /* Arabic, Urdu's, Tibetan; Greek's is the semicolon */
    static const unsigned end[] = { 0x37E,  0x61F,  0x6D4,  0xF0D,  0xF0E,  0x2026,
                                    0x203C, 0x203D, 0x2047, 0x2048, 0x2049, 0 };
    /* Armenian, Devanagari, Burmese, Ethiopic, Khmer, Mongolian, Chinese and Japanese */
    static const unsigned full_end[] = { 0x589,  0x964,  0x965,  0x104B, 0x1362, 0x1367,
                                         0x1368, 0x17D4, 0x17D5, 0x1803, 0x1809, 0x3002,
                                         0xFF01, 0xFF1F, 0xFF61, 0 };
    static const unsigned space[] = { 0xA0,   0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007,
                                      0x2008, 0x2009, 0x200A, 0x202F, 0x205F, 0x3000, 0 };
    if (c < 0x80)
        return ascii_kinds[c];
    unsigned lower = lower_of(c);
    if (lower)
        return lower == c ? LETTER_LOWER : LETTER_UPPER;
    if (c > 0x3040 && c < 0xFF00)
        return LETTER_CASELESS; /* Chinese, Japanese, Korean and what is alike */
    if (one_of(c, open))
        return LETTER_OPEN;
    if (one_of(c, close))
        return LETTER_CLOSE;
    if (one_of(c, dash))
        return LETTER_DASH;
    if (one_of(c, end))
        return LETTER_END;
    if (one_of(c, full_end))
        return LETTER_FULL_END;
    if (one_of(c, space))
        return LETTER_SPACE;
    if ((c >= 0x660 && c <= 0x669) || (c >= 0x6F0 && c <= 0x6F9) || (c >= 0x966 && c <= 0x96F))
        return LETTER_DIGIT; /* Arabic, Persian, Devanagari */
    return (c >= 0x5BE && c < 0x2000) || c >= 0x10000 ? LETTER_CASELESS : LETTER_OTHER;
}

/* ---- letters -------------------------------------------------------------------------------- */

struct letter letter_at(const char *s, const char *end)
{
    struct letter c = { 0 };
    if (s < end) {
        c.len = codepoint_read(s, (size_t)(end - s), &c.code);
        c.kind = c.len == 1 && c.code >= 0x80 ? LETTER_OTHER : kind_of(c.code);
    }
    return c;
}

struct letter letter_before(const char *begin, const char *s)
{
    if (s == begin)
        return (struct letter){ 0 };
    const char *p = s - 1;
    while (p > begin && s - p < 4 && ((unsigned char)*p & 0xC0) == 0x80)
        p--;
    struct letter c = letter_at(p, s);
    if (c.len != (size_t)(s - p))
        return letter_at(s - 1, s);
    return c;
}

size_t letter_lower(char *out, const char *s, size_t n)
{
    const char *end = s + n;
    size_t written = 0;
    while (s < end) {
        struct letter c = letter_at(s, end);
        if (c.kind == LETTER_UPPER)
            written += utf8_encode(out + written, lower_of(c.code));
        else
            for (size_t i = 0; i < c.len; i++)
                out[written++] = s[i];
        s += c.len;
    }
    return written;
}
