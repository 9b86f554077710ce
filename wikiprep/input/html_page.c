#include "wikiprep/input/html_page.h"

#include <ctype.h>

#include "common/base/utf8.h"
#include "common/formats/js_scan.h"
#include "wikiprep/site/entity.h"
#include "wikiprep/site/names.h"

static const char *find(const char *s, size_t n, const char *what)
{
    return memmem(s, n, what, strlen(what));
}

int html_page_recognises(const char *s, size_t n)
{
    enum { HEAD_MAX = 1 << 14 };
    const char *end = s + n;
    s = span_past(s + utf8_mark(s, n), end, " \t\r\n");
    n = end - s < HEAD_MAX ? (size_t)(end - s) : HEAD_MAX;
    return n && (*s == '{' || find(s, n, " property=\"mw:pageId\""));
}

/* ---- a page in HTML ------------------------------------------------------------------------ */

/* If `to` is empty, writes to it the text after `mark`, if that is there, up to a quotation mark,
 * with its character references decoded. */
static void take(struct buf *to, const char *s, size_t n, const char *mark)
{
    const char *value = to->len ? NULL : find(s, n, mark);
    if (!value)
        return;
    value += strlen(mark);
    entity_decode(to, value, (size_t)(span_until(value, s + n, '"') - value));
}

/* Reads from the head of a page those of its fields that are still empty. */
static void read_head(struct dump_page *page, struct dump_site *site, const char *s, size_t n)
{
    const char *body = find(s, n, "<body");
    size_t head = body ? (size_t)(body - s) : n;
    SCOPED(buf) value = BUF_INIT, base = BUF_INIT;
    take(&base, s, head, "<base href=\"");
    if (!page->title.len) {
        take(&value, s, head, "rel=\"dc:isVersionOf\" href=\"");
        const char *root = base.len ? base.data : "/wiki/", *path = strstr(value.data, root);
        names_add_href(&page->title, path ? path + strlen(root) : value.data);
        buf_clear(&value);
    }
    take(&value, s, head, "property=\"mw:pageNamespace\" content=\"");
    if (value.len)
        page->ns = (int)strtol(value.data, NULL, 10);
    take(&page->id, s, head, "property=\"mw:pageId\" content=\"");
    take(&page->revid, s, head, "Special:Redirect/revision/");
    if (!page->timestamp.len) {
        take(&page->timestamp, s, head, "property=\"dc:modified\" content=\"");
        size_t seconds = strcspn(page->timestamp.data, ".");
        if (seconds < page->timestamp.len) { /* "2021-10-27T18:20:34.000Z" */
            buf_truncate(&page->timestamp, seconds);
            buf_addc(&page->timestamp, 'Z');
        }
    }
    take(&site->lang, s, head, "http-equiv=\"content-language\" content=\"");
    if (!site->base.len)
        buf_addf(&site->base, "%s%s", *base.data == '/' ? "https:" : "", base.data);
}

/* ---- a line of JSON ------------------------------------------------------------------------ */

/* Where the values of a line go. */
struct line {
    struct buf ns, url;
    struct dump_page *page;
    struct dump_site *site;
    int has_html; /* "html" is a string, which may be empty */
};

/* Returns where the value of outer.inner goes; NULL: it is not used. `outer` is "" for members of
 * the line itself. */
static struct buf *place_of(struct line *l, const char *outer, const char *inner, size_t n)
{
    const struct {
        const char *outer, *inner;
        struct buf *to;
    } places[] = {
        { "", "name", &l->page->title },
        { "", "title", &l->page->title },
        { "", "identifier", &l->page->id },
        { "", "id", &l->page->id },
        { "", "url", &l->url },
        { "", "date_modified", &l->page->timestamp },
        { "latest", "timestamp", &l->page->timestamp },
        { "version", "identifier", &l->page->revid },
        { "latest", "id", &l->page->revid },
        { "namespace", "identifier", &l->ns },
        { "in_language", "identifier", &l->site->lang },
        { "is_part_of", "identifier", &l->site->name },
        { "main_entity", "identifier", &l->page->wikidata },
        { "article_body", "html", &l->page->text },
        { "", "html", &l->page->text },
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!strcmp(places[i].outer, outer) && bytes_are(inner, n, places[i].inner))
            return places[i].to;
    return NULL;
}

/* Reads a string, or if `is_number` is set an integer, into `to`. Skips any other value. Returns 0,
 * or -1 with an error. */
static int read_value(struct js_scan *s, struct buf *to, int is_number)
{
    const char *text;
    size_t n;
    int64_t number;
    buf_clear(to);
    if (js_scan_peek(s) == '"') {
        if (js_scan_text(s, &text, &n) < 0)
            return -1;
        buf_add(to, text, n);
    } else if (is_number && (js_scan_peek(s) == '-' || isdigit(js_scan_peek(s)))) {
        if (js_scan_int(s, &number) < 0)
            return -1;
        buf_addf(to, "%lld", (long long)number);
    } else {
        return js_scan_skip(s);
    }
    return 0;
}

/* Reads the object at s: the line (`outer` is ""), or its member `outer`. Returns 0, or -1 with an
 * error. */
static int read_object(struct js_scan *s, struct line *l, const char *outer)
{
    enum { NAME_MAX_BYTES = 32 };
    char name[NAME_MAX_BYTES];
    const char *key;
    size_t n;
    int more = js_scan_mark(s, '{');
    for (size_t i = 0; !more && (more = js_scan_next(s, '}', i)) > 0; i++) {
        if (js_scan_key(s, &key, &n) < 0)
            return -1;
        struct buf *to = place_of(l, outer, key, n);
        if (to) {
            l->has_html |= to == &l->page->text && js_scan_peek(s) == '"';
            more = read_value(s, to, to != &l->page->text);
        } else if (!*outer && js_scan_peek(s) == '{' && n < sizeof name) {
            memcpy(name, key, n);
            name[n] = '\0';
            more = read_object(s, l, name);
        } else {
            more = js_scan_skip(s);
        }
    }
    return more;
}

static int read_line(struct dump_page *page, struct dump_site *site, const char *s, size_t n,
                     const char *where)
{
    struct line l = { BUF_INIT, BUF_INIT, page, site, 0 };
    struct js_scan scan;
    js_scan_init(&scan, s, n);
    int result = read_object(&scan, &l, "");
    if (!result && js_scan_peek(&scan) >= 0)
        result = js_scan_error(&scan, scan.at, "the end of the line expected");
    if (!result && (!page->title.len || !l.has_html))
        result = err_set("no \"%s\" in it", page->title.len ? "article_body\": {\"html" : "name");
    if (result < 0)
        err_in("%s is not a page of a snapshot", where);
    page->ns = (int)strtol(l.ns.data, NULL, 10);
    const char *path = strstr(l.url.data, "/wiki/");
    if (path)
        buf_add(&site->base, l.url.data, (size_t)(path - l.url.data) + strlen("/wiki/"));
    js_scan_release(&scan);
    buf_release(&l.ns);
    buf_release(&l.url);
    return result;
}

int html_page_read(struct dump_page *page, struct dump_site *site, const char *s, size_t n,
                   size_t max_text, const char *where)
{
    SCOPED(buf) repaired = BUF_INIT;
    if (utf8_valid(s, n) < n) {
        utf8_repair(&repaired, s, n);
        s = repaired.data, n = repaired.len;
    }
    while (n && memchr(" \t\r\n", *s, 4))
        s++, n--;
    if (n && *s == '{') {
        if (read_line(page, site, s, n, where) < 0)
            return -1;
    } else {
        buf_add(&page->text, s, n);
    }
    read_head(page, site, page->text.data, page->text.len);
    if (!page->title.len)
        return err_set("%s has no title: it lacks <link rel=\"dc:isVersionOf\">", where);
    buf_adds(&page->model, "html");
    page->redirect = find(page->text.data, page->text.len, "rel=\"mw:PageProp/redirect\"") != NULL;
    SCOPED(buf) target = BUF_INIT;
    take(&target, page->text.data, page->text.len, "rel=\"mw:PageProp/redirect\" href=\"");
    buf_truncate(&target, strcspn(target.data, "#"));
    names_add_href(&page->target, target.data);
    page->too_long = page->text.len > max_text;
    site->capital = (int)names_capital_in(span_of_buf(&site->lang));
    return 0;
}
