/* Inserts parts of other pages: sections, {{#lst:Page|name}}, and pages of a book, <pages …/>. */
#include <ctype.h>
#include <limits.h>
#include <strings.h>

#include "common/base/lines.h"
#include "wikiprep/expand/expand_state.h"
#include "wikiprep/expand/functions.h"
#include "wikiprep/site/names.h"
#include "wikiprep/text/tag.h"
#include "wikiprep/values/number.h"

/* ---- {{#lst:Page|first|last}}, {{#lsth:Page|heading}}, {{#lstx:Page|name|instead}} --------- */

/* Returns the next tag <section> in [s, end) whose attribute `edge` ("begin" or "end") is `name`,
 * and sets *after to the position after the tag; NULL if there is none. */
static const char *find_edge(const char *s, const char *end, const char *edge, struct span name,
                             const char **after)
{
    static const char tag[] = "<section";
    enum { LENGTH = sizeof tag - 1 };
    for (; (s = memchr(s, '<', (size_t)(end - s))); s++) {
        if (end - s <= LENGTH || strncasecmp(s, tag, LENGTH) || !isspace((unsigned char)s[LENGTH]))
            continue;
        const char *close = tag_end(s + LENGTH, end);
        struct span value = tag_attribute(s + LENGTH, close, edge);
        *after = close < end ? close + 1 : end;
        if (span_equal(value, name))
            return s;
    }
    return NULL;
}

/* Appends the text from each <section begin=NAME/> to the next <section end=LAST/>. An empty `name`
 * is the beginning of the text; an empty `last`, or a missing tag, is its end. */
static void put_named(struct expander *x, struct span text, struct span name, struct span last)
{
    const char *end = text.s + text.n, *after = text.s, *stop;
    while (!name.n || find_edge(after, end, "begin", name, &after)) {
        const char *inner = after;
        stop = last.n ? find_edge(inner, end, "end", last, &after) : NULL;
        if (!stop)
            stop = after = end;
        expand_put(x, span_between(inner, stop));
        if (!name.n)
            break;
    }
}

/* Appends the text without the sections `name`, each replaced by `instead`. */
static void put_without(struct expander *x, struct span text, struct span name, struct span instead)
{
    const char *end = text.s + text.n, *after = text.s, *begin, *inner;
    while (name.n && (begin = find_edge(after, end, "begin", name, &inner))) {
        expand_put(x, span_between(after, begin));
        expand_put(x, expand_without_marks(x, instead));
        if (!find_edge(inner, end, "end", name, &after))
            after = end;
    }
    expand_put(x, span_between(after, end));
}

/* Returns the next heading in [s, end) of a level up to *level and, unless `name` is empty, with
 * this text; NULL if there is none. Sets *level to its level and *after to the end of its line. */
static const char *find_heading(const char *s, const char *end, struct span name, int *level,
                                const char **after)
{
    struct lines l = LINES_OF(s, end - s);
    while (lines_next(&l)) {
        const char *p = l.line, *stop = span_until(p, p + l.len, '\r');
        int signs = 0;
        while (stop > p && strchr(" \t", stop[-1]))
            stop--;
        for (; signs < *level && stop - p > 2 && *p == '=' && stop[-1] == '='; signs++)
            p++, stop--;
        struct span text = span_trim(span_between(p, stop));
        if (!signs || *p == '=' ||
            (name.n && !span_equal(text, name) && !names_equal(text.s, text.n, name.s, name.n)))
            continue;
        *level = signs;
        *after = l.line + l.len;
        return l.line;
    }
    return NULL;
}

/* Appends the text of the section with the heading `name`, up to the heading `last` or, without
 * one, up to the next heading that ends the section. An empty `name` is the lead. */
static void put_under(struct expander *x, struct span text, struct span name, struct span last)
{
    enum { LEVELS = 6 };
    const char *begin = text.s, *end = begin + text.n, *stop = NULL, *after;
    int level = LEVELS, any = LEVELS;
    if (name.n && !find_heading(begin, end, name, &level, &begin))
        return;
    if (last.n)
        stop = find_heading(begin, end, last, &any, &after);
    if (!stop)
        stop = find_heading(begin, end, span_of(""), &level, &after);
    expand_put(x, span_between(begin, stop ? stop : end));
}

/* Appends a part of the page's text, expanded; `how` (LST_NAMED ...) says which part. */
static void put_sections(struct expander *x, const struct frame *caller, struct library_page *page,
                         int how, struct span name, struct span last)
{
    x->special++;
    if ((caller->within & page->bit) || caller->depth >= DEPTH_MAX || !expand_pay(x, page->n))
        return;
    size_t mark = x->out.len;
    const struct span all = { page->text, page->n };
    (how == LST_NAMED     ? put_named
     : how == LST_HEADING ? put_under
                          : put_without)(x, all, name, last);
    struct span text = expand_take(x, mark);
    struct frame f = { .caller = caller,
                       .page = page,
                       .depth = caller->depth + 1,
                       .within = caller->within | page->bit };
    SCOPED(tree) tree = { 0 };
    preprocess(x->preprocessor, &tree, text.s, text.n, PREPROCESS_INCLUDED);
    expand_nodes(x, &f, &tree, tree.nodes[0].child);
}

void function_lst(struct expander *x, struct function_call *c)
{
    const int is_alone = c->which == LST_NAMED && c->count < 3;
    struct span name = expand_value(x, c, 1), last = is_alone ? name : expand_value(x, c, 2);
    struct library_page *page = expand_find_page(x, c->first, 0);
    x->special++;
    if (page)
        put_sections(x, c->frame, page, c->which, name, last);
}

/* ---- <pages index="Book.djvu" from=3 to=7 /> ----------------------------------------------- */

/* Returns 1 if n is in a list such as "1-3,5", else 0. Raises *most to the list's maximum. */
static int in_list(struct span list, int n, int *most)
{
    int found = 0;
    for (const char *s = list.s, *end = s + list.n, *next; s < end; s = next + 1) {
        int first, last;
        next = span_until(s, end, ',');
        const char *dash = span_until(s, next, '-'), *to = dash < next ? dash + 1 : s;
        if (!span_number(span_trim(span_between(s, dash)), &first) ||
            !span_number(span_trim(span_between(to, next)), &last))
            continue;
        found |= n >= first && n <= last;
        *most = last > *most ? last : *most;
    }
    return found;
}

/* Returns page n of the book, or NULL. The number in its title has the digits of the wiki's
 * language or, if there is no such page, those from 0 to 9. */
static struct library_page *find_page(struct expander *x, struct span index, int n)
{
    const struct number_style style = number_style(x->site->lang.data);
    SCOPED(buf) number = buf_format("%d", n);
    SCOPED(buf) name = buf_format("%s:%.*s/", dump_namespace_name(x->site, x->facts->books),
                                  (int)index.n, index.s);
    const size_t before = name.len;
    number_put_digits(span_of_buf(&number), &style, &name);
    struct library_page *page = expand_find_page(x, span_of_buf(&name), 0);
    if (page || !style.digits.n)
        return page;
    buf_truncate(&name, before);
    span_put(span_of_buf(&number), &name);
    return expand_find_page(x, span_of_buf(&name), 0);
}

/* Appends a page of the book, or only its part from the section `first` to `last` (put_sections),
 * if either is given. If the page before ends with a hyphen, joins the divided word. The text of
 * the book begins at byte `mark` of x->out. */
static void put_page(struct expander *x, const struct frame *f, size_t mark,
                     struct library_page *page, struct span first, struct span last)
{
    int before = x->out.len > mark ? x->out.data[x->out.len - 1] : '\n';
    if (before == '-')
        buf_truncate(&x->out, x->out.len - 1);
    else if (before != '\n')
        expand_puts(x, " ");
    size_t begin = x->out.len;
    if (first.n || last.n)
        put_sections(x, f, page, LST_NAMED, first, last);
    else
        expand_included(x, f, NULL, 0, page);
    expand_begin_line(x, begin);
}

void expand_book(struct expander *x, const struct frame *f, struct span attributes)
{
    static const char *const names[] = { "index",       "from",      "to",
                                         "include",     "exclude",   "step",
                                         "fromsection", "tosection", "onlysection" };
    enum { INDEX, FROM, TO, INCLUDE, EXCLUDE, STEP, FROM_SECTION, TO_SECTION, ONLY, COUNT };
    enum { GAP_MAX = 10000 /* after so many missing pages in a row, the book is over */ };
    struct span a[COUNT + 1] = { [COUNT] = { "", 0 } };
    const char *end = attributes.s + attributes.n;
    for (int i = 0; i < COUNT; i++)
        a[i] = span_trim(tag_attribute(attributes.s, end, names[i]));
    int from = 1, to = 0, step = 1, most = 0;
    int has_from = span_number(a[FROM], &from), has_to = span_number(a[TO], &to);
    in_list(a[INCLUDE], 0, &most);
    int is_open = !has_to && (has_from || !a[INCLUDE].n); /* up to the book's last page */
    if (!span_number(a[STEP], &step) || !step)
        step = 1;
    if (!x->facts->books || !a[INDEX].n || (a[FROM].n && !has_from) || (a[TO].n && !has_to)) {
        expand_hole(x); /* page names instead of numbers need the index page, which is not read */
        return;
    }
    size_t mark = x->out.len;
    uint64_t work = WORK_CALL + a[INCLUDE].n + a[EXCLUDE].n;
    most = is_open ? INT_MAX : to > most ? to : most;
    for (int n = a[INCLUDE].n ? 1 : from, gap = 0, any = 0;
         n <= most && gap < GAP_MAX && expand_pay(x, work); n++) {
        int in_range = n >= from && (n <= to || is_open) && (n - from) % step == 0;
        struct library_page *page = find_page(x, a[INDEX], n);
        gap = page ? 0 : gap + 1;
        struct span first = a[n == from ? FROM_SECTION : COUNT];
        struct span last = a[n == to ? TO_SECTION : COUNT];
        if (!first.n && !last.n)
            first = last = a[ONLY];
        if (page && (in_range || in_list(a[INCLUDE], n, &any)) && !in_list(a[EXCLUDE], n, &any))
            put_page(x, f, mark, page, first, last);
    }
}
