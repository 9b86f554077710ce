/* Template calls and language variants for markup.h. */
#include "wikiprep/text/converter.h"
#include "wikiprep/text/markup_walk.h"
#include "wikiprep/text/structure.h"

#include "common/base/utf8.h"

/* The deepest template call whose text is shown, as in MediaWiki. Keeps the time linear. */
enum { RENDER_MAX = 40 };

/* Closes the language variant markup on top of the stack, -{flags|code:text;code:text}-, and
 * replaces it by its text. */
static void close_variant(struct markup *m)
{
    const size_t from = markup_top(m)->out, inner = from + strlen("-{");
    markup_pop(m);
    buf_clear(&m->rendered);
    converter_rule(m->options->converter, markup_since(m, inner), markup_top_is(m, VARIANT),
                   &m->rendered);
    buf_truncate(m->out, from);
    if (!m->rendered.len || *m->rendered.data == MARKUP_RULE)
        markup_put(m, MARKUP_HOLE);
    buf_add(m->out, m->rendered.data, m->rendered.len);
}

/* ---- braces ------------------------------------------------------------------------------ */

/* Returns the offset in the output to which only bytes of the string `blanks` go back from offset
 * `from`; 0 if they go back to the start of a line. */
static size_t skip_back(const struct markup *m, size_t from, const char *blanks)
{
    enum { BLANKS_MAX = 64 /* keeps the time linear */ };
    for (int i = 0; i < BLANKS_MAX && from && strchr(blanks, m->out->data[from - 1]); i++)
        from--;
    return from && m->out->data[from - 1] == '\n' ? 0 : from;
}

/* Adds the call to the page's infoboxes if they are wanted and it is one. An infobox begins a line
 * before the first heading, is in no other call, and has four arguments with names. This test needs
 * no list of template names. */
static void note_call(struct markup *m, size_t from, const struct wikitext_call *call)
{
    enum { NAMED_LEAST = 4 };
    if (markup_wants(m, PART_INFOBOXES) && m->in_lead && m->braces == 1 &&
        !skip_back(m, from, MARKUP_UNSEEN " \x0F") && structure_is_named(call, NAMED_LEAST))
        structure_call(&m->options->parts->json[PART_INFOBOXES], call);
}

/* Returns 1 if a template call is like a word in a sentence, else 0: in the line of its output,
 * which begins at offset `from`, a space or an opening bracket precedes it, or the apostrophes of
 * bold text there. Templates for notes directly follow a word or another note; boxes, and links to
 * other projects, begin a line or an item of a list. */
static int is_in_sentence(const struct markup *m, size_t from)
{
    if (!skip_back(m, from, MARKUP_UNSEEN " *#:;"))
        return 0;
    unsigned before;
    utf8_last(m->out->data, skip_back(m, from, MARKUP_UNSEEN "'"), &before);
    return before <= ' ' || (before < 0x80 && strchr("([/=|*#:;{", (int)before)) ||
           before == 0xA0 || before == 0xAB ||
           (before >= 0x2012 && before <= 0x201E && before != 0x201D) ||
           (before > 0x3000 && before < 0x3020) || (before >= 0xFF00 && before < 0xFF10);
}

/* Appends m->rendered. Replaces the variant markup in it, which {{NoteTA}} writes, by its text. */
static void put_rendered(struct markup *m)
{
    const char *s = m->rendered.data, *end = s + m->rendered.len, *open, *close;
    while (converter_reads(m->options->converter) && (open = bytes_find(s, end, "-{", 2)) &&
           (close = bytes_find(open, end, "}-", 2))) {
        buf_add(m->out, s, (size_t)(open - s));
        converter_rule(m->options->converter, span_between(open + 2, close), 0, m->out);
        s = close + 2;
    }
    buf_add(m->out, s, (size_t)(end - s));
}

/* Renders the call in the output from `from` on, and replaces it with its text. Its pipes are
 * m->pipes[first_pipe..pipe_count). */
static void render(struct markup *m, size_t from, size_t first_pipe)
{
    size_t count = m->pipe_count - first_pipe;
    mem_grow(m->arguments, m->arguments_cap, count + 1);
    const char *base = m->out->data;
    for (size_t i = 0; i < count; i++) {
        size_t begin = m->pipes[first_pipe + i] + 1;
        size_t end = i + 1 < count ? m->pipes[first_pipe + i + 1] : m->out->len;
        m->arguments[i] = (struct span){ base + begin, end - begin };
    }
    size_t name_end = count ? m->pipes[first_pipe] : m->out->len;
    struct wikitext_call call = {
        { base + from, name_end - from }, m->arguments, count, is_in_sentence(m, from)
    };
    note_call(m, from, &call);
    buf_clear(&m->rendered);
    if (m->options->render(m->options->render_ctx, &call, &m->rendered)) {
        converter_keep(m->options->converter, markup_since(m, from), &m->rendered);
        buf_truncate(m->out, from);
        put_rendered(m);
    } else {
        markup_drop(m, from);
    }
}

/* Replaces {{!}} with a pipe. The pipe does not separate arguments of a call, but it ends the
 * target of a link. */
static void put_pipe(struct markup *m, size_t from)
{
    buf_truncate(m->out, from);
    if (markup_top_is(m, LINK) && !markup_top(m)->piped)
        markup_link_pipe(m, m->text + markup_top(m)->source);
    else
        markup_put(m, '|');
}

/* Closes two braces (a call) or three (a parameter) of the element on top; `closing` braces follow.
 * Returns the number of closed braces. */
static size_t close_braces(struct markup *m, size_t closing)
{
    struct element *f = markup_top(m);
    size_t both = f->count < closing ? f->count : closing;
    size_t matched = both >= 3 ? 3 : 2;
    f->count -= matched;
    size_t from = f->out;
    if (f->count == 1) { /* one brace before it is left: plain text */
        markup_pop(m);
        f = NULL;
    }
    size_t first_pipe = f ? f->pipes : m->stack[m->depth].pipes;
    int pipe = matched == 2 && m->out->len == from + 1 && m->out->data[from] == '!'; /* {{!}} */
    if (!pipe && matched == 2 && m->options->render && m->braces <= RENDER_MAX)
        render(m, from, first_pipe);
    else if (!pipe)
        markup_drop(m, from);
    m->pipe_count = first_pipe;
    if (f && !f->count)
        markup_pop(m);
    if (pipe)
        put_pipe(m, from);
    return matched;
}

const char *markup_on_open_brace(struct markup *m, const char *s)
{
    size_t n = (size_t)(span_past(s, m->end, "{") - s);
    if (n >= 2) {
        markup_push(m, BRACES)->count = n;
    } else if (s > m->text && s[-1] == '-' && m->out->len && m->out->data[m->out->len - 1] == '-' &&
               m->links < MARKUP_LINKS_MAX && converter_reads(m->options->converter)) {
        buf_truncate(m->out, m->out->len - 1);
        markup_push(m, VARIANT);
        buf_adds(m->out, "-{");
    } else {
        markup_put(m, '{');
    }
    return s + n;
}

const char *markup_on_close_brace(struct markup *m, const char *s)
{
    const char *after = span_past(s, m->end, "}");
    size_t n = (size_t)(after - s);
    const int ends_variant = after < m->end && *after == '-';
    while (n >= 2 && m->braces && !(ends_variant && markup_top_is(m, VARIANT))) {
        while (!markup_top_is(m, BRACES))
            markup_pop(m); /* unclosed links inside the call */
        n -= close_braces(m, n);
    }
    if (n && ends_variant && markup_top_is(m, VARIANT)) { /* -{zh-cn:{{call}}}- */
        close_variant(m);
        return after + 1;
    }
    int ends_table = m->out->len && m->out->data[m->out->len - 1] == '|';
    if (n == 1 || (n && ends_table))
        markup_put(m, '}');
    return after; /* surplus closing braces are dropped */
}
