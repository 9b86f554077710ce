#include "wikiprep/values/figure.h"

#include <ctype.h>
#include <math.h>

#include "wikiprep/values/number.h"

enum { POWER_MAX = 99 };

void figure_put_raised(struct buf *out, struct span s)
{
    static const char *const digits[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
    for (size_t i = 0; i < s.n; i++) {
        if (isdigit((unsigned char)s.s[i]))
            buf_adds(out, digits[s.s[i] - '0']);
        else if (s.s[i] == '-' || s.s[i] == '\x0C')
            buf_adds(out, "⁻");
        else if (s.n - i >= 3 && !memcmp(s.s + i, "−", 3))
            buf_adds(out, "⁻"), i += 2;
        else
            buf_addc(out, s.s[i]);
    }
}

void figure_put_power(struct buf *out, int n)
{
    SCOPED(buf) text = buf_format("%d", n);
    buf_adds(out, "×10");
    figure_put_raised(out, span_of_buf(&text));
}

/* Copies s without its sign and commas to `plain`, and sets *negative to 1 for a minus sign, else
 * to 0. Returns 1, or 0 if s cannot be a number. */
static int read_digits(struct span s, char plain[FIGURE_MAX], int *negative)
{
    size_t n = 0;
    *negative = 0;
    if (bytes_begin(s.s, s.n, "−"))
        *negative = 1, s.s += 3, s.n -= 3;
    else if (s.n && strchr("-+\x0C", *s.s))
        *negative = *s.s != '+', s.s++, s.n--;
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] == ',')
            continue;
        if (n == FIGURE_MAX - 1 || !strchr("0123456789.eE-+/", s.s[i]) || !s.s[i])
            return 0;
        plain[n++] = s.s[i];
    }
    plain[n] = '\0';
    return n && (isdigit((unsigned char)*plain) || (*plain == '.' && isdigit(plain[1])));
}

static int read_fraction(struct figure *x, const char *plain, struct buf *text)
{
    int whole = 0, top, bottom, used = 0;
    if (sscanf(plain, "%4d+%4d/%4d%n", &whole, &top, &bottom, &used) != 3 || plain[used]) {
        whole = used = 0;
        if (sscanf(plain, "%4d/%4d%n", &top, &bottom, &used) != 2 || plain[used])
            return 0;
    }
    if (bottom < 1 || top < 0 || whole < 0)
        return 0;
    x->value = whole + (double)top / bottom;
    x->denominator = bottom;
    if (whole)
        buf_addf(text, "%d+", whole);
    buf_addf(text, "%d⁄%d", top, bottom);
    return 1;
}

static int read_decimal(struct figure *x, const char *plain, struct buf *text)
{
    char *end;
    x->value = strtod(plain, &end);
    if (*end || !isfinite(x->value))
        return 0;
    size_t whole = strspn(plain, "0123456789");
    const char *e = strpbrk(plain, "eE");
    size_t mantissa = e ? (size_t)(e - plain) : strlen(plain);
    if (plain[whole] == '.') {
        x->decimals = (int)(mantissa - whole - 1);
    } else {
        while (whole && plain[whole - 1] == '0')
            whole--, x->decimals--;
    }
    if (*plain == '.')
        buf_addc(text, '0');
    number_show((struct span){ plain, mantissa }, "en", text);
    if (e) {
        long power = strtol(e + 1, &end, 10);
        if (end == e + 1 || labs(power) > POWER_MAX)
            return 0;
        x->decimals -= (int)power;
        figure_put_power(text, (int)power);
    }
    return 1;
}

int figure_read(struct span s, struct figure *x)
{
    char plain[FIGURE_MAX];
    SCOPED(buf) text = BUF_INIT;
    int negative;
    *x = (struct figure){ 0 };
    if (!read_digits(s, plain, &negative))
        return 0;
    if (negative)
        buf_adds(&text, "−");
    int ok = read_fraction(x, plain, &text) || read_decimal(x, plain, &text);
    if (negative)
        x->value = -x->value;
    ok = ok && text.len < sizeof x->text;
    if (ok)
        memcpy(x->text, text.data, text.len + 1);
    return ok;
}

double figure_round(double v, int precision)
{
    double p = pow(10, precision);
    return copysign(floor(fabs(v) * p * (1 + 1e-14) + 0.5) / p, v);
}

void figure_put(struct buf *out, double v, int precision)
{
    v = figure_round(v, precision);
    if (v < 0)
        buf_adds(out, "−");
    v = fabs(v);
    if (v >= 1e9 || (v > 0 && v < 1e-6)) { /* as 1.5×10⁹ */
        int e = (int)floor(log10(v) + 1e-12), digits = precision + e;
        buf_addf(out, "%.*f", digits > 0 ? digits : 0, v / pow(10, e));
        figure_put_power(out, e);
        return;
    }
    SCOPED(buf) text = buf_format("%.*f", precision > 0 ? precision : 0, v);
    number_show(span_of_buf(&text), "en", out);
}
