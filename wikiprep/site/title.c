#include "wikiprep/site/title.h"

#include "wikiprep/site/entity.h"
#include "wikiprep/site/names.h"

enum { TITLE_MAX_BYTES = 255 };

/* Appends the title with its character references decoded, in the form that MediaWiki stores, but
 * for the first letter. Returns 1, or 0 if a character is not allowed in titles. */
static int clean(struct buf *out, const char *s, size_t n)
{
    SCOPED(buf) plain = BUF_INIT;
    entity_decode(&plain, s, n);
    for (size_t i = 0; i < plain.len; i++)
        if ((unsigned char)plain.data[i] < 0x20 || strchr("<>[]|{}\x7F", plain.data[i]))
            return 0;
    names_add_title(out, plain.data, plain.len, 0);
    return 1;
}

/* Returns 1 if the title contains a percent code such as "%41", else 0. Such a code would be
 * decoded in an address. */
static int has_code(const struct buf *text)
{
    for (const char *s = text->data; (s = strchr(s, '%')); s++)
        if (span_percent(s, text->data + text->len) >= 0)
            return 1;
    return 0;
}

/* Returns 1 for titles such as "./x", "a/../b" and "a/..", which browsers rewrite in an address,
 * else 0. */
static int has_dots(const struct buf *text)
{
    const char *s = text->data;
    if (*s == '.') {
        size_t dots = strspn(s, ".");
        if (dots <= 2 && (!s[dots] || s[dots] == '/'))
            return 1;
    }
    return strstr(s, "/./") || strstr(s, "/../") || bytes_end(s, text->len, "/.") ||
           bytes_end(s, text->len, "/..");
}

int title_read(struct title *t, const struct dump_site *site, const char *s, size_t n, int ns)
{
    struct buf *text = &t->text;
    buf_clear(text);
    t->ns = ns;
    t->is_section = 0;
    while (n && (*s == ' ' || *s == '_'))
        s++, n--;
    if (n && *s == ':') {
        t->ns = 0;
        s++, n--;
    }
    const char *section = n ? memchr(s, '#', n) : NULL;
    for (; section && section > s && section[-1] == '&';) /* &#39; */
        section = memchr(section + 1, '#', (size_t)(s + n - section - 1));
    if (section)
        n = (size_t)(section - s);
    if (!clean(text, s, n) || has_code(text) || has_dots(text))
        return 0;
    size_t skip = 0;
    const char *colon = memchr(text->data, ':', text->len);
    if (colon && colon > text->data &&
        dump_namespace(site, text->data, (size_t)(colon - text->data), &t->ns))
        skip = (size_t)(colon - text->data) + 1;
    SCOPED(buf) rest = BUF_INIT;
    names_add_title(&rest, text->data + skip, text->len - skip, site->capital);
    buf_set(text, rest.data, rest.len);
    if (text->len > TITLE_MAX_BYTES)
        return 0;
    if (!text->len)
        return t->is_section = section != NULL && t->ns == ns;
    return 1;
}

int title_has_subpages(const struct dump_site *site, int ns)
{
    static const char *const wikis[] = { "wikisource.org/", "wikibooks.org/", "wikiversity.org/",
                                         "mediawiki.org/", "meta.wikimedia.org/" };
    for (size_t i = 0; !ns && i < sizeof wikis / sizeof *wikis; i++)
        if (strstr(site->base.data, wikis[i]))
            return 1;
    return ns > 0 && ns != 6 && ns != 14; /* not files and categories */
}

void title_put(const struct dump_site *site, const struct title *t, struct buf *out)
{
    buf_adds(out, dump_namespace_name(site, t->ns));
    if (t->ns)
        buf_addc(out, ':');
    buf_add(out, t->text.data, t->text.len);
}
