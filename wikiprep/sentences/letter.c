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

/* Marks beyond ASCII, by code point: of Latin, Greek (0x37E), Armenian (0x589), Arabic, Urdu
 * (0x6D4), Devanagari (0x964), Tibetan (0xF0D), Burmese (0x104B), Ethiopic (0x1362), Khmer
 * (0x17D4), Mongolian (0x1803), Chinese and Japanese (0x3001 on). */
/* clang-format off */
static const struct {
    unsigned first, last;
    enum letter_kind kind;
} marks[] = {
    { 0xA0, 0xA0, LETTER_SPACE }, { 0xA1, 0xA1, LETTER_OPEN }, { 0xAB, 0xAB, LETTER_OPEN },
    { 0xB7, 0xB7, LETTER_DASH }, { 0xBB, 0xBB, LETTER_CLOSE }, { 0xBF, 0xBF, LETTER_OPEN },
    { 0x37E, 0x37E, LETTER_END }, { 0x589, 0x589, LETTER_FULL_END }, { 0x60C, 0x60C, LETTER_DASH },
    { 0x61B, 0x61B, LETTER_DASH }, { 0x61F, 0x61F, LETTER_END }, { 0x660, 0x669, LETTER_DIGIT },
    { 0x6D4, 0x6D4, LETTER_END }, { 0x6F0, 0x6F9, LETTER_DIGIT }, { 0x964, 0x965, LETTER_FULL_END },
    { 0x966, 0x96F, LETTER_DIGIT }, { 0xF0D, 0xF0E, LETTER_END }, { 0x104B, 0x104B, LETTER_FULL_END },
    { 0x1362, 0x1362, LETTER_FULL_END }, { 0x1367, 0x1368, LETTER_FULL_END }, { 0x17D4, 0x17D5, LETTER_FULL_END },
    { 0x1803, 0x1803, LETTER_FULL_END }, { 0x1809, 0x1809, LETTER_FULL_END }, { 0x2002, 0x200A, LETTER_SPACE },
    { 0x2010, 0x2015, LETTER_DASH }, { 0x2018, 0x2018, LETTER_OPEN }, { 0x2019, 0x2019, LETTER_CLOSE },
    { 0x201A, 0x201A, LETTER_OPEN }, { 0x201C, 0x201C, LETTER_OPEN }, { 0x201D, 0x201D, LETTER_CLOSE },
    { 0x201E, 0x201E, LETTER_OPEN }, { 0x2026, 0x2026, LETTER_END }, { 0x202F, 0x202F, LETTER_SPACE },
    { 0x2039, 0x2039, LETTER_OPEN }, { 0x203A, 0x203A, LETTER_CLOSE }, { 0x203C, 0x203D, LETTER_END },
    { 0x2047, 0x2049, LETTER_END }, { 0x205F, 0x205F, LETTER_SPACE }, { 0x2212, 0x2212, LETTER_DASH },
    { 0x3000, 0x3000, LETTER_SPACE }, { 0x3001, 0x3001, LETTER_DASH }, { 0x3002, 0x3002, LETTER_FULL_END },
    { 0x3008, 0x3008, LETTER_OPEN }, { 0x3009, 0x3009, LETTER_CLOSE }, { 0x300A, 0x300A, LETTER_OPEN },
    { 0x300B, 0x300B, LETTER_CLOSE }, { 0x300C, 0x300C, LETTER_OPEN }, { 0x300D, 0x300D, LETTER_CLOSE },
    { 0x300E, 0x300E, LETTER_OPEN }, { 0x300F, 0x300F, LETTER_CLOSE }, { 0x3010, 0x3010, LETTER_OPEN },
    { 0x3011, 0x3011, LETTER_CLOSE }, { 0xFF01, 0xFF01, LETTER_FULL_END }, { 0xFF08, 0xFF08, LETTER_OPEN },
    { 0xFF09, 0xFF09, LETTER_CLOSE }, { 0xFF0C, 0xFF0C, LETTER_DASH }, { 0xFF1B, 0xFF1B, LETTER_DASH },
    { 0xFF1F, 0xFF1F, LETTER_FULL_END }, { 0xFF61, 0xFF61, LETTER_FULL_END },
};
/* clang-format on */

/* Returns the kind of a mark beyond ASCII, or LETTER_OTHER. */
static enum letter_kind mark_kind(unsigned c)
{
    size_t low = 0, high = sizeof marks / sizeof *marks;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c > marks[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    int found = low < sizeof marks / sizeof *marks && c >= marks[low].first;
    return found ? marks[low].kind : LETTER_OTHER;
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
