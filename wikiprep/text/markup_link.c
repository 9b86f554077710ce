/* Internal and external links for markup.h. */
#define _GNU_SOURCE /* memrchr */
#include "wikiprep/text/markup_walk.h"

#include <string.h>
#include <strings.h>

enum { URL_NAME_MAX = 12 }; /* "mailto:", "https://", ... */

/* ---- links ---------------------------------------------------------------------------------- */

static int looks_like_file(const char *s, size_t n)
{
    static const char *const ends[] = { "jpg",  "jpeg", "png", "svg",  "gif", "ogg",  "ogv",  "oga",
                                        "tif",  "tiff", "pdf", "djvu", "mid", "webm", "webp", "wav",
                                        "flac", "stl",  "xcf", "mp3",  "mpg", "opus" };
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\n'))
        n--;
    const char *dot = memrchr(s, '.', n);
    size_t len = dot ? (size_t)(s + n - dot - 1) : 0;
    for (size_t i = 0; len && i < sizeof ends / sizeof *ends; i++)
        if (strlen(ends[i]) == len && !strncasecmp(ends[i], dot + 1, len))
            return 1;
    return 0;
}

/* Returns the kind of page that a link's target s[0..n) leads to. A leading colon makes any link a
 * shown one. */
static enum names_kind classify(const struct markup *m, const char *s, size_t n)
{
    while (n && (*s == ' ' || *s == MARKUP_HOLE || *s == MARKUP_EMPTY))
        s++, n--;
    const char *colon = n && *s != ':' ? memchr(s, ':', n) : NULL;
    if (!colon)
        return NAMES_NONE;
    enum names_kind kind = names_find(m->names, s, (size_t)(colon - s));
    if (kind == NAMES_ALIAS)
        return looks_like_file(s, n) ? NAMES_FILE : NAMES_NONE;
    return kind;
}

int markup_is_shown(enum names_kind kind)
{
    return kind == NAMES_NONE || kind == NAMES_PAGE || kind == NAMES_PROJECT;
}

static int is_blank(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!memchr(" \t\n\x0E\x12", s[i], 5))
            return 0;
    return 1;
}

/* Edits the target in the output from `from` on as it is shown: without the leading colon, prefixes
 * of other wikis, and '#'. */
static void show_target(struct markup *m, size_t from)
{
    char *s = m->out->data + from;
    size_t n = m->out->len - from, skip = strspn(s, " ");
    if (skip < n && s[skip] == ':')
        skip++;
    for (const char *colon; skip < n && (colon = memchr(s + skip, ':', n - skip));) {
        enum names_kind kind = names_find(m->names, s + skip, (size_t)(colon - s) - skip);
        if (kind != NAMES_PROJECT && kind != NAMES_LANGUAGE)
            break;
        skip = (size_t)(colon - s) + 1;
    }
    if (skip < n && s[skip] == '#')
        skip++;
    markup_cut(m->out, from, from + skip);
    if (is_blank(m->out->data + from, n - skip))
        markup_drop(m, from); /* [[ ]] */
}

/* Writes the label of a link with an empty label, [[a:b (c)|]]: "b", without the prefix and the
 * disambiguating parentheses. Also for labels that were a template and have been removed. */
static void show_trick(struct markup *m, const struct element *f)
{
    const char *s = m->text + f->source;
    size_t n = f->pipe - f->source;
    for (size_t i = 0; i < n; i++)
        if (memchr("{}<>[]&\n", s[i], 8))
            return;
    const char *colon = memchr(s, ':', n);
    if (colon && (colon == s || names_find(m->names, s, (size_t)(colon - s)) != NAMES_NONE)) {
        n -= (size_t)(colon + 1 - s);
        s = colon + 1;
    }
    const char *paren = memrchr(s, '(', n);
    if (paren && paren > s && s[n - 1] == ')')
        n = (size_t)(paren - s);
    while (n && s[n - 1] == ' ')
        n--;
    markup_put_literal(m, s, s + n, ' ');
}

void markup_link_pipe(struct markup *m, const char *s)
{
    struct element *f = markup_top(m);
    f->piped = 1;
    f->pipe = (size_t)(s - m->text);
    f->names = classify(m, m->out->data + f->out, m->out->len - f->out);
    if (markup_is_shown(f->names))
        buf_truncate(m->out, f->out);
    else
        markup_put(m, '|');
}

/* Adds the name in "Category:Moons|Moon" to the page's categories, as a line. */
static void add_category(struct markup *m, size_t from)
{
    struct buf *to = m->options->categories;
    size_t begin = to->len;
    char *s = strchr(m->out->data + from, ':') + 1;
    size_t n = strcspn(s, "|");
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ')
            s[i] = markup_plain[(unsigned char)s[i]] ? markup_plain[(unsigned char)s[i]] : ' ';
    names_add_title(to, s, n, names_capital(m->names));
    if (to->len > begin)
        buf_addc(to, '\n');
}

static void close_link(struct markup *m)
{
    struct element f = *markup_top(m);
    markup_pop(m);
    if (!f.piped)
        f.names = classify(m, m->out->data + f.out, m->out->len - f.out);
    if (f.names == NAMES_CATEGORY && m->options->categories)
        add_category(m, f.out);
    if (!markup_is_shown(f.names))
        markup_drop(m, f.out);
    else if (!f.piped)
        show_target(m, f.out);
    else if (is_blank(m->out->data + f.out, m->out->len - f.out))
        show_trick(m, &f);
    if (m->out->len == f.out)
        markup_drop(m, f.out); /* [[|]] */
}

/* ---- addresses: [https://… label] --------------------------------------------------------- */

static int is_address(const char *s, const char *end)
{
    static const char *const schemes[] = { "http://", "https://", "ftp://", "ftps://",
                                           "//",      "mailto:",  "news:",  "irc://",
                                           "ircs://", "git://",   "svn://", "sftp://",
                                           "tel:",    "urn:",     "geo:",   "magnet:" };
    char begin[URL_NAME_MAX] = { 0 };
    size_t n = (size_t)(end - s) < sizeof begin - 1 ? (size_t)(end - s) : sizeof begin - 1;
    if (!n || (*s != '/' && !memchr(s, ':', n)))
        return 0; /* the usual case */
    memcpy(begin, s, n);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (!strncasecmp(begin, schemes[i], strlen(schemes[i])))
            return 1;
    return 0;
}

/* Opens an external link with its address at s, after `brackets` opening brackets, and writes the
 * address. It is removed from the output when the bracket is closed. Returns the position after the
 * address. */
static const char *open_url(struct markup *m, const char *s, size_t brackets)
{
    markup_push(m, URL)->count = brackets;
    markup_put(m, '[');
    while (s < m->end && !strchr(" \t\n[]<>{}|\"'", *s) && (unsigned char)*s >= 0x20)
        markup_put(m, *s++);
    return s;
}

static const char *close_url(struct markup *m, const char *s)
{
    struct element f = *markup_top(m);
    markup_pop(m);
    char *content = m->out->data + f.out;
    size_t n = m->out->len - f.out, i = 0;
    while (i < n && !strchr(" \t'", content[i]))
        i++;
    if (i == n)
        markup_drop(m, f.out);
    else
        markup_cut(m->out, f.out, f.out + i + (content[i] != '\''));
    s++;
    return f.count == 2 && s < m->end && *s == ']' ? s + 1 : s;
}

/* ---- brackets ---------------------------------------------------------------------------- */

const char *markup_on_open_bracket(struct markup *m, const char *s)
{
    int twice = s + 1 < m->end && s[1] == '[';
    const char *inside = markup_skip_comments(m, s + 1 + twice);
    if (!twice) {
        if (m->links < MARKUP_LINKS_MAX && is_address(inside, m->end))
            return open_url(m, inside, 1);
        markup_put(m, '[');
        return s + 1;
    }
    if (s + 2 < m->end && s[2] == '[') { /* of three brackets, the inner two begin the link */
        markup_put(m, '[');
        return s + 1;
    }
    if (m->links < MARKUP_LINKS_MAX && is_address(inside, m->end))
        return open_url(m, inside, 2);
    if (m->links < MARKUP_LINKS_MAX)
        markup_push(m, LINK)->source = (size_t)(s + 2 - m->text);
    return s + 2;
}

const char *markup_on_close_bracket(struct markup *m, const char *s)
{
    if (markup_top_is(m, URL))
        return close_url(m, s);
    if (s + 1 == m->end || s[1] != ']') {
        markup_put(m, ']');
        return s + 1;
    }
    if (markup_top_is(m, VARIANT) && m->depth > 1 && m->stack[m->depth - 2].kind == LINK)
        markup_pop(m);
    if (markup_top_is(m, LINK))
        close_link(m);
    return s + 2;
}
