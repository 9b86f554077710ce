#include "wikiprep/site/magic.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/hash.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "unicode/letter_case.h"
#include "wikiprep/values/knowledge.h"

enum { WORD_MAX_BYTES = 96 };

struct word {
    char *folded; /* in lower case; NULL: free slot */
    const char *word;
    size_t n;
    char *english;
};

struct magic {
    struct word *words; /* hash table with open addressing; cap is a power of two, or 0 */
    size_t cap;
};

/* Writes s in lower case to `out`, with a NUL. Returns 1, or 0 if it is empty or too long. */
static int fold(char out[WORD_MAX_BYTES], const char *s, size_t n)
{
    size_t len = 0;
    for (size_t i = 0, used; i < n; i += used) {
        unsigned c;
        used = utf8_read(s + i, n - i, &c);
        if (len + 5 > WORD_MAX_BYTES)
            return 0;
        len += utf8_encode(out + len, letter_case_lower(c));
    }
    out[len] = '\0';
    return len > 0;
}

static struct word *find(const struct magic *m, const char *folded)
{
    size_t i = hash_bytes(folded, strlen(folded)) & (m->cap - 1);
    while (m->words[i].folded && strcmp(m->words[i].folded, folded))
        i = (i + 1) & (m->cap - 1);
    return &m->words[i];
}

static void add(struct magic *m, const char *s, size_t n, const char *english, size_t english_len)
{
    char folded[WORD_MAX_BYTES];
    if (!fold(folded, s, n))
        return;
    struct word *w = find(m, folded);
    if (!w->folded)
        *w = (struct word){ mem_strdup(folded), s, n, mem_strndup(english, english_len) };
}

static void add_list(struct magic *m, const struct knowledge_row *row)
{
    for (const char *s = row->value; *s;) {
        size_t n = strcspn(s, "|");
        add(m, s, n, row->key, strlen(row->key));
        s += n + (s[n] == '|');
    }
}

struct magic *magic_new(const char *lang)
{
    struct magic *m = mem_zalloc(1, sizeof *m);
    const struct knowledge_row *rows;
    size_t count = *lang ? knowledge_section("words", lang, &rows) : 0;
    if (!count)
        return m;
    m->cap = 256;
    m->words = mem_zalloc(m->cap, sizeof *m->words);
    for (size_t i = 0; i < count; i++)
        add_list(m, &rows[i]);
    return m;
}

void magic_free(struct magic *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->cap; i++) {
        free(m->words[i].folded);
        free(m->words[i].english);
    }
    free(m->words);
    free(m);
}

const char *magic_find(const struct magic *m, const char *s, size_t n)
{
    char folded[WORD_MAX_BYTES];
    if (!m->cap || !fold(folded, s, n))
        return NULL;
    const struct word *w = find(m, folded);
    if (!w->folded)
        return NULL;
    int is_exact = w->n == n && !memcmp(w->word, s, n);
    return is_exact || *w->english < 'A' || *w->english > 'Z' ? w->english : NULL;
}
