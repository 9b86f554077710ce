#include "textclean/c4.h"

#include "common/base/utf8.h"
#include "unicode/unicode.h"
#include "unicode/whitespace.h"

/* ---- phrases --------------------------------------------------------------------------------- */

enum { LOREM_IPSUM = 1, JAVASCRIPT = 2, POLICY = 4 };

static const struct {
    const char *text;
    unsigned what;
} phrases[] = {
    { "lorem ipsum", LOREM_IPSUM }, { "javascript", JAVASCRIPT }, { "terms of use", POLICY },
    { "privacy policy", POLICY },   { "cookie policy", POLICY },  { "uses cookies", POLICY },
    { "use of cookies", POLICY },   { "use cookies", POLICY },
};

/* Returns which phrases are in s[0..n), which is in lower case. */
static unsigned find_phrases(const char *s, size_t n)
{
    unsigned found = 0;
    int cookies = memmem(s, n, "cookie", 6) != NULL;
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if ((i < 4 || cookies) && memmem(s, n, phrases[i].text, strlen(phrases[i].text)))
            found |= phrases[i].what;
    return found;
}

/* Writes s[0..n) in lower case to `to`. */
static void lower(char *to, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(s[i] | ((unsigned char)(s[i] - 'A') < 26) << 5);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int has_long_word(const char *s, size_t n, double most)
{
    const size_t longest = most > 0 ? (size_t)most : n;
    if (!longest || n <= longest)
        return 0;
    for (size_t at = 0, chars = 0; at < n;) {
        unsigned c;
        size_t space = whitespace_at(s + at, n - at);
        chars = space ? 0 : chars + 1;
        at += space ? space : utf8_read(s + at, n - at, &c);
        if (chars > longest)
            return 1;
    }
    return 0;
}

static int has_words(const char *s, size_t n, double least)
{
    size_t words = 0, enough = least > 0 ? (size_t)least : 0;
    for (size_t at = 0; at < n && words < enough; words++) {
        at += whitespace_word(s + at, n - at);
        for (size_t space; at < n && (space = whitespace_at(s + at, n - at)); at += space)
            ;
    }
    return words >= enough;
}

static int ends_well(const char *s, size_t n)
{
    return n && memchr(".?!\"'", s[n - 1], 5) && !bytes_end(s, n, "...");
}

/* Returns the bytes of the reference mark at s[0..n), which begins with [. */
static size_t reference(const char *s, size_t n)
{
    static const char *const marks[] = { "[edit]", "[citation needed]" };
    for (int i = 0; i < 2; i++)
        if (bytes_begin(s, n, marks[i]))
            return strlen(marks[i]);
    size_t k = 1, digit;
    unsigned c;
    for (; k < n; k += digit) {
        digit = utf8_read(s + k, n - k, &c);
        if (unicode_of(c)->category != UNICODE_ND)
            break;
    }
    return k < n && s[k] == ']' ? k + 1 : 0;
}

/* Appends the line without reference marks. */
static void put_line(struct buf *out, const char *s, size_t n, int references)
{
    const char *end = s + n, *mark = s;
    while (references && (mark = memchr(mark, '[', (size_t)(end - mark)))) {
        size_t k = reference(mark, (size_t)(end - mark));
        if (k) {
            buf_add(out, s, (size_t)(mark - s));
            s = mark + k;
        }
        mark += k ? k : 1;
    }
    buf_add(out, s, (size_t)(end - s));
}

/* ---- a text ---------------------------------------------------------------------------------- */

struct state {
    const double *limits;
    struct features *f;
    struct c4_result *out;
    unsigned phrases; /* in the whole text */
    size_t word;      /* first word that is not before the line */
    size_t words;     /* of the lines that stay */
    int references;   /* lines that stay had reference marks */
};

/* Counts the words and sentences of the line text[at..end). Lines must come in order. */
static void count_words(struct state *c, size_t at, size_t end)
{
    const struct words *w = &c->f->words;
    while (c->word < w->count && w->list[c->word].at < at)
        c->word++;
    size_t first = c->word;
    while (c->word < w->count && w->list[c->word].at < end)
        c->word++;
    c->words += c->word - first;
    if ((double)c->out->sentences < c->limits[C4_SENTENCES])
        c->out->sentences += words_sentences(w, first, c->word);
}

/* Judges the line s[0..n), which is stripped; `clean` is the line without reference marks. Returns
 * 1 if it stays, 0 if not, and -1 if the document is left out. */
static int judge_line(struct state *c, const char *s, size_t n, const char *clean, size_t len)
{
    if (has_long_word(s, n, c->limits[C4_LONGEST_WORD]) ||
        (c->limits[C4_END_MARKS] > 0 && !ends_well(clean, len)) ||
        !has_words(s, n, c->limits[C4_LEAST_WORDS]))
        return 0;
    char *low = c->f->lower.data + (s - c->f->text);
    if (len < n) /* the parts of a phrase may have been on both sides of a mark */
        lower(low, clean, len);
    unsigned found = c->phrases || len < n ? find_phrases(low, len) : 0;
    if (found & LOREM_IPSUM && (double)++c->out->lorem_ipsum > c->limits[C4_LOREM_IPSUM])
        return -1;
    if (c->limits[C4_JAVASCRIPT] > 0 && found & JAVASCRIPT)
        return 0;
    if (memchr(s, '{', n) && (double)++c->out->braces > c->limits[C4_BRACES])
        return -1;
    return !(c->limits[C4_POLICY] > 0 && found & POLICY);
}

static int take_line(struct state *c, const char *s, size_t n)
{
    struct buf *text = &c->out->text;
    size_t before = text->len;
    struct span line = whitespace_strip(s, n);
    put_line(text, line.s, line.n, c->limits[C4_REFERENCES] > 0);
    const size_t len = text->len - before;
    int stays = judge_line(c, line.s, line.n, text->data + before, len);
    if (stays <= 0) {
        buf_truncate(text, before);
        c->out->lines_left_out += line.n > 0;
        return stays;
    }
    buf_addc(text, '\n');
    size_t at = (size_t)(line.s - c->f->text);
    c->references |= len < line.n;
    count_words(c, at, at + line.n);
    return 1;
}

/* Strips the new text and sets it, with its number of words unless it lost reference marks. */
static void finish(struct state *c)
{
    struct features *f = c->f;
    struct buf *text = &c->out->text;
    struct span all = whitespace_strip(text->data, text->len);
    memmove(text->data, all.s, all.n);
    buf_truncate(text, all.n);
    buf_reserve(text, WORDS_PAD);
    if (all.n == f->n && !memcmp(text->data, f->text, f->n))
        return;
    features_set(f, text->data, text->len);
    f->word_count = c->words;
    f->counted = !c->references;
    if (c->references) {
        features_words(f);
        c->out->sentences = c->word = 0;
        for (size_t at = 0, n, next, line = 0; at < f->n; at = next) {
            n = features_line(f, &line, at, &next);
            count_words(c, at, at + n);
        }
    }
}

void c4_clean(const double *limits, struct features *f, struct c4_result *out)
{
    struct state c = { .limits = limits, .f = f, .out = out };
    struct buf text = out->text;
    *out = (struct c4_result){ .text = text };
    buf_clear(&out->text);
    features_words(f);
    buf_reserve(&f->lower, f->n);
    lower(f->lower.data, f->text, f->n);
    c.phrases = find_phrases(f->lower.data, f->n);
    for (size_t at = 0, n, next, line = 0; at < f->n; at = next) {
        n = features_line(f, &line, at, &next);
        if (take_line(&c, f->text + at, n) < 0)
            return;
    }
    finish(&c);
}
