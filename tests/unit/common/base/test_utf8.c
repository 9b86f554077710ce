/* UTF-8: what is valid, and reading of any bytes. */
#include <criterion/criterion.h>

#include <string.h>

#include "common/base/rng.h"
#include "common/base/simd.h"
#include "common/base/utf8.h"
#include "unicode/unicode.h"

Test(utf8_read, code_points_end_at_10ffff)
{
    unsigned c;
    cr_expect(utf8_read("\xF4\x8F\xBF\xBF", 4, &c) == 4 && c == 0x10FFFF);
    cr_expect(utf8_read("\xF4\x90\x80\x80", 4, &c) == 1 && c == 0xF4);
    cr_expect(utf8_read("\xF4\x8F\xBF", 3, &c) == 1 && c == 0xF4);
    cr_expect(utf8_read("\xED\xA0\x80", 3, &c) == 3 && c == 0xD800);
}

Test(utf8_count, each_character_counts_once_wherever_it_begins)
{
    static const char *const characters[] = { "a", "\xC3\xA9", "\xE6\xBC\xA2", "\xF0\x9F\x98\x80" };
    char text[128];
    for (size_t first = 0; first < 4; first++) {
        size_t n = 0;
        for (size_t count = 0; count < 25; count++) {
            cr_assert_eq(utf8_count(text, n), count, "%zu bytes", n);
            const char *c = characters[(first + count) % 4];
            memcpy(text + n, c, strlen(c));
            n += strlen(c);
        }
    }
}

Test(utf8, every_scalar_value_is_valid_and_comes_back)
{
    struct buf text = BUF_INIT;
    for (unsigned c = 0; c < UNICODE_LIMIT; c++) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        buf_clear(&text);
        utf8_add(&text, c);
        size_t len;
        cr_assert_eq(utf8_valid(text.data, text.len), text.len, "U+%04X", c);
        cr_assert_eq(utf8_get((unsigned char *)text.data, &len), c);
        cr_assert_eq(len, text.len);
        for (size_t cut_at = 1; cut_at < text.len; cut_at++)
            cr_assert_eq(utf8_valid(text.data, cut_at), 0);
    }
    buf_release(&text);
}

Test(utf8, repair_replaces_maximal_subparts)
{
#define R "\xEF\xBF\xBD"
    static const char *const cases[][2] = {
        { "plain", "plain" },
        { "\x80", R },
        { "\xC0\xAF", R R },
        { "\xE1\x80", R },
        { "\xE1\x80x", R "x" },
        { "\xED\xA0\x80", R R R },
        { "\xF0\x9F\x98", R },
        { "\xF0\x80\x80\x80", R R R R },
        { "\xF4\x90\x80\x80", R R R R },
        { "\xF1\x80\x80\xE1\x80\xC2"
          "a",
          R R R "a" },
        { "a\xFF"
          "b\xE6\x97\xA5\xE6\x97",
          "a" R "b\xE6\x97\xA5" R },
    };
    struct buf got = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf_clear(&got);
        utf8_repair(&got, cases[i][0], strlen(cases[i][0]));
        cr_assert_str_eq(got.data, cases[i][1], "case %zu", i);
    }
    buf_release(&got);
}

static void expect_valid(const char *text, size_t n, size_t want)
{
    for (int level = SIMD_PLAIN; level < SIMD_LEVELS; level++)
        if (!simd_use((enum simd_level)level))
            cr_assert_eq(utf8_valid(text, n), want, "level %d", level);
}

/* Texts of 32 bytes and more are checked in blocks: the result must be that of checking character
 * by character. */
Test(utf8, long_texts_are_valid_as_far_as_their_characters_are)
{
    struct rng r = { rng_key(0, 8), 0 };
    struct buf text = BUF_INIT;
    static const unsigned limits[] = { 0x80, 0x800, 0x10000, UNICODE_LIMIT };
    for (int round = 0; round < 20000; round++) {
        buf_clear(&text);
        while (text.len < 200)
            utf8_add(&text, (unsigned)rng_below(&r, limits[rng_below(&r, 4)]));
        for (uint64_t k = rng_below(&r, 3); k; k--)
            text.data[rng_below(&r, text.len)] ^= (char)(1 << rng_below(&r, 8));
        size_t want = 0, len = 1, n = text.len - rng_below(&r, 4);
        while (want < n && len) {
            for (len = 4; len && (len > n - want || utf8_valid(text.data + want, len) < len);)
                len--;
            want += len;
        }
        expect_valid(text.data, n, want);
    }
    buf_release(&text);
}

Test(utf8, long_texts_find_their_first_bad_byte)
{
    char text[200];
    for (size_t bad = 0; bad < sizeof text; bad++) {
        static const char *const wrong[] = { "\xFE",
                                             "\x80",
                                             "\xC0\x80",
                                             "\xC3x",
                                             "\xE0\x9F\x80",
                                             "\xE2\x80x",
                                             "\xED\xA0\x80",
                                             "\xEF\xBF",
                                             "\xF0\x8F\x80\x80",
                                             "\xF0\x9F\x98x",
                                             "\xF4\x90\x80\x80",
                                             "\xF5\x80\x80\x80" };
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            size_t n = strlen(wrong[i]) < sizeof text - bad ? strlen(wrong[i]) : sizeof text - bad;
            memset(text, 'x', sizeof text);
            memcpy(text + bad, wrong[i], n);
            expect_valid(text, sizeof text, bad);
        }
    }
}
