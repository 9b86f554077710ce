#include "textclean/rules.h"

#include <math.h>

#include "common/base/order.h"
#include "common/base/utf8.h"
#include "common/formats/yaml.h"
#include "common/program/opt.h"
#include "unicode/unicode.h"
#include "unicode/whitespace.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* What a rule computes its value from. `limit` is the rule's limit; a value within it need not be
 * exact. `n` is the member `n` of the rule's row. */
struct facts {
    struct features *f;
    const struct c4_result *c4;
    const struct rules *rules;
    double limit;
    int n;
};

/* Returns the limit of a rule; not a number if it is off. */
static double limit_of(const struct rules *r, const char *name)
{
    for (size_t i = 0; i < r->count; i++)
        if (!strcmp(r->names[i], name))
            return r->limits[i];
    return NAN;
}

static double share(size_t part, size_t whole)
{
    return (double)part / (double)whole;
}

/* Returns the largest count whose share of the text is not beyond the limit. */
static size_t enough(const struct facts *x)
{
    return x->limit <= 0 ? 0 : (size_t)(x->limit * (double)x->f->chars * 0.999999);
}

/* Counts words other than marks (x->n -1); or their mean length (0), or share with letters (1). */
static double words_of(const struct facts *x)
{
    features_words(x->f);
    const struct word_sums *of = &x->f->of;
    return x->n < 0 ? (double)of->more
           : x->n   ? share(of->with_letter, x->f->word_count)
                    : share(of->more_chars, of->more);
}

static size_t count_of(const struct features *f, const char *what)
{
    const char *end = f->text + f->n, *at = f->text;
    size_t count = 0, n = strlen(what);
    for (; (at = bytes_find(at, end, what, n)); at += n)
        count++;
    return count;
}

/* Returns the number per word of # (x->n 0) or of ellipses (1). */
static double symbols(const struct facts *x)
{
    size_t count = 0;
    features_words(x->f);
    if (!x->n)
        count = count_of(x->f, "#");
    else if (x->f->has_dots)
        count = count_of(x->f, "...") + count_of(x->f, "\xE2\x80\xA6");
    return share(count, x->f->word_count);
}

/* Returns the share of lines that begin with a bullet (x->n 0) or end in an ellipsis (1). */
static double marked_lines(const struct facts *x)
{
    struct features *f = x->f;
    size_t lines = 0, count = 0, line_at = 0;
    for (size_t at = 0, n, next; at < f->n; at = next, lines++) {
        n = features_line(f, &line_at, at, &next);
        struct span line = whitespace_strip(f->text + at, n);
        count += x->n
                     ? bytes_end(line.s, line.n, "...") || bytes_end(line.s, line.n, "\xE2\x80\xA6")
                     : bytes_begin(line.s, line.n, "-") ||
                           bytes_begin(line.s, line.n, "\xE2\x80\xA2");
    }
    return share(count, lines);
}

static double stop_words(const struct facts *x)
{
    static const char *const list[] = { "the", "be", "to", "of", "and", "that", "have", "with" };
    double count = 0;
    features_words(x->f);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        count += words_has(&x->f->words, list[i]);
    return count;
}

static double characters(const struct facts *x)
{
    return (double)x->f->chars;
}

/* Returns what x->n asks for: 0: the share of lines that occurred before in the text; 1: the share
 * of the text's characters in such lines; 2 and 3: the same for paragraphs. */
static double repeated(const struct facts *x)
{
    struct repeats r = x->n & 2 ? features_repeated_paragraphs(x->f)
                                : features_repeated_lines(x->f, 1);
    return x->n & 1 ? share(r.chars, x->f->chars) : share(r.repeated, r.parts);
}

/* Returns the share of the text in the most frequent n words in a row; n >= 5: in repeated ones. */
static double grams(const struct facts *x)
{
    return share(x->n < 5 ? features_top_grams(x->f, x->n, enough(x))
                          : features_repeated_grams(x->f, x->n, enough(x)),
                 x->f->chars);
}

static double c4_number(const struct facts *x)
{
    const size_t numbers[] = { x->c4->lorem_ipsum, x->c4->braces, x->c4->sentences };
    return (double)numbers[-1 - x->n];
}

/* Returns the number of characters of the line, or another number on the same side of `limit`. */
static double chars_of(const struct features *f, size_t line, double limit)
{
    const struct text_line *l = &f->lines[line];
    double bytes = l->bytes, enough_bytes = 4 * limit + 4;
    if (!(bytes >= limit))
        return bytes;
    size_t some = bytes > enough_bytes ? features_chars(f, l->at, (size_t)enough_bytes) : 0;
    return (double)((double)some > limit ? some : features_chars(f, l->at, l->bytes));
}

/* Returns the lines with text (x->n -1), or the share that end a sentence (0) or are short (1). */
static double lines_of(const struct facts *x)
{
    double count = 0, all = 0, most = limit_of(x->rules, "fineweb-short-line");
    features_lines(x->f);
    for (size_t i = 0; i < x->f->line_count; i++) {
        const char *s = x->f->text + x->f->lines[i].at;
        size_t n = x->f->lines[i].bytes;
        unsigned c;
        if (!whitespace_strip(s, n).n)
            continue;
        all++;
        count += x->n ? chars_of(x->f, i, most) <= most
                      : utf8_last(s, n, &c) && unicode_is(c, UNICODE_IS_SENTENCE_TERMINAL);
    }
    return x->n < 0 ? all : count / all;
}

static double repeated_in_lines(const struct facts *x)
{
    struct repeats r = features_repeated_lines(x->f, 0);
    return share(r.chars, x->f->chars - (x->f->line_count - 1));
}

static double line_ends(const struct facts *x)
{
    features_lines(x->f);
    if (!x->f->counted)
        features_words(x->f);
    return share(x->f->line_count - 1, x->f->word_count);
}

static double long_lines(const struct facts *x)
{
    double count = 0, least = limit_of(x->rules, "mc4-long-line");
    features_lines(x->f);
    for (size_t i = 0; i < x->f->line_count; i++)
        count += chars_of(x->f, i, least) >= least;
    return isnan(least) ? least : count; /* without the number no text fails */
}

/* ---- the table ------------------------------------------------------------------------------- */

/* LINES: a rule for lines, not for documents, or a number that another rule needs. */
enum side { LEAST, MOST, LINES };

#define TOP(n)  "share of the text in the most frequent " #n " words in a row"
#define RUNS(n) "share of the text in " #n " words in a row that occurred before"

static const struct rule {
    const char *name; /* SET-RULE */
    enum side side;
    double limit;
    double (*value)(const struct facts *x);
    int n; /* for `value`; negative: a count, not a share or mean, which is not learned */
    const char *meaning;
} table[] = {
    { "gopher-min-words", LEAST, 50, words_of, -1, "words that are more than punctuation marks" },
    { "gopher-max-words", MOST, 100000, words_of, -1,
      "words that are more than punctuation marks" },
    { "gopher-min-mean", LEAST, 3, words_of, 0, "mean length of these words, in characters" },
    { "gopher-max-mean", MOST, 10, words_of, 0, "mean length of these words, in characters" },
    { "gopher-hashes", MOST, 0.1, symbols, 0, "number of # for each word" },
    { "gopher-ellipses", MOST, 0.1, symbols, 1, "number of ... for each word" },
    { "gopher-bullets", MOST, 0.9, marked_lines, 0,
      "share of lines that begin with a bullet or -" },
    { "gopher-cut-lines", MOST, 0.3, marked_lines, 1, "share of lines that end in ..." },
    { "gopher-letters", LEAST, 0.8, words_of, 1, "share of words with a letter" },
    { "gopher-stop-words", LEAST, 2, stop_words, 0,
      "number of these that occur: the be to of and that have with" },
    { "repetition-empty", LEAST, 1, characters, -1, "characters of the text" },
    { "repetition-paragraphs", MOST, 0.3, repeated, 2,
      "share of paragraphs that occurred before in the text" },
    { "repetition-paragraph-chars", MOST, 0.2, repeated, 3,
      "share of the text in paragraphs that occurred before" },
    { "repetition-lines", MOST, 0.3, repeated, 0,
      "share of lines that occurred before in the text" },
    { "repetition-line-chars", MOST, 0.2, repeated, 1,
      "share of the text in lines that occurred before" },
    { "repetition-top-2", MOST, 0.2, grams, 2, TOP(2) },
    { "repetition-top-3", MOST, 0.18, grams, 3, TOP(3) },
    { "repetition-top-4", MOST, 0.16, grams, 4, TOP(4) },
    { "repetition-5", MOST, 0.15, grams, 5, RUNS(5) },
    { "repetition-6", MOST, 0.14, grams, 6, RUNS(6) },
    { "repetition-7", MOST, 0.13, grams, 7, RUNS(7) },
    { "repetition-8", MOST, 0.12, grams, 8, RUNS(8) },
    { "repetition-9", MOST, 0.11, grams, 9, RUNS(9) },
    { "repetition-10", MOST, 0.10, grams, 10, RUNS(10) },
    { "c4-max-word", LINES, 1000, NULL, 0, "lines with a longer word are left out" },
    { "c4-references", LINES, 1, NULL, 0, "marks such as [12] and [edit] are removed" },
    { "c4-end-marks", LINES, 1, NULL, 0, "lines that do not end in . ? ! \" ' are left out" },
    { "c4-line-words", LINES, 3, NULL, 0, "lines with fewer words are left out" },
    { "c4-javascript", LINES, 1, NULL, 0, "lines with the word javascript are left out" },
    { "c4-policy", LINES, 1, NULL, 0, "lines about cookies, privacy, terms of use are left out" },
    { "c4-lorem-ipsum", MOST, 0, c4_number, -1, "number of lines with lorem ipsum" },
    { "c4-brace", MOST, 0, c4_number, -2, "number of lines with {" },
    { "c4-sentences", LEAST, 5, c4_number, -3, "number of sentences in the lines that stay" },
    { "fineweb-empty", LEAST, 1, lines_of, -1, "number of lines that are not blank" },
    { "fineweb-end-marks", LEAST, 0.12, lines_of, 0,
      "share of lines that end in a mark of a sentence's end" },
    { "fineweb-short-line", LINES, 30, NULL, 0, "characters of a short line" },
    { "fineweb-short-lines", MOST, 0.67, lines_of, 1, "share of short lines" },
    { "fineweb-repeated", MOST, 0.01, repeated_in_lines, 0,
      "share of the text in lines that occurred before" },
    { "fineweb-line-ends", MOST, 0.3, line_ends, 0, "number of line ends for each word" },
    { "mc4-long-line", LINES, 200, NULL, 0, "characters of a long line" },
    { "mc4-long-lines", LEAST, 3, long_lines, -1, "number of long lines" },
};

enum { RULES = sizeof table / sizeof *table };

void rules_print(const struct rules *r, struct buf *out)
{
    static const char *const sides[] = { "at least", "at most", "" };
    for (int i = 0; i < RULES; i++) {
        SCOPED(buf) limit = buf_format("%g", r->limits[i]);
        buf_addf(out, "%-28s%-9s%7s  %s\n", table[i].name, sides[table[i].side],
                 isnan(r->limits[i]) ? "off" : limit.data, table[i].meaning);
    }
}

/* ---- choosing -------------------------------------------------------------------------------- */

static size_t set_bytes(int rule)
{
    return strcspn(table[rule].name, "-");
}

static int is_of_set(int rule, const char *set, size_t n)
{
    return set_bytes(rule) == n && !memcmp(table[rule].name, set, n);
}

/* Returns 1 if the rule is of one of the sets, else 0. */
static int is_chosen(const struct rules *r, int rule)
{
    int i = 0;
    while (i < r->set_count && !is_of_set(rule, table[r->sets[i]].name, set_bytes(r->sets[i])))
        i++;
    return i < r->set_count;
}

static int add_set(struct rules *r, const char *name, size_t n)
{
    int first = 0;
    while (first < RULES && !is_of_set(first, name, n))
        first++;
    if (first == RULES)
        return err_usage("--rules: no set '%.*s'; there are gopher, repetition, c4, fineweb, mc4",
                         (int)n, name);
    for (int i = 0; i < r->set_count; i++)
        if (r->sets[i] == first)
            return err_usage("--rules names '%.*s' twice", (int)n, name);
    r->sets[r->set_count++] = first;
    return 0;
}

static int no_rule(const char *name, size_t n)
{
    char word[64];
    size_t best = 0;
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    for (size_t i = 1; i < RULES; i++)
        if (opt_distance(word, table[i].name) < opt_distance(word, table[best].name))
            best = i;
    return err_usage("no rule '%s'; do you mean '%s'? --list shows all", word, table[best].name);
}

static int set_limit(struct rules *r, const char *name, size_t n, const char *value)
{
    char *end;
    for (int i = 0; i < RULES; i++) {
        if (!bytes_are(name, n, table[i].name))
            continue;
        double limit = strtod(value, &end);
        if (!strcmp(value, "off"))
            limit = NAN;
        else if (end == value || *end || !(limit >= 0 && limit <= 1e15))
            return err_usage("%s must be 0 or more, or off, not '%s'", table[i].name, value);
        r->limits[i] = limit;
        return 0;
    }
    return no_rule(name, n);
}

int rules_set(struct rules *r, const char *sets, const char *path, const char *const *changes,
              size_t change_count)
{
    *r = (struct rules){ .count = RULES };
    for (int i = 0; i < RULES; i++) {
        r->limits[i] = table[i].limit;
        r->names[i] = table[i].name;
    }
    for (size_t n; sets; sets = sets[n] ? sets + n + 1 : NULL) {
        n = strcspn(sets, ",");
        if (add_set(r, sets, n) < 0)
            return -1;
    }
    SCOPED(yaml) y = { 0 };
    if (path && yaml_load(&y, path) < 0)
        return -1;
    for (size_t i = 0; i < y.count; i++)
        if (set_limit(r, y.items[i].key, strlen(y.items[i].key), y.items[i].value) < 0)
            return err_in("%s: line %d", path, y.items[i].line);
    for (size_t i = 0, n; i < change_count; i++) {
        n = strcspn(changes[i], "=");
        if (set_limit(r, changes[i], n, changes[i] + n + (changes[i][n] == '=')) < 0)
            return err_in("--limit");
    }
    for (int i = 0; i < RULES; i++)
        if (!is_chosen(r, i))
            r->limits[i] = NAN;
    return 0;
}

/* ---- judging --------------------------------------------------------------------------------- */

void rules_tools_init(void *, void *tools)
{
    struct rules_tools *t = tools;
    features_init(&t->features);
    t->c4 = (struct c4_result){ .text = BUF_INIT };
    buf_init(&t->personal);
}

void rules_tools_release(void *tools)
{
    struct rules_tools *t = tools;
    features_release(&t->features);
    buf_release(&t->c4.text);
    buf_release(&t->personal);
}

/* Judges by the rules of the set whose first rule is `first`. */
static int judge_set(const struct rules *r, int first, struct rules_tools *t)
{
    struct facts x = { &t->features, &t->c4, r, 0, 0 };
    for (int i = first; i < RULES && is_of_set(i, table[first].name, set_bytes(first)); i++) {
        if (!table[i].value || isnan(r->limits[i]))
            continue;
        x.limit = r->limits[i];
        x.n = table[i].n;
        double value = table[i].value(&x);
        if (table[i].side == LEAST ? value < x.limit : value > x.limit)
            return i;
    }
    return -1;
}

int rules_judge(const struct rules *r, struct rules_tools *t, const char *text, size_t n,
                uint64_t *lines)
{
    features_set(&t->features, text, n);
    for (int i = 0; i < r->set_count; i++) {
        if (is_of_set(r->sets[i], "c4", 2)) {
            c4_clean(r->limits + r->sets[i], &t->features, &t->c4);
            *lines += t->c4.lines_left_out;
        }
        int failed = judge_set(r, r->sets[i], t);
        if (failed >= 0)
            return failed;
    }
    return -1;
}

/* ---- learning -------------------------------------------------------------------------------- */

void rules_measure(const struct rules *r, struct rules_tools *t, const char *text, size_t n,
                   double *values)
{
    struct facts x = { .f = &t->features, .rules = r };
    features_set(x.f, text, n);
    for (int i = 0; i < RULES; i++) {
        x.n = table[i].n;
        values[i] = table[i].value && x.n >= 0 && !isnan(r->limits[i]) ? table[i].value(&x) : NAN;
    }
}

size_t rules_learn(const double *values, size_t count, double tail, struct buf *out)
{
    SCOPED_MEM double *sorted = mem_alloc(count * sizeof *sorted);
    size_t learned = 0;
    for (size_t i = 0; i < RULES; i++) {
        size_t n = 0;
        for (size_t k = i; k < count * RULES; k += RULES)
            if (isfinite(values[k])) /* line ends of a text without words: infinitely many a word */
                sorted[n++] = values[k];
        if (!n)
            continue;
        qsort(sorted, n, sizeof *sorted, order_reals);
        size_t beyond = (size_t)(tail * (double)n);
        double limit = sorted[table[i].side == LEAST ? beyond : n - 1 - beyond], read;
        size_t line = out->len;
        int digits = 6; /* and more if rounding would let more documents fail */
        do {
            buf_truncate(out, line);
            buf_addf(out, "%s: %.*g\n", table[i].name, digits++, limit);
            read = strtod(out->data + line + strlen(table[i].name) + 2, NULL);
        } while (table[i].side == LEAST ? read > limit : read < limit);
        learned++;
    }
    return learned;
}
