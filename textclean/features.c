#include "textclean/features.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/utf8.h"
#include "common/base/xxh64.h"
#include "unicode/whitespace.h"

enum { GRAM_LEAST = 5 };

void features_init(struct features *f)
{
    *f = (struct features){ .lower = BUF_INIT };
    words_init(&f->words);
}

void features_release(struct features *f)
{
    words_release(&f->words);
    free(f->lines);
    free(f->repeats);
    free(f->sums);
    free(f->seen.slots);
    buf_release(&f->lower);
}

/* Returns whether a line may end with another character than LF. */
static int has_odd_breaks(const unsigned char *s, size_t n)
{
    unsigned char odd = 0;
    for (size_t i = 0; i + 2 < n; i++) /* without branches, so that the compiler vectorises it */
        odd |= (unsigned char)((unsigned char)(s[i] - 0x0B) < 0x15) |
               (unsigned char)((s[i] == 0xC2) & (s[i + 1] == 0x85)) |
               (unsigned char)((s[i + 1] == 0x80) & ((s[i + 2] & 0xFE) == 0xA8));
    for (size_t i = n < 2 ? 0 : n - 2; i < n; i++)
        odd |= s[i] >= 0x0B && s[i] < 0x20;
    return odd | (n > 1 && s[n - 2] == 0xC2 && s[n - 1] == 0x85);
}

void features_set(struct features *f, const char *text, size_t n)
{
    f->text = text;
    f->n = n;
    f->chars = utf8_count(text, n);
    f->odd_lines = has_odd_breaks((const unsigned char *)text, n);
    f->has_words = f->counted = f->has_lines = f->has_grams = f->has_bound = 0;
    f->longest = f->most = 0;
}

void features_words(struct features *f)
{
    if (f->has_words)
        return;
    words_split(&f->words, f->text, f->n);
    f->word_count = f->words.count;
    f->has_words = f->counted = 1;
}

/* ---- what was seen --------------------------------------------------------------------------- */

static void seen_begin(struct seen *s, size_t most)
{
    for (s->count = 64; s->count < 2 * most; s->count *= 2)
        ;
    mem_grow(s->slots, s->cap, s->count);
    memset(s->slots, 0, s->count * sizeof *s->slots);
}

/* Counts the hash at place `at`. Returns its slot. */
static struct seen_slot *seen_add(struct seen *s, uint64_t hash, size_t at)
{
    size_t slot = (hash ^ hash >> 32) & (s->count - 1);
    while (s->slots[slot].count && s->slots[slot].hash != hash)
        slot = (slot + 1) & (s->count - 1);
    if (!s->slots[slot].count++) {
        s->slots[slot].hash = hash;
        s->slots[slot].first = (uint32_t)at;
    }
    return &s->slots[slot];
}

/* Returns the characters of the part s[0..n) of the text. */
static size_t chars_of(const struct features *f, const char *s, size_t n)
{
    return f->chars == f->n ? n : utf8_count(s, n);
}

static void add_part(struct repeats *r, struct seen *s, uint64_t hash, size_t chars)
{
    r->parts++;
    if (seen_add(s, hash, 0)->count > 1) {
        r->repeated++;
        r->chars += chars;
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

void features_lines(struct features *f)
{
    if (f->has_lines)
        return;
    f->line_count = 0;
    for (const char *at = f->text, *end = f->text + f->n, *lf; at; at = lf ? lf + 1 : NULL) {
        lf = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((lf ? lf : end) - at);
        mem_grow(f->lines, f->lines_cap, f->line_count + 1);
        f->lines[f->line_count++] = (struct text_line){ (uint32_t)(at - f->text), (uint32_t)n,
                                                        (uint32_t)chars_of(f, at, n),
                                                        xxh64(at, n, 0) };
    }
    f->has_lines = 1;
}

/* Returns the bytes of the end of a line at text[at]: 0 if none is there. */
static size_t break_at(const unsigned char *s, size_t n)
{
    if (*s == '\r')
        return n > 1 && s[1] == '\n' ? 2 : 1;
    if ((*s >= '\n' && *s <= '\f') || (*s >= 0x1C && *s <= 0x1E))
        return 1;
    if (*s == 0xC2)
        return n > 1 && s[1] == 0x85 ? 2 : 0;
    return *s == 0xE2 && n > 2 && s[1] == 0x80 && (s[2] == 0xA8 || s[2] == 0xA9) ? 3 : 0;
}

size_t features_line(const struct features *f, size_t at, size_t *next)
{
    const char *lf = memchr(f->text + at, '\n', f->n - at);
    size_t end = lf ? (size_t)(lf - f->text) : f->n;
    const unsigned char *s = (const unsigned char *)f->text;
    for (size_t i = f->odd_lines ? at : end; i < end; i++) {
        size_t k = s[i] < 0x20 || s[i] == 0xC2 || s[i] == 0xE2 ? break_at(s + i, f->n - i) : 0;
        if (k) {
            *next = i + k;
            return i - at;
        }
    }
    *next = lf ? end + 1 : end;
    return end - at;
}

struct repeats features_repeated_lines(struct features *f, int blank)
{
    struct repeats r = { 0 };
    features_lines(f);
    seen_begin(&f->seen, f->line_count);
    for (size_t i = 0; i < f->line_count; i++) {
        const struct text_line *line = &f->lines[i];
        if (blank ? line->bytes || i == 0 || i == f->line_count - 1
                  : whitespace_strip(f->text + line->at, line->bytes).n > 0)
            add_part(&r, &f->seen, line->hash, line->chars);
    }
    return r;
}

struct repeats features_repeated_paragraphs(struct features *f)
{
    struct repeats r = { 0 };
    struct span all = whitespace_strip(f->text, f->n);
    const char *end = all.s + all.n, *at = all.s;
    features_lines(f);
    seen_begin(&f->seen, f->line_count);
    for (const char *gap; at; at = gap) {
        gap = bytes_find(at, end, "\n\n", 2);
        size_t n = (size_t)((gap ? gap : end) - at);
        add_part(&r, &f->seen, xxh64(at, n, 0), chars_of(f, at, n));
        while (gap && gap < end && *gap == '\n')
            gap++;
    }
    return r;
}

/* ---- runs of words --------------------------------------------------------------------------- */

static const struct word_kind *kind_at(const struct features *f, size_t word)
{
    return &f->words.kinds[f->words.list[word].kind];
}

static const uint64_t BASE = UINT64_C(0x9E3779B97F4A7C15);

static uint64_t power(int n)
{
    uint64_t p = 1;
    while (n--)
        p *= BASE;
    return p;
}

/* Finds the hashes of all runs of words that begin with the first word, and from them by
 * subtraction that of any run: the sum of the words' hashes times powers of BASE. */
static void sum_words(struct features *f)
{
    size_t count = f->words.count;
    mem_grow(f->sums, f->sums_cap, count + 1);
    f->sums[0] = 0;
    for (size_t i = 0; i < count; i++)
        f->sums[i + 1] = f->sums[i] * BASE + kind_at(f, i)->hash;
}

/* Finds the runs of GRAM_LEAST words that occur twice. A run with a word that occurs once is none.
 */
static void mark_repeats(struct features *f)
{
    size_t count = f->words.count, run = 0, last = 0, until = 0;
    uint64_t p = power(GRAM_LEAST);
    mem_grow(f->repeats, f->repeats_cap, count + 1);
    memset(f->repeats, 0, count);
    seen_begin(&f->seen, count);
    for (size_t i = 0; i < count; i++) {
        run = kind_at(f, i)->count > 1 ? run + 1 : 0;
        if (run < GRAM_LEAST)
            continue;
        size_t first = i + 1 - GRAM_LEAST;
        const struct seen_slot *slot = seen_add(&f->seen, f->sums[i + 1] - f->sums[first] * p,
                                                first);
        if (slot->count > 1)
            f->repeats[first] = f->repeats[slot->first] = 1;
    }
    f->covered = 0;
    for (size_t i = 0; i < count; i++) {
        if (f->repeats[i])
            until = i + GRAM_LEAST;
        for (last = last > i ? last : i; last < until; last++)
            f->covered += kind_at(f, last)->chars;
    }
}

static void find_grams(struct features *f)
{
    features_words(f);
    if (f->has_grams)
        return;
    sum_words(f);
    mark_repeats(f);
    f->has_grams = 1;
}

/* Returns a bound for features_top_grams, from how often each word occurs: a run that occurs k
 * times has words that occur k times at least. */
static size_t top_bound(struct features *f, int n)
{
    for (size_t i = f->has_bound ? f->words.kind_count : 0; i < f->words.kind_count; i++) {
        const struct word_kind *k = &f->words.kinds[i];
        size_t length = (size_t)k->chars * k->count;
        f->longest = length > f->longest ? length : f->longest;
        f->most = k->count > f->most ? k->count : f->most;
    }
    f->has_bound = 1;
    return (size_t)n * f->longest + (size_t)(n - 1) * f->most;
}

size_t features_top_grams(struct features *f, int n, size_t enough)
{
    features_words(f);
    if (f->words.count < (size_t)n)
        return 0;
    size_t bound = top_bound(f, n), length = (size_t)n - 1;
    const struct seen_slot *best = NULL;
    if (bound <= enough)
        return bound;
    find_grams(f);
    uint64_t p = power(n);
    size_t grams = f->words.count - (size_t)n + 1;
    seen_begin(&f->seen, grams);
    for (size_t i = 0; i < grams; i++) {
        const struct seen_slot *s = seen_add(&f->seen, f->sums[i + (size_t)n] - f->sums[i] * p, i);
        /* the first one of the most frequent ones */
        if (!best || s->count > best->count || (s->count == best->count && s->first < best->first))
            best = s;
    }
    for (int i = 0; i < n; i++)
        length += kind_at(f, best->first + (size_t)i)->chars;
    return length * best->count;
}

size_t features_repeated_grams(struct features *f, int n, size_t enough)
{
    find_grams(f);
    if (f->covered <= enough)
        return f->covered;
    uint64_t p = power(n);
    size_t chars = 0, words = (size_t)n;
    seen_begin(&f->seen, f->words.count);
    for (size_t i = 0; i + words <= f->words.count; i++) {
        if (!f->repeats[i])
            continue;
        if (seen_add(&f->seen, f->sums[i + words] - f->sums[i] * p, i)->count == 1)
            continue;
        for (size_t k = i; k < i + words; k++)
            chars += kind_at(f, k)->chars;
        i += words - 1;
    }
    return chars;
}
