/* The lines of a text. */
#include "textclean/features.h"

#include <criterion/criterion.h>

Test(features, lines_end_as_in_python)
{
    static const char *const cases[][2] = {
        /* text, its lines, each followed by '|' */
        { "", "" },
        { "a", "a|" },
        { "a\n", "a|" },
        { "\n\na", "||a|" },
        { "a\r\nb\rc\r", "a|b|c|" },
        { "a\r\n\r\n", "a||" },
        { "a\n\rb", "a||b|" },
        { "a\vb\fc", "a|b|c|" },
        { "a\x1C"
          "b\x1D"
          "c\x1E"
          "d\x1F"
          "e",
          "a|b|c|d\x1F"
          "e|" },
        { "a\xC2\x85"
          "b\u2028c\u2029d",
          "a|b|c|d|" },
        { "a\xC2\x85", "a|" },
        { "a\u2028", "a|" },
        { "\u00A9\xC2\x84\u2027 \u202A\tb", "\u00A9\xC2\x84\u2027 \u202A\tb|" },
    };
    struct features f;
    features_init(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(buf) text = buf_format("%s", cases[i][0]), lines = BUF_INIT;
        buf_reserve(&text, WORDS_PAD);
        features_set(&f, text.data, text.len);
        for (size_t at = 0, n, next, line = 0; at < f.n; at = next) {
            n = features_line(&f, &line, at, &next);
            buf_addf(&lines, "%.*s|", (int)n, f.text + at);
        }
        cr_expect_str_eq(lines.len ? lines.data : "", cases[i][1], "case %zu: %s", i, lines.data);
    }
    features_release(&f);
}
