#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "wikiprep/classic/classic_spans.h"

/* The text without its tables must be `want`. */
static void dropped(const char *tables, const char *want)
{
    struct ranges spans = { 0 };
    struct buf text = BUF_INIT, out = BUF_INIT;
    buf_adds(&text, tables);
    spans_nested(&spans, &text, span_find_text, "{|", span_find_text, "|}");
    spans_drop(&spans, &text, &out);
    cr_expect_str_eq(out.data ? out.data : "", want, "'%s': '%s'", tables, out.data);
    free(spans.items);
    buf_release(&text);
    buf_release(&out);
}

Test(classic_spans, each_outermost_span_goes)
{
    dropped("none", "none");
    dropped("a {|x|} b", "a  b");
    dropped("a {|x|} b {|y|} c {|z|} d", "a  b  c  d");
    dropped("a {|x {|y|} {|z|} w|} b {|v|} c", "a  b  c");
}
