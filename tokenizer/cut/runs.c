#include "tokenizer/cut/runs.h"

#include "common/base/utf8.h"
#include "tokenizer/cut/ascii.h"

/* ---- patterns -------------------------------------------------------------------------------- */

/* What is left of a pattern that is being read. */
struct rest {
    const char *text;
    size_t n;
};

static int takes(struct rest *p, const char *token)
{
    size_t len = strlen(token);
    if (p->n < len || memcmp(p->text, token, len) != 0)
        return 0;
    p->text += len;
    p->n -= len;
    return 1;
}

/* Moves the next character of the pattern from *p to the run's characters. Returns 1, or 0 if there
 * is none, if it has a special meaning, or if the run has too many. */
static int take_char(struct run *r, struct rest *p)
{
    size_t len;
    if (!p->n || r->count == RUN_CHARS || !*p->text || strchr("\\^$.|?*+()[]{}-&#", *p->text))
        return 0;
    utf8_get((const unsigned char *)p->text, &len);
    memcpy(r->chars[r->count], p->text, len);
    r->lens[r->count++] = len;
    p->text += len;
    p->n -= len;
    return 1;
}

static int take_chars(struct run *r, struct rest *p)
{
    if (!takes(p, "["))
        return take_char(r, p);
    while (take_char(r, p))
        ;
    return r->count && takes(p, "]");
}

/* Reads + or {m,}, where m is one digit, into r->least_count. Returns 1, or 0 if the pattern does
 * not go on with one of these. */
static int take_least(struct run *r, struct rest *p)
{
    r->least_count = 1;
    if (takes(p, "+"))
        return 1;
    if (p->n < 4 || p->text[0] != '{' || p->text[1] < '1' || p->text[1] > '9')
        return 0;
    r->least_count = (size_t)(p->text[1] - '0');
    p->text += 2;
    p->n -= 2;
    return takes(p, ",}");
}

static int take_run(struct run *r, struct rest *p)
{
    *r = (struct run){ .at_begin = takes(p, "\\A") };
    if (!take_chars(r, p) || !take_least(r, p))
        return 0;
    r->at_end = takes(p, "\\z");
    if (r->at_begin || r->at_end)
        return !(r->at_begin && r->at_end);
    if (r->count > 1 || r->least_count * r->lens[0] > RUN_BYTES)
        return 0;
    for (size_t i = 0; i < r->least_count; i++, r->least_len += r->lens[0])
        memcpy(r->least + r->least_len, r->chars[0], r->lens[0]);
    return 1;
}

int runs_read(struct runs *r, const char *pattern, size_t n)
{
    struct rest p = { pattern, n };
    r->count = 0;
    if (utf8_valid(pattern, n) != n)
        return 0;
    do {
        if (r->count == RUNS_MAX || !take_run(&r->items[r->count++], &p))
            return 0;
    } while (takes(&p, "|"));
    /* to search for several in turn would take quadratic time */
    for (int i = 0; i < r->count && r->count > 1; i++)
        if (!r->items[i].at_begin && !r->items[i].at_end)
            return 0;
    return !p.n;
}

/* ---- matches --------------------------------------------------------------------------------- */

/* Finds the character of the run with which text[0..n) begins, or ends if from_the_end is 1.
 * Returns its length in bytes, or 0 if there is none. */
static size_t char_at(const struct run *r, const char *text, size_t n, int from_the_end)
{
    for (int i = 0; i < r->count; i++)
        if (n >= r->lens[i] &&
            !memcmp(text + (from_the_end ? n - r->lens[i] : 0), r->chars[i], r->lens[i]))
            return r->lens[i];
    return 0;
}

/* Returns the position after the run that begins at text[at], and sets *count to its number of
 * characters. */
static size_t end_of(const struct run *r, const char *text, size_t n, size_t at, size_t *count)
{
    *count = 0;
    for (size_t len; (len = char_at(r, text + at, n - at, 0)) > 0; at += len)
        ++*count;
    return at;
}

/* Returns the position of the first r->least in text[from..n), n if there is none. Searches 64
 * bytes at a time for the first two bytes of r->least, which is short, so the time is linear. */
static size_t find_least(const struct run *r, const char *text, size_t n, size_t from)
{
    size_t len = r->least_len, i = from;
    for (; i + ASCII_BLOCK + len <= n; i += ASCII_BLOCK) {
        const unsigned char *p = (const unsigned char *)text + i;
        uint64_t hits = ascii_find(p, (unsigned char)r->least[0]);
        if (len > 1 && hits)
            hits &= ascii_find(p + 1, (unsigned char)r->least[1]);
        for (; hits; hits &= hits - 1)
            if (!memcmp(p + __builtin_ctzll(hits), r->least, len))
                return i + (size_t)__builtin_ctzll(hits);
    }
    for (; i + len <= n; i++)
        if (!memcmp(text + i, r->least, len))
            return i;
    return n;
}

static int find_run(const struct run *r, const char *text, size_t n, size_t from, size_t *begin,
                    size_t *end)
{
    size_t count = 0;
    if (r->at_end) {
        *begin = *end = n;
        for (size_t len; (len = char_at(r, text + from, *begin - from, 1)) > 0; *begin -= len)
            count++;
        return count >= r->least_count;
    }
    if (r->at_begin && from)
        return 0;
    *begin = r->at_begin ? 0 : find_least(r, text, n, from);
    *end = end_of(r, text, n, *begin, &count);
    return count >= r->least_count;
}

int runs_find(const struct runs *r, const char *text, size_t n, size_t from, size_t *begin,
              size_t *end)
{
    int found = 0;
    for (int i = 0; i < r->count; i++) {
        size_t first, last;
        if (!find_run(&r->items[i], text, n, from, &first, &last) || (found && first >= *begin))
            continue;
        *begin = first;
        *end = last;
        found = 1;
    }
    return found;
}
