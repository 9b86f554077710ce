#include "wikiprep/text/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX_BYTES = 96 }; /* length of "LANG:NAME"; no row is longer */

static int compare_entry(const void *key, const void *item)
{
    return strcmp(key, ((const struct show_entry *)item)->name);
}

const struct show_entry *show_find(const char *lang, const char *name)
{
    char key[KEY_MAX_BYTES];
    if ((size_t)snprintf(key, sizeof key, "%s:%s", lang, name) >= sizeof key)
        return NULL;
    return bsearch(key, show_entries, show_entries_count, sizeof *show_entries, compare_entry);
}
