#include "wikiprep/site/language.h"

#include <string.h>

#include "wikiprep/values/knowledge.h"

enum { CODE_MAX = 12 };

/* Copies the code to `key`, with a NUL. Returns 1, or 0 if it is too long. */
static int copy_code(char key[CODE_MAX + 1], const char *code, size_t n)
{
    if (n > CODE_MAX)
        return 0;
    memcpy(key, code, n);
    key[n] = '\0';
    return 1;
}

const char *language_own_name(const char *code, size_t n)
{
    char key[CODE_MAX + 1];
    return copy_code(key, code, n) ? knowledge_find("own-names", "", key) : NULL;
}

const char *language_name(const char *code, size_t n, const char *wiki)
{
    char key[CODE_MAX + 1];
    const char *dash = memchr(code, '-', n); /* "sr-Latn" */
    if (!copy_code(key, code, dash ? (size_t)(dash - code) : n))
        return NULL;
    if (!strcmp(wiki, "nb") || !strcmp(wiki, "nn"))
        wiki = "no";
    const char *english = knowledge_find("languages", "en", key);
    const char *name = english ? knowledge_find("languages", wiki, key) : NULL;
    return name ? name : english;
}
