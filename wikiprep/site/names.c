#include "wikiprep/site/names.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "unicode/letter_case.h"
#include "wikiprep/values/knowledge.h"

enum { NAME_MAX_BYTES = 96 }; /* no namespace name is longer */

struct entry {
    char *key; /* normalized name; NULL: free slot */
    enum names_kind kind;
};

struct names {
    struct entry *entries; /* hash table with open addressing; cap is a power of two */
    size_t count, cap;
    int capital;
};

/* ---- folding ----------------------------------------------------------------------------- */

/* Writes the normalized name to out, with a NUL: lower case, single spaces, '_' as a space. Returns
 * its length, or 0 if the name is empty or too long. */
static size_t fold(char out[NAME_MAX_BYTES], const char *s, size_t n)
{
    size_t len = 0;
    for (size_t i = 0, used; i < n; i += used) {
        unsigned c;
        used = utf8_read(s + i, n - i, &c);
        if (c == '_' || c == '\t')
            c = ' ';
        if (c == ' ' && (!len || out[len - 1] == ' '))
            continue;
        if (len + 4 >= NAME_MAX_BYTES)
            return 0;
        if (used > 1 || c < 0x80)
            len += utf8_encode(out + len, letter_case_lower(c));
        else
            out[len++] = (char)c; /* not valid UTF-8 */
    }
    if (len && out[len - 1] == ' ')
        len--;
    out[len] = '\0';
    return len;
}

int names_equal(const char *a, size_t an, const char *b, size_t bn)
{
    char x[NAME_MAX_BYTES], y[NAME_MAX_BYTES];
    size_t n = fold(x, a, an);
    return n && n == fold(y, b, bn) && !memcmp(x, y, n);
}

void names_add_title(struct buf *out, const char *s, size_t n, int capital)
{
    size_t begin = out->len;
    int space = 0;
    for (size_t i = 0, used; i < n; i += used) {
        unsigned c;
        used = 1;
        if (strchr(" _\t\r\n", s[i]) && s[i]) {
            space = out->len > begin;
            continue;
        }
        if (space)
            buf_addc(out, ' ');
        space = 0;
        if (capital && out->len == begin)
            letter_case_put(out, s + i, used = utf8_read(s + i, n - i, &c), letter_case_title);
        else
            buf_addc(out, s[i]);
    }
}

/* ---- table ------------------------------------------------------------------------------- */

static struct entry *find(const struct names *names, const char *key)
{
    size_t mask = names->cap - 1, i = hash_bytes(key, strlen(key)) & mask;
    while (names->entries[i].key && strcmp(names->entries[i].key, key))
        i = (i + 1) & mask;
    return &names->entries[i];
}

static void grow(struct names *names)
{
    struct names bigger = { .cap = names->cap * 2 };
    bigger.entries = mem_zalloc(bigger.cap, sizeof *bigger.entries);
    for (size_t i = 0; i < names->cap; i++)
        if (names->entries[i].key)
            *find(&bigger, names->entries[i].key) = names->entries[i];
    free(names->entries);
    names->entries = bigger.entries;
    names->cap = bigger.cap;
}

void names_add(struct names *names, const char *name, enum names_kind kind)
{
    char key[NAME_MAX_BYTES];
    if (!fold(key, name, strlen(name)))
        return;
    if (names->count * 2 >= names->cap)
        grow(names);
    struct entry *e = find(names, key);
    if (!e->key) {
        e->key = mem_strdup(key);
        names->count++;
    }
    e->kind = kind;
}

enum names_kind names_find(const struct names *names, const char *prefix, size_t n)
{
    char key[NAME_MAX_BYTES];
    if (!fold(key, prefix, n))
        return NAMES_NONE;
    const struct entry *e = find(names, key);
    return e->key ? e->kind : NAMES_NONE;
}

/* ---- built-in names ---------------------------------------------------------------------- */

static void add_all(struct names *names, const char *list, enum names_kind kind)
{
    for (const char *s = list; *s;) {
        size_t n = strcspn(s, "|");
        char *name = mem_strndup(s, n);
        names_add(names, name, kind);
        free(name);
        s += n + (s[n] == '|');
    }
}

/* Adds the prefixes of all languages. A later addition of the same name wins. */
static void add_built_in(struct names *names)
{
    static const struct {
        const char *key;
        enum names_kind kind;
    } kinds[] = {
        { "project", NAMES_PROJECT },   { "language", NAMES_LANGUAGE }, { "media", NAMES_MEDIA },
        { "category", NAMES_CATEGORY }, { "file", NAMES_ALIAS },
    };
    const struct knowledge_row *rows;
    size_t count = knowledge_section("prefixes", NULL, &rows);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < count; i++)
            if (!strcmp(rows[i].key, kinds[k].key))
                add_all(names, rows[i].value, kinds[k].kind);
    add_all(names, "file|image", NAMES_FILE);
}

struct names *names_new(void)
{
    struct names *names = mem_zalloc(1, sizeof *names);
    names->capital = 1;
    names->cap = 2048;
    names->entries = mem_zalloc(names->cap, sizeof *names->entries);
    add_built_in(names);
    return names;
}

void names_set_capital(struct names *names, int capital)
{
    names->capital = capital;
}

int names_capital(const struct names *names)
{
    return names->capital;
}

void names_free(struct names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < names->cap; i++)
        free(names->entries[i].key);
    free(names->entries);
    free(names);
}
