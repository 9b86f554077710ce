#include "textclean/entry.h"

#include "common/base/utf8.h"
#include "common/files/paths.h"
#include "common/formats/js.h"
#include "common/formats/js_scan.h"
#include "common/formats/kinds.h"
#include "unicode/whitespace.h"

enum { DOCUMENT_MOST = 1 << 30, NESTED_MOST = 200, PAD = 64 };

void entry_init(struct entry *r)
{
    *r = (struct entry){ .document = DOCUMENT_INIT, .raw = BUF_INIT };
}

void entry_release(struct entry *r)
{
    document_release(&r->document);
    buf_release(&r->raw);
}

/* ---- reading --------------------------------------------------------------------------------- */

int entries_open(struct entries *s, char *const *paths, int count, enum entry_format format,
                 const char *field)
{
    const int any = format == ENTRY_TEXT || format == ENTRY_LINES;
    *s = (struct entries){ .format = format, .any = any, .field = field, .sentences = -1 };
    return paths_expand(&s->paths, paths, count);
}

static void close_file(struct entries *s)
{
    rows_close(&s->rows);
    packed_close(&s->packed, &s->in);
}

void entries_close(struct entries *s)
{
    close_file(s);
    file_names_release(&s->paths);
}

/* Finds the format of the open file, and checks that it is that of the files before. An empty file
 * passes as any, and blank lines as JSON lines. Returns 0, or -1 with an error. */
static int recognise(struct entries *s)
{
    static const char *const names[] = { "", "documents", "JSON lines", "text", "", "Parquet" };
    enum columns_kind columns = COLUMNS_PARQUET;
    int64_t n = kinds_look(&s->in);
    if (n <= 0)
        return n < 0 ? -1 : 0;
    const size_t mark = utf8_mark(s->in.data + s->in.begin, (size_t)n);
    input_skip(&s->in, mark);
    n -= (int64_t)mark;
    const char *text = s->in.data + s->in.begin;
    SCOPED_MEM char *name = mem_strndup(s->in.path, packed_name(s->in.path));
    const char *kind = s->any ? NULL : kinds_recognise(name, text, (size_t)n);
    const int rows = kinds_columns(text, (size_t)n, &columns);
    if (rows && columns != COLUMNS_PARQUET)
        kind = "an Arrow file: Parquet or JSON lines are wanted";
    else if (rows && s->format == ENTRY_TEXT)
        kind = "Parquet";
    else if (!kind && !s->any &&
             (file_ends_with(name, ".csv") || kinds_is_table(text, (size_t)n, ',')))
        kind = "a table (CSV): JSON lines or Parquet are wanted, or --format text";
    if (file_check_pointer(s->in.path, text, (size_t)n) < 0)
        return -1;
    if (kind && s->format != ENTRY_LINES)
        return err_set("%s: not text but %s", s->in.path, kind);
    if (s->any || (s->format == ENTRY_JSONL && !whitespace_strip(text, (size_t)n).n))
        return 0;
    enum entry_format found = rows                                  ? ENTRY_PARQUET
                              : kinds_is_documents(text, (size_t)n) ? ENTRY_DOCUMENTS
                              : kinds_is_jsonl(text, (size_t)n) || file_ends_with(name, ".jsonl")
                                  ? ENTRY_JSONL
                                  : ENTRY_TEXT;
    if (s->format == ENTRY_AUTO)
        s->format = found;
    return found == s->format ? 0
                              : err_set("%s: %s, not %s: all files of a run have one format",
                                        s->in.path, names[found], names[s->format]);
}

static int open_next(struct entries *s)
{
    if (packed_open(&s->packed, &s->in, s->paths.names[s->next]) < 0)
        return -1;
    s->next++;
    s->line = 0;
    s->in.most = DOCUMENT_MOST;
    if (recognise(s) < 0)
        return -1;
    document_open(&s->reader, &s->in);
    /* an empty file, such as Spark's _SUCCESS, has no rows */
    return s->format == ENTRY_PARQUET && input_peek(&s->in, 1)
               ? rows_open(&s->rows, &s->in, COLUMNS_PARQUET, s->field)
               : 0;
}

static int read_document(struct entries *s, struct entry *r)
{
    int got = document_read(&s->reader, &r->document);
    if (got > 0 && s->sentences >= 0 && s->reader.sentences != s->sentences)
        return err_set("%s: the input mixes documents with and without sentences", s->in.path);
    if (got > 0)
        s->sentences = s->reader.sentences;
    return got;
}

static int read_line(struct entries *s, struct buf *to)
{
    char *line;
    size_t n;
    int got;
    do {
        got = input_line(&s->in, &line, &n);
        s->line++;
        if (got > 0 && n && line[n - 1] == '\r' && s->format == ENTRY_JSONL)
            n--;
    } while (got > 0 && s->format == ENTRY_JSONL && !whitespace_strip(line, n).n);
    if (got > 0)
        buf_add(to, line, n);
    return got;
}

static int read_file(struct entries *s, struct buf *text)
{
    int64_t n;
    while ((n = input_peek(&s->in, 1 << 16)) > 0) {
        buf_add(text, s->in.data + s->in.begin, (size_t)n);
        input_skip(&s->in, (size_t)n);
        if (text->len > DOCUMENT_MOST)
            return err_set("%s: a document is longer than %d bytes", s->in.path, DOCUMENT_MOST);
    }
    return n < 0 ? -1 : text->len > 0;
}

/* Reads a row and joins the texts of its columns by blanks. A null is an empty text. */
static int read_row(struct entries *s, struct buf *text)
{
    int got = s->rows.reader ? rows_read(&s->rows) : 0;
    s->line = s->rows.row;
    for (size_t i = 0; got > 0 && i < s->rows.count; i++) {
        if (i)
            buf_addc(text, ' ');
        if (s->rows.cells[i].text)
            buf_add(text, s->rows.cells[i].text, s->rows.cells[i].len);
    }
    return got;
}

static int read_open(struct entries *s, struct entry *r)
{
    struct buf *text = &r->document.text;
    switch (s->format) {
    case ENTRY_DOCUMENTS: return read_document(s, r);
    case ENTRY_JSONL: return read_line(s, &r->raw);
    case ENTRY_LINES: return read_line(s, text);
    case ENTRY_TEXT: return read_file(s, text);
    case ENTRY_PARQUET: return read_row(s, text);
    case ENTRY_AUTO: break; /* an empty file */
    }
    return 0;
}

int entries_read(struct entries *s, struct entry *r)
{
    buf_clear(&r->raw);
    buf_clear(&r->document.text);
    r->changed = 0;
    r->close = 0;
    for (;;) {
        if (!s->in.path && s->next == s->paths.count)
            return 0;
        if (!s->in.path && open_next(s) < 0)
            return -1;
        int got = read_open(s, r);
        if (got < 0)
            return -1;
        if (got) {
            buf_reserve(&r->document.text, PAD);
            r->number = ++s->count;
            r->line = s->line;
            r->file = s->paths.names[s->next - 1];
            return 1;
        }
        close_file(s);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* The search in a JSON object for its text, and for the mark of an earlier run (entry.h), which is
 * a member of the outermost object. */
struct search {
    struct js_scan scan;
    struct entry *r;
    const char *field;
    int texts, depth;
};

static int scan_object(struct search *f, const char *field);

static int scan_text(struct search *f)
{
    struct entry *r = f->r;
    const char *text = "";
    size_t n = 0;
    if (f->texts++)
        return js_scan_error(&f->scan, f->scan.at, "the text's name occurs twice");
    const int first = js_scan_peek(&f->scan), is_null = first == 'n' || first == 'N'; /* NaN */
    r->text_begin = f->scan.at;
    if (!is_null && first >= 0 && first != '"')
        return err_set("\"%s\" is no string", f->field);
    if ((is_null ? js_scan_value(&f->scan, 0) : js_scan_text(&f->scan, &text, &n)) < 0)
        return err_in("\"%s\"", f->field);
    r->text_end = f->scan.at;
    buf_set(&r->document.text, text, n);
    buf_reserve(&r->document.text, PAD);
    return 0;
}

/* Reads the value of the member key[0..n) of an object. `field` is the text's name in this object;
 * NULL: the text is not in it. */
static int scan_member(struct search *f, const char *key, size_t n, const char *field)
{
    struct entry *r = f->r;
    if (field && bytes_are(key, n, field))
        return scan_text(f);
    if (field && strlen(field) > n && field[n] == '.' && !memcmp(field, key, n) &&
        js_scan_peek(&f->scan) == '{')
        return scan_object(f, field + n + 1);
    int is_mark = f->depth == 1 && bytes_are(key, n, ENTRY_MARK);
    js_scan_peek(&f->scan);
    size_t begin = f->scan.at;
    if (js_scan_value(&f->scan, NESTED_MOST - 1) < 0)
        return -1;
    if (is_mark) {
        r->mark_begin = begin;
        r->mark_end = f->scan.at;
    }
    return 0;
}

static int scan_object(struct search *f, const char *field)
{
    const char *key;
    size_t n, i = 0;
    int more;
    if (js_scan_mark(&f->scan, '{') < 0)
        return -1;
    f->depth++;
    for (; (more = js_scan_next(&f->scan, '}', i)) > 0; i++)
        if (js_scan_key(&f->scan, &key, &n) < 0 || scan_member(f, key, n, field) < 0)
            return -1;
    f->depth--;
    return more;
}

static int check_text(const struct buf *text)
{
    size_t valid = utf8_valid(text->data, text->len);
    return valid < text->len ? err_set("byte %zu is not UTF-8", valid) : 0;
}

static int find_text(struct search *f)
{
    struct entry *r = f->r;
    r->mark_begin = r->mark_end = 0;
    if (check_text(&r->raw) < 0 || scan_object(f, f->field) < 0)
        return -1;
    r->close = f->scan.at - 1;
    if (js_scan_peek(&f->scan) >= 0)
        return js_scan_error(&f->scan, f->scan.at, "text behind the object");
    return f->texts ? 0
                    : err_set("no string \"%s\"; --field names another (of tests: --against-field)",
                              f->field);
}

int entry_parse(struct entry *r, enum entry_format format, const char *field)
{
    struct search f = { .r = r, .field = field };
    int result = 0;
    if (format == ENTRY_PARQUET)
        result = check_text(&r->document.text);
    if (format == ENTRY_JSONL) {
        js_scan_init(&f.scan, r->raw.data, r->raw.len);
        f.scan.halves = 1; /* as tokenize reads them */
        result = find_text(&f);
        js_scan_release(&f.scan);
    }
    return result < 0 ? err_in("%s: %s %" PRIu64, strcmp(r->file, "-") ? r->file : "<stdin>",
                               format == ENTRY_JSONL ? "line" : "row", r->line)
                      : 0;
}

void entry_change(struct entry *r, const char *text, size_t n)
{
    buf_set(&r->document.text, text, n);
    r->changed = 1;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Appends raw[*at..begin) and, for raw[begin..end), s as a JSON string. Sets *at to `end`. */
static void put_in_place(const struct entry *r, size_t *at, size_t begin, size_t end, const char *s,
                         size_t n, struct buf *out)
{
    buf_add(out, r->raw.data + *at, begin - *at);
    js_quote(out, s, n);
    *at = end;
}

static void put_json(const struct entry *r, const char *mark, struct buf *out)
{
    size_t at = 0;
    int older = mark && r->mark_end;
    if (older && r->mark_begin < r->text_begin)
        put_in_place(r, &at, r->mark_begin, r->mark_end, mark, strlen(mark), out);
    if (r->changed)
        put_in_place(r, &at, r->text_begin, r->text_end, r->document.text.data,
                     r->document.text.len, out);
    if (older && r->mark_begin > r->text_begin)
        put_in_place(r, &at, r->mark_begin, r->mark_end, mark, strlen(mark), out);
    buf_add(out, r->raw.data + at, r->close - at);
    if (mark && !older) {
        buf_adds(out, ", \"" ENTRY_MARK "\": "); /* the text is a member before it */
        js_quote(out, mark, strlen(mark));
    }
    buf_add(out, r->raw.data + r->close, r->raw.len - r->close);
    buf_addc(out, '\n');
}

void entry_put(const struct entry *r, enum entry_format format, const char *mark, struct buf *out)
{
    const struct buf *text = &r->document.text;
    if (format == ENTRY_JSONL) {
        put_json(r, mark, out);
    } else if (format == ENTRY_DOCUMENTS && mark) {
        struct document marked = r->document;
        buf_init(&marked.more);
        document_put_attribute(&marked.more, &r->document.more, ENTRY_MARK, mark);
        document_put(out, &marked);
        buf_release(&marked.more);
    } else if (format == ENTRY_DOCUMENTS) {
        document_put(out, &r->document);
    } else if (format == ENTRY_LINES) { /* a line that was cut into pieces stays one */
        buf_add_replaced(out, text->data, text->len, "\n", 1, " ", 1);
        buf_addc(out, '\n');
    } else {
        buf_add(out, text->data, text->len);
        if (text->len && text->data[text->len - 1] != '\n')
            buf_addc(out, '\n'); /* what follows begins on a line of its own */
    }
}
