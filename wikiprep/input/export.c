#include "wikiprep/input/export.h"

#include "unicode/letter_case.h"

/* ---- the elements that are used ---------------------------------------------------------- */

enum place {
    ROOT,
    MEDIAWIKI,
    SITEINFO,
    SITENAME,
    BASE,
    CASE,
    DATE,
    NAMESPACES,
    NAMESPACE,
    PAGE,
    TITLE,
    NS,
    ID,
    REDIRECT,
    REVISION,
    REVID,
    TIMESTAMP,
    MODEL,
    TEXT,
};

/* For each element, the element that contains it, and its name. */
static const struct {
    enum place in;
    const char *name;
} schema[] = {
    [MEDIAWIKI] = { ROOT, "mediawiki" },
    [SITEINFO] = { MEDIAWIKI, "siteinfo" },
    [SITENAME] = { SITEINFO, "sitename" },
    [BASE] = { SITEINFO, "base" },
    [CASE] = { SITEINFO, "case" },
    [DATE] = { SITEINFO, "date" },
    [NAMESPACES] = { SITEINFO, "namespaces" },
    [NAMESPACE] = { NAMESPACES, "namespace" },
    [PAGE] = { MEDIAWIKI, "page" },
    [TITLE] = { PAGE, "title" },
    [NS] = { PAGE, "ns" },
    [ID] = { PAGE, "id" },
    [REDIRECT] = { PAGE, "redirect" },
    [REVISION] = { PAGE, "revision" },
    [REVID] = { REVISION, "id" },
    [TIMESTAMP] = { REVISION, "timestamp" },
    [MODEL] = { REVISION, "model" },
    [TEXT] = { REVISION, "text" },
};

/* ---- pages ------------------------------------------------------------------------------- */

static void end_revision(struct export *x)
{
    struct dump_page *r = &x->revision, *p = &x->page;
    int better = !x->has_revision ||
                 (!x->text_deleted && strcmp(r->timestamp.data, p->timestamp.data) >= 0);
    if (better) {
        buf_swap(&p->revid, &r->revid);
        buf_swap(&p->timestamp, &r->timestamp);
        buf_swap(&p->model, &r->model);
        buf_swap(&p->text, &r->text);
        p->too_long = r->too_long;
        x->has_revision = !x->text_deleted;
    }
    dump_page_clear(r);
    x->text_deleted = 0;
}

void export_add(struct export *x, struct dump_page *page)
{
    if (x->head == x->tail)
        x->head = x->tail = 0;
    if (x->tail == x->cap) {
        size_t old = x->cap;
        mem_grow(x->pages, x->cap, x->tail + 16);
        for (size_t i = old; i < x->cap; i++)
            x->pages[i] = (struct dump_page)DUMP_PAGE_INIT;
    }
    struct dump_page keep = x->pages[x->tail];
    x->pages[x->tail++] = *page;
    *page = keep;
    dump_page_clear(page);
}

static void end_page(struct export *x)
{
    struct dump_page *p = &x->page;
    if (!x->has_ns)
        p->ns = dump_namespace_of(&x->site, &p->title);
    p->redirect = dump_page_redirects(p, &x->site) || x->has_redirect;
    export_add(x, p);
    x->has_ns = x->has_revision = x->has_redirect = 0;
}

int export_take(struct export *x, struct dump_page *page)
{
    if (x->head == x->tail)
        return 0;
    struct dump_page keep = *page;
    *page = x->pages[x->head];
    dump_page_clear(&keep);
    x->pages[x->head++] = keep;
    return 1;
}

enum export_part export_part(const struct export *x)
{
    return x->place == ROOT  ? EXPORT_OUTSIDE
           : x->place < PAGE ? EXPORT_BETWEEN_PAGES
                             : EXPORT_IN_PAGE;
}

const char *export_title(const struct export *x)
{
    return x->place >= PAGE && x->page.title.len ? x->page.title.data : NULL;
}

/* ---- elements ---------------------------------------------------------------------------- */

/* Returns the value of an attribute, which a quote follows; its s is NULL if there is none. */
static struct span attribute(const unsigned char **attributes, int count, const char *name)
{
    for (; count--; attributes += 5)
        if (!strcmp((const char *)attributes[0], name))
            return span_between((const char *)attributes[3], (const char *)attributes[4]);
    return (struct span){ NULL, 0 };
}

static void begin_place(struct export *x, const unsigned char **attributes, int count)
{
    struct span value;
    switch (x->place) {
    case MEDIAWIKI:
        x->is_closed = 0;
        value = attribute(attributes, count, "lang"); /* "nds-NL" of a wiki in nds-nl */
        letter_case_put(&x->site.lang, value.s, value.n, letter_case_lower);
        break;
    case NAMESPACE:
        value = attribute(attributes, count, "key");
        x->namespace_key = value.n ? (int)strtol(value.s, NULL, 10) : 0;
        break;
    case REDIRECT:
        x->has_redirect = 1;
        span_put(attribute(attributes, count, "title"), &x->page.target);
        break;
    case TEXT: x->text_deleted = attribute(attributes, count, "deleted").s != NULL; break;
    default: break;
    }
}

int export_enter(struct export *x, const char *name, const unsigned char **attributes, int count)
{
    if (x->skip) {
        x->skip++;
        return 1;
    }
    for (int i = ROOT + 1; i < (int)(sizeof schema / sizeof *schema); i++)
        if (schema[i].in == (enum place)x->place && !strcmp(schema[i].name, name)) {
            x->place = i;
            buf_clear(&x->field);
            begin_place(x, attributes, count);
            return 1;
        }
    x->skip = 1;
    return x->place != ROOT;
}

static void end_place(struct export *x)
{
    struct dump_page *p = &x->page;
    struct dump_site *s = &x->site;
    switch (x->place) {
    case SITENAME: buf_swap(&s->name, &x->field); break;
    case BASE: buf_swap(&s->base, &x->field); break;
    case CASE:
        s->capital = strcmp(x->field.data, "case-sensitive")
                         ? (int)names_capital_in(span_of_buf(&s->lang))
                         : NAMES_AS_WRITTEN;
        break;
    case DATE: buf_swap(&s->date, &x->field); break;
    case NAMESPACE:
        mem_next(s->namespaces, s->count,
                 s->cap) = (struct dump_namespace){ x->namespace_key, mem_strdup(x->field.data) };
        break;
    case TITLE: buf_swap(&p->title, &x->field); break;
    case NS:
        p->ns = (int)strtol(x->field.data, NULL, 10);
        x->has_ns = 1;
        break;
    case ID: buf_swap(&p->id, &x->field); break;
    case REVID: buf_swap(&x->revision.revid, &x->field); break;
    case TIMESTAMP: buf_swap(&x->revision.timestamp, &x->field); break;
    case MODEL: buf_swap(&x->revision.model, &x->field); break;
    case REVISION: end_revision(x); break;
    case PAGE: end_page(x); break;
    case MEDIAWIKI: x->is_closed = 1; break;
    default: break;
    }
    x->place = (int)schema[x->place].in;
}

void export_leave(struct export *x)
{
    if (x->skip)
        x->skip--;
    else
        end_place(x);
}

int export_text(struct export *x, const char *text, size_t n)
{
    if (x->skip)
        return 1;
    if (x->place == TEXT) {
        struct dump_page *r = &x->revision;
        if (r->text.len + n > x->max_text) {
            r->too_long = 1;
            buf_clear(&r->text);
        }
        if (!r->too_long)
            buf_add(&r->text, text, n);
    } else if (x->field.len + n <= EXPORT_FIELD_MAX) {
        buf_add(&x->field, text, n);
    } else {
        return x->place != TITLE;
    }
    return 1;
}

/* ---- life -------------------------------------------------------------------------------- */

void export_init(struct export *x, size_t max_text_bytes)
{
    *x = (struct export){ .max_text = max_text_bytes, .place = ROOT };
    x->site = DUMP_SITE_INIT;
    buf_init(&x->field);
    x->page = x->revision = (struct dump_page)DUMP_PAGE_INIT;
}

void export_restart(struct export *x)
{
    x->place = ROOT;
    x->skip = 0;
    x->is_closed = 0;
    buf_clear(&x->field);
    dump_page_clear(&x->page);
    dump_page_clear(&x->revision);
    x->has_ns = x->has_revision = x->has_redirect = x->text_deleted = 0;
}

void export_next(struct export *x)
{
    assert(x->head == x->tail);
    dump_site_release(&x->site);
}

void export_release(struct export *x)
{
    dump_site_release(&x->site);
    buf_release(&x->field);
    dump_page_release(&x->page);
    dump_page_release(&x->revision);
    for (size_t i = 0; i < x->cap; i++)
        dump_page_release(&x->pages[i]);
    free(x->pages);
}
