#include "wikiprep/text/markup.h"

#include <ctype.h>

#include "common/base/utf8.h"
#include "wikiprep/site/entity.h"
#include "wikiprep/text/converter.h"
#include "wikiprep/text/markup_walk.h"
#include "wikiprep/text/paragraph.h"
#include "wikiprep/text/tag.h"

/* ---- output ------------------------------------------------------------------------------ */

void markup_put_literal(struct markup *m, const char *s, const char *end, int line_end)
{
    while (s < end) {
        unsigned c = (unsigned char)*s;
        size_t n = c == '&' ? entity_read(s, (size_t)(end - s), &c) : 0;
        if (n || c < 0x80) {
            if (!n && c == '\n')
                markup_put(m, line_end);
            else
                paragraph_put(m->out, c);
            s += n ? n : 1;
        } else {
            markup_put(m, *s++);
        }
    }
}

void markup_drop(struct markup *m, size_t from)
{
    buf_clear(&m->rendered);
    converter_keep(m->options->converter, markup_since(m, from), &m->rendered);
    buf_truncate(m->out, from);
    markup_put(m, MARKUP_HOLE);
    buf_add(m->out, m->rendered.data, m->rendered.len);
}

/* ---- the stack --------------------------------------------------------------------------- */

struct element *markup_push(struct markup *m, enum element_kind kind)
{
    struct element *f = &mem_next(m->stack, m->depth, m->stack_cap);
    *f = (struct element){ .kind = kind, .out = m->out->len, .pipes = m->pipe_count };
    m->braces += kind == BRACES;
    m->links += kind != BRACES;
    return f;
}

void markup_pop(struct markup *m)
{
    struct element *f = markup_top(m);
    m->braces -= f->kind == BRACES;
    m->links -= f->kind != BRACES;
    m->depth--;
}

static const char *on_pipe(struct markup *m, const char *s)
{
    if (markup_top_is(m, LINK) && !markup_top(m)->piped) {
        markup_link_pipe(m, s);
        return s + 1;
    }
    if (m->options->render && markup_top_is(m, BRACES))
        mem_next(m->pipes, m->pipe_count, m->pipes_cap) = m->out->len;
    int is_text = markup_in_label(m) || (markup_top_is(m, URL) && m->depth == 1 && s[-1] == ' ');
    markup_put(m, is_text ? MARKUP_PIPE : '|');
    return s + 1;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* Closes elements at the end of a line; `next` is the start of the next line. External links and
 * the targets of links end with their line, the labels of links with their paragraph, and links to
 * files before a heading. */
static void end_line(struct markup *m, const char *next)
{
    int heading = next < m->end && *next == '=';
    int paragraph = heading || next == m->end || *next == '\n';
    while (m->depth && !markup_top_is(m, BRACES)) {
        struct element *f = markup_top(m);
        int is_file = f->kind == LINK && f->piped && !markup_is_shown(f->names);
        if (is_file && !heading)
            break;
        if (((f->kind == LINK && f->piped) || f->kind == VARIANT) && !paragraph)
            break;
        size_t from = f->out;
        markup_pop(m);
        if (is_file) /* not closed: its start, up to the end of its line, is removed */
            buf_cut(m->out, from, from + strcspn(m->out->data + from, "\n"));
    }
    if (heading)
        m->in_poem = 0;
}

static const char *on_line_end(struct markup *m, const char *s)
{
    if (m->depth || m->in_poem)
        end_line(m, s + 1);
    m->brackets = 0;
    m->in_lead &= s + 1 == m->end || s[1] != '=';
    markup_put(m, m->in_poem ? MARKUP_BREAK : '\n');
    return m->in_poem ? span_past(s + 1, m->end, ":") : s + 1; /* colons indent a verse */
}

/* ---- references, behaviour switches, the end --------------------------------------------- */

/* Returns 1 if the output ends with an address, else 0. */
static int ends_with_address(const struct buf *out)
{
    enum { ADDRESS_MAX = 256 }; /* keeps the time linear */
    const char *end = out->data + out->len, *s = end;
    const char *first = out->len > ADDRESS_MAX ? end - ADDRESS_MAX : out->data;
    while (s > first && (unsigned char)s[-1] > ' ' && !strchr("[]<>\"", s[-1]))
        s--;
    return bytes_find(s, end, "://", 3) != NULL;
}

const char *markup_on_reference(struct markup *m, const char *s)
{
    unsigned c = '&';
    size_t n = entity_read(s, (size_t)(m->end - s), &c);
    if (c > ' ' && c < 128 && strchr("[]|\"", (int)c) && ends_with_address(m->out))
        buf_addf(m->out, "%%%02X", c);
    else
        paragraph_put(m->out, c);
    return s + (n ? n : 1);
}

/* Handles '_'. Removes a behaviour switch such as __NOTOC__, in any language: a word of capitals or
 * non-ASCII letters, except those of programming languages, as __FILE__. In lower case only five
 * known English switches are removed. Returns the position at which the walk continues. */
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
    const struct span word = span_between(s + 2, p);
    int known = lower && span_in(word, "notoc|forcetoc|toc|nogallery|noeditsection");
    if (span_in(word, "FILE|LINE|DATE|TIME|FUNCTION|CLASS|METHOD|NAMESPACE|COUNTER|VA_ARGS|STDC"))
        goto literal;
    if (span_in(word, "nocontentconvert|nocc"))
        converter_stop(m->options->converter);
    if (p + 1 < m->end && p[0] == '_' && p[1] == '_' && ((upper > 1 && !lower) || known)) {
        markup_put(m, MARKUP_HOLE);
        return p + 2;
    }
literal:
    for (p = s; p < m->end && *p == '_'; p++)
        markup_put(m, '_');
    return p;
}

/* Handles the elements that are still open at the end of the page. Removes the text of an unclosed
 * call up to the next '}' in its line ("{{citation needed}"), else up to the line's end. Removes
 * the text of an unclosed file link up to its line's end. */
static void finish(struct markup *m)
{
    struct buf *out = m->out;
    size_t kept = 0, next = 0; /* out[0..kept) is final; out[next..) follows it */
    for (size_t i = 0; i < m->depth; i++) {
        const struct element *f = &m->stack[i];
        int is_file = f->kind == LINK && f->piped && !markup_is_shown(f->names);
        if ((f->kind != BRACES && !is_file) || f->out < next)
            continue;
        memmove(out->data + kept, out->data + next, f->out - next);
        kept += f->out - next;
        const char *from = out->data + f->out, *end = span_until(from, out->data + out->len, '\n');
        const char *brace = is_file ? NULL : memchr(from, '}', (size_t)(end - from));
        next = (size_t)((brace ? brace + 1 : end) - out->data);
    }
    memmove(out->data + kept, out->data + next, out->len - next);
    buf_truncate(out, out->len - (next - kept));
}

/* ---- the walk ---------------------------------------------------------------------------- */

typedef const char *(*handler)(struct markup *m, const char *s);

static const char *on_control(struct markup *, const char *s)
{
    return s + 1; /* wikis cannot contain these characters */
}

static const handler handlers[256] = {
    ['\n'] = on_line_end,
    ['&'] = markup_on_reference,
    ['<'] = markup_on_tag,
    ['['] = markup_on_open_bracket,
    [']'] = markup_on_close_bracket,
    ['{'] = markup_on_open_brace,
    ['}'] = markup_on_close_brace,
    ['|'] = on_pipe,
    ['_'] = on_underscore,
    [0 ... 8] = on_control,
    [11 ... 31] = on_control,
};

void markup_strip(struct markup *m, const char *text, size_t n, struct buf *out)
{
    m->text = text;
    m->end = text + n;
    m->out = out;
    m->depth = m->braces = m->links = m->brackets = m->pipe_count = m->heading = 0;
    m->reference_count = m->arranges = 0;
    m->in_poem = m->no_comment_close = 0;
    m->in_lead = n > 0 && *text != '=';
    buf_clear(&m->targets);
    buf_clear(out);
    memset(m->unclosed, 0, tag_rows_count * sizeof *m->unclosed);
    if (m->options->categories)
        buf_clear(m->options->categories);
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

struct markup *markup_new(const struct wikitext_options *options)
{
    struct markup *m = mem_zalloc(1, sizeof *m);
    m->options = options;
    m->unclosed = mem_zalloc(tag_rows_count, sizeof *m->unclosed);
    buf_init(&m->rendered);
    buf_init(&m->targets);
    return m;
}

const struct span *markup_references(const struct markup *m, size_t *count)
{
    *count = m->reference_count;
    return m->references;
}

void markup_free(struct markup *m)
{
    if (!m)
        return;
    free(m->stack);
    free(m->pipes);
    free(m->arguments);
    free(m->unclosed);
    buf_release(&m->rendered);
    buf_release(&m->targets);
    free(m->references);
    free(m);
}
