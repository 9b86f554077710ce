#include "wikiprep/template.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "wikiprep/codepoint.h"
#include "wikiprep/language.h"
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

/* Families: {{lang-ru|…}}, {{IPA-de|…}}, Japanese {{lang-en-short|…}} and {{en|…}}, Latgalian
 * {{vol-ru|…}}. */
static int render_family(const struct call *c, size_t len, struct buf *out)
{
    const char *name = c->name;
    if (len > 5 && !memcmp(name, "lang-", 5)) {
        if (len > 11 && !memcmp(name + len - 6, "-short", 6))
            return show_span(call_at(c, 1), out);
        return show_named_language(c, name + 5, len - 5, 1, out);
    }
    if (len > 4 && !memcmp(name, "ipa-", 4)) {
        return show_pronounced(c, (struct span){ name + 4, len - 4 }, 1, out);
    }
    if (len > 4 && !memcmp(name, "vol-", 4))
        return show_span(call_at(c, 1), out);
    if (len > 10 && !memcmp(name, "formatnum:", 10)) {
        show_grouped_span(c, span_trim(name + 10, len - 10), out);
        return 1;
    }
    if (len <= 3 && !strcmp(c->page->lang, "ja") && language_name(name, len, ""))
        return show_span(call_at(c, 1), out);
    return 0;
}

/* Names of families are recognised by their beginnings. */
static int may_be_family(const char *name, size_t len)
{
    return memchr("livf", name[0], 4) || len <= 3;
}

/* The entry for a folded name, on this wiki. */
static const struct show_entry *find_on(const struct template_page *page, const char *name)
{
    char local[NAME_MAX_BYTES + 16];
    const struct show_entry *e = NULL;
    if (strlen(page->lang) < 8 && strcmp(page->lang, "en")) {
        snprintf(local, sizeof local, "%s:%s", page->lang, name);
        e = show_find_local(local);
    }
    return e ? e : show_find(name);
}

enum expand_choice template_choose(void *ctx, const char *s, size_t n)
{
    static const char *const families[] = { "lang-", "ipa-", "vol-", "formatnum:" };
    const struct template_page *page = ctx;
    char name[NAME_MAX_BYTES];
    size_t len = fold(name, s, n);
    if (!len)
        return EXPAND_ALONE;
    const struct show_entry *e = find_on(page, name);
    if (e)
        return e->render == show_hatnote && !page->hatnotes ? EXPAND_NOT : EXPAND_FIRST;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strncmp(name, families[i], strlen(families[i])))
            return EXPAND_FIRST;
    int is_language = len <= 3 && !strcmp(page->lang, "ja") && language_name(name, len, "");
    return is_language ? EXPAND_FIRST : EXPAND_ALONE;
}

int template_render(void *ctx, const struct wikitext_call *source, struct buf *out)
{
    const struct template_page *page = ctx;
    char name[NAME_MAX_BYTES];
    size_t len = fold(name, source->name, source->name_len);
    const struct show_entry *e = len ? find_on(page, name) : NULL;
    if (!e && (!len || !may_be_family(name, len)))
        return 0;
    struct call c;
    c.page = page;
    c.source = source;
    c.name = name;
    arguments_read(&c.a, source);
    return e ? e->render(&c, e->text, e->n, out) : render_family(&c, len, out);
}
