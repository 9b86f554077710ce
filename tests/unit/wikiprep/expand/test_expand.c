/* Templates, parser functions and magic words, as MediaWiki expands them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/files/spill.h"
#include "tests/unit/temp_file.h"
#include "wikiprep/expand/expand.h"
#include "wikiprep/text/visible.h"
#include "wikiprep/values/expression.h"
#include "wikiprep/values/moment.h"
#include "wikiprep/values/number.h"
#include "wikiprep/values/plural.h"

static struct buf out = BUF_INIT;

/* ---- a small wiki ---------------------------------------------------------------------------- */

/* Makes a library of the pages in `pages`: a title, its text, the next title, ..., NULL. A page is
 * one of a scanned book if its title begins with "Page:". The library is saved to the file `save`,
 * unless that is NULL. */
static struct library *make_library(const char *lang, const char *const *pages, const char *save)
{
    struct buf xml = BUF_INIT;
    buf_addf(
        &xml,
        "<mediawiki xml:lang=\"%s\"><siteinfo><sitename>Wiki</sitename>"
        "<base>https://x.example.org/wiki/Main_Page</base><case>first-letter</case><namespaces>"
        "<namespace key=\"0\"/><namespace key=\"10\">Vorlage</namespace>"
        "<namespace key=\"104\">Page</namespace></namespaces></siteinfo>",
        lang);
    for (; *pages; pages += 2) {
        const int book = !strncmp(pages[0], "Page:", 5);
        buf_addf(&xml,
                 "<page><title>%s</title>%s<revision><timestamp>2011-04-09T01:02:03Z</timestamp>%s"
                 "<text>",
                 pages[0], book ? "<ns>104</ns>" : "", book ? "<model>proofread-page</model>" : "");
        for (const char *s = pages[1]; *s; s++)
            if (*s == '<')
                buf_adds(&xml, "&lt;");
            else if (*s == '&')
                buf_adds(&xml, "&amp;");
            else
                buf_addc(&xml, *s);
        buf_adds(&xml, "</text></revision></page>");
    }
    buf_adds(&xml, "</mediawiki>");
    char *path = temp_file(xml.data, xml.len);
    struct library *l = library_read(&(struct file_names){ &path, 1, 1 }, NULL, 2, save);
    cr_assert(l, "%s", err_get());
    drop_file(path);
    buf_release(&xml);
    return l;
}

static const char *const wiki[] = { "Vorlage:Show",
                                    "[{{{1}}}|{{{2|none}}}|{{{x|}}}]",
                                    "Vorlage:Pass",
                                    "{{show|{{{1}}}|x={{{x}}}}}",
                                    "Vorlage:Both",
                                    "{{{a|A}}}{{{b|{{{a|B}}}}}}",
                                    "Vorlage:Moved",
                                    "#REDIRECT [[Vorlage:Show]]",
                                    "Vorlage:Twice",
                                    "#WEITERLEITUNG [[Vorlage:Moved]]",
                                    "Vorlage:Item",
                                    "* item",
                                    "Vorlage:Numbered",
                                    "# see [[Moon]]",
                                    "Vorlage:Hidden",
                                    "a<noinclude>b</noinclude><includeonly>c</includeonly>",
                                    "Vorlage:Only",
                                    "a<onlyinclude>b</onlyinclude>c<onlyinclude>d</onlyinclude>e",
                                    "Vorlage:Loop",
                                    "x{{Loop}}y",
                                    "Vorlage:Circle",
                                    "{{circle2}}",
                                    "Vorlage:Circle2",
                                    "{{#iferror:{{circle}}|caught|missed}}",
                                    "Vorlage:Name",
                                    "{{PAGENAME}}",
                                    "Vorlage:Kilo",
                                    "{{show|0123456789}}{{show|0123456789}}{{show|0123456789}}",
                                    "Vorlage:Lua",
                                    "before {{#invoke:Nowhere|f}} after",
                                    "Vorlage:Native",
                                    "before {{#invoke:Nowhere|f}} after",
                                    "Vorlage:Empty",
                                    "{{#invoke:If empty|main}}",
                                    "Vorlage:Dashed",
                                    "{{#invoke:Separated entries|main|separator=-}}",
                                    "Vorlage:Separated",
                                    "{{#invoke:Separated entries|main|| b }}",
                                    "Vorlage:Partial",
                                    "{{native2|{{{1}}}}} {{{1}}}",
                                    "Vorlage:Native2",
                                    "1 {{native2/{{{1}}}}} 2",
                                    "Vorlage:Lua2",
                                    "{{nowhere}}",
                                    "Vorlage:Outer",
                                    "<{{native|{{{1}}}}}>",
                                    "Moon",
                                    "article",
                                    NULL };

static enum template_choice choose(const struct template_page *, struct span name)
{
    if (span_in(name, "Native|Native2"))
        return TEMPLATE_EXPANDED_FIRST;
    return span_is(name, "Note") ? TEMPLATE_RENDERED : TEMPLATE_EXPANDED;
}

static int is_cut; /* what expand_text returned */

static const char *expand_in(struct library *l, const char *title, const char *text)
{
    const struct template_page page = { "en", title, "7", "77", "2010-12-31T23:59:58Z",
                                        0,    0,     0,   NULL, NULL };
    struct expander *x = expander_new(l, choose);
    is_cut = expand_text(x, &page, text, strlen(text), &out);
    expander_free(x);
    return out.data;
}

static struct library *library;

static void open_wiki(void)
{
    library = make_library("en", wiki, NULL);
}

static void close_wiki(void)
{
    library_free(library);
}

TestSuite(expand, .init = open_wiki, .fini = close_wiki);

#define CHECK_ON(title, text, expected)                                                            \
    cr_expect_str_eq(expand_in(library, title, text), expected, "%s: %s", text, out.data)
#define CHECK(text, expected) CHECK_ON("Talk:Sun/core", text, expected)

/* ---- templates ------------------------------------------------------------------------------- */

Test(expand, arguments)
{
    CHECK("{{show|a}} {{Show| a |x= b }} {{ show\n|a|b}}", "[a|none|] [ a |none|b] [a|b|]");
    CHECK("{{show|a|1=b}} {{show|1=a|b}} {{show|2=\n b \n|a=c=d}}",
          "[b|none|] [b|none|] [{{{1}}}|b|]");
    CHECK("{{show|}} {{show|a=b}} {{show|<!-- x -->a}}", "[|none|] [{{{1}}}|none|] [a|none|]");
    CHECK("{{show|[[a|b]]}} {{show|{{show|c|d}}}} {{show|<nowiki>|</nowiki>}}",
          "[[[a|b]]|none|] [[c|d|]|none|] [<nowiki>|</nowiki>|none|]");
    CHECK("{{pass|a|x=b}} {{pass}} {{both|b=c}} {{both|a=c}}",
          "[a|none|b] [{{{1}}}|none|{{{x}}}] Ac cc");
    CHECK("{{ {{#if:|pass|show}} |{{{1|z}}}}} {{show|a{{!}}b|{{=}}}}", "[z|none|] [a|b|=|]");
}

Test(expand, languages)
{
    CHECK("{{#language:fr}} {{#language:de|en}} {{USERLANGUAGE}}", "français German en");
    CHECK("{{#dir:ar}} {{#dir:en|bcp47}} {{#dir:}}", "rtl ltr ltr");
    CHECK("{{#bcp47:zh-min-nan}} {{#bcp47:pt-br}} {{#bcp47:sr-latn}} {{#bcp47:de-x-at}}",
          "nan pt-BR sr-Latn de-x-at");
    CHECK("{{#contentmodel:canonical}} {{#contentmodel}} {{#isbn:0-306-40615-2}}",
          "wikitext wikitext ISBN 0-306-40615-2");
}

Test(expand, broken_tags_take_nothing_past_their_line)
{
    CHECK("<ref name=b\n\n{{hidden}}<ref>c</ref>", "<ref name=b\n\nac<ref/>");
    CHECK("<ref>b\n\n{{hidden}}<ref>c</ref>", "<ref>b\n\nac<ref/>");
    CHECK("<math>b\n{{hidden}}<math>c</math>", "<math>b\nac<math>c</math>");
    CHECK("<includeonly>b\n\n{{hidden}}", "<includeonly>b\n\nac");
}

Test(expand, pages)
{
    CHECK("{{Vorlage:show|a}} {{template:Show|a}} {{moved|a}} {{:Moon}}",
          "[a|none|] [a|none|] [a|none|] article");
    CHECK("{{hidden}} {{only}} <noinclude>x</noinclude><includeonly>y</includeonly>", "ac bd x");
    CHECK("a{{item}}\n{{item}} {{#if:x|: b}}", "a\n* item\n* item \n: b");
    CHECK("{{twice|a}}", "[a|none|]");         /* two redirects are followed */
    CHECK("{{numbered}}", "\n# see [[Moon]]"); /* a list is none */
}

/* A wiki knows the words of its own language and the English ones. Words of another language are
 * names of templates that do not exist. */
Test(expand, messages)
{
    static const char *const pages[] = { "MediaWiki:Greet", "$1, $3$ $0 $12$", "Vorlage:Greet", "d",
                                         NULL };
    struct library *l = make_library("en", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A", "{{int:greet| b |c}} {{int:Vorlage:greet}} {{int: x y }}"),
                     "b, $3$ $0 b2$ ⧼Vorlage:greet⧽ ⧼x y⧽", "%s", out.data);
    library_free(l);
}

Test(expand, words_of_other_languages)
{
    static const struct {
        const char *lang, *text, *expected;
    } cases[] = {
        { "fr", "{{NOMPAGE}} {{PAGENAME}} {{#si: x|oui|non}} {{#SI=: a|b|oui|non}}",
          "Moon Moon oui non" },
        { "fr", "{{#si=: a|b|oui|non}} {{#selon: x|y=1|#défaut=2}} {{MAJUS:é}} {{nompage}}",
          "non 2 É [[:Vorlage:Nompage]]" },
        { "de", "{{SEITENNAME}} {{#wechsle: x|y=1|#standard=2}} {{klein:ÄB}} {{NOMPAGE}}",
          "Moon 2 äb [[:Vorlage:NOMPAGE]]" },
        { "es", "{{#si:|sí|no}} {{#según:a|a=1|2}} {{NOMBREDEPÁGINA}}", "no 1 Moon" },
        { "ru", "{{НАЗВАНИЕ_СТРАНИЦЫ}} {{#Если:|да|нет}} {{ТЕКУЩИЙ_ГОД}}", "Moon нет 2011" },
        { "ru", "{{Ш:show|a}} {{t:moved|b}}", "[a|none|] [b|none|]" },
        { "he", "{{שם הדף}} {{#תנאי:1|כן|לא}}", "Moon כן" },
        { "ja", "{{ページ名}} {{#もし:1|はい|いいえ}}", "Moon はい" },
        { "zh", "{{页面名称}} {{#如果:1|是|否}}", "Moon 是" },
        { "en", "{{NOMPAGE}}{{#si:1|2|3}}", "[[:Vorlage:NOMPAGE]]{{#si:1|2|3}}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct library *l = make_library(cases[i].lang, wiki, NULL);
        cr_expect_str_eq(expand_in(l, "Moon", cases[i].text), cases[i].expected, "%s: %s: %s",
                         cases[i].lang, cases[i].text, out.data);
        library_free(l);
    }
}

Test(expand, what_is_not_closed_is_text)
{
    CHECK("{{show|a", "{{show|a");
    CHECK("{{show|[[a}} {{show|b}}", "{{show|[[a}} [b|none|]");
    CHECK("{{{{{1|show}}}|a}}", "[a|none|]");
    CHECK("{ {{show|a}} } {{{x {{show|b}}", "{ [a|none|] } {{{x [b|none|]");
    CHECK("<ref>{{show|a}}</ref><!-- {{show|a}} --><pre>{{show|a}}</pre><ref>x",
          "<ref/><pre>{{show|a}}</pre><ref>x");
    CHECK("a\n<!-- b -->\nc<!-- d --> e\n <!-- f --> <!-- g --> \nh", "a\nc e\nh");
    CHECK("a <!-- b\n{{show|c}} <!-- {{show|d}}\n<!-- e\nf {{show|g}}",
          "a \n[c|none|] \nf [g|none|]");
    CHECK("{{show|a\n==b}}==\n}}", "[a\n==b}}==\n|none|]");
}

Test(expand, words_in_several_scripts)
{
    struct library *zh = make_library("zh", wiki, NULL);
    cr_expect_str_eq(expand_in(zh, "A", "{{show|-{A|zh:a}}b;x=c}-|d}} -{{{show|e}}}- {{show|-{f}}"),
                     "[-{A|zh:a}}b;x=c}-|d|] -e- {{show|-{f}}");
    cr_expect_str_eq(expand_in(zh, "A", "{{模板:show|a}}{{PAGENAME:模板:b}}"), "[a|none|]B");
    cr_expect_str_eq(expand_in(library, "A", "{{show|-{A|b}-}}"), "[-{A|b}-|]");
    library_free(zh);
}

Test(expand, bounds)
{
    CHECK("{{loop}}", "x<span class=\"error\">Template loop detected: [[Vorlage:Loop]]</span>y");
    CHECK("{{circle}}", "caught");
    struct buf deep = BUF_INIT;
    for (int i = 0; i < 5000; i++)
        buf_adds(&deep, "{{#if:x|");
    buf_adds(&deep, "y");
    for (int i = 0; i < 5000; i++)
        buf_adds(&deep, "}}");
    expand_in(library, "A", deep.data);
    cr_expect(out.len < 10);
    buf_clear(&deep); /* 8 MiB of templates on a page; 2 MiB are shown */
    for (int i = 0; i < 80000; i++)
        buf_adds(&deep, "{{kilo}}");
    expand_in(library, "A", deep.data);
    size_t shown = 0;
    for (const char *s = out.data; (s = strstr(s, "012")); s++)
        shown++;
    cr_expect_eq(shown, 3 * ((2048 << 10) / 108) + 1, "%zu", shown);
    cr_expect(is_cut);
    buf_release(&deep);
}

/* ---- what one page may cost ---------------------------------------------------------------------
 */

/* Makes a library with the templates L0 to L11, each of which calls the next one `width` times, and
 * some templates whose output is much longer than their text. */
static struct library *make_bombs(int width)
{
    enum { LEVELS = 12 };
    static char names[LEVELS][16];
    static struct buf texts[LEVELS], tag = BUF_INIT;
    const char *pages[2 * LEVELS + 12];
    size_t n = 0;
    for (int i = 0; i < LEVELS; i++) {
        snprintf(names[i], sizeof names[i], "Vorlage:L%d", i);
        buf_init(&texts[i]);
        for (int k = 0; k < width && i + 1 < LEVELS; k++)
            buf_addf(&texts[i], "{{L%d|{{{1}}}}}", i + 1);
        if (i + 1 == LEVELS)
            buf_adds(&texts[i], "<{{{1}}}>");
        pages[n++] = names[i];
        pages[n++] = texts[i].data;
    }
    buf_init(&tag);
    for (int i = 0; i < 8; i++)
        buf_adds(&tag, "{{{1}}}");
    pages[n++] = "Vorlage:Eight";
    pages[n++] = tag.data;
    pages[n++] = "Vorlage:Keep";
    pages[n++] = "{{#tag:pre|{{{1}}}{{{1}}}{{{1}}}{{{1}}}}}";
    pages[n++] = "Vorlage:Code";
    pages[n++] = "{{anchorencode:{{{1}}}}}";
    pages[n] = NULL;
    struct library *l = make_library("en", pages, NULL);
    for (int i = 0; i < LEVELS; i++)
        buf_release(&texts[i]);
    buf_release(&tag);
    return l;
}

/* Appends `inner` inside `depth` calls of the template `name`. */
static void nest(struct buf *to, const char *name, int depth, const char *inner)
{
    for (int i = 0; i < depth; i++)
        buf_addf(to, "{{%s|", name);
    buf_adds(to, inner);
    for (int i = 0; i < depth; i++)
        buf_adds(to, "}}");
}

/* A page that needs too much work must be kept up to that point, with the text after the call, and
 * the page must be reported as cut. */
Test(expand, the_work_for_a_page_is_bounded)
{
    static const struct {
        const char *name;
        int depth, is_cut;
    } cases[] = { { "L7", 1, 0 },     { "L0", 1, 1 },   { "Eight", 4, 0 },
                  { "Eight", 12, 1 }, { "Keep", 3, 0 }, { "Keep", 14, 1 } };
    struct library *l = make_bombs(4);
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf_clear(&text);
        buf_adds(&text, "before ");
        nest(&text, cases[i].name, cases[i].depth, "abc<nowiki/>");
        buf_adds(&text, " after");
        expand_in(l, "A", text.data);
        cr_expect_eq(is_cut, cases[i].is_cut, "%s %d", cases[i].name, cases[i].depth);
        cr_expect(out.len < 8 << 20 && !strncmp(out.data, "before ", 7) &&
                      !strcmp(out.data + out.len - 6, " after"),
                  "%s: %zu", cases[i].name, out.len);
    }
    cr_expect(strstr(expand_in(l, "A", "{{L0|x}} {{Eight|y}}"), "{{Eight|y}}"),
              "what comes behind is left as it stands");
    buf_release(&text);
    library_free(l);
}

/* What a module reads is work, also if it writes little. */
Test(expand, the_work_of_modules_is_bounded)
{
    struct buf text = BUF_INIT, len = BUF_INIT;
    buf_adds(&len, "{{#invoke:String|len|");
    while (len.len < 1 << 20)
        buf_adds(&len, "0123456789abcdef");
    buf_adds(&len, "}}");
    const char *const pages[] = { "Vorlage:Len", len.data, NULL };
    struct library *l = make_library("en", pages, NULL);
    for (int i = 0; i < 100; i++)
        buf_adds(&text, "{{len}}");
    expand_in(l, "A", text.data);
    cr_expect(is_cut);
    buf_clear(&text);
    for (int i = 0; i < 20000; i++)
        buf_adds(&text, "{{#invoke:Separated entries|main}}");
    expand_in(l, "A", text.data);
    cr_expect(is_cut);
    library_free(l);
    buf_release(&text);
    buf_release(&len);
}

/* A section is no call that could be left as it is: what is behind it must not be lost. */
Test(expand, a_call_that_fails_in_a_section)
{
    static const char *const pages[] = { "Native",
                                         "<section begin=a />b {{:Nowhere}} c<section end=a />",
                                         NULL };
    struct library *l = make_library("en", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A", "{{#lst:Native|a}} end"), "b <ref/> c end");
    library_free(l);
}

/* As in MediaWiki, a section may begin with the page, or end with it. */
Test(expand, sections)
{
    static const char *const pages[] = {
        "Page",
        "<noinclude>x</noinclude>a<section begin=b />b<Section END=b />c<section begin=d />d"
        "<section end=d />e",
        NULL
    };
    struct library *l = make_library("en", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A",
                               "{{#lst:Page|b}} {{#lst:Page|b|}} {{#lst:Page||b}} "
                               "{{#lst:Page|b|d}} {{#lst:Page}} {{#lst:Page|z}}."),
                     "b bcde ab bcd abcde .");
    library_free(l);
}

/* In Turkish the capital letter of "i" has a dot, also at the beginning of a title. */
Test(expand, titles_in_turkish)
{
    static const char *const pages[] = { "Vorlage:İlçe", "a", "Vorlage:Ilçe", "b", NULL };
    static const char call[] = "{{ilçe}} {{ucfirst:istanbul}} {{lcfirst:Irak}} {{uc:i}}";
    struct library *l = make_library("tr", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A", call), "a İstanbul ırak I");
    library_free(l);
    l = make_library("kaa", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A", call), "a İstanbul ırak I");
    library_free(l);
    l = make_library("az", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A", call), "a İstanbul irak I");
    library_free(l);
    l = make_library("en", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A", call), "b Istanbul irak I");
    library_free(l);
}

Test(expand, mark_of_direction)
{
    static const char *const pages[] = { "A", "a", NULL };
    struct library *l = make_library("he", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A", "{{DIRMARK}}{{DIRECTIONMARK}}"), "\u200F\u200F");
    library_free(l);
    l = make_library("en", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A", "{{DIRMARK}}"), "\u200E");
    library_free(l);
}

/* {{#lsth:}} takes the text under a heading, {{#lstx:}} that outside a section. */
Test(expand, sections_by_heading_and_without)
{
    static const char *const pages[] = {
        "Page", "lead\n== One ==\na\n===Sub===\nb\n== two == \nc\n=== Sub ===\nd", "Parts",
        "a<section begin=x />b<section end=x />c<section begin=x />d<section end=x />e", NULL
    };
    struct library *l = make_library("en", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A",
                               "{{#lsth:Page}}|{{#lsth:Page|one}}|{{#section-h:Page|Sub}}|"
                               "{{#lsth:Page|Two}}|{{#lsth:Page|One|sub}}|{{#lsth:Page|Three}}|"
                               "{{#lstx:Parts|x}} {{#section-x:Parts|x|-}} {{#lstx:Parts|y}}."),
                     "lead\n|\na\n===Sub===\nb\n|\nb\n|\nc\n=== Sub ===\nd|\na\n||"
                     "ace a-c-e abcde.");
    library_free(l);
}

Test(expand, books)
{
    static const char *const pages[] = { "Page:B/1", "a wo-",
                                         "Page:B/2", "rd<noinclude>foot</noinclude>",
                                         "Page:B/3", "z<section begin=s />c<section end=s />d",
                                         "Page:B/4", "e",
                                         "Page:B/5", "f",
                                         NULL };
    static const char *const calls[][2] = {
        { "from=1 to=3", "a word zcd" },
        { "from=4", "e f" },
        { "include=\"4-5, 3,x,2-y\" exclude=5", "zcd e" },
        { "from=3 to=5 step=2 include=4", "zcd e f" },
        { "from=2 to=3 tosection=s", "rd zc" },
        { "from=3 to=4 fromsection=s", "cd e" },
        { "include=3 onlysection=s", "c" },
        { "from=cover to=2", "<ref/>" },
    };
    struct library *l = make_library("en", pages, NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        SCOPED(buf) call = buf_format("<pages index=B %s/>", calls[i][0]);
        cr_expect_str_eq(expand_in(l, "A", call.data), calls[i][1], "%s: %s", call.data, out.data);
    }
    library_free(l);
}

/* From a large wiki only pages are kept that others include; a page with sections is one of them.
 */
Test(expand, sections_of_a_large_wiki)
{
    struct buf large = BUF_INIT;
    while (large.len < 6 << 20)
        buf_adds(&large, "0123456789abcdef");
    const char *const pages[] = {
        "One",      large.data, "Two", large.data, "Three",
        large.data, "Small",    "b",   "Table",    "x<section begin=a />b<section end=a />",
        NULL
    };
    struct library *l = make_library("en", pages, NULL);
    cr_expect_str_eq(expand_in(l, "A", "{{#lst:Table|a}} {{:Small}}"), "b <ref/>");
    library_free(l);
    buf_release(&large);
}

/* The limits must be the same for each page, whatever the pages before it did. */
Test(expand, each_page_has_its_own_bounds)
{
    const struct template_page page = { "en", "A", "7", "77", "2010-12-31T23:59:58Z",
                                        0,    0,   0,   NULL, NULL };
    struct library *l = make_bombs(4);
    struct expander *x = expander_new(l, choose);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(expand_text(x, &page, "x", 1, &out), 0);
        cr_expect_eq(expand_text(x, &page, "{{L0|x}}", 8, &out), 1);
        cr_expect_eq(expand_text(x, &page, "{{L7|x}} {{lc:Y}}", 17, &out), 0);
        cr_expect(strstr(out.data, "<x><x>") && strstr(out.data, " y"), "%s", out.data);
    }
    expander_free(x);
    library_free(l);
}

/* A page must be cut at the same place whether or not other pages were expanded before. */
Test(expand, a_cut_page_is_the_same_on_any_day)
{
    static const char *const pages[] = { "Vorlage:A", "{{B}}{{B}}{{B}}{{B}}{{B}}{{B}}{{B}}{{B}}",
                                         "Vorlage:B", "{{C}}{{C}}{{C}}{{C}}{{C}}{{C}}{{C}}{{C}}",
                                         "Vorlage:C", "{{#expr:1+1}}{{#if:x|{{lc:Y}}}}",
                                         NULL };
    struct buf text = BUF_INIT;
    for (int i = 0; i < 600; i++)
        buf_adds(&text, "{{#if:{{A}}|{{A}}}}{{A}}");
    struct library *l = make_library("en", pages, NULL);
    char *first = strdup(expand_in(l, "A", text.data));
    cr_expect(is_cut);
    cr_expect_str_eq(expand_in(l, "A", text.data), first);
    library_free(l);
    l = make_library("en", pages, NULL);
    expand_in(l, "A", "{{C}} {{B}} {{A}}");
    cr_expect_str_eq(expand_in(l, "A", text.data), first);
    library_free(l);
    free(first);
    buf_release(&text);
}

/* A page with a call of 1.5 million arguments, in its own text or in a template, must be cut by the
 * limit of nodes. */
Test(expand, nodes_are_bounded)
{
    struct buf many = BUF_INIT;
    buf_adds(&many, "{{show");
    for (int i = 0; i < 1500000; i++)
        buf_addc(&many, '|');
    buf_adds(&many, "}} {{show|x}}");
    const char *const pages[] = { "Vorlage:Show", "[{{{1}}}]", "Vorlage:Many", many.data, NULL };
    struct library *l = make_library("en", pages, NULL);
    expand_in(l, "A", "{{many}} {{show|y}}");
    cr_expect(is_cut && !strcmp(out.data + out.len - 4, " [y]"), "%.20s", out.data);
    expand_in(l, "A", many.data);
    cr_expect(is_cut && out.len == many.len);
    library_free(l);
    buf_release(&many);
}

Test(expand, hostile_text_takes_linear_time)
{
    static const char *const pieces[] = { "<!---->",  "<!--", "<!--\n", " <!-- -->",
                                          "{{",       "{{a|", "}}",     "<ref>",
                                          "<nowiki>", "[[{{", "\n==",   "{{{1|" };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct buf text = BUF_INIT;
        while (text.len < 1 << 20)
            buf_adds(&text, pieces[i]);
        clock_t before = clock();
        expand_in(library, "A", text.data);
        double s = (double)(clock() - before) / CLOCKS_PER_SEC;
        cr_expect(s < 2.0, "1 MiB of \"%s\" took %.2f s", pieces[i], s);
        buf_release(&text);
    }
}

Test(expand, functions_take_linear_time)
{
    static const char *const pieces[][3] = {
        { "#iferror:", "<", "" },     { "#iferror:", "<", ">" },        { "#iferror:", "<p ", ">" },
        { "anchorencode:", "<", "" }, { "anchorencode:", "[a//", " " },
    };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct buf text = BUF_INIT;
        buf_addf(&text, "{{%s", pieces[i][0]);
        while (text.len < 1 << 20)
            buf_adds(&text, pieces[i][1]);
        buf_addf(&text, "%s|error}}", pieces[i][2]);
        clock_t before = clock();
        expand_in(library, "A", text.data);
        cr_expect_lt((double)(clock() - before) / CLOCKS_PER_SEC, 2.0);
        buf_release(&text);
    }
}

/* ---- marks --------------------------------------------------------------------------------------
 */

/* A mark in a text is 0x01, six digits and 0x01. Text that looks like a mark must not become one or
 * end up inside one. */
Test(expand, marks_cannot_be_forged)
{
    CHECK("<nowiki>\001000000\001</nowiki>", "<nowiki>\001000000\001</nowiki>"); /* no loop */
    CHECK("{{#urldecode:%C3%A9+%E9}}", "é \xEF\xBF\xBD");
    CHECK("{{#tag:nowiki|{{#urldecode:%01000000%01}}}}", "<nowiki>000000</nowiki>");
    CHECK("<nowiki>a</nowiki>\001000000\001{{#if:x|\001000000\001}}",
          "<nowiki>a</nowiki>000000000000");
    CHECK("<nowiki>a</nowiki>{{#urldecode:%01000000%01}}{{anchorencode:&#1;000000&#x1;}}",
          "<nowiki>a</nowiki>000000&amp;#1;000000&amp;#x1;");
    CHECK("<pre>a</pre>{{#invoke:String|sub|<pre>b</pre>x|1|1}}", "<pre>a</pre>x");
    CHECK("<pre>a</pre>{{#invoke:String|replace|<pre>b</pre>x|1|0}}", "<pre>a</pre>x");
    CHECK("<pre>a</pre>{{#explode:{{#expr:<pre>b</pre>}}|&quot;|1}}000000"
          "{{#explode:{{#expr:<pre>b</pre>}}|&quot;|1}}",
          "<pre>a</pre>000000");
    CHECK("<poem>{{#urldecode:%01000000%01}}<pre>a</pre></poem>",
          "<poem>000000<pre>a</pre></poem>");
    CHECK_ON("\001000000\001", "<pre>a</pre>{{PAGENAME}}", "<pre>a</pre>000000");
    CHECK("{{#tag:b|{{#tag:i|{{#tag:u|<pre>a</pre>}}}}}}", "<b><i><u><pre>a</pre></u></i></b>");
}

Test(expand, what_needs_lua)
{
    CHECK("{{lua}}", "before <strong class=\"error\"><span class=\"scribunto-error\" "
                     "id=\"mw-scribunto-error-0\">Script error: No such module &quot;Nowhere&quot;."
                     "</span></strong> after");
    CHECK("{{native|a|b=c}} {{outer|x{{!}}y}}", "{{Native|a|b=c}} <{{Native|x{{!}}y}}>");
    CHECK("{{outer|[[x{{!}}y]]{{!}}z}}", "<{{Native|[[x|y]]{{!}}z}}>");
    CHECK("{{partial|a}} {{lua2}}", "{{Native2|a}} a [[:Vorlage:Nowhere]]");
    CHECK("{{native|a=b{{=}}c|d{{=}}e}} {{note|a}} {{#if:{{nowhere}}|some|none}}",
          "{{Native|a=b=c|1=d=e}} {{Note|a}} some");
    CHECK("{{native|a|b{{=}}c|d|e=f|g}}", "{{Native|a|2=b=c|3=d|e=f|4=g}}");
}

Test(expand, modules_that_are_known)
{
    CHECK(
        "{{#invoke:String|len| añb }}{{#invoke:String|len|s= añb }} {{#invoke:String|sub|abcdef|2|-2}}",
        "53 bcde");
    CHECK("{{#invoke:String|sublength|s=abcdef|i=2|len=3}} {{#invoke:String|find|abcabc|c|4}}",
          "cde 6");
    CHECK(
        "{{#invoke:String|replace|a.b.c|.|-|1}} {{#invoke:String|rep|ab|3}} {{#invoke:String|pos|abc|2}}",
        "a-b.c ababab b");
    CHECK("{{#invoke:String|find|abc|x}} {{#invoke:String|str_find|source=añb|target=b}} "
          "{{#invoke:String|str_find|abc|x}} {{#invoke:String|str_find|abc}}",
          "0 3 -1 1");
    CHECK("{{#iferror:{{#invoke:String|sub|abc|9}}|out of range}}", "out of range");
    CHECK("{{#invoke:String|count|aXbXX|X}}{{#invoke:String|count|source=aaa|pattern=aa}} "
          "{{#invoke:String|endswith|añ|ñ}}{{#invoke:String|endswith|a|ba}}"
          "{{#invoke:String|endswith|a|}}",
          "31 yesyes");
    CHECK(
        "{{#invoke:Math|max|1|5|3.5}} {{#invoke:Math|round|2.567|1}} {{#invoke:Math|average|1|2|6}}",
        "5 2.6 3");
    CHECK("{{#invoke:Math|round|10/4|1}} {{#invoke:Math|sum|1|2*3|x}} {{#invoke:Math|abs|1-3}} "
          "{{#iferror:{{#invoke:Math|round|x}}|no number}}",
          "2.5 7 2 no number");
    CHECK("{{#invoke:If empty|main||b|c}}{{#invoke:Br separated entries|main|a||b}}", "ba<br />b");
    CHECK("{{#invoke:Unbulleted list|f| a ||b}}{{#invoke:Unbulleted list|f| }}",
          "<div class=\"plainlist\"><ul><li>a</li><li>b</li></ul></div>");
    CHECK("{{#invoke:Math|order|1234}} {{#invoke:Math|order|-0.01}} {{#invoke:Math|order|0}} "
          "{{#invoke:Math|min|x|}}",
          "3 -2 0 ");
    CHECK("{{#invoke:Check for unknown parameters|check|x}}{{#invoke:String|match|a|b}}", "<ref/>");
    CHECK("{{empty||c}} {{empty | {{{x|}}} | c }}",
          "c c"); /* the arguments of the template that calls */
    CHECK("{{dashed|a| |c}} {{separated|a|x|c|separator=+|conjunction=&}} {{separated}}",
          "a-c a+b&c b");
}

Test(expand, what_is_remembered_depends_on_no_page)
{
    CHECK_ON("One", "{{name}}{{item}}{{name}}", "One\n* itemOne");
    CHECK_ON("Two", "{{name}}{{item}}{{name}}", "Two\n* itemTwo");
}

/* ---- functions ------------------------------------------------------------------------------- */

Test(expand, conditions)
{
    CHECK("{{#if: a | b | c }}{{#if: | b | c }}{{#if:\n|b}}{{#if:a}}{{#IF:a|b=c}}", "bcb=c");
    CHECK("{{#ifeq:01|1.0|y|n}}{{#ifeq:a|A|y|n}}{{#ifeq:1e3|1000|y|n}}{{#ifeq:&amp;|&#38;|y}}"
          "{{#ifeq: | |y|n}}{{#ifeq:0|-0|y|n}}{{#ifeq:1x|1|y|n}}",
          "ynyyyyn");
    CHECK(
        "{{#iferror:{{#expr:1/0}}|e|ok}} {{#iferror:a|e}} {{#iferror:a|e|f}} {{#iferror:{{#expr:x}}}}",
        "e a f ");
    CHECK(
        "{{#ifexpr:1>0|y|n}}{{#ifexpr:|y|n}}{{#ifexpr:0|y|n}} {{#ifexist:moon|y|n}}{{#ifexist:x|y|n}}",
        "ynn yn");
    CHECK("{{#if:{{{1}}}|y|n}}{{#if:{{{1|}}}|y|n}}{{#if:<ref>a</ref>|y|n}}", "yny");
    CHECK("{{FULLPAGENAME:A/..}}{{FULLPAGENAME:A/.}}{{FULLPAGENAME:A/...}}", "A/...");
}

/* These bytes are not UTF-8, and count as no characters. */
Test(expand, a_text_of_no_characters_has_few_pieces)
{
    struct buf text = BUF_INIT;
    buf_adds(&text, "{{#explode:");
    for (int i = 0; i < 100000; i++)
        buf_addc(&text, 0x80);
    buf_adds(&text, "|\x80|1}}b");
    CHECK(text.data, "b");
    buf_release(&text);
}

Test(expand, switches)
{
    CHECK("{{#switch:b|a=1|b|c=2|d=3}}{{#switch:x|a=1|b=2|3}}{{#switch:x|#default=4|a=1}}"
          "{{#switch:x|a=1}}{{#switch:02|1=a|2=b}}",
          "234b");
    CHECK("{{#switch:x|a|#default|b=5|c=6}}{{#switch:|=7|a=8}}{{#switch: a | a = b = c }}",
          "57b = c");
    CHECK("{{#switch:a|a=1|a=2}}{{#switch:b|a=1|#default=2|3}}{{#switch:c|c}}", "13c");
}

Test(expand, texts)
{
    CHECK("{{lc:ÀB}}{{uc:éß}}{{ucfirst:éa}}{{lcfirst:ÉA}}{{lc:A<nowiki>B</nowiki>}}",
          "àbÉSSÉaéAa<nowiki>B</nowiki>");
    CHECK("{{uc:Μαΐου ᾠδῇ}}", "ΜΑΪ́ΟΥ ὨΙΔΗ͂Ι");
    CHECK("{{ucfirst:ვიკი}} {{#invoke:String2|ucfirst|ვიკი}} {{uc:ვი}}",
          "ვიკი ვიკი ᲕᲘ");
    CHECK("{{padleft:7|3}}{{padleft:7|3|ab}}{{padright:ā|3|-}}{{padleft:abc|2}}{{padleft:a|3|}}",
          "007ab7ā--abca");
    CHECK("{{#len:añb}}{{#pos:añb|b}}{{#pos:a|b}}{{#rpos:aXbX|X}}{{#rpos:a|b}}{{#count:aXbX|X}}",
          "323-12");
    CHECK(
        "{{#sub:añbc|1}} {{#sub:añbc|-2|1}} {{#sub:añbc|1|-1}} {{#sub:abc|9}} {{#replace:a b||_}}",
        "ñbc b ñb  a_b");
    CHECK(
        "{{#explode:a-b-c|-|1}}{{#explode:a-b-c|-|-1}}{{#explode:a-b-c|-|9}}{{#explode:a-b-c|-|1|2}}",
        "bcb-c");
    CHECK(
        "{{urlencode:ä b&/}} {{urlencode:ä b&/|PATH}} {{urlencode:ä b&/|WIKI}} {{#urldecode:%41+b}}",
        "%C3%A4+b%26%2F %C3%A4%20b%26%2F %C3%A4_b%26/ A b");
    CHECK("{{anchorencode: [[a|b]]  ''c''<i>d</i> }} {{anchorencode:{{{x}}}}}",
          "b_cd &#123;&#123;&#123;x&#125;&#125;&#125;");
    CHECK("<pre format='wikitext'>{{show|a}}</pre><pre class='wikitext'>{{show|a}}</pre>",
          "<pre format='wikitext'>[a|none|]</pre><pre class='wikitext'>{{show|a}}</pre>");
    CHECK("{{#tag:pre|a|b=c|d='e'}}{{#tag:ref|a}}<poem>{{show|a}}</poem>",
          "<pre b=\"c\" d=\"e\">a</pre><ref/><poem>[a|none|]</poem>");
}

Test(expand, titles)
{
    CHECK("{{PAGENAME}} {{FULLPAGENAME}} {{BASEPAGENAME}} {{SUBPAGENAME}} {{ROOTPAGENAME}}",
          "Sun/core Talk:Sun/core Sun core Sun");
    CHECK(
        "{{NAMESPACE}} {{NAMESPACENUMBER}} {{TALKPAGENAME}} {{SUBJECTPAGENAMEE}} {{SUBJECTSPACE}}",
        "Talk 1 Talk:Sun/core Sun/core ");
    CHECK(
        "{{PAGENAME:vorlage:a_b}} {{NAMESPACE:template:a}} {{PAGENAME:O'Neil & [b}}{{PAGENAME:O'N}}",
        "A b Vorlage O&#39;N");
    CHECK(
        "{{#titleparts:a/b/c|2}} {{#titleparts:a/b/c|1|2}} {{#titleparts:a/b/c|-1}} {{#titleparts:a/b||-1}}",
        "A/b b A/b b");
    CHECK(
        "{{#rel2abs:../x}} {{#rel2abs:./x|a/b}} {{#rel2abs:/x|a}} {{#rel2abs:x}} {{#rel2abs:..|a/b}}",
        "Talk:Sun/x a/b/x a/x x a");
    CHECK("{{#rel2abs:../x/ |a}} {{#rel2abs:x//./y/..}} {{#rel2abs:..|a}}.", "x x .");
    CHECK(
        "{{#rel2abs:../..|a}}",
        "<strong class=\"error\">Error: Invalid depth in path: &quot;a/../..&quot; (tried to access a "
        "node above the root node).</strong>");
    CHECK(
        "{{ns:10}} {{ns:template}} {{nse:11}} {{localurl:a b|c=d}} {{fullurl:A}} {{SERVERNAME}}",
        "Vorlage Vorlage Template_talk /w/index.php?title=A_b&c=d //x.example.org/wiki/A x.example.org");
    CHECK(
        "{{SITENAME}} {{CONTENTLANGUAGE}} {{PAGEID}} {{REVISIONID}} {{REVISIONYEAR}} {{NUMBEROFARTICLES}}",
        "Wiki en 7 77 2010 1");
    CHECK(
        "{{#special:search/A b}} {{#speciale:a b}} {{#special:A:b}} {{#special:Talk:c}}{{#special:}}",
        "Special:Search/A b Special:A_b Special:A:b ");
    CHECK("{{msgnw:item}} {{msgnw:Numbered}}", "&#42; item &#35; see &#91;&#91;Moon&#93;&#93;");
    CHECK("{{DEFAULTSORT:x}}{{DISPLAYTITLE:x}}{{Pagename|a}}{{#property:p1}}",
          "[[:Vorlage:Pagename]]");
}

Test(expand, dates_of_the_dump)
{
    CHECK(
        "{{CURRENTYEAR}}-{{CURRENTMONTH}}-{{CURRENTDAY2}} {{CURRENTTIME}} {{CURRENTDAYNAME}} {{CURRENTWEEK}}",
        "2011-04-09 01:02 Saturday 14");
    CHECK("{{#time:j F Y}} {{#time:Y-m-d|+1 week}} {{#time:F|2011-05-01|de}} {{#time:x|bogus}}",
          "9 April 2011 2011-04-16 Mai <strong class=\"error\">Error: Invalid time.</strong>");
    CHECK("{{#time:Y|1999}} {{#time:H:i|1234}} {{LOCALTIMESTAMP}} {{CURRENTMONTHNAMEGEN}}",
          "1999 00:00 20110409010203 April");
}

Test(expand, dates_in_another_order)
{
/* The HTML of a date: `iso` is its form in ISO 8601, `text` what a reader sees. */
#define DATE(iso, text) "<span class=\"mw-formatted-date\" title=\"" iso "\">" text "</span>"
    CHECK("{{#formatdate:2009-03-05|dmy}} {{#formatdate:5 March 2009|mdy}} "
          "{{#formatdate:March_5 2009|ymd}} {{#dateformat:2009 mar 5|ISO 8601}}",
          DATE("2009-03-05", "5 March 2009") " " DATE("2009-03-05", "March 5, 2009") " " DATE(
              "2009-03-05", "2009 March 5") " " DATE("2009-03-05", "2009-03-05"));
    CHECK("{{#formatdate:March 5|dmy}} {{#formatdate:5 May|mdy}} {{#formatdate:5 May|z}}",
          DATE("03-05", "5 March") " " DATE("05-05", "May 5") " " DATE("05-05", "5 May"));
    CHECK("{{#formatdate:2009-13-05|dmy}} {{#formatdate:Smarch 5, 2009|dmy}} "
          "{{#formatdate:5 May 2009x|dmy}} {{#formatdate:20090305|dmy}}",
          "2009-13-05 Smarch 5, 2009 5 May 2009x 20090305");
#undef DATE
}

Test(expand, numbers_and_forms_of_words)
{
    CHECK("{{formatnum:1234567.5}} {{formatnum:1,234.5|R}} {{formatnum:-987654|NOSEP}} "
          "{{formatnum:12a3456}}",
          "1,234,567.5 1234.5 \u2212987654 12a3,456");
    CHECK("{{plural:1|page|pages}} {{plural:2|page|pages}} {{plural:0|0=none|page|pages}} "
          "{{plural:3|page}}",
          "page pages none page");
    CHECK("{{gender:X|he|she|they}} {{gender:X|he}} {{grammar:genitive|Wiki}} {{#special:Search}}",
          "they he Wiki Special:Search");
}

Test(expand, a_saved_library_is_the_same)
{
    char *path = temp_file("", 0);
    library_free(make_library("en", wiki, path));
    struct library *saved = library_read(&(struct file_names){ &path, 1, 1 }, NULL, 1, NULL);
    cr_assert(saved);
    cr_expect_str_eq(expand_in(saved, "A", "{{show|a}} {{only}} {{SITENAME}} {{CURRENTYEAR}}"),
                     "[a|none|] bd Wiki 2011");
    library_free(saved);
    drop_file(path);
}

/* A saved library without templates must still know its wiki and the date of its dump. */
Test(expand, a_saved_library_without_templates)
{
    static const char *const article[] = { "Moon", "article", NULL };
    static const char text[] =
        "{{SITENAME}} {{CONTENTLANGUAGE}} {{SERVERNAME}} {{CURRENTYEAR}} {{ns:10}}";
    char *path = temp_file("", 0);
    library_free(make_library("de", article, path));
    struct library *saved = library_read(&(struct file_names){ &path, 1, 1 }, NULL, 1, NULL);
    cr_assert(saved, "%s", err_get());
    cr_expect_str_eq(expand_in(saved, "A", text), "Wiki de x.example.org 2011 Vorlage");
    library_free(saved);
    saved = library_read(&(struct file_names){ &path, 1, 1 }, "fr", 1, NULL);
    cr_assert(saved, "%s", err_get());
    cr_expect_str_eq(expand_in(saved, "A", "{{CONTENTLANGUAGE}} {{NOMPAGE}}"), "fr A");
    library_free(saved);
    drop_file(path);
}

Test(library, errors)
{
    cr_expect_null(library_read(
        &(struct file_names){ (char *[]){ (char *)"/nowhere/x.xml" }, 1, 1 }, NULL, 1, NULL));
    cr_expect(strstr(err_get(), "/nowhere/x.xml"));
    cr_expect_null(library_read(&(struct file_names){ (char *[]){ (char *)"/dev/null" }, 1, 1 },
                                NULL, 1, NULL));
    cr_expect_str_eq(err_get(), "'/dev/null' is empty");
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const char *evaluate(const char *s)
{
    buf_clear(&out);
    expression_evaluate((struct span){ s, strlen(s) }, &out, NULL);
    return out.data;
}

#define IS(text, expected) cr_expect_str_eq(evaluate(text), expected, "%s: %s", text, out.data)

Test(expression, operators)
{
    IS("", "");
    IS("1+2*3^2", "19");
    IS("(1+2)*-3", "-9");
    IS("1/3", "0.33333333333333");
    IS("10 mod 3 + -7 mod 3", "0");
    IS("7 mod -1", "0");
    IS("(0 - 2^63) mod -1", "0"); /* the quotient does not fit 64 bits */
    IS("7.5 fmod 2", "1.5");
    IS("5 mod 3.7", "2");
    IS("1.005 round 2", "1.01");
    IS("2.5 round 0", "3");
    IS("1234 round -2", "1200");
    IS("6e299 round -300", "1.0E+300");
    IS("1e-310 round 300", "0");
    IS("3 > 2 > 1", "0");
    IS("1 = 1.0 and 2 <> 3 or 0", "1");
    IS("not 0 + 1", "2");
    IS("trunc -1.5 + ceil 1.2 + floor 1.8 + abs -2", "4");
    IS("1e3e2", "100000");
    IS("pi", "3.1415926535898");
    IS("e^0", "1");
    IS("sqrt 9 + ln 1 + exp 0 + sin 0 + cos 0", "5");
    IS("2 &gt; 1", "1");
    IS("5 − 2", "3");
    IS("1.2.3", "1.2");
}

#define TEN "0000000000"
Test(expression, numbers)
{
    IS("10^15", "1.0E+15");
    IS("10^14", "1.0E+14");
    IS("10^13", "10000000000000");
    IS("123456789 * 1000", "123456789000");
    IS("1e-5", "1.0E-5");
    IS("0.0001", "0.0001");
    IS("12.5e-7", "1.25E-6");
    IS("0*-1", "-0");
    IS("1e400", "INF");
    IS("1" TEN TEN TEN TEN TEN TEN TEN, "1.0E+70");
}

Test(expression, errors)
{
    IS("1/0", "Division by zero.");
    IS("(1", "Expression error: Unclosed bracket.");
    IS("1)", "Expression error: Unexpected closing bracket.");
    IS("1 2", "Expression error: Unexpected number.");
    IS("1+", "Expression error: Missing operand for +.");
    IS("* 2", "Expression error: Unexpected * operator.");
    IS("foo", "Expression error: Unrecognized word \"foo\".");
    IS("1 & 2", "Expression error: Unrecognized punctuation character \"&\".");
    IS("sqrt -1", "In sqrt: Result is not a number.");
    struct buf deep = BUF_INIT;
    for (int i = 0; i < 1000; i++)
        buf_adds(&deep, "(");
    IS(deep.data, "Expression error: Stack exhausted.");
    buf_release(&deep);
}

static const char *format(const char *lang, const char *s)
{
    struct number_style style = number_style(lang);
    buf_clear(&out);
    number_format((struct span){ s, strlen(s) }, &style, &out);
    return out.data;
}

#define FORMAT(lang, text, expected) cr_expect_str_eq(format(lang, text), expected, "%s", out.data)

Test(number, styles)
{
    FORMAT("en", "-1234567.50", "−1,234,567.50");
    FORMAT("en", "1234 and 999, 12.", "1,234 and 999, 12.");
    FORMAT("de", "1234.5", "1.234,5");
    FORMAT("es", "1234", "1234");
    FORMAT("es", "12345",
           "12\xC2\xA0"
           "345");
    FORMAT("hi", "1234567", "12,34,567");
    FORMAT("fa", "1234.5", "۱٬۲۳۴٫۵");
    FORMAT("fa", "1e400 -1e400", "∞ −∞"); /* not digits */
    FORMAT("ru", "+5", "5");
    FORMAT("en", "1e5", "100,000");
    FORMAT("lv", ".5", ",5");
}

Test(number, digits_of_any_script)
{
    const struct number_style style = number_style("hi");
    int value;
    buf_clear(&out);
    number_unformat(span_of("१,२३४.५ −٣ 6"), &style, &out);
    cr_expect_str_eq(out.data, "1234.5 -3 6");
    cr_expect(span_number(span_of("१९81𝟏𝟤"), &value) && value == 198112);
    cr_expect(!span_number(span_of("१a"), &value) && !span_number(span_of(""), &value));
    cr_expect(!span_number(span_of("1234567890"), &value));
}

Test(number, plural_forms)
{
    static const struct {
        const char *lang;
        double n;
        int form;
    } cases[] = { { "en", 1, 0 },   { "en", 0, 1 },  { "fr", 0, 0 },   { "fr", 1.5, 0 },
                  { "ja", 5, 1 },   { "ru", 21, 0 }, { "ru", 23, 1 },  { "ru", 12, 2 },
                  { "ru", 14, 2 },  { "ru", 24, 1 }, { "sr", 114, 2 }, { "pl", 14, 2 },
                  { "pl", 22, 1 },  { "pl", 21, 2 }, { "cs", 3, 1 },   { "lv", 0, 0 },
                  { "lv", 21, 1 },  { "lv", 11, 0 }, { "ar", 2, 2 },   { "ar", 11, 4 },
                  { "sl", 103, 2 }, { "lt", 22, 1 }, { "ga", 9, 3 },   { "en", 1.5, 1 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(plural_form(cases[i].lang, cases[i].n), cases[i].form, "%s %g", cases[i].lang,
                     cases[i].n);
}

/* ---- dates ----------------------------------------------------------------------------------- */

static const char *date(const char *s)
{
    const struct moment now = { 2011, 4, 9, 1, 2, 3 }; /* a Saturday */
    static const char iso[] = "Y-m-d H:i:s";
    struct moment m;
    buf_clear(&out);
    if (moment_read((struct span){ s, strlen(s) }, &now, &m))
        moment_format(&m, (struct span){ iso, sizeof iso - 1 }, "en", &out);
    return out.data;
}

#define DATE(text, expected) cr_expect_str_eq(date(text), expected, "%s: %s", text, out.data)

Test(moment, dates)
{
    DATE("2001-02-03", "2001-02-03 00:00:00");
    DATE("3 February 2001", "2001-02-03 00:00:00");
    DATE("February 3rd, 2001 4:05 pm", "2001-02-03 16:05:00");
    DATE("3 February 2001 4 pm", "2001-02-03 16:00:00");
    DATE("Feb 2001", "2001-02-01 00:00:00");
    DATE("20010203040506", "2001-02-03 04:05:06");
    DATE("2001-02-03T04:05:06Z", "2001-02-03 04:05:06");
    DATE("2001-02-03 04:05 +02:00", "2001-02-03 02:05:00");
    DATE("2/3/2001", "2001-02-03 00:00:00");
    DATE("3.2.2001", "2001-02-03 00:00:00");
    DATE("2001-02-31", "2001-03-03 00:00:00");
    DATE("2001-02-31 +1 month", "2001-04-03 00:00:00");
    DATE("2001-02-00", "2001-01-31 00:00:00");
    DATE("800-12-25", "0800-12-25 00:00:00");
    DATE("2001-00-00", "2000-11-30 00:00:00");
    DATE("@86400", "1970-01-02 00:00:00");
    DATE("Sat, 3 Feb 2001", "2001-02-03 00:00:00");
    DATE("2001-Feb-03", "2001-02-03 00:00:00");
    DATE("Thurs, 6 Sept 2001", "2001-09-06 00:00:00");
    DATE("2008-W27-3", "2008-07-02 00:00:00");
    DATE("2008W27", "2008-06-30 00:00:00");
    DATE("2009-W53-7 12:30", "2010-01-03 12:30:00"); /* in the week's year, not the calendar's */
    DATE("2008-W54", "");
}

Test(moment, relative_to_now)
{
    DATE("now", "2011-04-09 01:02:03");
    DATE("12:30", "2011-04-09 12:30:00");
    DATE("2011-06-05 14.30", "2011-06-05 14:30:00");
    DATE("4am", "2011-04-09 04:00:00");
    DATE("12 am", "2011-04-09 00:00:00");
    DATE("4 p.m.", "2011-04-09 16:00:00");
    DATE("tomorrow", "2011-04-10 00:00:00");
    DATE("tomorrow 11:00", "2011-04-10 11:00:00");
    DATE("11:00 tomorrow", "2011-04-10 00:00:00");
    DATE("yesterday noon", "2011-04-08 12:00:00");
    DATE("today +2 hours", "2011-04-09 02:00:00");
    DATE("+1 month", "2011-05-09 01:02:03");
    DATE("2 days ago", "2011-04-07 01:02:03");
    DATE("last day of february 2012", "2012-02-29 00:00:00");
    DATE("first day of next month", "2011-05-01 01:02:03");
    DATE("monday", "2011-04-11 00:00:00");
    DATE("monday +1 day", "2011-04-12 00:00:00");
    DATE("last sunday", "2011-04-03 00:00:00");
    DATE("monday this week", "2011-04-04 00:00:00");
    DATE("next week sunday", "2011-04-17 00:00:00");
    DATE("next week", "2011-04-11 01:02:03");
    DATE("this saturday", "2011-04-09 00:00:00");
    DATE("next saturday", "2011-04-16 00:00:00");
    DATE("+1 saturday", "2011-04-09 00:00:00");
    DATE("monday next month", "2011-05-11 00:00:00"); /* a month after a Monday */
    DATE("10:00 saturday", "2011-04-09 00:00:00");
    DATE("last day of next month", "2011-05-31 01:02:03");
    DATE("first monday of january 2024", "2024-01-01 00:00:00");
    DATE("Third Thu of next month", "2011-05-19 00:00:00");
    DATE("last monday of may 2024", "2024-05-27 00:00:00");
    DATE("second monday", "2011-04-18 00:00:00");
    DATE("2011-01-31 +1 month", "2011-03-03 00:00:00");
    DATE("5 June", "2011-06-05 00:00:00");
}

Test(moment, no_dates)
{
    DATE("bogus", "");
    DATE("2011-13-01", "");
    DATE("25:61", "");
    DATE("31 31 2000", "");
    DATE("12345", "");
}

Test(moment, formats)
{
    const struct moment m = { 2009, 12, 31, 15, 4, 5 }; /* a Thursday */
    static const char all[] =
        "d D j l N w z W o F m M n t L Y y a A g G h H i s U c xrY xnY \"Y\" \\Y e P";
    buf_clear(&out);
    moment_format(&m, (struct span){ all, sizeof all - 1 }, "en", &out);
    cr_expect_str_eq(
        out.data, "31 Thu 31 Thursday 4 4 364 53 2009 December 12 Dec 12 31 0 2009 09 pm PM 3 15 "
                  "03 15 04 05 1262271845 2009-12-31T15:04:05+00:00 MMIX 2009 Y Y UTC +00:00");
    buf_clear(&out);
    moment_format(&m, (struct span){ "j xg Y, l", 9 }, "ru", &out);
    cr_expect_str_eq(out.data, "31 декабря 2009, четверг");
    buf_clear(&out); /* other calendars */
    moment_format(&m, span_of("xij xiF xiY xit xiz, xmj xmF xmY, xkY, xoY, xtYxkF"), "en", &out);
    cr_expect_str_eq(out.data, "10 Dey 1388 30 285, 14 Muharram 1431, 2552, 98, 平成21F");
    const struct moment eras[] = { { 2019, 5, 1, 0, 0, 0 },
                                   { 2024, 3, 20, 0, 0, 0 },
                                   { 1860, 1, 1, 0, 0, 0 } };
    buf_clear(&out);
    for (int i = 0; i < 3; i++)
        moment_format(&eras[i], span_of("xtY xnxin "), "ja", &out);
    cr_expect_str_eq(out.data, "令和元 2 令和6 1 西暦1860 10 ");
    const struct moment friday = { 2010, 1, 1, 0, 0, 0 }; /* in the last week of 2009 */
    buf_clear(&out);
    moment_format(&friday, span_of("o-W Y"), "en", &out);
    cr_expect_str_eq(out.data, "2009-53 2010");
}

/* ---- the rest -------------------------------------------------------------------------------- */

Test(visible, elements)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        { "a<span style=\"display:none\">b<span>c</span></span>d", "a<ref/>d" },
        { "a<span style='color:red; display : none'>b</span>d", "a<ref/>d" },
        { "a<span style='DISPLAY:None'>b</span>d", "a<ref/>d" },
        { "<b style=\"color:red; Visibility: hidden\">0</b>5", "<ref/>5" },
        { "a<div class=\"x metadata y\">b</div>d", "a<ref/>d" },
        { "<b style=x-visibility:hidden>b</b>", "<b style=x-visibility:hidden>b</b>" },
        { "a<div class=\"metadatax\">b</div>d", "a<div class=\"metadatax\">b</div>d" },
        { "<b title=\"the class=error \">b</b>", "<b title=\"the class=error \">b</b>" },
        { "<b title='class=\"a\"' class=\"error\">b</b>c", "<ref/>c" },
        { "a<span class=error>b", "a<span class=error>b" },
        { "a<span class=error>b\n\nc</span>d", "a<span class=error>b\n\nc</span>d" },
        { "a<span class=\"error\" />b</span>", "a<span class=\"error\" />b</span>" },
        { "<b class=\"noprint\">x</b><b class=\"noprint\">y</b>z<", "<ref/><ref/>z<" },
        { "<nowiki><b class=error>b</b></nowiki>c", "<nowiki><b class=error>b</b></nowiki>c" },
        { "<Pre a=b><b class=error>b</b></PRE>c", "<Pre a=b><b class=error>b</b></PRE>c" },
        { "<pre class=error>b</pre>c<nowiki/><b class=error>d</b>", "<ref/>c<nowiki/><ref/>" },
        { "<pre format=wikitext><b class=error>b</b></pre>", "<pre format=wikitext><ref/></pre>" },
        { "<nowiki><b class=error>b</b>", "<nowiki><ref/>" },
        { "<div class=\"x hatnote\">b</div>c", "<ref/>c" },
        { "<div class=\"navigation-not-searchable\">b</div>c", "<ref/>c" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf_clear(&out);
        buf_adds(&out, cases[i].text);
        visible_filter(&out, 0);
        cr_expect_str_eq(out.data, cases[i].expected, "%s", out.data);
    }
    buf_clear(&out);
    buf_adds(&out, "<div class=\"hatnote\">b</div>");
    visible_filter(&out, 1);
    cr_expect_str_eq(out.data, "<div class=\"hatnote\">b</div>");
}

Test(visible, many_elements_in_one_paragraph_take_linear_time)
{
    enum { ROWS = 50000 };
    buf_clear(&out);
    for (int i = 0; i < ROWS; i++)
        buf_adds(&out, "|-\n| <span style='display:none'>key</span> a\n| b\n");
    clock_t before = clock();
    visible_filter(&out, 0);
    cr_expect_lt((double)(clock() - before) / CLOCKS_PER_SEC, 2.0);
    cr_expect_eq(out.len, ROWS * strlen("|-\n| <ref/> a\n| b\n"));
}

Test(spill, small_and_large)
{
    static const size_t sizes[] = { 0, 10, 40 << 20 };
    char piece[1 << 16];
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct spill s;
        spill_init(&s, 1 << 20);
        for (size_t done = 0; done < sizes[k];) {
            size_t n = sizes[k] - done < sizeof piece ? sizes[k] - done : sizeof piece;
            memset(piece, (int)(done >> 16) + 1, n);
            cr_assert_eq(spill_add(&s, piece, n), 0);
            done += n;
        }
        cr_assert_eq(spill_finish(&s), 0);
        cr_expect_eq(s.bytes, sizes[k]);
        for (size_t i = 0; i < sizes[k]; i += 4099)
            cr_assert_eq((unsigned char)s.data[i], (unsigned char)((i >> 16) + 1), "byte %zu", i);
        spill_release(&s);
    }
}
