#include "wikiprep/text/show.h"

#include "common/base/order.h"

enum { KEY_MAX_BYTES = 96 }; /* length of "LANG:NAME"; no row is longer */

const struct show_entry *show_find(const char *lang, const char *name)
{
    char text[KEY_MAX_BYTES], *key = text;
    size_t before = strlen(lang), after = strlen(name);
    if (before + after + 2 > sizeof text)
        return NULL;
    memcpy(key, lang, before);
    key[before] = ':';
    memcpy(key + before + 1, name, after + 1);
    return bsearch(&key, show_entries, show_entries_count, sizeof *show_entries, order_texts);
}
