/* Parser functions and magic words: finds a name in the table of functions.h. */

#include "common/base/order.h"
#include "wikiprep/expand/functions.h"
#include "wikiprep/values/knowledge.h"
#include "wikiprep/values/number.h"

enum { NAME_MAX_BYTES = 32 };

/* {{NUMBEROFARTICLES}}; {{NUMBEROFARTICLES:R}} has digits alone. */
void function_wiki_count(struct expander *x, struct function_call *c)
{
    const uint64_t n = c->which == WIKI_PAGES ? x->facts->pages : x->facts->articles;
    SCOPED(buf) digits = buf_format("%llu", (unsigned long long)n);
    if (c->first.n == 1 && *c->first.s == 'R')
        span_put(span_of_buf(&digits), &x->out);
    else
        number_show(span_of_buf(&digits), x->site->lang.data, &x->out);
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
static void put_now(struct expander *x, const struct function_row *w)
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
static const struct function_row *find_english(const char *key, int is_function)
{
    const struct function_row *r = bsearch(&key, function_rows, function_rows_count,
                                           sizeof *function_rows, order_texts);
    return r && (is_function ? r->run != NULL : r->kind != NO_WORD) ? r : NULL;
}

/* Returns the row of a function (is_function 1) or magic word (0), or NULL. Tries the name itself,
 * then in lower case, then the English word that magic_find gives for it. */
static const struct function_row *find_row(const struct expander *x, struct span name,
                                           int is_function)
{
    char key[NAME_MAX_BYTES];
    const struct function_row *found = NULL;
    if (span_copy(name, key, sizeof key) && !(found = find_english(key, is_function)))
        found = find_english(lower(key), is_function);
    const char *english = found ? NULL : magic_find(x->facts->magic, name.s, name.n);
    return english ? find_english(english, is_function) : found;
}

int function_variable(struct expander *x, struct span name)
{
    const struct function_row *w = find_row(x, name, 0);
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
    case WORD_REVISION:
        x->special++;
        function_put_time(x, w->text, x->page->timestamp);
        break;
    }
    return 1;
}

int function_run(struct expander *x, struct span name, struct function_call *c)
{
    const struct function_row *r = find_row(x, name, 1);
    if (!r)
        return 0;
    c->which = r->which;
    r->run(x, c);
    return !c->is_refused;
}
