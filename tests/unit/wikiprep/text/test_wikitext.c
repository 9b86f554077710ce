/* Wikitext to text, rule by rule. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/buf.h"
#include "common/base/mem.h"
#include "wikiprep/site/dump_page.h"
#include "wikiprep/site/entity.h"
#include "wikiprep/site/language.h"
#include "wikiprep/site/names.h"
#include "wikiprep/site/variant.h"
#include "wikiprep/text/wikitext.h"

static struct wikitext_options how;
static char *wanted, *unwanted;
static struct buf out = BUF_INIT;

static const char *clean_bytes(const char *text, size_t n)
{
    struct names *names = names_new(1);
    names_add(names, span_of("Fails"), NAMES_FILE);
    names_add(names, span_of("Portal"), NAMES_PAGE);
    struct wikitext *w = wikitext_new(names, &how);
    wikitext_set_site(w, names, wanted, unwanted);
    wikitext_clean(w, text, n, &out);
    wikitext_free(w);
    names_free(names);
    return out.data;
}

static const char *clean(const char *text)
{
    return clean_bytes(text, strlen(text));
}

#define CHECK(text, expected) cr_expect_str_eq(clean(text), expected)

/* ---- templates, comments ----------------------------------------------------------------- */

Test(wikitext, templates_are_dropped)
{
    CHECK("a {{b}} c", "a c");
    CHECK("a {{b|{{c|d}}|e={{f}}}} g", "a g");
    CHECK("a {{b\n| c = d\n| e = [[f]]\n}} g", "a g");
    CHECK("a {{{parameter|default}}} b", "a b");
    CHECK("a {{{{{1|x}}}|y}} b", "a b");
    CHECK("a {{}} b", "a b");
    CHECK("a {single} b", "a {single} b");
    CHECK("a }} b", "a b");
    CHECK("a {{b|<nowiki>}}</nowiki>}} c", "a c");
    CHECK("a {{b|<!-- }} -->}} c", "a c");
}

Test(wikitext, open_templates_end_with_their_line)
{
    CHECK("a {{b|c\n\nd", "a\nd");
    CHECK("a {{citation needed} b", "a b");
    CHECK("{{Infobox\n| x = 1\n| y = {{z}}\n\nText.", "Text.");
    CHECK("a {{b|[[c}} d", "a d");
}

Test(wikitext, comments)
{
    CHECK("a<!-- b -->c", "ac");
    CHECK("a\n<!-- b -->\nc", "a c");
    CHECK("a <!-- never closed", "a");
    CHECK("a <!-- never closed\nb\n<!-- nor this\nc\n== D ==\ne", "a b c\nD\ne");
    CHECK("<div style=\"a; <!--c > --> b\">x</div> <span <!--c-->id=d>y</span>", "x\ny");
    CHECK("<div title=\"a<ref>b > {{c}}</ref>d<ref name=\"e\"/>\">x</div>", "x");
    CHECK("[<!--c-->https://u.org L] [[<!--c--><!--d-->//u.org M]] [<!--c-->no]", "L M [no]");
    CHECK("a <div <!-- never closed\nb <b <ref>c", "a b <b");
    CHECK("a <!-- {{ [[ --> b", "a b");
}

/* ---- links ------------------------------------------------------------------------------- */

Test(wikitext, links)
{
    CHECK("[[Violin]], [[Violin|the violin]], [[violin]]s", "Violin, the violin, violins");
    CHECK("[[Star Trek: Picard]] and [[Portal:Music]]", "Star Trek: Picard and Portal:Music");
    CHECK("[[Imagine: John Lennon]]", "Imagine: John Lennon");
    CHECK("[[a|b | c]]", "b | c");
    CHECK("[[:Category:Music]] [[:File:A.jpg|a file]]", "Category:Music a file");
    CHECK("[[Piano (music)|]] [[Portal:Music|]] [[#Links]]", "Piano (music) Portal:Music Links");
    CHECK("[[wikt:word]] [[s:en:Page]] [[wikt:word|a word]] [[:de:Geige]]",
          "wikt:word s:en:Page a word de:Geige");
    CHECK("a [[b|{{c}}]] d", "a b d");
    CHECK("a [[]] b [[|]] c [[ ]].", "a b c.");
    CHECK("x [[a b (c)|d [https://e.org f] g]] h", "x d [https://e.org f] g h");
    CHECK("[[a|[https://e.org f]] [[b|[https://e.org]]]", "[https://e.org f [https://e.org]");
    CHECK("[[Target|''label'']]", "label");
    CHECK("[[[Foo]]]", "[Foo]");
    CHECK("[[[[a|b]]]] [[[[c]] d]] e]] [[[[x\n]]f", "[[b]] [[c d]] e [[x f");
    CHECK("[[a|b [c]]] d [[File:E.jpg|thumb|f [1]]] g [[File:H.jpg|[[i|j [k] l]]]] m",
          "b [c] d g m");
    CHECK("[[File:A.jpg|[[b|c [d]]]]] e", "e");
    CHECK("a [[Media:B.ogg|listen]] [[Media:B.ogg]] c", "a listen Media:B.ogg c");
    CHECK("a [[Special:FilePath/B.jpg|b]] [[:Image:B.jpg|c]]", "a b c");
    CHECK("[[2 a#/media/Файл:B.jpg|b]] [[Talk:C.jpg|d]] [[File talk:E.jpg|f]]", "b d f");
    CHECK("[[K l: M.jpg]] [[N.O: P.png|q]] [[User:R.pdf|s]]", "K l: M.jpg q s");
    CHECK("[[a|b|c]] [[a||b|]]", "b|c |b|");
    CHECK("a.[[b|&nbsp;]]c [[d| ]] e", "a. c e");
    CHECK("[[#%E5%95%A4]] [[7%25]] [[a%3Cb]] [[%zz%]] [[caf%E9]]", "啤 7% a%3Cb %zz% caf%E9");
    CHECK("[[a''b'']] ''c''", "a''b'' c");
    CHECK("[[%23%3c]] [[7%2525]]", "< 7%2525");
    CHECK("[[a|b [[c]]]] [[d~~~|e]] [[./f|g]]", "[[a|b c]] [[d~~~|e]] [[./f|g]]");
    CHECK("[[a|[[File:B.jpg]]]] [[c\xEF\xBF\xBD|d]]", "[[a|]] [[c\xEF\xBF\xBD|d]]");
}

Test(wikitext, links_that_are_not_shown)
{
    CHECK("a [[File:B.jpg|thumb|c [[d]] e [[f|g]]]] h", "a h");
    CHECK("a [[Image:B.jpg]] [[image:b.png|20px|x]] c", "a c");
    CHECK("a [[Fails:B.jpg|c]] [[Datei:B.jpg|mini|c]] [[Файл:B.jpg|мини]] d", "a d");
    CHECK("a [[Tập tin:B.jpg|nhỏ|c]] d", "a d");
    CHECK("a [[ファイル:B.jpg|thumb|c]] [[Obrázek:B.jpg|náhled|vlevo|c d]]", "a");
    CHECK("a [[Category:B]] [[Categoria:B|c]] [[Kategorie:B]] d", "a d");
    CHECK("a [[de:B]] [[zh-min-nan:B]] c", "a c");
    CHECK("a [[\u200FCategory:B]] [[category\u200E:B]] c", "a c");
    CHECK("a\n[[File:B.jpg|thumb|c [[File:D.jpg|e]] f]]\ng", "a\ng");
    CHECK("[[File:B.jpg|thumb|c\n\nd]] e", "e");
}

Test(wikitext, open_links_end_with_their_paragraph)
{
    CHECK("a [[b c\n\nd", "a b c\nd");
    CHECK("a [[b|c\n\nd]] e", "a c\nd e");
    CHECK("a ]] b", "a b");
    CHECK("[[broken\nlink]]", "broken link");
    CHECK("a [[File:B.jpg|thumb|c [[d] e\nf\n== G ==\nh", "a f\nG\nh");
}

Test(wikitext, addresses)
{
    CHECK("[https://a.org] [https://a.org b c] https://a.org/d", "b c https://a.org/d");
    CHECK("[//a.org b] [mailto:a@b.org c] [not a link]", "b c [not a link]");
    CHECK("[https://a.org b [[c]] d]", "b c d");
    CHECK("[[https://a.org b]]", "b");
    CHECK("[https://a.org/{{x}} b]", "b");
    CHECK("[http://[::1]:80/ a] [http://[2010:836B::7] b]", "a b");
    CHECK("[//a.org/b'c] d [//a.org/b'c e] [//a.org''f'']", "d e f");
    CHECK("[//a.org/1[2] [//a.org<b>c</b> d] [//a.org/\"e\" f]", "[2 c d \"e\" f");
    CHECK("[//a.org[[b]]] [//a.org|[[c]] d]", "b c d");
    CHECK("http://a.org?b&#91;&#x5D;=&vert; (&lsqb;c&rsqb;) http://a.org?b&lt;c",
          "http://a.org?b%5B%5D=%7C ([c]) http://a.org?b<c");
    CHECK("[//a.org | b] [http:// c]", "| b [http:// c]");
    CHECK("a [https://b.org?x=y&amp;z c\nd", "a [https://b.org?x=y&z c d");
    CHECK("[//a.org　東京 b] [//a.org/ЛА\u00a0\u00a0c] [//a.org　]d [//a.org  e]", "東京 b c d e");
}

/* ---- quotes, references, tags ------------------------------------------------------------- */

Test(wikitext, quotes)
{
    CHECK("''a'' '''b''' '''''c''''' d's", "a b c d's");
    CHECK("L'''amour'' x", "L'amour x"); /* doQuotes: one ''' is an apostrophe and '' */
    CHECK("''a '''b", "a 'b");
    /* which one: the first behind a single letter, else behind a longer word, else a space */
    CHECK("ab'''c d'''e f'''g ''h", "abc d'e fg h");
    CHECK("x '''a bc'''d ef'''g ''h", "x a bc'd efg h");
    CHECK("'''ab cd ''ef'''gh ij'''", "'ab cd efgh ij");
    CHECK("* '''ab cd ''ef'''gh ij'''", "ab cd ef'gh ij");
    CHECK("a ''''b'''' c", "a 'b' c");
    CHECK("a<nowiki/>''b''", "ab");
    CHECK("'<nowiki/>''b''", "'b");
}

Test(wikitext, entities)
{
    CHECK("&lt;b&gt; &amp;amp; &#65;&#x42; a&nbsp;b &eacute;&alpha;&hellip;",
          "<b> &amp; AB a b éα…");
    CHECK("a&רלמ;b&رلم;c &רל; &é", "a\u200Fb\u200Fc &רל; &é");
    CHECK("&unknown; AT&T a &amp b", "&unknown; AT&T a &amp b");
    CHECK("a&#9;b&#10;c &#126; &#160; &#xE000; &#xFFFD; &#x1F4A9;",
          "a b c ~ \xEE\x80\x80 \xEF\xBF\xBD \xF0\x9F\x92\xA9");
    CHECK("&#8; &#13; &#127; &#150; &#xD800; &#xDFFF; &#xFFFE;",
          "&#8; &#13; &#127; &#150; &#xD800; &#xDFFF; &#xFFFE;"); /* as MediaWiki */
    CHECK("&#42; no list", "* no list");
    CHECK("&#39;&#39;not italic&#39;&#39;", "''not italic''");
    unsigned c;
    cr_expect_eq(entity_read("&#1114112;", 10, &c), 0);
    cr_expect_eq(entity_read("&amp", 4, &c), 0);
    cr_expect_eq(entity_read("&;", 2, &c), 0);
    cr_expect_eq(entity_read("&#;", 3, &c), 0);
    cr_expect_eq(entity_read("&#`5;", 5, &c), 0);
    cr_expect_eq(entity_read("&#xG;", 5, &c), 0);
    cr_expect(entity_read("&zwj;x", 6, &c) == 5 && c == 0x200D);
}

Test(wikitext, tags)
{
    CHECK("H<sub>2</sub>O <small>s</small> <span style=\"a\">b</span>", "H2O s b");
    CHECK("a<br>b<br/>c<BR />d", "a\nb\nc\nd");
    CHECK("a <div class=\"x\"><p>b</p></div> c", "a\nb\nc");
    CHECK("1 < 2 and 3 > 2, a<b and <unknown>c</unknown> <3",
          "1 < 2 and 3 > 2, a<b and <unknown>c</unknown> <3");
    CHECK("a <math>x < {y}</math> b <gallery>\nFile:A.jpg|c\n</gallery> d", "a b d");
    CHECK("a <source lang=c enclose=\"none\">int y;</source> b", "a int y; b");
    CHECK("a\n<quiz display=simple>\n{What?\n|type=\"()\"}\n+ A\n- B\n</quiz>\nb", "a\nb");
    CHECK("use <syntaxhighlight lang=\"c\" inline>x = {{y}};</syntaxhighlight> here",
          "use x = {{y}}; here");
    CHECK("a\n<source lang=\"c\">x = y;</source>\nb", "a\nb");
    CHECK("<blockquote>a</blockquote>", "a");
    CHECK("<poem>\na\nb\n</poem>\nc", "a\nb\nc");
    CHECK("<poem>:a\n:: b: c\n# d</poem>\n: e", "a\nb: c\n# d\ne");
    CHECK("<noinclude>a</noinclude> <includeonly>b</includeonly><onlyinclude>c</onlyinclude>",
          "a c");
    CHECK("a <span>b", "a b");
    CHECK("a </div> b", "a\nb");
    CHECK("a <br b", "a b");
    CHECK("<meta itemprop=\"a\" content=\"b\"> <meta a=\"b\"> <link>", "<meta a=\"b\"> <link>");
    CHECK("A (de: <phonos file=\"a.ogg\">B</phonos>) <phonos ipa=\"c\"/> (<phonos></phonos>) d",
          "A (de: B) d"); /* the button of a sound may have a label */
}

Test(wikitext, literals)
{
    CHECK("<nowiki>{{a}} [[b]] '''c''' &amp; | =</nowiki>", "{{a}} [[b]] '''c''' & | =");
    CHECK("<pre>{{a}}\n* b</pre>", "{{a}}\n* b");
    CHECK("<pre><nowiki>a</nowiki> <nowiki> b</pre>", "a <nowiki> b");
    CHECK("<code><nowiki>{{a|b}}</nowiki></code>", "{{a|b}}");
    CHECK("a<nowiki />b", "ab");
    CHECK("<nowiki>a</nowiki> </nowiki>", "a </nowiki>");
    CHECK("<pre format=\"wikitext\">\n[[a|b]]\n\n* '''c'''\n</pre>", "b\nc");
}

Test(wikitext, references)
{
    CHECK("a.<ref>b {{c}} [[d]]</ref> e", "a. e");
    CHECK("a<ref name=\"x\" /> b<ref name=y>c</ref> d<REF>e</REF>", "a b d");
    CHECK("a.<ref>never closed\n\nb", "a.\nb");
    CHECK("a.<ref>b\nc<ref>d</ref> e", "a. c e");
    CHECK("a <references /> <references><ref>b</ref></references> c", "a c");
}

Test(wikitext, tags_of_common_extensions)
{
    CHECK("a <youtube width=2>bc</youtube> <verbatim>d</verbatim> <headertabs/> e", "a e");
    CHECK(
        "<infobox layout=\"a\">\n<title source=\"b\"/>\n<data><label>c</label></data>\n</infobox>d",
        "d");
    CHECK("a <spoiler>b</spoiler>", "a\nb");
    CHECK("<tabber>\n|-|One=\na\nb\n|-|Two=c\n* d\n</tabber>e {{x}}", "One\na b\nTwo\nc\nd\ne");
    CHECK("<tabber>\nOne=\na\n|-|\nTwo= b {{x|y=z}}\n</tabber>e", "One\na\nTwo\nb\ne");
    CHECK("<tabber>One=a|-|Two=b</tabber>", "One\na\nTwo\nb");
    /* without <tabber>, rows of a table that a template began */
    CHECK("{{x}}\n|-| b=c\n|-|| d\n|}\ne", "e");
}

/* Writes `pattern` with the name in the place of each T. */
static void put_tags(struct buf *to, const char *pattern, const char *name)
{
    for (; *pattern; pattern++)
        if (*pattern == 'T')
            buf_adds(to, name);
        else
            buf_addc(to, *pattern);
}

static const char *const tag_names[] = {
    "b",         "br",         "caption",  "code",       "div",    "font",
    "gallery",   "graph",      "h2",       "imagemap",   "li",     "includeonly",
    "indicator", "math",       "chem",     "noinclude",  "nowiki", "syntaxhighlight",
    "p",         "poem",       "pre",      "references", "ref",    "ruby",
    "score",     "section",    "small",    "source",     "span",   "templatedata",
    "table",     "td",         "timeline", "tr",         "u",      "onlyinclude",
    "inputbox",  "charinsert", "hiero",    "maplink",    "sup",    "templatestyles",
};

Test(wikitext, broken_tags_take_nothing_past_their_line)
{
    static const char *const tags[] = {
        "<T",
        "<T name=x",
        "<T name=\"x",
        "<T name=\"x>",
        "<T name=x>",
        "<T>",
        "<T name=x/",
        "<T/",
        "</T",
        "</T>",
        "<T <T>",
        "<T name='x\"",
        "<T style=\"a:b;",
        "<!-- T",
        "<T name=x>text</T",
        "<T>a</ T>",
        "<T name=x b</T>",
    };
    static const char *const places[] = {
        "? a",
        "* a ? b",
        "{{x|a ?}} b",
        "{{x|a ?|b=c}} d",
        "[[A|b ?]] c",
        "{{lang|fr|?}}",
        "== ? ==",
        "{|\n|-\n| a ? || b\n|}",
        "[http://a.b c ?] d",
        "[[File:a|b ?]]",
    };
    static const char *const later[] = { "<ref>note</ref>", "", "<ref name=\"q\" />", "</T>" };
    static const char rest[] = "\n\nBeta \"said\" so.\n\n== Head ==\nGamma";
    static const char end[] = " 2 > 1.\n\nDelta <b class=\"z\">bold</b> <T>x</T> {{y}} end.";
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < sizeof tag_names / sizeof *tag_names; i++)
        for (size_t j = 0; j < sizeof tags / sizeof *tags; j++)
            for (size_t k = 0; k < 4 * sizeof places / sizeof *places; k++) {
                /* "<T>…</T>" over paragraphs is whole */
                if (k % 4 == 3 && strchr(tags[j], '>'))
                    continue;
                const char *place = places[k / 4], *at = strchr(place, '?');
                buf_clear(&text);
                buf_add(&text, place, (size_t)(at - place));
                put_tags(&text, tags[j], tag_names[i]);
                buf_adds(&text, at + 1);
                buf_adds(&text, rest);
                put_tags(&text, later[k % 4], tag_names[i]);
                put_tags(&text, end, tag_names[i]);
                clean(text.data);
                cr_expect(strstr(out.data, "Beta \"said\" so.\nHead\nGamma") &&
                              strstr(out.data, "2 > 1.\nDelta bold"),
                          "%s\n-> %s", text.data, out.data);
            }
    buf_release(&text);
}

Test(wikitext, tags_may_go_over_lines)
{
    CHECK("a<ref\nname=b\n/> c <ref name=\"d\ne\">f</ref> g", "a c g");
    CHECK("a<ref name=\"b\"\n>c\n\nd</ref> e", "a e");
    CHECK("<div style=\"a: b;\nc: d;\n e: f\"\nclass=g>h</div>", "h");
    CHECK("a<ref name=b Smith 2000</ref> c", "a c");
    CHECK("a<ref name=b The text goes on.", "a The text goes on.");
}

Test(wikitext, switches_and_variants)
{
    CHECK("__NOTOC__ a __notoc__ __БЕЗ_ОГЛ__ __init__ __x", "a __init__ __x");
    CHECK("The macros __FILE__ and <code>__VA_ARGS__</code>",
          "The macros __FILE__ and __VA_ARGS__");
}

/* ---- variants of the language -------------------------------------------------------------- */

/* Returns the text in a variant of the language; "zh" and "sr" are the languages themselves. */
static const char *in_variant(const char *code, const char *text)
{
    char lang[4];
    snprintf(lang, sizeof lang, "%.*s", (int)strcspn(code, "-"), code);
    struct variants *v = variants_new(lang, code);
    const struct template_page page = { .lang = lang, .title = "A", .variants = v };
    how.page = &page;
    clean(text);
    how.page = NULL;
    variants_free(v);
    return out.data;
}

#define VARIANT(code, text, expected) cr_expect_str_eq(in_variant(code, text), expected)

Test(wikitext, markup_for_variants)
{
    CHECK("-{a}- -{zh-cn:a; zh-tw:b}-", "-{a}- -{zh-cn:a; zh-tw:b}-"); /* a language without */
    VARIANT("zh", "-{zh-hant:two; zh-hans:one}- a -{b}- c -{H|zh-cn:d}-", "one a b c");
    VARIANT("zh", "a -{never closed\nb", "a -{never closed b");
    VARIANT("zh", "a -{zh-cn:b;\nzh-tw:c}-\n\n-{d\n\ne}-", "a b\n-{d\ne}-");
    VARIANT("zh-tw", "-{zh-cn:a; zh-Hant-TW:b <br>}- -{zh-cn:c;zh-hk:d}-", "b\nd");
    VARIANT("zh-tw", "-{zh-cn:a;zh-tw:b {{x}}}- c", "b c");
    VARIANT("zh-tw", "-{zh-cn:a}- -{zh-tw:b;c:d}- -{x=>zh-cn:y;x=>zh-tw:z}-", "a b;c:d z");
    VARIANT("zh-tw", "-{R|zh-cn:a}- -{N|zh-tw}- -{D|x=>zh-tw:y}-", "zh-cn:a 臺灣 x⇒臺灣：y；");
    VARIANT("sr-ec", "-{sr-el|a -{b}- c}- -{sr-ec|a -{b}- c}- -{x-{sr-ec|a}-}-", "a b c а b ц xа");
    VARIANT("zh-tw", "字-{文}-\n-{字}-", "字文字");
    VARIANT("yue-hans", "-{yue-hant:a; yue-hans:b}- -{c}-", "b c");
    VARIANT("zh-hk", "-{zh-hans:a -{zh-cn:b}-;zh-hant:c -{zh-tw:d;zh-hk:e-{f}-}-;}-", "c ef");
    VARIANT("sr-ec", "a <code>b</code> a\n\na <code>b\n\nc</code> a", "а b а\nа б\nц а");
}

Test(wikitext, words_of_a_page_hold_from_their_markup_on)
{
    VARIANT("zh-tw", "one -{A|zh-cn:one; zh-tw:two}- one\n\none -{-|zh-cn:one; zh-tw:two}- one",
            "one two two\ntwo one");
    VARIANT("zh-tw", "one -{H|on=>zh-tw:x; one=>zh-tw:y}-\none on -{one}-", "one y x one");
    VARIANT("zh-tw", "one {{box|x=-{A|zh-cn:one;zh-tw:two}-}} one", "one two");
    VARIANT("zh-tw", "{|\n| -{A|zh-cn:one;zh-tw:two}-\n|}\none", "two");
    VARIANT("zh-tw", "-{H|zh-cn:a;zh-tw:b}-a-{H|a}-a -{T|zh-tw:a}-a -{T;H|zh-cn:c;zh-tw:d}-c",
            "ba a d");
    VARIANT("zh", "-{H|zh-cn:a;zh-tw:b}-a", "a");
}

Test(wikitext, letters_of_variants)
{
    VARIANT("sr-el", "Љубав Џак [[Дунав]] -{у}-", "Ljubav Džak Dunav у");
    VARIANT("sr-ec", "Ljubav IV. in!jekcija CIVIL http://a.b/c <nowiki>a</nowiki>",
            "Љубав IV. инјекција ЦИВИЛ http://a.b/c a");
    VARIANT("sr-ec", "Čuda <pre>a</pre> жж", "Čuda\na\nжж");
    VARIANT("sr-ec", "a <code>b -{c}- d</code> e <code>f", "а b c d е ф"); /* not closed */
    VARIANT("sr-ec", "__NOCC__abc", "abc");
    VARIANT("sr", "abc абц", "abc абц");
    VARIANT("kk-latn", "Қазақ тілі, аеҒеА №5 IV -{у}-", "Qazaq tili, ayeĞeA No.5 IV у");
    VARIANT("kk-latn", "Qazaq tilñ, ä а", "Qazaq tilñ, ä а");
}

/* ---- lines ------------------------------------------------------------------------------- */

Test(wikitext, paragraphs_are_lines)
{
    CHECK("a\nb\n\nc\n\n\n\nd", "a b\nc\nd");
    CHECK("日本\n語", "日本語");
    CHECK("文。<ref>a</ref>\n'''字'''<b>字</b>\n<i>文</i>", "文。字字文");
    CHECK("a  b \t c\xC2\xA0 d", "a b c d");
    CHECK(" pre\n formatted", "pre\nformatted");
    CHECK("a\n----\nb", "a\nb");
    CHECK("{{table}}\na\n|- debris\nb", "a\nb");
    CHECK("a\n| b", "a | b");
    CHECK("", "");
    CHECK("\n\n", "");
}

Test(wikitext, what_is_no_heading_is_text)
{
    CHECK("=5 apples\n\n==5 apples", "=5 apples\n5 apples");
}

Test(wikitext, headings_of_empty_sections_are_dropped)
{
    CHECK("== A ==\n=== B ===\nb\n== C ==\n=== D ===\n== E ==\n''e''", "A\nB\nb\nE\ne");
    CHECK("a\n== See ==\n{{reflist}}", "a");
    CHECK("== ''A'' [[b]] == <!-- c -->\nd", "A b\nd");
    CHECK("== not closed\nb", "not closed b");
    how.no_headings = 1;
    CHECK("== A ==\nb", "b");
    how.no_headings = 0;
}

Test(wikitext, lists)
{
    CHECK("* a\n** b\n# c\n: d\n:* e\n*\n*f", "a\nb\nc\nd\ne\nf");
    CHECK("; Term : definition\n; Term\n: definition", "Term: definition\nTerm\ndefinition");
    CHECK("; [https://a:b c] : d", "c: d");
    CHECK("* #1 in Spain\n: *a\n# ; b : c\n; : d", "#1 in Spain\n*a\n; b : c\nd");
    CHECK("[[a|#1]] b\n\n[[*c]] d\n\n[//e.org :f]\n\n[[g|=h]]=\n\n[[a|''#i'']]",
          "#1 b\n*c d\n:f\n=h=\n#i");
    CHECK("<nowiki/>#1\n\n<b>*a</b>\n\n<code>#b</code>\n\n<span>== c ==", "#1\n*a\n#b\n== c ==");
    CHECK("<noinclude>* a</noinclude>\n<section begin=b />#c\n[[Category:d]]*e", "a\nc\ne");
    how.no_lists = 1;
    CHECK("a\n* b\nc", "a\nc");
    how.no_lists = 0;
}

Test(wikitext, tables)
{
    CHECK("a\n{| class=\"x\"\n! b\n|-\n| c || [[d|e]]\n|}\nf", "a\nf");
    CHECK("a\n{|\n|\n{|\n| b\n|}\n| c\n|}\nd", "a\nd");
    CHECK("a\n:{|\n| b\n|}\nc", "a\nc");
    CHECK("a <table><tr><td>b <table><tr><td>c</td></tr></table></td></tr></table> d", "a\nd");
    CHECK("a <table><tr><td>b</table> c", "a\nc");
    CHECK("a\n{|\n| b {{c|}}\n|}\nd", "a\nd");
    CHECK("a | b || c ! d", "a | b || c ! d");
}

Test(wikitext, what_tables_only_arrange_is_text)
{
    static const char columns[] = "a\n{| role=\"presentation\" class=\"multicol\"\n|\n* b\n* c\n"
                                  "| style=\"x\" |\n* d\n|}\ne";
    CHECK(columns, "a\nb\nc\nd\ne");
    CHECK("a\n{| class=\"x cquote\"\n| “\n| b c\n| ”\n|-\n| colspan=3 | — D\n|}\ne",
          "a\n“ b c ”\n— D\ne");
    CHECK("a\n{| role=\"presentation\"\n| b || c\n|}\nd", "a\nb c\nd");
    CHECK("a\n{| role=\"presentation\" class=\"wikitable\"\n| b\n|}\nc", "a\nc");
    CHECK("a\n{| class=\"multicol\"\n|\n{|\n| b\n|}\n|}\nc", "a\nc");
    CHECK(
        "a <table class='cquote'><tr><td>“</td><td>b c</td><td>”</td></tr><tr><td>— D</td></tr></table> e",
        "a\n“ b c ”\n— D\ne");
    CHECK(
        "<table class=multicol><tr><td>\n* a\n<table><tr><td>b</td></tr></table>\n</td></tr></table>c",
        "a\nc");
    CHECK("a\n{| class=\"multicol noprint\"\n| b\n|}\nc", "a\nc");
    CHECK("a\n{| class=\"multicol\"\n|\n<table><tr><td>b</td></tr></table>\n|}\nc", "a\nc");
    how.tables = 1;
    CHECK(columns, "a\nb\nc\nd\ne");
    CHECK("a <table class='cquote'><tr><td>“</td><td>b c</td></tr></table> e", "a\n“ b c\ne");
    how.tables = 0;
}

Test(wikitext, open_tables_end_at_a_blank_line_or_heading)
{
    CHECK("a\n{|\n| b\n| c\n\nd\n\ne", "a\nd\ne");
    CHECK("a\n{|\n| b\n== C ==\nd", "a\nC\nd");
    CHECK("a\n{|\n| b", "a");
    CHECK("a\n{|\n| b\n{|\n| c\n|}\n\nd", "a\nd");
}

Test(wikitext, holes_are_repaired)
{
    CHECK("Paris ({{IPA|x}}) is", "Paris is");
    CHECK("Paris ({{IPA|x}}, capital) is", "Paris (capital) is");
    CHECK("Paris (capital, {{IPA|x}}) is", "Paris (capital) is");
    CHECK("Paris ({{a}}; {{b}}, {{c}}), which", "Paris, which");
    CHECK("Paris {{a}}, which {{b}}.", "Paris, which.");
    CHECK("Paris, {{a}}, which", "Paris, which");
    CHECK("東京（{{lang|en|Tokyo}}、とうきょう）は", "東京（とうきょう）は");
    CHECK("東京（{{a}}）は", "東京は");
    CHECK("見《{{a}}》、〈{{b}}〉〔{{c}}、丁〕［甲，{{d}}］終", "見、〔丁〕［甲］終");
    CHECK("ពាក្យ {{a}}។ ߞߊ߲ ({{b}}߸ 1990)", "ពាក្យ។ ߞߊ߲ (1990)");
    CHECK("س ({{a}}، 1950) و {{b}}، ثم {{c}}؛ نص", "س (1950) و، ثم؛ نص");
    CHECK("文 {{a}}。文，{{b}}。 शब्द {{c}}।", "文。文。 शब्द।");
    CHECK("ई.पू.{{a}}। Apple Inc.<ref>b</ref>。文。<ref>c</ref>。", "ई.पू.। Apple Inc.。文。");
    CHECK("ቃል {{a}}፤ ሌላ ({{b}}፥ አ)። բառ {{a}}։ က ({{b}}၊ ခ)။", "ቃል፤ ሌላ (አ)። բառ։ က (ခ)။");
    CHECK("א ({{a}}\u200F) ב (ג: {{b}}\u200F) ד {{a}}\u200F.", "א ב (ג) ד.");
    CHECK("א {{a}} \u200Fב: {{a}} \u200EC\u200F<ref>d</ref>, ה", "א ב: C\u200F, ה");
    CHECK("main() and f(, x) stay", "main() and f(, x) stay");
    CHECK("a\n* {{b}},\nc", "a\nc");
    CHECK("* {{cite|a}}. See b.", "See b.");
    CHECK("a.<ref>b</ref>.<blockquote>c.<ref>d</ref>.</blockquote>", "a.\nc.");
}

Test(wikitext, headings_in_html)
{
    CHECK("<h2 id=\"a\">A\nb</h2>\n<h3>C</h3>\nd <H1>e</h1>", "A b\nC\nd");
    CHECK("a <h2>B</h2> c <h2></h2> d", "a\nB\nc\nd");
    CHECK("<h2>a\n\nb</h2> c</h3>\nd", "a\nb\nc\nd");
    CHECK("<h2>=a=</h2>\nb {{c|<h2>d}} e</h2> f", "=a=\nb e\nf");
    unwanted = language_sections("B", "en");
    CHECK("<h2>A</h2>\na\n<h2>B</h2>\nb", "A\na");
    free(unwanted);
    unwanted = NULL;
    how.tables = 1;
    CHECK("{|\n|\n== A ==\nb\n| <h2>c</h2>\n|}", "A b | c");
    how.tables = 0;
}

Test(wikitext, cells_with_links_have_no_attributes)
{
    how.tables = 1;
    CHECK("{|\n| [[a]] b | c\n|-\n| [[Category:D]] e | f\n|-\n| g=h | i\n|}\n[[Category:J]]\nk",
          "a b | c\ne | f\ni\nk");
    CHECK("{|\n! a!!b\n|-\n|c||d\n|}", "a | b\nc | d");
    CHECK("[[字]]\n文", "字文");
    how.tables = 0;
}

Test(wikitext, formulas_by_option)
{
    CHECK("a <math>x^2</math> b", "a b");
    how.formulas = 1;
    CHECK("a <math>\\frac{1}{x|y} ''</math> b<chem>H2</chem>", "a \\frac{1}{x|y} '' bH2");
    how.formulas = 0;
}

Test(wikitext, code_by_option)
{
    CHECK("a\n<syntaxhighlight lang=\"c\">\nint x;\ny = {{z}};\n</syntaxhighlight>\nb", "a\nb");
    how.code = 1;
    CHECK("a\n<syntaxhighlight lang=\"c\">\nint x;\ny = {{z}};\n</syntaxhighlight>\nb",
          "a\nint x;\ny = {{z}};\nb");
    CHECK("<source>\nf()\n{\n\n  }\n</source>", "f()\n{\n}");
    how.code = 0;
    CHECK("<pre>\n+--+\n| a\n+--+\n</pre>\n* <code>{</code>\n* {\n+", "+--+\n| a\n+--+\n{");
}

/* ---- sections ------------------------------------------------------------------------------ */

static const char sections[] = "A.\n== B ==\nb\n=== C ===\nc\n{|\n|x\n|}\n== ''D'' ==\n* d\n"
                               "=== E ===\n{{x}}e\n== References ==\nr\n=== F ===\nf\n== G ==\ng";

Test(wikitext, unwanted_sections)
{
    unwanted = language_sections("d,default", "en");
    CHECK(sections, "A.\nB\nb\nC\nc\nG\ng");
    free(unwanted);
    unwanted = language_sections("lead,C,G", "en");
    CHECK(sections, "B\nb\nD\nd\nE\ne\nReferences\nr\nF\nf");
    free(unwanted);
    unwanted = language_sections("default", "it");
    CHECK("== Note ==\na\n== References ==\nb", "References\nb");
    free(unwanted);
    unwanted = NULL;
}

Test(wikitext, wanted_sections)
{
    wanted = language_sections("lead,b", "en");
    CHECK(sections, "A.\nB\nb\nC\nc");
    free(wanted);
    wanted = language_sections("E", "en");
    unwanted = language_sections("C", "en");
    CHECK(sections, "E\ne");
    free(wanted);
    wanted = language_sections("B", "en");
    CHECK(sections, "B\nb");
    free(wanted);
    free(unwanted);
#define LONG "การเปลี่ยนแปลงทางประวัติศาสตร์และวัฒนธรรม" /* 41 letters in 123 bytes */
    wanted = language_sections(LONG, "th");
    unwanted = NULL;
    CHECK("a\n== " LONG " ==\nb\n== C ==\nc", LONG "\nb");
    free(wanted);
    wanted = NULL;
}

/* ---- disambiguation ------------------------------------------------------------------------ */

static int is_disambiguation(const char *text)
{
    return dump_disambiguates(text, strlen(text));
}

Test(wikitext, disambiguation)
{
    cr_expect(is_disambiguation("'''A''' may be\n* B\n{{Disambiguation|geo}}"));
    cr_expect(is_disambiguation("{{x}}{{ disambig }}"));
    cr_expect(is_disambiguation("{{Aimai}}"));
    cr_expect(is_disambiguation("a __DISAMBIG__"));
    cr_expect_not(
        is_disambiguation("{{other uses|a (disambiguation)}} {{disambiguated}} {{disambig"));
    cr_expect_not(is_disambiguation(""));
}

/* ---- the template hook -------------------------------------------------------------------- */

static int shout(void *ctx, const struct wikitext_call *call, struct buf *text)
{
    ++*(int *)ctx;
    if (!span_is(call->name, "shout"))
        return 0;
    for (size_t i = 0; i < call->count; i++) {
        span_put(call->arguments[i], text);
        buf_addc(text, '!');
    }
    return 1;
}

Test(wikitext, templates_can_be_rendered)
{
    int calls = 0;
    how.render = shout;
    how.render_ctx = &calls;
    CHECK("a {{shout|b|c [[d|e]]}} f", "a b!c e! f");
    cr_expect_eq(calls, 1);
    CHECK("{{shout|{{shout|a}}|{{drop|b|c}}d}} {{other|x}}.", "a!!d!.");
    CHECK("{{shout}} x {{{shout|y}}}", "x");
    CHECK("[[File:a.jpg|{{shout|b}}]] c", "c");
    how.render = NULL;
}

/* ---- time is linear ------------------------------------------------------------------------ */

static double seconds_for(const char *piece, size_t total)
{
    struct buf text = BUF_INIT;
    while (text.len < total)
        buf_adds(&text, piece);
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    clean_bytes(text.data, text.len);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    buf_release(&text);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

Test(wikitext, hostile_text_takes_linear_time)
{
    static const char *const pieces[] = {
        "{{",          "[[",           "[[a|",       "[[File:a|",   "}}",
        "]]",          "{|\n",         "|}\n",       "<ref>",       "<ref",
        "<!--",        "<nowiki>",     "<math>",     "</math>",     "'''''",
        "''a",         "[http://a ",   "-{",         "<table>",     "</table>",
        "&",           "&#",           "==\n",       "== a ==\n",   "{{a|",
        "{{a|[[b|",    "[[a|{{b|",     "(",          "({{a}}",      "{{a}},",
        "<ref>\n==\n", "[http://a -{", "\n\n",       ";a : b\n",    "__A",
        "[[[",         "<b",           "a {{b}} ",   "[[File:a|\n", "{{a\n[[File:b|c\n==d\n",
        "<poem>\n",    "{{{",          "-{a|[[b|",   "]",           "{",
        "</",          "<s>",          "*:#;",       "<!--\n",      "[<!--",
        "<div <!--",   "<b <ref ",     "<div <ref>", "<!---->",     "[<!---->",
    };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        double s = seconds_for(pieces[i], 1 << 20);
        cr_expect(s < 2.0, "1 MiB of \"%s\" took %.2f s", pieces[i], s);
    }
}

/* ---- names ------------------------------------------------------------------------------- */

Test(names, case_spaces_and_underscores_do_not_matter)
{
    cr_expect(names_equal(" User_talk ", 11, "user  talk", 10));
    cr_expect(names_equal("КАТЕГОРИЯ", 18, "категория", 18));
    cr_expect(names_equal("Ærø Ž", 9, "ærø ž", 9));
    cr_expect_not(names_equal("File", 4, "Fil", 3));
    cr_expect_not(names_equal("", 0, "", 0));
}

Test(names, case_of_any_script)
{
    static const char *const pairs[][2] = {
        { "THỂ LOẠI", "thể loại" },
        { "ΚΑΤΗΓΟΡΊΑ", "κατηγορία" },
        { "ԿԱՏԵԳՈՐԻԱ", "կատեգորիա" },
        { "ҚАТЫСУШЫ", "қатысушы" },
        { "𐐈𐐚", "𐐰𐑂" },
        { "Ⱥ", "ⱥ" },
        { "IŞIK VE İZMİR", "ışık ve izmir" },
        { "ΦΩΣ", "φως" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        cr_expect(names_equal(pairs[i][0], strlen(pairs[i][0]), pairs[i][1], strlen(pairs[i][1])),
                  "%s", pairs[i][0]);
    cr_expect_not(names_equal("ಚಿತ್ರ", 15, "ಚಿತ್", 12));
}

Test(names, titles_begin_with_a_capital_of_any_script)
{
    static const char *const titles[][2] = {
        { " éire _x", "Éire x" },
        { "ñ", "Ñ" },
        { "žemaitija", "Žemaitija" },
        { "ἀρχή", "Ἀρχή" },
        { "ⱥ", "Ⱥ" },
        { "ɐ", "Ɐ" },
        { "საქართველო", "საქართველო" },
        { "ßx", "ßx" },
        { "漢字", "漢字" },
    };
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        buf_clear(&b);
        names_add_title(&b, titles[i][0], strlen(titles[i][0]), 1);
        cr_expect_str_eq(b.data, titles[i][1]);
    }
    buf_release(&b);
}

Test(names, the_wikis_own_names_win)
{
    struct names *names = names_new(1);
    cr_expect_eq(names_find(names, "wikipedia", 9), NAMES_PROJECT);
    names_add(names, span_of("Wikipedia"), NAMES_PAGE);
    cr_expect_eq(names_find(names, "wikipedia", 9), NAMES_PAGE);
    cr_expect_eq(names_find(names, "FILE", 4), NAMES_FILE);
    cr_expect_eq(names_find(names, "Star Trek", 9), NAMES_NONE);
    names_free(names);
}

/* ---- Markdown ---------------------------------------------------------------------------- */

Test(wikitext, markdown)
{
    how.markdown = how.tables = how.code = how.formulas = 1;
    CHECK("a * 1\n\n== B # c ==\n1. d\n\n-5 e # &f & g; $h",
          "a \\* 1\n\n## B \\# c\n\n1\\. d\n\n\\-5 e # \\&f & g; \\$h");
    CHECK("* a\n** b\n*# c\n* d\ne\n# f\n:: g", "- a\n  - b\n  1. c\n- d\n\ne\n\n1. f\n\n   g");
    CHECK("* a<br>b\n** c", "- a\\\n  b\n  - c");
    CHECK("<blockquote>a\n\n<blockquote>b</blockquote>\nc</blockquote>\nd",
          "> a\n>\n> > b\n>\n> c\n\nd");
    CHECK("<blockquote>a.<ref>b</ref>.</blockquote>", "> a.");
    CHECK("<code>a</code> <code>`b</code> <code>c``d</code>", "`a` `` `b `` ```c``d```");
    CHECK("<code>a</code><code>`b</code><code></code>c <code></code>d", "``a`b``c d");
    CHECK("<code>1.\n\n1<code> . b</code> <code>\n\n</code># c<br>d</code>",
          "1\\.\n\n1` . b`\n\n\\# c\\\nd");
    CHECK("<pre>a<nowiki># b</nowiki> &amp;lt;</pre>", "```\na# b &lt;\n```");
    CHECK("<source>a<nowiki># b</nowiki> &lt;</source>", "```\na<nowiki># b</nowiki> &lt;\n```");
    CHECK("<syntaxhighlight lang=\"c\">\na ```` b\n\nc\n</syntaxhighlight>\nd",
          "`````c\na ```` b\n\nc\n`````\n\nd");
    CHECK("a <math>b\\ </math> c\n\n<math> d | e </math>\n\n<math>f</math> <math>g</math>",
          "a $b$ c\n\n$$d | e$$\n\n$f$ $g$");
    CHECK(
        "* a <pre>b</pre> c\n# d\n## <pre>e\nf</pre>; g\n<pre>h</pre>\n",
        "- a\n\n  ```\n  b\n  ```\n\n  c\n1. d\n   1. ```\n      e\n      f\n      ```\n\n      ; g\n\n"
        "```\nh\n```");
    CHECK("{|\n! a !! b\n|-\n| c<br>d || <code>e&#124;f</code>\n|-\n| g\n|}\nh",
          "| a | b |\n| --- | --- |\n| c d | `e\\|f` |\n| g |\n\nh");
    how.markdown = how.tables = how.code = how.formulas = 0;
}

/* ---- parts of pages -------------------------------------------------------------------------- */

static int render_nothing(void *, const struct wikitext_call *, struct buf *)
{
    return 0;
}

Test(wikitext, parts)
{
    static const struct {
        enum page_part part;
        const char *text, *json;
    } cases[] = {
        { PART_SECTIONS, "a\n== B \"c\" ==\n=== D ===\ne\n\nf\n== G ==",
          "{\"level\": 0, \"heading\": \"\", \"text\": \"a\"}, "
          "{\"level\": 2, \"heading\": \"B \\\"c\\\"\", \"text\": \"\"}, "
          "{\"level\": 3, \"heading\": \"D\", \"text\": \"e\\n\\nf\"}" },
        { PART_INFOBOXES, "{{A|b=1|c={{d}}|e=2|f=3|g=''4''}} {{A|b=1|c=2|d=3}}",
          "{\"name\": \"A\", \"values\": {\"b\": \"1\", \"e\": \"2\", \"f\": \"3\", \"g\": \"4\"}}" },
        { PART_INFOBOXES, "a {{A|b=1|c=2|d=3|e=4}}\n== F ==\n{{A|b=1|c=2|d=3|e=4}}", "" },
        { PART_TABLES,
          "{|\n|+ a\n! b !! c\n|-\n| <syntaxhighlight>d|é</syntaxhighlight> f || [[g|h]]\n|-\n| ||\n|}",
          "{\"caption\": \"a\", \"rows\": [[\"b\", \"c\"], [\"d|é f\", \"h\"]]}" },
        { PART_TABLES, "{| style=\"display:none\"\n| a\n|}", "" },
        { PART_LINKS, "[[b_c|''d'']] [[:File:E.jpg]] [[#F]] [[File:G.jpg|x y]] [[h]]s",
          "{\"target\": \"b c\", \"label\": \"d\"}, "
          "{\"target\": \"File:E.jpg\", \"label\": \"File:E.jpg\"}, "
          "{\"target\": \"#F\", \"label\": \"F\"}, {\"target\": \"h\", \"label\": \"h\"}" },
        { PART_EXTERNAL_LINKS, "[https://a/b?c=d&amp;e&#91;f&#93; g&lt;h] https://i [//j]",
          "{\"target\": \"https://a/b?c=d&e%5Bf%5D\", \"label\": \"g<h\"}, "
          "{\"target\": \"//j\", \"label\": \"\"}" },
        { PART_CAPTIONS,
          "[[File:A_b.jpg|thumb|200x100px|alt=c d|The ''e'' [[f|g]]]] [[Fails:H.jpg|i j|mini]]",
          "{\"file\": \"A b.jpg\", \"caption\": \"The e g\"}, "
          "{\"file\": \"H.jpg\", \"caption\": \"i j\"}" },
        { PART_CAPTIONS, "[[File:A.jpg|Moon]] [[File:B.jpg|C d|E=mc2]] [[File:F.jpg|left|Ж]]",
          "{\"file\": \"A.jpg\", \"caption\": \"Moon\"}, {\"file\": \"B.jpg\", \"caption\": "
          "\"E=mc2\"}, {\"file\": \"F.jpg\", \"caption\": \"Ж\"}" },
        { PART_CAPTIONS,
          "[[File:A.jpg]] [[File:A.jpg|]] [[File:A.jpg|thumb|upright 1.2]] [[File:A.jpg|x|alt=y z]]",
          "" },
        { PART_CAPTIONS, "<gallery>\nFile:A.jpg|moon\nFile:B.jpg\n</gallery>",
          "{\"file\": \"A.jpg\", \"caption\": \"moon\"}" },
        { PART_REFERENCES,
          "a<ref name=\"b&amp;c\">d [https://e f]</ref><ref name=g/><ref> </ref><ref>{{j}}</ref><ref>{{h|i=1}}</ref>",
          "{\"name\": \"b&c\", \"text\": \"d f\", \"links\": [{\"target\": \"https://e\", \"label\": "
          "\"f\"}], \"templates\": []}, {\"name\": \"\", \"text\": \"\", \"links\": [], \"templates\": "
          "[{\"name\": \"h\", \"values\": {\"i\": \"1\"}}]}" },
    };
    struct page_parts parts;
    page_parts_each(&parts, buf_init);
    how.parts = &parts;
    how.render = render_nothing;
    how.code = how.markdown = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct buf *json = &parts.json[cases[i].part];
        how.wanted = 1u << cases[i].part;
        page_parts_each(&parts, buf_clear);
        clean(cases[i].text);
        cr_expect_str_eq(json->len ? json->data : "", cases[i].json, "%s:\n%s", cases[i].text,
                         json->data);
    }
    page_parts_each(&parts, buf_release);
}

Test(wikitext, links_to_subpages)
{
    const struct template_page page = { .title = "A/B/C" };
    how.page = &page;
    CHECK("[[../]] [[../../]] [[../D]] [[../../E f]] [[../#g]]", "A/B A A/B/D A/E f A/B#g");
    CHECK("[[../D/]] [[/E/]] [[/F g//]] [[../H|i]]", "D E F g i");
    CHECK("[[/D]] [[/E#f/]] [[/]] [[//]] [[..]] [[../..]]", "/D /E#f/ / // .. ../..");
    CHECK("[[../../../]] [[../../../D]]", "../../../ ../../../D");
}
