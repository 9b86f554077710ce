#include "textclean/flow.h"

#include <errno.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/pool.h"
#include "common/files/output_folder.h"
#include "common/files/paths.h"
#include "common/formats/js.h"
#include "common/program/tool.h"

enum { BATCH_BYTES = 1 << 19, BATCH_DOCUMENTS = 1 << 12 };

/* Documents that are read, judged and written together. */
struct batch {
    struct flow_item *items;
    size_t count, cap;
    void *tools;
    struct buf texts[2]; /* for each output: what is to be written */
};

struct run {
    struct flow *f;
    struct entries source;
    struct output outs[3];      /* kept, rejected, and the summary */
    struct rows_copy copies[2]; /* parquet: the rows written to each output */
    uint64_t documents[2];      /* number of documents in each */
    uint64_t *counts;           /* of documents: that stay; for each reason: left out by it */
    int begun;
    struct output_folder folder; /* if it is open, each input file has an output in it */
    struct file_names names;     /* names of the outputs in the folder */
    size_t next;                 /* index of the output to open next */
    struct file_names input;     /* the input file of the open output */
};

/* ---- batches --------------------------------------------------------------------------------- */

static void forget(const struct flow *f, struct flow_item *item)
{
    if (item->result)
        f->forget(item->result);
    item->result = NULL;
}

static void batch_free(const struct flow *f, struct batch *b)
{
    for (size_t i = 0; i < b->cap; i++) {
        forget(f, &b->items[i]);
        entry_release(&b->items[i].entry);
    }
    free(b->items);
    buf_release(&b->texts[0]);
    buf_release(&b->texts[1]);
    if (f->tools_release)
        f->tools_release(b->tools);
    free(b->tools);
    free(b);
}

static struct flow_item *next_item(struct batch *b)
{
    size_t before = b->cap;
    mem_grow(b->items, b->cap, b->count + 1);
    for (size_t i = before; i < b->cap; i++) {
        entry_init(&b->items[i].entry);
        b->items[i].result = NULL;
    }
    return &b->items[b->count];
}

/* Frees buffers of documents if they hold much more memory than a batch needs: each may have held a
 * very large document once. */
static void shrink(struct batch *b)
{
    size_t bytes = 0;
    for (size_t i = 0; i < b->cap; i++)
        bytes += b->items[i].entry.raw.cap + b->items[i].entry.document.text.cap;
    for (size_t i = 0; i < b->cap && bytes > 4 * BATCH_BYTES; i++) {
        entry_release(&b->items[i].entry);
        entry_init(&b->items[i].entry);
    }
}

static int read_batch(void *ctx, void *item)
{
    struct run *r = ctx;
    struct batch *b = item;
    shrink(b);
    b->count = 0;
    for (size_t bytes = 0; bytes < BATCH_BYTES && b->count < BATCH_DOCUMENTS;) {
        struct flow_item *next = next_item(b);
        int got = entries_read(&r->source, &next->entry);
        if (got < 0)
            return -1;
        if (!got)
            break;
        next->reason = FLOW_KEPT;
        next->pieces = 0;
        *next->mark = 0;
        b->count++;
        bytes += next->entry.raw.len + next->entry.document.text.len;
    }
    return b->count > 0;
}

/* Returns 1 if write_batch makes the output, document after document, or 0 if work_batch does. */
static int in_order(const struct run *r)
{
    return r->f->settle || r->source.format == ENTRY_PARQUET || r->folder.path;
}

/* Returns the index of the document's output: 1 if it is left out, 0 if it stays or is marked. */
static int goes_to(const struct run *r, const struct flow_item *item)
{
    return !r->f->options->mark && item->reason != FLOW_KEPT;
}

static int put_row(struct run *r, const struct entry *entry, int to, const char *mark)
{
    int result = 0;
    for (int i = 0; i < 2 && !result; i++)
        if (r->outs[i].path)
            result = rows_copy_put(&r->copies[i], entry->file, i == to,
                                   entry->changed ? &entry->document.text : NULL, mark);
    return result;
}

static int put_item(struct run *r, struct batch *b, const struct flow_item *item)
{
    const struct flow *f = r->f;
    const char *reason = *item->mark                 ? item->mark
                         : item->reason == FLOW_KEPT ? ""
                                                     : f->reasons[item->reason];
    enum entry_format format = r->source.format;
    const int to = goes_to(r, item);
    if (format == ENTRY_PARQUET && !f->silent)
        return put_row(r, &item->entry, to, reason);
    if (r->outs[to].path)
        entry_put(&item->entry, format, to || f->options->mark ? reason : NULL, &b->texts[to]);
    return 0;
}

static int work_batch(void *ctx, void *item)
{
    struct run *r = ctx;
    const struct flow *f = r->f;
    struct batch *b = item;
    int marks = f->options->mark || f->options->rejected_path;
    for (size_t i = 0; i < b->count; i++) {
        struct entry *entry = &b->items[i].entry;
        if (((!f->blind || marks) && entry_parse(entry, r->source.format, f->options->field) < 0) ||
            f->judge(f->ctx, b->tools, &b->items[i]) < 0)
            return -1;
        if (!in_order(r))
            put_item(r, b, &b->items[i]);
    }
    return 0;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Writes the beginning of an output, once its format is known. */
static int begin_output(struct run *r, int i)
{
    SCOPED(buf) head = BUF_INIT;
    const struct flow_options *o = r->f->options;
    const struct file_names *paths = r->folder.path && !i ? &r->input : &r->source.paths;
    r->documents[i] = 0;
    if (!r->outs[i].path)
        return 0;
    if (r->source.format == ENTRY_DOCUMENTS)
        document_put_begin(&head, r->source.sentences > 0);
    return r->source.format == ENTRY_PARQUET
               ? rows_copy_open(&r->copies[i], paths, o->field, i || o->mark ? ENTRY_MARK : NULL,
                                &r->outs[i])
               : output_write(&r->outs[i], head.data, head.len);
}

static int end_output(struct run *r, int i)
{
    SCOPED(buf) end = BUF_INIT;
    int result = r->copies[i].copy ? rows_copy_end(&r->copies[i]) : 0;
    rows_copy_close(&r->copies[i]);
    if (r->source.format == ENTRY_DOCUMENTS)
        document_put_end(&end, r->documents[i]);
    return r->outs[i].path && !result ? output_write(&r->outs[i], end.data, end.len) : result;
}

/* For an output folder: returns 1 if the open output is that of the input file, else 0. */
static int is_at(const struct run *r, const char *file)
{
    return r->next && r->source.paths.names[r->next - 1] == file;
}

/* For an output folder: completes the open output, if there is one. */
static int complete(struct run *r)
{
    return r->outs[0].path ? output_end(&r->outs[0], end_output(r, 0)) : 0;
}

/* For an output folder, which has one output for each input file: completes the outputs before that
 * of `file`, and opens that one. `file` NULL: completes all outputs. */
static int go_to(struct run *r, const char *file)
{
    while (r->next < r->names.count && !is_at(r, file)) {
        SCOPED(buf) path = file_path(r->folder.path, r->names.names[r->next++]);
        SCOPED(buf) above = file_beside(path.data, "");
        if (complete(r) < 0 || file_mkdirs(above.data) < 0 ||
            output_open(&r->outs[0], path.data) < 0)
            return -1;
        r->outs[0].lazy = 1;
        r->input = (struct file_names){ r->source.paths.names + r->next - 1, 1, 1 };
        if (begin_output(r, 0) < 0)
            return -1;
    }
    return file ? 0 : complete(r);
}

/* Writes the beginning of the outputs that are not in a folder. */
static int begin(struct run *r)
{
    int result = 0, plain = r->source.format == ENTRY_TEXT || r->source.format == ENTRY_LINES;
    if (plain && r->f->options->mark)
        return err_set(
            "--mark needs documents, JSON lines or Parquet: plain text has no place for it");
    const int learns = !r->f->reason_count; /* its texts may be of several forms */
    if ((plain || r->source.format == ENTRY_DOCUMENTS) && !learns && tool_given("field"))
        return err_set("--field needs JSON lines or Parquet: other input has no fields");
    for (int i = r->folder.path != NULL; i < 2 && !r->begun && !result; i++)
        result = begin_output(r, i);
    r->begun = 1;
    return result;
}

/* Writes a text of the batch to its output, and empties it. */
static int write_text(struct run *r, struct batch *b, int i)
{
    struct buf *text = &b->texts[i];
    int result = r->outs[i].path ? output_write(&r->outs[i], text->data, text->len) : 0;
    buf_clear(text);
    return result;
}

static int write_item(struct run *r, struct batch *b, struct flow_item *item)
{
    const char *file = item->entry.file;
    if ((r->f->settle && r->f->settle(r->f->ctx, item) < 0) ||
        (r->folder.path && !is_at(r, file) && (write_text(r, b, 0) < 0 || go_to(r, file) < 0)) ||
        (in_order(r) && put_item(r, b, item) < 0))
        return -1;
    forget(r->f, item);
    r->f->read++;
    r->f->pieces += item->pieces;
    r->f->kept += item->reason == FLOW_KEPT;
    r->documents[goes_to(r, item)]++;
    r->counts[item->reason - FLOW_KEPT]++;
    return 0;
}

static int write_batch(void *ctx, void *item)
{
    struct run *r = ctx;
    struct batch *b = item;
    int result = begin(r);
    for (size_t i = 0; i < b->count && !result; i++)
        result = write_item(r, b, &b->items[i]);
    progress_to(r->f->read);
    return result < 0 || write_text(r, b, 0) < 0 ? -1 : write_text(r, b, 1);
}

static int run_batches(struct run *r)
{
    int threads = (int)tool_threads, count = threads > 1 ? 3 * threads : 1;
    SCOPED_MEM void **items = mem_zalloc((size_t)count, sizeof *items);
    for (int i = 0; i < count; i++) {
        struct batch *b = items[i] = mem_zalloc(1, sizeof *b);
        b->tools = mem_zalloc(1, r->f->tools_bytes);
        if (r->f->tools_init)
            r->f->tools_init(r->f->ctx, b->tools);
        buf_init(&b->texts[0]);
        buf_init(&b->texts[1]);
    }
    struct pipeline p = { read_batch, work_batch, write_batch, r, items, count, NULL };
    progress_begin("document(s)", 0);
    int result = pipeline_run(&p, threads);
    progress_end();
    for (int i = 0; i < count; i++)
        batch_free(r->f, items[i]);
    return result;
}

/* ---- summary --------------------------------------------------------------------------------- */

static void report(const struct flow *f, const uint64_t *counts)
{
    char text[LOG_COUNTED];
    tool_count("document(s)", f->read);
    tool_count("document(s) kept", counts[0]);
    if (f->piece)
        tool_count(f->piece, f->pieces);
    for (size_t i = 0; i < f->reason_count; i++)
        if (counts[i + 1])
            log_info("%s: %s", f->reasons[i], log_counted(text, counts[i + 1], "document(s)"));
}

static int write_summary(const struct flow *f, const uint64_t *counts, struct output *out)
{
    SCOPED(buf) text = buf_format("{\"read\": %" PRIu64 ", \"kept\": %" PRIu64, f->read, counts[0]);
    if (f->piece)
        buf_addf(&text, ", \"pieces_left_out\": %" PRIu64, f->pieces);
    buf_adds(&text, ", \"left_out\": {");
    for (size_t i = 0; i < f->reason_count; i++) {
        buf_adds(&text, i ? ", " : "");
        js_quote(&text, f->reasons[i], strlen(f->reasons[i]));
        buf_addf(&text, ": %" PRIu64, counts[i + 1]);
    }
    buf_adds(&text, "}}\n");
    return output_write(out, text.data, text.len);
}

/* ---- a pass ---------------------------------------------------------------------------------- */

/* Checks that outputs may be written, and that none of them is another one, in a folder of outputs,
 * an operand, one of the files `in` that the operands stand for, or an option's input. */
static int check(const struct flow *f, const struct file_names *in)
{
    const struct flow_options *o = f->options;
    const char *paths[] = { o->output_path, o->rejected_path, o->summary_path, f->report_path };
    if (o->mark && o->rejected_path)
        return err_usage("--mark leaves no document out, so that there are none for --rejected");
    for (int i = 0; i < 4; i++) {
        if (!paths[i])
            continue;
        SCOPED_MEM char *target = file_resolve(paths[i]);
        SCOPED(buf) above = file_beside(target ? target : "", "");
        const char *place = above.len ? above.data : ".";
        const int kind = strcmp(paths[i], "-") ? file_look(paths[i]) : FILE_SPECIAL;
        const int folder = !i && f->reason_count &&
                           (kind == FILE_FOLDER || file_ends_with(paths[0], "/"));
        if (!target || kind < 0 || tool_may_replace(paths[i], NULL, NULL) < 0)
            return -1;
        if (packed_name(paths[i]) < strlen(paths[i]))
            return err_usage("'%s': output is not packed: leave the ending out", paths[i]);
        /* now, not after a first pass over the input */
        if (kind != FILE_SPECIAL && !folder && (kind == FILE_FOLDER || access(place, W_OK) < 0))
            return err_set("cannot create '%s': %s", paths[i],
                           strerror(kind == FILE_FOLDER ? EISDIR : errno));
        SCOPED_MEM char *here = NULL, *whole = NULL;
        if (i && kind != FILE_SPECIAL &&
            (file_real_path(&here, place) < 0 || file_real_path(&whole, paths[0]) < 0))
            return -1;
        if (here && whole && !strcmp(here, whole))
            return err_usage("'%s' would be lost: '%s' is replaced as a whole; name another folder",
                             paths[i], paths[0]);
        if (tool_is_no_input(paths[i], (const char *const *)in->names, in->count) < 0)
            return -1;
        for (int k = 0; k < i; k++) /* both "-": tool_may_replace has compared files */
            if (paths[k] && !strcmp(paths[k], paths[i]))
                return err_usage("'%s' is the file of two outputs", paths[i]);
    }
    return 0;
}

/* Finds whether -o names a folder, which must be empty, and how the outputs in it are called. */
static int look_for_folder(struct run *r, int argc, char **argv)
{
    const char *path = r->f->options->output_path;
    SCOPED(file_names) there = { 0 };
    if (!r->f->reason_count) /* learns: it writes no documents */
        return 0;
    const int kind = strcmp(path, "-") ? file_look(path) : FILE_NONE;
    if (kind < 0)
        return -1;
    if (kind != FILE_FOLDER && !file_ends_with(path, "/"))
        return 0;
    if (output_folder_look(&there, path) < 0)
        return -1;
    return there.count
               ? err_set("'%s' is not empty: remove it, or name another folder for the output",
                         path)
               : paths_outputs(&r->names, &r->source.paths, argv, argc);
}

static int open_outputs(struct run *r)
{
    struct flow *f = r->f;
    const char *const paths[] = { f->options->output_path, f->options->rejected_path,
                                  f->options->summary_path };
    if (f->silent)
        return 0;
    if (r->names.count && output_folder_open(&r->folder, paths[0]) < 0)
        return -1;
    for (int i = r->names.count > 0; i < 3; i++)
        if (paths[i] && output_open(&r->outs[i], paths[i]) < 0)
            return -1;
    return f->report_path ? output_open(&f->report, f->report_path) : 0;
}

static int pass(struct run *r)
{
    if (open_outputs(r) < 0 || run_batches(r) < 0 || begin(r) < 0 ||
        (r->folder.path ? go_to(r, NULL) : end_output(r, 0)) < 0)
        return -1;
    if (r->source.format == ENTRY_TEXT && r->outs[0].path && !r->folder.path && r->documents[0] > 1)
        log_warn("the texts of %" PRIu64 " files are written one behind the other, which reads as "
                 "one document; -o FOLDER/ keeps each in a file of its own",
                 r->documents[0]);
    return end_output(r, 1);
}

/* Publishes all outputs or none; the one with the documents that stay is the last. */
static int end_outputs(struct run *r, int result)
{
    struct flow *f = r->f;
    struct output set[4];
    size_t count = 0;
    if (!result && f->end && f->report.path)
        result = f->end(f->ctx);
    if (!result && r->outs[2].path)
        result = write_summary(f, r->counts, &r->outs[2]);
    if (f->report.path)
        set[count++] = f->report;
    for (int i = 3; i-- > 0;)
        if (r->outs[i].path)
            set[count++] = r->outs[i];
    result = output_end_all(set, count, result);
    if (!result && r->folder.path)
        result = output_folder_close(&r->folder);
    output_folder_abandon(&r->folder);
    return result;
}

int flow_run(struct flow *f, int argc, char **argv)
{
    SCOPED_MEM uint64_t *counts = mem_zalloc(f->reason_count + 1, sizeof *counts);
    struct run r = { .f = f, .counts = counts };
    int result = entries_open(&r.source, argv, argc, (enum entry_format)f->options->format,
                              f->options->field);
    if (!result &&
        (check(f, &r.source.paths) < 0 || look_for_folder(&r, argc, argv) < 0 || pass(&r) < 0))
        result = -1;
    rows_copy_close(&r.copies[0]);
    rows_copy_close(&r.copies[1]);
    entries_close(&r.source);
    file_names_release(&r.names);
    if (!result && f->read < f->least)
        result = err_set("the input became shorter after it was read first");
    result = end_outputs(&r, result);
    if (!result && !f->silent)
        report(f, counts);
    return result;
}
