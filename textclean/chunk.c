#include "textclean/chunk.h"

#include "common/base/utf8.h"
#include "unicode/unicode.h"

const uint8_t chunk_classes[256] = {
    ['\t' ... '\r'] = CHUNK_SPACE,
    [0x1C ... ' '] = CHUNK_SPACE,
    ['A' ... 'Z'] = CHUNK_LETTER,
    ['a' ... 'z'] = CHUNK_LETTER | CHUNK_LOWER,
    ['!' ... '"'] = CHUNK_TAIL,
    [')'] = CHUNK_TAIL,
    [','] = CHUNK_TAIL,
    [':' ... ';'] = CHUNK_TAIL,
    ['?'] = CHUNK_TAIL,
};

/* ---- exceptions ------------------------------------------------------------------------------ */

/* The chunks with parts that the rules would not find: exceptions.txt, which describes itself. */
extern const char chunk_exceptions[];

/* Adds a chunk, in place of an equal one. */
static void put_chunk(struct nameset *set, const char *text, const char *apostrophe)
{
    char chunk[40];
    uint8_t parts[CHUNK_PARTS] = { 0 };
    size_t n = 0, part = 0;
    for (; *text; text++) {
        size_t k = *text == '~' ? 0 : *text == '\'' ? strlen(apostrophe) : 1;
        memcpy(chunk + n, *text == '\'' ? apostrophe : text, k);
        parts[part] = (uint8_t)(parts[part] + k);
        part += *text == '~';
        n += k;
    }
    memcpy(nameset_put(set, chunk, n), parts, sizeof parts);
}

static void put_word(struct nameset *set, const char *word, size_t n, const char *endings)
{
    static const char *const apostrophes[] = { "'", "\xE2\x80\x99", "" };
    char text[40];
    for (const char *end = endings; *end != '\n'; end += strspn(end, " ")) {
        int only = n && *end == '-';
        size_t k = strcspn(end += only, " \n");
        snprintf(text, sizeof text, "%.*s%s%.*s", (int)n, word, n ? "~" : "", (int)k, end);
        for (int capital = 0; capital <= (n && *word >= 'a' && *word <= 'z'); capital++) {
            *text = (char)(*text - 32 * capital);
            for (int i = 0; i < (only || !n ? 2 : 3); i++)
                put_chunk(set, text, apostrophes[i]);
        }
        end += k;
    }
}

struct nameset *chunk_specials(void)
{
    struct nameset *set = nameset_new(CHUNK_PARTS);
    for (const char *line = chunk_exceptions; *line; line = strchr(line, '\n') + 1) {
        const char *colon = strstr(line, ": ");
        for (size_t n; *line != '#' && line <= colon; line += n + 1) {
            n = strcspn(line, " :");
            put_word(set, line, n, colon + 2);
        }
    }
    return set;
}

/* ---- classes of characters ------------------------------------------------------------------- */

enum {
    ALPHA = 1,
    UPPER = 2,
    LOWER = 4, /* letters without case are UPPER and LOWER */
    DIGIT = 8, /* of ASCII */
    MARK = 16,
    QUOTE = 32,
    CURRENCY = 64,
    ICON = 128,
};

static unsigned class_near(uint32_t c)
{
    if (c >= 'a' && c <= 'z')
        return ALPHA | LOWER;
    if (c >= 'A' && c <= 'Z')
        return ALPHA | UPPER;
    if (c >= '0' && c <= '9')
        return DIGIT;
    if (c == '$')
        return CURRENCY;
    if (c == '\'' || c == '"' || c == '`')
        return QUOTE;
    return c && strchr(",:;!?()[]{}<>_#*&", (int)c) ? MARK | (c == ',' ? QUOTE : 0) : 0;
}

static unsigned class_of(uint32_t c)
{
    if (c < 128)
        return class_near(c);
    const struct unicode_record *r = unicode_of(c);
    switch (r->category) {
    case UNICODE_LU: return ALPHA | UPPER;
    case UNICODE_LL: return ALPHA | LOWER;
    case UNICODE_LO: return ALPHA | UPPER | LOWER;
    case UNICODE_SC: return c == 0xA2 ? 0 : CURRENCY; /* cents are not cut off */
    case UNICODE_SO: return ICON;
    default: break;
    }
    return r->is & UNICODE_IS_SPACY_QUOTE ? QUOTE : r->is & UNICODE_IS_SPACY_MARK ? MARK : 0;
}

static unsigned class_before(const char *s, size_t n)
{
    unsigned c;
    return utf8_last(s, n, &c) ? class_of(c) : 0;
}

static unsigned class_at(const char *s, size_t n)
{
    unsigned c;
    return n && utf8_read(s, n, &c) ? class_of(c) : 0;
}

static size_t run_of(const char *s, size_t n, char c)
{
    size_t i = 0;
    while (i < n && s[i] == c)
        i++;
    return i;
}

/* ---- marks ----------------------------------------------------------------------------------- */

static int is_dash(unsigned c)
{
    return c == 0x2013 || c == 0x2014;
}

size_t chunk_prefix(const char *s, size_t n)
{
    unsigned c;
    size_t k = n ? utf8_read(s, n, &c) : 0, dots = run_of(s, n, '.');
    if (!k)
        return 0;
    if (n > 2 && s[1] == 'S' && s[2] == '$' && *s == 'U')
        return 3;
    if (n > 1 && s[1] == '$' && (*s == 'C' || *s == 'A'))
        return 2;
    if (dots > 1)
        return dots;
    if (c == 0xA7 || c == '%' || c == '=' || is_dash(c))
        return k;
    if (c == '+')
        return n == 1 || !(class_at(s + 1, n - 1) & DIGIT);
    return class_of(c) & (MARK | QUOTE | CURRENCY | ICON) ? k : 0;
}

/* Units of measure that are cut off a number. */
static const char units[] =
    " km km\xC2\xB2 km\xC2\xB3 m m\xC2\xB2 m\xC2\xB3 dm dm\xC2\xB2 dm\xC2\xB3 cm cm\xC2\xB2 "
    "cm\xC2\xB3 mm mm\xC2\xB2 mm\xC2\xB3 ha \xC2\xB5m nm yd in ft kg g mg \xC2\xB5g t lb oz m/s "
    "km/h kmh mph hPa Pa mbar mb MB kb KB gb GB tb TB T G M K % ";

static size_t unit_suffix(const char *s, size_t n)
{
    size_t k = 0;
    while (k < n && k < 8 && !(s[n - k - 1] >= '0' && s[n - k - 1] <= '9'))
        k++;
    if (!k || k == n || k == 8)
        return 0;
    for (const char *at = units; (at = bytes_find(at, units + sizeof units - 1, s + n - k, k));
         at++)
        if (at[-1] == ' ' && at[k] == ' ')
            return k;
    return 0;
}

/* Returns 1 if the period that follows s[0..n) is cut off, or 0 if it stays. */
static size_t period_suffix(const char *s, size_t n)
{
    unsigned c, before;
    size_t k = utf8_last(s, n, &c);
    unsigned class = k ? class_of(c) : 0;
    if (class & (DIGIT | LOWER | MARK | QUOTE) || c == '%' || c == 0xB2 || c == '-' || c == '+')
        return 1;
    if (class & UPPER && class_before(s, n - k) & UPPER)
        return 1;
    return k && memchr("FCK", (int)(c & 0x7F), 3) && utf8_last(s, n - k, &before) && before == 0xB0;
}

size_t chunk_suffix(const char *s, size_t n)
{
    unsigned c, before;
    size_t k = utf8_last(s, n, &c), dots = 0, unit = n > 1 ? unit_suffix(s, n) : 0;
    if (unit)
        return unit;
    while (dots < n && s[n - dots - 1] == '.')
        dots++;
    if (dots)
        return dots > 1 ? dots : period_suffix(s, n - 1);
    if (c == 's' || c == 'S') {
        size_t quote = utf8_last(s, n - 1, &before);
        return quote && (before == '\'' || before == 0x2019) ? quote + 1 : 0;
    }
    if (c == 0x2026 && utf8_last(s, n - k, &before) && before == c)
        return 2 * k;
    unsigned class = k ? class_of(c) : 0;
    if (c == '+' || class & CURRENCY)
        return class_before(s, n - k) & DIGIT ? k : 0;
    return class & (MARK | QUOTE | ICON) || is_dash(c) ? k : 0;
}

/* ---- inside of a chunk ----------------------------------------------------------------------- */

/* Returns the bytes of the mark at s: up to three -, one ~ or en dash, or up to two em dashes. */
static size_t hyphens(const char *s, size_t n)
{
    static const char en[] = "\xE2\x80\x93", em[] = "\xE2\x80\x94";
    if (!n)
        return 0;
    size_t k = run_of(s, n < 4 ? n : 4, '-');
    if (k)
        return k <= 3 ? k : 0;
    if (*s == '~')
        return 1;
    if (n >= 3 && !memcmp(s, en, 3))
        return 3;
    if (n >= 3 && !memcmp(s, em, 3))
        return n >= 6 && !memcmp(s + 3, em, 3) ? 6 : 3;
    return 0;
}

/* Returns the bytes of the mark at s[i] at which the chunk s[0..n) is cut; 0: none. */
static size_t infix_at(const char *s, size_t n, size_t i)
{
    unsigned c;
    size_t k = utf8_read(s + i, n - i, &c), dots = run_of(s + i, n - i, '.');
    if (dots > 1)
        return dots;
    if (c == 0x2026)
        return k;
    if (c < 128 ? !memchr("+-*^.,:<>=/~", (int)c, 12) : !is_dash(c))
        return class_of(c) & ICON ? k : 0;
    unsigned before = class_before(s, i), after = class_at(s + i + k, n - i - k);
    size_t dashes = hyphens(s + i, n - i);
    if (dashes && before & (ALPHA | DIGIT) && class_at(s + i + dashes, n - i - dashes) & ALPHA)
        return dashes;
    if (c < 128 && memchr("+-*^", (int)c, 4))
        return before & DIGIT && (after & DIGIT || (i + 1 < n && s[i + 1] == '-'));
    if (c == '.')
        return before & (LOWER | QUOTE) && after & (UPPER | QUOTE);
    if (c == ',')
        return before & ALPHA && after & ALPHA;
    return c < 128 && c != '~' && before & (ALPHA | DIGIT) && after & ALPHA;
}

size_t chunk_infix(const char *s, size_t n, size_t *at)
{
    unsigned c;
    for (size_t i = *at; i < n; i += utf8_read(s + i, n - i, &c)) {
        unsigned char byte = (unsigned char)s[i];
        size_t k = chunk_classes[byte] & CHUNK_LETTER ? 0 : infix_at(s, n, i);
        if (k) {
            *at = i;
            return k;
        }
    }
    return 0;
}

/* Returns 1 if s[0..n) is the name of a host: parts with points between them, the last of at least
 * two small letters. */
static int is_host(const char *s, size_t n)
{
    size_t part = 0, small = 0, parts = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        int letter = (chunk_classes[c] & CHUNK_LETTER) || (c >= '0' && c <= '9') || c >= 0x80;
        if (c == '.') {
            if (!part || s[i - 1] == '-' || s[i - 1] == '_')
                return 0;
            parts++;
            part = small = 0;
            continue;
        }
        if (!letter && (!part || (c != '-' && c != '_')))
            return 0;
        part++;
        small += (chunk_classes[c] & CHUNK_LOWER) != 0;
    }
    return parts && part >= 2 && small == part;
}

static int is_scheme(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(chunk_classes[(unsigned char)s[i]] & CHUNK_LETTER) &&
            !memchr("0123456789+-._", s[i], 14))
            return 0;
    return 1;
}

int chunk_is_address(const char *s, size_t n)
{
    if (!memchr(s, '.', n))
        return 0;
    const char *end = s + n, *scheme = bytes_find(s, end, "://", 3);
    if (scheme && scheme - s >= 2 && is_scheme(s, (size_t)(scheme - s)))
        s = scheme + 3;
    size_t host = 0;
    while (s + host < end && !memchr("/?#", s[host], 3))
        host++;
    const char *at = memchr(s, '@', host);
    if (at && at > s) {
        host -= (size_t)(at + 1 - s);
        s = at + 1;
    }
    size_t digits = 0;
    while (digits < host && s[host - digits - 1] >= '0' && s[host - digits - 1] <= '9')
        digits++;
    if (digits >= 2 && digits <= 5 && digits < host && s[host - digits - 1] == ':')
        host -= digits + 1;
    return is_host(s, host);
}
