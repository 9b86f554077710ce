#include "wikiprep/values/knowledge.h"

/* Compares a row with a section, language and key; the last two may be NULL and are then not
 * compared. Returns less than, equal to or more than 0, as strcmp does. */
static int compare(const struct knowledge_row *r, const char *section, const char *lang,
                   const char *key)
{
    int order = strcmp(r->section, section);
    if (!order && lang)
        order = strcmp(r->lang, lang);
    return order || !key ? order : strcmp(r->key, key);
}

/* Returns the index of the first row that is not less than the given section, language and key. */
static size_t lower_bound(const char *section, const char *lang, const char *key)
{
    size_t low = 0, high = knowledge_rows_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare(&knowledge_rows[middle], section, lang, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *knowledge_language(const char *lang)
{
    return !strcmp(lang, "nb") || !strcmp(lang, "nn") ? "no" : strcmp(lang, "simple") ? lang : "en";
}

const char *knowledge_find(const char *section, const char *lang, const char *key)
{
    size_t i = lower_bound(section, lang, key);
    int found = i < knowledge_rows_count && !compare(&knowledge_rows[i], section, lang, key);
    return found ? knowledge_rows[i].value : NULL;
}

const char *knowledge_find_code(const char *section, const char *lang, const char *prefix,
                                struct span code)
{
    enum { KEY_MAX = 24 };
    char key[KEY_MAX];
    int n = snprintf(key, sizeof key, "%s%.*s", prefix, (int)code.n, code.s);
    return n < KEY_MAX ? knowledge_find(section, lang, key) : NULL;
}

size_t knowledge_section(const char *section, const char *lang, const struct knowledge_row **rows)
{
    size_t first = lower_bound(section, lang, NULL), end = first;
    while (end < knowledge_rows_count && !compare(&knowledge_rows[end], section, lang, NULL))
        end++;
    *rows = knowledge_rows + first;
    return end - first;
}
