#include "tokenizer/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/document.h"
#include "common/err.h"
#include "common/file.h"
#include "common/js.h"
#include "common/mem.h"

enum { LOOK_BYTES = 64, CHUNK_BYTES = 1 << 16 };

struct source {
    char **paths;
    size_t count, cap, next; /* next: to be opened */
    enum source_format format;
    int text_by_line;

    int open;
    enum source_format current; /* of the open file */
    struct input in;
    struct document_reader reader;
    struct document document;
    uint64_t line;
};

/* ---- which files --------------------------------------------------------------------------- */

static void add_path(struct source *s, const char *path)
{
    mem_grow(s->paths, s->cap, s->count + 1);
    s->paths[s->count++] = mem_strdup(path);
}

static int add_folder(struct source *s, const char *dir);

static int add_any(struct source *s, const char *path)
{
    enum file_kind kind;
    if (file_look(path, &kind) < 0)
        return -1;
    if (kind == FILE_FOLDER)
        return add_folder(s, path);
    add_path(s, path);
    return 0;
}

static int add_folder(struct source *s, const char *dir)
{
    struct file_names names = { 0 };
    struct buf path = BUF_INIT;
    int result = file_list(&names, dir, "");
    for (size_t i = 0; i < names.count && !result; i++) {
        file_join(&path, dir, names.names[i]);
        result = add_any(s, path.data);
    }
    buf_release(&path);
    file_names_free(&names);
    return result;
}

struct source *source_open(char *const *paths, int count, enum source_format format,
                           int text_by_line)
{
    struct source *s = mem_zalloc(1, sizeof *s);
    s->format = format;
    s->text_by_line = text_by_line;
    s->document = (struct document)DOCUMENT_INIT;
    if (!count)
        add_path(s, "-");
    for (int i = 0; i < count; i++) {
        if (add_any(s, paths[i]) < 0) {
            source_close(s);
            return NULL;
        }
    }
    return s;
}

static void close_file(struct source *s)
{
    if (s->open)
        input_close(&s->in);
    s->open = 0;
}

void source_close(struct source *s)
{
    if (!s)
        return;
    close_file(s);
    document_release(&s->document);
    for (size_t i = 0; i < s->count; i++)
        free(s->paths[i]);
    free(s->paths);
    free(s);
}

/* ---- one file ------------------------------------------------------------------------------ */

static int begins(const char *text, size_t n, const char *with)
{
    return n >= strlen(with) && !memcmp(text, with, strlen(with));
}

static enum source_format guess(const char *path, const char *text, size_t n)
{
    static const char blank[] = " \t\r\n";
    for (; n && memchr(blank, *text, sizeof blank - 1); n--)
        text++;
    if (begins(text, n, "<!-- textmill documents ") || begins(text, n, "<doc "))
        return SOURCE_DOCUMENTS;
    if (begins(text, n, "{\"") || begins(text, n, "{ \"") || file_ends_with(path, ".jsonl"))
        return SOURCE_JSONL;
    return SOURCE_TEXT;
}

/* What would pass for text but is a mistake in the pipe. */
static int refuse(const char *path, const char *text, size_t n)
{
    static const struct {
        const char *magic, *what;
    } others[] = { { "textmill=tokens", "a token stream: it has been tokenized" },
                   { "textmill=tokens", "a token stream: it has been tokenized" },
                   { "<mediawiki", "a MediaWiki dump: it wants wikiprep first" },
                   { "BZh", "packed: unpack it, or is it a dump for wikiprep?" },
                   { "\x1f\x8b", "packed: unpack it, or is it a dump for wikiprep?" },
                   { "\xfd"
                     "7zXZ",
                     "packed: unpack it, or is it a dump for wikiprep?" },
                   { "\x28\xb5\x2f\xfd", "packed: unpack it, or is it a dump for wikiprep?" },
                   { "7z\xbc\xaf", "packed: unpack it, or is it a dump for wikiprep?" } };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t skip = i < 2 ? 8 * (i + 1) : 0; /* a frame's length, and checksum */
        if (n > skip && begins(text + skip, n - skip, others[i].magic))
            return err_set("%s: not text but %s", path, others[i].what);
    }
    return 0;
}

static int open_next(struct source *s)
{
    if (input_open(&s->in, s->paths[s->next]) < 0)
        return -1;
    s->open = 1;
    int64_t n = input_peek(&s->in, LOOK_BYTES);
    if (n < 0)
        return -1;
    const char *text = n ? s->in.data + s->in.begin : "";
    if (file_check_pointer(s->in.path, text, (size_t)n) < 0)
        return -1;
    s->current = s->format;
    if (s->format == SOURCE_AUTO) {
        if (refuse(s->in.path, text, (size_t)n) < 0)
            return -1;
        s->current = guess(s->paths[s->next], text, (size_t)n);
    }
    if (s->current == SOURCE_DOCUMENTS)
        document_open(&s->reader, &s->in);
    s->line = 0;
    s->next++;
    return 0;
}

static int read_json(struct source *s, struct buf *text)
{
    char *line;
    size_t n, len;
    int got;
    do {
        got = input_line(&s->in, &line, &n);
        s->line++;
    } while (got > 0 && (!n || (n == 1 && line[0] == '\r')));
    if (got <= 0)
        return got;
    struct buf name = BUF_INIT;
    buf_addf(&name, "%s: line %" PRIu64, s->in.path, s->line);
    struct js *root = js_parse(line, n, name.data);
    const char *value = js_text(js_get(root, "text"), &len);
    if (value)
        buf_add(text, value, len);
    else if (root)
        err_set("%s: no string \"text\"", name.data);
    js_free(root);
    buf_release(&name);
    return value ? 1 : -1;
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
    if (s->current == SOURCE_LINES && ended && n && line[n - 1] == '\r')
        n--;
    buf_add(text, line, n);
    if (s->current == SOURCE_TEXT && ended)
        buf_addc(text, '\n');
    return 1;
}

static int is_blank(const char *line, size_t n)
{
    while (n && (line[n - 1] == ' ' || line[n - 1] == '\t' || line[n - 1] == '\r'))
        n--;
    return !n;
}

/* The lines up to a blank one, with LF between them. */
static int read_sentences(struct source *s, struct buf *text)
{
    char *line;
    size_t n, before = text->len;
    int got;
    while ((got = input_line(&s->in, &line, &n)) > 0) {
        if (is_blank(line, n) && text->len > before)
            break;
        if (is_blank(line, n))
            continue;
        if (text->len > before)
            buf_addc(text, '\n');
        buf_add(text, line, line[n - 1] == '\r' ? n - 1 : n);
    }
    return got < 0 ? -1 : text->len > before;
}

/* The whole file; an empty one is no document. */
static int read_file(struct source *s, struct buf *text)
{
    size_t before = text->len;
    int64_t n;
    while ((n = input_peek(&s->in, CHUNK_BYTES)) > 0) {
        buf_add(text, s->in.data + s->in.begin, (size_t)n);
        input_skip(&s->in, (size_t)n);
    }
    return n < 0 ? -1 : text->len > before;
}

static int read_document(struct source *s, struct buf *text, int *sentences)
{
    int got = document_read(&s->reader, &s->document);
    if (got > 0) {
        buf_add(text, s->document.text.data, s->document.text.len);
        *sentences = s->reader.sentences;
    }
    return got;
}

static int read_open(struct source *s, struct buf *text, int *sentences)
{
    *sentences = 0;
    if (s->current == SOURCE_DOCUMENTS)
        return read_document(s, text, sentences);
    if (s->current == SOURCE_JSONL)
        return read_json(s, text);
    if (s->current == SOURCE_SENTENCES) {
        *sentences = 1;
        return read_sentences(s, text);
    }
    if (s->current == SOURCE_LINES || s->text_by_line)
        return read_line(s, text);
    return read_file(s, text);
}

int source_read(struct source *s, struct buf *text, int *sentences)
{
    for (;;) {
        if (!s->open && s->next == s->count)
            return 0;
        if (!s->open && open_next(s) < 0)
            return -1;
        int got = read_open(s, text, sentences);
        if (got)
            return got;
        close_file(s);
    }
}
