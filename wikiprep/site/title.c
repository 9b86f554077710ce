#include "wikiprep/site/title.h"

#include "common/base/utf8.h"
#include "unicode/letter_case.h"
#include "wikiprep/site/entity.h"

enum { TITLE_MAX_BYTES = 255 };

/* Returns 1 for code points that MediaWiki treats as a space in titles, else 0. */
static int is_blank(unsigned c)
{
    return c == ' ' || c == '_' || c == 0xA0 || c == 0x1680 || c == 0x180E ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

static int is_hidden(unsigned c)
{
    return c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E);
}

/* Appends the title's characters: decodes character references, drops direction marks and makes
 * runs of spaces one space. Returns 1, or 0 if a character is not allowed in titles. */
static int clean(struct buf *out, const char *s, size_t n)
{
    size_t begin = out->len;
    for (size_t i = 0; i < n;) {
        unsigned c;
        size_t len = s[i] == '&' ? entity_read(s + i, n - i, &c) : 0;
        if (!len)
            len = utf8_read(s + i, n - i, &c);
        i += len;
        if (c < 0x20 || c == 0x7F || (c < 0x80 && strchr("<>[]|{}", (int)c)))
            return 0;
        if (is_hidden(c))
            continue;
        if (!is_blank(c))
            utf8_add(out, c);
        else if (out->len > begin && out->data[out->len - 1] != ' ')
            buf_addc(out, ' ');
    }
    buf_rtrim(out);
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

/* Returns 1 for titles such as "./x" and "a/../b", which browsers rewrite in an address, else 0. */
static int has_dots(const struct buf *text)
{
    const char *s = text->data;
    if (*s == '.') {
        size_t dots = strspn(s, ".");
        if (dots <= 2 && (!s[dots] || s[dots] == '/'))
            return 1;
    }
    return strstr(s, "/./") || strstr(s, "/../");
}

static void drop_front(struct buf *b, size_t n)
{
    while (n < b->len && b->data[n] == ' ')
        n++;
    memmove(b->data, b->data + n, b->len - n);
    buf_truncate(b, b->len - n);
}

static void raise_first(struct buf *text)
{
    unsigned c;
    if (!text->len)
        return;
    size_t len = utf8_read(text->data, text->len, &c);
    if (letter_case_title(c) == c)
        return;
    SCOPED(buf) raised = BUF_INIT;
    letter_case_put(&raised, text->data, len, letter_case_title);
    buf_add(&raised, text->data + len, text->len - len);
    buf_set(text, raised.data, raised.len);
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
    const char *colon = memchr(text->data, ':', text->len);
    if (colon && colon > text->data &&
        dump_namespace(site, text->data, (size_t)(colon - text->data), &t->ns))
        drop_front(text, (size_t)(colon - text->data) + 1);
    if (text->len > TITLE_MAX_BYTES)
        return 0;
    if (!text->len)
        return t->is_section = section != NULL && t->ns == ns;
    if (site->capital)
        raise_first(text);
    return 1;
}

int title_has_subpages(int ns)
{
    return ns > 0 && ns != 6 && ns != 14; /* not articles, files, categories */
}

void title_put(const struct dump_site *site, const struct title *t, struct buf *out)
{
    buf_adds(out, dump_namespace_name(site, t->ns));
    if (t->ns)
        buf_addc(out, ':');
    buf_add(out, t->text.data, t->text.len);
}
