/* Cleans up spaces, punctuation and lines for classic.h, after the markup is gone. */
#include "wikiprep/classic/classic_pass.h"

#include "common/base/lines.h"
#include "common/base/utf8.h"
#include "common/formats/document.h"
#include "unicode/unicode.h"
#include "unicode/whitespace.h"

enum { LEVELS = 64 }; /* maximum level of a heading */

/* ---- characters ---------------------------------------------------------------------------- */

/* Returns 1 if the character at s is a letter, a digit or '_', as \w in Python, else 0. Sets *n to
 * its length in bytes. */
static int is_word(const char *s, const char *end, size_t *n)
{
    unsigned c;
    *n = utf8_read(s, (size_t)(end - s), &c);
    const unsigned category = unicode_of(c)->category;
    return c == '_' || category <= UNICODE_LO || (category >= UNICODE_ND && category <= UNICODE_NO);
}

/* ---- tidying ------------------------------------------------------------------------------- */

/* Appends the text to `out`. Runs of spaces and tabs become one space, more than three dots become
 * three. */
static void put_squeezed(struct buf *out, const struct buf *text)
{
    const char *s = text->data, *end = s + text->len, *done = s;
    while (s < end) {
        size_t n = 1, kept = 1;
        if (*s == ' ' || *s == '\t')
            while (s[n] == ' ' || s[n] == '\t')
                n++;
        if (*s == '.')
            kept = (n = strspn(s, ".")) < 3 ? n : 3;
        if (n > kept || *s == '\t') {
            buf_add(out, done, (size_t)(s - done));
            buf_add(out, *s == '.' ? "..." : " ", kept);
            done = s + n;
        }
        s += n;
    }
    buf_add(out, done, (size_t)(end - done));
}

static int closes(const char *s, const char *end)
{
    return s < end && (strchr(",:.)]", *s) || (end - s >= 2 && !memcmp(s, "»", 2)));
}

static int opens_before(const char *begin, const char *s)
{
    return s > begin && (strchr("[(", s[-1]) || (s - begin >= 2 && !memcmp(s - 2, "«", 2)));
}

/* Appends the text to `out` without spaces before closing punctuation or after opening
 * punctuation. */
static void put_closed_up(struct buf *out, const struct buf *text)
{
    const char *s = text->data, *end = s + text->len, *done = s;
    for (; (s = memchr(s, ' ', (size_t)(end - s))); s++)
        if (closes(s + 1, end) || opens_before(text->data, s)) {
            buf_add(out, done, (size_t)(s - done));
            done = s + 1;
        }
    buf_add(out, done, (size_t)(end - done));
}

/* Appends the text to `out` without the lines that have no letters, and without the line end before
 * each of these lines. */
static void put_lines_with_words(struct buf *out, const struct buf *text)
{
    const char *s = text->data, *end = s + text->len, *done = s;
    for (; (s = memchr(s, '\n', (size_t)(end - s))); s++) {
        const char *p = s + 1;
        size_t n;
        do
            n = p < end && !is_word(p, end, &n) ? n : 0;
        while ((p += n) < end && n && *p != '\n');
        if (n && p < end) {
            buf_add(out, done, (size_t)(s - done));
            done = s = p;
        }
    }
    buf_add(out, done, (size_t)(end - done));
}

void classic_tidy(struct classic *c)
{
    put_squeezed(&c->next, &c->text);
    classic_passed(c);
    put_closed_up(&c->next, &c->text);
    classic_passed(c);
    put_lines_with_words(&c->next, &c->text);
    classic_passed(c);
}

/* ---- lines --------------------------------------------------------------------------------- */

struct heading {
    const char *title;
    size_t n;
    int is_there;
};

struct writer {
    struct buf *out;
    struct heading headings[LEVELS + 1]; /* headings of sections without text so far, by level */
    int waiting;                         /* some headings are pending */
    int begun;                           /* a line was written */
};

static void put_line(struct writer *w, const char *s, size_t n)
{
    if (w->begun)
        buf_addc(w->out, '\n');
    w->begun = 1;
    document_escape(w->out, s, n, 0);
}

static void put_title(struct writer *w, const char *s, size_t n)
{
    put_line(w, s, n);
    if (n && s[n - 1] != '!' && s[n - 1] != '?')
        buf_addc(w->out, '.');
}

/* Handles the line if it begins with "== Title ==". Returns 1 if it is such a heading, else 0. */
static int add_heading(struct writer *w, const char *s, const char *end)
{
    size_t most = strspn(s, "=");
    for (size_t level = most < LEVELS ? most : LEVELS; level >= 2; level--) {
        const char *title = s + level, *p;
        for (size_t n; (n = whitespace_at(title, (size_t)(end - title)));)
            title += n;
        for (p = title; (size_t)(end - p) >= level && strspn(p, "=") < level;)
            p += *p == '=' ? strspn(p, "=") : 1;
        if ((size_t)(end - p) < level)
            continue;
        size_t n = whitespace_strip(title, (size_t)(p - title)).n;
        w->headings[level] = (struct heading){ title, n, 1 };
        for (size_t i = level + 1; i <= LEVELS; i++)
            w->headings[i].is_there = 0;
        w->waiting = 1;
        return 1;
    }
    return 0;
}

static void put_headings(struct writer *w)
{
    for (int i = 0; i <= LEVELS && w->waiting; i++) {
        if (w->headings[i].is_there)
            put_title(w, w->headings[i].title, w->headings[i].n);
        w->headings[i].is_there = 0;
    }
    w->waiting = 0;
}

/* Returns 1 if the line is a remnant of a table, is entirely in parentheses, or has only dots and
 * dashes, else 0. */
static int is_remains(const char *s, const char *end)
{
    return *s == '{' || *s == '|' || end[-1] == '}' || (*s == '(' && end[-1] == ')') ||
           s + strspn(s, ".-") == end;
}

static void add_line(struct writer *w, const char *s, const char *end)
{
    if (!whitespace_strip(s, (size_t)(end - s)).n || add_heading(w, s, end))
        return;
    if (end - s >= 2 && s[0] == '+' && s[1] == '+') {
        if (end - s > 4)
            put_title(w, s + 2, (size_t)(end - s) - 4);
    } else if (*s == ':') {
        s += strspn(s, ":");
        put_line(w, s, (size_t)(end - s));
    } else if (!strchr("*#;", *s) && !is_remains(s, end)) {
        put_headings(w);
        put_line(w, s, (size_t)(end - s));
    }
}

void classic_write_lines(const struct classic *c, struct buf *out)
{
    struct writer w = { .out = out };
    buf_clear(out);
    struct lines lines = LINES_OF(c->text.data, c->text.len);
    while (lines_next(&lines))
        add_line(&w, lines.line, lines.line + lines.len);
}
