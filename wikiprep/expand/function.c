/* The table of parser functions and magic words of functions.h, and the search for a name in it. */

#include "common/base/order.h"
#include "wikiprep/expand/functions.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/number.h"

enum { NAME_MAX_BYTES = 32 };

enum {
    WIKI_NAME,
    WIKI_LANGUAGE,
    WIKI_SERVER,
    WIKI_HOST,
    WIKI_MARK,
    WIKI_ARTICLES,
    WIKI_PAGES,
    PAGE_ID,
    REVISION_ID
};

/* {{NUMBEROFARTICLES}}; {{NUMBEROFARTICLES:R}} has digits alone. */
static void function_wiki_count(struct expander *x, struct function_call *c)
{
    const uint64_t n = c->which == WIKI_PAGES ? x->facts->pages : x->facts->articles;
    SCOPED(buf) digits = buf_format("%llu", (unsigned long long)n);
    if (c->first.n == 1 && *c->first.s == 'R')
        span_put(span_of_buf(&digits), &x->out);
    else
        number_show(span_of_buf(&digits), x->site->lang.data, &x->out);
}

/* Where the value of a magic word without an argument comes from. */
enum word_kind { NO_WORD, WORD_TEXT, WORD_TITLE, WORD_NOW, WORD_REVISION_TIME, WORD_WIKI };

/* A parser function, {{name:first|second}}, or a magic word, {{name}}, or both. The rows are sorted
 * by name. A name in lower case matches in any case; a name in capitals only exactly. The section
 * [words] of wikiprep/languages/common has further names for these rows. */
/* clang-format off */
#define TITLE(name, part)                              \
    { name, function_title, part, WORD_TITLE, 0 },     \
    { name "E", function_title, part | TITLE_ENCODED, WORD_TITLE, 0 }
static const struct row {
    const char *name;
    parser_function *run; /* NULL: not a function */
    int which;            /* variant of the function, TITLE_ or WIKI_ value; WORD_NOW: 1 drops a leading zero */
    enum word_kind kind;  /* NO_WORD: not a word */
    const char *text;     /* the text of a WORD_TEXT, or the format of a time */
} rows[] = {
    { "!", 0, 0, WORD_TEXT, "|" }, { "#bcp47", function_bcp47, 0, 0, 0 },
    { "#contentmodel", function_contentmodel, 0, WORD_TEXT, "wikitext" }, { "#count", function_count, 0, 0, 0 },
    { "#dir", function_dir, 0, 0, 0 }, { "#explode", function_explode, 0, 0, 0 },
    { "#expr", function_expr, 0, 0, 0 }, { "#formatdate", function_formatdate, 0, 0, 0 },
    { "#if", function_if, 0, 0, 0 }, { "#ifeq", function_ifeq, 0, 0, 0 }, { "#iferror", function_iferror, 0, 0, 0 },
    { "#ifexist", function_ifexist, 0, 0, 0 }, { "#ifexpr", function_ifexpr, 0, 0, 0 },
    { "#invoke", function_invoke, 0, 0, 0 }, { "#isbn", function_isbn, 0, 0, 0 },
    { "#language", function_language, 0, 0, 0 }, { "#len", function_len, 0, 0, 0 },
    { "#lst", function_lst, LST_NAMED, 0, 0 }, { "#lsth", function_lst, LST_HEADING, 0, 0 },
    { "#lstx", function_lst, LST_WITHOUT, 0, 0 }, { "#pos", function_pos, 0, 0, 0 },
    { "#property", function_nothing, 0, 0, 0 }, { "#rel2abs", function_rel2abs, 0, 0, 0 },
    { "#replace", function_replace, 0, 0, 0 }, { "#rpos", function_rpos, 0, 0, 0 },
    { "#special", function_special, 0, 0, 0 }, { "#speciale", function_special, 1, 0, 0 },
    { "#sub", function_sub, 0, 0, 0 }, { "#switch", function_switch, 0, 0, 0 }, { "#tag", function_tag, 0, 0, 0 },
    { "#time", function_time, 0, 0, 0 }, { "#titleparts", function_titleparts, 0, 0, 0 },
    { "#urldecode", function_urldecode, 0, 0, 0 }, { "=", 0, 0, WORD_TEXT, "=" }, TITLE("BASEPAGENAME", TITLE_BASE),
    { "CONTENTLANGUAGE", 0, WIKI_LANGUAGE, WORD_WIKI, 0 }, { "CURRENTDAY", 0, 0, WORD_NOW, "j" },
    { "CURRENTDAY2", 0, 0, WORD_NOW, "d" }, { "CURRENTDAYNAME", 0, 0, WORD_NOW, "l" },
    { "CURRENTDOW", 0, 0, WORD_NOW, "w" }, { "CURRENTHOUR", 0, 0, WORD_NOW, "H" },
    { "CURRENTMONTH", 0, 0, WORD_NOW, "m" }, { "CURRENTMONTH1", 0, 0, WORD_NOW, "n" },
    { "CURRENTMONTHABBREV", 0, 0, WORD_NOW, "M" }, { "CURRENTMONTHNAME", 0, 0, WORD_NOW, "F" },
    { "CURRENTMONTHNAMEGEN", 0, 0, WORD_NOW, "xg" }, { "CURRENTTIME", 0, 0, WORD_NOW, "H:i" },
    { "CURRENTTIMESTAMP", 0, 0, WORD_NOW, "xNYmdHis" }, { "CURRENTVERSION", 0, 0, WORD_TEXT, "1.39.0" },
    { "CURRENTWEEK", 0, 1, WORD_NOW, "W" }, { "CURRENTYEAR", 0, 0, WORD_NOW, "Y" },
    { "DEFAULTSORT", function_nothing, 0, 0, 0 }, { "DIRECTIONMARK", 0, WIKI_MARK, WORD_WIKI, 0 },
    TITLE("FULLPAGENAME", TITLE_FULL), TITLE("NAMESPACE", TITLE_NAMESPACE),
    { "NAMESPACENUMBER", function_title, TITLE_NAMESPACE_NUMBER, WORD_TITLE, 0 },
    { "NUMBEROFARTICLES", function_wiki_count, WIKI_ARTICLES, WORD_WIKI, 0 },
    { "NUMBEROFEDITS", function_zero, 0, WORD_TEXT, "0" },
    { "NUMBEROFPAGES", function_wiki_count, WIKI_PAGES, WORD_WIKI, 0 },
    { "PAGEID", function_zero, PAGE_ID, WORD_WIKI, 0 }, TITLE("PAGENAME", TITLE_PAGE),
    { "PAGESIZE", function_zero, 0, 0, 0 }, { "REVISIONDAY", 0, 0, WORD_REVISION_TIME, "j" },
    { "REVISIONDAY2", 0, 0, WORD_REVISION_TIME, "d" },
    { "REVISIONID", function_nothing, REVISION_ID, WORD_WIKI, 0 },
    { "REVISIONMONTH", 0, 0, WORD_REVISION_TIME, "m" }, { "REVISIONMONTH1", 0, 0, WORD_REVISION_TIME, "n" },
    { "REVISIONSIZE", 0, 0, WORD_TEXT, "0" }, { "REVISIONTIMESTAMP", 0, 0, WORD_REVISION_TIME, "YmdHis" },
    { "REVISIONUSER", function_nothing, 0, WORD_TEXT, "" }, { "REVISIONYEAR", 0, 0, WORD_REVISION_TIME, "Y" },
    TITLE("ROOTPAGENAME", TITLE_ROOT), { "SITENAME", 0, WIKI_NAME, WORD_WIKI, 0 },
    TITLE("SUBJECTPAGENAME", TITLE_SUBJECT), TITLE("SUBJECTSPACE", TITLE_SUBJECT_SPACE),
    TITLE("SUBPAGENAME", TITLE_SUB), TITLE("TALKPAGENAME", TITLE_TALK), TITLE("TALKSPACE", TITLE_TALK_SPACE),
    { "anchorencode", function_anchorencode, 0, 0, 0 }, { "articlepath", 0, 0, WORD_TEXT, "/wiki/$1" },
    { "bidi", function_first, 0, 0, 0 }, { "canonicalurl", function_url, URL_CANONICAL, 0, 0 },
    { "canonicalurle", function_url, URL_CANONICAL | URL_HTML, 0, 0 }, { "formatnum", function_formatnum, 0, 0, 0 },
    { "fullurl", function_url, URL_FULL, 0, 0 }, { "fullurle", function_url, URL_FULL | URL_HTML, 0, 0 },
    { "gender", function_gender, 0, 0, 0 }, { "grammar", function_grammar, 0, 0, 0 },
    { "int", function_int, 0, 0, 0 }, { "lc", function_case, TEXT_LOWER, 0, 0 },
    { "lcfirst", function_case, TEXT_LOWER_FIRST, 0, 0 }, { "localurl", function_url, URL_LOCAL, 0, 0 },
    { "localurle", function_url, URL_LOCAL | URL_HTML, 0, 0 },
    { "noexternallanglinks", function_nothing, 0, WORD_TEXT, "" }, { "ns", function_ns, 0, 0, 0 },
    { "nse", function_ns, 1, 0, 0 }, { "padleft", function_pad, PAD_LEFT, 0, 0 },
    { "padright", function_pad, PAD_RIGHT, 0, 0 }, { "plural", function_plural, 0, 0, 0 },
    { "scriptpath", 0, 0, WORD_TEXT, "/w" }, { "server", 0, WIKI_SERVER, WORD_WIKI, 0 },
    { "servername", 0, WIKI_HOST, WORD_WIKI, 0 }, { "stylepath", 0, 0, WORD_TEXT, "/w/skins" },
    { "uc", function_case, TEXT_UPPER, 0, 0 }, { "ucfirst", function_case, TEXT_UPPER_FIRST, 0, 0 },
    { "urlencode", function_urlencode, 0, 0, 0 },
};
#undef TITLE
/* clang-format on */

static void put_server(struct expander *x, int with_scheme)
{
    const char *s = strstr(x->site->base.data, "//");
    if (!s)
        return;
    s += with_scheme ? 0 : 2;
    size_t n = 2 * (size_t)with_scheme;
    expand_put(x, (struct span){ s, n + strcspn(s + n, "/") });
}

static void put_wiki(struct expander *x, int which)
{
    const struct span lang = span_of(x->site->lang.data);
    switch (which) {
    case WIKI_NAME: expand_puts(x, x->site->name.data); break;
    case WIKI_LANGUAGE: expand_put(x, lang); break;
    case WIKI_SERVER: put_server(x, 1); break;
    case WIKI_HOST: put_server(x, 0); break;
    case WIKI_MARK:
        expand_puts(x, span_in(lang, knowledge_find("directions", "", "left")) ? "\xE2\x80\x8F"
                                                                               : "\xE2\x80\x8E");
        break;
    case WIKI_ARTICLES:
    case WIKI_PAGES: function_wiki_count(x, &(struct function_call){ .which = which }); break;
    default:
        x->special++;
        expand_puts(x, which == PAGE_ID ? x->page->id : x->page->revid);
        break;
    }
}

/* Appends the current time in the word's format. With w->which, drops a leading zero. */
static void put_now(struct expander *x, const struct row *w)
{
    size_t mark = x->out.len;
    function_put_time(x, w->text, x->facts->date.data);
    if (w->which && x->out.len > mark && x->out.data[mark] == '0')
        buf_cut(&x->out, mark, mark + 1);
}

static char *lower(char *key)
{
    for (char *s = key; *s; s++)
        *s = *s >= 'A' && *s <= 'Z' ? (char)(*s | 0x20) : *s;
    return key;
}

/* Returns the row of the function (is_function 1) or magic word (0) with this English name; or
 * NULL. */
static const struct row *find_english(const char *key, int is_function)
{
    const struct row *r = bsearch(&key, rows, sizeof rows / sizeof *rows, sizeof *rows,
                                  order_texts);
    return r && (is_function ? r->run != NULL : r->kind != NO_WORD) ? r : NULL;
}

/* Returns the row of a function (is_function 1) or magic word (0), or NULL. Tries the name itself,
 * then in lower case, then the English word that magic_find gives for it. */
static const struct row *find_row(const struct expander *x, struct span name, int is_function)
{
    char key[NAME_MAX_BYTES];
    const struct row *found = NULL;
    if (span_copy(name, key, sizeof key) && !(found = find_english(key, is_function)))
        found = find_english(lower(key), is_function);
    const char *english = found ? NULL : magic_find(x->facts->magic, name.s, name.n);
    return english ? find_english(english, is_function) : found;
}

int function_variable(struct expander *x, struct span name)
{
    const struct row *w = find_row(x, name, 0);
    if (!w)
        return 0;
    switch (w->kind) {
    case NO_WORD:
    case WORD_TEXT: expand_puts(x, w->text); break;
    case WORD_NOW: put_now(x, w); break;
    case WORD_WIKI: put_wiki(x, w->which); break;
    case WORD_TITLE:
        x->special++;
        function_put_title(x, &x->title, w->which);
        break;
    case WORD_REVISION_TIME:
        x->special++;
        function_put_time(x, w->text, x->page->timestamp);
        break;
    }
    return 1;
}

int function_run(struct expander *x, struct span name, struct function_call *c)
{
    const struct row *r = find_row(x, name, 1);
    if (!r)
        return 0;
    c->which = r->which;
    r->run(x, c);
    return !c->is_refused;
}
