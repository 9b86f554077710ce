/* Renderers of numbers, fractions and units for show.h. */
#include "wikiprep/text/show.h"

#include "wikiprep/values/figure.h"
#include "wikiprep/values/number.h"

static struct span without_sign(struct span s)
{
    size_t n = bytes_begin(s.s, s.n, "−") ? strlen("−") : s.n && memchr("+-\x0C", *s.s, 3) ? 1 : 0;
    return (struct span){ s.s + n, s.n - n };
}

/* Shows {{val|6.241|(7)|e=18|u=C}}. Numbers of five or more characters get separators. */
int show_val(const struct call *c, struct buf *out)
{
    struct span unit = call_any(c, "u|ul|upl"), per = call_any(c, "up"), e = call_any(c, "e");
    if (!call_at(c, 1).n && !e.n)
        return 0;
    span_put(call_any(c, "p"), out);
    if (call_at(c, 1).n > 4)
        number_show(call_at(c, 1), c->page->lang, out);
    else
        span_put(call_at(c, 1), out);
    int is_short = call_at(c, 2).n && *call_at(c, 2).s == '('; /* the last digits, in brackets */
    if (is_short)
        span_put(call_at(c, 2), out);
    else if (show_after(call_at(c, 3).n ? "+" : "±", without_sign(call_at(c, 2)), out))
        show_after("−", without_sign(call_at(c, 3)), out);
    if (e.n)
        buf_adds(out, call_at(c, 1).n ? "×10" : "10");
    figure_put_raised(out, e);
    span_put(call_any(c, "s"), out);
    show_after(span_in(unit, "%|°") ? "" : " ", unit, out);
    show_after("/", per, out);
    return 1;
}

/* Shows {{ordinal|3}}: "3rd" in English; in other languages the number alone, whose ending depends
 * on the word that follows. */
int show_ordinal(const struct call *c, struct buf *out)
{
    int v, english = !strcmp(c->page->lang, "en") || !strcmp(c->page->lang, "simple");
    if (!english || !span_number(call_at(c, 1), &v))
        return show_span(call_at(c, 1), out);
    static const char *const ends[] = { "th", "st", "nd", "rd" };
    buf_addf(out, "%d%s", v, ends[v % 100 / 10 == 1 || v % 10 > 3 ? 0 : v % 10]);
    return 1;
}

/* Shows {{unité|5|à=10|e=6|m|s|-1}} as "5 à 10×10⁶ m s⁻¹". The row's text has the names of
 * arguments that join a second number: "à|et". */
int show_unit(const struct call *c, struct buf *out)
{
    struct span e = call_any(c, "e"), word;
    char key[8];
    int v;
    if (!call_at(c, 1).n)
        return 0;
    number_show(call_at(c, 1), c->page->lang, out);
    for (const char *words = c->text; span_next(&words, '|', &word);)
        if (span_copy(word, key, sizeof key) && call_any(c, key).n) {
            buf_addf(out, " %s ", key);
            number_show(call_any(c, key), c->page->lang, out);
        }
    buf_adds(out, e.n ? "×10" : "");
    figure_put_raised(out, e);
    for (int i = 2; i <= c->a.count; i++) {
        struct span s = call_at(c, i);
        if (i > 2 && span_number(without_sign(s), &v))
            figure_put_raised(out, s);
        else
            show_after(span_is(s, "°") ? "" : " ", s, out);
    }
    return 1;
}
