/* Added tokens in a text: which match is taken, what stands beside it, and the white space that it
 * absorbs. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/rng.h"
#include "tokenizer/model/added.h"

/* A token: its text, and letters for what it is: (s)pecial, a single (w)ord, (l)strip, (r)strip. */
struct spelled {
    const char *text, *is;
};

static void make(struct added_set *set, const struct spelled *tokens)
{
    *set = (struct added_set){ 0 };
    for (uint32_t i = 0; tokens[i].text; i++) {
        const char *is = tokens[i].is;
        const struct added_token t = { .id = i,
                                       .special = strchr(is, 's') != NULL,
                                       .single_word = strchr(is, 'w') != NULL,
                                       .lstrip = strchr(is, 'l') != NULL,
                                       .rstrip = strchr(is, 'r') != NULL };
        added_put(set, &t, tokens[i].text, strlen(tokens[i].text));
    }
    added_finish(set);
}

/* Appends "ID:BEGIN-END " for each match. */
static void find(const struct added_set *set, const char *text, size_t n, int special,
                 struct buf *out)
{
    struct added_walk w = { .text = text, .n = n };
    while (added_next(set, &w, special)) {
        buf_addf(out, "%u:%zu-%zu ", w.id, w.begin, w.end);
        w.done = w.end;
    }
}

#define TOKENS(...) ((const struct spelled[]){ __VA_ARGS__, { NULL, NULL } })

static void check(const struct spelled *tokens, int special, const char *text, const char *want)
{
    struct added_set set;
    SCOPED(buf) got = BUF_INIT;
    make(&set, tokens);
    find(&set, text, strlen(text), special, &got);
    cr_expect_str_eq(got.data, want, "'%s': %s", text, got.data);
    added_release(&set);
}

Test(added, the_leftmost_and_then_the_longest)
{
    const struct spelled *tokens = TOKENS({ "ab", "" }, { "abc", "" }, { "bcd", "" });
    check(tokens, 0, "xabcd", "1:1-4 ");
    check(tokens, 0, "xabd bcd", "0:1-3 2:5-8 ");
    check(tokens, 0, "ab", "0:0-2 ");
    check(tokens, 0, "a", "");
    check(tokens, 0, "", "");
    check(TOKENS({ "a", "" }), 0, "xa", "0:1-2 "); /* the last byte of a text */
    check(TOKENS({ "", "" }), 0, "xa", "");        /* no text: not looked for */
}

Test(added, special_tokens_if_they_are_wanted)
{
    const struct spelled *tokens = TOKENS({ "<s>", "s" }, { "ab", "" }, { "<ab>", "s" });
    check(tokens, 1, "<s>ab<ab>", "0:0-3 1:3-5 2:5-9 ");
    check(tokens, 0, "<s>ab<ab>", "1:3-5 "); /* a match that is refused hides those inside it */
    check(TOKENS({ "<s>", "s" }), 0, "<s>", "");
    check(TOKENS({ "a", "" }, { "<s>", "s" }), 0, "<s>a", "0:3-4 ");
}

/* Letters, digits and '_' beside it make a token a part of a word. */
Test(added, single_words)
{
    check(TOKENS({ "ab", "w" }), 0, "ab xab abx ab_ -ab- 9ab \u00E9ab ab",
          "0:0-2 0:16-18 0:29-31 ");
    check(TOKENS({ "ab", "w" }), 0, "ab\u00E9", "");
}

Test(added, white_space_that_is_absorbed)
{
    check(TOKENS({ "<m>", "lr" }), 0, "a  <m>\t b", "0:1-8 ");
    check(TOKENS({ "<m>", "l" }), 0, "a  <m> b", "0:1-6 ");
    check(TOKENS({ "<m>", "r" }), 0, "a <m>  b", "0:2-7 ");
    check(TOKENS({ "<m>", "lr" }), 0, " <m> ", "0:0-5 ");
    check(TOKENS({ "<m>", "l" }), 0, "a\u00A0<m>", "0:1-6 ");
    check(TOKENS({ "<m>", "r" }, { "<n>", "l" }), 0, "<m>  <n>", "0:0-5 1:5-8 ");
    /* a blank token is found in what another has absorbed, unless it absorbs itself */
    check(TOKENS({ "<m>", "r" }, { " ", "" }), 0, "<m>  x", "0:0-5 1:3-4 1:4-5 ");
    check(TOKENS({ "<m>", "r" }, { " ", "l" }), 0, "<m>  x", "0:0-5 ");
}

Test(added, matches_that_may_overlap)
{
    static const struct {
        struct spelled tokens[3];
        int overlap;
    } cases[] = { { { { "a", "" }, { " ", "" } }, 0 },
                  { { { "a", "r" }, { "b", "" } }, 0 },
                  { { { "a", "r" }, { " b", "" } }, 1 },
                  { { { "a", "l" }, { "\u00A0", "" } }, 0 },
                  { { { "a", "r" }, { "\u00A0", "" } }, 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct added_set set;
        make(&set, cases[i].tokens);
        cr_expect_eq(set.overlap, cases[i].overlap, "case %zu", i);
        added_release(&set);
    }
}

/* Long texts are searched 64 bytes at a time. */
Test(added, equals_a_plain_search)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        enum { COUNT = 4 };
        char spelling[COUNT][8], text[400];
        struct spelled tokens[COUNT + 1] = { { NULL, NULL } };
        struct rng r = { .key = seed };
        struct added_set set;
        SCOPED(buf) want = BUF_INIT, got = BUF_INIT;
        for (int k = 0; k < COUNT; k++) {
            const size_t n = 1 + rng_below(&r, 4);
            spelling[k][0] = (char)('a' + k); /* all differ */
            for (size_t i = 1; i < n; i++)
                spelling[k][i] = "ab\xC3\xA9"[rng_below(&r, 4)];
            spelling[k][n] = '\0';
            tokens[k] = (struct spelled){ spelling[k], "" };
        }
        const size_t n = rng_below(&r, sizeof text);
        for (size_t i = 0; i < n; i++) /* few places where a token may begin */
            text[i] = seed % 2 && rng_below(&r, 20) ? 'x' : "abcd\xC3\xA9"[rng_below(&r, 6)];
        make(&set, tokens);
        for (size_t i = 0; i < n;) {
            int best = -1;
            for (int k = 0; k < COUNT; k++)
                if (n - i >= strlen(spelling[k]) &&
                    !memcmp(text + i, spelling[k], strlen(spelling[k])))
                    best = k;
            const size_t len = best < 0 ? 1 : strlen(spelling[best]);
            if (best >= 0)
                buf_addf(&want, "%d:%zu-%zu ", best, i, i + len);
            i += len;
        }
        find(&set, text, n, 0, &got);
        cr_assert_str_eq(got.data, want.data, "seed %d", (int)seed);
        added_release(&set);
    }
}
