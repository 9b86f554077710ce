#include "wikiprep/values/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>

#include "wikiprep/values/knowledge.h"

enum { PRECISION = 14, NUMBER_MAX_BYTES = 400 };

/* ---- reading ------------------------------------------------------------------------------ */

/* Returns the position after the digits at s.s[i]. */
static size_t skip_digits(struct span s, size_t i)
{
    while (i < s.n && isdigit((unsigned char)s.s[i]))
        i++;
    return i;
}

static size_t skip_sign(struct span s, size_t i)
{
    return i + (i < s.n && (s.s[i] == '-' || s.s[i] == '+'));
}

/* Returns the position after the exponent at s.s[i], "e-5", or i if there is none. */
static size_t skip_exponent(struct span s, size_t i)
{
    if (i >= s.n || (s.s[i] | 0x20) != 'e')
        return i;
    size_t digits = skip_sign(s, i + 1), end = skip_digits(s, digits);
    return end > digits ? end : i;
}

/* Returns the position after the digits and the point at s.s[i], or 0 if there is no digit. */
static size_t skip_mantissa(struct span s, size_t i)
{
    size_t point = skip_digits(s, i);
    size_t end = point < s.n && s.s[point] == '.' ? skip_digits(s, point + 1) : point;
    return point > i || end > point + 1 ? end : 0;
}

/* Returns the length of the number at the start of s, or 0. *is_integer is set to 1 if it has no
 * point and no exponent. */
static size_t number_length(struct span s, int *is_integer)
{
    size_t mantissa = skip_mantissa(s, skip_sign(s, 0));
    size_t end = mantissa ? skip_exponent(s, mantissa) : 0;
    *is_integer = end == mantissa && !memchr(s.s, '.', mantissa);
    return end;
}

static struct number convert(const char *s, size_t n, int is_integer)
{
    char text[NUMBER_MAX_BYTES];
    struct number number = { 0 };
    if (n >= sizeof text) {
        n = sizeof text - 1;
        is_integer = 0;
    }
    memcpy(text, s, n);
    text[n] = '\0';
    errno = 0;
    if (is_integer) {
        long long v = strtoll(text, NULL, 10);
        number = (struct number){ (double)v, errno != ERANGE, v };
    }
    if (!number.is_integer)
        number.value = strtod(text, NULL);
    return number;
}

int number_read(struct span s, struct number *n)
{
    int is_integer;
    while (s.n && isspace((unsigned char)*s.s))
        s.s++, s.n--;
    while (s.n && isspace((unsigned char)s.s[s.n - 1]))
        s.n--;
    size_t len = number_length(s, &is_integer);
    if (!len || len != s.n)
        return 0;
    *n = convert(s.s, len, is_integer);
    return 1;
}

/* Returns 1 if a number is written as an integer ("12", not "12.0"), else 0. */
static int is_whole(struct span s)
{
    return !memchr(s.s, '.', s.n) && !memchr(s.s, 'e', s.n) && !memchr(s.s, 'E', s.n);
}

int number_equal(struct span a, struct span b)
{
    struct number x, y;
    if (span_equal(a, b))
        return 1;
    if (!a.n || !b.n || !number_read(a, &x) || !number_read(b, &y))
        return 0;
    if (x.is_integer && y.is_integer)
        return x.whole == y.whole;
    if ((is_whole(a) && !x.is_integer) || (is_whole(b) && !y.is_integer))
        return 0; /* integers over 64 bits are equal only as text */
    return x.value == y.value && isfinite(x.value);
}

int64_t number_integer(struct span s)
{
    int is_integer;
    while (s.n && isspace((unsigned char)*s.s))
        s.s++, s.n--;
    size_t len = number_length(s, &is_integer);
    struct number n = len ? convert(s.s, len, is_integer) : (struct number){ .is_integer = 1 };
    return fabs(n.value) < 9e18 ? (int64_t)n.value : 0;
}

/* ---- writing ------------------------------------------------------------------------------ */

void number_put(struct number n, struct buf *out)
{
    char text[40];
    if (isnan(n.value) || isinf(n.value)) {
        buf_adds(out, isnan(n.value) ? "NAN" : n.value < 0 ? "-INF" : "INF");
        return;
    }
    if (n.is_integer) {
        buf_addf(out, "%.0f", n.value + 0.0);
        return;
    }
    snprintf(text, sizeof text, "%.*G", PRECISION, n.value);
    size_t mantissa = strcspn(text, "E");
    buf_add(out, text, mantissa);
    if (text[mantissa]) /* PHP writes 1.0E+5 for C's 1E+05 */
        buf_addf(out, "%sE%+ld", strchr(text, '.') ? "" : ".0",
                 strtol(text + mantissa + 1, NULL, 10));
}

/* Rounds to an integer, halves away from zero. */
static double round_half_up(double v)
{
    return v >= 0 ? floor(v + 0.5) : ceil(v - 0.5);
}

double number_round(double value, int digits)
{
    if (!isfinite(value) || value == 0)
        return value;
    if (digits > 300 || digits < -300)
        return digits > 0 ? value : 0;
    int magnitude = 14 - (int)floor(log10(fabs(value)));
    double power = pow(10, abs(digits)), scaled;
    if (magnitude > digits && magnitude - 15 < digits) {
        double fine = pow(10, abs(magnitude)); /* first round to 15 significant digits */
        scaled = round_half_up(magnitude >= 0 ? value * fine : value / fine);
        int less = digits - magnitude < -308 ? -308 : digits - magnitude;
        scaled /= pow(10, abs(less));
    } else {
        scaled = digits >= 0 ? value * power : value / power;
        if (fabs(scaled) >= 1e15)
            return value;
    }
    scaled = round_half_up(scaled);
    if (abs(digits) < 23)
        return digits > 0 ? scaled / power : scaled * power;
    char text[64];
    snprintf(text, sizeof text, "%15fe%d", scaled, -digits);
    double read = strtod(text, NULL);
    return isfinite(read) ? read : value;
}

/* ---- languages ---------------------------------------------------------------------------- */

struct number_style number_style(const char *lang)
{
    const char *name = knowledge_find("numbers", lang, "rule");
    const char *row = name ? knowledge_find("number-styles", "", name) : NULL;
    if (!row)
        return (struct number_style){ span_of(","), span_of("."), span_of(""), 1, 0 };
    return (struct number_style){ span_item(row, 0), span_item(row, 1), span_item(row, 4),
                                  *span_item(row, 2).s - '0', *span_item(row, 3).s == '1' };
}

/* Appends c, if it is a digit as the style writes it. */
static void put_digit(char c, const struct number_style *style, struct buf *out)
{
    size_t n = isdigit((unsigned char)c) ? style->digits.n / 10 : 0;
    if (n)
        buf_add(out, style->digits.s + n * (size_t)(c - '0'), n);
    else
        buf_addc(out, c);
}

void number_put_digits(struct span s, const struct number_style *style, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++)
        put_digit(s.s[i], style, out);
}

/* Appends s[0..n), the digits before the point, with separators between their groups. */
static void put_grouped(const char *s, size_t n, const struct number_style *style, struct buf *out)
{
    int grouped = n >= 3 + (size_t)style->min_grouping;
    for (size_t i = 0; i < n; i++) {
        size_t left = n - i;
        int boundary = style->indian && left > 3 ? left % 2 == 1 : left % 3 == 0;
        if (i && grouped && boundary)
            span_put(style->group, out);
        put_digit(s[i], style, out);
    }
}

/* Appends the number s, which has no exponent, in the style. */
static void format_plain(struct span s, const struct number_style *style, struct buf *out)
{
    size_t i = *s.s == '-', whole = skip_digits(s, i) - i;
    if (i)
        buf_adds(out, "−");
    put_grouped(s.s + i, whole, style, out);
    for (i += whole; i < s.n; i++)
        if (s.s[i] == '.')
            span_put(style->point, out);
        else
            put_digit(s.s[i], style, out);
}

/* Appends the number s, which has an exponent, without one: "1e3" as "1000". */
static void write_out(struct span s, struct buf *out)
{
    struct number n;
    if (!number_read(s, &n) || isinf(n.value)) {
        buf_adds(out, n.value < 0 ? "-∞" : "∞");
        return;
    }
    buf_addf(out, "%.10f", n.value);
    while (out->data[out->len - 1] == '0')
        buf_truncate(out, out->len - 1);
    if (out->data[out->len - 1] == '.')
        buf_truncate(out, out->len - 1);
}

void number_format(struct span s, const struct number_style *style, struct buf *out)
{
    SCOPED(buf) plain = BUF_INIT;
    struct number whole;
    if (s.n && *s.s == '+' && number_read(s, &whole))
        s.s++, s.n--;
    while (s.n) {
        size_t n = skip_mantissa(s, *s.s == '-'), end = n ? skip_exponent(s, n) : 1;
        if (end > n && n) {
            buf_clear(&plain);
            write_out((struct span){ s.s, end }, &plain);
            format_plain(span_of_buf(&plain), style, out);
        } else if (n) {
            format_plain((struct span){ s.s, n }, style, out);
        } else {
            buf_addc(out, *s.s);
        }
        s.s += end, s.n -= end;
    }
}

void number_show(struct span s, const char *lang, struct buf *out)
{
    const struct number_style style = number_style(lang);
    number_format(s, &style, out);
}

void number_unformat(struct span s, const struct number_style *style, struct buf *out)
{
    const struct {
        struct span from;
        const char *to;
    } signs[] = { { style->group, "" }, { style->point, "." }, { span_of("−"), "-" } };
    while (s.n) {
        int digit;
        size_t skip = span_digit(s, &digit);
        if (skip)
            buf_addc(out, '0' + digit);
        for (size_t i = 0; !skip && i < sizeof signs / sizeof *signs; i++) {
            size_t n = signs[i].from.n;
            if (n && s.n >= n && !memcmp(s.s, signs[i].from.s, n)) {
                buf_adds(out, signs[i].to);
                skip = n;
            }
        }
        if (!skip) {
            buf_addc(out, *s.s);
            skip = 1;
        }
        s.s += skip, s.n -= skip;
    }
}
