#include "wikiprep/input/dump.h"

#include <libxml/parser.h>
#include <strings.h>

#include "common/base/linked.h"
#include "common/base/log.h"
#include "common/base/utf8.h"
#include "common/files/file.h"
#include "wikiprep/input/export.h"
#include "wikiprep/input/html_page.h"
#include "wikiprep/input/part.h"

LINKED_LIBRARY(xml, "libxml2", LIBXML_DOTTED_VERSION)

static void *resize(void *p, size_t bytes)
{
    return mem_resize(p, 1, bytes);
}

/* Runs before main. Gives libxml2 memory functions that end the program if there is no memory;
 * otherwise its HTML parser would loop for ever. */
__attribute__((constructor)) static void give_memory(void)
{
    xmlMemSetup(free, mem_alloc, resize, mem_strdup);
}

enum {
    CHUNK = 1 << 16,
    ENTITIES_MAX = 1000,
    ENTITY_MAX = 1000,    /* maximum bytes of an entity's text */
    SILENCE_MAX = 1 << 26 /* maximum bytes of a tag or comment */
};

struct dump {
    char *path;
    struct unpack *in;
    struct part *part;           /* the part of `in` that is read; NULL: all of it */
    struct unpack_range *ranges; /* NULL: the whole dump */
    struct export export;        /* builds pages from the parser's events */
    xmlParserCtxtPtr xml;
    struct dump_counts counts;
    uint64_t silence; /* bytes given to the parser since its last event */
    int ended;
    int is_between; /* the </mediawiki> of the current export was read */
    char *error;    /* error to report after the pages before it were read */
    int is_html;    /* the pages are HTML (html_page.h) */
    size_t seen;    /* of HTML: no line or page ends in bytes [used, seen) of `rest` */
    uint64_t lines;
    xmlEntity **entities;
    size_t entity_count, entities_cap;

    /* For resuming after damage: */
    enum { FATAL, BAD_XML, HOLE } damage; /* kind of the error; HOLE: bytes are missing */
    int is_kept;                          /* `rest` begins at the parser's error */
    int is_foreign;                       /* the encoding is not UTF-8 */
    struct buf rest; /* bytes [used, len): XML to parse again, or HTML to read next */
    size_t used;
    int64_t origin; /* XML offset of the parser's first byte */
};

/* Returns the XML offset after the bytes given to the parser. */
static uint64_t given(const struct dump *d)
{
    return d->counts.xml_bytes - (d->rest.len - d->used);
}

/* Keeps in d->rest the bytes that the parser was given and did not parse. */
static void keep_rest(struct dump *d)
{
    const xmlParserInput *in = d->xml->input;
    size_t left = in && in->cur < in->end ? (size_t)(in->end - in->cur) : 0;
    if (d->is_kept)
        return;
    d->is_kept = 1;
    if (left <= d->used) {
        d->used -= left;
        return;
    }
    buf_set(&d->rest, in->cur, left);
    d->used = 0;
}

/* Stops parsing. Keeps the thread's error, to report it after the pages before it were read. */
static void stop(struct dump *d)
{
    if (d->ended)
        return;
    free(d->error); /* of a read that failed: `fail` flushes the parser */
    d->error = mem_strdup(err_get());
    d->damage = d->is_foreign || export_part(&d->export) == EXPORT_OUTSIDE ? FATAL : BAD_XML;
    keep_rest(d);
    d->ended = 1;
    xmlStopParser(d->xml);
}

/* Returns " in page 'TITLE'", or an empty text outside of pages. */
static struct buf where(const struct dump *d)
{
    const char *title = export_title(&d->export);
    return title ? buf_format(" in page '%.200s'", title) : (struct buf)BUF_INIT;
}

/* ---- parser events ----------------------------------------------------------------------- */

static void on_start(void *ctx, const xmlChar *name, const xmlChar *, const xmlChar *, int,
                     const xmlChar **, int attribute_count, int, const xmlChar **attributes)
{
    struct dump *d = ctx;
    d->silence = 0;
    if (export_part(&d->export) == EXPORT_OUTSIDE)
        d->is_foreign |= d->xml->input->buf->encoder != NULL;
    if (export_enter(&d->export, (const char *)name, attributes, attribute_count))
        return;
    err_set("'%s' is XML, but not a MediaWiki export: its root element is <%.60s>", d->path,
            (const char *)name);
    stop(d);
}

static void on_end(void *ctx, const xmlChar *, const xmlChar *, const xmlChar *)
{
    struct dump *d = ctx;
    d->silence = 0;
    export_leave(&d->export);
    if (!d->export.is_closed || d->is_foreign)
        return;
    d->is_between = 1;
    keep_rest(d);
    xmlStopParser(d->xml);
}

static void on_text(void *ctx, const xmlChar *text, int n)
{
    struct dump *d = ctx;
    d->silence = 0;
    if (export_text(&d->export, (const char *)text, (size_t)n))
        return;
    err_set("'%s': bad XML before byte %" PRIu64 ": a title has more than %d bytes", d->path,
            given(d), EXPORT_FIELD_MAX);
    stop(d);
}

/* ---- entities ---------------------------------------------------------------------------- */

/* Keeps an entity that a document type declares for plain text. Entities that contain markup or
 * other entities are ignored, because a little XML could expand to a huge text; so are external
 * ones. */
static void on_entity(void *ctx, const xmlChar *name, int type, const xmlChar *, const xmlChar *,
                      xmlChar *content)
{
    struct dump *d = ctx;
    if (type != XML_INTERNAL_GENERAL_ENTITY || strpbrk((const char *)content, "&<") ||
        strlen((const char *)content) > ENTITY_MAX || d->entity_count == ENTITIES_MAX)
        return;
    xmlEntity *e = mem_alloc(sizeof *e);
    mem_next(d->entities, d->entity_count, d->entities_cap) = e;
    /* declared as a predefined entity, which the parser treats as plain text */
    *e = (xmlEntity){ .type = XML_ENTITY_DECL,
                      .etype = XML_INTERNAL_PREDEFINED_ENTITY,
                      .name = xmlStrdup(name),
                      .content = xmlStrdup(content),
                      .length = xmlStrlen(content) };
}

static xmlEntityPtr find_entity(void *ctx, const xmlChar *name)
{
    struct dump *d = ctx;
    for (size_t i = 0; i < d->entity_count; i++)
        if (xmlStrEqual(d->entities[i]->name, name))
            return d->entities[i];
    return NULL;
}

static void free_entities(struct dump *d)
{
    for (size_t i = 0; i < d->entity_count; i++) {
        xmlFree((void *)(uintptr_t)d->entities[i]->name);
        xmlFree(d->entities[i]->content);
        xmlFree((void *)(uintptr_t)d->entities[i]->orig); /* the parser's copy */
        free(d->entities[i]);
    }
    free(d->entities);
}

/* Reports an undeclared entity. The parser accepts it if an external subset might declare it. */
static void on_unknown_entity(void *ctx, const xmlChar *name)
{
    struct dump *d = ctx;
    SCOPED(buf) in = where(d);
    err_set("'%s': bad XML before byte %" PRIu64 "%s: entity '%.60s' is not declared", d->path,
            given(d), in.data, (const char *)name);
    stop(d);
}

/* check_parser gets errors by xmlCtxtGetLastError. The type of .serror is not the same in all
 * versions of libxml2. */
static void on_message(void *ctx, const char *format, ...)
{
    (void)ctx, (void)format; /* otherwise libxml2 prints them to stderr */
}

/* Keeps the bytes after an error that ends the parse: after some errors the parser drops them. */
static void on_error(void *ctx, const char *format, ...)
{
    struct dump *d = ctx;
    const xmlError *e = xmlCtxtGetLastError(d->xml);
    (void)format;
    if (e && e->level == XML_ERR_FATAL)
        keep_rest(d);
}

/* ---- life -------------------------------------------------------------------------------- */

/* Stops libxml2's messages in this thread: settings are per thread, and any thread may feed the
 * parser. Before version 2.12, libxml2 crashes where it has no memory for them. */
static void silence_thread(void)
{
#if LIBXML_VERSION < 21200
    if (!xmlGetGlobalState())
        log_fatal("out of memory for the XML parser");
#endif
    xmlSetGenericErrorFunc(NULL, on_message);
}

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
        .warning = on_message,
        .error = on_error,
    };
    silence_thread();
    xmlParserCtxtPtr xml = xmlCreatePushParserCtxt(&events, d, NULL, 0, NULL);
    xmlCtxtUseOptions(xml, XML_PARSE_HUGE | XML_PARSE_NONET | XML_PARSE_NOENT);
    return xml;
}

static void free_parser(struct dump *d)
{
    xmlFreeDoc(d->xml->myDoc); /* made for declarations */
    xmlFreeParserCtxt(d->xml);
}

/* Replaces the parser by a new one, whose first byte is byte `origin` of the XML. */
static void renew_parser(struct dump *d, int64_t origin)
{
    free_parser(d);
    d->xml = new_parser(d);
    d->origin = origin;
    d->silence = 0;
    d->is_between = d->is_kept = 0;
}

static struct dump *open_dump(const char *path, struct unpack *in, struct part *part,
                              size_t max_text_bytes)
{
    if (!in)
        return NULL;
    struct dump *d = mem_zalloc(1, sizeof *d);
    d->path = mem_strdup(strcmp(path, "-") ? path : "<stdin>");
    export_init(&d->export, max_text_bytes);
    buf_init(&d->rest);
    d->in = in;
    d->part = part;
    d->xml = new_parser(d);
    return d;
}

struct dump *dump_open(const char *path, size_t max_text_bytes, int threads)
{
    return open_dump(path, unpack_open(path, threads), NULL, max_text_bytes);
}

struct dump *dump_open_ranges(const char *path, struct unpack_range *ranges, size_t count,
                              size_t max_text_bytes, int threads)
{
    struct unpack *in = unpack_open_ranges(path, ranges, count, threads);
    struct dump *d = open_dump(path, in, NULL, max_text_bytes);
    if (d)
        d->ranges = ranges;
    else
        free(ranges);
    return d;
}

struct dump *dump_open_part(const char *path, uint64_t begin, uint64_t end, size_t max_text_bytes,
                            int threads)
{
    struct unpack *in = unpack_open(path, 1);
    struct part *part = in ? part_open(in, begin, end, threads) : NULL;
    if (part)
        return open_dump(path, in, part, max_text_bytes);
    unpack_close(in);
    return NULL;
}

void dump_close(struct dump *d)
{
    if (!d)
        return;
    free_parser(d);
    free_entities(d);
    part_close(d->part);
    unpack_close(d->in);
    export_release(&d->export);
    buf_release(&d->rest);
    free(d->error);
    free(d->ranges);
    free(d->path);
    free(d);
}

int dump_help(struct dump *d)
{
    return unpack_help(d->in);
}

const struct dump_counts *dump_counts(const struct dump *d)
{
    return &d->counts;
}

const struct dump_site *dump_site(const struct dump *d)
{
    return &d->export.site;
}

uint64_t dump_packed_bytes(const struct dump *d)
{
    return unpack_packed(d->in);
}

/* ---- reading ----------------------------------------------------------------------------- */

/* Returns 1 if the text is the beginning of a page in HTML, perhaps after white space. */
static int begins_html(const char *s, size_t n)
{
    static const char *const html[] = { "<!doctype html", "<html" };
    const char *end = s + n;
    s = span_past(s + utf8_mark(s, n), end, " \t\r\n");
    for (int i = 0; i < 2; i++)
        if ((size_t)(end - s) >= strlen(html[i]) && !strncasecmp(s, html[i], strlen(html[i])))
            return 1;
    return 0;
}

/* Reports common inputs that are not dumps, before the parser would report bad XML. */
static int check_first(const struct dump *d, const char *s, size_t n)
{
    if (!n)
        return err_set("'%s' is empty", d->path);
    if (file_check_pointer(d->path, s, n) < 0)
        return -1;
    const char *end = s + n;
    if (begins_html(s, n))
        return err_set("'%s' is an HTML page, not a MediaWiki export", d->path);
    s = span_past(s + utf8_mark(s, n), end, " \t\r\n");
    n = (size_t)(end - s);
    int utf16 = n >= 2 &&
                (!memcmp(s, "\xFF\xFE", 2) || !memcmp(s, "\xFE\xFF", 2) || !memcmp(s, "\0<", 2));
    if (!n || (*s != '<' && !utf16))
        return err_set("'%s' is not a MediaWiki export: it does not begin with '<'", d->path);
    return 0;
}

/* Checks the parser's state after the bytes given to it last. */
static int check_parser(struct dump *d)
{
    if (d->error || d->is_between)
        return d->error ? -1 : 0;
    SCOPED(buf) in = where(d);
    const xmlError *e = xmlCtxtGetLastError(d->xml);
    if (!d->xml->wellFormed || d->xml->disableSAX) {
        SCOPED(buf) why = buf_format("%s", e && e->message ? e->message : "it is not well-formed");
        buf_rtrim(&why);
        for (char *lf = why.data; (lf = strchr(lf, '\n'));)
            *lf = ' ';
        long at = d->is_foreign ? xmlByteConsumed(d->xml) : 0;
        SCOPED(buf) line = BUF_INIT;
        if (e && !d->origin)
            buf_addf(&line, " (line %d)", e->line);
        return err_set("'%s': bad XML at byte %" PRIu64 "%s%s: %s", d->path,
                       at > 0 ? (uint64_t)(d->origin + at) : given(d), line.data, in.data,
                       why.data);
    }
    if (d->silence > SILENCE_MAX)
        return err_set("'%s': a tag or comment before byte %" PRIu64 "%s is too long", d->path,
                       given(d), in.data);
    return 0;
}

/* Checks that the XML is complete at the end of the input. */
static int check_end(struct dump *d)
{
    static const char close[] = "</mediawiki>"; /* in a multistream dump, it has its own stream */
    SCOPED(buf) in = where(d);
    int is_part = (d->ranges || (d->part && part_is_cut(d->part))) &&
                  export_part(&d->export) == EXPORT_BETWEEN_PAGES;
    xmlParseChunk(d->xml, close, is_part ? (int)sizeof close - 1 : 0, 1);
    const xmlParserInput *left = d->xml->input;
    int is_cut = !d->export.is_closed &&
                 !memmem(left->cur, (size_t)(left->end - left->cur), close, sizeof close - 1);
    if (is_cut)
        return err_set("'%s' is cut short: the XML ends at byte %" PRIu64 "%s", d->path,
                       d->counts.xml_bytes, in.data);
    return check_parser(d);
}

/* Ends the parse with the current error. is_damaged 1: reading may continue after the damage
 * (dump_resume), unless the file is not a dump. */
static void fail(struct dump *d, int is_damaged)
{
    const char *title = export_title(&d->export);
    struct buf why = buf_format(title ? "%s, in page '%.200s'" : "%s", err_get(), title);
    d->error = buf_detach(&why);
    d->damage = is_damaged && !d->is_foreign ? HOLE : FATAL;
    if (d->counts.xml_bytes)
        xmlParseChunk(d->xml, NULL, 0, 1); /* flush pages that the parser still holds */
    d->ended = 1;
}

/* Begins another export, whose first byte is `first`, at byte `offset` of the XML. */
static int begin_export(struct dump *d, char first, uint64_t offset)
{
    if (first != '<' && first != '\xEF')
        return err_set("'%s': bad XML at byte %" PRIu64 ": text after </mediawiki>", d->path,
                       offset);
    renew_parser(d, (int64_t)offset);
    d->counts.exports++;
    export_next(&d->export);
    return 0;
}

/* Adds the page in HTML that s[0..n) holds. */
static void add_html(struct dump *d, const char *s, size_t n)
{
    SCOPED(dump_page) page = DUMP_PAGE_INIT;
    SCOPED(dump_site) site = DUMP_SITE_INIT;
    SCOPED(buf) where = buf_format(*s == '{' ? "'%s' line %" PRIu64 : "'%s'", d->path, ++d->lines);
    if (html_page_read(&page, &site, s, n, d->export.max_text, where.data) < 0) {
        fail(d, 0);
        return;
    }
    if (!dump_site_equal(&site, &d->export.site)) {
        d->counts.exports += d->lines > 1;
        export_next(&d->export);
        dump_site_copy(&d->export.site, &site);
    }
    export_add(&d->export, &page);
}

/* Reads more bytes after the unused ones of d->rest, which it moves to its beginning. Returns their
 * number, 0 at the end, or -1 with an error. */
static int64_t read_more(struct dump *d)
{
    struct buf *b = &d->rest;
    buf_cut(b, 0, d->used);
    d->used = 0;
    buf_reserve(b, CHUNK);
    int64_t n = d->part ? part_read(d->part, b->data + b->len, CHUNK)
                        : unpack_read(d->in, b->data + b->len, CHUNK);
    if (n <= 0)
        return n;
    b->len += (size_t)n;
    b->data[b->len] = '\0';
    d->counts.xml_bytes += (uint64_t)n;
    return n;
}

/* Returns the end of the line of JSON, or of the page in HTML that another one follows, which is at
 * d->used; NULL if it is not in the buffer. */
static const char *html_end(const struct dump *d)
{
    static const char page[] = "<!DOCTYPE html>\n<html prefix=\"dc:";
    const struct buf *b = &d->rest;
    const char *s = b->data + d->used, *seen = b->data + d->seen, *end = b->data + b->len;
    if (*s == '{')
        return memchr(seen, '\n', (size_t)(end - seen));
    seen = seen - s > (ptrdiff_t)sizeof page ? seen - sizeof page : s + 1;
    return seen < end ? memmem(seen, (size_t)(end - seen), page, sizeof page - 1) : NULL;
}

/* Parses the next line of JSON or page of HTML if its end is in the buffer; else reads more
 * bytes. */
static void feed_html(struct dump *d)
{
    struct buf *b = &d->rest;
    for (; memchr(" \t\r\n", b->data[d->used], 4); d->used++) /* blanks between pages */
        d->lines += b->data[d->used] == '\n';
    if (d->seen < d->used)
        d->seen = d->used;
    const char *s = b->data + d->used, *end = html_end(d);
    if (end) {
        d->used = d->seen = (size_t)(end - b->data) + (*s == '{');
        add_html(d, s, (size_t)(end - s));
        return;
    }
    d->seen = b->len - d->used;
    int64_t n = read_more(d);
    if (n > 0 && d->seen > d->export.max_text + d->export.max_text / 2)
        n = err_set("'%s': page %" PRIu64 " is far longer than --max-page", d->path, d->lines + 1);
    if (n < 0) {
        fail(d, 0);
        return;
    }
    d->ended = !n;
    if (!n && b->len)
        add_html(d, b->data, b->len);
}

/* Gives the parser one more piece: bytes to parse again, or new bytes. */
static void feed(struct dump *d)
{
    const int is_first = !d->counts.xml_bytes;
    int64_t n = (int64_t)(d->rest.len - d->used);
    silence_thread();
    if (!n) {
        n = read_more(d);
        /* the whole head of a page in HTML tells whether it is one of a wiki */
        for (int64_t more = n;
             is_first && more > 0 && d->rest.len < CHUNK && begins_html(d->rest.data, d->rest.len);)
            n = (more = read_more(d)) < 0 ? more : (int64_t)d->rest.len;
        if (n > 0 && is_first && html_page_recognises(d->rest.data, (size_t)n)) {
            d->is_html = 1;
            d->used = utf8_mark(d->rest.data, (size_t)n);
            if (d->part &&
                err_set("cannot read a part of '%s': --part divides XML, not HTML", d->path))
                fail(d, 0);
            return;
        }
        if (n < 0 || (is_first && check_first(d, d->rest.data, (size_t)n) < 0)) {
            fail(d, n < 0);
            return;
        }
    }
    const char *bytes = d->rest.data + d->used;
    n = n < CHUNK ? n : CHUNK;
    d->used += (size_t)n;
    int is_end = !n;
    for (; d->is_between && n && memchr(" \t\r\n", *bytes, 4); n--)
        bytes++;
    if (d->is_between && n && begin_export(d, *bytes, given(d) - (uint64_t)n) < 0) {
        fail(d, 0);
        return;
    }
    d->silence += (uint64_t)n;
    if (n)
        xmlParseChunk(d->xml, bytes, (int)n, 0);
    if ((!is_end ? check_parser(d) : d->export.is_closed ? 0 : check_end(d)) < 0)
        stop(d);
    d->ended |= is_end;
}

int dump_read(struct dump *d, struct dump_page *page)
{
    while (!export_take(&d->export, page)) {
        if (d->ended)
            return d->error ? err_set("%s", d->error) : 0;
        if (d->is_html)
            feed_html(d);
        else
            feed(d);
    }
    return 1;
}

/* ---- resuming after damage ---------------------------------------------------------------- */

/* Drops bytes before the next page. Returns 1, 0 if there is no page, or -1 with an error if
 * reading failed. Sets *has_end to 1 if the dropped bytes contain the end of a page; else *has_end
 * is unchanged. */
static int skip_to_page(struct dump *d, int *has_end)
{
    static const char end[] = "</page>";
    const size_t tail = sizeof end - 2; /* a tag may be incomplete */
    struct buf *rest = &d->rest;
    for (;;) {
        const char *s = rest->data + d->used;
        size_t n = rest->len - d->used, at = part_find_page(s, n);
        *has_end |= memmem(s, at, end, sizeof end - 1) != NULL;
        if (at < n) {
            d->used += at;
            return 1;
        }
        d->used += n - (n < tail ? n : tail);
        int64_t got = read_more(d);
        if (got <= 0)
            return (int)got;
    }
}

/* Creates a new parser for the remaining bytes, and opens a root element for it. */
static void restart(struct dump *d)
{
    static const char root[] = "<mediawiki>";
    renew_parser(d, (int64_t)given(d) - (int64_t)strlen(root));
    d->ended = 0;
    xmlParseChunk(d->xml, root, (int)strlen(root), 0);
}

int dump_resume(struct dump *d)
{
    if (!d->error || d->damage == FATAL || (d->damage == HOLE && !unpack_resume(d->in)))
        return 0;
    int in_page = export_part(&d->export) == EXPORT_IN_PAGE, has_end = 0;
    if (d->damage == HOLE) {
        buf_clear(&d->rest);
        d->used = 0;
    } else if (!in_page && d->used < d->rest.len) {
        d->used++; /* the error may be at a page's tag */
    }
    int got = skip_to_page(d, &has_end);
    char *next_error = got < 0 ? mem_strdup(err_get()) : NULL;
    err_set("%s", d->error);
    if (!got)
        return 0;
    d->counts.pages_cut += d->damage == HOLE ? (uint64_t)(in_page + has_end) : in_page || has_end;
    free(d->error);
    d->error = next_error;
    export_restart(&d->export);
    if (got > 0)
        restart(d);
    else
        d->damage = HOLE;
    return 1;
}
