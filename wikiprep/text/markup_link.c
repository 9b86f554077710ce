/* Internal and external links for markup.h. */
#include "common/base/utf8.h"
#include "unicode/letter_case.h"
#include "wikiprep/text/markup_walk.h"
#include "wikiprep/text/paragraph.h"
#include "wikiprep/text/structure.h"
#include "wikiprep/values/knowledge.h"

#include <strings.h>

enum { URL_NAME_MAX = 11 }; /* "mailto:", "https://", ... */

/* ---- links ---------------------------------------------------------------------------------- */

/* Returns 1 if a title is a word, a colon and a file's name, as [[2A#/media/File:B.jpg]] is not. */
static int looks_like_file(struct span name)
{
    static const char ends[] = "jpg|jpeg|png|svg|gif|ogg|ogv|oga|tif|tiff|pdf|djvu|mid|webm|webp|"
                               "wav|flac|stl|xcf|mp3|mpg|opus";
    const char *dot = memrchr(name.s, '.', name.n);
    return dot && span_in(span_between(dot + 1, name.s + name.n), ends) &&
           name.s[strcspn(name.s, ": _#/.,!?()0123456789")] == ':';
}

/* Returns the kind of page that a link's target leads to. It is NAMES_NONE for a target with a
 * leading colon, so that such a link is shown. A word that is not known is another name of "File"
 * if a file's name follows it ([[Imagine: John Lennon]] is a film). */
static enum names_kind classify(const struct markup *m, struct span target)
{
    const char *s = target.s, *colon = target.n && *s != ':' ? memchr(s, ':', target.n) : NULL;
    enum names_kind kind = names_find(m->options->names, s, colon ? (size_t)(colon - s) : 0);
    return colon && kind == NAMES_NONE && looks_like_file(target) ? NAMES_FILE : kind;
}

int markup_is_shown(enum names_kind kind)
{
    return kind == NAMES_NONE || kind == NAMES_PAGE || kind == NAMES_PROJECT;
}

int markup_in_label(struct markup *m)
{
    return markup_top_is(m, LINK) && markup_top(m)->piped && markup_is_shown(markup_top(m)->names);
}

/* Decodes codes such as "%C3%A9" in the link target that is the output from `from` on. Decodes none
 * if no page can have the result as its title: "a%3Cb", or "%E9", which is no UTF-8. */
static void decode_target(struct markup *m, size_t from)
{
    char *s = m->out->data + from, *end = m->out->data + m->out->len, *to = s;
    struct buf *source = &m->rendered;
    if (!memchr(s, '%', (size_t)(end - s)))
        return;
    buf_set(source, s, (size_t)(end - s));
    for (; s < end; s++) {
        int code = span_percent(s, end);
        *to++ = code < 0 ? *s : (char)code;
        s += code < 0 ? 0 : 2;
    }
    char *title = m->out->data + from;
    const size_t n = (size_t)(to - title);
    const char *hash = memchr(title, '#', n);
    int is_title = utf8_valid(title, n) == n;
    for (const char *c = title, *stop = hash ? hash : to; is_title && c < stop; c++)
        is_title = (unsigned char)*c >= ' ' && !strchr("<>[]{}|\x7F", *c) &&
                   span_percent(c, stop) < 0;
    if (is_title)
        buf_truncate(m->out, (size_t)(to - m->out->data));
    else
        memcpy(title, source->data, source->len);
}

/* Replaces a relative target, the output from `from` on: "../Other" by the title that it leads to,
 * "/Sub/" by "Sub". */
static void show_relative(struct markup *m, size_t from)
{
    const char *title = m->options->page ? m->options->page->title : "";
    char *s = m->out->data + from;
    size_t n = m->out->len - from, up = 0, base = strlen(title);
    const char *hash = memchr(s, '#', n);
    size_t path = hash ? (size_t)(hash - s) : n;
    while (up + 3 <= path && !memcmp(s + up, "../", 3)) {
        const char *slash = memrchr(title, '/', base);
        if (!slash)
            return;
        base = (size_t)(slash - title);
        up += 3;
    }
    size_t end = path, begin = up ? up : 1;
    while (end > begin && s[end - 1] == '/')
        end--;
    int is_dots = end - begin == 2 && !memcmp(s + begin, "..", 2);
    if (is_dots || (!up && (*s != '/' || end == path || end == begin)))
        return;
    buf_add(&m->rendered, title, up && (end == path || end == begin) ? base : 0);
    if (m->rendered.len && end > begin)
        buf_addc(&m->rendered, '/');
    buf_add(&m->rendered, s + begin, end - begin);
    buf_add(&m->rendered, s + path, n - path);
    buf_truncate(m->out, from);
    buf_add(m->out, m->rendered.data, m->rendered.len);
}

/* Changes the target, the output from `from` on, to the text that is shown: without a leading
 * colon, and without '#' if it leads to a section of the page. */
static void show_target(struct markup *m, size_t from)
{
    decode_target(m, from);
    for (char *c = m->out->data + from; (c = strchr(c, '\''));)
        *c = MARKUP_APOSTROPHE;
    buf_clear(&m->rendered);
    if (m->out->data[from] == '.' || m->out->data[from] == '/')
        show_relative(m, from);
    char *s = m->out->data + from;
    size_t n = m->out->len - from, skip = strspn(s, " ");
    if (skip < n && s[skip] == ':')
        skip++;
    if (skip < n && s[skip] == '#')
        skip++;
    buf_cut(m->out, from, from + skip);
    if (!span_trim(markup_since(m, from)).n)
        markup_drop(m, from); /* [[ ]] */
}

/* Shows the target of link f if its label is empty, [[a|]], as MediaWiki shows the source, or was a
 * template that has been removed. A label of spaces shows nothing. */
static void show_unlabelled(struct markup *m, const struct element *f)
{
    const char *s = m->text + f->source, *pipe = m->text + f->pipe;
    if (m->out->len > f->out && !memchr(m->out->data + f->out, MARKUP_HOLE, m->out->len - f->out))
        return;
    for (const char *c = s; c < pipe; c++)
        if (memchr("{}<>[]\n", *c, 7))
            return;
    buf_truncate(m->out, f->out);
    markup_put_literal(m, s, pipe, ' ');
    show_target(m, f->out);
}

/* Sets the kind of link f, whose target is the output from f->out on. If links are wanted, keeps
 * the target as a title; for "#Section" it begins with this page's title. */
static void take_target(struct markup *m, struct element *f)
{
    f->names = classify(m, span_trim(markup_since(m, f->out)));
    if (!markup_wants(m, PART_LINKS) || !markup_is_shown(f->names))
        return;
    decode_target(m, f->out);
    const struct span target = span_trim(markup_since(m, f->out));
    const int colon = target.n && *target.s == ':';
    f->target = m->targets.len;
    if (target.n && *target.s == '#' && m->options->page)
        buf_adds(&m->targets, m->options->page->title);
    names_add_title(&m->targets, target.s + colon, target.n - (size_t)colon, 0);
    buf_addc(&m->targets, '\0');
}

void markup_link_pipe(struct markup *m, const char *s)
{
    struct element *f = markup_top(m);
    f->piped = 1;
    f->pipe = (size_t)(s - m->text);
    take_target(m, f);
    if (markup_is_shown(f->names))
        buf_truncate(m->out, f->out);
    else
        markup_put(m, '|');
}

/* Adds "Category:Moons|Moon", the output from `from` on, to the categories as a line: "Moons". */
static void add_category(struct markup *m, size_t from)
{
    char *s = strchr(m->out->data + from, ':') + 1;
    size_t n = strcspn(s, "|");
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ')
            s[i] = markup_plain[(unsigned char)s[i]] ? markup_plain[(unsigned char)s[i]] : ' ';
    structure_category(m->options->categories, s, n, names_capital(m->options->names));
}

/* Returns 1 if a page can have the title in the source of link f, else 0. */
static int is_title(const struct markup *m, const struct element *f)
{
    static const char *const bad[] = { "~~~", "/./", "/../", "\xEF\xBF\xBD" };
    const char *s = m->text + f->source, *end = m->text + f->pipe;
    size_t length = (size_t)(end - s);
    if (!memchr(s, '/', length) && !memchr(s, '~', length) && !memchr(s, '\xEF', length))
        return 1; /* the usual case */
    while (span_begins(s, end, "../"))
        s += 3;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (bytes_find(s, end, bad[i], strlen(bad[i])))
            return 0;
    size_t n = (size_t)(end - s);
    return !bytes_begin(s, n, "./") && !bytes_end(s, n, "/.") && !bytes_end(s, n, "/..");
}

/* Writes the source of link f, [[target|label]], as MediaWiki does for a broken link. Its label is
 * the output from f->out on. */
static void show_source(struct markup *m, const struct element *f)
{
    buf_set(&m->rendered, m->out->data + f->out, m->out->len - f->out);
    buf_truncate(m->out, f->out);
    buf_adds(m->out, "[[");
    markup_put_literal(m, m->text + f->source, m->text + f->pipe, ' ');
    markup_put(m, MARKUP_PIPE);
    buf_add(m->out, m->rendered.data, m->rendered.len);
    buf_adds(m->out, "]]");
}

/* Returns 1 if s, an argument of a file link, is a caption, else 0: it has a space, is longer than
 * any option, `longest` bytes, or begins with a letter that is not small, as no option in a script
 * with capitals does; and it is no option of the list, also with a size ("200px", "upright 1.2"),
 * and has no name ("alt=x"). A name has only small Latin letters, or letters that are not Latin:
 * "E=mc2" has none. */
static int is_caption(struct span s, size_t longest)
{
    const char *end = s.s + s.n, *name_end = s.s;
    const char *word = span_past(s.s, end, "0123456789x "), *space = memrchr(s.s, ' ', s.n);
    const char *size = space && span_past(space, end, " .0123456789") == end ? space : end;
    unsigned first = 0;
    if (s.n)
        utf8_read(s.s, s.n, &first);
    while (name_end < end && ((*name_end >= 'a' && *name_end <= 'z') || *name_end & 0x80))
        name_end++;
    if ((name_end - s.s > 2 && name_end < end && *name_end == '=') ||
        (size > word &&
         names_listed(knowledge_find("pictures", "", "options"), '|', word, (size_t)(size - word))))
        return 0;
    return s.n > longest || memchr(s.s, ' ', s.n) ||
           (first >= 'A' && letter_case_title(first) == first);
}

/* Adds the caption of the file link that is the output from `from` on, if it has one: the last
 * argument that may be one. */
static void add_caption(struct markup *m, size_t from)
{
    enum { OPTION_MAX_BYTES = 24 };
    const char *s = m->out->data + from, *end = m->out->data + m->out->len;
    const char *name_end = strchr(s, '|');
    const char *colon = name_end ? memchr(s, ':', (size_t)(name_end - s)) : NULL;
    struct span caption = { s, 0 };
    while (!is_caption(caption, m->in_gallery ? 0 : OPTION_MAX_BYTES)) {
        const char *pipe = colon ? memrchr(name_end, '|', (size_t)(end - name_end)) : NULL;
        if (!pipe)
            return;
        caption = span_trim(span_between(pipe + 1, end));
        end = pipe;
    }
    buf_clear(&m->rendered);
    names_add_title(&m->rendered, colon + 1, (size_t)(name_end - colon - 1), 0);
    structure_pair(&m->options->parts->json[PART_CAPTIONS], "file", span_of_buf(&m->rendered),
                   "caption", caption);
}

/* Makes the first character of the link text at `from` plain, so it begins no list. */
static void hide_sign(struct markup *m, size_t from)
{
    if (from < m->out->len && m->out->data[from] != '\'')
        m->out->data[from] = paragraph_sign(m->out->data[from]);
}

static void close_link(struct markup *m)
{
    struct element f = *markup_top(m);
    markup_pop(m);
    if (!f.piped)
        take_target(m, &f);
    if (f.names == NAMES_CATEGORY && m->options->categories)
        add_category(m, f.out);
    if (f.names == NAMES_FILE && markup_wants(m, PART_CAPTIONS))
        add_caption(m, f.out);
    if (!markup_is_shown(f.names))
        markup_drop(m, f.out);
    else if (!f.piped)
        show_target(m, f.out);
    else if (f.is_broken || !is_title(m, &f))
        show_source(m, &f);
    else if (!span_trim(markup_since(m, f.out)).n)
        show_unlabelled(m, &f);
    if (markup_is_shown(f.names))
        hide_sign(m, f.out);
    const struct span target = span_of(m->targets.data + f.target);
    if (markup_wants(m, PART_LINKS) && markup_is_shown(f.names) && !f.is_broken && target.n)
        structure_pair(&m->options->parts->json[PART_LINKS], "target", target, "label",
                       markup_since(m, f.out));
    if (m->out->len == f.out)
        markup_drop(m, f.out); /* [[|]] */
    if (m->options->tables)
        markup_put(m, MARKUP_LINKED); /* text with a link is no cell's attributes */
    if (markup_top_is(m, LINK))
        markup_top(m)->is_broken = 1;
}

/* ---- addresses: [https://… label] --------------------------------------------------------- */

/* Returns the position after the scheme of the address at s, or NULL if no address begins there. */
static const char *skip_scheme(const char *s, const char *end)
{
    static const char *const schemes[] = { "http://", "https://", "ftp://", "ftps://", "//",
                                           "mailto:", "news:",    "irc://", "ircs://", "git://",
                                           "svn://",  "sftp://",  "tel:",   "urn:",    "geo:",
                                           "magnet:", "gopher://" };
    size_t n = end - s < URL_NAME_MAX ? (size_t)(end - s) : URL_NAME_MAX;
    if (!n || (*s != '/' && !memchr(s, ':', n)))
        return NULL; /* the usual case */
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t len = strlen(schemes[i]);
        if (n >= len && !strncasecmp(s, schemes[i], len))
            return n > len && !strchr(" \t\n]", s[len]) ? s + len : NULL;
    }
    return NULL;
}

/* Returns 1 for a character of an address, as in MediaWiki, else 0. Two apostrophes are markup. */
static int is_in_address(const char *s, const char *end)
{
    return (unsigned char)*s > ' ' && !strchr("[]<>\"\x7F", *s) &&
           !(*s == '\'' && s + 1 < end && s[1] == '\'') && !whitespace_at(s, (size_t)(end - s));
}

/* Opens an external link whose address is at s, after `brackets` opening brackets. Writes '[' and
 * the address; closing the link removes them. Returns the position after the address. */
static const char *open_url(struct markup *m, const char *s, size_t brackets)
{
    const char *host = skip_scheme(s, m->end);
    const char *ip = *host == '[' ? memchr(host, ']', (size_t)(m->end - host)) : NULL; /* IPv6 */
    if (ip && strspn(host + 1, "0123456789abcdefABCDEF:.") < (size_t)(ip - host - 1))
        ip = NULL;
    markup_push(m, URL)->count = brackets;
    markup_put(m, '[');
    while (s < m->end && ((ip && s <= ip) ||
                          (is_in_address(s, m->end) && !strchr(m->depth > 1 ? "{}|" : "{}", *s))))
        if (*s == '&')
            s = markup_on_reference(m, s);
        else
            markup_put(m, *s++);
    markup_top(m)->label = m->out->len;
    markup_top(m)->source = (size_t)(s - m->text);
    return s;
}

/* Closes the external link on top of the stack, and leaves only its label. A template may have
 * written more of the address. A link directly after the address is its label. */
static const char *close_url(struct markup *m, const char *s)
{
    struct element f = *markup_top(m);
    markup_pop(m);
    const char *label = m->out->data + f.label, *end = m->out->data + m->out->len;
    while (label < end && m->text[f.source] != '[' && is_in_address(label, end))
        label++;
    struct span address = span_between(m->out->data + f.out + 1, label);
    for (size_t n = 1; n; label += n)
        n = (unsigned char)*label < 0x80 ? *label == ' ' || *label == '\t'
                                         : whitespace_at(label, (size_t)(end - label));
    if (markup_wants(m, PART_EXTERNAL_LINKS))
        structure_pair(&m->options->parts->json[PART_EXTERNAL_LINKS], "target", address, "label",
                       span_between(label, end));
    if (label == end)
        markup_drop(m, f.out);
    else
        buf_cut(m->out, f.out, (size_t)(label - m->out->data));
    hide_sign(m, f.out);
    s++;
    return f.count == 2 && s < m->end && *s == ']' ? s + 1 : s;
}

/* ---- brackets ---------------------------------------------------------------------------- */

const char *markup_on_open_bracket(struct markup *m, const char *s)
{
    int twice = s + 1 < m->end && s[1] == '[';
    const char *inside = markup_skip_comments(m, s + 1 + twice);
    if (!twice) {
        if (m->links < MARKUP_LINKS_MAX && !markup_in_label(m) && skip_scheme(inside, m->end))
            return open_url(m, inside, 1);
        markup_put(m, '[');
        return s + 1;
    }
    if (s + 2 < m->end && s[2] == '[') { /* of many brackets, the inner two begin the link */
        m->brackets++;
        markup_put(m, '[');
        return s + 1;
    }
    if (m->links < MARKUP_LINKS_MAX && skip_scheme(inside, m->end))
        return open_url(m, inside, 2);
    if (m->links < MARKUP_LINKS_MAX)
        markup_push(m, LINK)->source = (size_t)(s + 2 - m->text);
    return s + 2;
}

/* Returns 1 if the first of the closing brackets at s belongs to the label or caption of the link
 * on top of the stack, as in [[File:A.jpg|map [1]]], else 0. */
static int ends_with_bracket(struct markup *m, const char *s)
{
    const struct span label = markup_since(m, markup_top(m)->out);
    long open = 0;
    if (!markup_top(m)->piped || s + 2 == m->end || s[2] != ']')
        return 0;
    for (size_t i = 0; i < label.n; i++)
        open += (label.s[i] == '[') - (label.s[i] == ']');
    return open > 0;
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
    if (markup_top_is(m, LINK)) {
        if (ends_with_bracket(m, s)) {
            markup_put(m, ']');
            s++;
        }
        close_link(m);
    } else if (m->brackets > 1) { /* [[[[link]]]] */
        m->brackets -= 2;
        buf_adds(m->out, "]]");
    }
    return s + 2;
}
