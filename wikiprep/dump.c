#define _GNU_SOURCE /* memmem */
#include "wikiprep/dump.h"

#include <inttypes.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/err.h"
#include "common/mem.h"

enum {
    CHUNK = 1 << 16,
    FIELD_MAX = 1 << 16,  /* bytes of a title, an id, ... */
    ENTITIES_MAX = 1000,
    ENTITY_MAX = 1000, /* bytes of what one stands for */
    SILENCE_MAX = 1 << 26 /* bytes that may pass without an event: one tag or comment */
};

/* ---- the part of the schema that matters ------------------------------------------------- */

enum place {
    ROOT,
    MEDIAWIKI,
    SITEINFO,
    SITENAME,
    BASE,
    CASE,
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

static const struct {
    enum place in;
    const char *name;
    enum place to;
} schema[] = {
    { ROOT, "mediawiki", MEDIAWIKI },
    { MEDIAWIKI, "siteinfo", SITEINFO },
    { MEDIAWIKI, "page", PAGE },
    { SITEINFO, "sitename", SITENAME },
    { SITEINFO, "base", BASE },
    { SITEINFO, "case", CASE },
    { SITEINFO, "namespaces", NAMESPACES },
    { NAMESPACES, "namespace", NAMESPACE },
    { PAGE, "title", TITLE },
    { PAGE, "ns", NS },
    { PAGE, "id", ID },
    { PAGE, "redirect", REDIRECT },
    { PAGE, "revision", REVISION },
    { REVISION, "id", REVID },
    { REVISION, "timestamp", TIMESTAMP },
    { REVISION, "model", MODEL },
    { REVISION, "text", TEXT },
};

static const enum place parent[] = {
    [MEDIAWIKI] = ROOT, [SITEINFO] = MEDIAWIKI,  [SITENAME] = SITEINFO,
    [BASE] = SITEINFO,  [CASE] = SITEINFO,  [NAMESPACES] = SITEINFO, [NAMESPACE] = NAMESPACES,
    [PAGE] = MEDIAWIKI, [TITLE] = PAGE,          [NS] = PAGE,
    [ID] = PAGE,        [REDIRECT] = PAGE,       [REVISION] = PAGE,
    [REVID] = REVISION, [TIMESTAMP] = REVISION,  [MODEL] = REVISION,
    [TEXT] = REVISION,
};

struct dump {
    char *path;
    struct unpack *in;
    struct unpack_range *ranges; /* NULL: all of it */
    xmlParserCtxtPtr xml;
    struct dump_site site;
    size_t max_text;
    uint64_t fed;     /* bytes of XML given to the parser */
    uint64_t silence; /* bytes given since its last event */
    enum place place;
    unsigned skip; /* depth inside an element that does not matter */
    int root_closed, ended;
    char *error; /* to be reported when the pages are given out */
    struct entity **entities;
    size_t entity_count, entities_cap;

    struct buf field; /* text of the element at hand */
    int namespace_key;
    struct dump_page page;     /* the page at hand, with its best revision so far */
    struct dump_page revision; /* the revision at hand */
    int has_ns, has_revision, has_redirect, text_deleted;

    struct dump_page *pages; /* whole pages that wait for dump_read: [head, tail) */
    size_t head, tail, cap;
};

static void swap(struct buf *a, struct buf *b)
{
    struct buf keep = *a;
    *a = *b;
    *b = keep;
}

/* Ends the parse; the thread's error is kept for when the pages before it are given out. */
static void stop(struct dump *d)
{
    if (!d->error)
        d->error = mem_strdup(err_get());
    d->ended = 1;
    xmlStopParser(d->xml);
}

/* ---- pages ------------------------------------------------------------------------------- */

static void end_revision(struct dump *d)
{
    struct dump_page *r = &d->revision, *p = &d->page;
    int better =
        !d->has_revision || (!d->text_deleted && strcmp(r->timestamp.data, p->timestamp.data) >= 0);
    if (better) {
        swap(&p->revid, &r->revid);
        swap(&p->timestamp, &r->timestamp);
        swap(&p->model, &r->model);
        swap(&p->text, &r->text);
        p->too_long = r->too_long;
        d->has_revision = !d->text_deleted;
    }
    dump_page_clear(r);
    d->text_deleted = 0;
}

static void end_page(struct dump *d)
{
    struct dump_page *p = &d->page;
    if (!d->has_ns)
        p->ns = dump_namespace_of(&d->site, &p->title);
    p->redirect = dump_page_redirects(p, &d->site) || d->has_redirect;
    if (d->head == d->tail)
        d->head = d->tail = 0;
    if (d->tail == d->cap) {
        size_t old = d->cap;
        mem_grow(d->pages, d->cap, d->tail + 16);
        for (size_t i = old; i < d->cap; i++)
            d->pages[i] = (struct dump_page)DUMP_PAGE_INIT;
    }
    struct dump_page keep = d->pages[d->tail];
    d->pages[d->tail++] = *p;
    *p = keep;
    dump_page_clear(p);
    d->has_ns = d->has_revision = d->has_redirect = 0;
}

static void where(const struct dump *d, struct buf *out)
{
    if (d->place >= PAGE && d->page.title.len)
        buf_addf(out, " in page '%.200s'", d->page.title.data);
}

/* ---- parser events ----------------------------------------------------------------------- */

static const char *attribute(const xmlChar **attributes, int count, const char *name, size_t *len)
{
    for (int i = 0; i < count; i++)
        if (!strcmp((const char *)attributes[5 * i], name)) {
            const char *value = (const char *)attributes[5 * i + 3];
            *len = (size_t)((const char *)attributes[5 * i + 4] - value);
            return value;
        }
    return NULL;
}

static void enter(struct dump *d, const xmlChar **attributes, int count)
{
    size_t n;
    const char *value;
    switch (d->place) {
    case MEDIAWIKI:
        if ((value = attribute(attributes, count, "lang", &n)))
            buf_add(&d->site.lang, value, n);
        break;
    case NAMESPACE:
        value = attribute(attributes, count, "key", &n);
        d->namespace_key = value ? (int)strtol(value, NULL, 10) : 0; /* a quote ends it */
        break;
    case REDIRECT:
        d->has_redirect = 1;
        if ((value = attribute(attributes, count, "title", &n)))
            buf_add(&d->page.target, value, n);
        break;
    case TEXT:
        d->text_deleted = attribute(attributes, count, "deleted", &n) != NULL;
        break;
    default:
        break;
    }
}

static void on_start(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int namespace_count, const xmlChar **namespaces, int attribute_count,
                     int defaulted, const xmlChar **attributes)
{
    (void)prefix, (void)uri, (void)namespace_count, (void)namespaces, (void)defaulted;
    struct dump *d = ctx;
    d->silence = 0;
    if (d->skip) {
        d->skip++;
        return;
    }
    for (size_t i = 0; i < sizeof schema / sizeof *schema; i++)
        if (schema[i].in == d->place && !strcmp(schema[i].name, (const char *)name)) {
            d->place = schema[i].to;
            buf_clear(&d->field);
            enter(d, attributes, attribute_count);
            return;
        }
    if (d->place == ROOT) {
        err_set("'%s' is other XML, not a MediaWiki export: its root element is <%.60s>", d->path,
                (const char *)name);
        stop(d);
    }
    d->skip = 1;
}

static void add_namespace(struct dump *d)
{
    struct dump_site *s = &d->site;
    mem_grow(s->namespaces, s->cap, s->count + 1);
    s->namespaces[s->count++] =
        (struct dump_namespace) { d->namespace_key, mem_strdup(d->field.data) };
}

static void leave(struct dump *d)
{
    struct dump_page *p = &d->page;
    switch (d->place) {
    case SITENAME:
        swap(&d->site.name, &d->field);
        break;
    case BASE:
        swap(&d->site.base, &d->field);
        break;
    case CASE:
        d->site.capital = strcmp(d->field.data, "case-sensitive") != 0;
        break;
    case NAMESPACE:
        add_namespace(d);
        break;
    case TITLE:
        swap(&p->title, &d->field);
        break;
    case NS:
        p->ns = (int)strtol(d->field.data, NULL, 10);
        d->has_ns = 1;
        break;
    case ID:
        swap(&p->id, &d->field);
        break;
    case REVID:
        swap(&d->revision.revid, &d->field);
        break;
    case TIMESTAMP:
        swap(&d->revision.timestamp, &d->field);
        break;
    case MODEL:
        swap(&d->revision.model, &d->field);
        break;
    case REVISION:
        end_revision(d);
        break;
    case PAGE:
        end_page(d);
        break;
    case MEDIAWIKI:
        d->root_closed = 1;
        break;
    default:
        break;
    }
    d->place = parent[d->place];
}

static void on_end(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    (void)name, (void)prefix, (void)uri;
    struct dump *d = ctx;
    d->silence = 0;
    if (d->skip)
        d->skip--;
    else
        leave(d);
}

static void on_text(void *ctx, const xmlChar *text, int n)
{
    struct dump *d = ctx;
    d->silence = 0;
    if (d->skip)
        return;
    if (d->place == TEXT) {
        struct dump_page *r = &d->revision;
        if (r->text.len + (size_t)n > d->max_text) {
            r->too_long = 1;
            buf_clear(&r->text);
        }
        if (!r->too_long)
            buf_add(&r->text, text, (size_t)n);
    } else if (d->field.len + (size_t)n <= FIELD_MAX) {
        buf_add(&d->field, text, (size_t)n);
    }
}

/* ---- entities ---------------------------------------------------------------------------- */

/* A document type may declare entities that stand for text. Those that contain markup or other
 * entities, with which little XML can say very much, are not taken; nor are files. */
struct entity {
    xmlEntity xml;
    xmlChar *name, *content;
};

static void on_entity(void *ctx, const xmlChar *name, int type, const xmlChar *id,
                      const xmlChar *system, xmlChar *content)
{
    (void)id, (void)system;
    struct dump *d = ctx;
    if (type != XML_INTERNAL_GENERAL_ENTITY || strpbrk((const char *)content, "&<") ||
        strlen((const char *)content) > ENTITY_MAX || d->entity_count == ENTITIES_MAX)
        return;
    mem_grow(d->entities, d->entities_cap, d->entity_count + 1);
    struct entity *e = mem_zalloc(1, sizeof *e);
    d->entities[d->entity_count++] = e;
    e->name = xmlStrdup(name);
    e->content = xmlStrdup(content);
    /* as one of XML's own, which the parser takes for plain text */
    e->xml = (xmlEntity){ .type = XML_ENTITY_DECL,
                          .etype = XML_INTERNAL_PREDEFINED_ENTITY,
                          .name = e->name,
                          .content = e->content,
                          .length = (int)strlen((const char *)content) };
}

static xmlEntityPtr find_entity(void *ctx, const xmlChar *name)
{
    struct dump *d = ctx;
    for (size_t i = 0; i < d->entity_count; i++)
        if (xmlStrEqual(d->entities[i]->name, name))
            return &d->entities[i]->xml;
    return NULL;
}

static void free_entities(struct dump *d)
{
    for (size_t i = 0; i < d->entity_count; i++) {
        xmlFree(d->entities[i]->name);
        xmlFree(d->entities[i]->content);
        xmlFree((void *)(uintptr_t)d->entities[i]->xml.orig); /* the parser's copy */
        free(d->entities[i]);
    }
    free(d->entities);
}

/* The parser lets one pass that an external subset might declare. */
static void on_unknown_entity(void *ctx, const xmlChar *name)
{
    struct dump *d = ctx;
    struct buf in = BUF_INIT;
    where(d, &in);
    err_set("'%s': bad XML before byte %" PRIu64 "%s: entity '%.60s' is not declared", d->path,
            d->fed, in.data, (const char *)name);
    stop(d);
    buf_release(&in);
}

static void on_problem(void *ctx, xmlErrorPtr error)
{
    (void)ctx, (void)error; /* asked for afterwards: xmlCtxtGetLastError */
}

static void on_message(void *ctx, const char *format, ...)
{
    (void)ctx, (void)format; /* libxml2 would print some to stderr */
}

/* ---- life -------------------------------------------------------------------------------- */

static xmlParserCtxtPtr new_parser(struct dump *d)
{
    xmlSAXHandler events = {
        .initialized = XML_SAX2_MAGIC,
        .startElementNs = on_start,
        .endElementNs = on_end,
        .characters = on_text,
        .cdataBlock = on_text,
        .ignorableWhitespace = on_text,
        .entityDecl = on_entity,
        .getEntity = find_entity,
        .reference = on_unknown_entity,
        .serror = on_problem,
    };
    xmlParserCtxtPtr xml = xmlCreatePushParserCtxt(&events, d, NULL, 0, NULL);
    if (xml)
        xmlCtxtUseOptions(xml, XML_PARSE_HUGE | XML_PARSE_NONET | XML_PARSE_NOENT);
    return xml;
}

static struct dump *open_dump(const char *path, struct unpack *in, size_t max_text_bytes)
{
    if (!in)
        return NULL;
    struct dump *d = mem_zalloc(1, sizeof *d);
    d->path = mem_strdup(strcmp(path, "-") ? path : "<stdin>");
    d->max_text = max_text_bytes;
    d->site.capital = 1;
    buf_init(&d->field);
    buf_init(&d->site.name);
    buf_init(&d->site.base);
    buf_init(&d->site.lang);
    d->page = d->revision = (struct dump_page)DUMP_PAGE_INIT;
    d->in = in;
    d->xml = new_parser(d);
    if (!d->xml) {
        err_set("cannot start the XML parser");
        dump_close(d);
        return NULL;
    }
    return d;
}

struct dump *dump_open(const char *path, size_t max_text_bytes, int threads)
{
    return open_dump(path, unpack_open(path, threads), max_text_bytes);
}

struct dump *dump_open_ranges(const char *path, struct unpack_range *ranges, size_t count,
                              size_t max_text_bytes, int threads)
{
    struct unpack *in = unpack_open_ranges(path, ranges, count, threads);
    struct dump *d = open_dump(path, in, max_text_bytes);
    if (d)
        d->ranges = ranges;
    else
        free(ranges);
    return d;
}

void dump_close(struct dump *d)
{
    if (!d)
        return;
    if (d->xml) {
        xmlFreeDoc(d->xml->myDoc); /* made for declarations */
        xmlFreeParserCtxt(d->xml);
    }
    free_entities(d);
    unpack_close(d->in);
    dump_site_release(&d->site);
    buf_release(&d->field);
    dump_page_release(&d->page);
    dump_page_release(&d->revision);
    for (size_t i = 0; i < d->cap; i++)
        dump_page_release(&d->pages[i]);
    free(d->pages);
    free(d->error);
    free(d->ranges);
    free(d->path);
    free(d);
}

const struct dump_site *dump_site(const struct dump *d)
{
    return &d->site;
}

uint64_t dump_packed_bytes(const struct dump *d)
{
    return unpack_packed(d->in);
}

uint64_t dump_xml_bytes(const struct dump *d)
{
    return d->fed;
}

/* ---- reading ----------------------------------------------------------------------------- */

/* Names the usual things that are no dump, before the parser would call them bad XML. */
static int check_first(const struct dump *d, const char *s, size_t n)
{
    if (!n)
        return err_set("'%s' is empty", d->path);
    static const char lfs[] = "version https://git-lfs";
    if (n >= sizeof lfs - 1 && !memcmp(s, lfs, sizeof lfs - 1))
        return err_set("'%s' is a git-lfs pointer, not the file it stands for", d->path);
    if (n >= 3 && !memcmp(s, "\xEF\xBB\xBF", 3))
        s += 3, n -= 3;
    while (n && memchr(" \t\r\n", *s, 4))
        s++, n--;
    static const char *const html[] = { "<!doctype html", "<html" };
    for (int i = 0; i < 2; i++)
        if (n >= strlen(html[i]) && !strncasecmp(s, html[i], strlen(html[i])))
            return err_set("'%s' is an HTML page, not a MediaWiki export", d->path);
    int utf16 =
        n >= 2 && (!memcmp(s, "\xFF\xFE", 2) || !memcmp(s, "\xFE\xFF", 2) || !memcmp(s, "\0<", 2));
    if (!n || (*s != '<' && !utf16))
        return err_set("'%s' is not a MediaWiki export: it does not begin as XML", d->path);
    return 0;
}

/* Looks at what the parser made of the last bytes: -1 when it is stuck. */
static int check_parser(struct dump *d)
{
    if (d->error)
        return -1;
    struct buf in = BUF_INIT;
    where(d, &in);
    int result = 0;
    if (!d->xml->wellFormed || d->xml->disableSAX) {
        xmlErrorPtr e = xmlCtxtGetLastError(d->xml);
        struct buf why = BUF_INIT;
        buf_adds(&why, e && e->message ? e->message : "unknown reason");
        buf_rtrim(&why);
        for (char *lf = why.data; (lf = strchr(lf, '\n'));)
            *lf = ' ';
        long at = xmlByteConsumed(d->xml); /* 0 when the parser gave up its input */
        result = err_set("'%s': bad XML at byte %" PRIu64 " (line %d)%s: %s", d->path,
                         at > 0 ? (uint64_t)at : d->fed, e ? e->line : 0, in.data, why.data);
        buf_release(&why);
    } else if (d->silence > SILENCE_MAX) {
        result = err_set("'%s': a tag or comment before byte %" PRIu64 "%s is too long", d->path,
                         d->fed, in.data);
    }
    buf_release(&in);
    return result;
}

/* The end of the bytes: is it also the end of the XML? */
static int check_end(struct dump *d)
{
    struct buf in = BUF_INIT;
    where(d, &in);
    static const char close[] = "</mediawiki>"; /* it stands in a stream of its own */
    int is_part = d->ranges && d->place == MEDIAWIKI;
    xmlParseChunk(d->xml, close, is_part ? (int)sizeof close - 1 : 0, 1);
    int result = 0;
    if (!d->root_closed)
        result = err_set("'%s' is cut short: the XML ends at byte %" PRIu64 "%s", d->path, d->fed,
                         in.data);
    else
        result = check_parser(d);
    buf_release(&in);
    return result;
}

/* Gives the parser one more piece. */
static void feed(struct dump *d)
{
    char bytes[CHUNK];
    xmlSetGenericErrorFunc(NULL, on_message); /* it is per thread, and each may come here */
    int64_t n = unpack_read(d->in, bytes, sizeof bytes);
    int failed = n < 0 || (!d->fed && check_first(d, bytes, (size_t)n) < 0);
    if (failed) {
        d->error = mem_strdup(err_get());
        if (d->fed)
            xmlParseChunk(d->xml, NULL, 0, 1); /* pages that it holds back */
        d->ended = 1;
    } else if (!n) {
        if (check_end(d) < 0)
            stop(d);
        d->ended = 1;
    } else {
        d->fed += (uint64_t)n;
        d->silence += (uint64_t)n;
        xmlParseChunk(d->xml, bytes, (int)n, 0);
        if (check_parser(d) < 0)
            stop(d);
    }
}

int dump_read(struct dump *d, struct dump_page *page)
{
    while (d->head == d->tail && !d->ended)
        feed(d);
    if (d->head < d->tail) {
        struct dump_page keep = *page;
        *page = d->pages[d->head];
        dump_page_clear(&keep);
        d->pages[d->head++] = keep;
        return 1;
    }
    return d->error ? err_set("%s", d->error) : 0;
}
