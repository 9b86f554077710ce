/*
 * moment.h - reads dates as people write them, and formats them, for {{#time:format|date}}.
 *
 * Dates are read as by PHP's strtotime (www.php.net/manual/en/datetime.formats.php): "2011-04-09",
 * "9 April 2011", "April 9, 2011 14:30", "20110409143000", "@1302359400", "+1 week", "last day of
 * next month". Times are UTC unless the text names a time zone.
 */
#pragma once

#include "wikiprep/values/span.h"

/* A date and time of the Gregorian calendar. Each field is in its usual range. */
struct moment {
    int64_t year;
    int month, day, hour, minute, second; /* month and day count from 1 */
};

/* Reads the date s into *m, missing parts from `now`. Returns 1, or 0 if s is not a date. */
int moment_read(struct span s, const struct moment *now, struct moment *m);

/* Calendar arithmetic. moment_days returns the days from 1970-01-01 to the first day of a month;
 * months below 1 and above 12 belong to other years. moment_weekday returns the weekday (0: Sunday)
 * of a day, given in days since 1970-01-01. */
int64_t moment_days(int64_t year, int64_t month);
int moment_weekday(int64_t days);

/* Sets *m to the time `seconds` after 1970-01-01 00:00. */
void moment_from_seconds(int64_t seconds, struct moment *m);

/* Appends m in a format of MediaWiki (www.mediawiki.org/wiki/Help:Extension:ParserFunctions##time):
 * "j F Y", "Y-m-d H:i". Names and digits are those of the language. */
void moment_format(const struct moment *m, struct span format, const char *lang, struct buf *out);
