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
    };
    if (!calendar_has(lang))
        lang = "en";
    const char *s = knowledge_find("calendar", lang, keys[kind]);
    if (!s)
        s = knowledge_find("calendar", lang,
                           keys[kind == CALENDAR_DAY_SHORT ? CALENDAR_DAY : CALENDAR_MONTH]);
    return span_item(s, index);
}

int calendar_has(const char *lang)
{
    return knowledge_find("calendar", lang, "months") != NULL;
}
