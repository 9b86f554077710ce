#include "wikiprep/text/table.h"

#include "common/base/lines.h"
#include "wikiprep/text/paragraph.h"
#include "wikiprep/values/marks.h"
#include "wikiprep/values/span.h"

/* ---- finding tables ------------------------------------------------------------------------ */

static void open_extent(struct table_extents *e, size_t at)
{
    mem_grow(e->items, e->cap, e->count + 1);
    mem_next(e->open, e->open_count, e->open_cap) = e->count;
    e->items[e->count++] = (struct table_extent){ .begin = at };
}

static void close_extent(struct table_extents *e, size_t at)
{
    if (e->open_count)
        e->items[e->open[--e->open_count]].end = at;
}

void table_extents_release(struct table_extents *e)
{
    free(e->items);
    free(e->open);
    *e = (struct table_extents){ 0 };
}

size_t table_indent(const char *s, const char *end)
{
    return (size_t)(span_past(s, end, " \t:*#\x0F" MARKUP_UNSEEN) - s);
}

void table_find(const struct buf *text, struct table_extents *wiki, struct table_extents *html)
{
    const char *base = text->data, *end = base + text->len;
    wiki->count = wiki->open_count = wiki->next = 0;
    html->count = html->open_count = html->next = 0;
    if (bytes_find(base, end, "{|", 2)) {
        struct lines l = LINES_OF(base, text->len);
        while (lines_next(&l)) {
            const char *line_end = l.line + l.len, *p = l.line + table_indent(l.line, line_end);
            if (span_begins(p, line_end, "{|"))
                open_extent(wiki, (size_t)(p - base));
            else if (span_begins(p, line_end, "|}"))
                close_extent(wiki, (size_t)(p + 2 - base));
        }
    }
    if (!memchr(base, MARKUP_TABLE, text->len))
        return;
    for (const char *s = base; s < end; s++) {
        if (*s == MARKUP_TABLE)
            open_extent(html, (size_t)(s - base));
        else if (*s == MARKUP_TABLE_END)
            close_extent(html, (size_t)(s + 1 - base));
    }
}

const struct table_extent *table_at(struct table_extents *e, size_t at)
{
    while (e->next < e->count && e->items[e->next].begin < at)
        e->next++;
    return e->next < e->count && e->items[e->next].begin == at ? &e->items[e->next] : NULL;
}

const struct table_extent *table_in(struct table_extents *e, size_t from, size_t to)
{
    while (e->next < e->count && (e->items[e->next].begin < from || !e->items[e->next].end))
        e->next++;
    return e->next < e->count && e->items[e->next].begin < to ? &e->items[e->next] : NULL;
}

/* ---- cells --------------------------------------------------------------------------------- */

struct flat {
    struct buf *out;
    size_t row, cell; /* offsets of the current row and cell in out */
    int says;         /* 1: the current row has text before the current cell */
    int depth;        /* nesting depth of tables in wikitext syntax */
    int in_caption, lines;
};

int table_has_text(const char *text, size_t n)
{
    const unsigned char *s = (const unsigned char *)text, *end = s + n;
    for (; s < end; s++) {
        if (s[0] == 0xC2 && s[1] == 0xA0) /* a no-break space */
            s++;
        else if (*s < ' ' ? markup_plain[*s] : *s != ' ' && *s != '\'')
            return 1;
    }
    return 0;
}

/* Returns 1 if the current cell has text, else 0. */
static int has_text(const struct flat *f)
{
    return table_has_text(f->out->data + f->cell, f->out->len - f->cell);
}

static void begin_cell(struct flat *f)
{
    f->says |= has_text(f);
    buf_addc(f->out, MARKUP_CELL_END);
    f->cell = f->out->len;
}

static void end_row(struct flat *f)
{
    if (f->says || has_text(f))
        buf_addc(f->out, '\n');
    else
        buf_truncate(f->out, f->row);
    f->row = f->cell = f->out->len;
    f->in_caption = f->says = 0;
}

/* Writes the text of a cell. Cells, rows and tables in HTML inside it begin new cells and rows. */
static void put_text(struct flat *f, const char *s, const char *end)
{
    for (; s < end; s++) {
        switch (*s) {
        case MARKUP_CELL: begin_cell(f); break;
        case MARKUP_ROW:
        case MARKUP_TABLE:
        case MARKUP_TABLE_END: end_row(f); break;
        case MARKUP_BREAK: buf_addc(f->out, ' '); break;
        default: buf_addc(f->out, *s);
        }
    }
}

/* Returns the position after a cell's attributes, which end with a pipe and contain no link. */
static const char *skip_attributes(const char *s, const char *end)
{
    const char *pipe = memchr(s, '|', (size_t)(end - s));
    return pipe && !memchr(s, MARKUP_LINKED, (size_t)(pipe - s)) ? pipe + 1 : s;
}

/* Writes the cells of one line; s is after its first '|' or '!'. `header` 1: the line begins with
 * '!', so "!!" separates cells, too. */
static void put_cells(struct flat *f, const char *s, const char *end, int header)
{
    if (f->in_caption)
        end_row(f);
    for (;;) {
        const char *next = s;
        while (next < end && !span_begins(next, end, "||") &&
               !(header && span_begins(next, end, "!!")))
            next++;
        begin_cell(f);
        put_text(f, skip_attributes(s, next), next);
        if (next == end)
            return;
        s = next + 2;
    }
}

/* Writes a line that continues the current cell. A list item is set apart, and a heading loses its
 * '='. */
static void put_more(struct flat *f, const char *s, const char *end)
{
    for (; end - s >= 3 && *s == '=' && end[-1] == '='; s++)
        end--;
    const char *item = span_past(s, end, "*#:;");
    int apart = item > s && has_text(f) && !strchr(":;", f->out->data[f->out->len - 1]);
    buf_adds(f->out, item > s && f->lines ? "\x0F" : apart ? "; " : " ");
    put_text(f, item, end);
}

static void put_line(struct flat *f, const char *s, const char *end)
{
    const char *p = s + table_indent(s, end);
    if (span_begins(p, end, "{|")) {
        end_row(f);
        f->depth++;
    } else if (!f->depth || p == end || (*p != '|' && *p != '!')) {
        put_more(f, s, end);
    } else if (span_begins(p, end, "|}")) {
        end_row(f);
        f->depth--;
        put_text(f, p + 2, end);
    } else if (span_begins(p, end, "|-")) {
        end_row(f);
    } else if (span_begins(p, end, "|+")) {
        end_row(f);
        buf_addc(f->out, MARKUP_CAPTION);
        put_text(f, skip_attributes(p + 2, end), end);
        f->in_caption = 1;
    } else {
        put_cells(f, p + 1, end, *p == '!');
    }
}

void table_flatten(struct buf *out, const char *s, size_t n, int lines)
{
    struct flat f = { .out = out, .lines = lines };
    buf_clear(out);
    struct lines l = LINES_OF(s, n);
    while (lines_next(&l))
        put_line(&f, l.line, l.line + l.len);
    end_row(&f);
}
