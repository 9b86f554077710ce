#include "wikiprep/text/wikitext.h"

#include "common/formats/js.h"
#include "wikiprep/site/entity.h"
#include "wikiprep/text/converter.h"
#include "wikiprep/text/html.h"
#include "wikiprep/text/markdown.h"
#include "wikiprep/text/markup.h"
#include "wikiprep/text/paragraph.h"
#include "wikiprep/text/structure.h"
#include "wikiprep/text/table.h"
#include "wikiprep/text/tag.h"
#include "wikiprep/text/visible.h"

enum { LEVELS = 6 };

struct wikitext {
    struct wikitext_options options; /* as the first pass sees them */
    int shows_tables;                /* tables are wanted in the text */
    struct markup *markup;
    struct markdown markdown;
    struct buf codes;            /* blocks of code of the page, for Markdown */
    struct converter *converter; /* owned; NULL if options.converter was given */
    struct span signs;           /* list signs of the current item; empty: no item */
    struct buf section;          /* heading of the current section, as JSON */
    size_t section_begin;        /* offset of its text in `out` */
    int section_level;           /* -1: no section has begun */
    struct wikitext *inner;      /* for references; NULL: they are not wanted */
    struct buf templates;        /* the calls in a reference, as JSON */
    struct page_parts inside;    /* other parts of a reference */
    struct buf marked;           /* output of the first pass */
    struct buf line;             /* source of the current paragraph, which may have several lines */
    struct buf written;          /* output lines of the current paragraph */
    struct buf headings[LEVELS + 1]; /* by level: headings still without text */
    struct table_extents tables, html_tables;
    struct buf rows, cells, grid; /* of the current table: its rows, a row, all cells */
    struct buf *out;
    const char *wanted, *unwanted; /* lists with commas */
    int wanted_level;              /* heading level of the wanted section; 0: outside */
    int unwanted_level;            /* heading level of the unwanted section; 0: outside */
    int has_calls, has_tabs;       /* the page has calls, which may begin a table; has <tabber> */
    int in_broken_table;           /* 1: in an unclosed table; 2: after a blank line in it */
};

/* Renders a call in a reference. Keeps one that shows no text, such as {{cite book}}, as JSON. */
static int render_in_reference(void *ctx, const struct wikitext_call *call, struct buf *out)
{
    struct wikitext *w = ctx;
    if (w->options.render && w->options.render(w->options.render_ctx, call, out))
        return 1;
    if (call->count)
        structure_call(&w->templates, call);
    return 0;
}

/* Does buf_init or buf_release with each buffer. */
static void change_each(struct wikitext *w, void (*change)(struct buf *))
{
    struct buf *const all[] = { &w->marked, &w->line,  &w->written, &w->rows,     &w->cells,
                                &w->grid,   &w->codes, &w->section, &w->templates };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        change(all[i]);
    for (int i = 0; i <= LEVELS; i++)
        change(&w->headings[i]);
    page_parts_each(&w->inside, change);
}

struct wikitext *wikitext_new(const struct names *names, const struct wikitext_options *options)
{
    struct wikitext *w = mem_zalloc(1, sizeof *w);
    w->options = *options;
    w->shows_tables = options->tables;
    w->options.names = names;
    w->options.codes = &w->codes;
    w->options.tables |= options->wanted >> PART_TABLES & 1;
    w->converter = options->converter ? NULL : converter_new();
    w->options.converter = w->converter ? w->converter : options->converter;
    w->markup = markup_new(&w->options);
    change_each(w, buf_init);
    if (options->wanted >> PART_REFERENCES & 1) {
        const struct wikitext_options inside = { .render = render_in_reference,
                                                 .render_ctx = w,
                                                 .formulas = options->formulas,
                                                 .page = options->page,
                                                 .converter = w->options.converter,
                                                 .parts = &w->inside,
                                                 .wanted = 1 << PART_EXTERNAL_LINKS };
        w->inner = wikitext_new(names, &inside);
    }
    return w;
}

void wikitext_free(struct wikitext *w)
{
    if (!w)
        return;
    markup_free(w->markup);
    change_each(w, buf_release);
    table_extents_release(&w->tables);
    table_extents_release(&w->html_tables);
    wikitext_free(w->inner);
    converter_free(w->converter);
    free(w);
}

void wikitext_set_site(struct wikitext *w, const struct names *names, const char *wanted,
                       const char *unwanted)
{
    w->options.names = names;
    w->wanted = wanted;
    w->unwanted = unwanted;
    if (w->inner)
        wikitext_set_site(w->inner, names, NULL, NULL);
}

/* ---- paragraphs and headings --------------------------------------------------------------- */

/* Ends the current section, whose text is in the output, and adds it to the page's parts. */
static void end_section(struct wikitext *w)
{
    if (w->section_level < 0)
        return;
    struct buf *json = &w->options.parts->json[PART_SECTIONS];
    const char *end = w->out->data + w->out->len;
    const char *s = span_past(w->out->data + w->section_begin, end, "\n");
    while (end > s && end[-1] == '\n')
        end--;
    structure_item(json);
    buf_addf(json, "{\"level\": %d, \"heading\": %s, \"text\": ", w->section_level,
             w->section.data);
    js_quote(json, s, (size_t)(end - s));
    buf_addc(json, '}');
    w->section_level = -1;
}

/* Begins a section with this heading, whose text will follow in the output. */
static void note_section(struct wikitext *w, int level, const char *heading, size_t n)
{
    buf_clear(&w->section);
    js_quote(&w->section, heading, n);
    w->section_level = level;
    w->section_begin = w->out->len;
}

/* Writes the headings that still have no text, unless none are wanted, and begins their sections.
 */
static void put_headings(struct wikitext *w)
{
    const int noted = w->options.wanted >> PART_SECTIONS & 1, shown = !w->options.no_headings;
    for (int i = 0; i <= LEVELS; i++) {
        const struct buf *heading = &w->headings[i];
        if (!heading->len)
            continue;
        end_section(w);
        if (shown && w->options.markdown)
            markdown_heading(&w->markdown, i, heading->data, heading->len - 1);
        else if (shown)
            buf_add(w->out, heading->data, heading->len);
        if (noted)
            note_section(w, i, heading->data, heading->len - 1);
        buf_clear(&w->headings[i]);
    }
    if (noted && w->section_level < 0)
        note_section(w, 0, "", 0);
}

/* Appends the lines of w->line to `out`, as paragraph_write does, and clears it. */
static void put_line(struct wikitext *w, struct buf *out, int flags)
{
    converter_line(w->options.converter, &w->line);
    paragraph_write(out, w->line.data, w->line.data + w->line.len, flags);
    buf_clear(&w->line);
}

/* Ends the current paragraph and writes it, after the headings that still have no text. */
static void end_paragraph(struct wikitext *w)
{
    if (!w->line.len)
        return;
    buf_clear(&w->written);
    put_line(w, &w->written, w->options.markdown ? PARAGRAPH_MARKDOWN : 0);
    if (!w->written.len)
        return;
    put_headings(w);
    if (w->options.markdown)
        markdown_lines(&w->markdown, span_of_buf(&w->written), w->signs);
    else
        buf_add(w->out, w->written.data, w->written.len);
}

/* Returns 1 if s begins with a Chinese or Japanese character, else 0. A line end between two of
 * them is not a space. */
static int is_wide(const char *s)
{
    unsigned char c = (unsigned char)*s;
    return (c >= 0xE3 && c <= 0xE9) || c == 0xEF;
}

static void add_text(struct wikitext *w, const char *s, const char *end)
{
    static const char unseen[] = MARKUP_UNSEEN "\x1E'"; /* and MARKUP_FIXED, and quotes */
    if (w->line.len) {
        const char *last = w->line.data + w->line.len - 1;
        while (last > w->line.data && ((*last & 0xC0) == 0x80 || strchr(unseen, *last)))
            last--;
        if (!(is_wide(last) && is_wide(span_past(s, end, unseen))))
            buf_addc(&w->line, ' ');
    }
    paragraph_unquote(&w->line, s, end);
}

/* Writes s as a separate line. */
static void add_line(struct wikitext *w, const char *s, const char *end)
{
    end_paragraph(w);
    paragraph_unquote(&w->line, s, end);
    end_paragraph(w);
}

static const char *trim_end(const char *s, const char *end)
{
    while (end > s && memchr(" \t" MARKUP_UNSEEN, end[-1], 5))
        end--;
    return end;
}

static int is_heading(const char *s, const char *end)
{
    end = trim_end(s, end);
    return end - s >= 3 && *s == '=' && end[-1] == '=';
}

static int is_left_out(const struct wikitext *w)
{
    return w->unwanted_level || (w->wanted && !w->wanted_level);
}

/* Notes if the section with heading s[0..n), of level `level` (number of '='), is wanted. */
static void begin_section(struct wikitext *w, int level, const char *s, size_t n)
{
    if (level <= w->unwanted_level || !w->unwanted_level)
        w->unwanted_level = w->unwanted && names_listed(w->unwanted, ',', s, n) ? level : 0;
    if (w->wanted && (level <= w->wanted_level || !w->wanted_level))
        w->wanted_level = names_listed(w->wanted, ',', s, n) ? level : 0;
}

static void add_heading(struct wikitext *w, const char *s, const char *end)
{
    int level = 0;
    end = trim_end(s, end);
    while (level < LEVELS && end - s >= 3 && *s == '=' && end[-1] == '=')
        s++, end--, level++;
    end_paragraph(w);
    for (int i = level; i <= LEVELS; i++)
        buf_clear(&w->headings[i]);
    paragraph_unquote(&w->line, s, end);
    for (size_t i = 0; i < w->line.len; i++)
        if (w->line.data[i] == MARKUP_BREAK)
            w->line.data[i] = ' ';
    struct buf *heading = &w->headings[level];
    put_line(w, heading, 0);
    begin_section(w, level, heading->data, heading->len - (heading->len > 0));
    if (is_left_out(w))
        buf_clear(heading);
}

/* Writes a list item. "; term : definition" becomes "term: definition". */
static void add_list_item(struct wikitext *w, const char *s, const char *end)
{
    int is_term = 0;
    const char *signs = s;
    for (; s < end && strchr("*#:;", *s); s++)
        is_term |= *s == ';';
    if (is_term)
        s = span_past(s, end, " :"); /* "; : d" has an empty term */
    end_paragraph(w);
    if (w->options.no_lists)
        return;
    const char *colon = is_term ? memmem(s, (size_t)(end - s), " :", 2) : NULL;
    paragraph_unquote(&w->line, s, colon ? trim_end(s, colon) : end);
    if (colon)
        paragraph_unquote(&w->line, colon + 1, end);
    w->signs = (struct span){ signs, strspn(signs, "*#:;") };
    end_paragraph(w);
    w->signs.n = 0;
}

/* ---- lines of the source ------------------------------------------------------------------- */

/* Returns 1 if the line belongs to the unclosed table, else 0. A heading ends the table. After a
 * blank line, so does a line that does not begin with '|' or '!'. */
static int in_broken_table(struct wikitext *w, const char *s, const char *end)
{
    if (s == end) {
        w->in_broken_table = 2;
        return 1;
    }
    if (is_heading(s, end) || (w->in_broken_table == 2 && *s != '|' && *s != '!'))
        w->in_broken_table = 0;
    return w->in_broken_table;
}

/* Handles a line, or the part of it outside a table. `at_start` 1: s is the start of the line. */
static void on_line(struct wikitext *w, const char *s, const char *end, int at_start)
{
    const char *p = span_past(s, end, MARKUP_REMOVED);
    int blank = trim_end(s, end) == s;
    if (w->in_broken_table && in_broken_table(w, blank ? end : p, end))
        return;
    if (blank || (is_left_out(w) && !(at_start && is_heading(p, end)))) {
        end_paragraph(w);
    } else if (!at_start) {
        add_text(w, s, end);
    } else if (is_heading(p, end)) {
        add_heading(w, p, end);
    } else if (strchr("*#:;", *p)) {
        add_list_item(w, p, end);
    } else if (w->has_tabs && span_begins(p, end, "|-|")) { /* a tab's label, "=", its text */
        const char *equals = span_until(p + 3, end, '=');
        add_line(w, p + 3, equals);
        add_text(w, equals + (equals < end), end);
    } else if (*p == '|' && w->has_calls) { /* a row of a table that a template began */
        end_paragraph(w);
    } else if (*p == ' ' || *p == MARKUP_BLOCK) {
        add_line(w, s, end);
    } else if (span_begins(p, end, "----") || span_begins(p, end, "==")) {
        if (*p == '-')
            end_paragraph(w);
        p = span_past(p, end, *p == '-' ? "-" : "= "); /* an unclosed heading is text */
        if (p < end)
            add_text(w, p, end);
    } else {
        add_text(w, s, end);
    }
}

static const char *next_cell(const char *stop, const char *end, const char **next)
{
    if (stop == end)
        return NULL;
    *next = span_until(stop + 1, end, MARKUP_CELL_END);
    return stop + 1;
}

/* Returns the first cell of the row [s, end), or the second if the first is empty. Sets *stop to
 * its end. */
static const char *first_cell(const char *s, const char *end, const char **stop)
{
    *stop = span_until(s, end, MARKUP_CELL_END);
    int is_first = *stop == end || table_has_text(s, (size_t)(*stop - s));
    return is_first ? s : next_cell(*stop, end, stop);
}

/* Writes a row as one line: those of its cells that have text, with `gap` between them. */
static void put_row(struct wikitext *w, const char *s, const char *end, const char *gap)
{
    const char *stop, *between = "";
    buf_clear(&w->cells);
    for (s = first_cell(s, end, &stop); s; s = next_cell(stop, end, &stop)) {
        if (!table_has_text(s, (size_t)(stop - s)))
            continue;
        buf_adds(&w->cells, between);
        buf_add(&w->cells, s, (size_t)(stop - s));
        between = gap;
    }
    add_line(w, w->cells.data, w->cells.data + w->cells.len);
}

/* Adds the cells of a row to w->grid, for markdown_table. */
static void add_row(struct wikitext *w, const char *s, const char *end)
{
    const char *stop;
    for (s = first_cell(s, end, &stop); s; s = next_cell(stop, end, &stop)) {
        paragraph_unquote(&w->line, s, stop);
        put_line(w, &w->grid, PARAGRAPH_ALL | PARAGRAPH_MARKDOWN);
        buf_addc(&w->grid, MARKUP_CELL_END);
    }
    buf_addc(&w->grid, '\0');
}

/* Adds a cell to w->line. Its blocks of code, which for Markdown are in w->codes, become text. */
static void add_cell(struct wikitext *w, const char *s, const char *end)
{
    while (s < end) {
        const char *mark = span_until(s, end, MARKUP_BLOCK);
        buf_add(&w->line, s, (size_t)(mark - s));
        if (mark == end)
            return;
        const char *code = w->codes.data + strtoul(mark + 1, NULL, 10);
        for (code += strlen(code) + 1; *code; code++)
            if ((unsigned char)*code < 0x80)
                paragraph_put(&w->line, (unsigned)*code);
            else
                buf_addc(&w->line, *code);
        s = span_until(mark + 1, end, MARKUP_BLOCK) + 1;
    }
}

/* Adds the table of w->rows to the page's parts. */
static void add_table(struct wikitext *w)
{
    struct buf *json = &w->options.parts->json[PART_TABLES];
    struct span caption = { "", 0 };
    buf_clear(&w->grid);
    for (const char *s = w->rows.data, *lf, *stop; (lf = strchr(s, '\n')); s = lf + 1) {
        if (*s == MARKUP_CAPTION) {
            caption = span_between(s, lf);
            continue;
        }
        const char *between = "[";
        structure_item(&w->grid);
        for (s = first_cell(s, lf, &stop); s; s = next_cell(stop, lf, &stop)) {
            buf_adds(&w->grid, between);
            add_cell(w, s, stop);
            structure_text(&w->grid, span_of_buf(&w->line));
            buf_clear(&w->line);
            between = ", ";
        }
        buf_addc(&w->grid, ']');
    }
    structure_item(json);
    buf_adds(json, "{\"caption\": ");
    structure_text(json, caption);
    buf_addf(json, ", \"rows\": [%s]}", w->grid.data);
}

/* Adds a closed table to the page's parts and writes it, one row per line or as Markdown, as far as
 * each is wanted, unless its attributes hide it: visible_filter removes only tables in HTML. What a
 * table only arranges is text, unless other tables are in it. */
static void on_table(struct wikitext *w, const struct table_extent *table)
{
    const char *s = w->marked.data + table->begin, *end = w->marked.data + table->end;
    const char *line_end = span_until(s, end, '\n'), *attributes = *s == '{' ? s + 2 : line_end;
    const struct span class = tag_attribute(attributes, line_end, "class");
    const int arranges = visible_arranges(tag_attribute(attributes, line_end, "role"), class) &&
                         !bytes_find(line_end, end, "{|", 2) &&
                         !memchr(line_end, MARKUP_TABLE, (size_t)(end - line_end));
    end_paragraph(w);
    if (!(w->options.tables || arranges) || is_left_out(w) ||
        visible_hides(class, tag_attribute(attributes, line_end, "style"), 1))
        return;
    table_flatten(&w->rows, s, (size_t)(end - s), arranges);
    if (w->rows.len && !arranges && w->options.wanted >> PART_TABLES & 1)
        add_table(w);
    if (!w->shows_tables && !arranges)
        return;
    buf_clear(&w->grid);
    for (const char *lf, *row = w->rows.data; (lf = strchr(row, '\n')); row = lf + 1)
        if (w->options.markdown && !arranges && *row != MARKUP_CAPTION)
            add_row(w, row, lf);
        else
            put_row(w, row, lf, arranges ? " " : " | ");
    if (w->grid.len) {
        put_headings(w);
        markdown_table(&w->markdown, w->grid.data);
    }
}

/* Handles a line from s up to its end, or up to and with an HTML table in it. Returns where the
 * walk goes on. *at_start is 1 if s is the start of a line; sets it for the new position. */
static const char *on_piece(struct wikitext *w, const char *s, const char *end, int *at_start)
{
    const char *base = w->marked.data;
    const struct table_extent *table = table_in(&w->html_tables, (size_t)(s - base),
                                                (size_t)(end - base));
    if (!table) {
        on_line(w, s, end, *at_start);
        *at_start = 1;
        return end < base + w->marked.len ? end + 1 : end;
    }
    on_line(w, s, base + table->begin, *at_start);
    on_table(w, table);
    *at_start = 0;
    return base + table->end;
}

static void walk(struct wikitext *w)
{
    const char *base = w->marked.data, *end = base + w->marked.len, *passed = base;
    int at_start = 1;
    for (const char *s = base; s < end;) {
        if (!w->line.len) { /* all before s is written or left out */
            converter_pass(w->options.converter, span_between(passed, s));
            passed = s;
        }
        const char *line_end = span_until(s, end, '\n');
        const char *p = at_start ? s + table_indent(s, line_end) : s;
        const struct table_extent *table = at_start ? table_at(&w->tables, (size_t)(p - base))
                                                    : NULL;
        if (table && table->end) {
            on_table(w, table);
            s = base + table->end;
            at_start = 0;
        } else if (table) {
            end_paragraph(w);
            w->in_broken_table = 1;
            s = line_end + (line_end < end);
        } else {
            s = on_piece(w, s, line_end, &at_start);
        }
    }
    end_paragraph(w);
}

/* Adds a reference with this plain text to the page's parts, and the calls in w->templates, unless
 * it has no content. */
static void add_reference(struct wikitext *w, struct span name, struct span text, const char *links)
{
    struct buf *json = &w->options.parts->json[PART_REFERENCES];
    if (!text.n && !*links && !w->templates.len)
        return;
    structure_item(json);
    buf_adds(json, "{\"name\": ");
    js_quote(json, name.s, name.n);
    buf_adds(json, ", \"text\": ");
    js_quote(json, text.s, text.n);
    buf_addf(json, ", \"links\": [%s], \"templates\": [%s]}", links, w->templates.data);
    buf_clear(&w->templates);
}

/* Adds the references of the page to its parts. */
static void add_references(struct wikitext *w)
{
    size_t count;
    const struct span *r = markup_references(w->markup, &count);
    for (; w->inner && count; count--, r += 2) {
        page_parts_each(&w->inside, buf_clear);
        buf_clear(&w->templates);
        wikitext_clean(w->inner, r[1].s, r[1].n, &w->written);
        const struct span name = tag_attribute(r[0].s, r[0].s + r[0].n, "name");
        buf_clear(&w->line);
        entity_decode(&w->line, name.s, name.n);
        add_reference(w, span_of_buf(&w->line), span_of_buf(&w->written),
                      w->inside.json[PART_EXTERNAL_LINKS].data);
    }
}

static void begin_text(struct wikitext *w, struct buf *out)
{
    buf_clear(out);
    buf_clear(&w->codes);
    buf_clear(&w->line);
    for (int i = 0; i <= LEVELS; i++)
        buf_clear(&w->headings[i]);
    w->out = out;
    w->in_broken_table = 0;
    w->section_level = -1;
    w->markdown = (struct markdown){ .out = out, .codes = &w->codes };
    if (w->converter)
        converter_begin(w->converter, w->options.page ? w->options.page->variants : NULL);
    w->wanted_level = w->unwanted_level = 0; /* the text before the first heading is "lead" */
    begin_section(w, LEVELS + 1, "lead", strlen("lead"));
}

/* Does the second pass over w->marked. */
static void write_text(struct wikitext *w)
{
    table_find(&w->marked, &w->tables, &w->html_tables);
    if (w->converter)
        converter_judge(w->converter, span_of_buf(&w->marked));
    walk(w);
    end_section(w);
    buf_rtrim(w->out);
}

void wikitext_clean(struct wikitext *w, const char *text, size_t n, struct buf *out)
{
    /* each tab of <tabber> as a line "|-|", its label, "=", its text */
    static const char *const marks[][2] = { { "|-|", "\n|-|" },
                                            { "<tabber>", "<tabber>\n|-|" },
                                            { "|-|\n", "|-|" } };
    SCOPED(buf) tabs = BUF_INIT;
    begin_text(w, out);
    if ((w->has_tabs = bytes_find(text, text + n, "<tabber", 7) != NULL)) {
        buf_add(&tabs, text, n);
        buf_replace_all(&tabs, marks, sizeof marks / sizeof *marks);
        text = tabs.data, n = tabs.len;
    }
    markup_strip(w->markup, text, n, &w->marked);
    w->has_calls = bytes_find(text, text + n, "{{", 2) != NULL;
    write_text(w);
    add_references(w);
}

/* ---- HTML ---------------------------------------------------------------------------------- */

/* Handles the template call of a citation or of an infobox, which the HTML names. What else is
 * wanted of the call is in the HTML. */
static void on_call(void *ctx, const char *call, size_t n, int in_reference)
{
    struct wikitext *w = ctx;
    const struct wikitext_options page = w->options;
    if (in_reference) {
        wikitext_clean(w->inner, call, n, &w->written);
        return;
    }
    w->options.wanted &= 1u << PART_INFOBOXES;
    w->options.categories = NULL;
    markup_strip(w->markup, call, n, &w->written);
    w->options = page;
}

static void on_reference(void *ctx, struct span name, struct span text, const char *links)
{
    struct wikitext *w = ctx;
    buf_clear(&w->written);
    structure_plain(&w->written, text, 0);
    add_reference(w, name, span_of_buf(&w->written), links);
}

void wikitext_clean_html(struct wikitext *w, const char *html, size_t n, struct buf *out)
{
    const int has_calls = w->inner || w->options.wanted >> PART_INFOBOXES & 1;
    const struct html_options options = { &w->options, has_calls ? on_call : NULL, on_reference,
                                          w };
    begin_text(w, out);
    buf_clear(&w->templates);
    page_parts_each(&w->inside, buf_clear); /* on_call may add links there */
    html_strip(&options, html, n, &w->marked);
    w->has_calls = w->has_tabs = 0;
    write_text(w);
}
