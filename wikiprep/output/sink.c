#include "wikiprep/output/sink.h"

#include <errno.h>
#include <sys/stat.h>

enum { FILES_A_FOLDER = 100 };

static const char MANIFEST[] = "manifest";

/* ---- files ------------------------------------------------------------------------------- */

/* Writes the name of folder n: "AA", "AB", ... "ZZ" as in WikiExtractor, then "AAA", ... */
static void folder_name(char name[16], uint64_t n)
{
    int letters = 2;
    uint64_t names = 26 * 26;
    while (n >= names) {
        n -= names;
        names *= 26;
        letters++;
    }
    name[letters] = '\0';
    for (int i = letters - 1; i >= 0; i--, n /= 26)
        name[i] = (char)('A' + n % 26);
}

/* Returns 1 if files get begin and end marks, else 0. Marks distinguish a stream of documents from
 * other text. WikiExtractor's files have none; files of sentences, which it does not write, do. */
static int has_marks(const struct sink *s)
{
    return s->format == SINK_DOCUMENTS && (!s->folder.path || s->sentences);
}

static int begin_file(struct sink *s)
{
    if (s->folder.path) {
        char folder[16];
        folder_name(folder, s->files / FILES_A_FOLDER);
        SCOPED(buf) path = buf_format("%s/%s", s->folder.path, folder);
        if (s->files % FILES_A_FOLDER == 0 && mkdir(path.data, 0777) < 0)
            return err_set("cannot make folder '%s': %s", path.data, strerror(errno));
        buf_addf(&path, "/wiki_%02d", (int)(s->files % FILES_A_FOLDER));
        if (output_open(&s->out, path.data) < 0)
            return -1;
        s->out.lazy = 1; /* one sync for the whole tree, when it is complete */
        s->files++;
    } else if (output_open(&s->out, s->path) < 0) {
        return -1;
    }
    s->is_open = 1;
    s->in_file = 0;
    if (!has_marks(s))
        return 0;
    buf_clear(&s->piece);
    document_put_begin(&s->piece, s->sentences);
    return output_write(&s->out, s->piece.data, s->piece.len);
}

static int end_file(struct sink *s)
{
    if (s->format == SINK_ROWS && s->library->finish(s->writer) < 0)
        return -1;
    if (has_marks(s)) {
        buf_clear(&s->piece);
        document_put_end(&s->piece, s->in_file);
        if (output_write(&s->out, s->piece.data, s->piece.len) < 0)
            return -1;
    }
    s->bytes += s->out.offset;
    s->is_open = 0;
    return output_close(&s->out);
}

/* Returns the bytes of the end mark of the open file if one more document is written to it. */
static size_t end_bytes(struct sink *s)
{
    buf_clear(&s->piece);
    if (has_marks(s))
        document_put_end(&s->piece, s->in_file + 1);
    return s->piece.len;
}

int sink_write(struct sink *s, const struct buf *document)
{
    int full = s->is_open && s->folder.path && s->in_file &&
               (!s->limit_bytes || s->out.offset + document->len + end_bytes(s) > s->limit_bytes);
    if ((full && end_file(s) < 0) || (!s->is_open && begin_file(s) < 0))
        return -1;
    s->in_file++;
    s->documents++;
    if (s->format == SINK_ROWS) {
        struct columns_cell cells[PAGE_JSON_FIELDS_MAX];
        page_json_cells(document, cells, s->columns);
        return s->library->add(s->writer, cells);
    }
    return output_write(&s->out, document->data, document->len);
}

/* ---- the tree ---------------------------------------------------------------------------- */

/* Returns 1 if wikiprep gives such names in a tree or, with `inside`, in a folder of it; else 0. */
static int is_own_name(const char *name, int inside)
{
    if (inside)
        return !strncmp(name, "wiki_", 5) && name[5] && !name[5 + strspn(name + 5, "0123456789")];
    return !strcmp(name, MANIFEST) ||
           (name[0] && !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")]);
}

/* Checks that the tree `dir`, or with `inside` a folder of it, holds nothing of the user's. */
static int check_content(const char *dir, const struct file_names *names, int inside)
{
    for (size_t i = 0; i < names->count; i++) {
        SCOPED(buf) path = file_path(dir, names->names[i]);
        SCOPED(file_names) below = { 0 };
        const int file = inside || !strcmp(names->names[i], MANIFEST), kind = file_look(path.data);
        if (kind < 0)
            return -1;
        if (!is_own_name(names->names[i], inside) || kind != (file ? FILE_PLAIN : FILE_FOLDER))
            return err_set("cannot replace '%s': wikiprep did not write it", path.data);
        if (!file &&
            (file_list_all(&below, path.data) < 0 || check_content(path.data, &below, 1) < 0))
            return -1;
    }
    return 0;
}

/* Checks that the folder, which is not empty, is a tree that wikiprep wrote, and nothing else. */
static int check_tree(const char *dir, const struct file_names *names)
{
    SCOPED(buf) text = BUF_INIT, path = file_path(dir, MANIFEST);
    int result = file_look(path.data);
    if (result > 0)
        result = file_read(path.data, &text);
    if (!result && (!text.len || strncmp(text.data, "textmill=documents ", 19) != 0))
        result = err_set("cannot write to '%s': it is not empty, and wikiprep did not write it",
                         dir);
    return result < 0 ? -1 : check_content(dir, names, 0);
}

/* Checks that `dir` does not exist, is an empty folder, or is a tree that wikiprep wrote. */
static int check_target(const char *dir)
{
    SCOPED(file_names) names = { 0 };
    return output_folder_look(&names, dir) < 0 ? -1 : names.count ? check_tree(dir, &names) : 0;
}

int sink_open(struct sink *s, const char *path, int is_tree, uint64_t limit_bytes,
              enum sink_format format, int sentences)
{
    *s = (struct sink){ .format = format,
                        .sentences = sentences,
                        .path = path,
                        .limit_bytes = limit_bytes,
                        .piece = BUF_INIT };
    if (!is_tree)
        return 0;
    return check_target(path) < 0 ? -1 : output_folder_open(&s->folder, path);
}

static int put_bytes(void *ctx, const void *bytes, size_t n)
{
    return output_write(ctx, bytes, n);
}

int sink_open_rows(struct sink *s, const char *path, const struct page_json_layout *layout)
{
    const char *names[PAGE_JSON_FIELDS_MAX];
    *s = (struct sink){ .format = SINK_ROWS, .columns = layout->count, .piece = BUF_INIT };
    if (output_open(&s->out, path) < 0)
        return -1;
    s->is_open = 1;
    for (int i = 0; i < layout->count; i++)
        names[i] = page_json_name(layout, i);
    if ((s->library = columns_plugin()))
        s->writer = s->library->create(names, (size_t)layout->count, put_bytes, &s->out);
    return s->writer ? 0 : err_in("%s", path);
}

static int write_manifest(struct sink *s, const struct kv *more)
{
    SCOPED(kv) kv = KV_INIT;
    kv_add(&kv, "textmill", "documents 1");
    kv_add(&kv, "format", s->format == SINK_JSON ? "json" : "doc");
    kv_addf(&kv, "sentences", "%d", s->sentences);
    kv_addf(&kv, "files", "%" PRIu64, s->files);
    kv_addf(&kv, "documents", "%" PRIu64, s->documents);
    kv_addf(&kv, "bytes", "%" PRIu64, s->bytes);
    kv_add_all(&kv, more);
    SCOPED(buf) text = BUF_INIT, path = file_path(s->folder.path, MANIFEST);
    kv_print(&kv, &text);
    return file_write(path.data, text.data, text.len);
}

static void release(struct sink *s)
{
    if (s->library)
        s->library->free(s->writer);
    buf_release(&s->piece);
    *s = (struct sink){ .piece = BUF_INIT };
}

int sink_close(struct sink *s, const struct kv *more)
{
    int result = 0;
    if (!s->folder.path && !s->is_open) /* a stream without documents */
        result = begin_file(s);
    if (!result && s->is_open)
        result = end_file(s);
    if (s->folder.path && !result)
        result = write_manifest(s, more) < 0 ? -1 : output_folder_close(&s->folder);
    if (result < 0)
        sink_abandon(s);
    else
        release(s);
    return result;
}

/* Keeps the caller's error during the cleanup. Documents already written to a stream stay there,
 * without the end mark. */
void sink_abandon(struct sink *s)
{
    struct err why = err_keep();
    if (s->is_open && !s->folder.path && s->format != SINK_ROWS)
        (void)output_flush(&s->out);
    output_abandon(&s->out);
    output_folder_abandon(&s->folder);
    release(s);
    err_restore(&why);
}
