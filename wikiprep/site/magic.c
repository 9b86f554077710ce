#include "wikiprep/site/magic.h"

#include "common/base/utf8.h"
#include "unicode/letter_case.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/span.h"

enum { WORD_MAX_BYTES = 96 };

/* The value of a word in the set, whose names are in lower case. */
struct word {
    const char *word; /* as wikiprep/languages spells it */
    size_t n;
    const char *english;
};

/* Writes s in lower case to `out`. Returns the length, or 0 if it is empty or too long. */
static size_t fold(char out[WORD_MAX_BYTES], const char *s, size_t n)
{
    size_t len = 0;
    for (size_t i = 0, used; i < n; i += used) {
        unsigned c;
        used = utf8_read(s + i, n - i, &c);
        if (len + 5 > WORD_MAX_BYTES)
            return 0;
        len += utf8_put(out + len, letter_case_lower(c));
    }
    return len;
}

/* Adds the word s[0..n) for the word `english`, unless m has it already. */
static void add(struct nameset *m, const char *s, size_t n, const char *english)
{
    char folded[WORD_MAX_BYTES];
    size_t len = fold(folded, s, n);
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
    char folded[WORD_MAX_BYTES];
    size_t len = fold(folded, s, n);
    const struct word *w = len ? nameset_get(m, folded, len) : NULL;
    if (!w)
        return NULL;
    int is_exact = w->n == n && !memcmp(w->word, s, n);
    return is_exact || *w->english < 'A' || *w->english > 'Z' ? w->english : NULL;
}
