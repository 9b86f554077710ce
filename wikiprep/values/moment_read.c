/* The reading side of moment.h: dates and times as people write them. */
#include <strings.h>

#include "wikiprep/values/moment.h"

enum { UNSET = -1 };
enum { SECONDS, DAYS, MONTHS, YEARS, UNITS };

struct reader {
    const char *s, *end;
    struct moment m; /* parts read so far; UNSET: not given */
    int has_year, has_date, has_time, keeps_time;
    int is_reset; /* 1: a time that is not given is 00:00, not that of now */
    int64_t relative[UNITS];
    int weekday;  /* -1: not given */
    int behavior; /* 0: a later day that is this weekday; 1: this day or a later one; 2: the day of
                   * its week, which begins on Monday, as in "monday next week" */
    int edge;     /* 1: first day of the month; 2: last day */
    int place;    /* 1 to 5: the first to fifth `weekday` of the month; -1: the last; 0: none */
    int64_t zone; /* seconds east of UTC */
};

static const char *const month_names[] = { "january",   "february", "march",    "april",
                                           "may",       "june",     "july",     "august",
                                           "september", "october",  "november", "december" };
static const char *const day_names[] = { "sunday",   "monday", "tuesday", "wednesday",
                                         "thursday", "friday", "saturday" };

/* Returns the index of the name that s[0..n) spells out or abbreviates ("jan", "sept", "thurs"); -1
 * if there is none. */
static int find_name(const char *const *names, int count, const char *s, size_t n)
{
    for (int i = 0; i < count; i++)
        if (n >= 3 && n <= strlen(names[i]) && !strncasecmp(names[i], s, n) &&
            (n == 3 || n == strlen(names[i]) || (n == 4 && strchr("st", s[3] | 0x20)) || n == 5))
            return i;
    return -1;
}

/* Returns the month (1 to 12) for a name or a Roman number such as "IV", or 0. */
static int find_month(const char *s, size_t n)
{
    int roman = span_place((struct span){ s, n }, "i|ii|iii|iv|v|vi|vii|viii|ix|x|xi|xii");
    return (roman >= 0 ? roman : find_name(month_names, 12, s, n)) + 1;
}

static size_t digits(const struct reader *r, const char *s)
{
    return (size_t)(span_past(s, r->end, "0123456789") - s);
}

static size_t letters(const struct reader *r, const char *s)
{
    size_t n = 0;
    while (s + n < r->end && (s[n] | 0x20) >= 'a' && (s[n] | 0x20) <= 'z')
        n++;
    return n;
}

static int is_digit_at(const struct reader *r, const char *s)
{
    return s < r->end && *s >= '0' && *s <= '9';
}

/* Reads a number of at most `max` digits into *v and moves r->s after it. Returns the number of
 * digits. */
static size_t take(struct reader *r, size_t max, int64_t *v)
{
    size_t n = digits(r, r->s);
    n = n > max ? max : n;
    *v = 0;
    for (size_t i = 0; i < n; i++)
        *v = *v * 10 + r->s[i] - '0';
    r->s += n;
    return n;
}

static void skip(struct reader *r, const char *signs)
{
    r->s = span_past(r->s, r->end, signs);
}

static int set_date(struct reader *r, int64_t year, int64_t month, int64_t day)
{
    if (month < 0 || month > 12 || day < UNSET || day > 31 || r->has_date)
        return 0;
    r->m.month = (int)month;
    r->m.day = (int)day;
    r->m.year = year;
    r->has_year = year != UNSET;
    return r->has_date = 1;
}

/* Sets the time of day. Returns 1, or 0 if it is not valid or a time was read before. */
static int set_time(struct reader *r, int64_t hour, int64_t minute, int64_t second)
{
    if (hour > 24 || minute > 59 || second > 60 || r->has_time)
        return 0;
    r->m.hour = (int)hour;
    r->m.minute = (int)minute;
    r->m.second = (int)second;
    return r->has_time = 1;
}

/* Moves r->s past the character c. Returns 1, or 0 if it is not there. */
static int pass(struct reader *r, char c)
{
    int there = r->s < r->end && *r->s == c;
    r->s += there;
    return there;
}

static int64_t whole_year(int64_t year, size_t digits_given)
{
    return digits_given > 2 ? year : year < 70 ? 2000 + year : 1900 + year;
}

/* Returns the length of "am", "pm", "a.m." or "p.m." at s, or 0. */
static size_t half_of_day(const struct reader *r, const char *s)
{
    const size_t n = letters(r, s);
    if (!n || !strchr("ap", *s | 0x20))
        return 0;
    return n == 2 && (s[1] | 0x20) == 'm'                               ? 2
           : n == 1 && r->end - s >= 4 && !strncasecmp(s + 1, ".m.", 3) ? 4
                                                                        : 0;
}

/* Reads the rest of a time, "14:30", "14:30:05.5" or "2:30 pm"; `hour` has been read. Returns 1, or
 * 0 if it is not a time. */
static int read_time(struct reader *r, int64_t hour)
{
    int64_t minute = 0, second = 0, fraction;
    if (pass(r, ':')) {
        if (!take(r, 2, &minute))
            return 0;
        if (pass(r, ':')) {
            if (!take(r, 2, &second))
                return 0;
            if (is_digit_at(r, r->s + 1) && pass(r, '.'))
                while (take(r, 9, &fraction))
                    ;
        }
    }
    skip(r, " ");
    size_t n = half_of_day(r, r->s);
    if (n && (hour > 12 || !hour))
        return 0;
    if (n)
        hour = hour % 12 + ((r->s[0] | 0x20) == 'p' ? 12 : 0);
    r->s += n;
    return set_time(r, hour, minute, second);
}

/* Reads the year after a day and month, with at least one character of `signs` before it. Returns
 * UNSET, without moving r->s, if there is none. */
static int64_t read_year_behind(struct reader *r, const char *signs)
{
    const char *before = r->s;
    int64_t year;
    skip(r, signs);
    size_t n = digits(r, r->s);
    if (n && n <= 4 && r->s > before && !(r->s + n < r->end && r->s[n] == ':')) {
        take(r, 4, &year);
        return whole_year(year, n);
    }
    r->s = before;
    return UNSET;
}

/* Reads the name of a month, with any of `signs` before it. Returns the month (1 to 12), or 0,
 * without moving r->s, if there is none. */
static int read_month_behind(struct reader *r, const char *signs)
{
    const char *s = span_past(r->s, r->end, signs);
    size_t n = letters(r, s);
    int month = find_month(s, n);
    if (month)
        r->s = s + n;
    return month;
}

static void skip_ordinal(struct reader *r)
{
    if (span_in((struct span){ r->s, letters(r, r->s) }, "st|nd|rd|th"))
        r->s += 2;
}

/* Reads the rest of "April 9, 2011", "April 2011", "April 9" or "April"; the month has been read.
 * Returns 1, or 0 if it is not a date. */
static int read_month_first(struct reader *r, int month)
{
    int64_t day, year;
    const char *signs = r->s < r->end && *r->s == '-' ? "-" : " \t.,"; /* "Apr-09-2011" */
    skip(r, " \t.-");
    size_t n = digits(r, r->s);
    if (n == 4) {
        take(r, 4, &year);
        return set_date(r, year, month, 1);
    }
    if (n == 1 || n == 2) {
        const char *before = r->s;
        take(r, 2, &day);
        if (r->s < r->end && *r->s == ':') { /* "April 14:30" */
            r->s = before;
            return set_date(r, UNSET, month, UNSET);
        }
        skip_ordinal(r);
        return set_date(r, read_year_behind(r, signs), month, day);
    }
    return set_date(r, UNSET, month, UNSET);
}

/* Reads the rest of a date after a year of three or four digits; r->s is at '-' or '/'. Returns 1,
 * or 0 if it is not a date. */
static int read_year_first(struct reader *r, int64_t year)
{
    int64_t month = 0, day = 1;
    char sign = *r->s++;
    size_t n = letters(r, r->s);
    if (n) {
        month = find_name(month_names, 12, r->s, n) + 1;
        r->s += n;
        if (!month)
            return 0;
    } else if (!take(r, 2, &month)) {
        return 0;
    }
    if (is_digit_at(r, r->s + 1) && pass(r, sign))
        take(r, 2, &day);
    return set_date(r, year, month, day);
}

/* Reads the rest of "09.04.11" as a time, after the hour 09. Returns 1, or 0 if it cannot be a
 * time. */
static int read_time_with_points(struct reader *r, int64_t hour)
{
    int64_t minute, second;
    const char *before = r->s++;
    if (take(r, 2, &minute) && pass(r, '.') && take(r, 2, &second) == 2 && !is_digit_at(r, r->s) &&
        set_time(r, hour, minute, second))
        return 1;
    r->s = before;
    return 0;
}

/* Reads the rest of a date, or of a time with points such as "14.30", that begins with one or two
 * digits, whose value is `first`; r->s is at a separator, and a digit follows it. Returns 1, or 0
 * if it is neither. */
static int read_short_date(struct reader *r, int64_t first)
{
    if (*r->s == '.' && read_time_with_points(r, first))
        return 1;
    char sign = *r->s++;
    int64_t second, year = UNSET;
    size_t n;
    take(r, 2, &second);
    if (is_digit_at(r, r->s + 1) && pass(r, sign)) {
        n = take(r, 4, &year);
        if (sign == '-' && n < 3) /* "11-04-09" */
            return set_date(r, whole_year(first, 2), second, year);
        year = whole_year(year, n);
    } else if (sign == '.') {
        return set_time(r, first, second, 0);
    }
    return sign == '/' ? set_date(r, year, first, second) : set_date(r, year, second, first);
}

static int read_digits_only(struct reader *r, size_t n)
{
    int64_t year, month, day, hour = 0, minute = 0, second = 0;
    take(r, 4, &year);
    take(r, 2, &month);
    take(r, 2, &day);
    if (!set_date(r, year, month, day))
        return 0;
    if (n == 8 && r->s + 1 < r->end && (*r->s | 0x20) == 't' && is_digit_at(r, r->s + 1))
        r->s++;
    else if (n == 8)
        return 1;
    take(r, 2, &hour);
    skip(r, ":");
    take(r, 2, &minute);
    skip(r, ":");
    take(r, 2, &second);
    r->has_time = 0;
    return set_time(r, hour, minute, second);
}

/* Handles a number of four digits: a year if a month follows ("2011 April"), else a time ("2011" is
 * 20:11) if none was read before, else a year. Returns 1, or 0 if the year was read before. */
static int read_four_digits(struct reader *r, int64_t v)
{
    int month = r->has_date ? 0 : read_month_behind(r, " \t.");
    if (month)
        return set_date(r, v, month, 1);
    if (set_time(r, v / 100, v % 100, 0))
        return 1;
    if (r->has_year)
        return 0;
    r->m.year = v;
    return r->has_year = 1;
}

/* Reads the rest of a day in a week as ISO 8601 counts them, "2008-W27-3" or "2008W27", where r->s
 * is behind the year. Returns 1, or 0 if it is not a date. */
static int read_week(struct reader *r, int64_t year)
{
    int64_t week, day = 1, monday = moment_days(year, 1) + 3; /* 4 January is in the first week */
    struct moment m;
    pass(r, '-');
    pass(r, 'W');
    if (take(r, 2, &week) != 2 || week > 53)
        return 0;
    if (is_digit_at(r, r->s + span_begins(r->s, r->end, "-"))) {
        pass(r, '-');
        take(r, 1, &day);
    }
    monday -= (moment_weekday(monday) + 6) % 7;
    moment_from_seconds((monday + (week - 1) * 7 + day - 1) * 86400, &m);
    return set_date(r, m.year, m.month, m.day);
}

static int read_digits(struct reader *r)
{
    int64_t v;
    size_t n = digits(r, r->s);
    if (n == 14 || n == 8)
        return read_digits_only(r, n);
    if (n > 4 || (n == 3 && !span_begins(r->s + n, r->end, "-")))
        return 0;
    take(r, 4, &v);
    char next = r->s < r->end ? *r->s : '\0';
    if (n == 4 && span_begins(r->s + (next == '-'), r->end, "W"))
        return read_week(r, v);
    if (n >= 3 && (next == '-' || next == '/'))
        return read_year_first(r, v);
    if (n == 4)
        return read_four_digits(r, v);
    if (next == ':')
        return read_time(r, v);
    if (next && strchr("/.-", next) && is_digit_at(r, r->s + 1))
        return read_short_date(r, v);
    skip_ordinal(r);
    int month = read_month_behind(r, " \t.-");
    if (month)
        return set_date(r, read_year_behind(r, " \t.-"), month, v);
    return half_of_day(r, span_past(r->s, r->end, " ")) ? read_time(r, v) : 0; /* "4pm", "4 p.m." */
}

/* Handles "tomorrow", "noon" and similar words, which replace a time before them. A time may
 * follow, except after "noon". */
static int set_clock(struct reader *r, int64_t days, int hour)
{
    r->relative[DAYS] += days;
    r->has_time = 0;
    set_time(r, hour, 0, 0);
    r->has_time = hour > 0;
    return r->is_reset = 1;
}

static int set_weekday(struct reader *r, int day, int behavior)
{
    r->weekday = day;
    r->behavior = behavior;
    return set_clock(r, 0, 0);
}

/* Reads the unit of time or the weekday at r->s and adds `count` of it to r->relative. `behavior`
 * is that of a weekday. Returns 1, or 0 if there is none. */
static int add_unit(struct reader *r, int64_t count, int behavior)
{
    static const struct {
        const char *names;
        int unit;
        int64_t times;
    } units[] = { { "sec|secs|second|seconds", SECONDS, 1 },
                  { "min|mins|minute|minutes", SECONDS, 60 },
                  { "hour|hours", SECONDS, 3600 },
                  { "day|days", DAYS, 1 },
                  { "week|weeks", DAYS, 7 },
                  { "fortnight|fortnights", DAYS, 14 },
                  { "month|months", MONTHS, 1 },
                  { "year|years", YEARS, 1 } };
    size_t n = letters(r, r->s);
    int day = find_name(day_names, 7, r->s, n);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!span_in((struct span){ r->s, n }, units[i].names))
            continue;
        r->relative[units[i].unit] += count * units[i].times;
        r->s += n;
        r->keeps_time = 1;
        return 1;
    }
    if (day < 0)
        return 0;
    r->relative[DAYS] += (count > 0 ? count - 1 : count) * 7;
    r->s += n;
    return set_weekday(r, day, behavior);
}

static int read_offset(struct reader *r)
{
    int64_t sign = *r->s++ == '-' ? -1 : 1, v;
    skip(r, " ");
    const char *begin = r->s;
    size_t n = take(r, 9, &v);
    if (!n)
        return 0;
    skip(r, " ");
    if (letters(r, r->s) && add_unit(r, sign * v, 1))
        return 1;
    if (!r->has_time || n > 4)
        return 0;
    int64_t hours, minutes = 0; /* "+02:00" */
    r->s = begin;
    take(r, 2, &hours);
    skip(r, ":");
    take(r, 2, &minutes);
    r->zone = sign * (hours * 3600 + minutes * 60);
    return 1;
}

/* Reads "monday of", after a word such as "first" (`place` 1) or "last" (-1). Returns 1, or 0,
 * without moving r->s, if it is not there. */
static int read_weekday_of(struct reader *r, int place)
{
    size_t n = letters(r, r->s);
    int day = find_name(day_names, 7, r->s, n);
    const char *of = span_past(r->s + n, r->end, " ");
    if (!place || day < 0 || !span_is((struct span){ of, letters(r, of) }, "of"))
        return 0;
    r->s = of + 2;
    r->place = place;
    r->relative[DAYS] += (place > 0 ? place - 1 : place) * 7;
    return set_weekday(r, day, place > 0);
}

static int read_relative_word(struct reader *r, struct span word)
{
    int place = span_place(word, "first|second|third|fourth|fifth") + 1;
    int step = span_is(word, "next") ? 1 : span_in(word, "last|previous") ? -1 : 0;
    int edge = span_is(word, "first") ? 1 : span_is(word, "last") ? 2 : 0;
    skip(r, " ");
    if (edge && r->end - r->s >= 6 && !strncasecmp(r->s, "day of", 6)) {
        r->edge = edge;
        r->s += 6;
        return 1;
    }
    if (read_weekday_of(r, edge == 2 ? -1 : place))
        return 1;
    int is_this = span_is(word, "this");
    int is_week = !place && span_is((struct span){ r->s, letters(r, r->s) }, "week");
    if (!(step || is_this || place) || !add_unit(r, place ? place : step, is_this))
        return 0;
    r->behavior = is_week ? 2 : r->behavior;
    return 1;
}

/* Sets the time zone from its name. Returns 1, or 0 if the name is not known. */
static int read_zone(struct reader *r, struct span name)
{
    static const struct {
        const char *name;
        int minutes; /* minutes east of UTC */
    } zones[] = { { "utc", 0 },    { "gmt", 0 },    { "z", 0 },      { "wet", 0 },
                  { "est", -300 }, { "edt", -240 }, { "cst", -360 }, { "cdt", -300 },
                  { "mst", -420 }, { "mdt", -360 }, { "pst", -480 }, { "pdt", -420 },
                  { "cet", 60 },   { "cest", 120 }, { "bst", 60 },   { "eet", 120 },
                  { "eest", 180 }, { "msk", 180 },  { "jst", 540 } };
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++)
        if (span_is(name, zones[i].name)) {
            r->zone = zones[i].minutes * 60;
            return 1;
        }
    return 0;
}

static int read_word(struct reader *r)
{
    const struct span word = { r->s, letters(r, r->s) };
    int month = find_name(month_names, 12, word.s, word.n);
    int day = find_name(day_names, 7, word.s, word.n);
    r->s += word.n;
    if (month >= 0)
        return read_month_first(r, month + 1);
    if (day >= 0) {
        skip(r, ".,");
        return set_weekday(r, day, r->behavior == 2 ? 2 : 1);
    }
    if (span_is(word, "now"))
        return r->keeps_time = 1;
    if (span_in(word, "today|midnight|noon"))
        return set_clock(r, 0, span_is(word, "noon") ? 12 : 0);
    if (span_in(word, "tomorrow|yesterday"))
        return set_clock(r, span_is(word, "tomorrow") ? 1 : -1, 0);
    if (read_zone(r, word) || (span_is(word, "t") && is_digit_at(r, r->s)))
        return 1;
    if (span_is(word, "ago")) {
        for (int i = 0; i < UNITS; i++)
            r->relative[i] = -r->relative[i];
        return 1;
    }
    return read_relative_word(r, word);
}

static int read_all(struct reader *r)
{
    for (;;) {
        skip(r, " \t\n,;()");
        if (r->s == r->end)
            return 1;
        if (pass(r, '@')) {
            int64_t v, sign = pass(r, '-') ? -1 : 1;
            if (!take(r, 12, &v))
                return 0;
            moment_from_seconds(sign * v, &r->m);
            r->has_date = r->has_time = r->has_year = 1;
        } else if (is_digit_at(r, r->s)) {
            const char *s = span_past(r->s + digits(r, r->s), r->end, " "); /* "2 weeks ago" */
            int64_t v;
            struct reader before = *r;
            if (letters(r, s) > 2 && take(r, 9, &v) && (skip(r, " "), add_unit(r, v, 1)))
                continue;
            *r = before;
            if (!read_digits(r))
                return 0;
        } else if (*r->s == '+' || *r->s == '-') {
            if (!read_offset(r))
                return 0;
        } else if (!letters(r, r->s) || !read_word(r)) {
            return 0;
        }
    }
}

/* Returns the days from a day, which is a weekday `today`, to r->weekday. */
static int days_ahead(const struct reader *r, int today)
{
    int ahead = r->weekday - today;
    if (r->behavior == 2)
        return (r->weekday + 6) % 7 - (today + 6) % 7;
    return ahead + 7 * (r->relative[DAYS] < 0 ? ahead < 0 : ahead <= -r->behavior);
}

/* Applies the weekday, r->relative and the time zone to r->m, in this order, as PHP does. */
static void finish(struct reader *r)
{
    struct moment *m = &r->m, base;
    int64_t *by = r->relative, month = m->month, day = m->day;
    if (r->place) {
        month += by[MONTHS] + (r->place < 0);
        by[MONTHS] = 0;
    }
    if (r->place || r->edge)
        day = 1;
    int64_t days = moment_days(m->year, month) + day - 1;
    if (r->behavior == 2 && r->weekday < 0)
        r->weekday = 1;
    if (r->weekday >= 0)
        days += days_ahead(r, moment_weekday(days));
    moment_from_seconds(days * 86400, &base);
    const int64_t year = base.year + by[YEARS];
    month = base.month + by[MONTHS];
    if (r->edge)
        days = moment_days(year, month + r->edge - 1) - (r->edge - 1);
    else
        days = moment_days(year, month) + base.day - 1 + by[DAYS];
    int64_t clock = m->hour * INT64_C(3600) + m->minute * 60 + m->second;
    moment_from_seconds(days * 86400 + clock + by[SECONDS] - r->zone, m);
}

int moment_read(struct span s, const struct moment *now, struct moment *m)
{
    struct reader r = { .s = s.s, .end = s.s + s.n, .weekday = -1 };
    r.m = (struct moment){ UNSET, UNSET, UNSET, 0, 0, 0 };
    if (!read_all(&r))
        return 0;
    if (!r.has_time && !r.is_reset && !r.has_date && (r.keeps_time || !r.has_year)) {
        r.m.hour = now->hour;
        r.m.minute = now->minute;
        r.m.second = now->second;
    }
    if (!r.has_year)
        r.m.year = now->year;
    if (!r.has_date)
        r.m.month = now->month;
    if (r.m.day == UNSET)
        r.m.day = now->day;
    finish(&r);
    *m = r.m;
    return 1;
}
