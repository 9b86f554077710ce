#include "tfrecord/layouts/windows.h"

#include "common/base/ids.h"
#include "common/base/least.h"
#include "common/base/log.h"
#include "common/base/noun.h"
#include "common/base/order.h"
#include "common/base/pool.h"
#include "common/base/rng.h"
#include "common/files/spill.h"
#include "tfrecord/formats/example.h"
#include "tfrecord/formats/record.h"
#include "tfrecord/layouts/fit.h"

enum { KEY_DOCUMENTS = 1, KEY_WINDOWS = 2 }; /* keys of the shuffles that use one seed */
enum { HELD_MAX = 1 << 20 };                 /* bytes of documents to keep in memory */

static uint64_t whole_windows(const struct windows *w, uint64_t tokens)
{
    uint64_t length = (uint64_t)w->sequence_length + 1;
    return tokens < length ? 0 : (tokens - length) / w->stride + 1;
}

uint64_t windows_count(const struct windows *w, uint64_t tokens)
{
    uint64_t length = (uint64_t)w->sequence_length + 1, whole = whole_windows(w, tokens);
    uint64_t covered = whole ? (whole - 1) * w->stride + length : 0;
    /* A last piece needs an input, and a label that is in no earlier window. */
    int piece = tokens > covered && tokens > whole * w->stride + 1;
    return whole + (w->pad && piece);
}

/* The documents of a group in stream order, each followed by end-of-text. */
struct documents {
    struct spill ids; /* uint32_t; kept in memory unless WINDOWS_ALL is set */
    size_t tokens;
    size_t *ends;
    size_t count, ends_cap;
    uint64_t *order;
    size_t order_cap;
    uint64_t *ordered_ends; /* with WINDOWS_ALL: the ends of the documents in `order` */
};

/* The share of a group that goes to training or to validation: tokens from position `at` of that
 * part on, and the windows that they complete. */
struct piece {
    uint64_t at, first, windows;
    uint32_t *ids; /* ids of these tokens; not with WINDOWS_ALL */
    size_t count, cap;
    uint64_t documents, tokens; /* new documents and tokens in this group */
    struct fit fit;             /* of best_fit, whose windows are rows of it */

    uint64_t *order; /* of the windows, which are numbered through the part */
    size_t order_cap;
    struct buf frames; /* the records of the windows */
    size_t *ends;      /* [windows]: the end of each record in `frames` */
    size_t ends_cap;
};

struct group {
    uint64_t number;
    struct piece pieces[WINDOWS_PARTS];
    int64_t *ids; /* of a window, and its loss mask */
    struct buf message;
};

/* A part's shards. They are opened when the part has its first records. */
struct part {
    struct windows_part *result;
    struct shard_set set;
    struct record_shard *shards; /* NULL: none yet */

    /* With WINDOWS_ALL: */
    uint64_t begin, tokens;  /* in the ordered documents */
    uint64_t *order;         /* of all windows */
    uint64_t windows, taken; /* number of windows; how many of them went into groups */
};

struct job {
    const struct windows *w;
    const struct shard_set *set;
    struct intake *s;
    struct documents documents;
    uint64_t groups, tokens, held; /* so far */
    const struct group *before;    /* the group that was read last */
    int ended;                     /* 1: the stream has ended */
    struct part parts[WINDOWS_PARTS];
    struct pool *pool; /* to compress with; NULL: not needed */
};

/* ---- reading: documents are dealt out ------------------------------------------------------- */

static int add_document(struct documents *d, const struct intake *s)
{
    s->ids[s->count] = s->end;
    d->tokens += s->count + 1;
    mem_next(d->ends, d->count, d->ends_cap) = d->tokens;
    return spill_add(&d->ids, s->ids, (s->count + 1) * sizeof *s->ids);
}

static size_t begin_of(const struct documents *d, uint64_t i)
{
    return i ? d->ends[i - 1] : 0;
}

static const uint32_t *ids_of(const struct documents *d, uint64_t i)
{
    return (const uint32_t *)d->ids.data + begin_of(d, i);
}

/* Starts piece p, which follows the piece `before` of the preceding group: it begins with the
 * tokens of that piece that later windows need. */
static void begin_piece(struct piece *p, const struct piece *before, uint64_t stride)
{
    uint64_t end = before->at + before->count;
    p->first = before->first + before->windows;
    p->at = smaller(p->first * stride, end);
    p->count = (size_t)(end - p->at);
    p->documents = p->tokens = 0;
    fit_clear(&p->fit);
    mem_grow(p->ids, p->cap, p->count);
    if (p->count)
        memcpy(p->ids, before->ids + (p->at - before->at), p->count * sizeof *p->ids);
}

static void take_document(struct piece *p, const struct windows *w, const struct documents *d,
                          uint64_t i)
{
    size_t n = d->ends[i] - begin_of(d, i);
    mem_grow(p->ids, p->cap, p->count + n);
    if (w->best_fit)
        fit_add(&p->fit, p->count, n - 1, w->sequence_length);
    memcpy(p->ids + p->count, ids_of(d, i), n * sizeof *p->ids);
    p->count += n;
    p->tokens += n;
    p->documents++;
}

static void shuffle(const struct windows *w, uint64_t what, uint64_t group, uint64_t *order,
                    uint64_t n)
{
    struct rng r = { rng_key(rng_key(rng_key(0, w->seed), what), group), 0 };
    for (uint64_t i = 0; i < n; i++)
        order[i] = i;
    rng_shuffle(&r, order, n);
}

/* Sets order[0..n) to the numbers of the n windows of a part from `first` on, in the order in which
 * they are written. */
static void order_windows(const struct windows *w, int part, uint64_t group, uint64_t first,
                          uint64_t *order, uint64_t n)
{
    if (!w->keep_order)
        shuffle(w, KEY_WINDOWS + (uint64_t)part, group, order, n);
    for (uint64_t i = 0; i < n; i++)
        order[i] = first + (w->keep_order ? i : order[i]);
}

/* Returns how many of the ordered documents of the group to hold out, from the first on, so that
 * the share of all tokens so far is held out. Adds their tokens to j->held. */
static uint64_t hold_out(struct job *j)
{
    const struct documents *d = &j->documents;
    double share = j->w->validation;
    uint64_t n = 0, want = (uint64_t)(share * (double)j->tokens);
    if (share > 0 && want <= j->w->sequence_length)
        want = (uint64_t)j->w->sequence_length + 1;
    for (; n < d->count && j->held < want; n++)
        j->held += d->ends[d->order[n]] - begin_of(d, d->order[n]);
    return n;
}

/* Shuffles the documents of a group, puts those held out first, and returns their number. With
 * keep_order, the same ones are held out, but both parts keep the order of the input. */
static uint64_t order_documents(struct job *j, uint64_t group)
{
    struct documents *d = &j->documents;
    mem_grow(d->order, d->order_cap, d->count);
    shuffle(j->w, KEY_DOCUMENTS, group, d->order, d->count);
    uint64_t held = hold_out(j);
    if (j->w->keep_order) {
        qsort(d->order, held, sizeof *d->order, order_numbers);
        qsort(d->order + held, d->count - held, sizeof *d->order, order_numbers);
    }
    return held;
}

/* Returns 1 if the group that is being read has enough documents, else 0. The first group must have
 * records for all shards, with some to spare for the part that is held out. */
static int enough(const struct job *j)
{
    const struct documents *d = &j->documents;
    /* with best_fit this is the least number: a row has at most sequence_length labels */
    const uint64_t records = j->w->best_fit ? d->tokens / ((uint64_t)j->w->sequence_length + 1)
                                            : whole_windows(j->w, d->tokens);
    if (j->w->group == WINDOWS_ALL)
        return 0;
    if (!j->groups && records < 2 * (uint64_t)j->set->count)
        return 0;
    return j->w->group ? d->count >= j->w->group : d->tokens >= WINDOWS_GROUP;
}

static int read_documents(struct job *j)
{
    struct documents *d = &j->documents;
    int more = 1;
    spill_clear(&d->ids);
    d->tokens = d->count = 0;
    while (!enough(j) && (more = intake_next(j->s)) > 0)
        if (add_document(d, j->s) < 0)
            return -1;
    j->tokens += d->tokens;
    j->ended = !more;
    return more < 0 ? -1 : spill_finish(&d->ids);
}

static int read_group(void *ctx, void *item)
{
    static const struct piece nothing;
    struct job *j = ctx;
    struct group *g = item;
    const struct documents *d = &j->documents;
    if (j->ended)
        return 0;
    if (read_documents(j) < 0)
        return -1;
    g->number = j->groups++;
    for (int i = 0; i < WINDOWS_PARTS; i++)
        begin_piece(&g->pieces[i], j->before && !j->w->best_fit ? &j->before->pieces[i] : &nothing,
                    j->w->stride);
    const uint64_t held = order_documents(j, g->number);
    for (uint64_t i = 0; i < d->count; i++)
        take_document(&g->pieces[i < held ? WINDOWS_HELD : WINDOWS_TRAIN], j->w, d, d->order[i]);
    for (int i = 0; i < WINDOWS_PARTS && !j->w->best_fit; i++) {
        struct piece *p = &g->pieces[i];
        uint64_t tokens = p->at + p->count;
        p->windows = (j->ended ? windows_count(j->w, tokens) : whole_windows(j->w, tokens)) -
                     p->first;
    }
    j->before = g;
    return 1;
}

/* ---- reading with WINDOWS_ALL: windows are dealt out ----------------------------------------- */

static int read_all(struct job *j)
{
    struct documents *d = &j->documents;
    if (read_documents(j) < 0)
        return -1;
    spill_at_random(&d->ids);
    uint64_t held = order_documents(j, 0), end = 0;
    d->ordered_ends = mem_alloc(d->count * sizeof *d->ordered_ends);
    for (uint64_t i = 0; i < d->count; i++) {
        struct part *part = &j->parts[i < held ? WINDOWS_HELD : WINDOWS_TRAIN];
        uint64_t n = d->ends[d->order[i]] - begin_of(d, d->order[i]);
        d->ordered_ends[i] = end += n;
        part->tokens += n;
        part->result->documents++;
    }
    j->parts[WINDOWS_TRAIN].begin = j->parts[WINDOWS_HELD].tokens;
    for (int i = 0; i < WINDOWS_PARTS; i++) {
        struct part *part = &j->parts[i];
        part->result->tokens = part->tokens;
        part->windows = windows_count(j->w, part->tokens);
        part->order = mem_alloc(part->windows * sizeof *part->order);
        order_windows(j->w, i, 0, 0, part->order, part->windows);
    }
    return 0;
}

/* For WINDOWS_ALL, which orders all windows of the stream at once: sets an item of the pipeline to
 * the next windows in that order. An item has about WINDOWS_GROUP tokens, and at least one window
 * for each shard. The first call reads the whole stream. Returns 1, 0 if no window is left, or -1
 * with an error. */
static int read_windows(void *ctx, void *item)
{
    struct job *j = ctx;
    struct group *g = item;
    if (!j->ended && read_all(j) < 0)
        return -1;
    uint64_t most = larger(WINDOWS_GROUP / ((uint64_t)j->w->sequence_length + 1), j->set->count);
    int some = 0;
    for (int i = 0; i < WINDOWS_PARTS; i++) {
        struct part *part = &j->parts[i];
        struct piece *p = &g->pieces[i];
        p->windows = smaller(part->windows - part->taken, most);
        p->count = part->tokens;
        mem_grow(p->order, p->order_cap, p->windows);
        if (p->windows)
            memcpy(p->order, part->order + part->taken, p->windows * sizeof *p->order);
        part->taken += p->windows;
        some |= p->windows > 0;
    }
    return some;
}

/* Returns the index of the first of the ordered documents that ends after position `at`. */
static uint64_t find_document(const struct documents *d, uint64_t at)
{
    uint64_t low = 0, high = d->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (d->ordered_ends[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Copies n tokens to ids[], from position `at` in the ordered documents on. */
static void take_ids(const struct documents *d, uint64_t at, int64_t *ids, size_t n)
{
    for (uint64_t i = find_document(d, at); n; i++) {
        uint64_t begin = i ? d->ordered_ends[i - 1] : 0;
        const uint32_t *from = ids_of(d, d->order[i]) + (at - begin);
        size_t take = (size_t)smaller(n, d->ordered_ends[i] - at);
        for (size_t k = 0; k < take; k++)
            ids[k] = from[k];
        ids += take;
        at += take;
        n -= take;
    }
}

/* ---- working: windows become records -------------------------------------------------------- */

/* Fills g->ids with the window that begins at position `at` of the part or, with best_fit, with row
 * `at` of the piece. */
static void cut(const struct job *j, struct group *g, int part, uint64_t at)
{
    const struct piece *p = &g->pieces[part];
    if (j->w->best_fit) {
        fit_row(&p->fit, (size_t)at, p->ids, j->w->end_of_text, g->ids, j->w->sequence_length);
        return;
    }
    size_t length = (size_t)j->w->sequence_length + 1, from = (size_t)(at - p->at);
    size_t n = (size_t)smaller(length, p->count - from);
    if (j->w->group == WINDOWS_ALL)
        take_ids(&j->documents, j->parts[part].begin + at, g->ids, n);
    else
        for (size_t i = 0; i < n; i++)
            g->ids[i] = p->ids[from + i];
    for (size_t i = n; i < length; i++)
        g->ids[i] = j->w->end_of_text;
}

/* Sets mask[i] to 0 if ids[i] has the bit IDS_UNCOUNTED, else to 1, and removes the bit. */
static void take_mask(int64_t *ids, int64_t *mask, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mask[i] = !(ids[i] & IDS_UNCOUNTED);
        ids[i] &= ~(int64_t)IDS_UNCOUNTED;
    }
}

static void make_records(const struct job *j, struct group *g, int part)
{
    const size_t length = (size_t)j->w->sequence_length + 1;
    struct piece *p = &g->pieces[part];
    const struct feature features[] = { { "input_ids", FEATURE_INTS, g->ids, length },
                                        { "loss_mask", FEATURE_INTS, g->ids + length, length } };
    mem_grow(p->ends, p->ends_cap, p->windows);
    buf_clear(&p->frames);
    for (uint64_t i = 0; i < p->windows; i++) {
        cut(j, g, part, p->order[i] * j->w->stride);
        buf_clear(&g->message);
        if (j->s->masked)
            take_mask(g->ids, g->ids + length, length);
        example_encode(&g->message, features, j->s->masked ? 2 : 1);
        record_frame(&p->frames, g->message.data, g->message.len);
        p->ends[i] = p->frames.len;
    }
}

static int make_group(void *ctx, void *item)
{
    const struct job *j = ctx;
    struct group *g = item;
    if (!g->ids)
        g->ids = mem_zalloc(2 * ((size_t)j->w->sequence_length + 1), sizeof *g->ids);
    for (int i = 0; i < WINDOWS_PARTS; i++) {
        struct piece *p = &g->pieces[i];
        if (j->w->best_fit)
            p->windows = fit_pack(&p->fit, j->w->sequence_length);
        mem_grow(p->order, p->order_cap, p->windows);
        if (j->w->group != WINDOWS_ALL)
            order_windows(j->w, i, g->number, p->first, p->order, p->windows);
        make_records(j, g, i);
    }
    return 0;
}

/* ---- writing: records are dealt out ---------------------------------------------------------- */

static int open_shards(struct part *part, const struct shard_set *set, uint64_t records)
{
    int result = 0;
    part->set = *set;
    part->set.dir = part->result->dir;
    part->set.count = (uint32_t)smaller(records, set->count);
    part->shards = mem_zalloc(part->set.count, sizeof *part->shards);
    for (uint32_t i = 0; i < part->set.count && !result; i++)
        result = record_shard_open(&part->shards[i], &part->set, i);
    return result;
}

/* The records of a piece, to be written to the shards of a part. */
struct delivery {
    const struct part *part;
    const struct piece *piece;
    char **errors; /* of each shard that gets some; NULL where all went well */
};

/* Puts record k of the piece into its shard, and all others of that shard. */
static void put_records(void *ctx, int64_t k, int)
{
    const struct delivery *d = ctx;
    const struct piece *p = d->piece;
    uint64_t count = d->part->set.count, shard = (d->part->result->records + (uint64_t)k) % count;
    for (uint64_t i = (uint64_t)k; i < p->windows; i += count) {
        size_t begin = i ? p->ends[i - 1] : 0;
        if (record_shard_put_frame(&d->part->shards[shard], p->frames.data + begin,
                                   p->ends[i] - begin) < 0) {
            d->errors[k] = mem_strdup(err_get());
            return;
        }
    }
}

static int deliver(struct job *j, struct part *part, const struct piece *p)
{
    if (!part->shards && open_shards(part, j->set, p->windows) < 0)
        return -1;
    uint32_t shards = (uint32_t)smaller(part->set.count, p->windows);
    struct delivery d = { part, p, mem_zalloc(shards, sizeof *d.errors) };
    if (j->pool)
        pool_each(j->pool, shards, put_records, &d);
    for (uint32_t i = 0; i < shards && !j->pool; i++)
        put_records(&d, i, 0);
    int result = 0;
    for (uint32_t i = 0; i < shards; i++) {
        if (d.errors[i] && !result)
            result = err_set("%s", d.errors[i]);
        free(d.errors[i]);
    }
    free(d.errors);
    part->result->records += p->windows;
    return result;
}

static int write_group(void *ctx, void *item)
{
    struct job *j = ctx;
    const struct group *g = item;
    uint64_t records = 0;
    for (int i = 0; i < WINDOWS_PARTS; i++) {
        struct windows_part *result = j->parts[i].result;
        const struct piece *p = &g->pieces[i];
        result->documents += p->documents;
        result->tokens += p->tokens;
        result->cut += p->fit.cut;
        result->filled += p->fit.filled;
        if (p->windows && deliver(j, &j->parts[i], p) < 0)
            return -1;
        records += result->records;
    }
    progress_to(records);
    return 0;
}

/* ---- the run --------------------------------------------------------------------------------- */

static int run_groups(struct job *j)
{
    int n = j->set->threads + 1;
    SCOPED_MEM struct group *groups = mem_zalloc((size_t)n, sizeof *groups);
    SCOPED_MEM void **items = mem_zalloc((size_t)n, sizeof *items);
    for (int i = 0; i < n; i++) {
        items[i] = &groups[i];
        groups[i].message = (struct buf)BUF_INIT;
        for (int k = 0; k < WINDOWS_PARTS; k++)
            groups[i].pieces[k].frames = (struct buf)BUF_INIT;
    }
    int (*read)(void *, void *) = j->w->group == WINDOWS_ALL ? read_windows : read_group;
    struct pipeline p = { read, make_group, write_group, j, items, n, NULL };
    int result = pipeline_run(&p, j->set->threads);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < WINDOWS_PARTS; k++) {
            free(groups[i].pieces[k].ids);
            free(groups[i].pieces[k].order);
            free(groups[i].pieces[k].ends);
            fit_release(&groups[i].pieces[k].fit);
            buf_release(&groups[i].pieces[k].frames);
        }
        free(groups[i].ids);
        buf_release(&groups[i].message);
    }
    return result;
}

static int close_part(const struct job *j, struct part *part, const char *what)
{
    int result = 0;
    if (!part->shards && j->set->allow_empty)
        return 0;
    if (!part->shards)
        return err_set("%s: %" PRIu64 " document%s with %" PRIu64
                       " token%s are too few%s: no record of %u token%s and a label",
                       j->s->in.path, j->s->documents, noun_end(j->s->documents), j->s->tokens,
                       noun_end(j->s->tokens), what, j->w->sequence_length,
                       noun_end(j->w->sequence_length));
    for (uint32_t i = 0; i < part->set.count && !result; i++)
        result = record_shard_close(&part->shards[i], &part->result->files);
    return result;
}

static void release(struct job *j)
{
    for (int i = 0; i < WINDOWS_PARTS; i++) {
        for (uint32_t k = 0; k < j->parts[i].set.count; k++)
            record_shard_release(&j->parts[i].shards[k]);
        free(j->parts[i].shards);
        free(j->parts[i].order);
    }
    spill_release(&j->documents.ids);
    free(j->documents.ends);
    free(j->documents.order);
    free(j->documents.ordered_ends);
    pool_free(j->pool);
}

int windows_write(const struct windows *w, const struct shard_set *set, struct intake *s,
                  struct windows_part *parts)
{
    struct job j = { .w = w, .set = set, .s = s };
    const char *two = w->validation > 0 ? " for two parts (a document is never divided)" : NULL;
    spill_init(&j.documents.ids, w->group == WINDOWS_ALL ? HELD_MAX : SIZE_MAX);
    for (int i = 0; i < WINDOWS_PARTS; i++)
        j.parts[i].result = &parts[i];
    if (set->compression != COMPRESS_NONE)
        j.pool = pool_new(set->threads);
    int result = run_groups(&j);
    if (!result)
        result = close_part(&j, &j.parts[WINDOWS_TRAIN], two ? two : "");
    if (!result && two)
        result = close_part(&j, &j.parts[WINDOWS_HELD], " for validation");
    release(&j);
    return result;
}
