/* Parser functions about time: #time, #dateformat, the current date. */

#include "wikiprep/expand/functions.h"
#include "wikiprep/site/names.h"
#include "wikiprep/values/calendar.h"
#include "wikiprep/values/moment.h"

/* Returns the library's date, which is used as the current time. */
static struct moment now(const struct expander *x)
{
    static const struct moment epoch = { 1970, 1, 1, 0, 0, 0 };
    struct moment m;
    return moment_read(span_of(x->facts->date.data), &epoch, &m) ? m : epoch;
}

void function_put_time(struct expander *x, const char *format, const char *timestamp)
{
    struct moment today = now(x), m;
    if (moment_read(span_of(timestamp), &today, &m))
        moment_format(&m, span_of(format), x->site->lang.data, &x->out);
}

/* ---- reordering a date --------------------------------------------------------------------- */

struct date {
    int year, month, day; /* year -1: a date without a year */
};

/* The formats in which dates are read and written. y, m and d: year, month and day with leading
 * zeros. Y and j: year and day without. F: name of the month. A space matches a space or '_'; ','
 * and ';' match spaces, a comma or both. ',' is written as ", ", and ';' as " ". */
static const struct order {
    const char *wish, *format; /* wish: the name of the order in calls; NULL: only read */
} orders[] = { { "ISO 8601", "y-m-d" }, { "dmy", "j F" },  { "mdy", "F j" },  { "dmy", "j F;Y" },
               { "mdy", "F j,Y" },      { NULL, "Y,j F" }, { "ymd", "Y;F j" } };
enum { ORDERS = sizeof orders / sizeof *orders };

/* Reads a number of `least` to `most` digits at the start of *s into *value, and moves *s past it.
 * Returns 1, or 0 if there is none. */
static int take_digits(struct span *s, size_t least, size_t most, int *value)
{
    size_t n = 0;
    while (n < s->n && n < most && s->s[n] >= '0' && s->s[n] <= '9')
        n++;
    int is_there = n >= least && span_number((struct span){ s->s, n }, value);
    s->s += n, s->n -= n;
    return is_there;
}

/* Reads the longest name of a month at the start of *s into *month (1 to 12), and moves *s past it.
 * Returns 1, or 0 if there is none. */
static int take_month(struct expander *x, struct span *s, int *month)
{
    size_t best = 0;
    for (int i = 0; i < 24; i++) {
        struct span name = calendar_name(x->site->lang.data,
                                         i < 12 ? CALENDAR_MONTH : CALENDAR_MONTH_SHORT, i % 12);
        if (name.n > best && name.n <= s->n && names_equal(name.s, name.n, s->s, name.n)) {
            best = name.n;
            *month = i % 12 + 1;
        }
    }
    s->s += best, s->n -= best;
    return best > 0;
}

/* Moves *s past the separator `sign` of a format. Returns 1, or 0 if it is not there. */
static int take_sign(struct span *s, char sign)
{
    const char *end = s->s + s->n, *p = s->s;
    if (sign == ',' || sign == ';') {
        p = span_past(p, end, " ");
        p = p < end && *p == ',' ? span_past(p + 1, end, " ") : p;
    } else {
        p += p < end && (*p == sign || (*p == '_' && sign == ' '));
    }
    int is_there = p > s->s;
    *s = span_between(p, end);
    return is_there;
}

static int take_part(struct expander *x, struct span *s, char part, struct date *d)
{
    switch (part) {
    case 'y': return take_digits(s, 4, 4, &d->year);
    case 'm': return take_digits(s, 2, 2, &d->month);
    case 'd': return take_digits(s, 2, 2, &d->day);
    case 'Y': return take_digits(s, 1, 4, &d->year);
    case 'F': return take_month(x, s, &d->month);
    case 'j': return take_digits(s, 1, 2, &d->day);
    default: return take_sign(s, part);
    }
}

/* Reads the date s, written in `format`, into *d. Returns 1, or 0 if s does not match. */
static int read_date(struct expander *x, struct span s, const char *format, struct date *d)
{
    *d = (struct date){ .year = -1 };
    for (; *format; format++)
        if (!take_part(x, &s, *format, d))
            return 0;
    return !s.n && d->month >= 1 && d->month <= 12;
}

static void put_date(struct expander *x, const struct date *d, const char *format)
{
    for (; *format; format++)
        switch (*format) {
        case 'y': buf_addf(&x->out, "%04d", d->year); break;
        case 'm': buf_addf(&x->out, "%02d", d->month); break;
        case 'd': buf_addf(&x->out, "%02d", d->day); break;
        case 'Y': buf_addf(&x->out, "%d", d->year); break;
        case 'F':
            span_put(calendar_name(x->site->lang.data, CALENDAR_MONTH, d->month - 1), &x->out);
            break;
        case 'j': buf_addf(&x->out, "%d", d->day); break;
        case ',': buf_adds(&x->out, ", "); break;
        case ';': buf_addc(&x->out, ' '); break;
        default: buf_addc(&x->out, *format); break;
        }
}

/* {{#formatdate:date|order}} */
void function_formatdate(struct expander *x, struct function_call *c)
{
    struct span wish = expand_value(x, c, 1);
    struct date d;
    size_t order = 0;
    while (order < ORDERS && !read_date(x, c->first, orders[order].format, &d))
        order++;
    if (order == ORDERS) {
        expand_put(x, c->first);
        return;
    }
    for (size_t i = 0; i < ORDERS; i++) /* a date without a year stays without one */
        if (orders[i].wish && bytes_are(wish.s, wish.n, orders[i].wish) &&
            !strpbrk(orders[i].format, "Yy") == (d.year < 0))
            order = i;
    expand_puts(x, "<span class=\"mw-formatted-date\" title=\"");
    put_date(x, &d, d.year < 0 ? "m-d" : "y-m-d");
    expand_puts(x, "\">");
    put_date(x, &d, orders[order].format);
    expand_puts(x, "</span>");
}

/* ---- formatting a date --------------------------------------------------------------------- */

/* {{#time:format|date|language}} */
void function_time(struct expander *x, struct function_call *c)
{
    struct span date = expand_value(x, c, 1), lang = expand_value(x, c, 2);
    struct moment today = now(x), m = today;
    char clock[] = "00:00 ....";
    int is_year = date.n == 4 && strspn(date.s, "0123456789") >= 4;
    if (is_year) {
        memcpy(clock + 6, date.s, 4);
        date = (struct span){ clock, sizeof clock - 1 };
    }
    if (date.n && !moment_read(date, &today, &m))
        expand_error(x, "Error: Invalid time.");
    else if (m.year < 0)
        expand_error(x, "Error: #time only supports years from 0.");
    else if (m.year > 9999)
        expand_error(x, "Error: #time only supports years up to 9999.");
    else {
        const char *code = expand_copy(x, lang).s;
        moment_format(&m, c->first, calendar_has(code) ? code : x->site->lang.data, &x->out);
    }
}
