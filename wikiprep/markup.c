#define _GNU_SOURCE /* memmem */
#include "wikiprep/markup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "wikiprep/entity.h"

/* Characters that mean something to the second pass, and their stand-ins. */
const char markup_plain[32] = { [1] = '\'', [2] = '=', [3] = '*', [4] = '#',  [5] = ':',
                                [6] = ';',  [7] = '|', [8] = '{', [11] = '}', [12] = '-' };

enum {
    LINKS_MAX = 64,   /* links in links (files with captions); deeper ones lose their brackets */
    RENDER_MAX = 40,  /* calls in calls; both bounds keep the time linear. 40 is MediaWiki's */
    URL_NAME_MAX = 12 /* "mailto:", "https://", ... */
};

enum frame_kind { BRACES, LINK, URL, VARIANT };

struct frame {
    enum frame_kind kind;
    int piped;             /* LINK: past its first pipe */
    enum names_kind names; /* LINK, once piped: what its prefix means */
    size_t count;          /* BRACES: how many are open; URL: 2 for [[http://…]] */
    size_t out;            /* where it begins in the output */
    size_t source;         /* LINK: where its target begins in the source */
    size_t pipe;           /* LINK: where its first pipe is in the source */
    size_t pipes;          /* BRACES: how many pipes were recorded before it */
};

struct markup {
    const struct names *names;
    const struct wikitext_options *options;
    const char *text, *end; /* the source */
    struct buf *out;
    struct frame *stack;
    size_t depth, stack_cap;
    size_t braces, links; /* frames that are braces, and that are not */
    size_t *pipes;        /* where the pipes of open calls are in the output */
    size_t pipe_count, pipes_cap;
    struct wikitext_argument *arguments;
    size_t arguments_cap;
    struct buf rendered;
    unsigned char *no_close; /* per tag: no closing tag is left in the text */
    int in_poem;             /* lines stay lines */
};

/* ---- tags -------------------------------------------------------------------------------- */

enum tag_kind {
    STRIP,   /* formatting: its content is text */
    BLOCK,   /* as STRIP, on lines of its own */
    DROP,    /* content is no wikitext, or no prose: formulas, music, maps, lists of pictures */
    FORMULA, /* DROP, unless formulas are wanted */
    CODE,    /* DROP, unless it is inline, where it is part of a sentence */
    LITERAL, /* content is text without markup */
    PRE,     /* as LITERAL, on lines of its own */
    POEM,    /* as BLOCK, and each line of it is a line */
    REF,
    TABLE,
    ROW,  /* of a table, or its caption */
    CELL,
};

/* HTML that MediaWiki lets through, its own tags, and those of the common extensions; sorted.
 * Any other <word> is text, as it is for MediaWiki. */
/* clang-format off */
static const struct tag {
    const char *name;
    enum tag_kind kind;
} tags[] = {
    { "abbr", STRIP },       { "b", STRIP },           { "bdi", STRIP },
    { "bdo", STRIP },        { "big", STRIP },         { "blockquote", BLOCK },
    { "br", BLOCK },         { "caption", ROW },     { "categorytree", DROP },
    { "ce", FORMULA },          { "center", BLOCK },      { "charinsert", DROP },
    { "chart", DROP },       { "chem", FORMULA },         { "cite", STRIP },
    { "code", STRIP },       { "col", STRIP },         { "colgroup", STRIP },
    { "data", STRIP },       { "dd", BLOCK },          { "del", STRIP },
    { "dfn", STRIP },        { "div", BLOCK },         { "dl", BLOCK },
    { "dt", BLOCK },         { "dynamicpagelist", DROP }, { "em", STRIP },
    { "font", STRIP },       { "gallery", DROP },      { "graph", DROP },
    { "h1", BLOCK },         { "h2", BLOCK },          { "h3", BLOCK },
    { "h4", BLOCK },         { "h5", BLOCK },          { "h6", BLOCK },
    { "hiero", DROP },       { "hr", BLOCK },          { "i", STRIP },
    { "imagemap", DROP },    { "includeonly", DROP },  { "indicator", DROP },
    { "inputbox", DROP },    { "ins", STRIP },         { "kbd", STRIP },
    { "langconvert", STRIP }, { "languages", STRIP },  { "li", BLOCK },
    { "link", STRIP },       { "mapframe", DROP },     { "maplink", DROP },
    { "mark", STRIP },       { "math", FORMULA },         { "meta", STRIP },
    { "noinclude", STRIP },  { "nowiki", LITERAL },    { "ol", BLOCK },
    { "onlyinclude", STRIP }, { "p", BLOCK },          { "phonos", DROP },
    { "poem", POEM },        { "pre", PRE },           { "q", STRIP },
    { "rb", STRIP },         { "ref", REF },           { "references", DROP },
    { "rp", STRIP },         { "rt", STRIP },          { "rtc", STRIP },
    { "ruby", STRIP },       { "s", STRIP },           { "samp", STRIP },
    { "score", DROP },       { "section", STRIP },     { "small", STRIP },
    { "source", CODE },      { "span", STRIP },        { "strike", STRIP },
    { "strong", STRIP },     { "sub", STRIP },         { "sup", STRIP },
    { "syntaxhighlight", CODE }, { "table", TABLE },   { "tbody", BLOCK },
    { "td", CELL },         { "templatedata", DROP }, { "templatestyles", DROP },
    { "tfoot", BLOCK },      { "th", CELL },          { "thead", BLOCK },
    { "time", STRIP },       { "timeline", DROP },     { "tr", ROW },
    { "translate", STRIP },  { "tt", STRIP },          { "tvar", STRIP },
    { "u", STRIP },          { "ul", BLOCK },          { "var", STRIP },
    { "wbr", STRIP },
};
/* clang-format on */
enum { TAG_COUNT = sizeof tags / sizeof *tags, TAG_NAME_MAX = 16 };

static int compare_tag(const void *key, const void *item)
{
    return strcmp(key, ((const struct tag *)item)->name);
}

/* The tag whose name begins at s; *after is the byte behind the name. */
static const struct tag *find_tag(const struct markup *m, const char *s, const char **after)
{
    char name[TAG_NAME_MAX + 1];
    size_t n = 0;
    while (s + n < m->end && n < TAG_NAME_MAX && isalnum((unsigned char)s[n]) &&
           !((unsigned char)s[n] & 0x80)) {
        name[n] = (char)tolower((unsigned char)s[n]);
        n++;
    }
    name[n] = '\0';
    *after = s + n;
    if (!n || (s + n < m->end && !strchr(" \t\r\n/>", s[n]) && s[n] != '<'))
        return NULL;
    return bsearch(name, tags, TAG_COUNT, sizeof *tags, compare_tag);
}

/* ---- output ------------------------------------------------------------------------------ */

static void put(struct markup *m, int c)
{
    buf_addc(m->out, c);
}

/* A character that is text whatever it looks like. */
static void put_plain(struct markup *m, unsigned c)
{
    static const char stand_in[128] = { ['\''] = 1, ['='] = 2, ['*'] = 3, ['#'] = 4,  [':'] = 5,
                                        [';'] = 6,  ['|'] = 7, ['{'] = 8, ['}'] = 11, ['-'] = 12 };
    if (c < 128 && stand_in[c])
        put(m, stand_in[c]);
    else if (c == 0xA0 || c == '\n' || c == '\t' || c == '\r')
        put(m, ' ');
    else if (c >= 0x20)
        buf_add_utf8(m->out, c);
}

/* Text without markup: only character references mean something. */
static void put_literal(struct markup *m, const char *s, const char *end, int line_end)
{
    while (s < end) {
        unsigned c = (unsigned char)*s;
        size_t n = c == '&' ? entity_read(s, (size_t)(end - s), &c) : 0;
        if (n || c < 0x80) {
            if (!n && c == '\n')
                put(m, line_end);
            else
                put_plain(m, c);
            s += n ? n : 1;
        } else {
            put(m, *s++);
        }
    }
}

static void drop(struct markup *m, size_t from)
{
    buf_truncate(m->out, from);
    put(m, MARKUP_HOLE);
}

/* Removes a piece in the middle of the output. */
static void cut(struct buf *out, size_t from, size_t to)
{
    memmove(out->data + from, out->data + to, out->len - to);
    buf_truncate(out, out->len - (to - from));
}

/* ---- the stack --------------------------------------------------------------------------- */

static struct frame *top(struct markup *m)
{
    return m->depth ? &m->stack[m->depth - 1] : NULL;
}

static int top_is(const struct markup *m, enum frame_kind kind)
{
    return m->depth && m->stack[m->depth - 1].kind == kind;
}

static struct frame *push(struct markup *m, enum frame_kind kind)
{
    mem_grow(m->stack, m->stack_cap, m->depth + 1);
    struct frame *f = &m->stack[m->depth++];
    *f = (struct frame) { .kind = kind, .out = m->out->len, .pipes = m->pipe_count };
    m->braces += kind == BRACES;
    m->links += kind != BRACES;
    return f;
}

static void pop(struct markup *m)
{
    struct frame *f = top(m);
    m->braces -= f->kind == BRACES;
    m->links -= f->kind != BRACES;
    m->depth--;
}

/* ---- links ------------------------------------------------------------------------------- */

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

/* What a link's target s[0..n) leads to. A leading colon makes any link one that is shown. */
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

static int is_shown(enum names_kind kind)
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

/* A target as it is shown: without the colon in front, prefixes of other wikis, and '#'. */
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
    cut(m->out, from, from + skip);
    if (is_blank(m->out->data + from, n - skip))
        drop(m, from); /* [[ ]] */
}

/* The label of [[a:b (c)|]] is "b": without prefix, and without what tells titles apart. Also for
 * links whose label was a template and is gone. */
static void show_trick(struct markup *m, const struct frame *f)
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
    put_literal(m, s, s + n, ' ');
}

/* A pipe in the link on top. What is not shown stays in the output until the link is closed. */
static void on_link_pipe(struct markup *m, const char *s)
{
    struct frame *f = top(m);
    f->piped = 1;
    f->pipe = (size_t)(s - m->text);
    f->names = classify(m, m->out->data + f->out, m->out->len - f->out);
    if (is_shown(f->names))
        buf_truncate(m->out, f->out);
    else
        put(m, '|');
}

/* Of "Category:Moons|Moon" the name, as a line. */
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
    struct frame f = *top(m);
    pop(m);
    if (!f.piped)
        f.names = classify(m, m->out->data + f.out, m->out->len - f.out);
    if (f.names == NAMES_CATEGORY && m->options->categories)
        add_category(m, f.out);
    if (!is_shown(f.names))
        drop(m, f.out);
    else if (!f.piped)
        show_target(m, f.out);
    else if (is_blank(m->out->data + f.out, m->out->len - f.out))
        show_trick(m, &f);
    if (m->out->len == f.out)
        drop(m, f.out); /* [[|]] */
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
        return 0; /* most links */
    memcpy(begin, s, n);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (!strncasecmp(begin, schemes[i], strlen(schemes[i])))
            return 1;
    return 0;
}

/* The address itself is put out, and dropped with the bracket when that is closed. */
static const char *open_url(struct markup *m, const char *s, size_t brackets)
{
    push(m, URL)->count = brackets;
    put(m, '[');
    s += brackets;
    while (s < m->end && !strchr(" \t\n[]<>{}|\"'", *s) && (unsigned char)*s >= 0x20)
        put(m, *s++);
    return s;
}

static const char *close_url(struct markup *m, const char *s)
{
    struct frame f = *top(m);
    pop(m);
    char *content = m->out->data + f.out;
    size_t n = m->out->len - f.out, i = 0;
    while (i < n && !strchr(" \t'", content[i]))
        i++;
    if (i == n)
        drop(m, f.out);
    else
        cut(m->out, f.out, f.out + i + (content[i] != '\''));
    s++;
    return f.count == 2 && s < m->end && *s == ']' ? s + 1 : s;
}

/* ---- language variants: -{ zh-hans:one; zh-hant:two }- ------------------------------------- */

static int is_variant_code(const char *s, size_t n)
{
    static const char *const families[] = { "zh", "sr",  "kk",  "ku",  "gan", "tg",  "uz", "crh",
                                            "iu", "shi", "tly", "ban", "wuu", "mni", "en" };
    while (n && *s == ' ')
        s++, n--;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        size_t k = strlen(families[i]);
        if (n >= k && !memcmp(s, families[i], k) && (n == k || s[k] == '-' || s[k] == ' '))
            return 1;
    }
    return 0;
}

/* The first variant's text, without its code; flags in front of a pipe say what is shown. */
static void close_variant(struct markup *m)
{
    struct frame f = *top(m);
    pop(m);
    char *s = m->out->data + f.out + 2; /* behind "-{" */
    size_t n = m->out->len - f.out - 2;
    char *pipe = memchr(s, '|', n);
    int hidden = pipe && (memchr(s, 'H', (size_t)(pipe - s)) ||
                          memchr(s, 'T', (size_t)(pipe - s)) || memchr(s, '-', (size_t)(pipe - s)));
    if (hidden) {
        drop(m, f.out);
        return;
    }
    size_t skip = pipe ? (size_t)(pipe + 1 - s) : 0;
    char *colon = memchr(s + skip, ':', n - skip);
    size_t len = n - skip;
    if (colon && is_variant_code(s + skip, (size_t)(colon - s) - skip)) {
        skip = (size_t)(colon + 1 - s);
        char *semicolon = memchr(s + skip, ';', n - skip);
        len = semicolon ? (size_t)(semicolon - s) - skip : n - skip;
    }
    while (len && s[skip] == ' ')
        skip++, len--;
    memmove(s - 2, s + skip, len);
    buf_truncate(m->out, f.out + len);
}

/* ---- braces ------------------------------------------------------------------------------ */

/* Asks for what the call in the output from `from` on shows, and puts it there. */
static void render(struct markup *m, size_t from, size_t first_pipe)
{
    size_t count = m->pipe_count - first_pipe;
    mem_grow(m->arguments, m->arguments_cap, count + 1);
    const char *base = m->out->data;
    for (size_t i = 0; i < count; i++) {
        size_t begin = m->pipes[first_pipe + i] + 1;
        size_t end = i + 1 < count ? m->pipes[first_pipe + i + 1] : m->out->len;
        m->arguments[i] = (struct wikitext_argument) { base + begin, end - begin };
    }
    size_t name_end = count ? m->pipes[first_pipe] : m->out->len;
    struct wikitext_call call = { base + from, name_end - from, m->arguments, count };
    buf_clear(&m->rendered);
    if (m->options->render(m->options->render_ctx, &call, &m->rendered)) {
        buf_truncate(m->out, from);
        buf_add(m->out, m->rendered.data, m->rendered.len);
    } else {
        drop(m, from);
    }
}

/* {{!}} is the pipe that parts no arguments, but a link's target from its label. */
static void put_pipe(struct markup *m, size_t from)
{
    buf_truncate(m->out, from);
    if (top_is(m, LINK) && !top(m)->piped)
        on_link_pipe(m, m->text + top(m)->source);
    else
        put(m, '|');
}

static int is_pipe(const struct markup *m, size_t from)
{
    return m->out->len == from + 1 && m->out->data[from] == '!';
}

/* Closes two or three of the braces on top: a call or a parameter. */
static size_t close_braces(struct markup *m, size_t closing)
{
    struct frame *f = top(m);
    size_t both = f->count < closing ? f->count : closing;
    size_t matched = both >= 3 ? 3 : 2;
    f->count -= matched;
    size_t from = f->out;
    if (f->count == 1) { /* a single brace in front */
        pop(m);
        f = NULL;
    }
    size_t first_pipe = f ? f->pipes : m->stack[m->depth].pipes;
    int pipe = matched == 2 && is_pipe(m, from);
    if (!pipe && matched == 2 && m->options->render && m->braces <= RENDER_MAX)
        render(m, from, first_pipe);
    else if (!pipe)
        drop(m, from);
    m->pipe_count = first_pipe;
    if (f && !f->count)
        pop(m);
    if (pipe)
        put_pipe(m, from);
    return matched;
}

static const char *on_open_brace(struct markup *m, const char *s)
{
    size_t n = 1;
    while (s + n < m->end && s[n] == '{')
        n++;
    if (n >= 2) {
        push(m, BRACES)->count = n;
    } else if (s > m->text && s[-1] == '-' && m->out->len && m->out->data[m->out->len - 1] == '-' &&
               !top_is(m, VARIANT) && m->links < LINKS_MAX) {
        buf_truncate(m->out, m->out->len - 1);
        push(m, VARIANT);
        buf_adds(m->out, "-{");
    } else {
        put(m, '{');
    }
    return s + n;
}

static const char *on_close_brace(struct markup *m, const char *s)
{
    size_t n = 1;
    while (s + n < m->end && s[n] == '}')
        n++;
    const char *after = s + n;
    if (top_is(m, VARIANT) && after < m->end && *after == '-') {
        close_variant(m);
        return after + 1;
    }
    while (n >= 2 && m->braces) {
        while (!top_is(m, BRACES))
            pop(m); /* links that were not closed inside */
        n -= close_braces(m, n);
    }
    int ends_table = m->out->len && m->out->data[m->out->len - 1] == '|';
    if (n == 1 || (n && ends_table))
        put(m, '}');
    return after; /* what is left of more closes nothing */
}

/* ---- brackets ---------------------------------------------------------------------------- */

static const char *on_open_bracket(struct markup *m, const char *s)
{
    int twice = s + 1 < m->end && s[1] == '[';
    if (!twice) {
        if (m->links < LINKS_MAX && is_address(s + 1, m->end))
            return open_url(m, s, 1);
        put(m, '[');
        return s + 1;
    }
    if (s + 2 < m->end && s[2] == '[') { /* the inner two of three make the link */
        put(m, '[');
        return s + 1;
    }
    if (m->links < LINKS_MAX && is_address(s + 2, m->end))
        return open_url(m, s, 2);
    if (m->links < LINKS_MAX)
        push(m, LINK)->source = (size_t)(s + 2 - m->text);
    return s + 2;
}

static const char *on_close_bracket(struct markup *m, const char *s)
{
    if (top_is(m, URL))
        return close_url(m, s);
    if (s + 1 == m->end || s[1] != ']') {
        put(m, ']');
        return s + 1;
    }
    if (top_is(m, VARIANT) && m->depth > 1 && m->stack[m->depth - 2].kind == LINK)
        pop(m);
    if (top_is(m, LINK))
        close_link(m);
    return s + 2;
}

static const char *on_pipe(struct markup *m, const char *s)
{
    if (top_is(m, LINK) && !top(m)->piped) {
        on_link_pipe(m, s);
        return s + 1;
    }
    if (m->options->render && top_is(m, BRACES)) {
        mem_grow(m->pipes, m->pipes_cap, m->pipe_count + 1);
        m->pipes[m->pipe_count++] = m->out->len;
    }
    put(m, '|');
    return s + 1;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* A file's link that was not closed takes the rest of its first line. */
static void cut_line(struct buf *out, size_t from)
{
    const char *lf = memchr(out->data + from, '\n', out->len - from);
    cut(out, from, lf ? (size_t)(lf - out->data) : out->len);
}

/* At a line's end addresses and targets end, at a paragraph's labels, at a heading files. */
static void end_line(struct markup *m, const char *next)
{
    int heading = next < m->end && *next == '=';
    int paragraph = heading || next == m->end || *next == '\n';
    while (m->depth && !top_is(m, BRACES)) {
        struct frame *f = top(m);
        int is_file = f->kind == LINK && f->piped && !is_shown(f->names);
        if (is_file && !heading)
            break;
        if (f->kind == LINK && f->piped && !paragraph)
            break;
        size_t from = f->out;
        pop(m);
        if (is_file)
            cut_line(m->out, from);
    }
    if (heading)
        m->in_poem = 0;
}

static const char *on_line_end(struct markup *m, const char *s)
{
    if (m->depth || m->in_poem)
        end_line(m, s + 1);
    put(m, m->in_poem ? MARKUP_BREAK : '\n');
    return s + 1;
}

/* A comment that has its lines to itself takes them with it. */
static const char *on_comment(struct markup *m, const char *s)
{
    const char *close = memmem(s + 4, (size_t)(m->end - s - 4), "-->", 3);
    if (!close)
        return m->end;
    const char *after = close + 3;
    size_t begin = m->out->len;
    while (begin && m->out->data[begin - 1] == ' ')
        begin--;
    const char *rest = after;
    while (rest < m->end && *rest == ' ')
        rest++;
    if (begin && m->out->data[begin - 1] == '\n' && rest < m->end && *rest == '\n') {
        buf_truncate(m->out, begin);
        return rest + 1;
    }
    return after;
}

/* ---- tags in the text -------------------------------------------------------------------- */

/* The next </name>: its '<', and *after behind its '>'. NULL when there is none. */
static const char *find_close(struct markup *m, const char *s, const struct tag *tag,
                              const char **after)
{
    size_t len = strlen(tag->name);
    if (m->no_close[tag - tags])
        return NULL;
    while ((s = memmem(s, (size_t)(m->end - s), "</", 2))) {
        const char *p = s + 2;
        if ((size_t)(m->end - p) > len && !strncasecmp(p, tag->name, len)) {
            p += len;
            while (p < m->end && strchr(" \t\n", *p))
                p++;
            if (p < m->end && *p == '>') {
                *after = p + 1;
                return s;
            }
        }
        s += 2;
    }
    m->no_close[tag - tags] = 1;
    return NULL;
}

/* Behind the reference that was opened before s. One that is not closed before the next begins,
 * or before a heading, ends with its line. */
static const char *skip_reference(struct markup *m, const char *s)
{
    const char *from = s, *stop = m->end, *lf;
    while ((s = memchr(s, '<', (size_t)(m->end - s)))) {
        const char *name = s + 1 < m->end && s[1] == '/' ? s + 2 : s + 1, *after;
        const struct tag *tag = find_tag(m, name, &after);
        if (tag && tag->kind == REF) {
            stop = s;
            break;
        }
        s++;
    }
    if (s && s[1] == '/' && !memmem(from, (size_t)(s - from), "\n==", 3)) {
        const char *gt = memchr(s, '>', (size_t)(m->end - s < 16 ? m->end - s : 16));
        return gt ? gt + 1 : s + 5;
    }
    lf = memchr(from, '\n', (size_t)(stop - from));
    return lf ? lf : stop;
}

static const char *skip_content(struct markup *m, const char *s, const struct tag *tag,
                                const char *attributes)
{
    const char *after, *close = find_close(m, s, tag, &after);
    if (!close)
        return s;
    int is_inline = tag->kind == CODE && memmem(attributes, (size_t)(s - attributes), "inline", 6);
    int is_formula = tag->kind == FORMULA && m->options->formulas;
    if (is_inline || is_formula || tag->kind == LITERAL) {
        put(m, MARKUP_EMPTY);
        put_literal(m, s, close, ' ');
        put(m, MARKUP_EMPTY);
    } else if (tag->kind == PRE) {
        put(m, MARKUP_BREAK);
        put_literal(m, s, close, MARKUP_BREAK);
        put(m, MARKUP_BREAK);
    } else {
        put(m, MARKUP_HOLE);
    }
    return after;
}

/* A whole tag; s is behind its '>'. */
static const char *on_whole_tag(struct markup *m, const char *s, const struct tag *tag, int closing,
                                int empty, const char *attributes)
{
    switch (tag->kind) {
    case STRIP:
        put(m, MARKUP_EMPTY);
        return s;
    case BLOCK:
        put(m, MARKUP_BREAK);
        return s;
    case POEM:
        m->in_poem = !closing && !empty;
        put(m, MARKUP_BREAK);
        return s;
    case TABLE:
        put(m, closing ? MARKUP_TABLE_END : MARKUP_TABLE);
        return s;
    case ROW:
        put(m, m->options->tables ? MARKUP_ROW : MARKUP_BREAK);
        return s;
    case CELL:
        put(m, m->options->tables ? MARKUP_CELL : MARKUP_BREAK);
        return s;
    case REF:
        put(m, MARKUP_HOLE);
        return closing || empty ? s : skip_reference(m, s);
    default:
        if (!closing && !empty)
            return skip_content(m, s, tag, attributes);
        put(m, MARKUP_EMPTY);
        return s;
    }
}

/* "a <b and c> d" is no tag, although <b> is one. */
static int is_tag(const struct tag *tag, const char *attributes, const char *gt)
{
    if (tag->name[1])
        return 1;
    while (attributes < gt && strchr(" \t\n/", *attributes))
        attributes++;
    return attributes == gt || memchr(attributes, '=', (size_t)(gt - attributes));
}

static const char *on_tag(struct markup *m, const char *s)
{
    if (m->end - s >= 4 && !memcmp(s, "<!--", 4))
        return on_comment(m, s);
    int closing = s + 1 < m->end && s[1] == '/';
    const char *attributes;
    const struct tag *tag = find_tag(m, s + 1 + closing, &attributes);
    const char *gt = attributes;
    while (tag && gt < m->end && *gt != '>' && *gt != '<')
        gt++;
    int whole = tag && gt < m->end && *gt == '>';
    if (!tag || (whole ? !is_tag(tag, attributes, gt) : !tag->name[1])) {
        put(m, '<');
        return s + 1;
    }
    if (!whole)
        return tag->kind == REF ? gt : attributes; /* "<br" without an end is dropped */
    return on_whole_tag(m, gt + 1, tag, closing, gt[-1] == '/', attributes);
}

/* ---- the rest ---------------------------------------------------------------------------- */

static const char *on_reference_mark(struct markup *m, const char *s)
{
    unsigned code_point;
    size_t n = entity_read(s, (size_t)(m->end - s), &code_point);
    if (n)
        put_plain(m, code_point);
    else
        put(m, '&');
    return s + (n ? n : 1);
}

/* __NOTOC__ and its kin in all languages: capitals, or letters that are not ASCII. */
static const char *on_underscore(struct markup *m, const char *s)
{
    enum { SWITCH_MAX = 64 };
    const char *p = s + 2;
    size_t upper = 0, lower = 0;
    if (m->end - s < 5 || s[1] != '_' || s[2] == '_')
        goto literal;
    for (; p < m->end && p - s < SWITCH_MAX; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '_' && p + 1 < m->end && p[1] == '_')
            break;
        upper += (c >= 'A' && c <= 'Z') || c >= 0x80;
        lower += c >= 'a' && c <= 'z';
        if (!(c == '_' || isupper(c) || islower(c) || c >= 0x80))
            goto literal;
    }
    size_t n = (size_t)(p - s) - 2;
    int known = lower && ((n == 5 && !strncasecmp(s + 2, "notoc", n)) ||
                          (n == 8 && !strncasecmp(s + 2, "forcetoc", n)) ||
                          (n == 3 && !strncasecmp(s + 2, "toc", n)) ||
                          (n == 9 && !strncasecmp(s + 2, "nogallery", n)) ||
                          (n == 13 && !strncasecmp(s + 2, "noeditsection", n)));
    if (p + 1 < m->end && p[0] == '_' && p[1] == '_' && ((upper > 1 && !lower) || known)) {
        put(m, MARKUP_HOLE);
        return p + 2;
    }
literal:
    for (p = s; p < m->end && *p == '_'; p++)
        put(m, '_');
    return p;
}

/* What was still open when the page ended. Calls that were not closed end with their line, or at
 * a single closing brace in it ("{{citation needed}"); files with their line. */
static void finish(struct markup *m)
{
    struct buf *out = m->out;
    size_t kept = 0, next = 0; /* [next, ...) comes after out[0..kept) */
    for (size_t i = 0; i < m->depth; i++) {
        const struct frame *f = &m->stack[i];
        int is_file = f->kind == LINK && f->piped && !is_shown(f->names);
        if ((f->kind != BRACES && !is_file) || f->out < next)
            continue;
        memmove(out->data + kept, out->data + next, f->out - next);
        kept += f->out - next;
        const char *from = out->data + f->out;
        const char *end = memchr(from, '\n', out->len - f->out);
        if (!end)
            end = out->data + out->len;
        const char *brace = is_file ? NULL : memchr(from, '}', (size_t)(end - from));
        next = (size_t)((brace ? brace + 1 : end) - out->data);
    }
    memmove(out->data + kept, out->data + next, out->len - next);
    buf_truncate(out, out->len - (next - kept));
}

/* ---- the walk ---------------------------------------------------------------------------- */

typedef const char *(*handler)(struct markup *m, const char *s);

static const char *on_control(struct markup *m, const char *s)
{
    (void)m;
    return s + 1; /* no character of a wiki */
}

static const handler handlers[256] = {
    ['\n'] = on_line_end,    ['&'] = on_reference_mark, ['<'] = on_tag,
    ['['] = on_open_bracket, [']'] = on_close_bracket,  ['{'] = on_open_brace,
    ['}'] = on_close_brace,  ['|'] = on_pipe,           ['_'] = on_underscore,
    [0] = on_control,        [1] = on_control,          [2] = on_control,
    [3] = on_control,        [4] = on_control,          [5] = on_control,
    [6] = on_control,        [7] = on_control,          [8] = on_control,
    [11] = on_control,       [12] = on_control,         ['\r'] = on_control,
    [14] = on_control,       [15] = on_control,         [16] = on_control,
    [17] = on_control,       [18] = on_control,         [19] = on_control,
    [20] = on_control,       [21] = on_control,         [22] = on_control,
    [23] = on_control,       [24] = on_control,         [25] = on_control,
    [26] = on_control,       [27] = on_control,         [28] = on_control,
    [29] = on_control,       [30] = on_control,         [31] = on_control,
};

void markup_strip(struct markup *m, const char *text, size_t n, struct buf *out)
{
    m->text = text;
    m->end = text + n;
    m->out = out;
    m->depth = m->braces = m->links = m->pipe_count = 0;
    m->in_poem = 0;
    memset(m->no_close, 0, TAG_COUNT);
    if (m->options->categories)
        buf_clear(m->options->categories);
    buf_clear(out);
    buf_reserve(out, n);
    for (const char *s = text; s < m->end;) {
        const char *plain = s;
        while (s < m->end && !handlers[(unsigned char)*s])
            s++;
        buf_add(out, plain, (size_t)(s - plain));
        if (s < m->end)
            s = handlers[(unsigned char)*s](m, s);
    }
    finish(m);
}

struct markup *markup_new(const struct names *names, const struct wikitext_options *options)
{
    struct markup *m = mem_zalloc(1, sizeof *m);
    m->names = names;
    m->options = options;
    m->no_close = mem_zalloc(TAG_COUNT, 1);
    buf_init(&m->rendered);
    return m;
}

void markup_set_names(struct markup *m, const struct names *names)
{
    m->names = names;
}

void markup_free(struct markup *m)
{
    if (!m)
        return;
    free(m->stack);
    free(m->pipes);
    free(m->arguments);
    free(m->no_close);
    buf_release(&m->rendered);
    free(m);
}
