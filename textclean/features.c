#include "textclean/features.h"

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
    free(f->places);
    free(f->sums);
    free(f->seen.slots);
    buf_release(&f->lower);
}

/* Sets odd_lines and has_dots. The loop has no branches, so that the compiler vectorises it. */
static void scan(struct features *f)
{
    const unsigned char *s = (const unsigned char *)f->text;
    const size_t n = f->n;
    unsigned char odd = 0, dots = 0;
    for (size_t i = 0; i + 2 < n; i++) {
        odd |= (unsigned char)((unsigned char)(s[i] - 0x0B) < 0x15) |
               (unsigned char)((s[i] == 0xC2) & (s[i + 1] == 0x85)) |
               (unsigned char)((s[i + 1] == 0x80) & ((s[i + 2] & 0xFE) == 0xA8));
        dots |= (unsigned char)((s[i] == '.') & (s[i + 1] == '.') & (s[i + 2] == '.')) |
                (unsigned char)((s[i] == 0xE2) & (s[i + 1] == 0x80) & (s[i + 2] == 0xA6));
    }
    for (size_t i = n < 2 ? 0 : n - 2; i < n; i++)
        odd |= s[i] >= 0x0B && s[i] < 0x20;
    f->odd_lines = odd | (n > 1 && s[n - 2] == 0xC2 && s[n - 1] == 0x85);
    f->has_dots = dots;
}

void features_set(struct features *f, const char *text, size_t n)
{
    f->text = text;
    f->n = n;
    f->chars = utf8_count(text, n);
    f->has_words = f->counted = f->has_lines = f->has_grams = 0;
    scan(f);
}

/* Returns the counter of the word number `word`, which words with similar hashes share. */
static uint32_t *count_of(struct features *f, size_t word)
{
    return &f->counts[f->words.list[word].hash >> (64 - COUNTS_BITS)];
}

void features_words(struct features *f)
{
    if (f->has_words)
        return;
    struct words *w = &f->words;
    words_split(w, f->text, f->n);
    mem_grow(f->sums, f->sums_cap, w->count + 1);
    f->sums[0] = 0;
    struct word_sums of = { 0 };
    memset(f->counts, 0, sizeof f->counts);
    for (size_t i = 0; i < w->count; i++) {
        const struct word *word = &w->list[i];
        size_t count = ++*count_of(f, i);
        size_t length = word->chars * count, more = (word->flags & WORD_HAS_MORE) > 0;
        f->sums[i + 1] = f->sums[i] * WORDS_BASE + word->hash;
        of.with_letter += (word->flags & WORD_HAS_LETTER) > 0;
        of.more += more;
        of.more_chars += more * word->chars;
        of.longest = length > of.longest ? length : of.longest;
        of.most = count > of.most ? count : of.most;
    }
    f->of = of;
    f->word_count = w->count;
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

/* Counts a hash that occurs at word `at`. Returns its slot. */
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

static void add_part(const struct features *f, struct repeats *r, struct seen *s, uint64_t hash,
                     size_t at, size_t n)
{
    r->parts++;
    if (seen_add(s, hash, 0)->count > 1) {
        r->repeated++;
        r->chars += features_chars(f, at, n);
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

size_t features_chars(const struct features *f, size_t at, size_t n)
{
    return f->chars == f->n ? n : utf8_count(f->text + at, n);
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

void features_lines(struct features *f)
{
    if (f->has_lines)
        return;
    f->line_count = 0;
    for (const char *at = f->text, *end = f->text + f->n, *lf; at; at = lf ? lf + 1 : NULL) {
        lf = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((lf ? lf : end) - at);
        mem_next(f->lines, f->line_count,
                 f->lines_cap) = (struct text_line){ (uint32_t)(at - f->text), (uint32_t)n,
                                                     xxh64(at, n, 0) };
    }
    f->has_lines = 1;
}

size_t features_line(struct features *f, size_t *line, size_t at, size_t *next)
{
    features_lines(f);
    while (f->lines[*line].at + f->lines[*line].bytes < at)
        ++*line;
    const unsigned char *s = (const unsigned char *)f->text;
    const size_t end = f->lines[*line].at + f->lines[*line].bytes;
    for (size_t i = f->odd_lines ? at : end; i < end; i++) {
        size_t k = s[i] < 0x20 || s[i] == 0xC2 || s[i] == 0xE2 ? break_at(s + i, f->n - i) : 0;
        if (k) {
            *next = i + k;
            return i - at;
        }
    }
    *next = end + 1;
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
            add_part(f, &r, &f->seen, line->hash, line->at, line->bytes);
    }
    return r;
}

struct repeats features_repeated_paragraphs(struct features *f)
{
    struct repeats r = { 0 };
    struct span all = whitespace_strip(f->text, f->n);
    const size_t from = (size_t)(all.s - f->text), to = from + all.n;
    size_t begin = from, end = from; /* of the paragraph so far */
    uint64_t hash = 0;
    features_lines(f);
    seen_begin(&f->seen, f->line_count);
    for (size_t i = 0; i < f->line_count; i++) {
        const struct text_line *line = &f->lines[i];
        size_t at = line->at, stop = at + line->bytes;
        uint64_t line_hash = line->hash;
        if (at < from || stop > to) { /* white space comes off */
            at = at < from ? from : at;
            stop = stop > to ? to : stop;
            line_hash = at < stop ? xxh64(f->text + at, stop - at, 0) : 0;
        }
        if (at < stop) {
            begin = hash ? begin : at;
            hash = hash * WORDS_BASE + (line_hash | 1);
            end = stop;
        }
        if (hash && (at >= stop || stop == to)) {
            add_part(f, &r, &f->seen, hash, begin, end - begin);
            hash = 0;
        }
    }
    r.parts += !all.n;
    return r;
}

/* ---- runs of words --------------------------------------------------------------------------- */

/* Returns the hash of n words from `first` on; p is words_power(n). */
static uint64_t hash_at(const struct features *f, size_t first, size_t n, uint64_t p)
{
    return f->sums[first + n] - f->sums[first] * p;
}

/* Sets places[] to the first words of runs of GRAM_LEAST words that may occur twice: each of their
 * words does, and so do the first bits of their hash. It has no branches that depend on the words.
 * Returns their number. */
static size_t may_repeat(struct features *f, uint64_t p)
{
    size_t count = 0, left = 0, run = 0;
    for (size_t i = 0; i < f->words.count; i++) {
        run = (run + 1) * (*count_of(f, i) > 1);
        f->places[count] = (uint32_t)(i + 1 - GRAM_LEAST);
        count += run >= GRAM_LEAST;
    }
    memset(f->few, 0, sizeof f->few);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            uint64_t hash = hash_at(f, f->places[i], GRAM_LEAST, p) * XXH64_1;
            uint8_t *few = &f->few[hash >> (64 - FEW_BITS)];
            if (pass)
                f->places[left] = f->places[i], left += *few > 1;
            else
                *few = (uint8_t)(*few + (*few < 2));
        }
    return left;
}

/* Finds the runs of GRAM_LEAST words that occur twice. */
static void find_grams(struct features *f)
{
    features_words(f);
    if (f->has_grams)
        return;
    f->has_grams = 1;
    f->covered = 0;
    size_t words = f->words.count, last = 0;
    uint64_t p = words_power(GRAM_LEAST);
    mem_grow(f->places, f->places_cap, words + 1);
    size_t may = may_repeat(f, p);
    if (!may)
        return;
    mem_grow(f->repeats, f->repeats_cap, words);
    memset(f->repeats, 0, words);
    seen_begin(&f->seen, may);
    for (size_t i = 0; i < may; i++) {
        size_t at = f->places[i];
        const struct seen_slot *slot = seen_add(&f->seen, hash_at(f, at, GRAM_LEAST, p), at);
        f->repeats[at] = f->repeats[slot->first] = slot->count > 1;
    }
    for (size_t i = 0; i < words; i++)
        for (last = last > i ? last : i; f->repeats[i] && last < i + GRAM_LEAST; last++)
            f->covered += f->words.list[last].chars;
}

size_t features_top_grams(struct features *f, int n, size_t enough)
{
    features_words(f);
    if (f->words.count < (size_t)n)
        return 0;
    /* an upper bound: the words of a run that occurs k times occur at least k times */
    size_t bound = (size_t)n * f->of.longest + (size_t)(n - 1) * f->of.most;
    size_t length = (size_t)n - 1;
    const struct seen_slot *best = NULL;
    if (bound <= enough)
        return bound;
    uint64_t p = words_power((size_t)n);
    size_t grams = f->words.count - (size_t)n + 1;
    seen_begin(&f->seen, grams);
    for (size_t i = 0; i < grams; i++) {
        const struct seen_slot *s = seen_add(&f->seen, hash_at(f, i, (size_t)n, p), i);
        /* the first one of the most frequent ones */
        if (!best || s->count > best->count || (s->count == best->count && s->first < best->first))
            best = s;
    }
    for (int i = 0; i < n; i++)
        length += f->words.list[best->first + (size_t)i].chars;
    return length * best->count;
}

size_t features_repeated_grams(struct features *f, int n, size_t enough)
{
    find_grams(f);
    if (f->covered <= enough)
        return f->covered;
    uint64_t p = words_power((size_t)n);
    size_t chars = 0, words = (size_t)n;
    seen_begin(&f->seen, f->words.count);
    for (size_t i = 0; i + words <= f->words.count; i++) {
        if (!f->repeats[i])
            continue;
        if (seen_add(&f->seen, hash_at(f, i, words, p), i)->count == 1)
            continue;
        for (size_t k = i; k < i + words; k++)
            chars += f->words.list[k].chars;
        i += words - 1;
    }
    return chars;
}
