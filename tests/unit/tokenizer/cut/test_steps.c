#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/base/simd.h"
#include "common/formats/js.h"
#include "tokenizer/cut/steps.h"

/* Normalizes texts of many lengths with "b" replaced by `content`, and compares with a loop over
 * the bytes. */
static void replace_all(const char *content)
{
    struct rng r = { rng_key(0, 5), 0 };
    struct steps replace = { 0 }, none = { 0 };
    struct buf json = BUF_INIT, text = BUF_INIT, want = BUF_INIT, got = BUF_INIT;
    int lost;
    buf_addf(&json,
             "{\"type\": \"Replace\", \"pattern\": {\"String\": \"b\"}, \"content\": \"%s\"}",
             content);
    struct js *value = js_parse(json.data, json.len, "normalizer");
    cr_assert_eq(steps_read_normalizer(&replace, value), 0);
    struct stepper *s = stepper_new(&replace, &none);
    for (size_t n = 1; n < 200000; n += 1 + n / 8) {
        buf_clear(&text);
        buf_clear(&want);
        buf_clear(&got);
        uint64_t letters = 1 + rng_below(&r, 9); /* 1: all are replaced */
        for (size_t i = 0; i < n; i++) {
            buf_addc(&text, (int)('b' + rng_below(&r, letters)));
            if (text.data[i] == 'b')
                buf_adds(&want, content);
            else
                buf_addc(&want, text.data[i]);
        }
        cr_assert_eq(stepper_normalize(s, text.data, n, &got, &lost, NULL), 0);
        cr_assert(got.len == want.len && !memcmp(got.data, want.data, got.len + 1),
                  "%zu bytes, '%s'", n, content);
        cr_assert_eq(lost, !*content && text.data[0] == 'b');
    }
    stepper_free(s);
    js_free(value);
    steps_release(&replace);
    buf_release(&json);
    buf_release(&text);
    buf_release(&want);
    buf_release(&got);
}

Test(steps, a_byte_is_replaced_in_texts_of_all_lengths)
{
    static const char *const contents[] = { "", "x", "xy", "\xE2\x96\x81", "wxyz", "bb" };
    for (int level = 0; level < SIMD_LEVELS; level++)
        if (simd_use((enum simd_level)level) == 0)
            for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
                replace_all(contents[i]);
}

/* Cuts texts of characters of one to four bytes, and compares with a loop over the characters. */
Test(steps, words_and_other_characters_are_cut_in_texts_of_all_lengths)
{
    static const char *const kinds[][6] = { { ".", "-", "\u20AC", "\u2192", "\U0001F600", "@" },
                                            { "a", "Z", "_", "7", "\u00E9", "\U00020000" },
                                            { " ", "\n", "\u00A0", "\u3000", " ", " " } };
    struct rng r = { rng_key(0, 6), 0 };
    struct steps none = { 0 }, cuts = { 0 };
    struct buf text = BUF_INIT;
    struct pieces p;
    int byte_level = 0;
    struct js *value = js_parse("{\"type\": \"Whitespace\"}", 22, "pre-tokenizer");
    cr_assert_eq(steps_read_pre_tokenizer(&cuts, value, &byte_level), 0);
    struct stepper *s = stepper_new(&none, &cuts);
    for (size_t n = 1; n < 400; n++) {
        size_t begins[400], ends[400], count = 0;
        buf_clear(&text);
        for (size_t i = 0, before = 2; i < n; i++) {
            const size_t kind = rng_below(&r, 4) ? before : rng_below(&r, 3);
            if (kind != 2 && kind != before)
                begins[count++] = text.len;
            buf_adds(&text, kinds[kind][rng_below(&r, 6)]);
            if (kind != 2)
                ends[count - 1] = text.len;
            before = kind;
        }
        cr_assert_eq(stepper_cut(s, text.data, text.len, 1, &p), 0);
        cr_assert_eq(p.count, count, "%s", text.data);
        cr_expect_arr_eq(p.begins, begins, count * sizeof *begins);
        cr_expect_arr_eq(p.ends, ends, count * sizeof *ends);
    }
    stepper_free(s);
    js_free(value);
    steps_release(&cuts);
    buf_release(&text);
}

/* The map turns the sign TM into two letters. The ® behind it is a cluster of its own, and stays; a
 * mark is of the sign's cluster. */
Test(steps, pictographs_are_clusters_of_their_own)
{
    static const char json[] = "{\"type\": \"Precompiled\", \"precompiled_charsmap\": "
                               "\"FAAAAACMAwDiHAIAhIwCAKIdAAAAAACAVE0A\"}";
    static const char text[] = "™® ®™ ™©a ™\u0301 ™™ a®";
    struct steps map = { 0 }, none = { 0 };
    struct buf got = BUF_INIT;
    int lost;
    struct js *value = js_parse(json, sizeof json - 1, "normalizer");
    cr_assert_eq(steps_read_normalizer(&map, value), 0, "%s", err_get());
    struct stepper *s = stepper_new(&map, &none);
    cr_assert_eq(stepper_normalize(s, text, sizeof text - 1, &got, &lost, NULL), 0);
    cr_expect_str_eq(got.data, "TM® ®TM TM©a TM TMTM a®");
    stepper_free(s);
    js_free(value);
    steps_release(&map);
    buf_release(&got);
}

/* The map drops tabs. In tokenizers 0.23.3 the text still begins at its beginning, so that
 * Metaspace puts its sign before it. */
Test(steps, what_a_map_drops_is_no_lost_beginning)
{
    static const char json[] = "{\"type\": \"Precompiled\", \"precompiled_charsmap\": "
                               "\"DAAAAAAgAAAJDQAAAAAAgAA=\"}";
    struct steps map = { 0 }, none = { 0 };
    struct buf got = BUF_INIT;
    int lost;
    struct js *value = js_parse(json, sizeof json - 1, "normalizer");
    cr_assert_eq(steps_read_normalizer(&map, value), 0, "%s", err_get());
    struct stepper *s = stepper_new(&map, &none);
    cr_assert_eq(stepper_normalize(s, "\ta\tb", 4, &got, &lost, NULL), 0);
    cr_expect_str_eq(got.data, "ab");
    cr_expect_eq(lost, 0);
    stepper_free(s);
    js_free(value);
    steps_release(&map);
    buf_release(&got);
}

/* The map turns a tab into x. Texts of the list "keep" stay as they are: two tabs in a row. Members
 * of the list that are no texts are skipped. */
Test(steps, texts_of_the_list_are_kept_from_the_map)
{
    static const char json[] =
        "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \""
        "LAAAAAAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACQkAAAAAAAAAAACAeAA="
        "\", \"match\": \"longest\", \"keep\": [7, \"\\t\\t\", \"\"]}";
    struct steps map = { 0 }, none = { 0 };
    struct buf got = BUF_INIT;
    int lost;
    struct js *value = js_parse(json, sizeof json - 1, "normalizer");
    cr_assert_eq(steps_read_normalizer(&map, value), 0, "%s", err_get());
    struct stepper *s = stepper_new(&map, &none);
    cr_assert_eq(stepper_normalize(s, "a\tb\t\tc", 6, &got, &lost, NULL), 0);
    cr_expect_str_eq(got.data, "axb\t\tc");
    stepper_free(s);
    js_free(value);
    steps_release(&map);
    buf_release(&got);
}
