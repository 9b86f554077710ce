/* Pages as JSON and as rows: which fields they have, and lists of fields that are refused. */
#include "wikiprep/output/page_json.h"

#include <criterion/criterion.h>

#include "tests/unit/look.h"

static struct document document;
static struct dump_page page;
static struct page_parts parts;

static const struct page_json_source from = { &document, &page, "A\nb \"c\"\n", &parts };

static void fill(void)
{
    buf_adds(&document.id, "12");
    buf_adds(&document.title, "T\"t");
    buf_adds(&document.text, "a\nb");
    buf_adds(&page.target, "B");
    buf_adds(&parts.json[PART_LINKS], "{\"target\": \"C\"}");
    page.ns = -4;
}

TestSuite(page_json, .init = fill);

Test(page_json, fields)
{
    static const char *const cases[][2] = {
        { "id,title,text", "{\"id\": \"12\", \"title\": \"T\\\"t\", \"text\": \"a\\nb\"}\n" },
        { "url,namespace,revid", "{\"url\": \"\", \"namespace\": -4, \"revid\": \"\"}\n" },
        { "categories,links,tables",
          "{\"categories\": [\"A\", \"b \\\"c\\\"\"], \"links\": [{\"target\": \"C\"}], \"tables\": []}\n" },
        { "description,redirect", "{}\n" }, /* the page lacks both */
        { "redirect,description,id,coordinates", "{\"id\": \"12\"}\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct page_json_layout layout;
        SCOPED(buf) out = BUF_INIT;
        cr_assert_eq(page_json_layout_parse(&layout, cases[i][0]), 0, "%s", err_get());
        page_json_put(&out, &layout, &from);
        cr_expect_str_eq(out.data, cases[i][1], "%s: %s", cases[i][0], out.data);
    }
    page.redirect = 1;
    struct page_json_layout layout;
    SCOPED(buf) out = BUF_INIT;
    cr_assert_eq(page_json_layout_parse(&layout, "redirect"), 0);
    page_json_put(&out, &layout, &from);
    cr_expect_str_eq(out.data, "{\"redirect\": \"B\"}\n");
}

/* A row has all columns, also those without a value; text is not quoted. */
Test(page_json, rows)
{
    static const char *const values[] = { "a\nb", "",   "-4", "[\"A\", \"b \\\"c\\\"\"]",
                                          "",     "[]", "B" };
    enum { COUNT = 7 };
    struct page_json_layout layout;
    struct columns_cell cells[COUNT];
    SCOPED(buf) row = BUF_INIT;
    cr_assert_eq(page_json_layout_parse(
                     &layout, "text,url,namespace,categories,description,tables,redirect"),
                 0);
    cr_assert_eq(layout.count, COUNT);
    page_json_put_row(&row, &layout, &from);
    page_json_cells(&row, cells, COUNT);
    for (int i = 0; i < COUNT; i++)
        cr_expect(cells[i].len == strlen(values[i]) &&
                      !memcmp(cells[i].text, values[i], cells[i].len),
                  "%s: %.*s", page_json_name(&layout, i), (int)cells[i].len, cells[i].text);
    cr_expect_eq(cells[COUNT - 1].text + cells[COUNT - 1].len, row.data + row.len);
}

Test(page_json, lists_of_fields)
{
    static const char *const bad[][2] = {
        { "", "unknown field ''" },
        { "id,", "unknown field ''" },
        { "id, text", "unknown field ' text'" },
        { "ids", "unknown field 'ids'" },
        { "i", "unknown field 'i'" },
        { "text,id,text", "'text' is given twice" },
    };
    struct page_json_layout layout;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(page_json_layout_parse(&layout, bad[i][0]), -1, "%s", bad[i][0]);
        expect_error(bad[i][1]);
        cr_expect(err_is_usage());
    }
    cr_expect_eq(page_json_layout_parse(&layout, "coordinates,id,links,categories"), 0);
    cr_expect_str_eq(page_json_name(&layout, 2), "links");
    cr_expect_eq(page_json_parts(&layout), 1 << PART_COORDINATES | 1 << PART_LINKS);
    cr_expect(page_json_has_categories(&layout));
    cr_expect_eq(page_json_layout_parse(&layout, "id"), 0);
    cr_expect(!page_json_parts(&layout) && !page_json_has_categories(&layout));
}
