#include "tokenizer/input/csv.h"

void csv_open(struct csv *c, struct input *in)
{
    *c = (struct csv){ .in = in, .cells = BUF_INIT };
}

void csv_close(struct csv *c)
{
    buf_release(&c->cells);
    free(c->ends);
    *c = (struct csv){ .cells = BUF_INIT };
}

const char *csv_cell(const struct csv *c, size_t i, size_t *len)
{
    size_t begin = i ? c->ends[i - 1] : 0;
    *len = c->ends[i] - begin;
    return c->cells.data + begin;
}

static int bad(const struct csv *c, const char *what)
{
    return err_set("%s: line %" PRIu64 ": %s", c->in->path, c->line, what);
}

/* Appends the part of a quoted cell on this line, from *at on. Returns 1 and moves *at past the
 * closing quote, or 0 if the cell continues on the next line. */
static int add_quoted(struct csv *c, const char *line, size_t n, size_t *at)
{
    for (;;) {
        const char *quote = *at < n ? memchr(line + *at, '"', n - *at) : NULL;
        size_t end = quote ? (size_t)(quote - line) : n;
        buf_add(&c->cells, line + *at, end - *at);
        *at = end + 1;
        if (!quote)
            return 0;
        if (*at == n || line[*at] != '"')
            return 1;
        buf_addc(&c->cells, '"');
        ++*at;
    }
}

/* Appends an unquoted cell, which begins at line[*at] and ends at a comma or at the end of the
 * line. Moves *at to that end. Returns 0, or -1 with an error. */
static int add_plain(struct csv *c, const char *line, size_t n, size_t *at)
{
    const char *comma = *at < n ? memchr(line + *at, ',', n - *at) : NULL;
    size_t end = comma ? (size_t)(comma - line) : n;
    if (*at < end && memchr(line + *at, '"', end - *at))
        return bad(c, "a quote inside a cell that is not in quotes (RFC 4180 doubles it)");
    buf_add(&c->cells, line + *at, end - *at);
    *at = end;
    return 0;
}

/* Returns the length of a line without a CR at its end. Inside quotes, CR belongs to the cell. */
static size_t without_return(const char *line, size_t n)
{
    return n && line[n - 1] == '\r' ? n - 1 : n;
}

/* Adds the cells of one line. *open 1: on entry, the line begins inside a quoted cell; on return,
 * it ends inside one. Returns 0, or -1 with an error. */
static int add_line(struct csv *c, const char *line, size_t n, int *open)
{
    size_t end = without_return(line, n);
    for (size_t at = 0;; at++) {
        int quoted = *open || (at < end && line[at] == '"');
        at += quoted && !*open;
        *open = quoted && !add_quoted(c, line, n, &at);
        if (*open)
            return 0;
        if (!quoted && add_plain(c, line, end, &at) < 0)
            return -1;
        mem_next(c->ends, c->count, c->cap) = c->cells.len;
        if (at >= end)
            return 0;
        if (line[at] != ',')
            return bad(c, "text between a closing quote and the next comma");
    }
}

static int next_line(struct csv *c, char **line, size_t *n)
{
    int got = input_line(c->in, line, n);
    c->line += got > 0;
    return got;
}

int csv_read(struct csv *c)
{
    char *line;
    size_t n;
    int got, open = 0;
    buf_clear(&c->cells);
    c->count = 0;
    do
        got = next_line(c, &line, &n);
    while (got > 0 && !without_return(line, n));
    if (got <= 0)
        return got;
    c->record = c->line;
    while (add_line(c, line, n, &open) == 0) {
        if (!open)
            return 1;
        buf_addc(&c->cells, '\n');
        if (c->in->most && c->cells.len > c->in->most)
            return bad(c, "its record is longer than what may be unpacked at once");
        if ((got = next_line(c, &line, &n)) <= 0) {
            c->line = c->record;
            return got < 0 ? -1 : bad(c, "its record has a quote that is never closed");
        }
    }
    return -1;
}
