/* Renderers of dates and ages for show.h. */
#include "wikiprep/text/show.h"

#include <strings.h>

#include "wikiprep/values/calendar.h"
#include "wikiprep/values/number.h"

enum { YEAR_MAX = 9999 };

/* Returns the month (1 to 12) with this name, or 0. */
static int month_named(const char *lang, enum calendar_kind kind, struct span s)
{
    for (int m = 0; m < 12; m++) {
        struct span name = calendar_name(lang, kind, m);
        if (name.n == s.n && !strncasecmp(name.s, s.s, s.n))
            return m + 1;
    }
    return 0;
}

/* Returns the month (1 to 12) that s names or gives as a number, or 0. The name is in the
 * nominative or in the form `other`, such as the genitive. */
static int month_in(const char *lang, enum calendar_kind other, struct span s)
{
    int m;
    if (span_number(s, &m))
        return m >= 1 && m <= 12 ? m : 0;
    return (m = month_named(lang, CALENDAR_MONTH, s)) ? m : month_named(lang, other, s);
}

int show_month_of(const struct call *c, struct span s)
{
    return month_in(c->page->lang, CALENDAR_MONTH_GENITIVE, s);
}

/* A date of a call; month and day are 0 if they are not given. */
struct day {
    int year, month, day;
};

/* Reads the date whose year is the argument at `place`; month and day follow. Returns 1, or 0 if
 * there is no year. */
static int read_day_at(const struct call *c, int place, struct day *d)
{
    *d = (struct day){ .month = month_in("en", CALENDAR_MONTH_SHORT, call_at(c, place + 1)) };
    span_number(call_at(c, place + 2), &d->day);
    return span_number(call_at(c, place), &d->year) && d->year <= YEAR_MAX;
}

/* Appends "4 July 1776", "July 4, 1776", "July 1776" or "1776". */
static void put_parts(const struct day *d, int day_first, struct buf *out)
{
    const int day = d->month ? d->day : 0;
    if (day && day_first)
        buf_addf(out, "%d ", day);
    if (d->month)
        span_put(calendar_name("en", CALENDAR_MONTH, d->month - 1), out);
    if (day && !day_first)
        buf_addf(out, " %d,", day);
    buf_addf(out, d->month ? " %d" : "%d", d->year);
}

/* Appends the date of the first arguments: year, month and day. Returns 1, or 0 if there is no
 * year. */
static int put_date(const struct call *c, struct buf *out)
{
    struct day d;
    if (!read_day_at(c, 1, &d))
        return 0;
    put_parts(&d, arguments_yes(&c->a, "df") || span_is(call_any(c, "df|mf"), "dmy"), out);
    return 1;
}

int show_date(const struct call *c, struct buf *out)
{
    return put_date(c, out) || show_span(call_at(c, 1), out);
}

/* Appends the whole years between two dates, "39"; "39–40" if a missing month or day decides.
 * Returns 1, or 0 if the dates are in the wrong order. */
static int put_years(const struct day *from, const struct day *to, struct buf *out)
{
    int years = to->year - from->year, is_known = 0;
    if (from->month && to->month) {
        int same = from->month == to->month;
        is_known = !same || (from->day && to->day);
        years -= to->month < from->month || (same && is_known && to->day < from->day);
    }
    if (years < 0)
        return 0;
    if (!is_known && years)
        buf_addf(out, "%d–", years - 1);
    buf_addf(out, "%d", years);
    return 1;
}

static void put_age(const struct day *birth, const struct day *death, struct buf *out)
{
    size_t begin = out->len;
    buf_adds(out, " (aged ");
    if (put_years(birth, death, out))
        buf_adds(out, ")");
    else
        buf_truncate(out, begin);
}

/* Shows a date of death (arguments 1 to 3), and the age if a date of birth follows (arguments 4 to
 * 6), or, with c->n, the age itself. */
int show_date_and_age(const struct call *c, struct buf *out)
{
    struct day birth, death;
    if (!put_date(c, out))
        return show_date(c, out);
    if (c->n && show_after(" (aged ", call_at(c, 4), out))
        buf_adds(out, ")");
    else if (!c->n && read_day_at(c, 4, &birth) && read_day_at(c, 1, &death))
        put_age(&birth, &death, out);
    return 1;
}

/* Shows {{death year and age|1990|1950|5}} as "May 1990 (aged 39–40)". */
int show_year_and_age(const struct call *c, struct buf *out)
{
    struct day birth = { 0 };
    struct day death = { .month = month_in("en", CALENDAR_MONTH_SHORT, call_at(c, 3)) };
    if (!span_number(call_at(c, 1), &death.year))
        return show_span(call_at(c, 1), out);
    put_parts(&death, 0, out);
    if (span_number(call_at(c, 2), &birth.year))
        put_age(&birth, &death, out);
    return 1;
}

/* Shows {{age|1969|7|20|2009|7|19}} as "39". Without a second date it is the age on the date of the
 * page's revision. c->text follows the number: " ans". */
int show_age(const struct call *c, struct buf *out)
{
    struct day birth, on;
    int has_end = call_at(c, 4).n > 0;
    if (has_end ? !read_day_at(c, 4, &on)
                : sscanf(c->page->timestamp, "%4d-%2d-%2d", &on.year, &on.month, &on.day) != 3)
        return 0;
    if (!read_day_at(c, 1, &birth) || (!has_end && birth.year <= 31) ||
        !put_years(&birth, &on, out))
        return 0;
    buf_adds(out, c->text);
    return 1;
}

/* Shows {{as of|2011|4|1|lc=y}} as "as of 1 April 2011". */
int show_as_of(const struct call *c, struct buf *out)
{
    struct day d;
    int lower = arguments_yes(&c->a, "lc"), since = arguments_yes(&c->a, "since");
    if (call_any(c, "alt").n || !call_at(c, 1).n)
        return show_span(call_any(c, "alt"), out);
    if (!arguments_yes(&c->a, "bare"))
        buf_adds(out, since ? (lower ? "since " : "Since ") : (lower ? "as of " : "As of "));
    if (read_day_at(c, 1, &d) && d.month)
        put_parts(&d, !span_in(call_any(c, "df"), "US|mdy|m"), out);
    else
        span_put(call_at(c, 1), out);
    span_put(call_any(c, "post"), out);
    return 1;
}

/* Reads a date into part[]: day, month, year. The date is "2000-01-31", or three arguments with the
 * year first or the day first. */
static void read_day(const struct call *c, struct span part[3])
{
    int first;
    struct span all = call_at(c, 1);
    for (int i = 0; i < 3; i++)
        part[i] = call_at(c, i + 1);
    if (all.n >= 8 && all.n <= 10 && (all.s[4] == '-' || all.s[4] == '\x0C')) {
        const char *second = all.s + 5;
        size_t n = strcspn(second, "-\x0C");
        if (n < 1 || n > 2 || second + n + 1 >= all.s + all.n)
            return;
        part[0] = span_between(second + n + 1, all.s + all.n);
        part[1] = (struct span){ second, n };
        part[2] = (struct span){ all.s, 4 };
    } else if (span_number(part[0], &first) && first > 31) {
        part[0] = part[2];
        part[2] = all;
    }
}

/* Shows {{date|1|janvier|2000}} or {{date|2000-01-01}}. The row's text is the separator between the
 * parts, " de " in Spanish. If it contains '|', the part before it follows the day and the part
 * after it follows the month: ". | ". The digits are those of the wiki's language. */
int show_day(const struct call *c, struct buf *out)
{
    const struct number_style style = number_style(c->page->lang);
    struct span part[3];
    const char *text = c->text, *bar = strchr(text, '|');
    read_day(c, part);
    int month = show_month_of(c, part[1]), digit;
    if (!month) /* the arguments have no separate month */
        return show_join(c, " ", out);
    for (size_t n; (n = span_digit(part[0], &digit)) && !digit;)
        part[0] = (struct span){ part[0].s + n, part[0].n - n };
    number_put_digits(part[0], &style, out);
    if (part[0].n) {
        if (!strcmp(c->page->lang, "fr") && span_is(part[0], "1"))
            buf_adds(out, "er");
        buf_add(out, text, bar ? (size_t)(bar - text) : strlen(text));
    }
    const enum calendar_kind kind = part[0].n ? CALENDAR_MONTH_GENITIVE : CALENDAR_MONTH;
    span_put(calendar_name(c->page->lang, kind, month - 1), out);
    buf_adds(out, !part[2].n ? "" : bar ? bar + 1 : text);
    number_put_digits(part[2], &style, out);
    return 1;
}
