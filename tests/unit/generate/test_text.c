#include <criterion/criterion.h>
#include <string.h>

#include "common/base/rng.h"
#include "generate/text.h"

/* Adds `pieces` to a text with the given stop texts, one after the other. After each piece
 * text_news must return the next string of `news`, and after the end `rest`. */
static void check(const char *const *stops, size_t stop_count, const char *const *pieces,
                  const char *const *news, const char *rest)
{
    struct text t;
    size_t n;
    text_init(&t, stops, stop_count);
    for (; *pieces; pieces++, news++) {
        text_add(&t, *pieces, strlen(*pieces));
        const char *got = text_news(&t, &n);
        cr_expect(n == strlen(*news) && !memcmp(got, *news, n), "after '%s': '%.*s', not '%s'",
                  *pieces, (int)n, got, *news);
    }
    text_end(&t);
    const char *got = text_news(&t, &n);
    cr_expect(n == strlen(rest) && !memcmp(got, rest, n), "at the end '%.*s', not '%s'", (int)n,
              got, rest);
    cr_expect_eq(t.told, t.all.len);
    text_release(&t);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

Test(text, plain)
{
    check(NULL, 0, LIST("The", " Moon"), LIST("The", " Moon"), "");
}

Test(text, holds_back_unfinished_characters)
{
    check(NULL, 0, LIST("a\xC3", "\xA9 b", "\xE2\x82", "\xAC", "\xF0\x9F", "\x99", "\x82"),
          LIST("a", "\xC3\xA9 b", "", "\xE2\x82\xAC", "", "", "\xF0\x9F\x99\x82"), "");
    check(NULL, 0, LIST("a\xE2\x82"), LIST("a"), "\xEF\xBF\xBD");
}

Test(text, replaces_what_is_no_utf8)
{
    check(NULL, 0, LIST("\xFF", "a\x80", "\xC3", "b", "\xE0", "\x80", "\xED\xA0"),
          LIST("\xEF\xBF\xBD", "a\xEF\xBF\xBD", "",
               "\xEF\xBF\xBD"
               "b",
               "", "\xEF\xBF\xBD\xEF\xBF\xBD", "\xEF\xBF\xBD\xEF\xBF\xBD"),
          "");
}

Test(text, stops)
{
    const char *const stops[] = { "\n\n", "END" };
    check(stops, 2, LIST("one\n", "two", "\n", "\n", "three"), LIST("one", "\ntwo", "", "", ""),
          "");
    check(stops, 2, LIST("E", "N", "E", "N", "D", "x"), LIST("", "", "EN", "", "", ""), "");
    check(stops, 2, LIST("a EN"), LIST("a "), "EN");
    check(stops, 2, LIST("ab END \n\n c"), LIST("ab "), "");
    check(stops, 2, LIST("ab \n\n END c"), LIST("ab "), "");
    const char *const crossing[] = { "abcd", "bc", "abc" }; /* "bc" and "abc" end first */
    check(crossing, 3, LIST("xabcd"), LIST("x"), "");
    check(crossing, 3, LIST("xa", "b", "c", "d"), LIST("x", "", "", ""), "");
    check(crossing, 2, LIST("xabcd"), LIST("xa"), "");
    check(crossing, 2, LIST("xab", "cd"), LIST("x", "a"), "");
}

/* text_news must give the same text however the text is cut into pieces, and never part of a stop
 * text. */
Test(text, pieces_do_not_matter)
{
    static const char all[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82\xC3 aab aaabc\xE2\x82 tail";
    const char *const stops[] = { "aabc" };
    struct buf got = BUF_INIT;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct rng r = { .key = seed };
        struct text t;
        size_t n;
        buf_clear(&got);
        text_init(&t, stops, seed % 2);
        for (size_t at = 0; at < sizeof all - 1;) {
            size_t piece = 1 + rng_below(&r, 4);
            if (piece > sizeof all - 1 - at)
                piece = sizeof all - 1 - at;
            text_add(&t, all + at, piece);
            at += piece;
            const char *news = text_news(&t, &n);
            buf_add(&got, news, n);
        }
        text_end(&t);
        const char *news = text_news(&t, &n);
        buf_add(&got, news, n);
        cr_assert_eq(t.stopped, (int)(seed % 2));
        cr_assert_str_eq(got.data, seed % 2
                                       ? "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82\xEF\xBF\xBD aab a"
                                       : "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82\xEF\xBF\xBD aab "
                                         "aaabc\xEF\xBF\xBD tail");
        text_release(&t);
    }
    buf_release(&got);
}
