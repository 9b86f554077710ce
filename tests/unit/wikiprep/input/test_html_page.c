/* Pages in HTML, in a line of JSON or alone: where each field is found, and what is no page. */
#include "wikiprep/input/html_page.h"

#include <criterion/criterion.h>

#include "tests/unit/look.h"

/* Reads a page, and sets *out to its fields and those of its wiki. Returns 0, or -1. */
static int read_page(const char *s, size_t n, struct buf *out)
{
    SCOPED(dump_page) p = DUMP_PAGE_INIT;
    SCOPED(dump_site) site = DUMP_SITE_INIT;
    const int result = html_page_read(&p, &site, s, n, 200, "'f' line 7");
    buf_setf(out, "%s|%s|%s|%s|%d|%s|%s|%s|%s|%.6s|%s|%d%d", p.title.data, p.id.data, p.revid.data,
             p.timestamp.data, p.ns, p.wikidata.data, site.name.data, site.lang.data,
             site.base.data, p.text.data, p.target.data, p.redirect, p.too_long);
    cr_expect_str_eq(p.model.data, result ? "" : "html");
    return result;
}

#define HEAD(title, base)                                                                          \
    "<html about='x'><head><meta property=\"mw:pageId\" content=\"12\"/>"                          \
    "<link rel=\"dc:isVersionOf\" href=\"" title "\"/>" base

Test(html_page, fields)
{
    static const struct {
        const char *in, *fields;
    } cases[] = {
        { "{\"name\":\"A\\u00e9\",\"identifier\":12,\"version\":{\"identifier\":34,\"x\":{\"identifier\":5}},"
          "\"date_modified\":\"2026\",\"namespace\":{\"identifier\":-2},\"in_language\":{\"identifier\":\"fr\"},"
          "\"url\":\"https://a.org/wiki/A\",\"is_part_of\":{\"identifier\":\"frwiki\"},"
          "\"main_entity\":{\"identifier\":\"Q6\"},\"article_body\":{\"wikitext\":\"t\",\"html\":\"<p>b\"}}",
          "Aé|12|34|2026|-2|Q6|frwiki|fr|https://a.org/wiki/|<p>b||00" },
        { " \t{\"id\":1,\"title\":\"A\",\"latest\":{\"id\":2,\"timestamp\":\"3\"},\"html\":\"\",\"x\":[{}]}\r",
          "A|1|2|3|0|||||||00" },
        { "{\"name\":\"A\",\"identifier\":null,\"namespace\":5,\"license\":[{\"name\":\"B\"}],\"html\":\"c\"}",
          "A||||0|||||c||00" },
        { "{\"title\":\"A\xff\",\"html\":\"\",\"url\":\"//a.org/b\"}", "A\uFFFD||||0|||||||00" },
        { "{\"name\":\"A\",\"html\":\"<meta property=\\\"mw:pageNamespace\\\" content=\\\"4\\\"/>\"}",
          "A||||4|||||<meta ||00" },
        { "{\"name\":\"A\",\"html\":\"<link rel=\\\"mw:PageProp/redirect\\\" href=\\\"./B_%28c%29#d\\\"/>\"}",
          "A||||0|||||<link |B (c)|10" },
        { HEAD("//a.org/wiki/B_c%3F", "</head><body><base href=\"//b.org/\"/></body>"),
          "B c?|12|||0|||||<html ||00" },
        { "\n" HEAD("//a.org/w/B/w/C",
                    "<base href=\"//a.org/w/\"/>"
                    "<meta property=\"dc:modified\" content=\"2026-10-27T18:20:34.000Z\"/>"),
          "B/w/C|12||2026-10-27T18:20:34Z|0||||https://a.org/w/|<html ||01" },
    };
    SCOPED(buf) out = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(read_page(cases[i].in, strlen(cases[i].in), &out), 0, "%s", err_get());
        cr_expect_str_eq(out.data, cases[i].fields, "%s:\n%s", cases[i].in, out.data);
    }
}

Test(html_page, refuses)
{
    static const struct {
        const char *in, *error;
    } cases[] = {
        { "{\"html\":\"a\"}", "'f' line 7 is not a page of a snapshot: no \"name\" in it" },
        { "{\"name\":\"\",\"html\":\"a\"}", "no \"name\" in it" },
        { "{\"name\":\"A\"}", "no \"article_body\": {\"html\" in it" },
        { "{\"name\":\"A\",\"html\":5}", "no \"article_body\": {\"html\" in it" },
        { "{\"name\":\"A\",\"html\":\"a\"", "'f' line 7 is not a page of a snapshot: " },
        { "{\"name\":\"A\",\"html\":\"a\"} b", "the end of the line expected" },
        { "{\"name\":\"A\",\"version\":{\"identifier\":1.5},\"html\":\"a\"}", "'f' line 7 is not" },
        { "<html><body>a", "'f' line 7 has no title: it lacks <link rel=\"dc:isVersionOf\">" },
        { "", "has no title" },
    };
    SCOPED(buf) out = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(read_page(cases[i].in, strlen(cases[i].in), &out), -1, "%s", cases[i].in);
        expect_error(cases[i].error);
    }
}

Test(html_page, a_text_of_the_greatest_length)
{
    SCOPED(buf) out = BUF_INIT, line = BUF_INIT;
    for (int n = 200; n <= 201; n++) {
        buf_setf(&line, "{\"name\":\"A\",\"html\":\"%0*d\"}", n, 0);
        cr_assert_eq(read_page(line.data, line.len, &out), 0, "%s", err_get());
        cr_expect_eq(out.data[out.len - 1], n > 200 ? '1' : '0', "%d bytes", n);
    }
}

Test(html_page, recognised_by_its_head)
{
    SCOPED(buf) late = buf_format("%0*d property=\"mw:pageId\"", 1 << 14, 0);
    const char *const is[] = { "{", "\xEF\xBB\xBF \n{", HEAD("A", "") };
    const char *const is_not[] = { "", "\n", "<mediawiki>{", "<html>", late.data };
    for (size_t i = 0; i < sizeof is / sizeof *is; i++)
        cr_expect(html_page_recognises(is[i], strlen(is[i])), "%s", is[i]);
    for (size_t i = 0; i < sizeof is_not / sizeof *is_not; i++)
        cr_expect_not(html_page_recognises(is_not[i], strlen(is_not[i])), "%s", is_not[i]);
}
