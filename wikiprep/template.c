#include "wikiprep/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "wikiprep/codepoint.h"
#include "wikiprep/show.h"

enum { NAME_MAX_BYTES = 64 };

/* Lower case, one space between words, without "Template:". 0 when it is too long. */
static size_t fold(char out[NAME_MAX_BYTES], const char *s, size_t n)
{
    struct span name = span_trim(s, n);
    size_t len = 0;
    if (name.n > 9 && !strncasecmp(name.s, "template:", 9))
        name = span_trim(name.s + 9, name.n - 9);
    for (size_t i = 0, used; i < name.n; i += used) {
        unsigned c;
        used = codepoint_read(name.s + i, name.n - i, &c);
        c = c == '_' ? ' ' : codepoint_lower(c);
        if (c == ' ' && len && out[len - 1] == ' ')
            continue;
        if (len + 5 > NAME_MAX_BYTES)
            return 0;
        len += utf8_encode(out + len, c);
    }
    out[len] = '\0';
    return len;
}

static int compare_entry(const void *key, const void *item)
{
    return strcmp(key, ((const struct show_entry *)item)->name);
}

/* The row of this name: of the wiki with this language, or with "" of all. NULL when there is none.
 */
static const struct show_entry *find_exact(const char *lang, const char *name)
{
    char key[NAME_MAX_BYTES + 16];
    snprintf(key, sizeof key, "%s:%s", lang, name);
    return bsearch(key, show_entries, show_entries_count, sizeof *show_entries, compare_entry);
}

/* The same among rows with a '*' in their name; *star is what it stands for. */
static const struct show_entry *find_starred(const char *lang, const char *name, size_t len,
                                             struct span *star)
{
    for (size_t i = 0; i < show_starred_count; i++) {
        const struct show_starred *s = &show_starred[i];
        const char *after = s->row.name + s->star + 1;
        size_t before = (size_t)s->star, after_len = strlen(after);
        if (len > before + after_len && !memcmp(name, s->row.name, before) &&
            !memcmp(name + len - after_len, after, after_len) && !strcmp(lang, s->lang)) {
            *star = span_trim(name + before, len - before - after_len);
            return &s->row;
        }
    }
    return NULL;
}

/* The row for a folded name on this wiki; its own rows come before those of all. */
static const struct show_entry *find_row(const struct template_page *page, const char *name,
                                         size_t len, struct span *star)
{
    const char *lang = strcmp(page->lang, "simple") ? page->lang : "en";
    const struct show_entry *e = NULL;
    *star = (struct span){ "", 0 };
    if (*lang && strlen(lang) < 8 && (e = find_exact(lang, name)))
        return e;
    if ((e = find_exact("", name)))
        return e;
    return (e = find_starred(lang, name, len, star)) ? e : find_starred("", name, len, star);
}

enum expand_choice template_choose(void *ctx, const char *s, size_t n)
{
    const struct template_page *page = ctx;
    char name[NAME_MAX_BYTES];
    struct span star;
    size_t len = fold(name, s, n);
    const struct show_entry *e = len ? find_row(page, name, len, &star) : NULL;
    if (!e)
        return EXPAND_ALONE;
    return e->render == show_hatnote && !page->hatnotes ? EXPAND_NOT : EXPAND_FIRST;
}

int template_render(void *ctx, const struct wikitext_call *source, struct buf *out)
{
    const struct template_page *page = ctx;
    char name[NAME_MAX_BYTES];
    struct call c;
    size_t len = fold(name, source->name, source->name_len);
    const struct show_entry *e = len ? find_row(page, name, len, &c.star) : NULL;
    if (!e)
        return 0;
    c.page = page;
    c.source = source;
    c.name = name;
    arguments_read(&c.a, source);
    return e->render(&c, e->text, e->n, out);
}
