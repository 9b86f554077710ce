#include "wikiprep/text/show.h"

enum { KEY_MAX_BYTES = 96 }; /* length of "LANG:NAME"; no row is longer */

static int compare_entry(const void *key, const void *item)
{
    return strcmp(key, ((const struct show_entry *)item)->name);
}

const struct show_entry *show_find(const char *lang, const char *name)
{
    char key[KEY_MAX_BYTES];
    size_t before = strlen(lang), after = strlen(name);
    if (before + after + 2 > sizeof key)
        return NULL;
    memcpy(key, lang, before);
    key[before] = ':';
    memcpy(key + before + 1, name, after + 1);
    return bsearch(key, show_entries, show_entries_count, sizeof *show_entries, compare_entry);
}
