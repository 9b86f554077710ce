/* HTML and extension tags for markup.h. */
#include "common/base/lines.h"
#include "common/base/utf8.h"
#include "wikiprep/site/entity.h"
#include "wikiprep/text/converter.h"
#include "wikiprep/text/markup_walk.h"
#include "wikiprep/text/tag.h"
#include "wikiprep/text/visible.h"

/* Returns the tag whose name is at s, or NULL if there is none. Sets *after to the byte after the
 * name. */
static const struct tag_row *find_tag(const struct markup *m, const char *s, const char **after)
{
    const struct tag_row *tag = tag_find(s, m->end, after);
    return *after == m->end || strchr(" \t\r\n/><", **after) ? tag : NULL;
}

const char *markup_skip_comments(struct markup *m, const char *s)
{
    while (span_begins(s, m->end, "<!--"))
        s = tag_comment_end(s, m->end, &m->no_comment_close);
    return s;
}

/* Handles the comment at s. If its lines hold nothing else, removes them, too. Returns the position
 * at which the walk continues. */
static const char *on_comment(struct markup *m, const char *s)
{
    const char *after = tag_comment_end(s, m->end, &m->no_comment_close);
    size_t begin = m->out->len;
    while (begin && m->out->data[begin - 1] == ' ')
        begin--;
    const char *rest = span_past(after, m->end, " ");
    if (begin && m->out->data[begin - 1] == '\n' && rest < m->end && *rest == '\n') {
        buf_truncate(m->out, begin);
        return rest + 1;
    }
    return after;
}

static const char *find_close(struct markup *m, const char *s, const struct tag_row *tag,
                              const char **after)
{
    return tag_find_close(s, m->end, tag->name, after, &m->unclosed[tag - tag_rows]);
}

/* Returns the end of the line at s. The end of an open call or link, or `stop`, may come first. */
static const char *end_of_line(const struct markup *m, const char *s, const char *stop)
{
    int braces = 0, brackets = 0;
    for (; s < stop && *s != '\n'; s++) {
        if (s + 1 == m->end || s[1] != *s)
            continue;
        braces += *s == '{' ? 1 : *s == '}' ? -1 : 0;
        brackets += *s == '[' ? 1 : *s == ']' ? -1 : 0;
        if ((braces < 0 && m->braces) || (brackets < 0 && m->links))
            break;
        s += strchr("{}[]", *s) != NULL;
    }
    return s;
}

/* Returns the position after the closing tag of a reference at s: "</ref>", perhaps without '>'. */
static const char *skip_close(const struct markup *m, const char *s)
{
    const char *after;
    find_tag(m, s + 2, &after);
    const char *gt = span_past(after, m->end, " \t");
    return gt < m->end && *gt == '>' ? gt + 1 : after;
}

/* Returns the next tag of a reference in [s, end), or NULL if there is none. */
static const char *find_reference(const struct markup *m, const char *s, const char *end)
{
    for (; (s = memchr(s, '<', (size_t)(end - s))); s++) {
        const char *after;
        const struct tag_row *tag = find_tag(m, s + 1 + (s + 1 < m->end && s[1] == '/'), &after);
        if (tag && tag->kind == TAG_REF)
            return s;
    }
    return NULL;
}

/* Returns the end of a reference's content at s, and sets *after to the position after its closing
 * tag. A reference that is not closed before the next one or before a heading ends with its
 * line. */
static const char *reference_end(struct markup *m, const char *s, const char **after)
{
    const char *next = find_reference(m, s, m->end);
    if (next && next[1] == '/' && !bytes_find(s, next, "\n==", 3)) {
        *after = skip_close(m, next);
        return next;
    }
    return *after = end_of_line(m, s, next ? next : m->end);
}

/* Keeps the reference with the content at s, if wanted. Returns the position after it. */
static const char *on_reference(struct markup *m, const char *s, const char *attributes)
{
    const char *after, *end = reference_end(m, s, &after);
    if (markup_wants(m, PART_REFERENCES)) {
        mem_grow(m->references, m->references_cap, 2 * m->reference_count + 2);
        struct span *r = &m->references[2 * m->reference_count++];
        r[0] = span_between(attributes, s);
        r[1] = span_between(s, end);
    }
    return after;
}

/* Returns the position after a tag that breaks off at `stop`; after the closing tag of a reference
 * that is closed in the same line: "<ref name=a text</ref>". s is the start of the attributes. */
static const char *skip_broken(const struct markup *m, const char *s, const char *stop,
                               const struct tag_row *tag)
{
    if (tag->kind == TAG_REF && m->end - stop > 1 && stop[1] == '/' &&
        end_of_line(m, s, stop) == stop && find_reference(m, stop, stop + 1))
        return skip_close(m, stop);
    return tag_skip_attributes(s, stop);
}

/* Calls `put`, which decodes character references, with the pieces of [s, end): the content of
 * <pre> without the <nowiki> tags that are closed in it. `is_source` 1: of <syntaxhighlight>, where
 * nothing is markup; each piece ends after the next '&', so that none has a reference. */
static void put_pieces(struct markup *m, const char *s, const char *end, int is_source,
                       int line_end,
                       void (*put)(struct markup *, const char *s, const char *end, int line_end))
{
    static const char open[] = "<nowiki>";
    const char *inner, *close, *after, *unclosed = NULL;
    for (; is_source && (after = memchr(s, '&', (size_t)(end - s))); s = after + 1)
        put(m, s, after + 1, line_end);
    while (!is_source && (inner = bytes_find(s, end, open, sizeof open - 1)) &&
           (close = tag_find_close(inner + 1, end, "nowiki", &after, &unclosed))) {
        put(m, s, inner, line_end);
        put(m, inner + sizeof open - 1, close, line_end);
        s = after;
    }
    put(m, s, end, line_end);
}

/* Keeps the references in [s, end), the content of <references>, if wanted. */
static void note_references(struct markup *m, const char *s, const char *end)
{
    while (markup_wants(m, PART_REFERENCES) && s < end && (s = find_reference(m, s, end))) {
        const char *attributes;
        find_tag(m, s + 1 + (s[1] == '/'), &attributes);
        const char *gt = tag_end(attributes, end);
        int has_content = s[1] != '/' && gt < end && *gt == '>' && gt[-1] != '/';
        s = has_content ? on_reference(m, gt + 1, attributes) : attributes;
    }
}

/* Adds a gallery's captions, and the links in them, if wanted: reads each line as [[File:line]]. */
static void note_gallery(struct markup *m, const char *s, const char *end)
{
    struct wikitext_options inside = *m->options;
    inside.categories = NULL;
    inside.wanted &= 1u << PART_CAPTIONS | 1u << PART_LINKS;
    struct markup *inner = inside.wanted ? markup_new(&inside) : NULL;
    SCOPED(buf) file = BUF_INIT, text = BUF_INIT;
    struct lines l = LINES_OF(s, end - s);
    while (inner && lines_next(&l)) {
        const char *line_end = l.line + l.len, *bar = span_until(l.line, line_end, '|');
        if (bar == l.line) /* no name */
            continue;
        const char *colon = span_until(l.line, bar, ':');
        const char *name = colon < bar ? colon + 1 : l.line;
        inner->in_gallery = 1;
        buf_setf(&file, "[[File:%.*s]]", (int)(line_end - name), name);
        markup_strip(inner, file.data, file.len, &text);
    }
    markup_free(inner);
}

/* Writes code, a formula or literal text between two bytes `mark`. */
static void put_literal(struct markup *m, const char *s, const char *end, int is_source,
                        int line_end, int mark)
{
    markup_put(m, mark);
    converter_fix(m->options->converter, m->out);
    if (mark == MARKUP_CODE)
        put_pieces(m, s, end, is_source, line_end, markup_put_literal);
    else
        markup_put_literal(m, s, end, line_end);
    converter_fix(m->options->converter, m->out);
    markup_put(m, mark);
}

/* Adds text to the blocks of code. Keeps its line ends. */
static void put_code(struct markup *m, const char *s, const char *end, int line_end)
{
    while (s < end) {
        unsigned c = (unsigned char)*s;
        size_t n = c == '&' ? entity_read(s, (size_t)(end - s), &c) : 0;
        if (n && c >= ' ')
            utf8_add(m->options->codes, c);
        else if (!n && (c >= ' ' || c == '\t' || (int)c == line_end))
            buf_addc(m->options->codes, *s);
        s += n ? n : 1;
    }
}

/* For Markdown: appends the code to the page's blocks of code. Writes its offset among them to the
 * text, in decimal, between two MARKUP_BLOCK. */
static void put_block(struct markup *m, const char *s, const char *end, int is_source,
                      struct span language)
{
    struct buf *codes = m->options->codes;
    buf_addf(m->out, "%c%zu%c", MARKUP_BLOCK, codes->len, MARKUP_BLOCK);
    buf_add(codes, language.s, language.n);
    buf_addc(codes, '\0');
    put_pieces(m, s, end, is_source, '\n', put_code);
    buf_addc(codes, '\0');
}

static const char *skip_content(struct markup *m, const char *s, const struct tag_row *tag,
                                const char *attributes)
{
    const char *after, *close = find_close(m, s, tag, &after);
    if (!close)
        return s;
    if (tag->kind == TAG_DROP && !strcmp(tag->name, "references"))
        note_references(m, s, close);
    if (tag->kind == TAG_DROP && !strcmp(tag->name, "gallery"))
        note_gallery(m, s, close);
    const int is_source = tag->kind == TAG_CODE;
    const int is_inline = is_source && (memmem(attributes, (size_t)(s - attributes), "inline", 6) ||
                                        span_is(tag_attribute(attributes, s, "enclose"), "none"));
    const int is_formula = tag->kind == TAG_FORMULA && m->options->formulas;
    if (is_inline || is_formula || tag->kind == TAG_LITERAL) {
        put_literal(m, s, close, is_source, ' ',
                    is_inline                            ? MARKUP_CODE
                    : is_formula && m->options->markdown ? MARKUP_FORMULA
                                                         : MARKUP_EMPTY);
    } else if (tag->kind != TAG_PRE && !(is_source && m->options->code)) {
        markup_put(m, MARKUP_HOLE);
    } else if (m->options->markdown) {
        put_block(m, s, close, is_source, tag_attribute(attributes, s - 1, "lang"));
    } else { /* as code, so that lines are kept even without a letter or digit */
        markup_put(m, MARKUP_BREAK);
        put_literal(m, s, close, is_source, MARKUP_BREAK, MARKUP_CODE);
        markup_put(m, MARKUP_BREAK);
    }
    return after;
}

/* Writes the tags of a heading, such as <h2>, as wikitext, and joins its lines. If a blank line
 * comes before the closing tag, the heading stays without an end and is text. */
static void on_heading(struct markup *m, int level, int closing)
{
    if (!closing) {
        m->heading_level = level;
        buf_addf(m->out, "\n%.*s%c", level, "======", MARKUP_EMPTY);
        m->heading = m->out->len;
        return;
    }
    char *s = m->out->data + m->heading, *end = m->out->data + m->out->len;
    int is_open = m->heading && s <= end && s[-1] == MARKUP_EMPTY && !bytes_find(s, end, "\n\n", 2);
    m->heading = 0;
    if (!is_open) {
        markup_put(m, MARKUP_BREAK);
        return;
    }
    while ((s = memchr(s, '\n', (size_t)(end - s))))
        *s = ' ';
    buf_addf(m->out, "%c%.*s\n", MARKUP_EMPTY, m->heading_level, "======");
}

/* Handles a complete tag: </name> if `closing` is 1, <name ... /> if `empty` is 1, else <name ...>.
 * s is the position after its '>'. Returns the position at which the walk continues. */
static const char *on_whole_tag(struct markup *m, const char *s, const struct tag_row *tag,
                                int closing, int empty, const char *attributes)
{
    const char *after;
    int is_quote, in_table = m->options->tables && !(m->arranges & 1);
    switch (tag->kind) {
    case TAG_ITEM:
    case TAG_STRIP: markup_put(m, MARKUP_EMPTY); return s;
    case TAG_CODE_STRIP: markup_put(m, MARKUP_CODE); return s;
    case TAG_VANISH: return s;
    case TAG_LABEL: markup_put(m, MARKUP_HOLE); return s;
    case TAG_PRE:
        if (!closing && !empty && !tag_is_wikitext(attributes, s))
            return skip_content(m, s, tag, attributes);
        /* fall through */
    case TAG_BLOCK:
        is_quote = m->options->markdown && !strcmp(tag->name, "blockquote");
        markup_put(m, !is_quote ? MARKUP_BREAK : closing ? MARKUP_QUOTE_END : MARKUP_QUOTE);
        return s;
    case TAG_HEADING: on_heading(m, tag->name[1] - '0', closing); return s;
    case TAG_POEM:
        m->in_poem = !closing && !empty && (m->in_poem || find_close(m, s, tag, &after));
        markup_put(m, MARKUP_BREAK);
        return m->in_poem ? span_past(s, m->end, ":") : s;
    case TAG_TABLE:
        if (!closing)
            m->arranges = m->arranges << 1 |
                          (unsigned)visible_arranges(tag_attribute(attributes, s - 1, "role"),
                                                     tag_attribute(attributes, s - 1, "class"));
        markup_put(m, m->arranges & 1 ? MARKUP_BREAK : closing ? MARKUP_TABLE_END : MARKUP_TABLE);
        m->arranges >>= closing;
        return s;
    case TAG_ROW:
        markup_put(m, in_table ? MARKUP_ROW : MARKUP_BREAK);
        if (in_table && !closing && !strcmp(tag->name, "caption"))
            markup_put(m, MARKUP_CAPTION);
        return s;
    case TAG_CELL:
        markup_put(m, m->arranges & 1 ? ' ' : in_table && !closing ? MARKUP_CELL : MARKUP_BREAK);
        return s;
    case TAG_REF:
        markup_put(m, MARKUP_HOLE);
        return closing || empty ? s : on_reference(m, s, attributes);
    default:
        if (!closing && !empty)
            return skip_content(m, s, tag, attributes);
        markup_put(m, MARKUP_EMPTY);
        return s;
    }
}

/* Returns 1 if a complete tag with the attributes [attributes, gt) is a tag, or 0 if it is text.
 * Text are: the closing tag of a TAG_LITERAL element; a TAG_ITEM tag without "itemprop"; a tag of
 * one letter with words after it but no '=', as in "a <b and c> d". */
static int is_tag(const struct tag_row *tag, int closing, const char *attributes, const char *gt)
{
    if (tag->kind == TAG_LITERAL)
        return !closing;
    if (tag->kind == TAG_ITEM)
        return memmem(attributes, (size_t)(gt - attributes), "itemprop", 8) != NULL;
    if (tag->name[1])
        return 1;
    attributes = span_past(attributes, gt, " \t\n/");
    return attributes == gt || memchr(attributes, '=', (size_t)(gt - attributes));
}

/* As tag_end, but skips comments in the tag, and references unless the tag is a reference's own. */
static const char *end_of_tag(struct markup *m, const char *s, const struct tag_row *tag)
{
    for (;;) {
        s = tag_end(s, m->end);
        if (s == m->end || *s != '<')
            return s;
        const char *after;
        const struct tag_row *inner = find_tag(m, s + 1, &after);
        const char *gt = inner && inner->kind == TAG_REF && tag->kind != TAG_REF
                             ? tag_end(after, m->end)
                             : m->end;
        if (span_begins(s, m->end, "<!--"))
            s = tag_comment_end(s, m->end, &m->no_comment_close);
        else if (gt == m->end || *gt != '>')
            return s;
        else if (gt[-1] == '/')
            s = gt + 1;
        else
            reference_end(m, gt + 1, &s);
    }
}

const char *markup_on_tag(struct markup *m, const char *s)
{
    if (span_begins(s, m->end, "<!--"))
        return on_comment(m, s);
    int closing = s + 1 < m->end && s[1] == '/';
    const char *attributes;
    const struct tag_row *tag = find_tag(m, s + 1 + closing, &attributes);
    const char *gt = tag ? end_of_tag(m, attributes, tag) : attributes;
    int whole = tag && gt < m->end && *gt == '>';
    if (!tag || (whole ? !is_tag(tag, closing, attributes, gt) : !tag->name[1])) {
        markup_put(m, '<');
        return s + 1;
    }
    if (!whole)
        return skip_broken(m, attributes, gt, tag);
    return on_whole_tag(m, gt + 1, tag, closing, gt[-1] == '/', attributes);
}
