#include "wikiprep/values/moment.h"

#include "wikiprep/values/calendar.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/number.h"

/* ---- the calendar --------------------------------------------------------------------------- */

int64_t moment_days(int64_t year, int64_t month)
{
    month -= 1;
    year += month >= 0 ? month / 12 : -((11 - month) / 12);
    month = (month % 12 + 12) % 12;
    int64_t y = month < 2 ? year - 1 : year, m = (month + 10) % 12; /* years begin in March */
    int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * m + 2) / 5;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Returns the seconds since 1970-01-01. */
static int64_t seconds_of(const struct moment *m)
{
    int64_t days = moment_days(m->year, m->month) + m->day - 1;
    return ((days * 24 + m->hour) * 60 + m->minute) * 60 + m->second;
}

void moment_from_seconds(int64_t seconds, struct moment *m)
{
    int64_t days = seconds / 86400, left = seconds % 86400;
    if (left < 0)
        left += 86400, days--;
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100),
            month = (5 * of_year + 2) / 153;
    m->day = (int)(of_year - (153 * month + 2) / 5 + 1);
    m->month = (int)(month < 10 ? month + 3 : month - 9);
    m->year = year + era * 400 + (m->month <= 2);
    m->hour = (int)(left / 3600);
    m->minute = (int)(left / 60 % 60);
    m->second = (int)(left % 60);
}

static int days_in_month(int64_t year, int64_t month)
{
    return (int)(moment_days(year, month + 1) - moment_days(year, month));
}

int moment_weekday(int64_t days)
{
    return (int)(((days + 4) % 7 + 7) % 7);
}

/* ---- formats -------------------------------------------------------------------------------- */

struct formatter {
    const struct moment *m;
    const char *lang;
    struct number_style style;
    int64_t days;                  /* days since 1970-01-01 */
    int raw_once, raw, roman_once; /* raw: ASCII digits; _once: next number only */
    struct buf *out;
};

static void put_roman(struct buf *out, int64_t v)
{
    static const struct {
        int value;
        const char *sign;
    } signs[] = { { 1000, "M" }, { 900, "CM" }, { 500, "D" }, { 400, "CD" }, { 100, "C" },
                  { 90, "XC" },  { 50, "L" },   { 40, "XL" }, { 10, "X" },   { 9, "IX" },
                  { 5, "V" },    { 4, "IV" },   { 1, "I" } };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        for (; v >= signs[i].value; v -= signs[i].value)
            buf_adds(out, signs[i].sign);
}

static void put_number(struct formatter *f, int64_t v, int width)
{
    SCOPED(buf) b = buf_format("%0*lld", width, (long long)v);
    if (f->roman_once && v > 0 && v <= 10000)
        put_roman(f->out, v);
    else if (f->raw || f->raw_once)
        buf_add(f->out, b.data, b.len);
    else
        number_put_digits(span_of_buf(&b), &f->style, f->out);
    f->raw_once = f->roman_once = 0;
}

static void put_name(struct formatter *f, enum calendar_kind kind, int index)
{
    span_put(calendar_name(f->lang, kind, index), f->out);
}

/* Returns the ISO 8601 week number, and sets *year to the year that the week belongs to. */
static int week(const struct formatter *f, int64_t *year)
{
    int from_monday = (moment_weekday(f->days) + 6) % 7;
    int64_t thursday = f->days - from_monday + 3;
    struct moment t;
    moment_from_seconds(thursday * 86400, &t);
    *year = t.year;
    return (int)((thursday - moment_days(t.year, 1)) / 7) + 1;
}

/* Appends the value of a one-letter code. Appends any other character as it is. */
static void put_code(struct formatter *f, char code)
{
    const struct moment *m = f->m;
    const int weekday = moment_weekday(f->days);
    int64_t year;
    switch (code) {
    case 'd': put_number(f, m->day, 2); break;
    case 'j': put_number(f, m->day, 1); break;
    case 'D': put_name(f, CALENDAR_DAY_SHORT, weekday); break;
    case 'l': put_name(f, CALENDAR_DAY, weekday); break;
    case 'F': put_name(f, CALENDAR_MONTH, m->month - 1); break;
    case 'M': put_name(f, CALENDAR_MONTH_SHORT, m->month - 1); break;
    case 'm': put_number(f, m->month, 2); break;
    case 'n': put_number(f, m->month, 1); break;
    case 'Y': put_number(f, m->year, 4); break;
    case 'y': put_number(f, m->year % 100, 2); break;
    case 'N': put_number(f, (weekday + 6) % 7 + 1, 1); break;
    case 'w': put_number(f, weekday, 1); break;
    case 'z': put_number(f, f->days - moment_days(m->year, 1), 1); break;
    case 'W': put_number(f, week(f, &year), 2); break;
    case 'o':
        week(f, &year);
        put_number(f, year, 4);
        break;
    case 't': put_number(f, days_in_month(m->year, m->month), 1); break;
    case 'L': put_number(f, days_in_month(m->year, 2) == 29, 1); break;
    case 'a': buf_adds(f->out, m->hour < 12 ? "am" : "pm"); break;
    case 'A': buf_adds(f->out, m->hour < 12 ? "AM" : "PM"); break;
    case 'g': put_number(f, (m->hour + 11) % 12 + 1, 1); break;
    case 'h': put_number(f, (m->hour + 11) % 12 + 1, 2); break;
    case 'G': put_number(f, m->hour, 1); break;
    case 'H': put_number(f, m->hour, 2); break;
    case 'i': put_number(f, m->minute, 2); break;
    case 's': put_number(f, m->second, 2); break;
    case 'U': put_number(f, seconds_of(m), 1); break;
    case 'e':
    case 'T': buf_adds(f->out, "UTC"); break;
    case 'O': buf_adds(f->out, "+0000"); break;
    case 'P': buf_adds(f->out, "+00:00"); break;
    case 'Z':
    case 'I': buf_adds(f->out, "0"); break;
    case 'c': moment_format(m, span_of("Y-m-d\"T\"H:i:s+00:00"), "en", f->out); break;
    case 'r': moment_format(m, span_of("D, d M Y H:i:s +0000"), "en", f->out); break;
    default: buf_addc(f->out, code); break;
    }
}

/* Appends the year in the era of Japan. */
static void put_era(struct formatter *f)
{
    const int64_t date = (f->m->year * 100 + f->m->month) * 100 + f->m->day;
    const char *eras = knowledge_find("calendar", "ja", "eras");
    struct span era, name = { "", 0 };
    int begin, year, at, first = 1;
    while (span_next(&eras, '|', &era))
        if (sscanf(era.s, "%d %d %n", &begin, &year, &at) == 2 && begin <= date) {
            name = span_between(era.s + at, era.s + era.n);
            first = year;
        }
    span_put(name, f->out);
    if (f->m->year == first)
        buf_adds(f->out, knowledge_find("calendar", "ja", "first-year"));
    else
        put_number(f, f->m->year - first + 1, 1);
}

/* Returns the year in the calendar of Thailand, where it began in April until 1940. */
static int64_t thai_year(const struct moment *m)
{
    return m->year + 543 - (m->year >= 1912 && m->year <= 1940 && m->month <= 3);
}

/* Appends the value of the code "x", `calendar`, `code`: of the calendar of Iran ('i'), Islam
 * ('m'), Thailand ('k'), Taiwan ('o') or Japan ('t'). */
static void put_other(struct formatter *f, char calendar, char code)
{
    const int is_iran = calendar == 'i', has_months = is_iran || calendar == 'm';
    const struct calendar_date d = is_iran ? calendar_iranian(f->days) : calendar_islamic(f->days);
    if (code == 'Y' && calendar == 't')
        put_era(f);
    else if (code == 'Y')
        put_number(f,
                   has_months        ? d.year
                   : calendar == 'k' ? thai_year(f->m)
                                     : f->m->year - 1911,
                   1);
    else if (has_months && code == 'y')
        put_number(f, d.year % 100, 2);
    else if (has_months && (code == 'n' || code == 'j'))
        put_number(f, code == 'n' ? d.month : d.day, 1);
    else if (is_iran && code == 't') /* days in the month, leap year or not */
        put_number(f, d.month <= 6 ? 31 : d.month < 12 ? 30 : 29, 1);
    else if (is_iran && code == 'z')
        put_number(f, 30 * (d.month - 1) + (d.month <= 6 ? d.month - 1 : 6) + d.day - 1, 1);
    else if (has_months && code == 'F')
        put_name(f, is_iran ? CALENDAR_IRANIAN : CALENDAR_ISLAMIC, d.month - 1);
    else
        buf_addc(f->out, code);
}

/* Handles the code at s, "x" and one or two letters: appends its value, or notes how to write the
 * numbers after it. Returns its length. */
static size_t put_x_code(struct formatter *f, struct span s)
{
    switch (s.n > 1 ? s.s[1] : '\0') {
    case 'x': buf_addc(f->out, 'x'); break;
    case 'n': f->raw_once = 1; break;
    case 'N': f->raw = !f->raw; break;
    case 'g': put_name(f, CALENDAR_MONTH_GENITIVE, f->m->month - 1); break;
    case 'r': f->roman_once = 1; break;
    case 'i':
    case 'k':
    case 'm':
    case 'o':
    case 't':
        if (s.n > 2)
            put_other(f, s.s[1], s.s[2]);
        return s.n > 2 ? 3 : 2;
    case '\0': buf_addc(f->out, 'x'); return 1;
    default: buf_addc(f->out, s.s[1]); break; /* not a code */
    }
    return 2;
}

void moment_format(const struct moment *m, struct span s, const char *lang, struct buf *out)
{
    struct formatter f = { .m = m,
                           .lang = lang,
                           .style = number_style(lang),
                           .days = moment_days(m->year, m->month) + m->day - 1,
                           .out = out };
    while (s.n) {
        size_t n = 1;
        const char *quote;
        if (*s.s == 'x') {
            n = put_x_code(&f, s);
        } else if (*s.s == '\\' && s.n > 1) {
            buf_addc(out, s.s[1]);
            n = 2;
        } else if (*s.s == '"' && s.n > 1 && (quote = memchr(s.s + 1, '"', s.n - 1))) {
            n = (size_t)(quote - s.s) + 1;
            buf_add(out, s.s + 1, n - 2);
        } else {
            put_code(&f, *s.s);
        }
        s.s += n, s.n -= n;
    }
}
