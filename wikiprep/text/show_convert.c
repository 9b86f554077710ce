/* Renders {{convert|5|mi|km}} for show.h: "5 miles (8.0 km)".
 *
 * Converts values between units, with the wording and rounding of English Wikipedia's template
 * (en.wikipedia.org/wiki/Template:Convert/doc). If no precision is given, the result is about as
 * precise as the input and has at least two significant digits. Temperatures keep three significant
 * digits of the value in kelvins. Supported: values, fractions, exponents, ranges, two units in one
 * value (6 ft 1 in), several outputs, and the options abbr, adj, disp, order, sp, sigfig and round.
 * If the unit is not known, the value and the unit's code are shown.
 */
#include "wikiprep/text/show.h"

#include <ctype.h>
#include <math.h>

#include "common/base/utf8.h"
#include "wikiprep/values/figure.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/number.h"
#include "wikiprep/values/unit.h"

enum { VALUES_MAX = 4, OUTPUTS_MAX = 4, NAME_MAX_BYTES = 96 };

/* ---- rounding -------------------------------------------------------------------------------- */

/* Returns the number of digits after the point (negative: before it) for a result without a
 * requested precision. `compound` 1: the input has two units, such as 6 ft 1 in. */
static int default_precision(const struct figure *in, const struct measure *from, double result,
                             const struct measure *to, int compound)
{
    double digits, least, shift;
    result = fabs(result);
    if (in->denominator)
        digits = fmax(log10(in->denominator), 1);
    else
        digits = compound && in->decimals < 0 ? 0 : in->decimals;
    if ((from->unit->flags & TEMPERATURE) && (to->unit->flags & TEMPERATURE)) {
        double kelvin = fabs((in->value - from->unit->offset) * measure_scale(from));
        shift = 0;
        least = kelvin < 1e-8 ? 2 : 2 - floor(log10(kelvin) + 1e-14);
    } else if (in->value == 0 || result <= 0) {
        return 0;
    } else {
        shift = compound && !strcmp(from->unit->name, "inch") ? log10(measure_scale(to)) + 2
                                                              : log10(fabs(in->value) / result);
        if ((to->pair || (to->unit->flags & MORE_PRECISION)) && floor(in->value) == in->value)
            shift = -log10(measure_scale(from));
        shift += log10(2);
        least = 1 - floor(log10(result) + 1e-14);
    }
    double precision = fmax(floor(digits + shift), least);
    return (int)fmax(-12, fmin(12, precision));
}

/* ---- the call -------------------------------------------------------------------------------- */

static const struct range {
    const char *words, *text[2]; /* on wikis in English, on others */
    int each;                    /* 1: a symbol follows each value */
} ranges[] = {
    { "to", { " to ", "–" }, 0 },
    { "-|–|\x0C", { "–", "–" }, 0 },
    { "and|&", { " and ", ", " }, 0 },
    { "or", { " or ", "/" }, 0 },
    { "by", { " by ", " × " }, 0 },
    { "x|×|*", { " × ", " × " }, 1 },
    { "+/-|±|+/−|+-|+/\x0C", { " ± ", " ± " }, 0 },
    { "to(-)", { " to ", "–" }, 0 },
    { "and(-)", { " and ", ", " }, 0 },
    { ",", { ", ", ", " }, 0 },
    { ", and|,and", { ", and ", ", " }, 0 },
    { "x-|xx", { " × ", " × " }, 0 },
};

struct conversion {
    const char *lang;          /* of the wiki */
    struct number_style style; /* of this language */
    int foreign;               /* 1: not English, which the words and the names of units are */
    struct figure in[VALUES_MAX];
    const struct range *between[VALUES_MAX];
    int values;
    int compound; /* {{convert|6|ft|1|in}}: in[0] is the sum in the small unit */
    char compound_text[FIGURE_MAX * 8];
    struct measure from, to[OUTPUTS_MAX];
    int outputs;
    int has_precision, precision, sigfig, nearest;
    int adjective, american, flip;
    int in_symbol, out_symbol, bare; /* bare: numbers without units */
};

static const struct range *find_range(struct span s)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (span_in(s, ranges[i].words))
            return &ranges[i];
    return NULL;
}

static void add_us(struct buf *out, const char *name, size_t n, int american)
{
    const size_t len = american ? 5 : 0; /* 0: no spelling changes */
    SCOPED(buf) metres = BUF_INIT;
    buf_add_replaced(&metres, name, n, "metre", len, "meter", 5);
    buf_add_replaced(out, metres.data, metres.len, "litre", len, "liter", 5);
}

/* Appends the plural of a unit's name: "miles per hour", "square feet", "inches of mercury",
 * "degrees Celsius". `american` 1: in American spelling. */
static void add_plural(struct buf *out, const char *name, int american)
{
    const char *rest = strstr(name, " per ");
    if (!rest)
        rest = strstr(name, " of ");
    if (!rest && !strncmp(name, "degree ", 7))
        rest = name + 6;
    if (!rest && !strcmp(name, "pound-force"))
        rest = name + 5;
    size_t n = rest ? (size_t)(rest - name) : strlen(name);
    if (bytes_end(name, n, "foot")) {
        add_us(out, name, n - 4, american);
        buf_adds(out, "feet");
    } else {
        add_us(out, name, n, american);
        if (bytes_end(name, n, "ch"))
            buf_addc(out, 'e');
        int same = bytes_end(name, n, "s") || bytes_end(name, n, "hertz") ||
                   bytes_end(name, n, "power") || bytes_end(name, n, "weight") ||
                   bytes_end(name, n, "stone");
        if (!same)
            buf_addc(out, 's');
    }
    if (rest)
        add_us(out, rest, strlen(rest), american);
}

/* Appends the unit of a value, with the separator before it: the unit's symbol if `symbol` is 1,
 * else its name, joined with '-' and in the singular if `adjective` is 1. */
static void add_unit(struct buf *out, const struct conversion *c, const struct measure *m,
                     int symbol, double value, int adjective)
{
    const struct unit *u = m->unit;
    if (symbol) {
        if (m->power)
            figure_put_power(out, m->power->exponent);
        const char *own = knowledge_find("unit-symbols", c->lang, u->symbol);
        const char *text = own ? own : u->symbol;
        if (*text != '/' && (unsigned char)*text < 0xE3) /* no space before Chinese: 7平方公里 */
            buf_addc(out, ' ');
        size_t n = strlen(text);
        int singular = value == 1 && n > 4 && text[n - 1] == 's'; /* "1 long ton" */
        buf_add(out, text, n - (size_t)singular);
        if (!strcmp(u->codes, "fathom") && value != 1)
            buf_addc(out, 's');
        return;
    }
    buf_addc(out, adjective ? '-' : ' ');
    if (m->power)
        buf_adds(out, m->power->name);
    size_t begin = out->len;
    if (adjective || fabs(value) == 1)
        add_us(out, u->name, strlen(u->name), c->american);
    else
        add_plural(out, u->name, c->american);
    for (size_t i = begin; adjective && i < out->len; i++) /* "60-nautical-mile" */
        if (out->data[i] == ' ')
            out->data[i] = '-';
}

static int precision_of(const struct conversion *c, const double *results, int values,
                        const struct measure *to)
{
    int precision = -99;
    for (int i = 0; i < values; i++) {
        int p;
        if (c->has_precision)
            p = c->precision;
        else if (c->sigfig && results[i] != 0)
            p = c->sigfig - 1 - (int)floor(log10(fabs(results[i])) + 1e-14);
        else
            p = default_precision(&c->in[i], &c->from, results[i], to, c->compound);
        precision = p > precision ? p : precision;
    }
    return precision;
}

/* Appends a value in a pair of units: "6 ft 1 in". `small` is the value in the smaller unit.
 * `symbol` 1: with symbols of the units, else with names. */
static void add_pair(struct buf *out, const struct conversion *c, const struct measure *to,
                     double small, int precision, int symbol)
{
    struct measure large = { .unit = unit_find(span_of(to->pair->large)) };
    double v = figure_round(fabs(small), precision < 0 ? 0 : precision);
    double whole = floor(v / to->pair->parts);
    if (small < 0)
        buf_adds(out, "−");
    figure_put(out, whole, 0);
    add_unit(out, c, &large, symbol, whole, 0);
    buf_addc(out, ' ');
    figure_put(out, v - whole * to->pair->parts, precision < 0 ? 0 : precision);
    add_unit(out, c, to, symbol, v - whole * to->pair->parts, 0);
}

/* Appends one output: all values, converted to one unit. `symbol` and `adjective` are as for
 * add_unit. */
static void add_output(struct buf *out, const struct conversion *c, const struct measure *to,
                       int symbol, int adjective)
{
    double results[VALUES_MAX], last = 0;
    for (int i = 0; i < c->values; i++)
        results[i] = measure_turn(c->in[i].value, &c->from, to);
    int precision = precision_of(c, results, c->values, to);
    for (int i = 0; i < c->values; i++) {
        if (i) {
            if (c->between[i]->each && symbol && !c->bare && !to->pair) /* a pair has its units */
                add_unit(out, c, to, symbol, last, 0);
            buf_adds(out, c->between[i]->text[c->foreign]);
        }
        if (c->nearest)
            results[i] = figure_round(results[i] / c->nearest, 0) * c->nearest;
        last = figure_round(results[i], precision);
        if (to->pair)
            add_pair(out, c, to, results[i], precision, symbol);
        else
            figure_put(out, results[i], precision);
    }
    if (!to->pair && !c->bare)
        add_unit(out, c, to, symbol, c->values > 1 ? 2 : last, adjective);
}

static void add_input(struct buf *out, const struct conversion *c, int symbol, int adjective)
{
    if (c->compound) {
        buf_adds(out, c->compound_text);
        return;
    }
    for (int i = 0; i < c->values; i++) {
        if (i && c->between[i]->each && symbol && !c->bare)
            add_unit(out, c, &c->from, symbol, c->in[i - 1].value, 0);
        if (i)
            buf_adds(out, c->between[i]->text[c->foreign]);
        buf_adds(out, c->in[i].text);
    }
    double v = c->in[c->values - 1].value;
    int one = c->values == 1 && (v == 1 || (c->in[0].denominator && fabs(v) <= 1));
    if (!c->bare)
        add_unit(out, c, &c->from, symbol, one ? 1 : 2, adjective);
}

/* ---- reading the call ------------------------------------------------------------------------ */

/* Reads a number as the wiki's language writes it into *x. Where the decimal mark is a comma,
 * "12,5" and "1.234,5" have one, but "1,234.5" and "1,234,567" are English. Returns 1, or 0 if s is
 * not a number. */
static int read_figure(const struct conversion *c, struct span s, struct figure *x)
{
    SCOPED(buf) english = BUF_INIT;
    const char *end = s.s + s.n, *comma = span_until(s.s, end, ',');
    int digit;
    if (c->style.digits.n || span_digit(s, &digit) > 1)
        number_unformat(s, &c->style, &english);
    else if (span_is(c->style.point, ",") && comma < end && span_until(comma, end, '.') == end &&
             span_until(comma + 1, end, ',') == end)
        for (const char *p = s.s; p < end; p++)
            if (!strchr(". \xC2\xA0", *p)) /* separators of groups */
                buf_addc(&english, *p == ',' ? '.' : *p);
    return figure_read(english.len ? span_of_buf(&english) : s, x);
}

/* Reads the rest of a value in two units, {{convert|6|ft|1|in|…}}; `place` is the position of the
 * first unit. Returns the position after the value, or 0 if there is only one unit. */
static int read_compound(struct conversion *c, const struct arguments *a, int place)
{
    struct figure small;
    struct measure m;
    if (!read_figure(c, arguments_at(a, place + 1), &small) ||
        !measure_find(arguments_at(a, place + 2), &m) || m.power)
        return 0;
    const struct unit_pair *pair = unit_pair(c->from.unit, m.unit);
    if (!pair)
        return 0;
    double large = c->in[0].value;
    c->compound = 1;
    SCOPED(buf) text = buf_format("%s", c->in[0].text);
    add_unit(&text, c, &c->from, c->in_symbol, large, c->adjective);
    buf_addc(&text, ' ');
    buf_adds(&text, small.text);
    add_unit(&text, c, &m, c->in_symbol, small.value, c->adjective);
    snprintf(c->compound_text, sizeof c->compound_text, "%s", text.data);
    small.value = large * pair->parts + copysign(small.value, large); /* -5 ft 3 in: both < 0 */
    c->in[0] = small;
    c->from = m;
    return place + 3;
}

/* Reads the output units from s into c->to: "ft m" is two outputs, a pair such as "ft in" is one.
 * Returns 1, or 0 if there is none, too many or an unknown one. */
static int read_outputs(struct conversion *c, struct span s)
{
    struct measure m;
    c->outputs = 0;
    while (s.n) {
        if (c->outputs == OUTPUTS_MAX)
            return 0;
        const char *end = s.s + s.n, *stop = end;
        if (!measure_find(s, &m)) {
            stop = span_until(s.s, span_until(s.s, end, ' '), '+');
            if (!measure_find(span_between(s.s, stop), &m))
                return 0;
        }
        c->to[c->outputs++] = m;
        s = span_between(span_past(stop, end, " +"), end);
    }
    return c->outputs > 0;
}

/* Reads the values and the words between them into *c. Returns the position of the unit, the
 * argument after the last value; 0 if there is no value. */
static int read_values(struct conversion *c, const struct arguments *a)
{
    int place = 1;
    while (c->values < VALUES_MAX && read_figure(c, arguments_at(a, place), &c->in[c->values])) {
        c->values++;
        const struct range *range = find_range(arguments_at(a, place + 1));
        if (!range || c->values == VALUES_MAX)
            return place + 1;
        c->between[c->values] = range;
        place += 2;
    }
    return 0;
}

/* Splits a range in the first argument, {{convert|10-20|km}}, into three arguments. Returns 1, or 0
 * if it is not a range. */
static int split_range(struct arguments *a)
{
    struct span s = arguments_at(a, 1);
    static const char *const signs[] = { "–", "−", "-", "\x0C" };
    int digit;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t n = strlen(signs[i]);
        const char *at = s.n > n ? memmem(s.s + 1, s.n - 1, signs[i], n) : NULL;
        const size_t before = at ? (size_t)(at - s.s) : 0, last = utf8_cut(s.s, before, before - 1);
        if (!span_digit(span_between(s.s + last, s.s + before), &digit))
            continue;
        memmove(a->at + 4, a->at + 2, (size_t)(a->count - 1) * sizeof *a->at);
        a->count += 2;
        a->at[1] = span_trim(span_between(s.s, at));
        a->at[2] = span_of("-");
        a->at[3] = span_trim(span_between(at + n, s.s + s.n));
        return 1;
    }
    return 0;
}

static void read_options(struct conversion *c, const struct arguments *a, int abbreviated)
{
    struct span abbr = arguments_any(a, "abbr|abbre"), disp = arguments_any(a, "disp");
    c->in_symbol = abbreviated || span_in(abbr, "on|in|yes");
    c->out_symbol = c->foreign || !span_in(abbr, "off|none|in");
    if (!c->foreign && span_in(abbr, "off|none|out"))
        c->in_symbol = 0;
    c->bare = span_is(abbr, "values");
    c->american = span_is(arguments_any(a, "sp"), "us");
    c->adjective = span_is(arguments_any(a, "adj"), "on") ||
                   span_is(arguments_any(a, "sing"), "on");
    c->flip = span_is(arguments_any(a, "order"), "flip") || span_is(disp, "flip");
    span_number(arguments_any(a, "sigfig"), &c->sigfig);
    span_number(arguments_any(a, "round"), &c->nearest);
    if (c->sigfig > 12)
        c->sigfig = 12;
}

static void read_precision(struct conversion *c, struct span s)
{
    struct figure n;
    if (!figure_read(s, &n) || fabs(n.value) > 12)
        return;
    c->has_precision = 1;
    c->precision = (int)n.value;
}

/* Appends the value and the next argument, for an unknown unit. Returns 1, or 0 if there is no
 * value. */
static int render_unknown(const struct arguments *a, const struct number_style *style,
                          struct buf *out)
{
    struct conversion c = { .style = *style };
    int place = read_values(&c, a);
    if (!place)
        return 0;
    c.bare = 1;
    add_input(out, &c, 1, 0);
    if (arguments_at(a, place).n < NAME_MAX_BYTES)
        show_after(" ", arguments_at(a, place), out);
    return 1;
}

static void add_outputs(struct buf *out, const struct conversion *c, int symbol, int adjective)
{
    for (int i = 0; i < c->outputs; i++) {
        if (i)
            buf_adds(out, "; ");
        add_output(out, c, &c->to[i], symbol, adjective);
    }
}

static void add_conversion(struct buf *out, const struct conversion *c, struct span disp)
{
    int all = c->in_symbol && c->out_symbol;
    if (span_in(disp, "out|output only|output number only|number|output")) {
        struct conversion alone = *c;
        alone.bare = !span_in(disp, "out|output only|output");
        add_outputs(out, &alone, c->in_symbol, c->adjective);
        return;
    }
    if (c->flip)
        add_outputs(out, c, all, c->adjective && !all);
    else
        add_input(out, c, c->in_symbol, c->adjective && !c->in_symbol);
    if (!c->outputs)
        return;
    static const struct {
        const char *disp, *open, *close;
    } forms[] = { { "or", " or ", "" },        { "comma|,", ", ", "" },  { "sqbr", " [", "]" },
                  { "semicolon|;", "; ", "" }, { "slash|/|s", "/", "" }, { "", " (", ")" } };
    size_t form = (size_t)c->foreign; /* without "or" */
    while (*forms[form].disp && !span_in(disp, forms[form].disp))
        form++;
    buf_adds(out, forms[form].open);
    if (c->flip)
        add_input(out, c, c->out_symbol, 0);
    else
        add_outputs(out, c, c->out_symbol, 0);
    buf_adds(out, forms[form].close);
}

/* Appends the text of the call, with numbers as English writes them. Returns 1, or 0 if it has
 * none. */
static int convert(const struct call *call, int english, struct buf *out)
{
    struct arguments a = call->a;
    const char *lang = call->page->lang;
    struct conversion c = { .lang = lang, .style = number_style(lang), .foreign = !english };
    struct span disp = arguments_any(&a, "disp");
    read_options(&c, &a, call->n || !english);
    int place = read_values(&c, &a);
    if (!place && split_range(&a)) {
        c.values = 0;
        place = read_values(&c, &a);
    }
    if (!place)
        return render_unknown(&a, &c.style, out);
    if (!measure_find(arguments_at(&a, place), &c.from) || c.from.pair)
        return render_unknown(&a, &c.style, out);
    int after = c.values == 1 ? read_compound(&c, &a, place) : 0;
    place = after ? after : place + 1;
    if (c.from.unit->flags & TEMPERATURE) /* temperatures always have symbols */
        c.in_symbol = c.out_symbol = 1;
    struct span to = arguments_at(&a, place);
    if (read_outputs(&c, to))
        place++;
    else if (c.compound)
        read_outputs(&c, span_of(!strcmp(c.from.unit->name, "inch") ? "m" : "kg"));
    else if (c.from.unit->defaults)
        read_outputs(&c, span_of(c.from.unit->defaults));
    read_precision(&c, arguments_at(&a, place));
    add_conversion(out, &c, disp);
    return 1;
}

/* Shows {{convert|5|mi|km}}; with symbols, "5 km", if the row's number is 1, as for {{cvt}}. */
int show_convert(const struct call *call, struct buf *out)
{
    const char *lang = call->page->lang;
    SCOPED(buf) text = BUF_INIT, plain = BUF_INIT;
    if (!strcmp(lang, "en") || !strcmp(lang, "simple"))
        return convert(call, 1, out);
    if (!convert(call, 0, &text))
        return 0;
    for (const char *s = text.data; *s; s++) /* without the commas of "1,234.5" */
        if (*s != ',' || s == text.data || !isdigit((unsigned char)s[-1]) ||
            !isdigit((unsigned char)s[1]))
            buf_addc(&plain, *s);
    number_show(span_of_buf(&plain), lang, out);
    return 1;
}
