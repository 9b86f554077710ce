#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "tokenizer/files/files.h"
#include "tokenizer/model/seams.h"
#include "tokenizer/model/vocabulary.h"
#include "tokenizer/parts.h"
#include "tokenizer/tokenizer.h"

/* Here _ stands for a space. The tokens "ab", "_a", "_ab", "__", "cd" and "d_" come from merges;
 * the character x is not in the vocabulary. */
#define VOCAB                                                                                      \
    "\"vocab\":{\"<unk>\":0,\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"_\":5,\"ab\":6,\"_a\":7,"            \
    "\"_ab\":8,\"__\":9,\"cd\":10,\"d_\":11,\"\\u00e9\":12,\"\\u00e9a\":13},"                      \
    "\"merges\":[\"a b\",\"_ a\",\"_ ab\",\"_ _\",\"c d\",\"d _\",\"\\u00e9 a\"]"

static struct tokenizer *load(const char *more)
{
    struct buf text = BUF_INIT;
    struct vocabulary v;
    buf_addf(&text,
             "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":["
             "{\"type\":\"Prepend\",\"prepend\":\"_\"},"
             "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"_\"}]},"
             "\"pre_tokenizer\":null,\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",%s" VOCAB
             "}}",
             more);
    vocabulary_init(&v);
    cr_assert_eq(tokenizer_json_parse(&v, text.data, text.len, "x"), 0, "%s", err_get());
    buf_release(&text);
    return tokenizer_from_vocabulary(&v);
}

static void random_text(struct buf *text, struct rng *r)
{
    static const char *const parts[] = { "a", "b", "c",
                                         "d", " ", "\xC3\xA9",
                                         "x", "y", "abababababababababababababababababababab" };
    buf_clear(text);
    for (uint64_t n = rng_below(r, 60); n; n--)
        buf_adds(text, parts[rng_below(r, rng_below(r, 4) ? 8 : 9)]);
}

/* Writes the normalized text to `out`: each space becomes _, and a _ is put in front. */
static void normalized(struct buf *out, const struct buf *text)
{
    buf_clear(out);
    buf_adds(out, text->len ? "_" : "");
    for (size_t i = 0; i < text->len; i++)
        buf_addc(out, text->data[i] == ' ' ? '_' : text->data[i]);
}

/* Checks that encoding a text in parts gives the ids of the whole text. x and y have no token:
 * several of them in a row may be one unknown token, which must not be divided. more: further keys
 * of the tokenizer's JSON. */
static void ids_are_those_of_the_whole(const char *more)
{
    struct tokenizer *t = load(more);
    struct encoder *e = encoder_new(t);
    struct subword_scratch scratch = { 0 };
    struct buf text = BUF_INIT, whole = BUF_INIT;
    struct ids got = { 0 }, want = { 0 };
    struct rng r = { rng_key(0, 22), 0 };
    cr_assert(t->seams);
    for (int i = 0; i < 5000; i++) {
        random_text(&text, &r);
        normalized(&whole, &text);
        got.count = want.count = 0;
        cr_assert_eq(encoder_encode(e, text.data, text.len, TOKENIZER_ORDINARY, &got), 0);
        if (whole.len)
            subword_encode(t->subword, &scratch, whole.data, whole.len, &want);
        cr_assert_eq(got.count, want.count, "'%s'", text.data);
        cr_assert(!got.count || !memcmp(got.data, want.data, got.count * sizeof *got.data), "'%s'",
                  text.data);
    }
    encoder_free(e);
    tokenizer_free(t);
    subword_scratch_release(&scratch);
    buf_release(&text);
    buf_release(&whole);
    ids_release(&got);
    ids_release(&want);
}

Test(seams, ids_are_those_of_the_whole_text)
{
    ids_are_those_of_the_whole("");
    ids_are_those_of_the_whole("\"fuse_unk\":true,");
    ids_are_those_of_the_whole("\"fuse_unk\":true,\"byte_fallback\":true,");
}

Test(seams, are_where_no_token_reaches)
{
    static const char text[] = "ab_ab__cd_acb";
    static const size_t want[] = { 2, 5, 7, 11, 12, 13 };
    struct tokenizer *t = load("");
    size_t ends[16];
    cr_assert_eq(seams_cut(t->seams, text, strlen(text), 0, ends, 16), 6);
    for (size_t i = 0; i < 6; i++)
        cr_expect_eq(ends[i], want[i], "%zu", ends[i]);
    cr_expect_eq(seams_cut(t->seams, text, strlen(text), 0, ends, 2), 2);
    tokenizer_free(t);
}

/* With ignore_merges there must be no seams, because a whole piece can be a token that its parts do
 * not give. */
Test(seams, there_are_none_where_more_than_merges_counts)
{
    struct tokenizer *t = load("\"ignore_merges\":true,");
    cr_expect_null(t->seams);
    tokenizer_free(t);
}

/* Adds the two characters of a pair as one token, or the first alone if the second is 0. */
static void put(struct vocabulary *v, uint32_t first, uint32_t second)
{
    struct buf token = BUF_INIT;
    utf8_add(&token, first);
    if (second)
        utf8_add(&token, second);
    cr_assert_eq(vocabulary_put(v, v->count, token.data, token.len, TOKEN_MODEL), 0, "%s",
                 err_get());
    buf_release(&token);
}

/* A hash set with other pairs than those of the tokens would lose some of these cuts, which every
 * English text needs. */
Test(seams, none_between_ascii_characters_is_missed)
{
    enum { CHINESE = 0x4E00, COUNT = 100 };
    const uint32_t space = 0x2581;
    struct vocabulary v;
    char text[8];
    size_t ends[8];
    vocabulary_init(&v);
    v.model = VOCABULARY_BPE;
    v.byte_level = 0;
    put(&v, space, 0);
    for (uint32_t c = ' '; c < 0x7F; c++)
        put(&v, c, 0);
    for (uint32_t i = 0; i < COUNT * COUNT; i++)
        put(&v, CHINESE + i / COUNT, CHINESE + i % COUNT);
    struct seams *s = seams_new(&v);
    cr_assert(s);
    for (uint32_t c = ' '; c < 0x7F; c++)
        for (uint32_t right = ' '; right < 0x7F; right++) {
            int n = snprintf(text, sizeof text, "%c%c", (char)c, (char)right);
            cr_assert_eq(seams_cut(s, text, (size_t)n, 0, ends, 8), 2, "'%s'", text);
        }
    seams_free(s);
    vocabulary_release(&v);
}

/* Compares the cuts of a random text by all instruction sets. */
static void compare_cuts(const struct seams *s, struct rng *r)
{
    static const char *const parts[] = { "\xE2\x96\x81", "a",           "B", "\xC3\xA9", "7", ".",
                                         "\xE2\x96\x82", "\xE4\xB8\x80" };
    struct buf text = BUF_INIT;
    size_t want[600], got[600], count = 0, kinds = 2 + rng_below(r, 7);
    for (int i = 0; i < 150; i++)
        buf_adds(&text, parts[rng_below(r, kinds)]);
    for (int level = 0; level < SIMD_LEVELS; level++) {
        if (simd_use((enum simd_level)level) < 0)
            continue;
        size_t n = seams_cut(s, text.data, text.len, 0, level ? got : want, 600);
        count = level ? count : n;
        cr_assert_eq(n, count, "'%s'", text.data);
        cr_assert(!level || !memcmp(got, want, n * sizeof *got), "'%s'", text.data);
    }
    buf_release(&text);
}

Test(seams, all_instruction_sets_cut_at_the_same_places)
{
    static const uint32_t chars[] = { 0x2581, 'a', 'B', 0xE9, '7', '.', 0x2582, 0x4E00 };
    enum { COUNT = sizeof chars / sizeof *chars };
    struct rng r = { rng_key(0, 41), 0 };
    for (int round = 0; round < 200; round++) {
        struct vocabulary v;
        vocabulary_init(&v);
        v.model = VOCABULARY_BPE;
        v.byte_level = 0;
        for (int i = 0; i < COUNT; i++) {
            if (rng_below(&r, 8))
                put(&v, chars[i], 0);
            for (int k = 0; k < COUNT; k++)
                if (rng_below(&r, 3) == 0)
                    put(&v, chars[i], chars[k]);
        }
        struct seams *s = seams_new(&v);
        cr_assert(s);
        for (int i = 0; i < 10; i++)
            compare_cuts(s, &r);
        seams_free(s);
        vocabulary_release(&v);
    }
}
