#include "wikiprep/text/template.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/utf8.h"
#include "unicode/letter_case.h"
#include "wikiprep/text/show.h"

enum { NAME_MAX_BYTES = 64 };

static unsigned codepoint_same(unsigned c)
{
    return c;
}

/* Normalizes a template name: applies `change` to each character, makes runs of spaces one space
 * and drops "Template:". Writes it to `out` and returns its length, or 0 if it is too long. */
static size_t fold(char out[NAME_MAX_BYTES], struct span name, unsigned (*change)(unsigned))
{
    name = span_trim(name);
    size_t len = 0;
    if (name.n > 9 && !strncasecmp(name.s, "template:", 9))
        name = span_trim((struct span){ name.s + 9, name.n - 9 });
    for (size_t i = 0, used; i < name.n; i += used) {
        unsigned c;
        used = utf8_read(name.s + i, name.n - i, &c);
        c = c == '_' ? ' ' : change(c);
        if (c == ' ' && len && out[len - 1] == ' ')
            continue;
        if (len + 5 > NAME_MAX_BYTES)
            return 0;
        len += utf8_put(out + len, c);
    }
    out[len] = '\0';
    return len;
}

/* Returns the row with a '*' that matches the name, and sets *star to the text that the '*'
 * matches; NULL if there is none. */
static const struct show_entry *find_starred(const char *lang, const char *name, size_t len,
                                             struct span *star)
{
    for (size_t i = 0; i < show_starred_count; i++) {
        const struct show_starred *s = &show_starred[i];
        const char *after = s->row.name + s->star + 1;
        size_t before = (size_t)s->star, after_len = strlen(after);
        if (len > before + after_len && !memcmp(name, s->row.name, before) &&
            !memcmp(name + len - after_len, after, after_len) && !strcmp(lang, s->lang)) {
            *star = span_trim((struct span){ name + before, len - before - after_len });
            return &s->row;
        }
    }
    return NULL;
}

/* Returns the row with exactly this name, from the rows for the wiki's own language or else from
 * those for all wikis; NULL if there is none. */
static const struct show_entry *find_exact(const char *lang, const char *name)
{
    const struct show_entry *e = *lang ? show_find(lang, name) : NULL;
    return e ? e : show_find("", name);
}

/* Returns the row for a call of the template `given`, or NULL. Sets `name` to the name in the form
 * of the row, and *star to the part of `name` that matches the row's '*'. A name in capitals,
 * "USA", is looked up first as it is and then in lower case. */
static const struct show_entry *find_row(const struct template_page *page, struct span given,
                                         char name[NAME_MAX_BYTES], struct span *star)
{
    const char *lang = strcmp(page->lang, "simple") ? page->lang : "en";
    const struct show_entry *e = NULL;
    struct span bare = span_trim(given);
    *star = (struct span){ "", 0 };
    if (bare.n > 1 && isupper((unsigned char)bare.s[1]) && fold(name, given, codepoint_same) &&
        (e = find_exact(lang, name)))
        return e;
    size_t len = fold(name, given, letter_case_lower);
    if (!len)
        return NULL;
    if ((e = find_exact(lang, name)) || (e = find_starred(lang, name, len, star)))
        return e;
    return find_starred("", name, len, star);
}

enum template_choice template_choose(void *ctx, struct span given)
{
    const struct template_page *page = ctx;
    char name[NAME_MAX_BYTES];
    struct span star;
    const struct show_entry *e = find_row(page, given, name, &star);
    if (!e)
        return TEMPLATE_EXPANDED;
    return e->render == show_hatnote && !page->hatnotes ? TEMPLATE_RENDERED
                                                        : TEMPLATE_EXPANDED_FIRST;
}

int template_render(void *ctx, const struct wikitext_call *source, struct buf *out)
{
    const struct template_page *page = ctx;
    char name[NAME_MAX_BYTES];
    struct call c;
    const struct show_entry *e = find_row(page, source->name, name, &c.star);
    if (!e)
        return 0;
    c.page = page;
    c.source = source;
    c.name = name;
    c.text = e->text;
    c.n = e->n;
    arguments_read(&c.a, source);
    return e->render(&c, out);
}
