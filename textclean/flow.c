#include "textclean/flow.h"

#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/pool.h"
#include "common/formats/js.h"
#include "common/program/tool.h"

enum { BATCH_BYTES = 1 << 19, BATCH_DOCUMENTS = 1 << 12 };

/* Documents that are read, judged and written together. */
struct batch {
    struct flow_item *items;
    size_t count, cap;
    void *tools;
    struct buf kept, rejected;
};

struct run {
    struct flow *f;
    struct entries source;
    struct output outs[2];      /* kept and rejected */
    struct rows_copy copies[2]; /* parquet: what is written to them */
    int opened[2], begun;
};

/* ---- batches --------------------------------------------------------------------------------- */

static struct batch *batch_new(const struct flow *f)
{
    struct batch *b = mem_zalloc(1, sizeof *b);
    b->tools = mem_zalloc(1, f->tools_bytes);
    if (f->tools_init)
        f->tools_init(f->ctx, b->tools);
    buf_init(&b->kept);
    buf_init(&b->rejected);
    return b;
}

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
    buf_release(&b->kept);
    buf_release(&b->rejected);
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

static int read_batch(void *ctx, void *item)
{
    struct run *r = ctx;
    struct batch *b = item;
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

/* Whether documents are put in order, when all of them before were. */
static int in_order(const struct run *r)
{
    return r->f->settle || r->source.format == ENTRY_PARQUET;
}

static int put_row(struct run *r, const struct entry *entry, int to, const char *mark)
{
    int result = 0;
    for (int i = 0; i < 2 && !result; i++)
        if (r->opened[i])
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
    const int to = !f->options->mark && item->reason != FLOW_KEPT;
    if (format == ENTRY_PARQUET && !f->silent)
        return put_row(r, &item->entry, to, reason);
    if (r->opened[to])
        entry_put(&item->entry, format, to || f->options->mark ? reason : NULL,
                  to ? &b->rejected : &b->kept);
    return 0;
}

static int work_batch(void *ctx, void *item)
{
    struct run *r = ctx;
    const struct flow *f = r->f;
    struct batch *b = item;
    int marks = f->options->mark || f->options->rejected_path;
    buf_clear(&b->kept);
    buf_clear(&b->rejected);
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

/* Writes the begin of the outputs, once it is known which format they have. */
static int begin(struct run *r)
{
    SCOPED(buf) head = BUF_INIT;
    int result = 0, plain = r->source.format == ENTRY_TEXT || r->source.format == ENTRY_LINES;
    if (plain && r->f->options->mark)
        return err_set(
            "--mark needs documents, JSON lines or Parquet: plain text has no place for it");
    entries_put_begin(&r->source, &head);
    for (int i = 0; i < 2 && !r->begun && !result; i++)
        if (r->opened[i])
            result = r->source.format == ENTRY_PARQUET
                         ? rows_copy_open(&r->copies[i], &r->source.paths, r->f->options->field,
                                          i || r->f->options->mark ? ENTRY_MARK : NULL, &r->outs[i])
                         : output_write(&r->outs[i], head.data, head.len);
    r->begun = 1;
    return result;
}

static void count_item(struct run *r, const struct flow_item *item)
{
    struct flow *f = r->f;
    f->read++;
    f->pieces += item->pieces;
    if (item->reason == FLOW_KEPT)
        f->kept++;
    else
        f->left_out[item->reason]++;
}

static int write_batch(void *ctx, void *item)
{
    struct run *r = ctx;
    struct batch *b = item;
    if (begin(r) < 0)
        return -1;
    for (size_t i = 0; i < b->count; i++) {
        struct flow_item *next = &b->items[i];
        if ((r->f->settle && r->f->settle(r->f->ctx, next) < 0) ||
            (in_order(r) && put_item(r, b, next) < 0))
            return -1;
        forget(r->f, next);
        count_item(r, next);
    }
    progress_to(r->f->read);
    if (r->opened[0] && output_write(&r->outs[0], b->kept.data, b->kept.len) < 0)
        return -1;
    return r->opened[1] ? output_write(&r->outs[1], b->rejected.data, b->rejected.len) : 0;
}

static int run_batches(struct run *r)
{
    int threads = (int)tool_threads, count = threads > 1 ? 3 * threads : 1;
    SCOPED_MEM void **items = mem_zalloc((size_t)count, sizeof *items);
    for (int i = 0; i < count; i++)
        items[i] = batch_new(r->f);
    struct pipeline p = { read_batch, work_batch, write_batch, r, items, count, NULL };
    progress_begin("document(s)", 0);
    int result = pipeline_run(&p, threads);
    progress_end();
    for (int i = 0; i < count; i++)
        batch_free(r->f, items[i]);
    return result;
}

/* ---- summary --------------------------------------------------------------------------------- */

static void report(const struct flow *f)
{
    char text[LOG_COUNTED];
    tool_count("document(s)", f->read);
    tool_count("document(s) kept", f->kept);
    if (f->piece)
        tool_count(f->piece, f->pieces);
    for (size_t i = 0; i < f->reason_count; i++)
        if (f->left_out[i])
            log_info("%s: %s", f->reasons[i], log_counted(text, f->left_out[i], "document(s)"));
}

static int write_summary(const struct flow *f, struct output *out)
{
    SCOPED(buf) text = BUF_INIT;
    buf_addf(&text, "{\"read\": %" PRIu64 ", \"kept\": %" PRIu64, f->read, f->kept);
    if (f->piece)
        buf_addf(&text, ", \"pieces_left_out\": %" PRIu64, f->pieces);
    buf_adds(&text, ", \"left_out\": {");
    for (size_t i = 0; i < f->reason_count; i++) {
        buf_adds(&text, i ? ", " : "");
        js_quote(&text, f->reasons[i], strlen(f->reasons[i]));
        buf_addf(&text, ": %" PRIu64, f->left_out[i]);
    }
    buf_adds(&text, "}}\n");
    return output_write(out, text.data, text.len);
}

/* ---- a pass ---------------------------------------------------------------------------------- */

static int check(const struct flow *f, int argc, char **argv)
{
    const struct flow_options *o = f->options;
    const char *paths[] = { o->output_path, o->rejected_path, o->summary_path, f->report_path };
    if (o->mark && o->rejected_path)
        return err_usage("--mark leaves no document out, so that there are none for --rejected");
    for (int i = 0; i < 4; i++) {
        if (!paths[i])
            continue;
        if (tool_may_replace(paths[i], NULL, NULL) < 0)
            return -1;
        for (int k = 0; k < argc; k++)
            if (strcmp(paths[i], "-") && !strcmp(paths[i], argv[k]))
                return err_usage("'%s' is input and output", argv[k]);
        for (int k = 0; k < i; k++)
            if (paths[k] && !strcmp(paths[k], paths[i]))
                return err_usage("'%s' is the file of two outputs", paths[i]);
    }
    return 0;
}

static int open_outputs(struct run *r)
{
    const char *const paths[2] = { r->f->options->output_path, r->f->options->rejected_path };
    for (int i = 0; i < 2 && !r->f->silent; i++) {
        if (paths[i] && output_open(&r->outs[i], paths[i]) < 0)
            return -1;
        r->opened[i] = paths[i] != NULL;
    }
    return 0;
}

static int write_ends(struct run *r)
{
    const struct flow *f = r->f;
    uint64_t counts[2] = { f->options->mark ? f->read : f->kept, f->read - f->kept };
    SCOPED(buf) end = BUF_INIT;
    int result = begin(r);
    for (int i = 0; i < 2 && !result; i++) {
        buf_clear(&end);
        entries_put_end(&r->source, &end, counts[i]);
        if (r->copies[i].copy)
            result = rows_copy_end(&r->copies[i]);
        if (r->opened[i] && !result)
            result = output_write(&r->outs[i], end.data, end.len);
    }
    return result;
}

static int pass(struct run *r)
{
    return open_outputs(r) < 0 || run_batches(r) < 0 ? -1 : write_ends(r);
}

/* Publishes all outputs, the documents that stay as the last, or none. */
static int end_outputs(struct run *r, int result)
{
    const char *summary = r->f->silent ? NULL : r->f->options->summary_path;
    struct output set[3];
    size_t count = 0;
    if (r->opened[1])
        set[count++] = r->outs[1];
    if (!result && summary && !(result = output_open(&set[count], summary)))
        result = write_summary(r->f, &set[count++]);
    if (r->opened[0])
        set[count++] = r->outs[0];
    return output_end_all(set, count, result);
}

int flow_run(struct flow *f, int argc, char **argv)
{
    struct run r = { .f = f };
    f->left_out = f->left_out ? f->left_out : mem_zalloc(f->reason_count + 1, sizeof *f->left_out);
    if (check(f, argc, argv) < 0)
        return -1;
    int result = entries_open(&r.source, argv, argc, (enum entry_format)f->options->format,
                              f->options->field);
    if (!result)
        result = pass(&r);
    rows_copy_close(&r.copies[0]);
    rows_copy_close(&r.copies[1]);
    entries_close(&r.source);
    if (!result && f->read < f->least)
        result = err_set("the input became shorter after it was read first");
    result = end_outputs(&r, result);
    if (!result && !f->silent)
        report(f);
    return result;
}

void flow_release(struct flow *f)
{
    free(f->left_out);
    f->left_out = NULL;
}
