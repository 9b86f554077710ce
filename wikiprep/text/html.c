#include "wikiprep/text/html.h"

#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>

#include "common/base/order.h"
#include "common/formats/js.h"
#include "wikiprep/site/names.h"
#include "wikiprep/text/converter.h"
#include "wikiprep/text/paragraph.h"
#include "wikiprep/text/structure.h"
#include "wikiprep/text/visible.h"
#include "wikiprep/values/marks.h"

enum { SIGNS_MAX = 16 };

/* What an element is. The kind decides what is done at its end. First, kinds by name: */
enum element_kind {
    NOTHING,
    ANCHOR,
    BLOCK,
    CELL,
    CODE,
    FIGCAPTION,
    HEADING,
    HIDDEN,
    ITEM,
    LINE_BREAK,
    LIST,
    MATH,
    PRE,
    QUOTE,
    ROW,
    TABLE,
    TABLE_CAPTION,
    /* Kinds by attributes: */
    LINK,
    EXTERNAL,
    COORDINATES, /* those of the page: its element .geo is captured */
    FIXED,       /* the content is not converted to another variant */
    /* The content is captured: */
    CAPTION,
    REFERENCE,
    DESCRIPTION,
    GEO,
    PRE_BLOCK,
};

struct element {
    enum element_kind kind;
    int hides;       /* its content is not shown */
    int showed;      /* if it is captured: h->hidden before it; captured content is not hidden */
    size_t begin;    /* offset in the output at which its content begins */
    struct buf *out; /* if it is captured: h->out before it */
    struct buf target;
};

struct html {
    struct html_options options;
    struct buf *out;
    struct buf aside; /* captured content; inner elements after outer ones */
    struct buf work;
    struct buf links; /* in a reference: its links, as JSON */
    struct buf file;  /* name of the picture that was opened last */
    struct element *open;
    size_t depth, cap;
    int hidden; /* open elements that hide their content */
    int level;  /* of the open heading */
    int in_pre, in_reference, in_references, in_coordinates, in_lead;
    char signs[SIGNS_MAX + 1]; /* of the open lists */
    int lists;
};

/* The attributes that are used; "" if an element lacks one. */
struct attributes {
    const char *class, *style, *type, *rel, *href, *title, *id, *data, *role, *alt, *resource,
        *variant;
};

static int wants(const struct html *h, enum page_part part)
{
    return h->options.common->wanted >> part & 1;
}

static struct buf *part(struct html *h, enum page_part which)
{
    return &h->options.common->parts->json[which];
}

/* ---- output -------------------------------------------------------------------------------- */

/* Returns 1 if no text has been written since the start of the line, or since a table, else 0. */
static int begins_line(const struct html *h)
{
    enum { BLANKS_MAX = 64 /* keeps the time linear */ };
    const char *s = h->out->data, *end = s + h->out->len;
    for (int i = 0; i < BLANKS_MAX && end > s && strchr(MARKUP_UNSEEN " \x0F\x1F", end[-1]); i++)
        if (*--end == MARKUP_RULE) /* it stands around a number */
            end = memrchr(s, MARKUP_RULE, (size_t)(end - s));
    return end == s || strchr("\n\x11\x13", end[-1]);
}

static void put_mark(struct html *h, int mark)
{
    if (!h->hidden)
        buf_addc(h->out, mark);
}

/* Begins a paragraph. In a list it writes MARKUP_BREAK, because a line end would end the item. */
static void begin_block(struct html *h)
{
    if (h->lists)
        put_mark(h, MARKUP_BREAK);
    else if (!h->hidden)
        buf_adds(h->out, "\n\n");
}

/* Writes text, without white space at the start of a line. A character that the second pass would
 * take for markup is replaced by its marker byte (markup_plain). */
static void put_text(struct html *h, const char *s, size_t n)
{
    for (const char *end = s + n; s < end;) {
        const char *plain = s;
        const size_t written = h->out->len;
        if (!written || strchr("\n\x0F\x13\x14\x1A\x1D", h->out->data[written - 1])) {
            while (s < end && strchr(" \t\n\r", *s) && !h->in_pre)
                s++;
            if (s < end && (unsigned char)*s >= ' ' && (unsigned char)*s < 0x80)
                paragraph_put(h->out, (unsigned char)*s++);
            plain = s;
        }
        while (s < end && *s != '\'' && (unsigned char)*s >= ' ')
            s++;
        buf_add(h->out, plain, (size_t)(s - plain));
        if (s == end)
            return;
        if (h->in_pre && (*s == '\n' || *s == '\t'))
            buf_addc(h->out, *s == '\t' ? *s : MARKUP_BREAK);
        else
            paragraph_put(h->out, (unsigned char)*s);
        s++;
    }
}

/* ---- elements ------------------------------------------------------------------------------ */

/* Returns 1 if one of the words, which spaces separate, is `word` or begins with `word` and '/'. */
static int has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = words; (s = strstr(s, word)); s += n)
        if ((s == words || s[-1] == ' ') && strchr(" /", s[n]))
            return 1;
    return 0;
}

static struct element *top(struct html *h)
{
    return &h->open[h->depth - 1];
}

static void capture(struct html *h, enum element_kind kind)
{
    struct element *e = top(h);
    e->kind = kind;
    e->out = h->out;
    e->showed = h->hidden;
    h->hidden = 0;
    h->out = &h->aside;
    e->begin = h->aside.len;
}

static void hide(struct html *h)
{
    if (!h->hidden)
        put_mark(h, MARKUP_HOLE);
    top(h)->hides = 1;
    h->hidden++;
}

static void on_link(struct html *h, const struct attributes *a)
{
    struct element *e = top(h);
    int external = has_word(a->rel, "mw:ExtLink") || has_word(a->class, "external");
    if (external && has_word(a->class, "autonumber"))
        hide(h);
    if (h->in_reference ? !external : !wants(h, external ? PART_EXTERNAL_LINKS : PART_LINKS))
        return; /* no field has the links to pages that a reference has */
    if (!external && !has_word(a->rel, "mw:WikiLink"))
        return;
    e->kind = external ? EXTERNAL : LINK;
    e->begin = h->out->len;
    buf_init(&e->target);
    if (external)
        buf_adds(&e->target, a->href);
    else if (*a->title && has_word(a->rel, "mw:WikiLink/Interwiki"))
        names_add_title(&e->target, a->title, strlen(a->title), 0); /* "fr:Lune"; href is a URL */
    else
        names_add_href(&e->target, a->href);
}

static void end_link(struct html *h, struct element *e)
{
    struct span label = { h->out->data + e->begin, h->out->len - e->begin };
    enum page_part which = e->kind == LINK ? PART_LINKS : PART_EXTERNAL_LINKS;
    struct buf *to = h->in_reference ? &h->links : part(h, which);
    if (h->hidden == e->hides) /* the number of an address hides itself */
        structure_pair(to, "target", span_of_buf(&e->target), "label", label);
    buf_release(&e->target);
}

/* Adds the category that a <link> by Parsoid names: "./Category:Moons#sort key". */
static void add_category(struct html *h, const char *href)
{
    struct buf *to = h->options.common->categories;
    const char *colon = strchr(href, ':');
    if (!to || !colon)
        return;
    buf_clear(&h->work);
    names_add_href(&h->work, colon + 1);
    structure_category(to, h->work.data, strcspn(h->work.data, "#"), 0);
}

/* ---- what data-mw says --------------------------------------------------------------------- */

/* Writes the TeX source of a formula: Parsoid's in the JSON `data`, or else MathML's `alt`. */
static void put_formula(struct html *h, const char *data, const char *alt)
{
    static const char display[] = "{\\displaystyle ";
    SCOPED_JS root = *data ? js_parse(data, strlen(data), "data-mw") : NULL;
    const char *source = js_text(js_get(js_get(root, "body"), "extsrc"), NULL);
    source = source ? source : alt;
    size_t n = strlen(source), skip = sizeof display - 1;
    if (n > skip && bytes_begin(source, n, display) && source[n - 1] == '}') {
        source += skip;
        n -= skip + 1;
    }
    int mark = h->options.common->markdown ? MARKUP_FORMULA : MARKUP_EMPTY;
    buf_addf(h->out, "%c%c", mark, MARKUP_FIXED);
    put_text(h, source, n);
    buf_addf(h->out, "%c%c", MARKUP_FIXED, mark);
}

static void add_text(struct buf *out, const struct js *v, const char *after)
{
    const char *text = js_text(v, NULL);
    buf_addf(out, "%s%s", text ? text : "", after);
}

/* Writes what the markup -{flags|rules}- shows (converter.h), from Parsoid's JSON `data`. Writes
 * nothing if its texts have tags. */
static void put_variant(struct html *h, const char *data, int is_hidden)
{
    static const char *const keys[] = { "add", "remove", "title", "describe", "disabled", "name" };
    static const char *const ways[] = { "twoway", "oneway" };
    struct converter *converter = h->options.common->converter;
    SCOPED_JS root = js_parse(data, strlen(data), "data-mw-variant");
    const struct js *filter = js_get(root, "filter"), *codes = js_get(filter, "l");
    struct buf *w = &h->work;
    buf_clear(w);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (js_is_set(js_get(root, keys[i])))
            buf_addf(w, "%c;", i || !is_hidden ? "A-TDRN"[i] : 'H');
    for (size_t i = 0; i < js_count(codes); i++)
        add_text(w, js_at(codes, i), ";");
    add_text(w, NULL, "|");
    add_text(w, js_get(filter, "t"), "");
    add_text(w, js_get(js_get(root, "disabled"), "t"), "");
    add_text(w, js_get(js_get(root, "name"), "t"), "");
    for (int way = 0; way < 2; way++)
        for (size_t i = 0; i < js_count(js_get(root, ways[way])); i++) {
            const struct js *rule = js_at(js_get(root, ways[way]), i), *code = js_get(rule, "l");
            int is_any = js_text_is(code, "*");
            add_text(w, js_get(rule, "f"), way ? "=>" : "");
            add_text(w, is_any ? NULL : code, is_any ? "" : ":");
            add_text(w, js_get(rule, "t"), is_any ? "" : ";");
        }
    size_t skip = strcspn(w->data, "|") + 1;
    for (size_t i = 0; i < w->len; i++)
        w->data[i] = (unsigned char)w->data[i] < ' ' ? ' ' : w->data[i];
    if (h->hidden || memchr(w->data, '<', w->len))
        return;
    if (converter_reads(converter))
        converter_rule(converter, span_of_buf(w), 0, h->out);
    else
        put_text(h, w->data + skip, js_get(root, "disabled") ? w->len - skip : 0);
}

/* Passes the template calls of a transclusion to on_call, as wikitext. */
static void on_transclusion(struct html *h, const char *data)
{
    SCOPED_JS root = js_parse(data, strlen(data), "data-mw");
    const struct js *parts = js_get(root, "parts"); /* calls, and text between them */
    for (size_t i = 0; i < js_count(parts); i++) {
        const struct js *call = js_get(js_at(parts, i), "template");
        const char *name = js_text(js_get(js_get(call, "target"), "wt"), NULL);
        const struct js *arguments = js_get(call, "params");
        if (!name)
            continue;
        buf_setf(&h->work, "{{%s", name);
        for (void *it = js_first(arguments); it; it = js_next(arguments, it)) {
            const char *value = js_text(js_get(js_value(it), "wt"), NULL);
            buf_addf(&h->work, "|%s=%s", js_key(it, NULL), value ? value : "");
        }
        buf_adds(&h->work, "}}");
        h->options.on_call(h->options.ctx, h->work.data, h->work.len, h->in_reference);
    }
}

/* Reads the page's coordinates from an address of GeoHack in s: "?params=52_31_N_13.4_E_type:city".
 */
static void read_geohack(struct html *h, const char *s)
{
    double at[2] = { 0, 0 };
    s = strstr(s, "params=");
    s = s ? s + strlen("params=") : "";
    for (int i = 0; i < 2; i++) {
        const char plus = i ? 'E' : 'N', minus = i ? 'W' : 'S';
        char *end;
        double unit = 1, value = strtod(s, &end);
        for (; end > s && *end == '_'; unit /= 60, value = strtod(s, &end)) {
            at[i] += value * unit;
            s = end + 1;
        }
        if (*s != plus && *s != minus)
            return;
        at[i] = *s == minus ? -at[i] : at[i];
        s += 1 + (s[1] == '_');
    }
    structure_coordinates(part(h, PART_COORDINATES), at);
}

/* ---- starts and ends ----------------------------------------------------------------------- */

/* The kinds of elements by name, sorted. An element with any other name is NOTHING. */
/* clang-format off */
static const struct named {
    const char *name;
    enum element_kind is;
} named[] = {
    { "a", ANCHOR }, { "aside", BLOCK }, { "audio", HIDDEN }, { "blockquote", QUOTE }, { "br", LINE_BREAK },
    { "caption", TABLE_CAPTION }, { "center", BLOCK }, { "code", CODE }, { "dd", ITEM }, { "div", BLOCK },
    { "dl", LIST }, { "dt", ITEM }, { "figcaption", FIGCAPTION }, { "figure", HIDDEN }, { "figure-inline", HIDDEN },
    { "h1", HEADING }, { "h2", HEADING }, { "h3", HEADING }, { "h4", HEADING }, { "h5", HEADING }, { "h6", HEADING },
    { "head", HIDDEN }, { "hr", BLOCK }, { "li", ITEM }, { "math", MATH }, { "noscript", HIDDEN }, { "ol", LIST },
    { "p", BLOCK }, { "pre", PRE }, { "script", HIDDEN }, { "section", BLOCK }, { "style", HIDDEN },
    { "table", TABLE }, { "tbody", BLOCK }, { "td", CELL }, { "tfoot", BLOCK }, { "th", CELL }, { "thead", BLOCK },
    { "tr", ROW }, { "ul", LIST }, { "video", HIDDEN },
};
/* clang-format on */

/* Returns 1 if the element is a block of source code, else 0. Code in a sentence is <code>. */
static int is_code_block(enum element_kind is, const struct attributes *a)
{
    return is != CODE && has_word(a->class, "mw-highlight");
}

/* Returns 1 if readers do not see the element, or not as text, else 0. */
static int is_hidden(const struct html *h, enum element_kind is, const struct attributes *a)
{
    static const char classes[] = "reference|mw-ref|gallery|thumb|mw-cite-backlink|toc|"
                                  "mw-linkback-text|ext-phonos-attribution|pagenum";
    const struct template_page *page = h->options.common->page;
    const struct span class = span_of(a->class);
    if (strstr(a->class, "mwe-math-mathml"))
        return 0; /* the formula in it is what readers see as a picture */
    return is == HIDDEN || !strcmp(a->role, "navigation") || !strcmp(a->rel, "mw:referencedBy") ||
           has_word(a->type, "mw:File") || has_word(a->type, "mw:Image") ||
           has_word(a->type, "mw:Video") || has_word(a->type, "mw:Audio") ||
           span_has_word(class, classes) ||
           visible_hides(class, span_of(a->style), page && page->hatnotes) ||
           (!h->options.common->code && is_code_block(is, a));
}

/* Handles an element whose class or `typeof` decides what happens to it, whatever its name. Returns
 * 1 if it is one, else 0. */
static int on_class(struct html *h, enum element_kind is, const struct attributes *a)
{
    const struct wikitext_options *how = h->options.common;
    static const char formulas[] = "mw:Extension/math|mw:Extension/chem|mw:Extension/ce";
    if (is == MATH ||
        (span_has_word(span_of(a->type), formulas) && strstr(a->data, "\"extsrc\""))) {
        if (how->formulas && !h->hidden)
            put_formula(h, a->data, a->alt);
        hide(h);
    } else if (wants(h, PART_DESCRIPTION) && has_word(a->class, "shortdescription")) {
        capture(h, DESCRIPTION);
    } else if (h->in_coordinates && wants(h, PART_COORDINATES) && !strcmp(a->class, "geo")) {
        capture(h, GEO);
    } else if (is == FIGCAPTION || has_word(a->class, "gallerytext")) {
        if (wants(h, PART_CAPTIONS) || wants(h, PART_LINKS))
            capture(h, CAPTION);
    } else if (how->markdown && how->code && !h->hidden && is_code_block(is, a)) {
        const char *language = strstr(a->class, "lang-");
        capture(h, PRE_BLOCK);
        names_add_href(&top(h)->target, language ? language + strlen("lang-") : "");
        h->in_pre++;
    } else if (is_hidden(h, is, a)) {
        hide(h);
    } else {
        return 0;
    }
    return 1;
}

/* Begins a reference of the list of references: its name is in its id, "cite_note-name-1". */
static void begin_reference(struct html *h, const char *id)
{
    capture(h, REFERENCE);
    h->in_reference = 1;
    buf_clear(&h->links);
    const char *name = strstr(id, "cite_note-"), *last = strrchr(id, '-');
    name = name ? name + strlen("cite_note-") : NULL;
    if (name && last > name)
        buf_add(&top(h)->target, name, (size_t)(last - name));
}

static void begin_item(struct html *h)
{
    if (h->hidden)
        return;
    if (!h->out->len || h->out->data[h->out->len - 1] != '\n')
        buf_addc(h->out, '\n');
    buf_add(h->out, h->signs, (size_t)(h->lists < SIGNS_MAX ? h->lists : SIGNS_MAX));
    buf_addc(h->out, MARKUP_EMPTY);
}

static void begin_pre(struct html *h)
{
    begin_block(h);
    if (h->options.common->markdown && !h->hidden && !h->in_pre)
        capture(h, PRE_BLOCK);
    else
        put_mark(h, h->in_pre ? MARKUP_EMPTY : MARKUP_CODE);
    h->in_pre++;
}

/* Begins an element by its name. */
static void on_name(struct html *h, const char *name, enum element_kind is,
                    const struct attributes *a)
{
    const struct wikitext_options *how = h->options.common;
    struct element *e = top(h);
    e->kind = is;
    switch (is) {
    case ANCHOR: on_link(h, a); break;
    case LINE_BREAK: put_mark(h, MARKUP_BREAK); break;
    case HEADING:
        h->level = name[1] - '0';
        h->in_lead = 0;
        if (!h->hidden)
            buf_addf(h->out, "\n\n%.*s%c", h->level, "======", MARKUP_EMPTY);
        break;
    case LIST:
        if (h->lists++ < SIGNS_MAX)
            h->signs[h->lists - 1] = *name == 'u' ? '*' : *name == 'o' ? '#' : ':';
        break;
    case ITEM: begin_item(h); break;
    case PRE: begin_pre(h); break;
    case TABLE: put_mark(h, MARKUP_TABLE); break;
    case ROW:
    case TABLE_CAPTION:
        put_mark(h, how->tables ? MARKUP_ROW : MARKUP_BREAK);
        if (how->tables && is == TABLE_CAPTION)
            put_mark(h, MARKUP_CAPTION);
        break;
    case CELL: put_mark(h, how->tables ? MARKUP_CELL : MARKUP_BREAK); break;
    case CODE:
        e->kind = h->in_pre ? NOTHING : CODE;
        put_mark(h, h->in_pre ? MARKUP_EMPTY : MARKUP_CODE);
        break;
    case QUOTE:
        begin_block(h);
        if (how->markdown)
            put_mark(h, MARKUP_QUOTE);
        break;
    case BLOCK: begin_block(h); break;
    default:
        if (has_word(a->type, "mw:Nowiki")) {
            e->kind = FIXED;
            put_mark(h, MARKUP_FIXED);
        }
    }
}

static void read_attributes(struct attributes *a, const xmlChar **list)
{
    static const char *const names[] = { "alttext", "class", "data-mw",  "href",
                                         "id",      "rel",   "resource", "role",
                                         "style",   "title", "typeof",   "data-mw-variant" };
    const char **const values[] = { &a->alt,   &a->class, &a->data,     &a->href,
                                    &a->id,    &a->rel,   &a->resource, &a->role,
                                    &a->style, &a->title, &a->type,     &a->variant };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *values[i] = "";
    for (; list && *list; list += 2)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (list[1] && list[0][0] == (unsigned char)names[i][0] &&
                !strcmp((const char *)list[0], names[i]))
                *values[i] = (const char *)list[1];
}

static void on_start(void *ctx, const xmlChar *element, const xmlChar **list)
{
    struct html *h = ctx;
    const char *name = (const char *)element;
    const struct named *found = bsearch(&name, named, sizeof named / sizeof *named, sizeof *named,
                                        order_texts);
    enum element_kind is = found ? found->is : NOTHING;
    struct attributes a;
    read_attributes(&a, list);
    if (is == BLOCK && span_has_word(span_of(a.class), "infobox|infobox_v3"))
        is = TABLE; /* in French Wikipedia, whose infobox is a <div> with text and tables */
    else if (is == TABLE && visible_arranges(span_of(a.role), span_of(a.class)))
        is = BLOCK;
    mem_next(h->open, h->depth, h->cap) = (struct element){ .kind = NOTHING, .target = BUF_INIT };
    if (*a.rel && !strcmp(name, "link") && has_word(a.rel, "mw:PageProp/Category"))
        add_category(h, a.href);
    if (wants(h, PART_CAPTIONS) && h->out != &h->aside && /* no link in a caption */
        (*a.resource || strstr(a.href, ":"))) {
        buf_clear(&h->file);
        names_add_href(&h->file, *a.resource ? a.resource : a.href);
    }
    if (h->options.on_call && *a.data && has_word(a.type, "mw:Transclusion") &&
        (h->in_reference || (h->in_lead && !h->hidden && begins_line(h))))
        on_transclusion(h, a.data);
    if (wants(h, PART_COORDINATES) &&
        (h->in_coordinates || has_word(a.type, "mw:Extension/indicator")))
        read_geohack(h, h->in_coordinates ? a.href : a.data); /* an indicator's HTML is in `data` */
    if (!strcmp(a.id, "coordinates")) {
        h->in_coordinates = 1;
        top(h)->kind = COORDINATES;
        hide(h);
    } else if (*a.class && !h->in_references && has_word(a.class, "references")) {
        h->in_references = 1;
        hide(h);
    } else if (h->in_references && !h->in_reference && is == ITEM && wants(h, PART_REFERENCES)) {
        begin_reference(h, a.id);
    } else if (!on_class(h, is, &a)) {
        on_name(h, name, is, &a);
        if (*a.variant)
            put_variant(h, a.variant, !strcmp(name, "meta"));
    }
}

/* Ends an element whose content was captured. */
static void end_capture(struct html *h, struct element *e)
{
    h->out = e->out;
    h->hidden = e->showed;
    struct span text = { h->aside.data + e->begin, h->aside.len - e->begin };
    struct buf *codes = h->options.common->codes;
    size_t block = codes->len;
    double at[2];
    if (e->kind == CAPTION && wants(h, PART_CAPTIONS) && span_trim(text).n) {
        const char *colon = strchr(h->file.data, ':');
        structure_pair(part(h, PART_CAPTIONS), "file", span_of(colon ? colon + 1 : h->file.data),
                       "caption", text);
    } else if (e->kind == DESCRIPTION) {
        if (!part(h, PART_DESCRIPTION)->len)
            structure_text(part(h, PART_DESCRIPTION), text);
    } else if (e->kind == GEO) {
        buf_clear(&h->work);
        structure_plain(&h->work, text, 0); /* a '-' at the start is a marker byte */
        if (sscanf(h->work.data, "%lf; %lf", &at[0], &at[1]) == 2)
            structure_coordinates(part(h, PART_COORDINATES), at);
    } else if (e->kind == REFERENCE) {
        h->in_reference = 0;
        h->options.on_reference(h->options.ctx, span_of_buf(&e->target), text, h->links.data);
    } else if (e->kind == PRE_BLOCK) {
        h->in_pre--;
        buf_add(codes, e->target.data, strcspn(e->target.data, " "));
        buf_addc(codes, '\0');
        for (size_t i = 0; i < text.n; i++) {
            unsigned char c = (unsigned char)text.s[i];
            int plain = c < ' ' ? markup_plain[c] : c;
            if (plain || c == MARKUP_BREAK || c == '\t')
                buf_addc(codes, plain ? plain : c == '\t' ? c : '\n');
        }
        buf_addc(codes, '\0');
    }
    buf_release(&e->target);
    buf_truncate(&h->aside, e->begin);
    if (e->kind == PRE_BLOCK)
        buf_addf(h->out, "%c%zu%c", MARKUP_BLOCK, block, MARKUP_BLOCK);
}

static void on_end(void *ctx, const xmlChar *name)
{
    struct html *h = ctx;
    (void)name;
    if (!h->depth)
        return;
    struct element e = h->open[--h->depth];
    switch (e.kind) {
    case BLOCK: begin_block(h); break;
    case HEADING:
        if (!h->hidden)
            buf_addf(h->out, "%c%.*s\n\n", MARKUP_EMPTY, h->level, "======");
        break;
    case LIST:
        h->lists--;
        put_mark(h, '\n');
        break;
    case ITEM: put_mark(h, '\n'); break;
    case TABLE: put_mark(h, MARKUP_TABLE_END); break;
    case CODE: put_mark(h, MARKUP_CODE); break;
    case PRE:
        h->in_pre--;
        put_mark(h, h->in_pre ? MARKUP_EMPTY : MARKUP_CODE);
        begin_block(h);
        break;
    case QUOTE:
        put_mark(h, h->options.common->markdown ? MARKUP_QUOTE_END : '\n');
        begin_block(h);
        break;
    case LINK:
    case EXTERNAL: end_link(h, &e); break;
    case COORDINATES: h->in_coordinates = 0; break;
    case FIXED: put_mark(h, MARKUP_FIXED); break;
    default:
        if (e.out)
            end_capture(h, &e);
    }
    h->hidden -= e.hides;
    h->in_references &= h->hidden || h->in_reference;
}

static void on_text(void *ctx, const xmlChar *text, int n)
{
    struct html *h = ctx;
    if (!h->hidden)
        put_text(h, (const char *)text, (size_t)n);
}

/* ---- a page -------------------------------------------------------------------------------- */

static void html_release(struct html *h)
{
    buf_release(&h->aside);
    buf_release(&h->work);
    buf_release(&h->links);
    buf_release(&h->file);
    free(h->open);
}

void html_strip(const struct html_options *options, const char *text, size_t n, struct buf *out)
{
    SCOPED(html) h = { .options = *options,
                       .out = out,
                       .aside = BUF_INIT,
                       .work = BUF_INIT,
                       .links = BUF_INIT,
                       .file = BUF_INIT,
                       .in_lead = 1 };
    htmlSAXHandler events = {
        .initialized = XML_SAX2_MAGIC,
        .startElement = on_start,
        .endElement = on_end,
        .characters = on_text,
        .ignorableWhitespace = on_text,
    };
    buf_clear(out);
    if (options->common->categories)
        buf_clear(options->common->categories);
    if (!n || n > INT32_MAX)
        return;
    htmlParserCtxtPtr parser = htmlCreateMemoryParserCtxt(text, (int)n);
    if (!parser)
        return;
    htmlSAXHandlerPtr own = parser->sax;
    parser->sax = &events;
    parser->userData = &h;
    htmlCtxtUseOptions(parser, HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET |
                                   HTML_PARSE_IGNORE_ENC); /* it is UTF-8, whatever it says */
    xmlSwitchEncoding(parser, XML_CHAR_ENCODING_UTF8);
    htmlParseDocument(parser);
    while (h.depth)
        on_end(&h, NULL);
    parser->sax = own;
    xmlFreeDoc(parser->myDoc);
    htmlFreeParserCtxt(parser);
}
