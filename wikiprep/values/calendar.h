/*
 * calendar.h - names of months and days in the languages of the larger wikis.
 */
#pragma once

#include "wikiprep/values/span.h"

enum calendar_kind {
    CALENDAR_MONTH,
    CALENDAR_MONTH_GENITIVE,
    CALENDAR_MONTH_SHORT,
    CALENDAR_DAY, /* Sunday first */
    CALENDAR_DAY_SHORT,
    CALENDAR_KINDS
};

/* Returns the name of month or day `index` (from 0), in English if the language is not known. */
struct span calendar_name(const char *lang, enum calendar_kind kind, int index);

/* Returns 1 if the names in this language are known, else 0. */
int calendar_has(const char *lang);
