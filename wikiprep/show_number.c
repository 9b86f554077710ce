#include "wikiprep/show.h"

#include <ctype.h>
#include <string.h>

#include "wikiprep/number.h"

void show_superscript(struct span s, struct buf *out)
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

static void times_ten(struct span exponent, struct buf *out)
{
    buf_adds(out, "×10");
    show_superscript(exponent, out);
}

int show_power(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (call_at(c, 1).n)
        times_ten(call_at(c, 1), out);
    return call_at(c, 1).n > 0;
}

int show_exp_it(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (!call_at(c, 1).n)
        return 0;
    if (c->a.count > 1 && call_at(c, 2).n) {
        span_put(call_at(c, 1), out);
        times_ten(call_at(c, 2), out);
    } else {
        times_ten(call_at(c, 1), out);
    }
    return 1;
}

/* "1⁄2", "3+1⁄2"; text is the sign between. */
int show_fraction(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    int count = c->a.count > 3 ? 3 : c->a.count;
    while (count && !call_at(c, count).n)
        count--;
    if (!count)
        return 0;
    if (count == 3) {
        span_put(call_at(c, 1), out);
        buf_addc(out, '+');
    }
    if (count == 1)
        buf_addc(out, '1');
    else
        span_put(call_at(c, count - 1), out);
    buf_adds(out, text);
    return show_span(call_at(c, count), out);
}

void show_grouped_span(const struct call *c, struct span s, struct buf *out)
{
    const struct number_style style = number_style(c->page->lang);
    number_format(s, &style, out);
}

int show_grouped(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text;
    show_grouped_span(c, call_at(c, n), out);
    return call_at(c, n).n > 0;
}

/* {{val|6.241|(7)|e=18|u=C}}; digits in threes from five on. */
int show_val(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    struct span unit = call_any(c, "u|ul|upl"), per = call_any(c, "up"), e = call_any(c, "e");
    if (!call_at(c, 1).n && !e.n)
        return 0;
    span_put(call_any(c, "p"), out);
    if (call_at(c, 1).n > 4)
        show_grouped_span(c, call_at(c, 1), out);
    else
        span_put(call_at(c, 1), out);
    if (call_at(c, 2).n && *call_at(c, 2).s == '(') {
        span_put(call_at(c, 2), out);
    } else if (call_at(c, 2).n) {
        buf_adds(out, call_at(c, 3).n ? "+" : "±");
        span_put(call_at(c, 2), out);
        buf_adds(out, call_at(c, 3).n ? "−" : "");
        span_put(call_at(c, 3), out);
    }
    if (e.n && call_at(c, 1).n)
        times_ten(e, out);
    else if (e.n) {
        buf_adds(out, "10");
        show_superscript(e, out);
    }
    span_put(call_any(c, "s"), out);
    if (unit.n) {
        buf_adds(out, span_in(unit, "%|°") ? "" : " ");
        span_put(unit, out);
    }
    if (per.n) {
        buf_addc(out, '/');
        span_put(per, out);
    }
    return 1;
}

int show_misura(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    span_put(call_at(c, 1), out);
    struct span unit = call_at(c, 3).n ? call_at(c, 3) : call_any(c, "u|ul");
    if (unit.n)
        buf_addc(out, ' ');
    return show_span(unit, out) || call_at(c, 1).n;
}

int show_su(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    span_put(call_any(c, "p|1"), out);
    return show_span(call_any(c, "b|2"), out) || call_any(c, "p|1").n;
}

int show_money(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)n;
    buf_adds(out, text);
    if (!call_at(c, 1).n)
        buf_rtrim(out);
    show_grouped_span(c, call_at(c, 1), out);
    return 1;
}

int show_currency(const struct call *c, const char *text, int n, struct buf *out)
{
    static const char *const signs[][2] = { { "USD", "$" }, { "GBP", "£" }, { "EUR", "€" },
                                            { "JPY", "¥" }, { "INR", "₹" }, { "KRW", "₩" } };
    (void)text, (void)n;
    struct span code = call_any(c, "2|type");
    if (!call_any(c, "1|amount").n)
        return 0;
    const char *sign = NULL;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (span_is(code, signs[i][0]))
            sign = signs[i][1];
    if (sign || !code.n) {
        buf_adds(out, sign ? sign : "$");
    } else {
        span_put(code, out);
        buf_addc(out, ' ');
    }
    show_grouped_span(c, call_any(c, "1|amount"), out);
    return 1;
}

int show_ordinal(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    int v;
    if (!span_number(call_at(c, 1), &v))
        return show_span(call_at(c, 1), out);
    const char *end = v % 100 / 10 == 1 ? "th"
                      : v % 10 == 1     ? "st"
                      : v % 10 == 2     ? "nd"
                      : v % 10 == 3     ? "rd"
                                        : "th";
    buf_addf(out, "%d%s", v, end);
    return 1;
}

int show_nuclide(const struct call *c, const char *text, int n, struct buf *out)
{
    (void)text, (void)n;
    if (!call_at(c, 1).n)
        return 0;
    span_put(call_at(c, 1), out);
    buf_adds(out, call_at(c, 2).n ? "-" : "");
    span_put(call_at(c, 2), out);
    return 1;
}
