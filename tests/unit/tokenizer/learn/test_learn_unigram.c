/* Learning of Unigram vocabularies: seeds, expected counts, and the tokens that remain. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "common/base/utf8.h"
#include "tokenizer/files/files.h"
#include "tokenizer/learn/em.h"
#include "tokenizer/learn/learn_unigram.h"
#include "tokenizer/learn/seeds.h"
#include "tokenizer/learn/segments.h"

struct word {
    const char *text;
    uint64_t count;
};

static void count_words(struct counted_words *list, const struct word *words, size_t n)
{
    struct word_counts *w = word_counts_new(0, NULL);
    *list = (struct counted_words)COUNTED_WORDS_INIT;
    for (size_t i = 0; i < n; i++)
        word_counts_add(w, words[i].text, strlen(words[i].text), words[i].count);
    cr_assert_eq(word_counts_join(list, &w, 1, 1), 0);
    word_counts_free(w);
}

static void cut(struct segments *s, const struct word *words, size_t n, double coverage)
{
    struct counted_words list;
    count_words(&list, words, n);
    cr_assert_eq(segments_cut(s, &list, coverage), 0);
    counted_words_release(&list);
}

static void print_text(const struct segments *s, size_t at, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        utf8_add(out, s->text[at + i]);
}

/* ---- segments -------------------------------------------------------------------------------- */

Test(learn_unigram, segments_end_where_the_script_changes)
{
    static const struct word words[] = {
        { "▁“tea,", 2 }, { "▁tea", 3 }, { "▁e\u0301t▁x", 1 }, { "日本のテスト5", 1 }, { "αtea", 1 }
    };
    struct segments s;
    struct buf all = BUF_INIT;
    cut(&s, words, 5, 1);
    for (size_t i = 0; i < s.count; i++) {
        print_text(&s, s.items[i].at, s.items[i].len, &all);
        buf_addf(&all, " %u\n", (unsigned)s.items[i].count);
    }
    cr_assert_str_eq(all.data, ", 2\n5 1\ntea 3\nα 1\n▁e\u0301t 1\n▁tea 3\n▁x 1\n▁“ 2\n"
                               "日本のテスト 1\n");
    buf_release(&all);
    segments_release(&s);
}

Test(learn_unigram, rare_characters_are_not_in_the_alphabet)
{
    static const struct word words[] = { { "aaab", 10 }, { "aczb", 1 } };
    struct segments s;
    cut(&s, words, 2, 0.95);
    cr_assert_eq(s.alphabet_count, 2);
    cr_assert_eq(s.count, 3, "aaab, a, b");
    segments_release(&s);
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static uint64_t occurrences(const struct segments *s, const uint32_t *piece, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k + n <= s->items[i].len; k++)
            if (!memcmp(s->text + s->items[i].at + k, piece, n * sizeof *piece))
                sum += s->items[i].count;
    return sum;
}

static void random_words(struct counted_words *list, size_t n, size_t length, uint32_t letters)
{
    struct word_counts *w = word_counts_new(0, NULL);
    uint64_t next = 0;
    char word[64];
    *list = (struct counted_words)COUNTED_WORDS_INIT;
    for (size_t i = 0; i < n; i++) {
        size_t len = 1 + rng_at(7, next++) % length;
        for (size_t k = 0; k < len; k++)
            word[k] = (char)('a' + rng_at(7, next++) % letters);
        word_counts_add(w, word, len, 1 + rng_at(7, next++) % 9);
    }
    cr_assert_eq(word_counts_join(list, &w, 1, 1), 0);
    word_counts_free(w);
}

/* At each place of a segment the list of seed pieces must be exactly those that match there. Their
 * probabilities must be proportional to frequency times length. */
Test(learn_unigram, seeds_match_where_they_occur)
{
    enum { LENGTH = 5 };
    struct counted_words list;
    struct segments s;
    struct seeds p;
    struct pool *pool = pool_new(3);
    random_words(&list, 60, 12, 3);
    cr_assert_eq(segments_cut(&s, &list, 1), 0);
    seeds_find(&p, &s, LENGTH, 1000, pool);
    cr_assert_gt(p.count, 50);
    double first = p.items[0].probability /
                   (double)(occurrences(&s, s.text + p.at[0], 1) * p.items[0].length);
    for (size_t i = 0; i < p.count; i++) {
        const uint32_t *piece = s.text + p.at[i];
        uint64_t count = occurrences(&s, piece, p.items[i].length), met = 0;
        cr_assert_leq(p.items[i].length, LENGTH);
        cr_assert_float_eq(p.items[i].probability / (double)(count * p.items[i].length), first,
                           1e-12);
        for (size_t k = 0; k < s.count; k++)
            for (size_t at = s.items[k].at; at < s.items[k].at + s.items[k].len; at++)
                for (uint32_t q = p.longest[at]; q != SEEDS_NONE; q = p.items[q].prefix)
                    met += q == i ? s.items[k].count : 0;
        cr_assert_eq(met, count, "piece %zu", i);
    }
    seeds_release(&p);
    segments_release(&s);
    counted_words_release(&list);
    pool_free(pool);
}

Test(learn_unigram, the_most_frequent_substrings_are_seeds)
{
    static const struct word words[] = { { "walking", 3 }, { "talking", 2 }, { "sing", 4 } };
    struct segments s;
    struct seeds p;
    struct pool *pool = pool_new(1);
    struct buf all = BUF_INIT;
    cut(&s, words, 3, 1);
    seeds_find(&p, &s, 16, 4, pool);
    for (size_t i = 0; i < p.count; i++) {
        if (p.items[i].length == 1)
            continue;
        print_text(&s, p.at[i], p.items[i].length, &all);
        buf_addc(&all, ' ');
    }
    /* alking 5 * 6, lking 5 * 5, ing 9 * 3, walking 3 * 7 */
    cr_assert_str_eq(all.data, "alking ing lking walking ");
    buf_release(&all);
    seeds_release(&p);
    segments_release(&s);
    pool_free(pool);
}

/* ---- expectation maximization ---------------------------------------------------------------- */

/* Adds to expected[] the expected counts of the pieces of segment g, from character `at` on, by
 * trying all divisions. before: the probability of the pieces before `at`; weight: the segment's
 * count. Returns the sum of the probabilities of all divisions. */
static double try_all(const struct segments *s, const struct seeds *p, const struct segment *g,
                      uint32_t at, double before, double *expected, double weight)
{
    double sum = 0;
    if (at == g->len)
        return before;
    for (uint32_t k = p->longest[g->at + at]; k != SEEDS_NONE; k = p->items[k].prefix) {
        double all = try_all(s, p, g, at + p->items[k].length, before * p->items[k].probability,
                             expected, weight);
        expected[k] += all * weight;
        sum += all;
    }
    return sum;
}

static double slope_of_log_gamma(double x)
{
    double h = 1e-4 * x;
    return (lgamma(x + h) - lgamma(x - h)) / (2 * h);
}

Test(learn_unigram, expected_counts_are_those_of_all_divisions)
{
    struct counted_words list;
    struct segments s;
    struct seeds p;
    struct pool *pool = pool_new(2);
    random_words(&list, 40, 9, 3);
    cr_assert_eq(segments_cut(&s, &list, 1), 0);
    seeds_find(&p, &s, 4, 40, pool);
    double *expected = mem_zalloc(p.count, sizeof *expected), sum = 0, *none;
    none = mem_zalloc(p.count, sizeof *none);
    for (size_t i = 0; i < s.count; i++) {
        double z = try_all(&s, &p, &s.items[i], 0, 1, none, 0);
        try_all(&s, &p, &s.items[i], 0, 1, expected, (double)s.items[i].count / z);
    }
    size_t before = p.count;
    for (size_t i = 0; i < p.count; i++)
        sum += expected[i];
    struct em *e = em_new(&s, &p, pool, 2);
    em_step(e);
    cr_assert_eq(p.count, before, "all pieces occur");
    for (size_t i = 0; i < p.count; i++)
        cr_assert_float_eq(p.items[i].score,
                           slope_of_log_gamma(expected[i]) - slope_of_log_gamma(sum), 1e-4);
    em_free(e);
    free(expected);
    free(none);
    seeds_release(&p);
    segments_release(&s);
    counted_words_release(&list);
    pool_free(pool);
}

/* ---- whole vocabularies ---------------------------------------------------------------------- */

static const char *const unknown[] = { "<unk>" };

static int learn_words(struct vocabulary *v, const struct counted_words *list, uint32_t size,
                       int threads)
{
    struct learn_options o = { .vocabulary_size = size,
                               .special = unknown,
                               .special_count = 1,
                               .coverage = 1,
                               .shrinking = 0.75,
                               .length_max = 16,
                               .seed_count = 10000,
                               .threads = threads };
    vocabulary_init(v);
    cr_assert_eq(unigram_frame(v), 0, "%s", err_get());
    return learn_unigram(v, list, &o);
}

Test(learn_unigram, stems_become_tokens)
{
    static const char *const stems[] = { "walk", "talk", "jump", "ask",  "play", "call",
                                         "want", "look", "help", "turn", "work", "need" },
                             *const ends[] = { "", "s", "ed", "ing", "er", "ers" };
    enum { STEMS = 12, ENDS = 6 };
    struct word_counts *w = word_counts_new(0, NULL);
    struct counted_words list = COUNTED_WORDS_INIT;
    struct buf word = BUF_INIT;
    struct vocabulary v;
    for (size_t i = 0; i < STEMS * ENDS; i++) {
        buf_clear(&word);
        buf_addf(&word, "▁%s%s", stems[i / ENDS], ends[i % ENDS]);
        word_counts_add(w, word.data, word.len, 5 + (i + 1) * 7 % 11);
    }
    cr_assert_eq(word_counts_join(&list, &w, 1, 1), 0);
    cr_assert_eq(learn_words(&v, &list, 37, 1), 0, "%s", err_get());
    cr_assert_eq(v.count, 37);
    for (size_t i = 0; i < STEMS; i++) {
        buf_clear(&word);
        buf_addf(&word, "▁%s", stems[i]);
        cr_assert_geq(vocabulary_find(&v, word.data, word.len), 0, "%s", word.data);
    }
    for (uint32_t id = 2; id < v.count; id++)
        cr_assert_leq(v.scores[id], v.scores[id - 1], "the most probable first");
    buf_release(&word);
    word_counts_free(w);
    vocabulary_release(&v);
    counted_words_release(&list);
}

/* A segment of 20,000 characters has a probability far below the smallest double. */
Test(learn_unigram, long_segments_do_not_underflow)
{
    enum { LENGTH = 20000 };
    char *text = mem_alloc(LENGTH + 1);
    uint64_t next = 0;
    struct counted_words list;
    struct vocabulary v, again;
    for (size_t i = 0; i < LENGTH; i++)
        text[i] = (char)('a' + rng_at(7, next++) % 26);
    text[LENGTH] = '\0';
    count_words(&list, &(struct word){ text, 1 }, 1);
    cr_assert_eq(learn_words(&v, &list, 200, 1), 0, "%s", err_get());
    cr_assert_eq(learn_words(&again, &list, 200, 4), 0, "%s", err_get());
    cr_assert_eq(v.count, 200);
    for (uint32_t id = 0; id < v.count; id++) {
        cr_assert(isfinite(v.scores[id]));
        cr_assert_eq(v.scores[id], again.scores[id], "the same for any number of threads");
    }
    vocabulary_release(&v);
    vocabulary_release(&again);
    counted_words_release(&list);
    free(text);
}

Test(learn_unigram, refuses_vocabularies_that_are_too_small)
{
    static const struct word words[] = { { "abcdef", 3 } };
    struct counted_words list;
    struct vocabulary v;
    count_words(&list, words, 1);
    cr_assert_eq(learn_words(&v, &list, 6, 1), -1);
    cr_assert(strstr(err_get(), "special tokens and alphabet need 7"), "%s", err_get());
    vocabulary_release(&v);
    counted_words_release(&list);
}
