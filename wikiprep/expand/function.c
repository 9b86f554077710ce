/* The tables of parser functions and magic words of functions.h, and the search for a name in them.
 */
#include <stdlib.h>
#include <string.h>

#include "wikiprep/expand/functions.h"
#include "wikiprep/values/number.h"

enum { NAME_MAX_BYTES = 32 };

enum {
    WIKI_NAME,
    WIKI_LANGUAGE,
    WIKI_SERVER,
    WIKI_HOST,
    WIKI_ARTICLES,
    WIKI_PAGES,
    PAGE_ID,
    REVISION_ID
};

static int function_wiki_count(struct expander *x, const struct function_call *c, int which);

/* ---- functions ------------------------------------------------------------------------------- */

/* Sorted by name. A name in lower case matches in any case; a name in capitals only exactly. */
/* clang-format off */
static const struct function {
    const char *name;
    parser_function run;
    int which;
} functions[] = {
    { "#assessment", function_nothing, 0 }, { "#babel", function_nothing, 0 },
    { "#categorytree", function_nothing, 0 }, { "#coordinates", function_nothing, 0 },
    { "#count", function_count, 0 }, { "#dateformat", function_formatdate, 0 },
    { "#explode", function_explode, 0 }, { "#expr", function_expr, 0 },
    { "#formatdate", function_formatdate, 0 }, { "#if", function_if, 0 },
    { "#ifeq", function_ifeq, 0 }, { "#iferror", function_iferror, 0 },
    { "#ifexist", function_ifexist, 0 }, { "#ifexpr", function_ifexpr, 0 },
    { "#invoke", function_invoke, 0 }, { "#language", function_language, 0 },
    { "#len", function_len, 0 }, { "#lst", function_nothing, 0 }, { "#lsth", function_nothing, 0 },
    { "#lstx", function_nothing, 0 }, { "#parsoidfragment", function_nothing, 0 },
    { "#pos", function_pos, 0 }, { "#property", function_nothing, 0 },
    { "#rel2abs", function_rel2abs, 0 }, { "#replace", function_replace, 0 },
    { "#rpos", function_rpos, 0 }, { "#section", function_nothing, 0 },
    { "#section-h", function_nothing, 0 }, { "#section-x", function_nothing, 0 },
    { "#special", function_special, 0 }, { "#speciale", function_special, 1 },
    { "#statements", function_nothing, 0 }, { "#sub", function_sub, 0 },
    { "#switch", function_switch, 0 }, { "#tag", function_tag, 0 }, { "#time", function_time, 0 },
    { "#timel", function_time, 0 }, { "#titleparts", function_titleparts, 0 },
    { "#urldecode", function_urldecode, 0 },
    { "ARTICLEPAGENAME", function_title, TITLE_SUBJECT },
    { "ARTICLEPAGENAMEE", function_title, TITLE_SUBJECT | TITLE_ENCODED },
    { "ARTICLESPACE", function_title, TITLE_SUBJECT_SPACE },
    { "ARTICLESPACEE", function_title, TITLE_SUBJECT_SPACE | TITLE_ENCODED },
    { "BASEPAGENAME", function_title, TITLE_BASE },
    { "BASEPAGENAMEE", function_title, TITLE_BASE | TITLE_ENCODED },
    { "CASCADINGSOURCES", function_nothing, 0 }, { "DEFAULTCATEGORYSORT", function_nothing, 0 },
    { "DEFAULTSORT", function_nothing, 0 }, { "DEFAULTSORTKEY", function_nothing, 0 },
    { "DISPLAYTITLE", function_nothing, 0 }, { "FULLPAGENAME", function_title, TITLE_FULL },
    { "FULLPAGENAMEE", function_title, TITLE_FULL | TITLE_ENCODED },
    { "NAMESPACE", function_title, TITLE_NAMESPACE },
    { "NAMESPACEE", function_title, TITLE_NAMESPACE | TITLE_ENCODED },
    { "NAMESPACENUMBER", function_title, TITLE_NAMESPACE_NUMBER },
    { "NUMBERINGROUP", function_zero, 0 }, { "NUMBEROFACTIVEUSERS", function_zero, 0 },
    { "NUMBEROFADMINS", function_zero, 0 },
    { "NUMBEROFARTICLES", function_wiki_count, WIKI_ARTICLES },
    { "NUMBEROFEDITS", function_zero, 0 }, { "NUMBEROFFILES", function_zero, 0 },
    { "NUMBEROFPAGES", function_wiki_count, WIKI_PAGES }, { "NUMBEROFUSERS", function_zero, 0 },
    { "NUMINGROUP", function_zero, 0 },
    { "PAGEID", function_zero, 0 }, { "PAGENAME", function_title, TITLE_PAGE },
    { "PAGENAMEE", function_title, TITLE_PAGE | TITLE_ENCODED },
    { "PAGESINCAT", function_zero, 0 }, { "PAGESINCATEGORY", function_zero, 0 },
    { "PAGESINNAMESPACE", function_zero, 0 }, { "PAGESINNS", function_zero, 0 },
    { "PAGESIZE", function_zero, 0 }, { "PROTECTIONEXPIRY", function_nothing, 0 },
    { "PROTECTIONLEVEL", function_nothing, 0 }, { "REVISIONID", function_nothing, 0 },
    { "REVISIONUSER", function_nothing, 0 }, { "ROOTPAGENAME", function_title, TITLE_ROOT },
    { "ROOTPAGENAMEE", function_title, TITLE_ROOT | TITLE_ENCODED },
    { "SUBJECTPAGENAME", function_title, TITLE_SUBJECT },
    { "SUBJECTPAGENAMEE", function_title, TITLE_SUBJECT | TITLE_ENCODED },
    { "SUBJECTSPACE", function_title, TITLE_SUBJECT_SPACE },
    { "SUBJECTSPACEE", function_title, TITLE_SUBJECT_SPACE | TITLE_ENCODED },
    { "SUBPAGENAME", function_title, TITLE_SUB },
    { "SUBPAGENAMEE", function_title, TITLE_SUB | TITLE_ENCODED },
    { "TALKPAGENAME", function_title, TITLE_TALK },
    { "TALKPAGENAMEE", function_title, TITLE_TALK | TITLE_ENCODED },
    { "TALKSPACE", function_title, TITLE_TALK_SPACE },
    { "TALKSPACEE", function_title, TITLE_TALK_SPACE | TITLE_ENCODED },
    { "anchorencode", function_anchorencode, 0 }, { "bidi", function_first, 0 },
    { "canonicalurl", function_url, URL_CANONICAL },
    { "canonicalurle", function_url, URL_CANONICAL | URL_HTML }, { "filepath", function_nothing, 0 },
    { "formatnum", function_formatnum, 0 }, { "fullurl", function_url, URL_FULL },
    { "fullurle", function_url, URL_FULL | URL_HTML }, { "gender", function_gender, 0 },
    { "grammar", function_grammar, 0 }, { "int", function_int, 0 },
    { "lc", function_case, TEXT_LOWER }, { "lcfirst", function_case, TEXT_LOWER_FIRST },
    { "localurl", function_url, URL_LOCAL }, { "localurle", function_url, URL_LOCAL | URL_HTML },
    { "noexternallanglinks", function_nothing, 0 }, { "ns", function_ns, 0 },
    { "nse", function_ns, 1 }, { "padleft", function_pad, PAD_LEFT },
    { "padright", function_pad, PAD_RIGHT }, { "plural", function_plural, 0 },
    { "uc", function_case, TEXT_UPPER }, { "ucfirst", function_case, TEXT_UPPER_FIRST },
    { "urlencode", function_urlencode, 0 },
};

/* ---- magic words ---------------------------------------------------------------------------- */

enum word_kind { WORD_TEXT, WORD_TITLE, WORD_NOW, WORD_REVISION_TIME, WORD_WIKI };

/* Sorted by name. Names match as in `functions`. */
static const struct word {
    const char *name;
    enum word_kind kind;
    int which;        /* part of the title or wiki; NOW: drop a leading zero */
    const char *text; /* the text, or the format of a time */
} words[] = {
    { "!", WORD_TEXT, 0, "|" }, { "=", WORD_TEXT, 0, "=" },
    { "ARTICLEPAGENAME", WORD_TITLE, TITLE_SUBJECT, 0 },
    { "ARTICLEPAGENAMEE", WORD_TITLE, TITLE_SUBJECT | TITLE_ENCODED, 0 },
    { "ARTICLESPACE", WORD_TITLE, TITLE_SUBJECT_SPACE, 0 },
    { "BASEPAGENAME", WORD_TITLE, TITLE_BASE, 0 },
    { "BASEPAGENAMEE", WORD_TITLE, TITLE_BASE | TITLE_ENCODED, 0 },
    { "CASCADINGSOURCES", WORD_TEXT, 0, "" }, { "CONTENTLANG", WORD_WIKI, WIKI_LANGUAGE, 0 },
    { "CONTENTLANGUAGE", WORD_WIKI, WIKI_LANGUAGE, 0 }, { "CURRENTDAY", WORD_NOW, 0, "j" },
    { "CURRENTDAY2", WORD_NOW, 0, "d" }, { "CURRENTDAYNAME", WORD_NOW, 0, "l" },
    { "CURRENTDOW", WORD_NOW, 0, "w" }, { "CURRENTHOUR", WORD_NOW, 0, "H" },
    { "CURRENTMONTH", WORD_NOW, 0, "m" }, { "CURRENTMONTH1", WORD_NOW, 0, "n" },
    { "CURRENTMONTH2", WORD_NOW, 0, "m" }, { "CURRENTMONTHABBREV", WORD_NOW, 0, "M" },
    { "CURRENTMONTHNAME", WORD_NOW, 0, "F" }, { "CURRENTMONTHNAMEGEN", WORD_NOW, 0, "xg" },
    { "CURRENTTIME", WORD_NOW, 0, "H:i" }, { "CURRENTTIMESTAMP", WORD_NOW, 0, "xNYmdHis" },
    { "CURRENTVERSION", WORD_TEXT, 0, "1.39.0" }, { "CURRENTWEEK", WORD_NOW, 1, "W" },
    { "CURRENTYEAR", WORD_NOW, 0, "Y" }, { "DIRECTIONMARK", WORD_TEXT, 0, "\xE2\x80\x8E" },
    { "DIRMARK", WORD_TEXT, 0, "\xE2\x80\x8E" }, { "FULLPAGENAME", WORD_TITLE, TITLE_FULL, 0 },
    { "FULLPAGENAMEE", WORD_TITLE, TITLE_FULL | TITLE_ENCODED, 0 },
    { "LOCALDAY", WORD_NOW, 0, "j" }, { "LOCALDAY2", WORD_NOW, 0, "d" },
    { "LOCALDAYNAME", WORD_NOW, 0, "l" }, { "LOCALDOW", WORD_NOW, 0, "w" },
    { "LOCALHOUR", WORD_NOW, 0, "H" }, { "LOCALMONTH", WORD_NOW, 0, "m" },
    { "LOCALMONTH1", WORD_NOW, 0, "n" }, { "LOCALMONTH2", WORD_NOW, 0, "m" },
    { "LOCALMONTHABBREV", WORD_NOW, 0, "M" }, { "LOCALMONTHNAME", WORD_NOW, 0, "F" },
    { "LOCALMONTHNAMEGEN", WORD_NOW, 0, "xg" }, { "LOCALTIME", WORD_NOW, 0, "H:i" },
    { "LOCALTIMESTAMP", WORD_NOW, 0, "xNYmdHis" }, { "LOCALWEEK", WORD_NOW, 1, "W" },
    { "LOCALYEAR", WORD_NOW, 0, "Y" }, { "NAMESPACE", WORD_TITLE, TITLE_NAMESPACE, 0 },
    { "NAMESPACEE", WORD_TITLE, TITLE_NAMESPACE | TITLE_ENCODED, 0 },
    { "NAMESPACENUMBER", WORD_TITLE, TITLE_NAMESPACE_NUMBER, 0 },
    { "NUMBEROFACTIVEUSERS", WORD_TEXT, 0, "0" }, { "NUMBEROFADMINS", WORD_TEXT, 0, "0" },
    { "NUMBEROFARTICLES", WORD_WIKI, WIKI_ARTICLES, 0 }, { "NUMBEROFEDITS", WORD_TEXT, 0, "0" },
    { "NUMBEROFFILES", WORD_TEXT, 0, "0" }, { "NUMBEROFPAGES", WORD_WIKI, WIKI_PAGES, 0 },
    { "NUMBEROFUSERS", WORD_TEXT, 0, "0" }, { "PAGEID", WORD_WIKI, PAGE_ID, 0 },
    { "PAGELANGUAGE", WORD_WIKI, WIKI_LANGUAGE, 0 }, { "PAGENAME", WORD_TITLE, TITLE_PAGE, 0 },
    { "PAGENAMEE", WORD_TITLE, TITLE_PAGE | TITLE_ENCODED, 0 },
    { "REVISIONDAY", WORD_REVISION_TIME, 0, "j" }, { "REVISIONDAY2", WORD_REVISION_TIME, 0, "d" },
    { "REVISIONID", WORD_WIKI, REVISION_ID, 0 }, { "REVISIONMONTH", WORD_REVISION_TIME, 0, "m" },
    { "REVISIONMONTH1", WORD_REVISION_TIME, 0, "n" }, { "REVISIONSIZE", WORD_TEXT, 0, "0" },
    { "REVISIONTIMESTAMP", WORD_REVISION_TIME, 0, "YmdHis" },
    { "REVISIONUSER", WORD_TEXT, 0, "" }, { "REVISIONYEAR", WORD_REVISION_TIME, 0, "Y" },
    { "ROOTPAGENAME", WORD_TITLE, TITLE_ROOT, 0 },
    { "ROOTPAGENAMEE", WORD_TITLE, TITLE_ROOT | TITLE_ENCODED, 0 },
    { "SITENAME", WORD_WIKI, WIKI_NAME, 0 },
    { "SUBJECTPAGENAME", WORD_TITLE, TITLE_SUBJECT, 0 },
    { "SUBJECTPAGENAMEE", WORD_TITLE, TITLE_SUBJECT | TITLE_ENCODED, 0 },
    { "SUBJECTSPACE", WORD_TITLE, TITLE_SUBJECT_SPACE, 0 },
    { "SUBJECTSPACEE", WORD_TITLE, TITLE_SUBJECT_SPACE | TITLE_ENCODED, 0 },
    { "SUBPAGENAME", WORD_TITLE, TITLE_SUB, 0 },
    { "SUBPAGENAMEE", WORD_TITLE, TITLE_SUB | TITLE_ENCODED, 0 },
    { "TALKPAGENAME", WORD_TITLE, TITLE_TALK, 0 },
    { "TALKPAGENAMEE", WORD_TITLE, TITLE_TALK | TITLE_ENCODED, 0 },
    { "TALKSPACE", WORD_TITLE, TITLE_TALK_SPACE, 0 },
    { "TALKSPACEE", WORD_TITLE, TITLE_TALK_SPACE | TITLE_ENCODED, 0 },
    { "articlepath", WORD_TEXT, 0, "/wiki/$1" }, { "noexternallanglinks", WORD_TEXT, 0, "" },
    { "scriptpath", WORD_TEXT, 0, "/w" }, { "server", WORD_WIKI, WIKI_SERVER, 0 },
    { "servername", WORD_WIKI, WIKI_HOST, 0 }, { "stylepath", WORD_TEXT, 0, "/w/skins" },
};
/* clang-format on */

static void put_count(struct expander *x, uint64_t n)
{
    struct buf b = BUF_INIT;
    struct number_style style = number_style(x->site->lang.data);
    buf_addf(&b, "%llu", (unsigned long long)n);
    number_format((struct span){ b.data, b.len }, &style, &x->out);
    buf_release(&b);
}

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
    switch (which) {
    case WIKI_NAME: expand_puts(x, x->site->name.data); break;
    case WIKI_LANGUAGE: expand_puts(x, x->site->lang.data); break;
    case WIKI_SERVER: put_server(x, 1); break;
    case WIKI_HOST: put_server(x, 0); break;
    case WIKI_ARTICLES: put_count(x, library_articles(x->library)); break;
    case WIKI_PAGES: put_count(x, library_pages(x->library)); break;
    case PAGE_ID:
        x->special++;
        expand_puts(x, x->page->id);
        break;
    default:
        x->special++;
        expand_puts(x, x->page->revid);
        break;
    }
}

/* Appends the current time in the word's format. With w->which, drops a leading zero. */
static void put_now(struct expander *x, const struct word *w)
{
    size_t mark = x->out.len;
    function_put_time(x, w->text, library_date(x->library));
    if (w->which && x->out.len > mark && x->out.data[mark] == '0') {
        memmove(x->out.data + mark, x->out.data + mark + 1, x->out.len - mark - 1);
        buf_truncate(&x->out, x->out.len - 1);
    }
}

/* {{NUMBEROFARTICLES:R}} */
static int function_wiki_count(struct expander *x, const struct function_call *c, int which)
{
    uint64_t n = which == WIKI_PAGES ? library_pages(x->library) : library_articles(x->library);
    if (c->first.n == 1 && *c->first.s == 'R')
        buf_addf(&x->out, "%llu", (unsigned long long)n);
    else
        put_count(x, n);
    return 1;
}

static int compare_word(const void *key, const void *item)
{
    return strcmp(key, ((const struct word *)item)->name);
}

static const void *find_english_word(const char *key)
{
    return bsearch(key, words, sizeof words / sizeof *words, sizeof *words, compare_word);
}

/* Copies the name to `key`, with a NUL. Returns 1, or 0 if it is empty or too long. */
static int copy_name(char key[NAME_MAX_BYTES], struct span name)
{
    if (!name.n || name.n >= NAME_MAX_BYTES)
        return 0;
    memcpy(key, name.s, name.n);
    key[name.n] = '\0';
    return 1;
}

static char *lower(char *key)
{
    for (char *s = key; *s; s++)
        *s = *s >= 'A' && *s <= 'Z' ? (char)(*s | 0x20) : *s;
    return key;
}

/* Looks up a name with `find`, which knows English names and returns NULL for others. Tries the
 * name itself, then the name in lower case, then its translation from the wiki's language. Returns
 * what `find` returned. */
static const void *find_name(const struct expander *x, struct span name,
                             const void *find(const char *key))
{
    char key[NAME_MAX_BYTES];
    const void *found = NULL;
    if (copy_name(key, name) && !(found = find(key)))
        found = find(lower(key));
    const char *english = found ? NULL : magic_find(x->magic, name.s, name.n);
    return english ? find(english) : found;
}

int function_variable(struct expander *x, struct span name)
{
    const struct word *w = find_name(x, name, find_english_word);
    if (!w)
        return 0;
    switch (w->kind) {
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

static int compare_function(const void *key, const void *item)
{
    return strcmp(key, ((const struct function *)item)->name);
}

static const void *find_english_function(const char *key)
{
    return bsearch(key, functions, sizeof functions / sizeof *functions, sizeof *functions,
                   compare_function);
}

int function_run(struct expander *x, struct span name, const struct function_call *c)
{
    const struct function *f = find_name(x, name, find_english_function);
    return f && f->run(x, c, f->which);
}
