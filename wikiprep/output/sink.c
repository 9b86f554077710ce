#define _GNU_SOURCE /* syncfs */
#include "wikiprep/output/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/temp.h"

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
 * other text. WikiExtractor's files have none; but its lines are not sentences, so sentences need
 * the marks. */
static int has_marks(const struct sink *s)
{
    return s->format == SINK_DOCUMENTS && (!s->dir || s->sentences);
}

static int begin_file(struct sink *s)
{
    if (s->dir) {
        char folder[16];
        folder_name(folder, s->files / FILES_A_FOLDER);
        struct buf path = BUF_INIT;
        buf_addf(&path, "%s/%s", s->temp, folder);
        int result = 0;
        if (s->files % FILES_A_FOLDER == 0 && mkdir(path.data, 0777) < 0)
            result = err_set("cannot make folder '%s': %s", path.data, strerror(errno));
        buf_addf(&path, "/wiki_%02d", (int)(s->files % FILES_A_FOLDER));
        if (!result)
            result = output_open(&s->out, path.data);
        buf_release(&path);
        if (result < 0)
            return -1;
        s->out.lazy = 1; /* one sync for the whole tree, when it is complete */
        s->files++;
    } else if (output_open(&s->out, "-") < 0) {
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
    if (s->format == SINK_ROWS && page_rows_finish(&s->rows) < 0)
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

int sink_write(struct sink *s, const struct buf *document)
{
    int full = s->is_open && s->dir && s->in_file &&
               (!s->limit_bytes || s->out.offset + document->len > s->limit_bytes);
    if (full && end_file(s) < 0)
        return -1;
    if (!s->is_open && begin_file(s) < 0)
        return -1;
    s->in_file++;
    s->documents++;
    if (s->format == SINK_ROWS)
        return page_rows_add(&s->rows, document);
    return output_write(&s->out, document->data, document->len);
}

/* ---- the tree ---------------------------------------------------------------------------- */

/* Checks that `dir` does not exist, is an empty folder, or is a tree that wikiprep wrote. Returns
 * 0, or -1 with an error. */
static int check_target(const char *dir)
{
    enum file_kind kind;
    if (file_look(dir, &kind) < 0)
        return -1;
    if (!kind)
        return 0;
    if (kind != FILE_FOLDER)
        return err_set("cannot write to '%s': it is not a folder", dir);
    struct file_names names;
    if (file_list(&names, dir, "") < 0)
        return -1;
    size_t count = names.count;
    file_names_free(&names);
    if (!count)
        return 0;
    struct buf text = BUF_INIT, path = BUF_INIT;
    file_join(&path, dir, MANIFEST);
    int result = file_look(path.data, &kind);
    if (!result && kind)
        result = file_read(path.data, &text);
    int ours = !result && !strncmp(text.data, "textmill=documents ", 19);
    buf_release(&text);
    buf_release(&path);
    if (result < 0)
        return -1;
    return ours ? 0
                : err_set("cannot write to '%s': it is not empty, and wikiprep did not write it",
                          dir);
}

static char *without_slashes(const char *dir)
{
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    return mem_strndup(dir, n);
}

/* Sets *out to the temporary name of the old tree, if replacing takes two steps. */
static void aside_name(struct buf *out, const char *dir)
{
    buf_clear(out);
    buf_addf(out, "%s.tmp-old", dir);
}

int sink_recover(const char *path)
{
    char *dir = without_slashes(path);
    struct buf aside = BUF_INIT;
    enum file_kind there, kept;
    aside_name(&aside, dir);
    int result = file_look(dir, &there) < 0 || file_look(aside.data, &kept) < 0 ? -1 : 0;
    if (!result && kept && there)
        result = file_remove_tree(aside.data);
    else if (!result && kept && !there)
        result = rename(aside.data, dir) == 0
                     ? 1
                     : err_set("cannot rename '%s' to '%s': %s", aside.data, dir, strerror(errno));
    buf_release(&aside);
    free(dir);
    return result;
}

int sink_open(struct sink *s, const char *dir, uint64_t limit_bytes, enum sink_format format,
              int sentences)
{
    *s = (struct sink){ .format = format, .sentences = sentences, .limit_bytes = limit_bytes };
    buf_init(&s->piece);
    if (!dir)
        return 0;
    if (check_target(dir) < 0)
        return -1;
    s->dir = without_slashes(dir);
    struct buf temp = BUF_INIT;
    temp_sweep(s->dir);
    temp_name(&temp, s->dir);
    s->temp = buf_detach(&temp);
    temp_add(s->temp, TEMP_GOES);
    if (file_mkdirs_count(s->temp, &s->made) < 0)
        return -1;
    s->lock = open(s->temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    temp_lock(s->lock);
    return 0;
}

static int put_bytes(void *ctx, const void *bytes, size_t n)
{
    return output_write(ctx, bytes, n);
}

int sink_open_rows(struct sink *s, const char *path, const struct page_json_layout *layout)
{
    *s = (struct sink){ .format = SINK_ROWS, .piece = BUF_INIT };
    if (output_open(&s->out, path) < 0)
        return -1;
    s->is_open = 1;
    return page_rows_open(&s->rows, layout, put_bytes, &s->out) < 0 ? err_in("%s", path) : 0;
}

static int write_manifest(struct sink *s, const struct kv *more)
{
    struct kv kv = KV_INIT;
    kv_add(&kv, "textmill", "documents 1");
    kv_add(&kv, "format", s->format == SINK_JSON ? "json" : "doc");
    kv_addf(&kv, "sentences", "%d", s->sentences);
    kv_addf(&kv, "files", "%" PRIu64, s->files);
    kv_addf(&kv, "documents", "%" PRIu64, s->documents);
    kv_addf(&kv, "bytes", "%" PRIu64, s->bytes);
    kv_add_all(&kv, more);
    struct buf text = BUF_INIT, path = BUF_INIT;
    kv_print(&kv, &text);
    file_join(&path, s->temp, MANIFEST);
    int result = file_write(path.data, text.data, text.len);
    buf_release(&text);
    buf_release(&path);
    kv_release(&kv);
    return result;
}

static int sync_tree(const struct sink *s)
{
    int fd = open(s->temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = fd < 0 || syncfs(fd) < 0;
    int why = errno;
    if (fd >= 0)
        close(fd);
    return failed ? err_set("cannot sync '%s': %s", s->temp, strerror(why)) : 0;
}

/* Replaces the old tree on a file system that cannot swap two names. If the process is killed
 * between the two steps, sink_recover finds the old tree under its temporary name. Returns 0, or -1
 * with an error. */
static int replace_in_two_steps(const struct sink *s)
{
    struct buf aside = BUF_INIT;
    aside_name(&aside, s->dir);
    int result = 0;
    if (rename(s->dir, aside.data) < 0)
        result = err_set("cannot rename '%s' to '%s': %s", s->dir, aside.data, strerror(errno));
    else if (rename(s->temp, s->dir) < 0) {
        result = err_set("cannot rename '%s' to '%s': %s", s->temp, s->dir, strerror(errno));
        (void)!rename(aside.data, s->dir);
    } else
        result = file_remove_tree(aside.data);
    buf_release(&aside);
    return result;
}

/* Renames the tree to its final name and removes the old tree, if any. Returns 0, or -1 with an
 * error. */
static int publish(struct sink *s)
{
    enum file_kind there;
    if (sync_tree(s) < 0 || file_look(s->dir, &there) < 0)
        return -1;
    int result = there ? file_swap(s->temp, s->dir) : 0;
    if (result > 0) /* the old tree has the temporary name now */
        result = file_remove_tree(s->temp);
    else if (!result && there)
        result = replace_in_two_steps(s);
    else if (!result && rename(s->temp, s->dir) < 0)
        result = err_set("cannot rename '%s' to '%s': %s", s->temp, s->dir, strerror(errno));
    return result < 0 ? -1 : file_sync_dir(s->dir);
}

static void release(struct sink *s)
{
    if (s->lock > 0)
        close(s->lock);
    if (s->temp)
        temp_forget(s->temp);
    page_rows_close(&s->rows);
    free(s->dir);
    free(s->temp);
    buf_release(&s->piece);
    *s = (struct sink){ .piece = BUF_INIT };
}

int sink_close(struct sink *s, const struct kv *more)
{
    int result = 0;
    if (!s->dir && !s->is_open) /* a stream without documents */
        result = begin_file(s);
    if (!result && s->is_open)
        result = end_file(s);
    if (s->dir && !result)
        result = write_manifest(s, more) < 0 ? -1 : publish(s);
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
    if (s->is_open && !s->dir && s->format != SINK_ROWS)
        (void)output_flush(&s->out);
    output_abandon(&s->out);
    if (s->temp) {
        (void)file_remove_tree(s->temp);
        file_rmdirs(s->temp, s->made);
    }
    err_restore(&why);
    release(s);
}
