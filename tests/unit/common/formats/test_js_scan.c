/* JSON that is read from front to back is as strict as JSON that becomes a tree. */
#include <criterion/criterion.h>

#include <string.h>

#include "common/formats/js.h"
#include "common/formats/js_scan.h"

Test(js_scan, values_are_those_that_js_parse_takes)
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
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct js_scan s;
        struct js *whole = js_parse(texts[i], strlen(texts[i]), "t.json");
        js_scan_init(&s, texts[i], strlen(texts[i]));
        cr_expect_eq(js_scan_value(&s, 4), whole ? 0 : -1, "%s", texts[i]);
        cr_expect(!whole || s.at == s.n, "%s", texts[i]);
        js_scan_release(&s);
        js_free(whole);
    }
}

Test(js_scan, refuses_more_brackets_than_the_caller_allows)
{
    struct js_scan s;
    js_scan_init(&s, "[[[[]]]]", 8);
    cr_expect_eq(js_scan_value(&s, 3), -1);
    js_scan_release(&s);
}
