/*
 * calendar.h - names of months and days in the languages of the larger wikis, and dates in the
 * calendars of Iran and of Islam.
 */
#pragma once

#include "wikiprep/values/span.h"

enum calendar_kind {
    CALENDAR_MONTH,
    CALENDAR_MONTH_GENITIVE,
    CALENDAR_MONTH_SHORT,
    CALENDAR_DAY, /* Sunday first */
    CALENDAR_DAY_SHORT,
    CALENDAR_IRANIAN, /* months of other calendars */
    CALENDAR_ISLAMIC,
    CALENDAR_KINDS
};

/* Returns the name of month or day `index` (from 0), in English if the language is not known. */
struct span calendar_name(const char *lang, enum calendar_kind kind, int index);

/* A date in another calendar than the Gregorian. Month and day count from 1. */
struct calendar_date {
    int64_t year;
    int month, day;
};

/* Return the date of a day, given in days since 1970-01-01, as MediaWiki computes it: in the solar
 * calendar of Iran, and in the lunar calendar of Islam. */
struct calendar_date calendar_iranian(int64_t days);
struct calendar_date calendar_islamic(int64_t days);

/* Returns 1 if the names in this language are known, else 0. */
int calendar_has(const char *lang);
