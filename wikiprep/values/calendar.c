/* The names of months and days are those that MediaWiki shows for {{#time:F}} and similar codes. */
#include "wikiprep/values/calendar.h"

#include "wikiprep/values/knowledge.h"

struct span calendar_name(const char *lang, enum calendar_kind kind, int index)
{
    static const char *const keys[CALENDAR_KINDS] = {
        [CALENDAR_MONTH] = "months",
        [CALENDAR_MONTH_GENITIVE] = "months-genitive",
        [CALENDAR_MONTH_SHORT] = "months-short",
        [CALENDAR_DAY] = "days",
        [CALENDAR_DAY_SHORT] = "days-short",
        [CALENDAR_IRANIAN] = "iranian",
        [CALENDAR_ISLAMIC] = "islamic",
    };
    if (!calendar_has(lang))
        lang = "en";
    const char *s = knowledge_find("calendar", lang, keys[kind]);
    if (!s && kind >= CALENDAR_IRANIAN)
        s = knowledge_find("calendar", "en", keys[kind]);
    else if (!s)
        s = knowledge_find("calendar", lang,
                           keys[kind == CALENDAR_DAY_SHORT ? CALENDAR_DAY : CALENDAR_MONTH]);
    return span_item(s, index);
}

int calendar_has(const char *lang)
{
    return knowledge_find("calendar", lang, "months") != NULL;
}

/* ---- other calendars -------------------------------------------------------------------------- */

/* Divides rounding down: sets *rest, which is not negative, and returns the quotient. */
static int64_t divide(int64_t a, int64_t b, int *rest)
{
    *rest = (int)((a % b + b) % b);
    return (a - *rest) / b;
}

struct calendar_date calendar_iranian(int64_t days)
{
    enum {
        EPOCH = -135061 /* 0979-01-01, or 1600-03-20 */,
        CYCLE = 33 * 365 + 8,
        FOUR = 4 * 365 + 1
    };
    int day;
    int64_t year = 979 + 33 * divide(days - EPOCH, CYCLE, &day) + 4 * (day / FOUR);
    day %= FOUR;
    if (day > 365) { /* the first of four years has 366 days */
        year += (day - 1) / 365;
        day = (day - 1) % 365;
    }
    const int length = day < 186 ? 31 : 30, past = day < 186 ? 0 : 186; /* six months of 31 days */
    return (struct calendar_date){ year, past / 31 + (day - past) / length + 1,
                                   (day - past) % length + 1 };
}

struct calendar_date calendar_islamic(int64_t days)
{
    enum { EPOCH = -492148 /* 0001-01-01 */ };
    int day, rest;
    const int64_t year = divide(30 * (days - EPOCH) + 10646, 10631, &rest);
    day = (int)(days - EPOCH - 354 * (year - 1) - divide(3 + 11 * year, 30, &rest));
    const int month = day < 325 ? 2 * day / 59 : 11; /* months of 30 and 29 days in turn */
    return (struct calendar_date){ year, month + 1, day - (29 * month + (month + 1) / 2) + 1 };
}
