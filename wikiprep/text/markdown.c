#include "wikiprep/text/markdown.h"

#include <ctype.h>

#include "common/base/lines.h"
#include "wikiprep/values/marks.h"

enum { QUOTES_MAX = 8 };

/* ---- text ---------------------------------------------------------------------------------- */

/* Returns the length of the longest run of backticks. */
static size_t longest_run(const char *s, const char *end)
{
    size_t longest = 0;
    for (size_t n = 0; s < end; s++) {
        n = *s == '`' ? n + 1 : 0;
        longest = n > longest ? n : longest;
    }
    return longest;
}

static void put_many(struct buf *out, size_t n, char c)
{
    while (n--)
        buf_addc(out, c);
}

/* Writes code or a formula. */
static void put_raw(struct markdown *m, const char *s, const char *end)
{
    for (; s < end; s++) {
        if (*s == '|' && m->in_table)
            buf_addc(m->out, '\\');
        if ((unsigned char)*s >= ' ' || *s == '\n' || *s == '\t') /* drops marker bytes (marks.h) */
            buf_addc(m->out, *s == '\n' ? ' ' : *s);
    }
}

/* Writes inline code between runs of backticks that are longer than any run in it. */
static void put_code(struct markdown *m, const char *s, const char *end)
{
    size_t ticks = longest_run(s, end) + 1;
    int padded = s < end && (*s == '`' || end[-1] == '`' || (*s == ' ' && end[-1] == ' '));
    if (s == end)
        return;
    put_many(m->out, ticks, '`');
    put_many(m->out, padded, ' ');
    put_raw(m, s, end);
    put_many(m->out, padded, ' ');
    put_many(m->out, ticks, '`');
}

/* Returns the code at `offset`, a decimal number, of m->codes. Sets *language if it is not NULL. */
static struct span code_at(const struct markdown *m, const char *offset, struct span *language)
{
    size_t at = strtoul(offset, NULL, 10);
    const char *s = m->codes->data + (at < m->codes->len ? at : 0);
    struct span code = span_of(s + strlen(s) + 1);
    if (language)
        *language = span_of(s);
    while (code.n && code.s[code.n - 1] == '\n')
        code.n--;
    while (code.n && *code.s == '\n')
        code.s++, code.n--;
    return code;
}

/* Writes the code or formula whose marker byte (marks.h) is at s. Returns the position after it. */
static const char *put_marked(struct markdown *m, const char *s, const char *end)
{
    const char *close = memchr(s + 1, *s, (size_t)(end - s - 1));
    if (!close)
        return s + 1;
    if (*s == MARKUP_BLOCK) {
        struct span code = code_at(m, s + 1, NULL);
        put_code(m, code.s, code.s + code.n);
    } else if (*s == MARKUP_CODE) {
        put_code(m, s + 1, close);
    } else {
        struct span formula = span_trim(span_between(s + 1, close));
        size_t slashes = 0; /* an odd number would escape the dollar after them: "\ " is a space */
        while (slashes < formula.n && formula.s[formula.n - 1 - slashes] == '\\')
            slashes++;
        formula.n -= slashes & 1;
        buf_adds(m->out, formula.n ? "$" : "");
        put_raw(m, formula.s, formula.s + formula.n);
        buf_adds(m->out, formula.n ? "$" : "");
    }
    return close + 1;
}

/* Returns the offset in the line of a character that would begin a Markdown block there: 1 for
 * "1.", 0 for "#". Returns -1 if there is none. */
static int block_sign(const char *s, const char *end)
{
    const char *p = span_past(s, end, "0123456789");
    if (p > s && p < end && (*p == '.' || *p == ')') && (p + 1 == end || p[1] == ' '))
        return (int)(p - s);
    return s < end && strchr("#+-=", *s) ? 0 : -1;
}

/* Writes a line of text, with the backslashes it needs. `is_heading` 1: also before each '#'. */
static void put_escaped(struct markdown *m, const char *s, const char *end, int is_heading)
{
    int sign = block_sign(s, end);
    const char *escape = sign >= 0 ? s + sign : NULL;
    while (s < end) {
        const char *plain = s;
        while (s < end && s != escape && (unsigned char)*s >= ' ' && !strchr("\\`*_[]<>&$~|#", *s))
            s++;
        buf_add(m->out, plain, (size_t)(s - plain));
        if (s == end)
            return;
        if ((unsigned char)*s < ' ') {
            s = put_marked(m, s, end);
            continue;
        }
        int is_text = *s == '#'   ? s != escape && !is_heading
                      : *s == '&' ? s + 1 == end || !(isalpha((unsigned char)s[1]) || s[1] == '#')
                                  : 0;
        if (!is_text)
            buf_addc(m->out, '\\');
        buf_addc(m->out, *s++);
    }
}

/* ---- blocks -------------------------------------------------------------------------------- */

static void put_quotes(struct markdown *m, int n)
{
    for (int i = 0; i < n; i++)
        buf_adds(m->out, i + 1 < n ? "> " : ">");
}

/* Begins a line of a block. */
static void put_start(struct markdown *m, int indent)
{
    put_quotes(m, m->quotes);
    put_many(m->out, (size_t)indent + (m->quotes > 0), ' ');
}

/* Ends the block before. `tight` 1: no blank line follows it. */
static void begin_block(struct markdown *m, int tight)
{
    int both = m->quotes < m->quotes_before ? m->quotes : m->quotes_before;
    if (m->out->len)
        buf_addc(m->out, '\n');
    if (m->out->len && !tight) {
        put_quotes(m, both);
        buf_addc(m->out, '\n');
    }
    m->quotes_before = m->quotes;
}

void markdown_heading(struct markdown *m, int level, const char *s, size_t n)
{
    m->quotes = 0;
    begin_block(m, 0);
    m->depth = 0;
    put_many(m->out, (size_t)(level ? level : 1), '#');
    buf_addc(m->out, ' ');
    put_escaped(m, s, s + n, 1);
}

/* Begins a paragraph or a block of code. `indent` -1: it is the first in a list item with these
 * signs (no signs: in no item). Else it is a later one, with this indent. Returns the indent of its
 * lines. */
static int begin_part(struct markdown *m, struct span signs, int indent)
{
    if (indent >= 0) {
        begin_block(m, 0);
        put_start(m, indent);
        return indent;
    }
    indent = 0;
    int depth = signs.n < (size_t)m->depth + 1 ? (int)signs.n : m->depth + 1;
    if (depth > MARKDOWN_DEPTH)
        depth = MARKDOWN_DEPTH;
    for (int i = 0; i + 1 < depth; i++)
        indent += m->widths[i];
    const char sign = signs.n ? signs.s[signs.n - 1] : ':';
    const char *mark = sign == '*' ? "- " : sign == '#' ? "1. " : "";
    begin_block(m, *mark && m->depth && m->quotes == m->quotes_before);
    put_start(m, indent);
    buf_adds(m->out, mark);
    m->depth = depth;
    if (depth)
        m->widths[depth - 1] = (int)strlen(mark);
    return indent + (int)strlen(mark);
}

/* Writes the block of code whose offset the mark at s has (see begin_part). Returns its indent. */
static int put_block(struct markdown *m, const char *s, struct span signs, int indent)
{
    struct span language, code = code_at(m, s + 1, &language);
    size_t ticks = longest_run(code.s, code.s + code.n) + 1;
    ticks = ticks < 3 ? 3 : ticks;
    indent = begin_part(m, signs, indent);
    put_many(m->out, ticks, '`');
    for (size_t i = 0; i < language.n && !strchr(" `\t\n", language.s[i]); i++)
        buf_addc(m->out, language.s[i]);
    struct lines l = LINES_OF(code.s, code.n);
    while (lines_next(&l)) {
        buf_addc(m->out, '\n');
        put_start(m, indent);
        buf_add(m->out, l.line, l.len);
    }
    buf_addc(m->out, '\n');
    put_start(m, indent);
    put_many(m->out, ticks, '`');
    return indent;
}

/* Returns 1 if the line is nothing but a formula, else 0. */
static int is_formula(const char *s, const char *end)
{
    return end - s > 2 && *s == MARKUP_FORMULA && end[-1] == MARKUP_FORMULA &&
           !memchr(s + 1, MARKUP_FORMULA, (size_t)(end - s - 2));
}

/* Writes s..end, plain lines only, as one paragraph (see begin_part). Returns its indent. */
static int put_paragraph(struct markdown *m, const char *s, const char *end, struct span signs,
                         int indent)
{
    int is_item = signs.n && signs.s[signs.n - 1] != ':';
    int display = !is_item && is_formula(s, end - 1);
    indent = begin_part(m, signs, indent);
    if (display)
        buf_addc(m->out, '$');
    while (s < end) {
        const char *lf = memchr(s, '\n', (size_t)(end - s));
        put_escaped(m, s, lf, 0);
        s = lf + 1;
        if (s < end) {
            buf_adds(m->out, "\\\n");
            put_start(m, indent);
        }
    }
    if (display)
        buf_addc(m->out, '$');
    return indent;
}

void markdown_lines(struct markdown *m, struct span lines, struct span signs)
{
    int indent = -1;
    for (const char *s = lines.s, *end = s + lines.n, *stop; s < end; s = stop) {
        for (stop = s; stop < end && (*stop < MARKUP_BLOCK || *stop > MARKUP_QUOTE_END);)
            stop = (const char *)memchr(stop, '\n', (size_t)(end - stop)) + 1;
        if (stop > s) {
            indent = put_paragraph(m, s, stop, signs, indent);
            continue;
        }
        if (*s == MARKUP_BLOCK) {
            indent = put_block(m, s, signs, indent);
        } else {
            if (*s == MARKUP_QUOTE)
                m->quotes += m->quotes < QUOTES_MAX;
            else
                m->quotes_before = m->quotes -= m->quotes > 0;
            m->depth = 0;
            indent = -1;
        }
        stop = (const char *)memchr(s, '\n', (size_t)(end - s)) + 1;
    }
}

/* ---- tables -------------------------------------------------------------------------------- */

static void put_cell(struct markdown *m, const char *s, const char *end)
{
    buf_addc(m->out, ' ');
    m->in_table = 1;
    struct lines l = LINES_OF(s, end - s);
    while (lines_next(&l)) {
        put_escaped(m, l.line, l.line + l.len, 0);
        buf_addc(m->out, ' ');
    }
    buf_addc(m->out, '|');
    m->in_table = 0;
}

static size_t count_cells(const char *row)
{
    size_t cells = 0;
    for (const char *s = row; *s; s++)
        cells += *s == MARKUP_CELL_END;
    return cells;
}

void markdown_table(struct markdown *m, const char *rows)
{
    size_t columns = 0;
    for (const char *row = rows; *row; row += strlen(row) + 1)
        columns = count_cells(row) > columns ? count_cells(row) : columns;
    m->depth = 0;
    for (const char *row = rows; *row; row += strlen(row) + 1) {
        begin_block(m, row > rows);
        put_start(m, 0);
        buf_addc(m->out, '|');
        for (const char *s = row, *stop; *s; s = stop + 1) {
            stop = strchr(s, MARKUP_CELL_END);
            put_cell(m, s, stop);
        }
        if (row > rows) /* a row may have fewer cells than the head */
            continue;
        for (size_t cells = count_cells(row); cells < columns; cells++)
            put_cell(m, "", "");
        buf_addc(m->out, '\n');
        put_start(m, 0);
        buf_addc(m->out, '|');
        for (size_t i = 0; i < columns; i++)
            buf_adds(m->out, " --- |");
    }
}
