#include "wikiprep/site/dump_page.h"

#include <strings.h>

#include "unicode/letter_case.h"
#include "wikiprep/values/knowledge.h"

/* Calls `change` (buf_release or buf_clear) for each text of the page. */
static void change_each(struct dump_page *p, void (*change)(struct buf *))
{
    struct buf *const texts[] = { &p->title, &p->id,   &p->revid,  &p->timestamp,
                                  &p->model, &p->text, &p->target, &p->wikidata };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        change(texts[i]);
}

void dump_page_release(struct dump_page *p)
{
    change_each(p, buf_release);
}

void dump_page_clear(struct dump_page *p)
{
    change_each(p, buf_clear);
    p->ns = p->redirect = p->too_long = 0;
}

/* ---- namespaces -------------------------------------------------------------------------- */

static const struct dump_namespace english[] = {
    { -2, "Media" },         { -1, "Special" },  { 1, "Talk" },           { 2, "User" },
    { 3, "User talk" },      { 4, "Project" },   { 4, "Wikipedia" },      { 5, "Project talk" },
    { 5, "Wikipedia talk" }, { 6, "File" },      { 6, "Image" },          { 7, "File talk" },
    { 7, "Image talk" },     { 8, "MediaWiki" }, { 9, "MediaWiki talk" }, { 10, "Template" },
    { 11, "Template talk" }, { 12, "Help" },     { 13, "Help talk" },     { 14, "Category" },
    { 15, "Category talk" }, { 100, "Portal" },  { 101, "Portal talk" },  { 828, "Module" },
    { 829, "Module talk" },
};

static int find_namespace(const struct dump_namespace *list, size_t count, const char *name,
                          size_t n, int *key)
{
    for (size_t i = 0; i < count; i++)
        if (names_equal(list[i].name, strlen(list[i].name), name, n)) {
            *key = list[i].key;
            return 1;
        }
    return 0;
}

int dump_namespace(const struct dump_site *site, const char *name, size_t n, int *key)
{
    enum { TEMPLATE = 10 };
    if (find_namespace(site->namespaces, site->count, name, n, key) ||
        find_namespace(english, sizeof english / sizeof *english, name, n, key))
        return 1;
    /* names of Template that a language has beside the one of <siteinfo> */
    const char *aliases = knowledge_find("prefixes", site->lang.data, "template");
    if (!aliases || !names_listed(aliases, '|', name, n))
        return 0;
    *key = TEMPLATE;
    return 1;
}

const char *dump_namespace_name(const struct dump_site *site, int key)
{
    for (size_t i = 0; i < site->count; i++)
        if (site->namespaces[i].key == key)
            return site->namespaces[i].name;
    for (size_t i = 0; i < sizeof english / sizeof *english; i++)
        if (english[i].key == key)
            return english[i].name;
    return "";
}

void dump_site_copy(struct dump_site *to, const struct dump_site *from)
{
    *to = DUMP_SITE_INIT;
    to->capital = from->capital;
    buf_add(&to->name, from->name.data, from->name.len);
    buf_add(&to->base, from->base.data, from->base.len);
    buf_add(&to->lang, from->lang.data, from->lang.len);
    buf_add(&to->date, from->date.data, from->date.len);
    mem_grow(to->namespaces, to->cap, from->count);
    for (; to->count < from->count; to->count++) {
        const struct dump_namespace *ns = &from->namespaces[to->count];
        to->namespaces[to->count] = (struct dump_namespace){ ns->key, mem_strdup(ns->name) };
    }
}

static int same(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

int dump_site_equal(const struct dump_site *a, const struct dump_site *b)
{
    int equal = a->capital == b->capital && a->count == b->count && same(&a->name, &b->name) &&
                same(&a->base, &b->base) && same(&a->lang, &b->lang);
    for (size_t i = 0; i < a->count && equal; i++)
        equal = a->namespaces[i].key == b->namespaces[i].key &&
                !strcmp(a->namespaces[i].name, b->namespaces[i].name);
    return equal;
}

void dump_site_release(struct dump_site *site)
{
    for (size_t i = 0; i < site->count; i++)
        free(site->namespaces[i].name);
    free(site->namespaces);
    buf_release(&site->name);
    buf_release(&site->base);
    buf_release(&site->lang);
    buf_release(&site->date);
    *site = DUMP_SITE_INIT;
}

int dump_namespace_of(const struct dump_site *site, const struct buf *title)
{
    const char *colon = memchr(title->data, ':', title->len);
    int key = 0;
    if (colon && colon > title->data)
        dump_namespace(site, title->data, (size_t)(colon - title->data), &key);
    return key;
}

int dump_page_is_scan(const struct dump_page *p)
{
    return !strcmp(p->model.data, "proofread-page");
}

/* ---- disambiguation pages ---------------------------------------------------------------- */

int dump_disambiguates(const char *text, size_t n)
{
    const char *end = text + n, *names = knowledge_find("disambiguation", "", "templates");
    char name[NAMES_MAX_BYTES];
    if (memmem(text, n, "__DISAMBIG__", strlen("__DISAMBIG__")))
        return 1;
    for (const char *s = text; (s = memmem(s, (size_t)(end - s), "{{", 2)); s += 2) {
        const struct span given = { s + 2, strcspn(s + 2, "|}\n{") };
        if (given.s + given.n < end && names_fold(name, given, letter_case_lower) &&
            span_in(span_of(name), names))
            return 1;
    }
    return 0;
}

/* ---- redirects --------------------------------------------------------------------------- */

int dump_redirect(struct span text, struct span *target)
{
    const char *end = text.s + text.n, *hash = span_past(text.s, end, " \t\r\n");
    if (hash == end || *hash != '#')
        return 0;
    const char *word = span_past(hash + 1, end, " \t"), *stop = word;
    while (stop < end && !strchr(" \t\r\n:[#*;=|'{<", *stop))
        stop++;
    int is_known = end - word >= 8 && !strncasecmp(word, "redirect", 8);
    const char *after = span_past(stop, end, is_known ? " \t\r\n:" : " \t:");
    if ((!is_known && (word > hash + 1 || stop - word < 2)) || !span_begins(after, end, "[["))
        return 0;
    const char *title = span_past(after + 2, end, ":"); /* [[:Category:A]] */
    for (stop = title; stop < end && !strchr("#|]\n", *stop);)
        stop++;
    *target = span_between(title, stop);
    return 1;
}

int dump_page_redirects(struct dump_page *p, const struct dump_site *site)
{
    struct span target;
    if (!dump_redirect((struct span){ p->text.data, p->text.len }, &target))
        return 0;
    if (!p->target.len)
        names_add_title(&p->target, target.s, target.n, site->capital);
    return 1;
}
