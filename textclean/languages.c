#include "textclean/languages.h"

#include <math.h>

#include "common/base/le.h"
#include "common/base/utf8.h"
#include "common/formats/kinds.h"
#include "unicode/letter_case.h"
#include "unicode/unicode.h"

enum { GROUP = 16, SUM_RUNS = 256, SAMPLE_LONG = 2048, SAMPLES = 8, SAMPLE = 256 };
enum { IDEOGRAPHS = 0x2E80 }; /* and kana, hangul: a character stands for several letters */
enum { EXACT = 1 << 8, EXACT_MOST = 1 << 20 };
enum { BITS_MOST = 20, WEIGHTS_MOST = 15 << 20, ALIGN = 64, UNIT = 16, WEIGHT_MOST = 127 };

static const char HEAD[] = "textmill languages 1 ";
enum {
    SUM_AT = sizeof HEAD - 1,
    NUMBERS_AT = SUM_AT + FILE_SUM_DIGITS + 1,
    NAMES_AT = NUMBERS_AT + 8
};

static size_t width_of(size_t languages)
{
    return (languages + GROUP - 1) / GROUP * GROUP;
}

static size_t weights_at(size_t languages)
{
    return (NAMES_AT + languages * LANGUAGES_NAME + ALIGN - 1) / ALIGN * ALIGN;
}

int languages_is_name(const char *s, size_t n)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return n > 0 && n < LANGUAGES_NAME && strspn(s, allowed) == n;
}

/* ---- runs of characters ---------------------------------------------------------------------- */

/* Returns the character in the form that runs have. */
static uint32_t fold(uint32_t c)
{
    unsigned category = unicode_of(c)->category;
    if (category > UNICODE_ME)
        return ' ';
    return category == UNICODE_LU || category == UNICODE_LT ? letter_case_lower(c) : c;
}

/* Sets t->characters to what runs are cut from: words between blanks. Returns their number. */
static size_t set_characters(struct languages_runs *t, const char *text, size_t n)
{
    uint32_t *to = t->characters;
    size_t blanks = 1;
    *to++ = ' ';
    for (size_t i = 0; i < n;) {
        unsigned c = (unsigned char)text[i];
        if (c < 0x80) {
            i++;
            if (t->exact)
                c = c > ' ' ? c : ' ';
            else
                c = (c | 0x20) - 'a' < 26 ? c | 0x20 : ' ';
        } else {
            size_t bytes = utf8_read(text + i, n - i, &c);
            i += bytes;
            c = bytes == 1 ? ' ' : t->exact ? c : fold(c);
        }
        if (c == ' ' && to[-1] == ' ')
            continue;
        blanks += c == ' ';
        *to++ = c;
    }
    if (to[-1] != ' ') {
        *to++ = ' ';
        blanks++;
    }
    t->letters = (size_t)(to - t->characters) - blanks;
    return (size_t)(to - t->characters);
}

void languages_cut(struct languages_runs *t, const char *text, size_t n)
{
    const size_t count = set_characters(t, text, n);
    const uint32_t *c = t->characters;
    uint32_t *to = t->hashes;
    for (size_t i = 0; i + 1 < count; i++) {
        uint64_t hash = 0;
        for (size_t k = i; k < count && k < i + LANGUAGES_RUN; k++) {
            hash = (hash + c[k] + 1) * UINT64_C(0x9E3779B97F4A7C15);
            *to = (uint32_t)(hash >> 32);
            to += k > i || c[k] != ' ';
            if (c[i] >= IDEOGRAPHS) {
                *to = to[-1];
                to++;
            }
            if (k > i && c[k] == ' ')
                break;
        }
    }
    t->count = (size_t)(to - t->hashes);
}

/* ---- the model ------------------------------------------------------------------------------- */

static int other_kind(const struct file_map *map)
{
    const size_t n = map->bytes < KINDS_LOOK ? map->bytes : KINDS_LOOK;
    const char *kind = n ? kinds_recognise("", (const char *)map->data, n) : "an empty file";
    return err_set("not a model of version 1%s%s; learn-language and learn-quality write them",
                   kind ? " but " : "", kind ? kind : "");
}

static int set_parts(struct languages *m)
{
    const unsigned char *data = m->map.data;
    const uint64_t bytes = m->map.bytes;
    if (bytes < SUM_AT || memcmp(data, HEAD, SUM_AT))
        return other_kind(&m->map);
    if (bytes < NAMES_AT)
        return err_set("damaged: it has only %" PRIu64 " bytes", bytes);
    m->count = le_u32(data + NUMBERS_AT);
    m->bits = le_u32(data + NUMBERS_AT + 4) & ~(unsigned)EXACT;
    m->exact = (le_u32(data + NUMBERS_AT + 4) & EXACT) != 0;
    if (m->count < 2 || m->count > LANGUAGES_MOST || m->bits < 1 || m->bits > BITS_MOST)
        return err_set("damaged: %zu languages, %u bits at byte %d", m->count, m->bits, NUMBERS_AT);
    m->width = width_of(m->count);
    const uint64_t want = weights_at(m->count) + ((uint64_t)m->width << m->bits);
    if (bytes != want)
        return err_set("damaged: it has %" PRIu64 " bytes in place of %" PRIu64, bytes, want);
    m->names = (const char *)data + NAMES_AT;
    m->weights = (const int8_t *)data + weights_at(m->count);
    for (size_t i = 0; i < m->count; i++)
        if (!languages_is_name(languages_name(m, i), strnlen(languages_name(m, i), LANGUAGES_NAME)))
            return err_set("damaged: no name of a language at byte %zu",
                           NAMES_AT + i * LANGUAGES_NAME);
    return file_map_check(&m->map, SUM_AT);
}

int languages_open(struct languages *m, const char *path)
{
    *m = (struct languages){ .bits = 0 };
    if (file_map(&m->map, path) < 0)
        return -1;
    return set_parts(m) < 0 ? err_in("%s", path) : 0;
}

void languages_close(struct languages *m)
{
    file_unmap(&m->map);
}

/* Vectors of weights, two per number, or of sums. HIGH: which of the two is in the high byte. */
typedef int16_t group __attribute__((vector_size(GROUP)));
enum { HIGH = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

/* Adds the weights of `count` runs, at most SUM_RUNS, to sums[]. What it adds fits 16 bits. */
static void add_some(const struct languages *m, const uint32_t *hashes, size_t count, int32_t *sums)
{
    const size_t groups = m->width / GROUP;
    const group *weights = (const group *)m->weights;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < m->width; k += ALIGN)
            __builtin_prefetch(m->weights + (hashes[i] >> (32 - m->bits)) * m->width + k);
    for (size_t g = 0; g < groups; g++) {
        group low = { 0 }, high = { 0 };
        for (size_t i = 0; i < count; i++) {
            group pairs = weights[(hashes[i] >> (32 - m->bits)) * groups + g];
            low += (pairs << 8) >> 8;
            high += pairs >> 8;
        }
        for (size_t k = 0; k < GROUP / 2; k++) {
            sums[g * GROUP + 2 * k + !HIGH] += low[k];
            sums[g * GROUP + 2 * k + HIGH] += high[k];
        }
    }
}

static double score_of(const struct languages *m, const int32_t *sums, int best, size_t letters)
{
    double all = 0, scale = 1.0 / UNIT / LANGUAGES_RUN;
    if (letters > LANGUAGES_LETTERS)
        scale *= (double)LANGUAGES_LETTERS / (double)letters;
    for (size_t i = 0; i < m->count; i++)
        all += exp2(scale * (sums[i] - sums[best]));
    return 1 / all;
}

int languages_judge(const struct languages *m, struct languages_runs *t, const char *text, size_t n,
                    double *score)
{
    int32_t sums[LANGUAGES_MOST] = { 0 };
    const int sampled = n > SAMPLE_LONG && !m->exact;
    const size_t most = sampled ? SAMPLE : LANGUAGES_PIECE;
    const size_t step = sampled ? (n + SAMPLES - 1) / SAMPLES : 0;
    size_t letters = 0;
    int best = 0;
    n = m->exact && n > EXACT_MOST ? EXACT_MOST : n;
    t->exact = m->exact;
    for (size_t at = 0, bytes; at < n; at = step ? at + step : at + bytes) {
        bytes = utf8_cut(text + at, n - at, most);
        languages_cut(t, text + at, bytes);
        for (size_t i = 0; i < t->count; i += SUM_RUNS)
            add_some(m, t->hashes + i, t->count - i < SUM_RUNS ? t->count - i : SUM_RUNS, sums);
        letters += t->letters;
    }
    for (size_t i = 1; i < m->count; i++)
        best = sums[i] > sums[best] ? (int)i : best;
    *score = letters ? score_of(m, sums, best, letters) : 0;
    return letters ? best : -1;
}

/* ---- learning -------------------------------------------------------------------------------- */

void languages_counts_init(struct languages_counts *c, const char **names, size_t count)
{
    *c = (struct languages_counts){ .count = count, .bits = BITS_MOST, .names = names };
    while (width_of(count) << c->bits > WEIGHTS_MOST)
        c->bits--;
    c->totals = mem_zalloc(count, sizeof *c->totals);
    c->runs = mem_zalloc(count, sizeof *c->runs);
    for (size_t i = 0; i < count; i++)
        c->runs[i] = mem_zalloc((size_t)1 << c->bits, sizeof **c->runs);
}

void languages_counts_release(struct languages_counts *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->runs[i]);
    free(c->runs);
    free(c->totals);
}

void languages_count(struct languages_counts *c, size_t language, struct languages_runs *t,
                     const char *text, size_t n)
{
    uint64_t *runs = c->runs[language];
    t->exact = c->exact;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        bytes = utf8_cut(text + at, n - at, LANGUAGES_PIECE);
        languages_cut(t, text + at, bytes);
        for (size_t i = 0; i < t->count; i++)
            __atomic_fetch_add(runs + (t->hashes[i] >> (32 - c->bits)), 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(c->totals + language, t->count, __ATOMIC_RELAXED);
    }
}

/* Sets the weights of a bucket. */
static void set_weights(const struct languages_counts *c, size_t bucket, int8_t *weights)
{
    double mean = 0;
    for (size_t i = 0; i < c->count; i++)
        mean += (double)c->runs[i][bucket] / (double)c->totals[i] / (double)c->count;
    for (size_t i = 0; i < c->count; i++) {
        double expected = mean * (double)c->totals[i];
        double weight = UNIT * log2(((double)c->runs[i][bucket] + 1) / (expected + 1));
        weights[i] = (int8_t)lrint(fmin(fmax(weight, -WEIGHT_MOST), WEIGHT_MOST));
    }
}

int languages_write(const struct languages_counts *c, struct output *out)
{
    char head[NUMBERS_AT];
    const size_t width = width_of(c->count), weights = weights_at(c->count) - NUMBERS_AT;
    const size_t bytes = weights + (width << c->bits);
    for (size_t i = 0; i < c->count; i++)
        if (!c->totals[i])
            return err_set("%s: its files have no letters to learn from", c->names[i]);
    SCOPED_MEM unsigned char *rest = mem_zalloc(bytes, 1);
    memset(head, '0', sizeof head);
    memcpy(head, HEAD, SUM_AT);
    head[NUMBERS_AT - 1] = '\n';
    le_put_u32(rest, (uint32_t)c->count);
    le_put_u32(rest + 4, c->bits | (c->exact ? EXACT : 0));
    for (size_t i = 0; i < c->count; i++)
        memcpy(rest + 8 + i * LANGUAGES_NAME, c->names[i], strlen(c->names[i]));
    for (size_t i = 0; i < (size_t)1 << c->bits; i++)
        set_weights(c, i, (int8_t *)rest + weights + i * width);
    return output_begin_summed(out, head, sizeof head, SUM_AT) < 0 ? -1
                                                                   : output_write(out, rest, bytes);
}
