#include "tokenizer/input/source.h"

#include "common/base/utf8.h"
#include "common/files/file.h"
#include "common/files/packed.h"
#include "common/files/paths.h"
#include "common/formats/document.h"
#include "common/formats/js.h"
#include "common/formats/kinds.h"
#include "common/formats/rows.h"
#include "common/program/tool.h"
#include "tokenizer/input/csv.h"
#include "unicode/whitespace.h"

enum { CHUNK_BYTES = 1 << 16, UNPACKED_MOST = 1 << 30 };

struct source {
    struct file_names paths;
    size_t next; /* index of the file to open next */
    struct source_options how;
    struct source_counts counts;
    int sentences; /* some file read so far has sentences */

    enum source_format current; /* of the open file */
    struct input in;            /* path NULL: no file is open */
    struct packed packed;
    struct csv csv;
    size_t *columns; /* column numbers of the fields */
    size_t column_count, columns_cap;
    struct rows rows;
    struct document_reader reader;
    struct document document;
    uint64_t line;
};

struct source *source_open(char *const *paths, int count, const struct source_options *o)
{
    struct source *s = mem_zalloc(1, sizeof *s);
    s->how = *o;
    if (!s->how.most)
        s->how.most = UNPACKED_MOST;
    s->document = (struct document)DOCUMENT_INIT;
    if (paths_expand(&s->paths, paths, count) < 0 ||
        (o->output &&
         tool_is_no_input(o->output, (const char *const *)s->paths.names, s->paths.count) < 0)) {
        source_close(s);
        return NULL;
    }
    return s;
}

static void close_file(struct source *s)
{
    csv_close(&s->csv);
    rows_close(&s->rows);
    packed_close(&s->packed, &s->in);
}

void source_close(struct source *s)
{
    if (!s)
        return;
    close_file(s);
    document_release(&s->document);
    free(s->columns);
    file_names_release(&s->paths);
    free(s);
}

/* ---- one file ------------------------------------------------------------------------------ */

static enum source_format guess(const char *name, const char *text, size_t n)
{
    enum columns_kind kind;
    if (kinds_columns(text, n, &kind))
        return kind == COLUMNS_PARQUET ? SOURCE_PARQUET : SOURCE_ARROW;
    if (file_ends_with(name, ".csv") || kinds_is_table(text, n, ','))
        return SOURCE_CSV;
    return kinds_is_documents(text, n)                                 ? SOURCE_DOCUMENTS
           : kinds_is_jsonl(text, n) || file_ends_with(name, ".jsonl") ? SOURCE_JSONL
                                                                       : SOURCE_TEXT;
}

/* Finds the format of the open file. Returns 0, or -1 with an error. */
static int recognise(struct source *s, const char *path)
{
    int64_t n = kinds_look(&s->in);
    if (n < 0)
        return -1;
    const char *text = n ? s->in.data + s->in.begin : "";
    if ((s->how.objects && kinds_check(s->in.path, text, (size_t)n) < 0) ||
        file_check_pointer(s->in.path, text, (size_t)n) < 0)
        return -1;
    s->current = s->how.format;
    if (s->current == SOURCE_SENTENCES && kinds_is_documents(text, (size_t)n))
        return err_set("%s: its marks <doc ...> are no sentences: leave out --format", s->in.path);
    if (s->current != SOURCE_AUTO)
        return 0;
    const size_t mark = utf8_mark(text, (size_t)n);
    SCOPED_MEM char *name = mem_strndup(path, packed_name(path));
    const char *kind = kinds_recognise(name, text + mark, (size_t)n - mark);
    s->current = guess(name, text + mark, (size_t)n - mark);
    return kind ? err_set("%s: not text but %s", s->in.path, kind) : 0;
}

/* Returns the names of the fields or columns that are read. */
static const char *fields(const struct source *s)
{
    return s->how.fields ? s->how.fields : "text";
}

static int no_column(const struct source *s, const char *name, size_t n)
{
    SCOPED(buf) columns = BUF_INIT;
    if (!s->csv.count)
        return err_set("%s: no column \"%.*s\": the file is empty", s->in.path, (int)n, name);
    for (size_t i = 0, len; i < s->csv.count; i++) {
        const char *column = csv_cell(&s->csv, i, &len);
        buf_addf(&columns, "%s%.*s", i ? ", " : "", (int)len, column);
    }
    return err_set("%s: no column \"%.*s\": the table has %s; --field names another", s->in.path,
                   (int)n, name, columns.data);
}

/* Appends the index of the column called name[0..n) to s->columns. Returns 0, or -1 with an error
 * if there is not exactly one such column. */
static int find_column(struct source *s, const char *name, size_t n)
{
    size_t found = 0;
    mem_grow(s->columns, s->columns_cap, s->column_count + 1);
    for (size_t i = 0, len; i < s->csv.count; i++) {
        const char *column = csv_cell(&s->csv, i, &len);
        if (len == n && !memcmp(column, name, n)) {
            s->columns[s->column_count] = i;
            found++;
        }
    }
    if (!found)
        return no_column(s, name, n);
    if (found > 1)
        return err_set("%s: %zu columns have the name \"%.*s\"", s->in.path, found, (int)n, name);
    s->column_count++;
    return 0;
}

/* Reads the column names of a table. An empty file is an error, because it has no columns. */
static int open_table(struct source *s)
{
    csv_open(&s->csv, &s->in);
    s->column_count = 0;
    if (csv_read(&s->csv) < 0)
        return -1;
    for (const char *name = fields(s);; name++) {
        size_t n = strcspn(name, ",");
        if (find_column(s, name, n) < 0)
            return -1;
        name += n;
        if (!*name)
            return 0;
    }
}

/* Opens a Parquet or Arrow file. Its pages are compressed, so a document's length is limited. */
static int open_rows(struct source *s)
{
    const struct input *in = &s->in;
    enum columns_kind kind = COLUMNS_ARROW_STREAM;
    if (s->current == SOURCE_PARQUET)
        kind = COLUMNS_PARQUET;
    else if (in->data && bytes_begin(in->data + in->begin, in->end - in->begin, "ARROW1"))
        kind = COLUMNS_ARROW_FILE;
    s->in.most = s->how.most;
    return rows_open(&s->rows, &s->in, kind, fields(s));
}

static int has_fields(enum source_format f)
{
    return f == SOURCE_JSONL || f == SOURCE_CSV || f == SOURCE_PARQUET || f == SOURCE_ARROW;
}

static int open_next(struct source *s)
{
    const char *path = s->paths.names[s->next];
    if (packed_open(&s->packed, &s->in, path) < 0)
        return -1;
    s->in.most = s->packed.is_packed || !s->in.regular ? s->how.most : 0;
    if (recognise(s, path) < 0)
        return -1;
    /* an empty file, such as Spark's _SUCCESS, has no records */
    if (s->how.fields && !has_fields(s->current) && input_peek(&s->in, 1))
        return err_set("%s: neither JSON lines nor a table, so that it has no fields", s->in.path);
    if (s->current != SOURCE_TEXT) /* a file that is one document stays as it is */
        input_skip(&s->in, utf8_mark(s->in.data + s->in.begin, s->in.end - s->in.begin));
    if (s->current == SOURCE_DOCUMENTS)
        document_open(&s->reader, &s->in);
    s->line = 0;
    s->next++;
    if (s->current == SOURCE_CSV)
        return open_table(s);
    return s->current == SOURCE_PARQUET || s->current == SOURCE_ARROW ? open_rows(s) : 0;
}

/* Parses a line again, with invalid text replaced. Returns the JSON, or NULL with the first error
 * if the line is still not valid. */
static struct js *parse_mended(struct source *s, const char *line, size_t n, const char *name)
{
    struct err why = err_keep();
    SCOPED(buf) mended = BUF_INIT;
    struct js *root = NULL;
    uint64_t replaced = mend_json(&mended, line, n);
    if (mend_check(s->how.mend, replaced, n) < 0)
        err_in("%s", name);
    else if (!replaced || !(root = js_parse_line(mended.data, mended.len, name)))
        err_restore(&why);
    s->counts.replaced += root ? replaced : 0;
    return root;
}

/* Returns the value of key[0..n) in the object. If the object has no such key, splits the key at a
 * point: searches the part after the point in the object named by the part before it. Returns NULL
 * if nothing is found. */
static const struct js *find_field(const struct js *object, const char *key, size_t n)
{
    SCOPED(buf) name = BUF_INIT;
    buf_add(&name, key, n);
    const struct js *value = js_get(object, name.data);
    for (size_t i = 0; i < n && !value; i++) {
        if (key[i] != '.')
            continue;
        buf_set(&name, key, i);
        value = find_field(js_get(object, name.data), key + i + 1, n - i - 1);
    }
    return value;
}

/* Appends the strings of all fields to `text`. A null counts as an empty string. Returns the number
 * of fields, or -1 with an error if one is neither a string nor null. */
static int add_fields(const struct js *root, const char *fields, const char *where,
                      struct buf *text)
{
    int count = 1;
    for (const char *key = fields;; key++, count++) {
        size_t n = strcspn(key, ","), len;
        const struct js *field = find_field(root, key, n);
        const char *value = js_text(field, &len);
        if (!value && !js_is_null(field))
            return err_set("%s: no string \"%.*s\"; --field names another", where, (int)n, key);
        if (key > fields)
            buf_adds(text, "\n\n");
        if (value)
            buf_add(text, value, len);
        key += n;
        if (!*key)
            return count;
    }
}

/* read_json, read_csv and read_row append the cells of the next record, with blank lines between
 * them. Each returns the number of cells, 0 at the end of the file, or -1 with an error. */
static int read_json(struct source *s, struct buf *text)
{
    char *line;
    size_t n;
    int got;
    do {
        got = input_line(&s->in, &line, &n);
        s->line++;
    } while (got > 0 && !whitespace_strip(line, n).n);
    if (got <= 0)
        return got;
    SCOPED(buf) name = buf_format("%s: line %" PRIu64, s->in.path, s->line);
    SCOPED_JS root = js_parse_line(line, n, name.data);
    if (!root && s->how.mend != MEND_NONE)
        root = parse_mended(s, line, n, name.data);
    return root ? add_fields(root, fields(s), name.data, text) : -1;
}

static int read_csv(struct source *s, struct buf *text)
{
    size_t names = s->csv.count;
    int got = csv_read(&s->csv);
    if (got <= 0)
        return got;
    if (s->csv.count != names)
        return err_set("%s: line %" PRIu64 ": the record has not %zu cells as the columns, but %zu",
                       s->in.path, s->csv.record, names, s->csv.count);
    for (size_t i = 0, len; i < s->column_count; i++) {
        const char *cell = csv_cell(&s->csv, s->columns[i], &len);
        if (i)
            buf_adds(text, "\n\n");
        buf_add(text, cell, len);
    }
    return (int)s->column_count;
}

static size_t without_return(struct source *s, const char *line, size_t n)
{
    int has = n && line[n - 1] == '\r';
    s->counts.returns += (uint64_t)has;
    return n - (size_t)has;
}

static int read_line(struct source *s, struct buf *text)
{
    char *line;
    size_t n;
    uint64_t before = s->in.offset;
    int got = input_line(&s->in, &line, &n);
    if (got <= 0)
        return got;
    int ended = s->in.offset - before > n;
    if (s->current == SOURCE_LINES && ended)
        n = without_return(s, line, n);
    buf_add(text, line, n);
    if (s->current == SOURCE_TEXT && ended)
        buf_addc(text, '\n');
    return 1;
}

/* Returns -1 with an error if the document that begins at text[before] is too long, else 0. */
static int check_length(const struct source *s, const struct buf *text, size_t before)
{
    return s->in.most && text->len - before > s->in.most
               ? err_set("%s: a document is longer than %zu bytes", s->in.path, s->in.most)
               : 0;
}

/* Reads a row of a table; see read_json. A null counts as an empty string. */
static int read_row(struct source *s, struct buf *text)
{
    const struct rows *r = &s->rows;
    size_t before = text->len;
    int got = rows_read(&s->rows);
    if (got <= 0)
        return got;
    for (size_t i = 0; i < r->count; i++) {
        if (i)
            buf_adds(text, "\n\n");
        buf_add(text, r->cells[i].text, r->cells[i].len);
        if (check_length(s, text, before) < 0)
            return -1;
    }
    return (int)r->count;
}

/* Appends the lines up to a blank one, with LF between them. Returns 1, 0 at the end of the file,
 * or -1 with an error. */
static int read_sentences(struct source *s, struct buf *text)
{
    char *line;
    size_t n, before = text->len;
    int got;
    while ((got = input_line(&s->in, &line, &n)) > 0) {
        const int blank = !whitespace_strip(line, n).n;
        if (blank && text->len > before)
            break;
        if (blank)
            continue;
        if (text->len > before)
            buf_addc(text, '\n');
        buf_add(text, line, without_return(s, line, n));
        if (check_length(s, text, before) < 0)
            return -1;
    }
    return got < 0 ? -1 : text->len > before;
}

/* Appends the whole file. Returns 1, 0 if it is empty (then no document), or -1 with an error. */
static int read_file(struct source *s, struct buf *text)
{
    size_t before = text->len;
    int64_t n;
    while ((n = input_peek(&s->in, CHUNK_BYTES)) > 0) {
        buf_add(text, s->in.data + s->in.begin, (size_t)n);
        input_skip(&s->in, (size_t)n);
        if (check_length(s, text, before) < 0)
            return -1;
    }
    return n < 0 ? -1 : text->len > before;
}

static int read_document(struct source *s, struct buf *text)
{
    int got = document_read(&s->reader, &s->document);
    if (got > 0)
        buf_add(text, s->document.text.data, s->document.text.len);
    return got;
}

typedef int read_next(struct source *s, struct buf *text);

/* Reads the next document of the open file, and counts it. Returns 1, 0 at the end of the file, or
 * -1 with an error. */
static int read_open(struct source *s, struct buf *text, int *sentences)
{
    static read_next *const reads[] = {
        [SOURCE_DOCUMENTS] = read_document,  [SOURCE_JSONL] = read_json,
        [SOURCE_TEXT] = read_file,           [SOURCE_LINES] = read_line,
        [SOURCE_SENTENCES] = read_sentences, [SOURCE_CSV] = read_csv,
        [SOURCE_PARQUET] = read_row,         [SOURCE_ARROW] = read_row,
    };
    read_next *const read = s->current == SOURCE_TEXT && s->how.text_by_line ? read_line
                                                                             : reads[s->current];
    const size_t before = text->len;
    const int got = read(s, text), between = 2 * (got - 1); /* line ends between the cells */
    *sentences = s->current == SOURCE_DOCUMENTS ? s->reader.sentences
                                                : s->current == SOURCE_SENTENCES;
    s->counts.documents += got > 0;
    s->counts.empty += got > 0 && has_fields(s->current) && text->len - before == (size_t)between;
    return got < 0 ? -1 : got > 0;
}

const char *source_file(const struct source *s)
{
    const char *path = s->next ? s->paths.names[s->next - 1] : "";
    return strcmp(path, "-") ? path : "<stdin>";
}

int source_read(struct source *s, struct buf *text, int *sentences)
{
    for (;;) {
        if (!s->in.path && s->next == s->paths.count) {
            *sentences = s->sentences;
            return !s->counts.documents || s->counts.empty < s->counts.documents
                       ? 0
                       : err_set("%s: no record has any text in the column or field that is read "
                                 "(of %" PRIu64 ")",
                                 source_file(s), s->counts.documents);
        }
        if (!s->in.path && open_next(s) < 0)
            return -1;
        int got = read_open(s, text, sentences);
        if (got)
            return got;
        s->sentences |= *sentences;
        close_file(s);
    }
}

const struct source_counts *source_counts(const struct source *s)
{
    return &s->counts;
}
