/* Parser functions about time: #time, #dateformat, the current date. */

#include "wikiprep/expand/functions.h"
#include "wikiprep/site/names.h"
#include "wikiprep/values/calendar.h"
#include "wikiprep/values/moment.h"
#include "wikiprep/values/number.h"

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

enum date_order { NO_ORDER, MDY, DMY, YMD, ISO, YDM, DM, MD };

struct date {
    enum date_order order;
    struct span day, year; /* as written in the input */
    int month;
};

static size_t take_digits(struct span *s, size_t least, size_t most, struct span *taken)
{
    size_t n = 0;
    while (n < s->n && n < most && s->s[n] >= '0' && s->s[n] <= '9')
        n++;
    if (n < least)
        return 0;
    *taken = (struct span){ s->s, n };
    s->s += n, s->n -= n;
    return n;
}

/* Sets *month (1 to 12) by the longest name of a month at the start of *s, and moves *s past it.
 * Returns the name's length in bytes; 0: there is none. */
static size_t take_month(struct expander *x, struct span *s, int *month)
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
    return best;
}

/* Moves *s past one space or '_'; with `comma` 1, past a comma with spaces around it, or past
 * spaces. Returns the number of bytes, 0 if there is nothing to pass. */
static size_t take_gap(struct span *s, int comma)
{
    size_t n = 0;
    while (n < s->n && comma && s->s[n] == ' ')
        n++;
    if (n < s->n && comma && s->s[n] == ',')
        for (n++; n < s->n && s->s[n] == ' ';)
            n++;
    if (!comma && s->n && strchr(" _", *s->s))
        n = 1;
    s->s += n, s->n -= n;
    return n;
}

/* Reads "25 December" or "December 25" at the start of *s into *d, and moves *s past it. Returns DM
 * or MD for the order of the two, or NO_ORDER if they are not there. */
static enum date_order take_day_and_month(struct expander *x, struct span *s, struct date *d)
{
    if (take_digits(s, 1, 2, &d->day))
        return take_gap(s, 0) && take_month(x, s, &d->month) ? DM : NO_ORDER;
    return take_month(x, s, &d->month) && take_gap(s, 0) && take_digits(s, 1, 2, &d->day)
               ? MD
               : NO_ORDER;
}

static int read_iso(struct span s, struct date *d)
{
    struct span month;
    if (s.n != 10 || !take_digits(&s, 4, 4, &d->year) || *s.s != '-')
        return 0;
    s.s++, s.n--;
    if (!take_digits(&s, 2, 2, &month) || *s.s != '-')
        return 0;
    s.s++, s.n--;
    d->month = (int)number_integer(month);
    d->order = ISO;
    return take_digits(&s, 2, 2, &d->day) && d->month >= 1 && d->month <= 12;
}

static int read_date(struct expander *x, struct span s, struct date *d)
{
    struct span begin = s;
    if (read_iso(s, d))
        return 1;
    enum date_order part = take_day_and_month(x, &s, d);
    if (part && !s.n) {
        d->order = part;
        return 1;
    }
    if (part) {
        d->order = part == DM ? DMY : MDY;
        return take_gap(&s, 1) && take_digits(&s, 1, 4, &d->year) && !s.n;
    }
    s = begin;
    if (!take_digits(&s, 1, 4, &d->year) || !take_gap(&s, 1))
        return 0;
    part = take_day_and_month(x, &s, d);
    d->order = part == DM ? YDM : YMD;
    return part && !s.n;
}

static enum date_order target(struct span wish, enum date_order source)
{
    static const struct {
        const char *name;
        enum date_order order;
    } wishes[] = { { "dmy", DMY }, { "mdy", MDY }, { "ymd", YMD }, { "ISO 8601", ISO } };
    enum date_order order = NO_ORDER;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
        if (bytes_are(wish.s, wish.n, wishes[i].name))
            order = wishes[i].order;
    if (source == DM || source == MD)
        return order == MDY ? MD : order == DMY ? DM : source;
    return order ? order : source;
}

/* {{#formatdate:date|order}} */
int function_formatdate(struct expander *x, const struct function_call *c)
{
    static const char *const formats[] = { "",      "F j, Y", "j F Y", "Y F j",
                                           "y-m-d", "Y, j F", "j F",   "F j" };
    struct span wish = expand_value(x, c, 1);
    struct date d = { 0 };
    if (!read_date(x, c->first, &d)) {
        expand_put(x, c->first);
        return 1;
    }
    int day = (int)number_integer(d.day), year = (int)number_integer(d.year);
    expand_puts(x, "<span class=\"mw-formatted-date\" title=\"");
    if (d.year.n)
        buf_addf(&x->out, "%04d-", year);
    buf_addf(&x->out, "%02d-%02d\">", d.month, day);
    for (const char *f = formats[target(wish, d.order)]; *f; f++)
        switch (*f) {
        case 'F':
            span_put(calendar_name(x->site->lang.data, CALENDAR_MONTH, d.month - 1), &x->out);
            break;
        case 'j': buf_addf(&x->out, "%d", day); break;
        case 'Y': buf_addf(&x->out, "%d", year); break;
        case 'y': buf_addf(&x->out, "%04d", year); break;
        case 'm': buf_addf(&x->out, "%02d", d.month); break;
        case 'd': buf_addf(&x->out, "%02d", day); break;
        default: buf_addc(&x->out, *f); break;
        }
    expand_puts(x, "</span>");
    return 1;
}

/* ---- formatting a date --------------------------------------------------------------------- */

/* {{#time:format|date|language}} */
int function_time(struct expander *x, const struct function_call *c)
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
    return 1;
}
