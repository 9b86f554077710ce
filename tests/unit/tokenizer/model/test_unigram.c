#include <criterion/criterion.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/base64.h"
#include "common/base/err.h"
#include "common/base/rng.h"
#include "tokenizer/cut/charsmap.h"
#include "tokenizer/files/files.h"
#include "tokenizer/tokenizer.h"

#define UNIGRAM(more)                                                                              \
    "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0," more "\"vocab\":[[\"<unk>\",0],[\"a\",-3],"   \
    "[\"b\",-4],[\"ab\",-6.5],[\"ba\",-6],[\"aba\",-9.25],[\"c\",-5.125],[\"bcb\",-2],"            \
    "[\"\\u00e9\",-7],[\"<0xC3>\",-20],[\"<0xBF>\",-20]]}}"

static const char *const pieces[] = { NULL, "a", "b", "ab", "ba", "aba", "c", "bcb" };
static const double scores[] = { 0, -3, -4, -6.5, -6, -9.25, -5.125, -2 };

static struct tokenizer *load(const char *text)
{
    struct vocabulary v;
    vocabulary_init(&v);
    cr_assert_eq(tokenizer_json_parse(&v, text, strlen(text), "x"), 0, "%s", err_get());
    return tokenizer_from_vocabulary(&v);
}

/* Returns the highest sum of scores of all divisions of the text, by trying all of them. */
static double best(const char *text)
{
    double found = *text ? -DBL_MAX : 0;
    for (size_t i = 1; i < sizeof pieces / sizeof *pieces; i++) {
        size_t n = strlen(pieces[i]);
        if (strncmp(text, pieces[i], n) != 0)
            continue;
        double score = scores[i] + best(text + n);
        found = score > found ? score : found;
    }
    return found;
}

Test(unigram, the_highest_sum_is_found)
{
    struct tokenizer *t = load(UNIGRAM(""));
    struct encoder *e = encoder_new(t);
    struct rng r = { rng_key(0, 23), 0 };
    for (int i = 0; i < 2000; i++) {
        char text[16] = { 0 };
        struct ids ids = { 0 };
        struct buf back = BUF_INIT;
        double sum = 0;
        for (uint64_t k = 0, n = 1 + rng_below(&r, 12); k < n; k++)
            text[k] = "abc"[rng_below(&r, 3)];
        cr_assert_eq(encoder_encode(e, text, strlen(text), TOKENIZER_ORDINARY, &ids), 0);
        for (size_t k = 0; k < ids.count; k++) {
            cr_assert(ids.data[k] > 0 && ids.data[k] < 8);
            sum += scores[ids.data[k]];
            buf_adds(&back, pieces[ids.data[k]]);
        }
        cr_assert_str_eq(back.data, text);
        cr_assert_float_eq(sum, best(text), 1e-9, "%s: %g, not %g", text, sum, best(text));
        ids_release(&ids);
        buf_release(&back);
    }
    encoder_free(e);
    tokenizer_free(t);
}

static void expect_ids(const char *file, const char *text, const char *want)
{
    struct tokenizer *t = load(file);
    struct encoder *e = encoder_new(t);
    struct ids ids = { 0 };
    struct buf got = BUF_INIT;
    cr_assert_eq(encoder_encode(e, text, strlen(text), TOKENIZER_ORDINARY, &ids), 0, "%s",
                 err_get());
    for (size_t i = 0; i < ids.count; i++)
        buf_addf(&got, i ? " %u" : "%u", ids.data[i]);
    cr_expect_str_eq(got.data, want, "%s: %s", text, got.data);
    encoder_free(e);
    tokenizer_free(t);
    ids_release(&ids);
    buf_release(&got);
}

/* As in Hugging Face's tokenizers, several unknown characters in a row are one unknown token, or
 * the tokens of their bytes. */
Test(unigram, unknown_characters)
{
    expect_ids(UNIGRAM(""), "axyb", "1 0 2");
    expect_ids(UNIGRAM("\"byte_fallback\":true,"), "axyb", "1 0 2");
    expect_ids(UNIGRAM("\"byte_fallback\":true,"),
               "a\xC3\xBF\xC3\xBF"
               "b",
               "1 9 10 9 10 2");
    expect_ids(UNIGRAM("\"byte_fallback\":true,"), "\xC3\xA9", "8");
}

/* Pieces of SentencePiece with scores whose sums are often equal but for rounding. */
#define TIES                                                                                         \
    "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"hides_special\":true,\"vocab\":[[\"<unk>\",0]," \
    "[\"a\",-1.1],[\"b\",-2.3],[\"c\",-3.7],[\"ab\",-3.4],[\"bc\",-6],[\"abc\",-7.1],[\"ca\",-4.8]]}}"

static const char *const tied[] = { NULL, "a", "b", "c", "ab", "bc", "abc", "ca" };
static const float tied_scores[] = { 0, -1.1f, -2.3f, -3.7f, -3.4f, -6, -7.1f, -4.8f };

/* Viterbi's algorithm over a whole text as SentencePiece 0.2 has it: sums are floats, and where one
 * goes below -100,000, it and those after it lose its value. Writes the ids from the last to the
 * first. Returns their number. */
static size_t whole_text(const char *text, size_t n, uint32_t *ids)
{
    float *sums = malloc((n + 4) * sizeof *sums);
    uint32_t *last = calloc(n + 4, sizeof *last);
    size_t count = 0;
    sums[0] = 0;
    for (size_t at = 0; at < n; at++) {
        const float base = sums[at] < -1e5f ? sums[at] : 0;
        for (size_t k = at; k < at + 4 && base != 0; k++)
            sums[k] -= base;
        for (uint32_t id = 1; id < sizeof tied / sizeof *tied; id++) {
            const size_t end = at + strlen(tied[id]);
            const float sum = sums[at] + tied_scores[id];
            if (end > n || memcmp(text + at, tied[id], end - at) != 0 ||
                (last[end] && sum <= sums[end]))
                continue;
            sums[end] = sum;
            last[end] = id;
        }
    }
    for (size_t at = n; at; at -= strlen(tied[last[at]]))
        ids[count++] = last[at];
    free(sums);
    free(last);
    return count;
}

Test(unigram, ties_by_the_sums_of_the_whole_text, .timeout = 60)
{
    enum { LONG = 120000 };
    struct tokenizer *t = load(TIES);
    struct encoder *e = encoder_new(t);
    struct rng r = { rng_key(0, 29), 0 };
    char *text = malloc(LONG);
    uint32_t *want = malloc(LONG * sizeof *want);
    for (size_t n = 1; n <= LONG; n += 1 + n / 3) {
        struct ids ids = { 0 };
        for (size_t i = 0; i < n; i++)
            text[i] = "abcc"[rng_below(&r, 4)];
        cr_assert_eq(encoder_encode(e, text, n, TOKENIZER_ORDINARY, &ids), 0, "%s", err_get());
        cr_assert_eq(whole_text(text, n, want), ids.count, "%zu bytes", n);
        for (size_t i = 0; i < ids.count; i++)
            cr_assert_eq(ids.data[i], want[ids.count - 1 - i], "%zu bytes: id %zu", n, i);
        ids_release(&ids);
    }
    free(text);
    free(want);
    encoder_free(e);
    tokenizer_free(t);
}

Test(unigram, long_pieces, .timeout = 60)
{
    enum { LONG = 10 << 20 };
    struct tokenizer *t = load(UNIGRAM(""));
    struct encoder *e = encoder_new(t);
    struct ids ids = { 0 };
    char *text = malloc(LONG);
    for (size_t i = 0; i < LONG; i++)
        text[i] = "abc"[i % 3];
    cr_assert_eq(encoder_encode(e, text, LONG, TOKENIZER_ORDINARY, &ids), 0, "%s", err_get());
    cr_expect_gt(ids.count, LONG / 3);
    free(text);
    ids_release(&ids);
    encoder_free(e);
    tokenizer_free(t);
}

Test(unigram, comes_back_from_json)
{
    struct tokenizer *t = load(UNIGRAM("\"byte_fallback\":true,"));
    struct buf text = BUF_INIT, again = BUF_INIT;
    tokenizer_print(t, &text);
    struct tokenizer *other = load(text.data);
    tokenizer_print(other, &again);
    cr_expect_str_eq(text.data, again.data);
    cr_expect_eq(tokenizer_checksum(t), tokenizer_checksum(other));
    tokenizer_free(t);
    tokenizer_free(other);
    buf_release(&text);
    buf_release(&again);
}

Test(unigram, bad_vocabularies)
{
    static const char *const cases[][2] = {
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":{}}}", "not a list of tokens" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", "not a list of tokens" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"b\"]]}}",
          "model.vocab: item 1: not a token and its score" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",\"b\"]]}}", "item 0: not a token" },
        { "{\"model\":{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",-1]]}}",
          "model.unk_id is not a token" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"a\",-1]]}}", "same token" },
        { "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAA\"},"
          "\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]]}}",
          "normalizer Precompiled: the map of characters is damaged" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct vocabulary v;
        vocabulary_init(&v);
        cr_expect_eq(tokenizer_json_parse(&v, cases[i][0], strlen(cases[i][0]), "x"), -1);
        cr_expect(strstr(err_get(), cases[i][1]), "%s", err_get());
        vocabulary_release(&v);
    }
}

Test(wordlevel, a_word_is_a_token_or_unknown)
{
    static const char file[] =
        "{\"pre_tokenizer\":{\"type\":\"Whitespace\"},\"model\":{\"type\":\"WordLevel\","
        "\"vocab\":{\"[UNK]\":0,\"the\":1,\"moon\":2},\"unk_token\":\"[UNK]\"}}";
    expect_ids(file, "the moon, the sun", "1 2 0 1 0");
    struct tokenizer *t = load("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}");
    struct encoder *e = encoder_new(t);
    struct ids ids = { 0 };
    cr_expect_eq(encoder_encode(e, "b", 1, TOKENIZER_ORDINARY, &ids), -1);
    cr_expect(strstr(err_get(), "no token for 'b'"), "%s", err_get());
    encoder_free(e);
    tokenizer_free(t);
    ids_release(&ids);
}
