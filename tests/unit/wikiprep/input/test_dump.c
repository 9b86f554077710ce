/* Pages of a dump: versions, layouts and encodings of the export format, and errors in dumps. */
#include <bzlib.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/files/temp.h"
#include "tests/unit/set_path.h"
#include "tests/unit/temp_file.h"
#include "wikiprep/input/dump.h"
#include "wikiprep/input/pages.h"
#include "wikiprep/site/names.h"

static struct dump_page page = DUMP_PAGE_INIT;

static struct dump *open_bytes(const char *xml, size_t n, size_t max)
{
    char *path = temp_file(xml, n);
    struct dump *d = dump_open(path, max, 2);
    drop_file(path);
    return d;
}

static struct dump *open_text(const char *xml)
{
    struct dump *d = open_bytes(xml, strlen(xml), 1 << 20);
    cr_assert(d, "%s", err_get());
    return d;
}

static void expect_page(struct dump *d, const char *title, int ns, const char *revid,
                        const char *text)
{
    cr_assert_eq(dump_read(d, &page), 1, "%s", err_get());
    cr_expect_str_eq(page.title.data, title);
    cr_expect_eq(page.ns, ns);
    cr_expect_str_eq(page.revid.data, revid);
    cr_expect_str_eq(page.text.data, text);
}

static void expect_end(struct dump *d)
{
    cr_expect_eq(dump_read(d, &page), 0);
    dump_close(d);
}

static void expect_dump_error(struct dump *d, const char *part)
{
    cr_expect_eq(dump_read(d, &page), -1);
    cr_expect(strstr(err_get(), part), "'%s' lacks '%s'", err_get(), part);
    dump_close(d);
}

#define PAGE(title, more, text)                                                                    \
    "<page><title>" title "</title>" more "<id>1</id><revision><id>2</id><contributor><id>9</id>"  \
    "</contributor><text>" text "</text></revision></page>"

Test(dump, minified)
{
    struct dump *d = open_text("<mediawiki xml:lang='nds-NL'><siteinfo><sitename>W</sitename>"
                               "<base>http://a/b</base></siteinfo>" PAGE("A", "<ns>0</ns>", "x")
                                   PAGE("B", "<ns>4</ns>", "y &lt;b&gt; &amp;amp;") "</mediawiki>");
    expect_page(d, "A", 0, "2", "x");
    cr_expect_str_eq(dump_site(d)->lang.data, "nds-nl"); /* the code, not that of BCP 47 */
    cr_expect_str_eq(dump_site(d)->base.data, "http://a/b");
    cr_expect_str_eq(page.id.data, "1");
    expect_page(d, "B", 4, "2", "y <b> &amp;");
    expect_end(d);
}

Test(dump, namespaces_from_titles)
{
    struct dump *d = open_text(
        "<mediawiki><siteinfo><namespaces><namespace key='0'/><namespace key='6'>Fails"
        "</namespace><namespace key='1'>Sprīža</namespace></namespaces></siteinfo>" PAGE(
            "Fails:A.jpg", "", "") PAGE("sprīža:X", "", "") PAGE("User talk:X", "", "")
            PAGE("Star Trek: X", "", "") PAGE(":X", "", "") "</mediawiki>");
    expect_page(d, "Fails:A.jpg", 6, "2", "");
    expect_page(d, "sprīža:X", 1, "2", "");
    expect_page(d, "User talk:X", 3, "2", "");
    expect_page(d, "Star Trek: X", 0, "2", "");
    expect_page(d, ":X", 0, "2", "");
    expect_end(d);
}

Test(dump, latest_revision_wins)
{
    struct dump *d = open_text(
        "<mediawiki><page><title>A</title><id>1</id>"
        "<revision><id>11</id><timestamp>2001-01-01T00:00:00Z</timestamp><text>old</text></"
        "revision>"
        "<revision><id>13</id><timestamp>2003-01-01T00:00:00Z</timestamp><text>new</text></"
        "revision>"
        "<revision><id>12</id><timestamp>2002-01-01T00:00:00Z</timestamp><text>mid</text></"
        "revision>"
        "<revision><id>14</id><timestamp>2004-01-01T00:00:00Z</timestamp><text deleted='deleted'/>"
        "</revision></page><page><title>B</title><revision><id>1</id><text>a</text></revision>"
        "<revision><id>2</id><text>b</text></revision></page></mediawiki>");
    expect_page(d, "A", 0, "13", "new");
    expect_page(d, "B", 0, "2", "b");
    expect_end(d);
}

Test(dump, redirects)
{
    struct dump *d = open_text(
        "<mediawiki>" PAGE("A", "<redirect title='B'/>", "x") PAGE("B", "", "#REDIRECT [[C]]")
            PAGE("C", "", " #redirect:[[C]]") PAGE("D", "", "#تحويل [[:C_d|e]]")
                PAGE("E", "", "# list [[item]]") PAGE("F", "", "text") "</mediawiki>");
    static const char *const targets[] = { "B", "C", "C", "C d", NULL, NULL };
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(dump_read(d, &page), 1);
        cr_expect_eq(page.redirect, targets[i] != NULL, "page %s", page.title.data);
        cr_expect_str_eq(page.target.data, targets[i] ? targets[i] : "");
    }
    expect_end(d);
}

Test(dump, other_slots_and_unknown_elements)
{
    struct dump *d = open_text(
        "<?xml version='1.0'?><!-- c --><mediawiki><new><page><title>no</title></page></new>"
        "<page><title>A<!-- x -->B</title><ns>0</ns><revision><id>5</id><text><![CDATA[<a> & b]]>"
        "</text><content><role>data</role><text>other</text></content></revision></page>"
        "</mediawiki>");
    expect_page(d, "AB", 0, "5", "<a> & b");
    expect_end(d);
}

Test(dump, utf16)
{
    const char *xml = "<?xml version='1.0' encoding='UTF-16'?><mediawiki>" PAGE(
        "A", "<ns>0</ns>", "text") "</mediawiki>";
    for (int big = 0; big < 2; big++) {
        struct buf wide = BUF_INIT;
        buf_add(&wide, big ? "\xFE\xFF" : "\xFF\xFE", 2);
        for (const char *s = xml; *s; s++) {
            buf_addc(&wide, big ? 0 : *s);
            buf_addc(&wide, big ? *s : 0);
        }
        struct dump *d = open_bytes(wide.data, wide.len, 1 << 20);
        cr_assert(d);
        expect_page(d, "A", 0, "2", "text");
        expect_end(d);
        buf_release(&wide);
    }
}

Test(dump, long_texts)
{
    struct buf xml = BUF_INIT;
    buf_adds(&xml, "<mediawiki><page><title>Long</title><revision><id>1</id><text>");
    for (int i = 0; i < 12 << 20; i++)
        buf_addc(&xml, 'x');
    buf_adds(&xml, "</text></revision></page>" PAGE("Short", "", "y") "</mediawiki>");
    struct dump *d = open_bytes(xml.data, xml.len, 64 << 20);
    cr_assert_eq(dump_read(d, &page), 1);
    cr_expect_eq(page.text.len, 12u << 20); /* libxml2's own limit is 10 MB */
    expect_page(d, "Short", 0, "2", "y");
    expect_end(d);
    d = open_bytes(xml.data, xml.len, 1 << 20);
    cr_assert_eq(dump_read(d, &page), 1);
    cr_expect(page.too_long && !page.text.len);
    expect_page(d, "Short", 0, "2", "y");
    cr_expect_not(page.too_long);
    expect_end(d);
    buf_release(&xml);
}

Test(dump, long_titles_are_damage)
{
    struct buf xml = BUF_INIT;
    buf_adds(&xml, "<mediawiki><siteinfo><case>case-sensitive</case></siteinfo>" PAGE(
                       "A", "", "x") "<page><title>");
    for (int i = 0; i < 70000; i++)
        buf_addc(&xml, 'b');
    buf_adds(&xml, "</title><revision><text>y</text></revision></page>" PAGE("C", "",
                                                                             "z") "</mediawiki>");
    struct dump *d = open_bytes(xml.data, xml.len, 1 << 20);
    expect_page(d, "A", 0, "2", "x");
    cr_expect_eq(dump_read(d, &page), -1);
    cr_expect(strstr(err_get(), "a title has more than 65536 bytes"), "%s", err_get());
    cr_assert(dump_resume(d));
    expect_page(d, "C", 0, "2", "z");
    cr_expect_eq(dump_site(d)->capital, NAMES_AS_WRITTEN, "behind damage, too");
    expect_end(d);
    buf_release(&xml);
}

Test(dump, titles_of_pages_in_html)
{
    struct dump *d = open_text(
        "<!DOCTYPE html>\n<html prefix=\"dc: http://purl.org/dc/terms/\"><head>"
        "<meta property=\"mw:pageId\" content=\"1\"/>"
        "<link rel=\"dc:isVersionOf\" href=\"//tr.wikipedia.org/wiki/A\"/>"
        "<meta http-equiv=\"content-language\" content=\"tr\"/></head><body>x</body></html>");
    cr_assert_eq(dump_read(d, &page), 1, "%s", err_get());
    cr_expect_str_eq(page.title.data, "A");
    cr_expect_eq(dump_site(d)->capital, NAMES_CAPITAL_DOTTED);
    expect_end(d);
    /* A wiki may be at any address. */
    d = open_text("<!DOCTYPE html>\n<html><head><meta property=\"mw:pageId\" content=\"1\"/>"
                  "<link rel=\"dc:isVersionOf\" href=\"//a.org/wiki/index.php/A_b/wiki/c\"/>"
                  "<base href=\"//a.org/wiki/index.php/\"/></head><body>x</body></html>");
    cr_assert_eq(dump_read(d, &page), 1, "%s", err_get());
    cr_expect_str_eq(page.title.data, "A b/wiki/c");
    cr_expect_str_eq(dump_site(d)->base.data, "https://a.org/wiki/index.php/");
    expect_end(d);
}

Test(dump, cut_short)
{
    const char *xml = "<mediawiki>" PAGE("A", "", "x") "<page><title>B</title><revision><text>y";
    struct dump *d = open_text(xml);
    expect_page(d, "A", 0, "2", "x");
    expect_dump_error(d, "is cut short");
    cr_expect(strstr(err_get(), "in page 'B'"));
}

Test(dump, bad_xml)
{
    struct dump *d = open_text("<mediawiki>" PAGE("A", "", "x") "<page><title>B</titl></page>");
    expect_page(d, "A", 0, "2", "x");
    expect_dump_error(d, "bad XML at byte");
    expect_dump_error(open_text("<mediawiki></mediawiki><more/>"), "root element is <more>");
    expect_dump_error(open_text("<mediawiki></mediawiki> more"), "text after </mediawiki>");
}

Test(dump, joined)
{
    struct dump *d = open_text("<mediawiki xml:lang='a'>" PAGE(
        "A", "", "x") "</mediawiki>\n"
                      "<?xml version='1.0'?><mediawiki xml:lang='b'>" PAGE(
                          "B", "", "y") "</mediawiki>\n<!-- the end -->\n");
    expect_page(d, "A", 0, "2", "x");
    cr_expect_str_eq(dump_site(d)->lang.data, "a");
    cr_expect_eq(dump_counts(d)->exports, 0);
    expect_page(d, "B", 0, "2", "y");
    cr_expect_str_eq(dump_site(d)->lang.data, "b");
    cr_expect_eq(dump_counts(d)->exports, 1);
    cr_expect_eq(dump_read(d, &page), 0);
    dump_close(d);
}

Test(dump, no_dump)
{
    expect_dump_error(open_text(""), "is empty");
    expect_dump_error(open_text("version https://git-lfs.github.com/spec/v1\noid x\n"),
                      "git-lfs pointer");
    expect_dump_error(open_text("<!DOCTYPE html><html></html>"), "an HTML page");
    expect_dump_error(open_text("<html><body/></html>"), "an HTML page");
    expect_dump_error(open_text("<feed/>"), "root element is <feed>");
    expect_dump_error(open_text("plain text"), "does not begin with '<'");
    expect_dump_error(open_text("<!DOCTYPE m [<!ENTITY a '&b;'>]><mediawiki>&a;</mediawiki>"),
                      "'a' not defined");
    cr_expect_null(dump_open("/nonexistent.xml", 1, 1));
    cr_expect(strstr(err_get(), "/nonexistent.xml"));
    cr_expect_null(dump_open("/tmp", 1, 1));
    cr_expect(strstr(err_get(), "directory"));
}

/* ---- an index of pages ---------------------------------------------------------------------- */

/* Finds the byte ranges of the page `name` in a dump of dump_bytes bytes by the given index.
 * Returns 0, or -1 with an error. */
static int locate(const char *name, const char *index, size_t dump_bytes,
                  struct unpack_range **ranges, size_t *count)
{
    char dir[] = "/tmp/textmill-pages-XXXXXX";
    struct buf index_path = BUF_INIT, dump = BUF_INIT;
    struct opt_list wanted = { 0 };
    char *bytes = mem_zalloc(dump_bytes, 1);
    cr_assert(mkdtemp(dir));
    set_path(&index_path, dir, "index");
    set_path(&dump, dir, "dump");
    cr_assert_eq(file_write(index_path.data, index, strlen(index)), 0);
    cr_assert_eq(file_write(dump.data, bytes, dump_bytes), 0);
    opt_list_add(&wanted, name);
    struct pages *p = pages_new(&wanted);
    int result = pages_locate(p, index_path.data, dump.data, ranges, count);
    pages_free(p);
    free(wanted.items);
    free(bytes);
    temp_remove(dir);
    buf_release(&index_path);
    buf_release(&dump);
    return result;
}

Test(pages, are_located_by_an_index_of_the_same_dump)
{
    static const char index[] = "10:1:A\n10:2:B\n100:3:C\n150:4:D &amp; E\n";
    static const struct {
        const char *name;
        size_t dump_bytes;
        uint64_t begin, end; /* end 0: refused */
    } cases[] = {
        { "B", 200, 10, 100 },      { "C", 200, 100, 150 }, { "3", 150, 100, 150 },
        { "C", 149, 0, 0 },         { "C", 100, 0, 0 },     { "4", 200, 150, 200 },
        { "D & E", 151, 150, 151 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct unpack_range *ranges;
        size_t count;
        int result = locate(cases[i].name, index, cases[i].dump_bytes, &ranges, &count);
        cr_assert_eq(result, cases[i].end ? 0 : -1, "case %zu: %s", i, err_get());
        if (result < 0) {
            cr_expect(strstr(err_get(), "is not the index of"), "case %zu: %s", i, err_get());
            continue;
        }
        cr_assert_eq(count, 2, "case %zu: %zu ranges", i, count);
        cr_expect(ranges[0].begin == 0 && ranges[0].end == 10, "the head of the dump");
        cr_expect(ranges[1].begin == cases[i].begin && ranges[1].end == cases[i].end, "case %zu",
                  i);
        free(ranges);
    }
}

/* Writes bytes[0..n) to a file, and reads it as 1, 2, 3, 7 and 200 parts. Checks that the parts of
 * each number together have the pages "0" to "count - 1", each once and in order. */
static void expect_parts(const char *bytes, size_t n, int count)
{
    static const uint64_t numbers[] = { 1, 2, 3, 7, 200 };
    char *path = temp_file(bytes, n);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const uint64_t parts = numbers[i];
        int found = 0, result = 0;
        for (uint64_t k = 0; k < parts; k++) {
            struct dump *d = dump_open_part(path, k * n / parts, (k + 1) * n / parts, 1 << 20, 2);
            cr_assert(d, "%s", err_get());
            while ((result = dump_read(d, &page)) > 0) {
                cr_expect_eq(atoi(page.title.data), found, "part %d of %d: %s, not %d", (int)k + 1,
                             (int)parts, page.title.data, found);
                cr_expect_str_eq(dump_site(d)->lang.data, "fy");
                found++;
            }
            cr_expect_eq(result, 0, "%s", err_get());
            dump_close(d);
        }
        cr_expect_eq(found, count, "%d parts: %d pages", (int)parts, found);
    }
    drop_file(path);
}

Test(dump, parts_have_each_page_once)
{
    enum { COUNT = 120 };
    SCOPED(buf) xml = buf_format(
        "<mediawiki xml:lang='fy'><siteinfo><sitename>W</sitename></siteinfo>");
    SCOPED(buf) packed = BUF_INIT;
    unsigned random = 1;
    for (int i = 0; i < COUNT; i++) { /* some pages are longer than a part, or than a block */
        buf_addf(&xml, "<page><title>%d</title><id>1</id><revision><id>2</id><text>", i);
        for (int words = i % 40 == 7 ? 30000 : i % 5 * 100; words; words--)
            buf_addf(&xml, "%x ", random = random * 1103515245 + 12345);
        buf_adds(&xml, "</text></revision></page>\n");
    }
    buf_adds(&xml, "</mediawiki>\n");
    expect_parts(xml.data, xml.len, COUNT);
    unsigned n = (unsigned)xml.len;
    buf_reserve(&packed, n);
    cr_assert_eq(BZ2_bzBuffToBuffCompress(packed.data, &n, xml.data, (unsigned)xml.len, 1, 0, 0),
                 0);
    expect_parts(packed.data, n, COUNT);
}
