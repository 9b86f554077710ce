/* How a page is extracted: its text in each form, or the reason to leave it out. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/base/err.h"
#include "tests/unit/look.h"
#include "wikiprep/extract.h"

static struct dump_site wiki = { .capital = 1 };

static struct site *make_site(const struct site_choice *choice)
{
    static const struct dump_site none;
    wiki = none;
    wiki.capital = 1;
    buf_adds(&wiki.name, "Wiki");
    buf_adds(&wiki.base, "https://x.example.org/wiki/Main_Page");
    buf_adds(&wiki.lang, "en");
    buf_adds(&wiki.date, "");
    struct site *site = site_new(&wiki, choice);
    cr_assert(site, "%s", err_get());
    return site;
}

static struct dump_page make_page(const char *text)
{
    struct dump_page p = DUMP_PAGE_INIT;
    buf_adds(&p.id, "7");
    buf_adds(&p.revid, "9");
    buf_adds(&p.title, "Moon");
    buf_adds(&p.timestamp, "2020-01-31T00:00:00Z");
    buf_adds(&p.target, "");
    buf_adds(&p.text, text);
    return p;
}

/* Checks the result for a page with this text. want: the expected output. */
static void check(struct extract_options how, struct site_choice choice, const char *text,
                  enum extract_result result, const char *want)
{
    choice.sentences = how.sentences;
    how.filter_categories = choice.categories.count > 0;
    struct site *site = make_site(&choice);
    struct dump_page page = make_page(text);
    page.redirect = !strncmp(text, "#REDIRECT", 9);
    struct extract *x = extract_new(&how);
    for (int twice = 0; twice < 2; twice++) { /* nothing is left of the page before */
        cr_expect_eq(extract_page(x, site, &page), result, "%s", text);
        cr_expect_str_eq(x->bytes.data, want, "%s: %s", text, x->bytes.data);
        cr_expect_not(x->is_cut);
    }
    extract_free(x);
    dump_page_release(&page);
    site_free(site);
    dump_site_release(&wiki);
}

static const struct site_choice all = { 0 };

Test(extract, documents)
{
    check((struct extract_options){ 0 }, all,
          "The '''Moon''' is {{lang|en|round}}.\n* a\n== See ==\nb", EXTRACT_WRITTEN,
          "<doc id=\"7\" url=\"https://x.example.org/wiki?curid=7\" title=\"Moon\">\nMoon\n\n"
          "The Moon is round.\nb\n\n</doc>\n");
    check((struct extract_options){ .lists = 1, .headings = 1, .format = SINK_TEXT }, all,
          "One.\n* a\n== See ==\nb", EXTRACT_WRITTEN, "One.\na\nSee\nb");
}

Test(extract, sentences)
{
    check((struct extract_options){ .sentences = 1, .format = SINK_TEXT }, all,
          "It is one. Dr. No is two.\n\nAnd three.", EXTRACT_WRITTEN,
          "It is one.\nDr. No is two.\n\nAnd three.");
}

Test(extract, json)
{
    struct extract_options how = { .format = SINK_JSON };
    cr_assert_eq(page_json_layout_parse(&how.layout, "id,title,text,redirect,categories"), 0);
    check(
        how, all, "Round.\n[[Category:Moons]]", EXTRACT_WRITTEN,
        "{\"id\": \"7\", \"title\": \"Moon\", \"text\": \"Round.\", \"categories\": [\"Moons\"]}\n");
    check(how, all, "#REDIRECT [[Luna]]", EXTRACT_WRITTEN,
          "{\"id\": \"7\", \"title\": \"Moon\", \"text\": \"\", \"redirect\": \"\", "
          "\"categories\": []}\n");
}

Test(extract, wikiextractor)
{
    check((struct extract_options){ .classic = 1, .format = SINK_TEXT }, all, "A ''b'' & c.",
          EXTRACT_WRITTEN, "A \"b\" &amp; c.");
    check((struct extract_options){ .classic = 1, .format = SINK_TEXT }, all,
          "A {{b}} c {{d|{{e}}}} f {{g}}.", EXTRACT_WRITTEN, "A c f.");
}

Test(extract, what_is_left_out)
{
    const struct extract_options plain = { .format = SINK_TEXT };
    struct extract_options how = plain;
    check(plain, all, "{{Infobox|a}}", EXTRACT_NO_TEXT, "");
    how.min_length = 4;
    check(how, all, "äöü", EXTRACT_TOO_SHORT, "");
    check(how, all, "äöüß", EXTRACT_WRITTEN, "äöüß");
    check(how, all, "", EXTRACT_NO_TEXT, "");
    how = plain;
    how.filter_disambiguation = 1;
    check(how, all, "Moon may be:\n{{disambig}}", EXTRACT_DISAMBIGUATION, "");
    check(how, all, "Moon.", EXTRACT_WRITTEN, "Moon.");
    const char *wanted[] = { "Moons" };
    const struct site_choice choice = { .categories = { wanted, 1, 1 } };
    check(plain, choice, "Moon.", EXTRACT_CATEGORY, "");
    check(plain, choice, "Moon.[[Category:moons]]", EXTRACT_WRITTEN, "Moon.");
}

Test(extract, chosen_sections)
{
    const struct site_choice choice = { .sections = "lead" };
    check((struct extract_options){ .format = SINK_TEXT }, choice, "One.\n== Two ==\nThree.",
          EXTRACT_WRITTEN, "One.");
}
