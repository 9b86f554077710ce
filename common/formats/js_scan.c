#include "common/formats/js_scan.h"

#include "common/base/utf8.h"

void js_scan_init(struct js_scan *s, const char *text, size_t n)
{
    *s = (struct js_scan){ .text = text, .n = n, .plain = BUF_INIT };
}

void js_scan_release(struct js_scan *s)
{
    buf_release(&s->plain);
}

int js_scan_error(const struct js_scan *s, size_t at, const char *what)
{
    size_t line = 1;
    for (size_t i = 0; i < at && i < s->n; i++)
        line += s->text[i] == '\n';
    /* a text of one line is often a line of a file: the caller adds its number there */
    return line > 1 ? err_set("bad JSON at byte %zu (line %zu): %s", at, line, what)
                    : err_set("bad JSON at byte %zu: %s", at, what);
}

/* ---- marks ---------------------------------------------------------------------------------- */

int js_scan_peek(struct js_scan *s)
{
    for (; s->at < s->n; s->at++) {
        char c = s->text[s->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            return (unsigned char)c;
    }
    return -1;
}

int js_scan_mark(struct js_scan *s, char mark)
{
    char what[] = "',' expected";
    what[1] = mark;
    if (js_scan_peek(s) != mark)
        return js_scan_error(s, s->at, what);
    s->at++;
    return 0;
}

int js_scan_next(struct js_scan *s, char close, size_t items)
{
    if (js_scan_peek(s) == close) {
        s->at++;
        return 0;
    }
    if (items && js_scan_mark(s, ',') < 0)
        return -1;
    js_scan_peek(s);
    return 1;
}

/* ---- strings -------------------------------------------------------------------------------- */

static int is_control(char c)
{
    return (unsigned char)c < ' ';
}

/* Returns the position of a string's closing quote, given the position after its opening quote: the
 * first quote with an even number of backslashes before it. s->n if there is none. */
static size_t find_quote(const struct js_scan *s, size_t begin)
{
    for (size_t at = begin; at < s->n; at++) {
        const char *quote = memchr(s->text + at, '"', s->n - at);
        if (!quote)
            break;
        size_t slashes = at = (size_t)(quote - s->text);
        while (slashes > begin && s->text[slashes - 1] == '\\')
            slashes--;
        if ((at - slashes) % 2 == 0)
            return at;
    }
    return s->n;
}

/* Returns the code point of the escape whose text after "\u" is p: "XXXX", or "XXXX\uXXXX" for two
 * surrogates. Sets *len to the length of this text. Returns `half` for a surrogate without its
 * other half, and -1, without an error set, if the text is not valid. */
static int read_unicode(const char *p, size_t n, int half, size_t *len)
{
    int high = hex_value(p, n, 4);
    *len = 4;
    if (high < 0xD800 || high > 0xDFFF)
        return high;
    int low = n >= 6 && p[4] == '\\' && p[5] == 'u' ? hex_value(p + 6, n - 6, 4) : -1;
    if (high > 0xDBFF || low < 0xDC00 || low > 0xDFFF)
        return half;
    *len = 10;
    return 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF);
}

/* Writes text[begin..end) to s->plain with its escapes decoded. */
static int unescape(struct js_scan *s, size_t begin, size_t end)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    buf_clear(&s->plain);
    for (size_t i = begin; i < end;) {
        const char *escape = memchr(s->text + i, '\\', end - i);
        size_t plain = escape ? (size_t)(escape - s->text) : end, len;
        buf_add(&s->plain, s->text + i, plain - i);
        if (!escape)
            break;
        const char *name = memchr(names, s->text[plain + 1], sizeof names - 1);
        i = plain + 2;
        if (name) {
            buf_addc(&s->plain, meant[name - names]);
            continue;
        }
        const int half = s->halves ? 0xFFFD : -1;
        int c = s->text[plain + 1] == 'u' ? read_unicode(s->text + i, end - i, half, &len) : -1;
        if (c < 0)
            return js_scan_error(s, plain, "no escape");
        utf8_add(&s->plain, (unsigned)c);
        i += len;
    }
    return 0;
}

int js_scan_text(struct js_scan *s, const char **out, size_t *len)
{
    if (js_scan_peek(s) != '"')
        return js_scan_error(s, s->at, "no string");
    size_t begin = s->at + 1, end = begin;
    while (end < s->n && s->text[end] != '"' && s->text[end] != '\\' && !is_control(s->text[end]))
        end++;
    int escapes = end < s->n && s->text[end] == '\\';
    for (size_t quote = escapes ? find_quote(s, end) : end; end < quote; end++)
        if (is_control(s->text[end]))
            break;
    if (end == s->n)
        return js_scan_error(s, end, "a string does not end");
    if (s->text[end] != '"')
        return js_scan_error(s, end, "a control character in a string");
    if (escapes && unescape(s, begin, end) < 0)
        return -1;
    *out = escapes ? s->plain.data : s->text + begin;
    *len = escapes ? s->plain.len : end - begin;
    s->at = end + 1;
    return 0;
}

int js_scan_key(struct js_scan *s, const char **out, size_t *len)
{
    return js_scan_text(s, out, len) < 0 ? -1 : js_scan_mark(s, ':');
}

/* ---- other values --------------------------------------------------------------------------- */

int js_scan_int(struct js_scan *s, int64_t *out)
{
    int minus = js_scan_peek(s) == '-';
    size_t begin = s->at + (size_t)minus, i = begin;
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + (uint64_t)minus;
    for (; i < s->n && s->text[i] >= '0' && s->text[i] <= '9'; i++) {
        unsigned digit = (unsigned)(s->text[i] - '0');
        if (value > (limit - digit) / 10)
            return js_scan_error(s, begin, "a number beyond 64 bits");
        value = 10 * value + digit;
    }
    if (i == begin || (i > begin + 1 && s->text[begin] == '0') ||
        (i < s->n && memchr(".eE", s->text[i], 3)))
        return js_scan_error(s, s->at, "no whole number");
    *out = minus ? (int64_t)(0 - value) : (int64_t)value;
    s->at = i;
    return 0;
}

int js_scan_skip(struct js_scan *s)
{
    size_t depth = 0;
    int c = js_scan_peek(s);
    if (c < 0 || memchr(",:]}", c, 4))
        return js_scan_error(s, s->at, "no value");
    if (!memchr("{[\"", c, 3)) { /* a number, or a word */
        while (s->at < s->n && !memchr(",]} \t\r\n", s->text[s->at], 7))
            s->at++;
        return 0;
    }
    for (; s->at < s->n; s->at++) {
        c = s->text[s->at];
        if (c == '"')
            s->at = find_quote(s, s->at + 1);
        else
            depth += (size_t)(c == '{' || c == '[') - (size_t)(c == '}' || c == ']');
        if (!depth && s->at < s->n) {
            s->at++;
            return 0;
        }
    }
    return js_scan_error(s, s->n, "the text ends within a value");
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Returns 1 if s[0..n) is a number, or a word that Python's json reads. s[n] must be readable. */
static int is_scalar(const char *s, size_t n)
{
    static const char digits[] = "0123456789";
    static const char *const words[] = { "true", "false", "null", "NaN", "Infinity", "-Infinity" };
    size_t i = *s == '-', k = strspn(s + i, digits);
    int ok = k == 1 || (k && s[i] != '0');
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (bytes_are(s, n, words[w]))
            return 1;
    i += k;
    if (s[i] == '.') {
        k = strspn(s + ++i, digits);
        ok &= k > 0;
        i += k;
    }
    if (s[i] == 'e' || s[i] == 'E') {
        i += 1 + (s[i + 1] == '-' || s[i + 1] == '+');
        k = strspn(s + i, digits);
        ok &= k > 0;
        i += k;
    }
    return ok && i == n;
}

int js_scan_value(struct js_scan *s, int depth)
{
    const char *text;
    size_t n, begin;
    int c = js_scan_peek(s), more;
    if (c == '"')
        return js_scan_text(s, &text, &n);
    begin = s->at;
    if (c != '[' && c != '{')
        return js_scan_skip(s) < 0                         ? -1
               : is_scalar(s->text + begin, s->at - begin) ? 0
                                                           : js_scan_error(s, begin, "no value");
    if (!depth)
        return js_scan_error(s, begin, "nested too deeply");
    s->at++;
    for (size_t i = 0; (more = js_scan_next(s, c == '[' ? ']' : '}', i)) > 0; i++)
        if ((c == '{' && js_scan_key(s, &text, &n) < 0) || js_scan_value(s, depth - 1) < 0)
            return -1;
    return more;
}
