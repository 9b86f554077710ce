#define _GNU_SOURCE /* memmem */
#include "wikiprep/text/wikitext.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "wikiprep/text/markup.h"
#include "wikiprep/text/table.h"

enum { LEVELS = 6 };

struct wikitext {
    struct wikitext_options options;
    struct markup *markup;
    struct buf marked;  /* output of the first pass */
    struct buf line;    /* source of the current paragraph, which may have several lines */
    struct buf written; /* output lines of the current paragraph */
    struct buf headings[LEVELS + 1]; /* by level: headings still without text */
    struct table_extents tables, html_tables;
    struct buf rows; /* rows of the current table */
    struct buf *out;
    const struct section_list *wanted, *unwanted;
    int wanted_level;    /* heading level of the wanted section; 0: outside */
    int unwanted_level;  /* heading level of the unwanted section; 0: outside */
    int has_calls;       /* the page has calls, and one of them may begin a table */
    int in_broken_table; /* 1: in an unclosed table; 2: after a blank line in it */
};

struct wikitext *wikitext_new(const struct names *names, const struct wikitext_options *options)
{
    struct wikitext *w = mem_zalloc(1, sizeof *w);
    w->options = *options;
    w->markup = markup_new(names, &w->options);
    buf_init(&w->marked);
    buf_init(&w->line);
    buf_init(&w->written);
    buf_init(&w->rows);
    for (int i = 0; i <= LEVELS; i++)
        buf_init(&w->headings[i]);
    return w;
}

void wikitext_free(struct wikitext *w)
{
    if (!w)
        return;
    markup_free(w->markup);
    buf_release(&w->marked);
    buf_release(&w->line);
    buf_release(&w->written);
    for (int i = 0; i <= LEVELS; i++)
        buf_release(&w->headings[i]);
    table_extents_release(&w->tables);
    table_extents_release(&w->html_tables);
    buf_release(&w->rows);
    free(w);
}

void wikitext_set_names(struct wikitext *w, const struct names *names)
{
    markup_set_names(w->markup, names);
}

void wikitext_set_sections(struct wikitext *w, const struct section_list *wanted,
                           const struct section_list *unwanted)
{
    w->wanted = wanted;
    w->unwanted = unwanted;
}

/* ---- quotes: '' and ''' ------------------------------------------------------------------- */

static size_t quotes_at(const char *s, const char *end)
{
    size_t n = 0;
    while (s + n < end && s[n] == '\'')
        n++;
    return n;
}

/* Returns the ''' that stands for an apostrophe and '', or NULL. As in MediaWiki's doQuotes, there
 * is one if the numbers of italic and bold marks are both odd. It is the first one after a word of
 * one letter, else after a longer word, else after a space. */
static const char *find_apostrophe(const char *s, const char *end)
{
    const char *after_letter = NULL, *after_word = NULL, *after_space = NULL;
    size_t bolds = 0, italics = 0;
    const char *begin = s;
    while ((s = memchr(s, '\'', (size_t)(end - s)))) {
        size_t n = quotes_at(s, end);
        bolds += n == 3 || n == 4 || n >= 5;
        italics += n == 2 || n >= 5;
        if (n == 3 || n == 4) {
            const char *quote = s + (n - 3);
            char before = quote > begin ? quote[-1] : ' ';
            char before2 = quote - 1 > begin ? quote[-2] : '\0';
            if (before == ' ')
                after_space = after_space ? after_space : quote;
            else if (before2 == ' ')
                after_letter = after_letter ? after_letter : quote;
            else
                after_word = after_word ? after_word : quote;
        }
        s += n;
    }
    if (!(bolds & 1) || !(italics & 1))
        return NULL;
    return after_letter ? after_letter : after_word ? after_word : after_space;
}

/* Appends a line of the source without its quote marks. */
static void add_without_quotes(struct buf *out, const char *s, const char *end)
{
    if (!bytes_find(s, end, "''", 2)) {
        buf_add(out, s, (size_t)(end - s));
        return;
    }
    const char *apostrophe = find_apostrophe(s, end);
    while (s < end) {
        const char *quote = memchr(s, '\'', (size_t)(end - s));
        if (!quote)
            quote = end;
        buf_add(out, s, (size_t)(quote - s));
        size_t n = quotes_at(quote, end);
        int kept = n == 1 || n == 4 || n > 5; /* MediaWiki keeps n - 5; here at most one */
        if (apostrophe && apostrophe >= quote && apostrophe < quote + n)
            kept = 1;
        if (kept)
            buf_addc(out, '\'');
        s = quote + n;
    }
}

/* ---- one line of output -------------------------------------------------------------------- */

struct writer {
    struct buf *out;
    size_t begin; /* offset of the line in out */
    int space;    /* 1: write a space before the next character */
    int hole;     /* 1: a MARKUP_HOLE came just before */
    int in_aside; /* 1: between two MARKUP_ASIDE */
    int says;     /* 1: the line has a letter or digit before `judged` */
    size_t judged;
};

static int ends_with_one(const struct writer *w, const char *ascii, const char *const *wide)
{
    size_t n = w->out->len - w->begin;
    const char *end = w->out->data + w->out->len;
    if (n && strchr(ascii, end[-1]))
        return 1;
    for (; n >= 3 && *wide; wide++)
        if (!memcmp(end - 3, *wide, 3))
            return 3;
    return 0;
}

static const char *const wide_open[] = { "（", "「", "『", "【", NULL };
static const char *const wide_close[] = { "）", "」", "』", "】", NULL };
static const char *const wide_comma[] = { "、", "，", "；", "：", NULL };

static int starts_with_one(const char *s, const char *end, const char *ascii,
                           const char *const *wide)
{
    if (strchr(ascii, *s))
        return 1;
    for (; end - s >= 3 && *wide; wide++)
        if (!memcmp(s, *wide, 3))
            return 3;
    return 0;
}

static int ends_open(const struct writer *w)
{
    return ends_with_one(w, "([", wide_open);
}

static int ends_comma(const struct writer *w)
{
    return ends_with_one(w, ",;:", wide_comma);
}

static void trim(struct writer *w)
{
    while (w->out->len > w->begin && w->out->data[w->out->len - 1] == ' ')
        buf_truncate(w->out, w->out->len - 1);
}

static void drop_commas(struct writer *w)
{
    for (int n; (n = ends_comma(w)); trim(w))
        buf_truncate(w->out, w->out->len - (size_t)n);
}

/* Repairs spaces and punctuation around a hole, before the character at s is written: changes the
 * end of the output if necessary, and returns the number of bytes at s to leave out. */
static int repair(struct writer *w, const char *s, const char *end)
{
    int n;
    if ((n = starts_with_one(s, end, ")]", wide_close))) {
        drop_commas(w);
        int open = ends_open(w);
        if (!open) {
            w->space = w->hole = 0;
            return 0;
        }
        buf_truncate(w->out, w->out->len - (size_t)open); /* remove the empty "()" */
        w->space = w->out->len > w->begin && w->out->data[w->out->len - 1] == ' ';
        trim(w);
        return n;
    }
    if ((n = starts_with_one(s, end, ",;:", wide_comma))) {
        if (ends_open(w) || ends_comma(w) || w->out->len == w->begin) {
            w->space = 0;
            return n;
        }
        w->space = w->hole = 0;
        return 0;
    }
    if (*s == '.' && (s + 1 == end || strchr(" \t\x0E\x0F\x12", s[1]))) {
        drop_commas(w);
        w->space = 0;
        n = w->out->len == w->begin || w->out->data[w->out->len - 1] == '.';
        w->hole = n;
        return n;
    }
    if (ends_open(w))
        w->space = 0;
    w->hole = 0;
    return 0;
}

/* Returns 1 if the text contains a letter or digit, else 0. Other lines are not written. */
static int says_something(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x80 || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
            return 1;
    }
    return 0;
}

/* Looks for a letter or digit in the output since the last call, unless it is an aside. */
static void judge(struct writer *w)
{
    size_t from = w->judged < w->begin ? w->begin : w->judged;
    if (!w->in_aside && from < w->out->len)
        w->says |= says_something(w->out->data + from, w->out->len - from);
    w->judged = w->out->len;
}

static void end_of_line(struct writer *w)
{
    if (w->hole)
        drop_commas(w);
    trim(w);
    judge(w);
    if (w->says)
        buf_addc(w->out, '\n');
    else
        buf_truncate(w->out, w->begin);
    w->begin = w->judged = w->out->len;
    w->space = w->hole = w->says = w->in_aside = 0;
}

static int is_plain(char c)
{
    return (unsigned char)c > 0x20 && (unsigned char)c != 0xC2;
}

typedef unsigned char row __attribute__((vector_size(16)));

/* Returns 1 if each of 16 bytes is plain, or is a space before a plain byte. Else returns 0. Reads
 * a 17th byte. */
static int are_plain(const char *s)
{
    row a, b;
    memcpy(&a, s, sizeof a);
    memcpy(&b, s + 1, sizeof b);
    row plain = (row)(a > 0x20) & (row)(a != 0xC2);
    row space = (row)(a == 0x20) & (row)(b > 0x20) & (row)(b != 0xC2);
    uint64_t both[2];
    plain |= space;
    memcpy(both, &plain, sizeof both);
    return (both[0] & both[1]) == UINT64_MAX;
}

/* Returns the length of the run at s that can be copied unchanged. It has no control bytes, no lead
 * byte of U+00A0, and no space before such a byte or another space. */
static size_t plain_run(const char *s, const char *end)
{
    const char *p = s;
    while (end - p > (ptrdiff_t)sizeof(row) && are_plain(p))
        p += sizeof(row);
    while (p < end && (is_plain(*p) || (*p == ' ' && p + 1 < end && is_plain(p[1]))))
        p++;
    return (size_t)(p - s);
}

static const char *write_one(struct writer *w, const char *s, const char *end)
{
    if (w->hole) {
        int skip = repair(w, s, end);
        if (skip)
            return s + skip;
    }
    if (w->space && w->out->len > w->begin)
        buf_addc(w->out, ' ');
    w->space = 0;
    size_t n = plain_run(s, end); /* s is not a space here */
    if (n) {
        buf_add(w->out, s, n);
        return s + n;
    }
    unsigned char c = (unsigned char)*s;
    buf_addc(w->out, c < 0x20 ? markup_plain[c] : c);
    return s + 1;
}

/* Writes the lines of a paragraph: collapses spaces, repairs holes, replaces stand-ins by their
 * characters. Each line that has a letter or digit is written, with LF. */
static void write_lines(struct buf *out, const char *s, const char *end)
{
    struct writer w = { .out = out, .begin = out->len, .judged = out->len };
    while (s < end) {
        unsigned char c = (unsigned char)*s;
        if (c == ' ' || c == '\t') {
            w.space = 1;
            s++;
        } else if (c == 0xC2 && s + 1 < end && (unsigned char)s[1] == 0xA0) {
            w.space = 1;
            s += 2;
        } else if (c < 0x20 && !markup_plain[c]) {
            if (c == MARKUP_HOLE) {
                w.hole = 1;
            } else if (c == MARKUP_ASIDE) {
                judge(&w);
                w.in_aside = !w.in_aside;
            } else if (c != MARKUP_EMPTY && c != MARKUP_LINKED) {
                end_of_line(&w);
            }
            s++;
        } else {
            s = write_one(&w, s, end);
        }
    }
    end_of_line(&w);
}

/* ---- paragraphs and headings --------------------------------------------------------------- */

/* Ends the current paragraph and writes it, after the headings that still have no text. */
static void end_paragraph(struct wikitext *w)
{
    if (!w->line.len)
        return;
    buf_clear(&w->written);
    write_lines(&w->written, w->line.data, w->line.data + w->line.len);
    buf_clear(&w->line);
    if (!w->written.len)
        return;
    for (int i = 0; i <= LEVELS; i++) {
        buf_add(w->out, w->headings[i].data, w->headings[i].len);
        buf_clear(&w->headings[i]);
    }
    buf_add(w->out, w->written.data, w->written.len);
}

/* Returns 1 for a character of Chinese or Japanese, else 0. A line end between two of them is not a
 * space. */
static int is_wide(const char *s)
{
    unsigned char c = (unsigned char)*s;
    return (c >= 0xE3 && c <= 0xE9) || c == 0xEF;
}

static void add_text(struct wikitext *w, const char *s, const char *end)
{
    if (w->line.len) {
        const char *last = w->line.data + w->line.len - 1;
        while (last > w->line.data && ((unsigned char)*last & 0xC0) == 0x80)
            last--;
        if (!(is_wide(last) && is_wide(s)))
            buf_addc(&w->line, ' ');
    }
    add_without_quotes(&w->line, s, end);
}

/* Writes s as a separate line. */
static void add_line(struct wikitext *w, const char *s, const char *end)
{
    end_paragraph(w);
    add_without_quotes(&w->line, s, end);
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

/* Begins a section with the heading s[0..n) of level `level` (the number of '='). */
static void begin_section(struct wikitext *w, int level, const char *s, size_t n)
{
    if (level <= w->unwanted_level || !w->unwanted_level)
        w->unwanted_level = w->unwanted && section_listed(w->unwanted, s, n) ? level : 0;
    if (w->wanted && (level <= w->wanted_level || !w->wanted_level))
        w->wanted_level = section_listed(w->wanted, s, n) ? level : 0;
}

/* Begins a page. The text before the first heading is the section "lead". */
static void begin_page(struct wikitext *w)
{
    w->wanted_level = w->unwanted_level = 0;
    begin_section(w, LEVELS + 1, SECTION_LEAD, strlen(SECTION_LEAD));
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
    add_without_quotes(&w->line, s, end);
    for (size_t i = 0; i < w->line.len; i++)
        if (w->line.data[i] == MARKUP_BREAK)
            w->line.data[i] = ' ';
    struct buf *heading = &w->headings[level];
    write_lines(heading, w->line.data, w->line.data + w->line.len);
    buf_clear(&w->line);
    begin_section(w, level, heading->data, heading->len - (heading->len > 0));
    if (w->options.no_headings || is_left_out(w))
        buf_clear(heading);
}

/* Writes a list item. "; term : definition" becomes "term: definition". */
static void add_list_item(struct wikitext *w, const char *s, const char *end)
{
    int is_term = 0;
    for (; s < end && strchr("*#:; ", *s); s++)
        is_term |= *s == ';';
    if (w->options.no_lists) {
        end_paragraph(w);
        return;
    }
    const char *colon = is_term ? memmem(s, (size_t)(end - s), " :", 2) : NULL;
    if (!colon) {
        add_line(w, s, end);
        return;
    }
    end_paragraph(w);
    add_without_quotes(&w->line, s, trim_end(s, colon));
    add_without_quotes(&w->line, colon + 1, end);
    end_paragraph(w);
}

/* ---- lines of the source ------------------------------------------------------------------- */

/* Returns 1 if the line belongs to the unclosed table, else 0. A heading ends the table, and so
 * does a line after a blank line that does not begin with '|' or '!'. */
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
    const char *p = s;
    while (p < end && memchr(MARKUP_UNSEEN, *p, 3))
        p++;
    int blank = p == end || trim_end(p, end) == p;
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
    } else if (*p == '|' && w->has_calls) { /* a row of a table that a template began */
        end_paragraph(w);
    } else if (*p == ' ') {
        add_line(w, s, end);
    } else if (end - p >= 4 && !memcmp(p, "----", 4)) {
        end_paragraph(w);
        while (p < end && *p == '-')
            p++;
        if (p < end)
            add_text(w, p, end);
    } else if (end - p >= 2 && p[0] == '=' && p[1] == '=') { /* an unclosed heading is text */
        while (p < end && (*p == '=' || *p == ' '))
            p++;
        if (p < end)
            add_text(w, p, end);
    } else {
        add_text(w, s, end);
    }
}

/* Writes the rows of a closed table, one per line, if tables are wanted. */
static void on_table(struct wikitext *w, const struct table_extent *table)
{
    end_paragraph(w);
    if (!w->options.tables || is_left_out(w))
        return;
    table_flatten(&w->rows, w->marked.data + table->begin, table->end - table->begin);
    for (const char *s = w->rows.data, *lf; (lf = strchr(s, '\n')); s = lf + 1)
        add_line(w, s, lf);
}

/* Handles a line, or the rest of one, up to its end or to an HTML table in it. *at_start is 1 if s
 * is at the start of a line, and is set to this for the position returned, where the walk
 * continues. */
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
    const char *base = w->marked.data, *end = base + w->marked.len;
    int at_start = 1;
    for (const char *s = base; s < end;) {
        const char *lf = memchr(s, '\n', (size_t)(end - s));
        const char *line_end = lf ? lf : end;
        const char *p = at_start ? s + table_indent(s, line_end) : s;
        const struct table_extent *table = at_start ? table_at(&w->tables, (size_t)(p - base))
                                                    : NULL;
        if (table && table->end) {
            on_table(w, table);
            s = base + table->end;
            at_start = 0;
            continue;
        }
        if (table) {
            end_paragraph(w);
            w->in_broken_table = 1;
            s = line_end + (lf != NULL);
            continue;
        }
        s = on_piece(w, s, line_end, &at_start);
    }
    end_paragraph(w);
}

void wikitext_clean(struct wikitext *w, const char *text, size_t n, struct buf *out)
{
    buf_clear(out);
    buf_clear(&w->line);
    for (int i = 0; i <= LEVELS; i++)
        buf_clear(&w->headings[i]);
    w->out = out;
    w->in_broken_table = 0;
    begin_page(w);
    markup_strip(w->markup, text, n, &w->marked);
    w->has_calls = bytes_find(text, text + n, "{{", 2) != NULL;
    table_find(&w->marked, &w->tables, &w->html_tables);
    walk(w);
    buf_rtrim(out);
}
