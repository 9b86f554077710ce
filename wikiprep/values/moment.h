/*
 * moment.h - dates as people write them, and formats of dates, for {{#time:format|date}}.
 *
 * Read as by PHP's strtotime (www.php.net/manual/en/datetime.formats.php): "2011-04-09",
 * "9 April 2011", "April 9, 2011 14:30", "20110409143000", "@1302359400", "+1 week", "last day of
 * next month". All times are UTC unless they say otherwise.
 */
#ifndef TEXTMILL_WIKIPREP_VALUES_MOMENT_H
#define TEXTMILL_WIKIPREP_VALUES_MOMENT_H

#include <stdint.h>

#include "common/buf.h"
#include "wikiprep/values/span.h"

/* Of the Gregorian calendar, in its bounds. */
struct moment {
    int64_t year;
    int month, day, hour, minute, second; /* month and day from 1 */
};

/* Reads s, relative to now: 1, or 0 when it is no date. */
int moment_read(struct span s, const struct moment *now, struct moment *m);

/* Days from 1970-01-01 to the first of a month, which may be any number of months away; how many
 * days it has; the day of the week, from Sunday, that many days after 1970-01-01. */
int64_t moment_days(int64_t year, int64_t month);
int moment_days_in_month(int64_t year, int64_t month);
int moment_weekday(int64_t days);

/* The moment so many seconds after the beginning of 1970. */
void moment_from_seconds(int64_t seconds, struct moment *m);

/* Appends m in MediaWiki's format (www.mediawiki.org/wiki/Help:Extension:ParserFunctions##time),
 * with names and digits of the language: "j F Y", "Y-m-d H:i". */
void moment_format(const struct moment *m, struct span format, const char *lang, struct buf *out);

#endif
