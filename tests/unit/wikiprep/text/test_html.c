/* The parts of a page that is HTML as Parsoid writes it, and the text of elements that say in their
 * attributes what readers see. */
#include <criterion/criterion.h>
#include <string.h>

#include "wikiprep/text/wikitext.h"

static struct buf out = BUF_INIT, categories = BUF_INIT;
static struct page_parts parts;

static int render(void *, const struct wikitext_call *, struct buf *)
{
    return 0;
}

/* Sets `out`, `categories` and `parts` to those of a page. */
static void clean(const char *html, struct wikitext_options how)
{
    struct names *names = names_new(1);
    page_parts_each(&parts, buf_clear);
    how.parts = &parts;
    how.categories = &categories;
    how.render = render;
    struct wikitext *w = wikitext_new(names, &how);
    wikitext_clean_html(w, html, strlen(html), &out);
    wikitext_free(w);
    names_free(names);
}

static const char *json_of(enum page_part part)
{
    return parts.json[part].len ? parts.json[part].data : "";
}

#define LINK(href, label) "<a rel='mw:WikiLink' href='" href "'>" label "</a>"
#define REFERENCES(items) "<p>a</p><ol class='mw-references references'>" items "</ol>"
#define CALLS(calls)      "typeof='mw:Transclusion' data-mw='{\"parts\":[" calls "]}'"
#define CALL(name, arguments)                                                                      \
    "{\"template\":{\"target\":{\"wt\":\"" name "\"},\"params\":{" arguments "}}}"
#define BOX                                                                                        \
    CALL("A", "\"c\":{\"wt\":\"1\"},\"d\":{\"wt\":\"2\"},\"e\":{\"wt\":\"3\"},\"f\":{\"wt\":\"4\"}")
#define AT(params) "<i id='coordinates'><a href='//geo.org/?params=" params "'>x</a></i>"

Test(html, parts)
{
    static const struct {
        enum page_part part;
        const char *html, *json;
    } cases[] = {
        { PART_LINKS, LINK("./Caf%C3%A9_(x)#S", "<i>a</i> b") LINK("./%E9", "c"),
          "{\"target\": \"Café (x)#S\", \"label\": \"a b\"}, {\"target\": \"%E9\", \"label\": \"c\"}" },
        { PART_LINKS, "<div role='navigation'>" LINK("./A", "b") "</div><a href='./C'>d</a>", "" },
        { PART_LINKS, "<a rel='mw:WikiLink/Interwiki' href='https://fr/w' title='fr: Lune_b'>a</a>",
          "{\"target\": \"fr: Lune b\", \"label\": \"a\"}" },
        { PART_EXTERNAL_LINKS,
          "<a class='external text' href='https://a/?b&amp;c_d%20'>e</a>" LINK("./F", "g"),
          "{\"target\": \"https://a/?b&c_d%20\", \"label\": \"e\"}" },
        { PART_EXTERNAL_LINKS, "<a rel='mw:ExtLink' class='autonumber' href='//a'>[1]</a>",
          "{\"target\": \"//a\", \"label\": \"\"}" },
        { PART_CAPTIONS,
          "<figure><a href='./File:A_b.jpg'></a><figcaption>" LINK(
              "./C:d",
              "c") " d</figcaption></figure>"
                   "<figure><a href='./File:E.jpg'></a><figcaption> </figcaption></figure>",
          "{\"file\": \"A b.jpg\", \"caption\": \"c d\"}" },
        { PART_CAPTIONS,
          "<figure><a href='./G:h'><img resource='./Datei:A:b.jpg'></a><figcaption>c",
          "{\"file\": \"A:b.jpg\", \"caption\": \"c\"}" },
        { PART_REFERENCES,
          REFERENCES("<li id='cite_note-a-b-1'>c <a class='external' href='//d'>e</a></li>"
                     "<li id='cite_note-2'>" LINK("./F", "f") "</li><li id='cite_note-g-3'> </li>"),
          "{\"name\": \"a-b\", \"text\": \"c e\", \"links\": [{\"target\": \"//d\", \"label\": \"e\"}], "
          "\"templates\": []}, {\"name\": \"\", \"text\": \"f\", \"links\": [], \"templates\": []}" },
        { PART_REFERENCES,
          REFERENCES("<li id='b'><cite " CALLS(CALL("cite", "\"x\":{\"wt\":\"1\"}")) ">c</cite>"),
          "{\"name\": \"\", \"text\": \"c\", \"links\": [], "
          "\"templates\": [{\"name\": \"cite\", \"values\": {\"x\": \"1\"}}]}" },
        { PART_DESCRIPTION,
          "<p class='shortdescription'> a \"b\"</p><p class='shortdescription'>c</p>",
          "\"a \\\"b\\\"\"" },
        { PART_COORDINATES, AT("52_30_N_13_30_18_W_type:city"),
          "{\"latitude\": 52.5, \"longitude\": -13.505}" },
        { PART_COORDINATES, AT("1.5_S_2_E") AT("3_N_4_E"),
          "{\"latitude\": -1.5, \"longitude\": 2}" },
        { PART_COORDINATES, AT("52_30_13_30"), "" },
        { PART_COORDINATES, AT("91_N_5_E"), "" },
        { PART_COORDINATES, "<i id='coordinates'><b class='geo'>-33.8; 151</b></i>",
          "{\"latitude\": -33.8, \"longitude\": 151}" },
        { PART_COORDINATES, "<p>In the text: <b class='geo'>1; 2</b></p>", "" },
        { PART_INFOBOXES,
          "<p>a</p><table " CALLS("\"x\"," CALL(
              "A b\\n",
              "\"c\":{\"wt\":\"1\"},\"d\":{\"wt\":\"\"},\"e\":{\"wt\":\"2\"},\"f\":{\"wt\":\"3\"},\"g\":{\"wt\":\"4\"}")) ">",
          "{\"name\": \"A b\", \"values\": {\"c\": \"1\", \"e\": \"2\", \"f\": \"3\", \"g\": \"4\"}}" },
        { PART_INFOBOXES, "<p>b <i " CALLS(BOX) "></i></p><h2>C</h2><p><i " CALLS(BOX) "></i></p>",
          "" },
        { PART_SECTIONS, "<p>a</p><h2>B</h2><h3>C</h3><p>d</p>",
          "{\"level\": 0, \"heading\": \"\", \"text\": \"a\"}, "
          "{\"level\": 2, \"heading\": \"B\", \"text\": \"\"}, "
          "{\"level\": 3, \"heading\": \"C\", \"text\": \"d\"}" },
        { PART_TABLES,
          "<table><caption>a</caption><tr><th>b</th><td>c<br>d</td></tr><tr><td></td><td>e</td></tr></table>",
          "{\"caption\": \"a\", \"rows\": [[\"b\", \"c d\"], [\"\", \"e\"]]}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        clean(cases[i].html, (struct wikitext_options){ .wanted = 1u << cases[i].part });
        cr_expect_str_eq(json_of(cases[i].part), cases[i].json, "%s:\n%s", cases[i].html,
                         json_of(cases[i].part));
    }
}

Test(html, categories)
{
    clean("<link rel='mw:PageProp/Category' href='./Category:A_b#c'><p>d</p>"
          "<link rel='mw:PageProp/Category' href='./K:E:f'>"
          "<link rel='mw:PageProp/Category' href='./Category:A_b'><link rel='x' href='./C:D'>",
          (struct wikitext_options){ 0 });
    cr_expect_str_eq(categories.data, "A b\nE:f\n");
    clean("", (struct wikitext_options){ 0 });
    cr_expect_eq(categories.len, 0);
}

Test(html, formulas)
{
    static const char html[] =
        "<p>a <math alttext='{\\displaystyle x}'><mi>b</mi></math> "
        "<span typeof='mw:Extension/math' data-mw='{\"body\":{\"extsrc\":\"d_1\"}}'>e</span></p>";
    clean(html, (struct wikitext_options){ .formulas = 1 });
    cr_expect_str_eq(out.data, "a x d_1", "%s", out.data);
    clean(html, (struct wikitext_options){ .formulas = 1, .markdown = 1 });
    cr_expect_str_eq(out.data, "a $x$ $d_1$", "%s", out.data);
    clean(html, (struct wikitext_options){ 0 });
    cr_expect_str_eq(out.data, "a", "%s", out.data);
}

/* What is between -{ and }- in the wikitext of a language with variants is JSON in the HTML. */
Test(html, markup_for_variants)
{
    static const char *const cases[][3] = {
        /* variant or language, JSON, text */
        { "zh", "{\"disabled\":{\"t\":\"a\"}}", "a" },
        { "zh-tw", "{\"disabled\":{\"t\":\"a\"}}", "a" },
        { "zh-tw", "{\"disabled\":{\"t\":\"a<b>c</b>\"}}", "" },
        { "zh-tw", "{\"twoway\":[{\"l\":\"zh-cn\",\"t\":\"a\"},{\"l\":\"zh-tw\",\"t\":\"b\"}]}",
          "b" },
        { "zh-tw", "{\"twoway\":[{\"l\":\"*\",\"t\":\"a\"}]}", "a" },
        { "zh-tw", "{\"oneway\":[{\"f\":\"x\",\"l\":\"zh-tw\",\"t\":\"y\"}],\"describe\":true}",
          "x⇒臺灣：y；" },
        { "sr-ec", "{\"filter\":{\"l\":[\"sr-ec\"],\"t\":\"abc\"}}", "абц" },
        { "sr-ec", "{\"filter\":{\"l\":[\"sr-el\"],\"t\":\"abc\"}}", "abc" },
        { "zh-tw", "{\"name\":{\"t\":\"zh-tw\"}}", "臺灣" },
        { "zh-tw", "{\"add\":true,\"twoway\":[{\"l\":\"zh-tw\",\"t\":\"z\"}]", "" }, /* no JSON */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char lang[] = { cases[i][0][0], cases[i][0][1], '\0' };
        struct variants *v = variants_new(lang, cases[i][0]);
        const struct template_page page = { .lang = lang, .title = "A", .variants = v };
        SCOPED(buf) html = buf_format("<p><span data-mw-variant='%s'></span></p>", cases[i][1]);
        clean(html.data, (struct wikitext_options){ .page = &page });
        cr_expect_str_eq(out.data, cases[i][2], "%s: %s", html.data, out.data);
        variants_free(v);
    }
}

Test(html, what_is_not_text)
{
    clean("<body><p>a<sup class='mw-ref reference'>[1]</sup> b</p><div class='thumb'>c</div>"
          "<figure typeof='mw:File'>d</figure><div role='navigation'>e</div><p>f</p>"
          "<table><tr><td>g</td></tr></table><table class='multicol' role='presentation'><tr><td>"
          "<ul><li>h</li></ul></td><td><ul><li>i</li></ul></td></tr></table></body>",
          (struct wikitext_options){ 0 });
    cr_expect_str_eq(out.data, "a b\nf\nh\ni");
}

Test(html, code_in_a_sentence)
{
    clean("<p>call <code class='mw-highlight mw-highlight-lang-c'>f()</code> here</p>"
          "<div class='mw-highlight mw-highlight-lang-c'><pre>int x;</pre></div>",
          (struct wikitext_options){ 0 });
    cr_expect_str_eq(out.data, "call f() here");
}
