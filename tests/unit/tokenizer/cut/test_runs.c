/* Runs must be found where PCRE2 finds them. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/rng.h"
#include "common/base/simd.h"
#include "tokenizer/cut/regex.h"
#include "tokenizer/cut/runs.h"

static int reads(const char *pattern)
{
    struct runs r;
    return runs_read(&r, pattern, strlen(pattern));
}

Test(runs, other_patterns_are_left_to_pcre2)
{
    static const char *const others[] = {
        "",          "a",
        "a*",        "a+?",
        "a++",       "a{2}",
        "a{2,3}",    "a{0,}",
        "a{10,}",    "[ab]+",
        "a+|b+",     "a+|\\Ab+",
        "\\A",       "a+\\Z",
        "\\Aa+\\z",  "[^a]+\\z",
        "[a-b]+\\z", "[abc]+\\z",
        "[]+\\z",    "\\s+",
        ".+",        "(a)+",
        "a+b",       "|a+",
        "a+|",       "\\Aa+|b+\\z|c+\\z",
        "#+",        "[a&&b]+\\z",
        "\xC3+",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect_not(reads(others[i]), "%s", others[i]);
}

/* Compares all matches with those of the same pattern in a group, which is left to PCRE2. */
static void compare(const char *pattern)
{
    struct runs runs;
    struct rng r = { rng_key(0, 5), 0 };
    struct buf other = BUF_INIT, text = BUF_INIT;
    static const char *const parts[] = { " ", "a", "\xE2\x96\x81", "b", "\xC3\xA9", "\n" };
    buf_addf(&other, "(?:%s)", pattern);
    cr_assert(runs_read(&runs, pattern, strlen(pattern)), "%s", pattern);
    struct regex *regex = regex_new(other.data, other.len);
    struct regex_scratch *scratch = regex_scratch_new();
    cr_assert(regex);
    for (int i = 0; i < 3000; i++) {
        size_t begin = 0, end = 0, want_begin = 0, want_end = 0, kinds = 1 + rng_below(&r, 6);
        buf_clear(&text);
        buf_adds(&text, "");
        for (uint64_t n = rng_below(&r, i % 8 ? 20 : 300); n; n--)
            buf_adds(&text, parts[rng_below(&r, rng_below(&r, 30) ? kinds : 6)]);
        simd_use((enum simd_level)(i % SIMD_LEVELS));
        for (size_t from = 0; from <= text.len; from = end) {
            int want = regex_find(regex, scratch, text.data, text.len, from, &want_begin,
                                  &want_end);
            cr_assert_eq(runs_find(&runs, text.data, text.len, from, &begin, &end), want,
                         "%s in '%s' from %zu", pattern, text.data, from);
            if (!want)
                break;
            cr_assert(begin == want_begin && end == want_end, "%s in '%s' from %zu", pattern,
                      text.data, from);
        }
    }
    regex_free(regex);
    regex_scratch_free(scratch);
    buf_release(&other);
    buf_release(&text);
}

Test(runs, matches_are_those_of_pcre2)
{
    static const char *const patterns[] = {
        " +",
        " {2,}",
        "a{3,}",
        "\xE2\x96\x81{2,}",
        "\\A +",
        "\\A[ \xE2\x96\x81]{2,}",
        "[ a]+\\z",
        "[\xC3\xA9 ]{2,}\\z",
        "\\A +|[ \xE2\x96\x81]+\\z",
        "[a\xC3\xA9]+\\z|\\A[ab]+",
        "a+\\z| {2,}\\z",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        compare(patterns[i]);
}
