#include "wikiprep/site/magic.h"

#include "unicode/letter_case.h"
#include "wikiprep/site/names.h"
#include "wikiprep/values/knowledge.h"

/* The value of a word in the set, whose names are in lower case. */
struct word {
    const char *word; /* as wikiprep/languages spells it */
    size_t n;
    const char *english;
};

/* Adds the word s[0..n) for the word `english`, unless m has it already. */
static void add(struct nameset *m, const char *s, size_t n, const char *english)
{
    char folded[NAMES_MAX_BYTES];
    size_t len = names_fold(folded, (struct span){ s, n }, letter_case_lower);
    struct word *w = len ? nameset_put(m, folded, len) : NULL;
    if (w && !w->word)
        *w = (struct word){ s, n, english };
}

struct nameset *magic_new(const char *lang)
{
    struct nameset *m = nameset_new(sizeof(struct word));
    const struct knowledge_row *rows;
    struct span word;
    for (int own = 0; own < 2; own++) {
        size_t count = knowledge_section("words", own ? knowledge_language(lang) : "", &rows);
        for (size_t i = 0; i < count; i++)
            for (const char *s = rows[i].value; span_next(&s, '|', &word);)
                add(m, word.s, word.n, rows[i].key);
    }
    return m;
}

const char *magic_find(const struct nameset *m, const char *s, size_t n)
{
    char folded[NAMES_MAX_BYTES];
    size_t len = names_fold(folded, (struct span){ s, n }, letter_case_lower);
    const struct word *w = len ? nameset_get(m, folded, len) : NULL;
    if (!w)
        return NULL;
    int is_exact = w->n == n && !memcmp(w->word, s, n);
    return is_exact || *w->english < 'A' || *w->english > 'Z' ? w->english : NULL;
}
