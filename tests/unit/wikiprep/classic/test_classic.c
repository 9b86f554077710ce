/* The text of WikiExtractor: what becomes of quotes, switches, elements and marks. */
#include <criterion/criterion.h>
#include <string.h>

#include "wikiprep/classic/classic.h"

Test(classic, passes_over_a_page)
{
    static const char *const cases[][2] = {
        /* bold and italic text, and quotation marks of either kind around the other */
        { "'''''b''''' '''c''' ''\"d\"'' ''e'' \"\"f\"\" ''g", "b c \"d\" \"e\" \"f\" \"g" },
        { "''a ''\"b c\"''", "\"a \"b c\"" },
        { "'''a\nb''' ''c\nd''", "a\nb\"' \"c\nd\"" }, /* a pair is on one line */
        { "\"\"a \"\" b\"\" c", "\"a \" b\"\" c" },
        { "''\"a\"'' b ''\"c d''e", "\"a\" b \"\"c d\"e" },
        /* equal formulas have equal numbers; what is not closed stays */
        { "a <math>x</math> b <math>y</math> c <math>x</math> <code>x</code> d <math>z",
          "a formula_1 b formula_2 c formula_1 codice_1 d &lt;math&gt;z" },
        { "a __NOTOC__ b __x__ __TOC c __INDEX__d", "a b __x__ __TOC c d" },
        { "__TOC____TOC__ a ____NOTC__ b", " a __ b" },
        { "a {{x|{{y}} z}} b {|t|} c << d >> e ,, f ,. g", "a b c \u00ABd\u00BB e, f. g" },
        { "a {|b {|c d |} e", "a e" },
        { "[[a|b]] [[c:d]] [[w:e|f]] [http://x.y z] [//x]", "b f z " },
        { "a<br>b <hr/> c<p>d</p>e<ref>f</ref>g<div>h</div>", "a b c\nd\negh" },
        { "a <gallery>b c <gallery>d</gallery> e</div> f", "a e f" },
        { "<syntaxhighlight lang=c>if (a < b) &x;</syntaxhighlight> z", "if (a &lt; b) &amp;x; z" },
        { "", "" },
    };
    struct classic *c = classic_new();
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        classic_clean(c, "Moon", cases[i][0], strlen(cases[i][0]), &out);
        cr_expect_str_eq(out.data, cases[i][1], "%s: %s", cases[i][0], out.data);
    }
    buf_release(&out);
    classic_free(c);
    classic_free(NULL);
}

Test(classic, title_and_templates_that_are_text)
{
    static const char text[] = "a {{!}} b {{PAGENAME}} {{formatnum:1234567.50}} {{formatnum:x}} c";
    struct classic *c = classic_new();
    struct buf out = BUF_INIT;
    classic_clean(c, "Moon", text, sizeof text - 1, &out);
    cr_expect_str_eq(out.data, "a | b Moon 1,234,567.5 x c");
    buf_release(&out);
    classic_free(c);
}

Test(classic, documents)
{
    struct document d = { .id = buf_format("1"),
                          .url = buf_format("u"),
                          .title = buf_format("T &amp; U"),
                          .text = buf_format("a\nb") };
    struct buf out = BUF_INIT;
    classic_put(&out, &d);
    cr_expect_str_eq(out.data, "<doc id=\"1\" url=\"u\" title=\"T &amp; U\">\nT &amp; U\n\na\nb\n\n"
                               "</doc>\n");
    document_release(&d);
    buf_release(&out);
}
