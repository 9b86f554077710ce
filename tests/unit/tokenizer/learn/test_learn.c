/* Learning vocabularies, and counting the words of the texts. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "tokenizer/files/files.h"
#include "tokenizer/learn/learn.h"
#include "tokenizer/learn/word_counts.h"
#include "tokenizer/model/vocabulary.h"
#include "tokenizer/tokenizer.h"

/* ---- words from texts ------------------------------------------------------------------------ */

static int put_word(void *ctx, const char *word, size_t n)
{
    return word_counts_add(ctx, word, n, 1);
}

/* Counts the words of a text. wordpiece: 1 to cut it as BERT's tokenizer does, 0 to cut it as
 * GPT-2's does. */
static void count_text(struct counted_words *words, const char *text, int wordpiece)
{
    struct vocabulary frame;
    vocabulary_init(&frame);
    if (wordpiece)
        wordpiece_frame(&frame, 0);
    else
        splitter_add(&frame.splitter, SPLIT_GPT2, NULL, 0);
    struct tokenizer *t = tokenizer_from_vocabulary(&frame);
    struct encoder *e = encoder_new(t);
    struct word_counts *w = word_counts_new(0, NULL);
    *words = (struct counted_words)COUNTED_WORDS_INIT;
    cr_assert_eq(encoder_pieces(e, text, strlen(text), put_word, w), 0);
    cr_assert_eq(word_counts_join(words, &w, 1, 1), 0);
    word_counts_free(w);
    encoder_free(e);
    tokenizer_free(t);
}

/* ---- learning -------------------------------------------------------------------------------- */

/* Learns merges by the definition: counts all pairs of all words again for each merge. Returns the
 * number of merges. */
static size_t learn_plainly(struct bpe_merge *merges, size_t max, const char *const *words,
                            const uint64_t *counts, size_t n, const int64_t byte_ids[256],
                            uint32_t next)
{
    static uint64_t pairs[256][256];
    uint32_t tokens[8][64];
    size_t len[8], made = 0;
    for (size_t w = 0; w < n; w++)
        for (len[w] = 0; words[w][len[w]]; len[w]++)
            tokens[w][len[w]] = (uint32_t)byte_ids[(unsigned char)words[w][len[w]]];
    for (; made < max; made++, next++) {
        uint64_t most = 0;
        uint32_t left = 0, right = 0;
        memset(pairs, 0, sizeof pairs);
        for (size_t w = 0; w < n; w++)
            for (size_t i = 0; i + 1 < len[w]; i++)
                pairs[tokens[w][i]][tokens[w][i + 1]] += counts[w];
        for (uint32_t a = 0; a < next; a++)
            for (uint32_t b = 0; b < next; b++)
                if (pairs[a][b] > most) {
                    most = pairs[a][b];
                    left = a;
                    right = b;
                }
        if (!most)
            break;
        merges[made] = (struct bpe_merge){ left, right, next, 0 };
        for (size_t w = 0; w < n; w++)
            for (size_t i = 0; i + 1 < len[w]; i++)
                if (tokens[w][i] == left && tokens[w][i + 1] == right) {
                    tokens[w][i] = next;
                    memmove(tokens[w] + i + 1, tokens[w] + i + 2,
                            (len[w] - i - 2) * sizeof **tokens);
                    len[w]--;
                }
    }
    return made;
}

Test(learn, merges_are_those_of_a_plain_count)
{
    static const char *const words[] = { "low", "lowerr", "newest", "widest", "weewe", "oolong" };
    static const uint64_t counts[] = { 5, 2, 6, 3, 6, 1 };
    struct learn_options o = { .vocabulary_size = 40 };
    struct bpe_merge want[64];
    struct word_counts *w = word_counts_new(0, NULL);
    struct counted_words list = COUNTED_WORDS_INIT;
    struct vocabulary v;
    for (size_t i = 0; i < 6; i++)
        for (uint64_t k = 0; k < counts[i]; k++)
            word_counts_add(w, words[i], strlen(words[i]), 1);
    cr_assert_eq(word_counts_join(&list, &w, 1, 1), 0);
    cr_assert_eq(list.count, 6);
    vocabulary_init(&v);
    cr_assert_eq(learn(&v, &list, &o), 0, "%s", err_get());
    int64_t byte_ids[256];
    vocabulary_byte_ids(&v, byte_ids);
    uint32_t letters = v.count - (uint32_t)v.merge_count;
    size_t made = learn_plainly(want, 40 - letters, words, counts, 6, byte_ids, letters);
    cr_assert_gt(made, 10);
    cr_assert_eq(v.merge_count, made);
    cr_assert(!memcmp(v.merges, want, made * sizeof *want));
    word_counts_free(w);
    counted_words_release(&list);
    vocabulary_release(&v);
}

static void learn_text(struct vocabulary *v, const char *text, const struct learn_options *o,
                       int expect)
{
    struct counted_words words;
    count_text(&words, text, 0);
    vocabulary_init(v);
    cr_assert_eq(learn(v, &words, o), expect, "%s", err_get());
    counted_words_release(&words);
}

Test(learn, special_tokens_then_alphabet_then_merges)
{
    const char *special[] = { "<|endoftext|>", "<pad>" };
    struct learn_options o = {
        .vocabulary_size = 258, .special = special, .special_count = 2, .all_bytes = 1
    };
    struct vocabulary v;
    learn_text(&v, "aa aa aa", &o, 0);
    cr_assert_eq(v.count, 258);
    cr_assert_eq(vocabulary_find(&v, "<|endoftext|>", 13), 0);
    cr_assert_eq(vocabulary_find(&v, "<pad>", 5), 1);
    cr_assert_eq(vocabulary_find(&v, "!", 1), 2);
    cr_assert_eq(vocabulary_find(&v, "\0", 1), 2 + 188, "the first that does not print");
    vocabulary_release(&v);
    o.vocabulary_size = 259;
    learn_text(&v, "aa aa aa", &o, 0);
    cr_assert_eq(vocabulary_find(&v, "aa", 2), 258, "3 times, and before (space, a) by its ids");
    vocabulary_release(&v);
}

Test(learn, too_small_and_colliding_are_errors)
{
    const char *special[] = { "ab", "ab" };
    struct learn_options o = {
        .vocabulary_size = 100, .special = special, .special_count = 1, .all_bytes = 1
    };
    struct vocabulary v;
    learn_text(&v, "ab ab", &o, -1);
    cr_assert(strstr(err_get(), "too small"), "%s", err_get());
    vocabulary_release(&v);
    o.vocabulary_size = 300;
    learn_text(&v, "ab ab", &o, -1);
    cr_assert(strstr(err_get(), "is also a learned token"), "%s", err_get());
    vocabulary_release(&v);
    special[0] = "a";
    learn_text(&v, "ab ab", &o, -1);
    cr_assert(strstr(err_get(), "'a' is also a learned token"), "%s", err_get());
    vocabulary_release(&v);
    special[0] = "ab";
    o.special_count = 2;
    learn_text(&v, "ab ab", &o, -1);
    cr_assert(strstr(err_get(), "given twice"), "%s", err_get());
    vocabulary_release(&v);
}

Test(learn, going_on_is_as_learning_in_one_go)
{
    static const char text[] = "banana bandana ananas the banal cabana and the bananas in a cab";
    struct learn_options o = { .vocabulary_size = 290, .all_bytes = 1 };
    struct vocabulary at_once, later;
    struct counted_words words;
    count_text(&words, text, 0);
    learn_text(&at_once, text, &o, 0);
    o.vocabulary_size = 264;
    learn_text(&later, text, &o, 0);
    cr_assert_eq(later.count, 264);
    o.vocabulary_size = 290;
    cr_assert_eq(learn(&later, &words, &o), 0, "%s", err_get());
    cr_assert_eq(later.count, at_once.count);
    cr_assert_eq(later.merge_count, at_once.merge_count);
    cr_assert(!memcmp(later.merges, at_once.merges, later.merge_count * sizeof *later.merges));
    counted_words_release(&words);
    vocabulary_release(&at_once);
    vocabulary_release(&later);
}

/* The vocabulary merges "ab" with "c", but has no merge that makes "ab". When that merge is
 * learned, it comes before the other. */
Test(learn, a_merge_that_is_learned_again_moves_to_the_end)
{
    struct learn_options o = { .vocabulary_size = 256, .all_bytes = 1 };
    struct counted_words words;
    struct vocabulary v;
    learn_text(&v, "abc", &o, 0);
    vocabulary_put(&v, 256, "ab", 2, TOKEN_MODEL);
    vocabulary_put(&v, 257, "abc", 3, TOKEN_MODEL);
    vocabulary_merge(&v, 256, (uint32_t)vocabulary_find(&v, "c", 1), 257);
    count_text(&words, "abc", 0);
    o.vocabulary_size = 300;
    cr_assert_eq(learn(&v, &words, &o), 0, "%s", err_get());
    cr_assert_eq(v.merge_count, 2);
    cr_assert_eq(v.merges[0].id, 256);
    cr_assert_eq(v.merges[1].id, 257);
    counted_words_release(&words);
    vocabulary_release(&v);
}

Test(learn, an_alphabet_keeps_the_frequent_and_the_wanted)
{
    struct learn_options o = { .vocabulary_size = 100, .alphabet_limit = 3, .initial = "z" };
    struct vocabulary v;
    learn_text(&v, "aaa-bbb-bcd", &o, 0);
    cr_assert(vocabulary_find(&v, "a", 1) >= 0 && vocabulary_find(&v, "b", 1) >= 0);
    cr_assert_geq(vocabulary_find(&v, "z", 1), 0, "asked for");
    cr_assert_lt(vocabulary_find(&v, "c", 1), 0);
    cr_assert_lt(vocabulary_find(&v, "-", 1), 0);
    vocabulary_release(&v);
}

static void expect_tokens(const struct vocabulary *v, const char *const *want, uint32_t count)
{
    cr_assert_eq(v->count, count);
    for (uint32_t id = 0; id < count; id++) {
        size_t n = 0;
        const char *token = vocabulary_bytes(v, id, &n);
        cr_assert(n == strlen(want[id]) && !memcmp(token, want[id], n), "%u: %.*s", id, (int)n,
                  token);
    }
}

/* ---- WordPiece ------------------------------------------------------------------------------- */

Test(learn, wordpiece_has_first_characters_then_others_then_merges)
{
    static const char *const want[] = { "[UNK]", "a", "b", "c", "##a", "##b", "ab", "ca" };
    const char *special[] = { "[UNK]" };
    struct learn_options o = { .vocabulary_size = 8, .special = special, .special_count = 1 };
    struct counted_words words;
    struct vocabulary v;
    count_text(&words, "ab ab ab cab cab", 1);
    vocabulary_init(&v);
    wordpiece_frame(&v, 0);
    cr_assert_eq(learn(&v, &words, &o), 0, "%s", err_get());
    expect_tokens(&v, want, 8);
    cr_assert_eq(v.merge_count, 0);
    counted_words_release(&words);
    vocabulary_release(&v);
}

/* ---- characters ------------------------------------------------------------------------------ */

/* A letter has up to four forms: as it is, with the prefix @ if it is not the first of its word,
 * with the suffix . if it is the last, and with both. */
Test(learn, characters_are_spelled_by_their_places)
{
    static const char *const want[] = { "a",       "b",   "\u00E9",   "@b",      "a.",
                                        "\u00E9.", "@a.", "@\u00E9.", "b\u00E9." };
    static const char *const words[] = { "a", "ba", "b\u00E9", "b\u00E9", "ab\u00E9", "\u00E9" };
    struct learn_options o = { .vocabulary_size = 9, .min_frequency = 2 };
    struct word_counts *w = word_counts_new(0, NULL);
    struct counted_words list = COUNTED_WORDS_INIT;
    struct vocabulary v;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        word_counts_add(w, words[i], strlen(words[i]), 1);
    cr_assert_eq(word_counts_join(&list, &w, 1, 1), 0);
    vocabulary_init(&v);
    cr_assert_eq(characters_frame(&v), 0, "%s", err_get());
    strcpy(v.prefix, "@");
    strcpy(v.suffix, ".");
    cr_assert_eq(learn(&v, &list, &o), 0, "%s", err_get());
    expect_tokens(&v, want, sizeof want / sizeof *want);
    cr_assert_eq(v.merge_count, 1);
    word_counts_free(w);
    counted_words_release(&list);
    vocabulary_release(&v);
}

/* The second letter of "aax" becomes the last one, as x is not in the alphabet. A last letter has a
 * suffix, and there is no such token. With a token for each byte of its spelling, the word would
 * have more tokens than bytes. */
Test(learn, a_letter_without_the_spelling_of_its_place_is_left_out)
{
    static const char *const names[] = { "a", "<0x61>", "<0x3C>", "<0x2F>", "<0x77>", "<0x3E>" };
    enum { NAMES = sizeof names / sizeof *names };
    struct learn_options o = { .vocabulary_size = 20, .alphabet_limit = 1 };
    struct word_counts *w = word_counts_new(0, NULL);
    struct counted_words list = COUNTED_WORDS_INIT;
    struct vocabulary v;
    word_counts_add(w, "aax", 3, 2);
    cr_assert_eq(word_counts_join(&list, &w, 1, 1), 0);
    vocabulary_init(&v);
    cr_assert_eq(characters_frame(&v), 0, "%s", err_get());
    strcpy(v.suffix, "</w>");
    v.byte_fallback = 1;
    for (int i = 0; i < NAMES; i++)
        vocabulary_put(&v, i, names[i], strlen(names[i]), TOKEN_MODEL);
    cr_assert_eq(learn(&v, &list, &o), 0, "%s", err_get());
    expect_tokens(&v, names, NAMES);
    cr_assert(!v.merge_count && v.byte_fallback);
    word_counts_free(w);
    counted_words_release(&list);
    vocabulary_release(&v);
}

/* ---- words that do not fit in memory --------------------------------------------------------- */

static int compare_words(const void *x, const void *y, void *list)
{
    const struct counted_words *l = list;
    const struct counted_word *a = x, *b = y;
    int order = memcmp(l->bytes.data + a->at, l->bytes.data + b->at,
                       a->len < b->len ? a->len : b->len);
    return order ? order : a->len < b->len ? -1 : a->len > b->len;
}

/* Counts random words in two tables with the memory limit `limit`, and merges the tables into
 * `out`. least: words that occur less often are left out. */
static void count_random(struct counted_words *out, size_t limit, uint64_t least)
{
    struct rng r = { rng_key(0, 5), 0 };
    struct word_counts *tables[2];
    for (int i = 0; i < 2; i++)
        tables[i] = word_counts_new(limit, "/tmp");
    for (int i = 0; i < 60000; i++) {
        char word[4000];
        size_t n = rng_below(&r, 50) ? rng_below(&r, 4) : rng_below(&r, sizeof word);
        memset(word, 0, sizeof word);
        for (size_t k = 0; k < n && k < 4; k++)
            word[k] = (char)rng_below(&r, 30);
        cr_assert_eq(word_counts_add(tables[rng_below(&r, 2)], word, n, 1 + rng_below(&r, 300)), 0);
    }
    *out = (struct counted_words)COUNTED_WORDS_INIT;
    cr_assert_eq(word_counts_join(out, tables, 2, least), 0, "%s", err_get());
    qsort_r(out->words, out->count, sizeof *out->words, compare_words, out);
    for (int i = 0; i < 2; i++)
        word_counts_free(tables[i]);
}

Test(word_counts, a_limit_changes_nothing)
{
    for (uint64_t least = 1; least < 1000; least *= 20) {
        struct counted_words all, spilled;
        count_random(&all, 0, least);
        count_random(&spilled, 64 << 10, least); /* some 200 runs: merged 16 at a time */
        cr_assert_gt(all.count, 1000);
        cr_assert_eq(all.count, spilled.count);
        for (size_t i = 0; i < all.count; i++) {
            const struct counted_word *a = &all.words[i], *b = &spilled.words[i];
            cr_assert(a->len == b->len && a->count == b->count && a->count >= least &&
                      !memcmp(all.bytes.data + a->at, spilled.bytes.data + b->at, a->len));
        }
        counted_words_release(&all);
        counted_words_release(&spilled);
    }
}

Test(word_counts, a_word_of_4_gib_is_an_error)
{
    struct word_counts *w = word_counts_new(0, NULL);
    cr_assert_eq(word_counts_add(w, "", UINT32_MAX, 1), -1); /* its bytes are not read */
    cr_expect_str_eq(err_get(), "a word of 4294967295 bytes is too long to be counted");
    word_counts_free(w);
}

struct bytes {
    const char *at;
    size_t n;
};

static int64_t pull(void *from, void *bytes, size_t n)
{
    struct bytes *b = from;
    n = n < b->n ? n : b->n;
    memcpy(bytes, b->at, n);
    b->at += n;
    b->n -= n;
    return (int64_t)n;
}

Test(word_counts, a_torn_row_is_an_error)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *error;
    } cases[] = {
        { "\3\1abc", 5, NULL },
        { "\3\1ab", 4, "at byte 0: the file is cut off" },
        { "\1\1a\1", 4, "at byte 3: the file is cut off" },
        { "\1\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\2aaaaaaaaaaaaaaaaaaaa", 31,
          "at byte 0: not a row" },
        { "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F\1a", 10, "at byte 0: not a row" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes all = { cases[i].bytes, cases[i].n };
        struct input in;
        struct word_row row;
        int got;
        input_open_pulled(&in, "run", pull, &all);
        while ((got = word_row_read(&in, &row)) > 0)
            input_skip(&in, row.bytes);
        cr_assert_eq(got, cases[i].error ? -1 : 0);
        if (cases[i].error)
            cr_assert(strstr(err_get(), cases[i].error), "%zu: %s", i, err_get());
        input_close(&in);
    }
}

Test(vocabulary, merges_derived_from_ranks_are_those_learned)
{
    struct learn_options o = { .vocabulary_size = 290, .all_bytes = 1 };
    struct vocabulary v;
    learn_text(&v, "banana bandana ananas the banal cabana and the bananas", &o, 0);
    size_t count = v.merge_count;
    struct bpe_merge *learned = mem_alloc(count * sizeof *learned);
    memcpy(learned, v.merges, count * sizeof *learned);
    cr_assert_eq(vocabulary_derive_merges(&v), 0, "%s", err_get());
    cr_assert_eq(v.merge_count, count);
    cr_assert(!memcmp(learned, v.merges, count * sizeof *learned));
    free(learned);
    vocabulary_release(&v);
}
