/* JSON that is read from front to back is as strict as JSON that becomes a tree. */
#include <criterion/criterion.h>

#include <string.h>

#include "common/formats/js.h"
#include "common/formats/js_scan.h"

Test(js_scan, values_are_those_of_a_line)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        "[1,-2.5e3,true,null]",
        "{\"a\":[{\"b\":\"c\"}]}",
        "[[[[]]]]",
        "{\"a\":1,\"b\":2}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{1:2}",
        "{\"a\":[1,]}",
        "[1 2]",
        "[nul]",
        "[",
        "[[1]",
        "{\"a\":1",
        "[-]",
        "[01]",
        "[\"\\x\"]",
        "{\"a\":1,\"a\":2}",
        "[NaN,Infinity,-Infinity,{\"NaN\":\"\\\"NaN\"}]",
        "NaN",
        "[nan]",
        "[-NaN]",
        "[NaNs]",
        "[+Infinity]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct js_scan s;
        struct js *whole = js_parse_line(texts[i], strlen(texts[i]), "t.json");
        js_scan_init(&s, texts[i], strlen(texts[i]));
        cr_expect_eq(js_scan_value(&s, 4), whole ? 0 : -1, "%s", texts[i]);
        cr_expect(!whole || s.at == s.n, "%s", texts[i]);
        js_scan_release(&s);
        js_free(whole);
    }
}

Test(js_scan, nan_outside_of_strings_is_null)
{
    static const char line[] = "{\"NaN\": \"\\\"NaN\", \"a\": -Infinity, \"a\": [NaN]}";
    struct js *root = js_parse_line(line, sizeof line - 1, "line");
    cr_assert(root, "%s", err_get());
    cr_expect(js_text_is(js_get(root, "NaN"), "\"NaN"));
    cr_expect(js_is_null(js_at(js_get(root, "a"), 0)));
    js_free(root);
}

Test(js_scan, refuses_more_brackets_than_the_caller_allows)
{
    struct js_scan s;
    js_scan_init(&s, "[[[[]]]]", 8);
    cr_expect_eq(js_scan_value(&s, 3), -1);
    js_scan_release(&s);
}
