#include "wikiprep/site/names.h"

#include "common/base/utf8.h"
#include "common/files/nameset.h"
#include "unicode/letter_case.h"
#include "wikiprep/values/knowledge.h"

struct names {
    struct nameset *keys; /* normalized names; the values are enum names_kind */
    int capital;
};

/* ---- folding ----------------------------------------------------------------------------- */

/* Returns 1 for marks of writing direction, which MediaWiki drops from titles, else 0. */
static int is_hidden(unsigned c)
{
    return c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E);
}

size_t names_fold(char out[NAMES_MAX_BYTES], struct span name, unsigned (*change)(unsigned))
{
    size_t len = 0;
    for (size_t i = 0, used; i < name.n; i += used) {
        unsigned c;
        used = utf8_read(name.s + i, name.n - i, &c);
        if (c == '_' || c == '\t')
            c = ' ';
        if (is_hidden(c) || (c == ' ' && (!len || out[len - 1] == ' ')))
            continue;
        if (len + 5 > NAMES_MAX_BYTES) {
            *out = '\0';
            return 0;
        }
        if (used > 1 || c < 0x80)
            len += utf8_put(out + len, change ? change(c) : c);
        else
            out[len++] = (char)c; /* not valid UTF-8 */
    }
    if (len && out[len - 1] == ' ')
        len--;
    out[len] = '\0';
    return len;
}

/* "IŞIK" and "İzmir" are "ışık" and "izmir" in Turkish, and "ΦΩΣ" is "φως". */
static unsigned without_case(unsigned c)
{
    const unsigned lower = letter_case_lower(c);
    return lower == LETTER_CASE_DOTTED_I || lower == 0x131 ? 'i' : lower == 0x3C2 ? 0x3C3 : lower;
}

static size_t fold(char out[NAMES_MAX_BYTES], const char *s, size_t n)
{
    return names_fold(out, (struct span){ s, n }, without_case);
}

int names_equal(const char *a, size_t an, const char *b, size_t bn)
{
    char x[NAMES_MAX_BYTES], y[NAMES_MAX_BYTES];
    size_t n = fold(x, a, an);
    return n && n == fold(y, b, bn) && !memcmp(x, y, n);
}

int names_listed(const char *list, char mark, const char *name, size_t n)
{
    for (struct span item; span_next(&list, mark, &item);)
        if (names_equal(item.s, item.n, name, n))
            return 1;
    return 0;
}

/* Returns 1 for code points that MediaWiki treats as a space in titles, else 0. */
static int is_blank(unsigned c)
{
    return c == ' ' || c == '_' || c == '\t' || c == '\r' || c == '\n' || c == 0xA0 ||
           c == 0x1680 || c == 0x180E || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

enum names_capital names_capital_in(struct span lang)
{
    return span_in(lang, "az|kaa|tr") ? NAMES_CAPITAL_DOTTED : NAMES_CAPITAL;
}

void names_add_title(struct buf *out, const char *s, size_t n, int capital)
{
    size_t begin = out->len;
    int space = 0;
    for (size_t i = 0, used; i < n; i += used) {
        unsigned c;
        used = utf8_read(s + i, n - i, &c);
        int is_valid = used > 1 || c < 0x80;
        if (is_valid && is_blank(c)) {
            space = out->len > begin;
        } else if (!is_valid || !is_hidden(c)) {
            buf_adds(out, space ? " " : "");
            if (capital == NAMES_CAPITAL_DOTTED && out->len == begin && c == 'i')
                utf8_add(out, LETTER_CASE_DOTTED_I);
            else if (capital && out->len == begin)
                letter_case_put(out, s + i, used, letter_case_title);
            else
                buf_add(out, s + i, used);
            space = 0;
        }
    }
}

/* ---- table ------------------------------------------------------------------------------- */

void names_add(struct names *names, struct span name, enum names_kind kind)
{
    char key[NAMES_MAX_BYTES];
    size_t n = fold(key, name.s, name.n);
    if (n)
        *(enum names_kind *)nameset_put(names->keys, key, n) = kind;
}

enum names_kind names_find(const struct names *names, const char *prefix, size_t n)
{
    char key[NAMES_MAX_BYTES];
    size_t len = fold(key, prefix, n);
    const enum names_kind *kind = len ? nameset_get(names->keys, key, len) : NULL;
    return kind ? *kind : NAMES_NONE;
}

/* ---- built-in names ---------------------------------------------------------------------- */

static void add_all(struct names *names, const char *list, enum names_kind kind)
{
    for (struct span name; span_next(&list, '|', &name);)
        names_add(names, name, kind);
}

/* Adds the built-in link prefixes (names.h). Of equal names, the last wins. */
static void add_built_in(struct names *names)
{
    add_all(names, knowledge_find("prefixes", "", "project"), NAMES_PROJECT);
    add_all(names, knowledge_find("prefixes", "", "language"), NAMES_LANGUAGE);
    add_all(names, knowledge_find("prefixes", "", "category"), NAMES_CATEGORY);
    add_all(names, "file|image|tập tin", NAMES_FILE);
    add_all(names, "help|media|mediawiki|project|special|talk|template|user", NAMES_PAGE);
}

struct names *names_new(int capital)
{
    struct names *names = mem_zalloc(1, sizeof *names);
    names->capital = capital;
    names->keys = nameset_new(sizeof(enum names_kind));
    add_built_in(names);
    return names;
}

int names_capital(const struct names *names)
{
    return names->capital;
}

void names_free(struct names *names)
{
    if (!names)
        return;
    nameset_free(names->keys);
    free(names);
}

void names_add_href(struct buf *out, const char *href)
{
    href += strncmp(href, "./", 2) ? 0 : 2;
    const size_t begin = out->len;
    const char *query = strstr(href, "?action=edit"); /* "./Foo?action=edit&redlink=1" */
    const char *end = query ? query : href + strlen(href);
    for (const char *s = href; s < end; s++) {
        const int code = span_percent(s, end);
        buf_addc(out, code >= ' ' ? code : *s == '_' ? ' ' : *s);
        s += code >= ' ' ? 2 : 0;
    }
    if (utf8_valid(out->data + begin, out->len - begin) < out->len - begin) {
        buf_truncate(out, begin);
        buf_add(out, href, (size_t)(end - href)); /* "%E9" is no UTF-8 */
    }
}
