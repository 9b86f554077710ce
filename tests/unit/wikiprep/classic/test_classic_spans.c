#include <criterion/criterion.h>
#include <string.h>

#include "common/base/buf.h"
#include "wikiprep/classic/classic_pass.h"

/* The text without its tables must be `want`. */
static void dropped(const char *tables, const char *want)
{
    struct classic c = { .text = BUF_INIT, .next = BUF_INIT };
    buf_adds(&c.text, tables);
    spans_nested(&c.spans, &c.text, span_find_text, "{|", span_find_text, "|}");
    classic_drop_spans(&c);
    cr_expect_str_eq(c.text.data ? c.text.data : "", want, "'%s': '%s'", tables, c.text.data);
    free(c.spans.items);
    buf_release(&c.text);
    buf_release(&c.next);
}

Test(classic_spans, each_outermost_span_goes)
{
    dropped("none", "none");
    dropped("a {|x|} b", "a  b");
    dropped("a {|x|} b {|y|} c {|z|} d", "a  b  c  d");
    dropped("a {|x {|y|} {|z|} w|} b {|v|} c", "a  b  c");
}
