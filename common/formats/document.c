#include "common/formats/document.h"

#include "common/base/noun.h"

static const char BEGIN[] = "<!-- textmill documents 1 ";
static const char END[] = "<!-- end documents=";

void document_release(struct document *d)
{
    buf_release(&d->id);
    buf_release(&d->url);
    buf_release(&d->title);
    buf_release(&d->more);
    buf_release(&d->text);
}

/* ---- writing ---------------------------------------------------------------------------- */

typedef char row __attribute__((vector_size(16)));

/* Returns 1 if any of the 16 bytes at s must be escaped in XML, else 0. */
static int has_special(const char *s)
{
    row r;
    memcpy(&r, s, sizeof r);
    row special = (r == '&') | (r == '<') | (r == '>') | (r == '"');
    uint64_t both[2];
    memcpy(both, &special, sizeof both);
    return (both[0] | both[1]) != 0;
}

void document_escape(struct buf *out, const char *s, size_t n, int attribute)
{
    size_t plain = 0;
    for (size_t i = 0; i < n; i++) {
        while (i + sizeof(row) < n && !has_special(s + i))
            i += sizeof(row);
        char c = s[i];
        const char *entity = c == '&'                ? "&amp;"
                             : c == '<'              ? "&lt;"
                             : c == '>'              ? "&gt;"
                             : c == '"' && attribute ? "&quot;"
                                                     : NULL;
        if (!entity)
            continue;
        buf_add(out, s + plain, i - plain);
        buf_adds(out, entity);
        plain = i + 1;
    }
    buf_add(out, s + plain, n - plain);
}

void document_put_begin(struct buf *out, int sentences)
{
    buf_addf(out, "%ssentences=%d -->\n", BEGIN, sentences);
}

void document_put(struct buf *out, const struct document *d)
{
    buf_adds(out, "<doc id=\"");
    document_escape(out, d->id.data, d->id.len, 1);
    buf_adds(out, "\" url=\"");
    document_escape(out, d->url.data, d->url.len, 1);
    buf_adds(out, "\" title=\"");
    document_escape(out, d->title.data, d->title.len, 1);
    buf_addc(out, '"');
    buf_add(out, d->more.data, d->more.len);
    buf_adds(out, ">\n");
    document_escape(out, d->title.data, d->title.len, 0);
    buf_adds(out, "\n\n");
    document_escape(out, d->text.data, d->text.len, 0);
    buf_adds(out, "\n\n</doc>\n");
}

void document_put_end(struct buf *out, uint64_t documents)
{
    buf_addf(out, "%s%" PRIu64 " -->\n", END, documents);
}

/* ---- reading ---------------------------------------------------------------------------- */

static void add_unescaped(struct buf *out, const char *s, size_t n)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' } };
    while (n) {
        const char *amp = memchr(s, '&', n);
        size_t plain = amp ? (size_t)(amp - s) : n;
        buf_add(out, s, plain);
        s += plain;
        n -= plain;
        if (!n)
            break;
        size_t used = 1;
        char c = '&';
        for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
            if (bytes_begin(s, n, entities[i].name)) {
                used = strlen(entities[i].name);
                c = entities[i].c;
            }
        }
        buf_addc(out, c);
        s += used;
        n -= used;
    }
}

static void get_attribute(struct buf *out, const char *line, size_t len, const char *name)
{
    char open[32];
    int k = snprintf(open, sizeof open, " %s=\"", name);
    buf_clear(out);
    const char *at = memmem(line, len, open, (size_t)k);
    if (!at)
        return;
    at += k;
    const char *end = memchr(at, '"', (size_t)(line + len - at));
    if (end)
        add_unescaped(out, at, (size_t)(end - at));
}

static int is_own(const char *name, size_t n)
{
    return bytes_are(name, n, "id") || bytes_are(name, n, "url") || bytes_are(name, n, "title");
}

/* Sets *out to the attributes of the line that have no field of their own. */
static void get_others(struct buf *out, const char *line, size_t len)
{
    const char *at = line + strlen("<doc"), *end = line + len, *equals, *quote;
    buf_clear(out);
    for (; at < end && *at == ' ' && (equals = memchr(at, '=', (size_t)(end - at)));
         at = quote + 1) {
        if (equals + 1 >= end || equals[1] != '"' ||
            !(quote = memchr(equals + 2, '"', (size_t)(end - equals - 2))))
            break;
        if (!is_own(at + 1, (size_t)(equals - at - 1)))
            buf_add(out, at, (size_t)(quote + 1 - at));
    }
}

void document_open(struct document_reader *r, struct input *in)
{
    *r = (struct document_reader){ .in = in };
}

static int torn(struct document_reader *r)
{
    return err_set("%s: document stream ends at byte %" PRIu64 " without its end mark, after "
                   "%" PRIu64 " document%s: the program that writes it failed",
                   r->in->path, r->in->offset, r->documents, noun_end(r->documents));
}

static int read_end_mark(struct document_reader *r, const char *line, size_t len)
{
    char text[32];
    const size_t n = len - strlen(END), most = sizeof text;
    snprintf(text, most, "%.*s", (int)(n < most ? n : most), line + strlen(END));
    uint64_t promised = 0;
    if (sscanf(text, "%" SCNu64 " -->", &promised) != 1)
        return err_set("%s: end mark at byte %" PRIu64 " is malformed", r->in->path,
                       r->in->offset - len - 1);
    if (promised != r->documents)
        return err_set("%s: end mark at byte %" PRIu64 " says documents=%" PRIu64
                       ", but the stream has %" PRIu64,
                       r->in->path, r->in->offset - len - 1, promised, r->documents);
    r->promised = 0;
    return 0;
}

/* Finds the next line that begins with <doc, and sets *line and *len to it. Returns 1, 0 at the end
 * of the stream, or -1 with an error. */
static int find_doc(struct document_reader *r, char **line, size_t *len)
{
    for (int got; (got = input_line(r->in, line, len)) != 0;) {
        if (got < 0)
            return -1;
        if (bytes_begin(*line, *len, BEGIN)) {
            if (r->promised)
                return torn(r);
            r->promised = 1;
            r->documents = 0; /* streams may be concatenated */
            r->sentences = memmem(*line, *len, "sentences=1", 11) != NULL;
        } else if (bytes_begin(*line, *len, END)) {
            if (read_end_mark(r, *line, *len) < 0)
                return -1;
        } else if (bytes_begin(*line, *len, "<doc ")) {
            r->offset = r->in->offset - *len - 1;
            return 1;
        } else if (*len && (*line)[0] != '\r') {
            return err_set("%s: not a document stream: byte %" PRIu64 " is outside any <doc>",
                           r->in->path, r->in->offset - *len - 1);
        }
    }
    return r->promised ? torn(r) : 0;
}

int document_read(struct document_reader *r, struct document *d)
{
    char *line;
    size_t len;
    int got = find_doc(r, &line, &len);
    if (got <= 0)
        return got;
    get_attribute(&d->id, line, len, "id");
    get_attribute(&d->url, line, len, "url");
    get_attribute(&d->title, line, len, "title");
    get_others(&d->more, line, len);
    buf_clear(&d->text);
    const int cr = line[len - 1] == '\r'; /* of a file whose lines end with CR LF */
    for (uint64_t n = 0; (got = input_line(r->in, &line, &len)) > 0; n++) {
        len -= cr && len && line[len - 1] == '\r';
        if (bytes_begin(line, len, "</doc>")) {
            buf_rtrim(&d->text);
            r->documents++;
            return 1;
        }
        /* A blank line follows a title, whose attribute may have other entities, or end at the
         * first quotation mark in it. */
        const size_t same = n == 1 ? strcspn(d->title.data, "&") : 0;
        if (n == 1 && !len &&
            (d->text.len < 2 || (!strncmp(d->text.data, d->title.data, same) &&
                                 (!same || d->title.data[same] || d->text.data[same] == '"')))) {
            if (d->text.len > 1) /* the line has all of the title */
                buf_set(&d->title, d->text.data, d->text.len - 1);
            buf_clear(&d->text);
            continue;
        }
        add_unescaped(&d->text, line, len);
        if (n == 0 && bytes_are(d->text.data, d->text.len, d->title.data))
            buf_clear(&d->text);
        else
            buf_addc(&d->text, '\n');
        if (r->in->most && d->text.len > r->in->most)
            return err_set("%s: document at byte %" PRIu64 " is longer than %zu bytes", r->in->path,
                           r->offset, r->in->most);
    }
    if (got < 0)
        return -1;
    return err_set("%s: document at byte %" PRIu64 " ('%s') has no </doc>", r->in->path, r->offset,
                   d->title.data);
}

void document_put_attribute(struct buf *out, const struct buf *more, const char *name,
                            const char *value)
{
    SCOPED(buf) older = buf_format(" %s=\"", name);
    const char *end = more->data + more->len;
    const char *at = bytes_find(more->data, end, older.data, older.len);
    const char *after = at ? memchr(at + older.len, '"', (size_t)(end - at) - older.len) : 0;
    buf_add(out, more->data, (size_t)((after ? at : end) - more->data));
    if (after)
        buf_add(out, after + 1, (size_t)(end - after - 1));
    buf_addf(out, "%s%s\"", older.data, value);
}
