#include "tokenizer/cut/charset.h"

#include "common/base/utf8.h"

enum { DEPTH_MAX = 8, LONG_S = 0x17F, KELVIN = 0x212A };

/* ---- sets ------------------------------------------------------------------------------------ */

void charset_add(struct charset *s, uint32_t first, uint32_t last)
{
    for (; first <= last && first & 7; first++)
        s->bits[first >> 3] |= (uint8_t)(1 << (first & 7));
    for (; first + 7 <= last; first += 8)
        s->bits[first >> 3] = 0xFF;
    for (; first <= last; first++)
        s->bits[first >> 3] |= (uint8_t)(1 << (first & 7));
}

void charset_invert(struct charset *s)
{
    for (size_t i = 0; i < sizeof s->bits; i++)
        s->bits[i] = (uint8_t)~s->bits[i];
}

int charset_fold(struct charset *s)
{
    for (size_t i = 0x80 / 8; i < sizeof s->bits; i++)
        if (s->bits[i])
            return -1;
    for (uint32_t c = 'a'; c <= 'z'; c++)
        if (charset_has(s, c) || charset_has(s, c - 'a' + 'A')) {
            charset_add(s, c, c);
            charset_add(s, c - 'a' + 'A', c - 'a' + 'A');
        }
    if (charset_has(s, 's'))
        charset_add(s, LONG_S, LONG_S);
    if (charset_has(s, 'k'))
        charset_add(s, KELVIN, KELVIN);
    return 0;
}

int charset_category(struct charset *s, const char *name, size_t n)
{
    static const char names[] = "LuLlLtLmLoMnMcMeNdNlNoPcPdPsPePiPfPoSmScSkSoZsZlZpCcCfCoCn";
    uint64_t wanted = 0;
    for (unsigned i = 0; i < sizeof names / 2; i++)
        if ((n == 1 || n == 2) && !memcmp(names + 2 * i, name, n))
            wanted |= (uint64_t)1 << i;
    memset(s, 0, sizeof *s);
    for (uint32_t c = 0; c < UNICODE_LIMIT && wanted; c++)
        if (wanted >> unicode_of(c)->category & 1)
            charset_add(s, c, c);
    return wanted ? 0 : -1;
}

/* Sets *s to the characters in these sets. */
static void set_to(struct charset *s, unsigned sets)
{
    memset(s, 0, sizeof *s);
    for (uint32_t c = 0; (c = unicode_next(sets, c)) < UNICODE_LIMIT; c++)
        charset_add(s, c, c);
}

void charset_word(struct charset *s, int in_brackets)
{
    static const unsigned char alone[] = { 0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE };
    set_to(s, UNICODE_IS_REGEX_WORD);
    for (size_t i = 0; i < sizeof alone && in_brackets; i++)
        s->bits[alone[i] >> 3] &= (uint8_t) ~(1 << (alone[i] & 7));
}

void charset_space(struct charset *s)
{
    set_to(s, UNICODE_IS_SPACE);
}

/* ---- escapes --------------------------------------------------------------------------------- */

/* Reads \xHH, \x{H...} or \uHHHH at p[0..n) and sets *c to the code point. Returns the number of
 * bytes read, or 0 if p does not begin with such an escape. */
static size_t code_escape(const char *p, size_t n, uint32_t *c)
{
    const char *brace = p[1] == 'x' && n > 3 && p[2] == '{' ? memchr(p, '}', n) : NULL;
    const size_t front = brace ? 3 : 2;
    const size_t digits = brace ? (size_t)(brace - p) - front : p[1] == 'u' ? 4 : 2;
    const int limit = brace || p[1] == 'u' ? UNICODE_LIMIT : 0x80;
    const int value = digits && digits <= 6 ? hex_value(p + front, n - front, digits) : -1;
    *c = (uint32_t)value;
    return value < 0 || value >= limit ? 0 : front + digits + (brace != NULL);
}

/* Reads one character at p[0..n), which may be escaped, into *c. Returns the number of bytes read,
 * 0 if it is something else. */
static size_t character(const char *p, size_t n, uint32_t *c)
{
    static const char names[] = "nrtfvae", codes[] = "\n\r\t\f\v\a\033";
    size_t len;
    if (*p != '\\') {
        *c = utf8_get((const unsigned char *)p, &len);
        return len;
    }
    if (n < 2)
        return 0;
    const char *name = memchr(names, p[1], sizeof names - 1);
    if (name) {
        *c = (uint32_t)codes[name - names];
        return 2;
    }
    if (p[1] == 'x' || p[1] == 'u')
        return code_escape(p, n, c);
    *c = (unsigned char)p[1];
    int letter_or_digit = (*c | 0x20) - 'a' < 26u || *c - '0' < 10u;
    return letter_or_digit || *c >= 0x80 ? 0 : 2;
}

int charset_ask(struct charset *s, struct buf *spelling, const char *name, size_t n,
                charset_property_fn *theirs)
{
    buf_setf(spelling, "\\p{sc:%.*s}", (int)n, name);
    if (theirs(s, spelling->data) == 0)
        return 0;
    buf_setf(spelling, "\\p{%.*s}", (int)n, name);
    return theirs(s, spelling->data);
}

/* Reads \p{...} or \P{...}, where ^ after the brace means the complement, into s. `theirs` is asked
 * for properties that are not known here. Returns the number of bytes read, 0 if p is no known
 * property. */
static size_t property(struct charset *s, const char *p, size_t n, charset_property_fn *theirs)
{
    const char *end = n > 3 && p[2] == '{' ? memchr(p, '}', n) : NULL;
    if (!end)
        return 0;
    const char *name = p + 3;
    int inverted = (p[1] == 'P') != (*name == '^'), known;
    name += *name == '^';
    size_t len = (size_t)(end - name);
    if (bytes_are(name, len, "White_Space")) {
        charset_space(s);
        known = 1;
    } else if (!(known = len && charset_category(s, name, len) == 0)) {
        SCOPED(buf) text = BUF_INIT;
        known = charset_ask(s, &text, name, len, theirs) == 0;
    }
    if (known && inverted)
        charset_invert(s);
    return known ? (size_t)(end - p) + 1 : 0;
}

/* Reads \s, \d, \w, \h, their complements, or a property at p[0..n) into *s. `in_brackets`: whether
 * it is in a bracketed class, where \w has fewer characters. Returns the number of bytes read, 0 if
 * it is none of these. */
static size_t named(struct charset *s, const char *p, size_t n, int in_brackets,
                    charset_property_fn *theirs)
{
    if (n < 2 || *p != '\\' || !memchr("sSdDwWhHpP", p[1], 10))
        return 0;
    if (p[1] == 'p' || p[1] == 'P')
        return property(s, p, n, theirs);
    memset(s, 0, sizeof *s);
    switch (p[1] | 0x20) {
    case 's': charset_space(s); break;
    case 'd': charset_category(s, "Nd", 2); break;
    case 'w': charset_word(s, in_brackets); break;
    default:
        charset_add(s, '0', '9');
        charset_add(s, 'a', 'f');
        charset_add(s, 'A', 'F');
    }
    if (!(p[1] & 0x20))
        charset_invert(s);
    return 2;
}

/* ---- brackets -------------------------------------------------------------------------------- */

/* State shared while a class and its parts are read. */
struct class
{
    charset_property_fn *theirs;
    int depth, nested;
};

static size_t brackets(struct charset *s, const char *p, size_t n, struct class *c);

/* Adds the character or range at p[0..n) to the set. Returns the bytes read, 0 if there is none. */
static size_t range(struct charset *s, const char *p, size_t n)
{
    uint32_t first, last;
    size_t len = character(p, n, &first), more;
    last = first;
    if (len && len + 1 < n && p[len] == '-' && p[len + 1] != ']') {
        more = character(p + len + 1, n - len - 1, &last);
        if (!more || last < first || p[len + 1] == '[')
            return 0;
        len += 1 + more;
    }
    if (len)
        charset_add(s, first, last);
    return len;
}

/* Reads one part of a class at p[0..n) and adds it to the set s; `c` is the state of reading the
 * class. Returns the number of bytes read, 0 if it is not supported. */
static size_t part(struct charset *s, const char *p, size_t n, struct class *c)
{
    size_t len;
    if (*p != '[' && (n < 2 || *p != '\\' || !memchr("sSdDwWhHpP", p[1], 10)))
        return range(s, p, n);
    SCOPED_MEM struct charset *inner = mem_alloc(sizeof *inner);
    if (*p == '[') {
        len = c->depth++ < DEPTH_MAX ? brackets(inner, p, n, c) : 0;
        c->depth--;
        c->nested = 1;
    } else {
        len = named(inner, p, n, 1, c->theirs);
        if (len && len < n - 1 && p[len] == '-' && p[len + 1] != ']')
            len = 0; /* a range that begins with a class */
    }
    for (size_t i = 0; i < sizeof s->bits && len; i++)
        s->bits[i] |= inner->bits[i];
    return len;
}

/* Reads one operand of && in a bracketed class, or the whole content of a class without &&, into
 * *s. Stops at && or ]. Returns the number of bytes read, or 0 if the operand is empty or not
 * supported. */
static size_t operand(struct charset *s, const char *p, size_t n, struct class *c)
{
    size_t i = 0, len;
    memset(s, 0, sizeof *s);
    for (; i < n && p[i] != ']' && !(i + 1 < n && p[i] == '&' && p[i + 1] == '&'); i += len)
        if (!(len = part(s, p + i, n - i, c)))
            return 0;
    return i < n ? i : 0;
}

/* Reads a class at p[0..n), which begins with '[', into the set s. Returns the number of bytes
 * read, 0 if it is not supported. */
static size_t brackets(struct charset *s, const char *p, size_t n, struct class *c)
{
    size_t i = 1, len;
    int inverted = n > 1 && p[1] == '^';
    i += (size_t)inverted;
    if (i < n && (p[i] == ':' || p[i] == ']')) /* [:alpha:], or ] as a character */
        return 0;
    if (!(len = operand(s, p + i, n - i, c)))
        return 0;
    i += len;
    while (p[i] == '&') {
        SCOPED_MEM struct charset *other = mem_alloc(sizeof *other);
        c->nested = 1;
        i += 2;
        if (!(len = operand(other, p + i, n - i, c)))
            return 0;
        for (size_t k = 0; k < sizeof s->bits; k++)
            s->bits[k] &= other->bits[k];
        i += len;
    }
    if (inverted)
        charset_invert(s);
    return i + 1;
}

size_t charset_parse(struct charset *s, const char *p, size_t n, charset_property_fn *theirs,
                     int *nested)
{
    struct class class = { .theirs = theirs };
    uint32_t c;
    *nested = 0;
    if (*p == '[') {
        size_t used = brackets(s, p, n, &class);
        *nested = class.nested;
        return used;
    }
    size_t len = named(s, p, n, 0, theirs);
    if (len || !(len = character(p, n, &c)))
        return len;
    memset(s, 0, sizeof *s);
    charset_add(s, c, c);
    return len;
}
