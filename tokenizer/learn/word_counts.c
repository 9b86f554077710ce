#include "tokenizer/learn/word_counts.h"

#include <errno.h>
#include <unistd.h>

#include "common/base/again.h"
#include "common/base/heap.h"
#include "common/base/le.h"
#include "common/base/order.h"
#include "common/base/protobuf.h"

#define NONE UINT32_MAX

enum {
    FIRST_SLOTS = 1 << 10,
    LEAST_LIMIT = 1 << 16, /* of a table's memory: each file shall have many words */
    RUN_BUFFER = 64 << 10,
    FAN_IN = 16, /* runs merged at once: by a table when it has so many, as each is an open file */
    RECENT = 8192,
    RECENT_LENGTH = 16,
};

/* A short word that was added recently, and the part of its count that is not yet in the table.
 * Most words of a text are found here, in a small array, without the table. `first` and `last` are
 * the word's first and last eight bytes, which may overlap; `last` is 0 for up to eight bytes. */
struct recent {
    uint64_t first, last, count;
    size_t len;
};

struct word_counts {
    struct counted_words list;
    uint32_t *slots; /* hash table of indices in list.words */
    size_t slot_mask;
    size_t limit_bytes;
    const char *folder;
    int *runs; /* file descriptors of the runs */
    size_t run_count, runs_cap;
    struct recent recent[RECENT];
};

void counted_words_release(struct counted_words *l)
{
    buf_release(&l->bytes);
    free(l->words);
    *l = (struct counted_words)COUNTED_WORDS_INIT;
}

static void list_put(struct counted_words *l, const char *word, size_t n, uint32_t hash,
                     uint64_t count)
{
    mem_next(l->words, l->count, l->cap) = (struct counted_word){ l->bytes.len, (uint32_t)n, hash,
                                                                  count };
    buf_add(&l->bytes, word, n);
}

/* ---- the table ------------------------------------------------------------------------------ */

static void set_slots(struct word_counts *w, size_t slots)
{
    w->slots = mem_resize(w->slots, slots, sizeof *w->slots);
    memset(w->slots, 0xFF, slots * sizeof *w->slots);
    w->slot_mask = slots - 1;
    for (size_t k = 0; k < w->list.count; k++) {
        size_t i = w->list.words[k].hash & w->slot_mask;
        while (w->slots[i] != NONE)
            i = (i + 1) & w->slot_mask;
        w->slots[i] = (uint32_t)k;
    }
}

struct word_counts *word_counts_new(size_t limit_bytes, const char *folder)
{
    struct word_counts *w = mem_zalloc(1, sizeof *w);
    w->list = (struct counted_words)COUNTED_WORDS_INIT;
    w->limit_bytes = limit_bytes && limit_bytes < LEAST_LIMIT ? LEAST_LIMIT : limit_bytes;
    w->folder = folder;
    set_slots(w, FIRST_SLOTS);
    return w;
}

void word_counts_free(struct word_counts *w)
{
    if (!w)
        return;
    counted_words_release(&w->list);
    for (size_t i = 0; i < w->run_count; i++)
        close(w->runs[i]);
    free(w->runs);
    free(w->slots);
    free(w);
}

static uint32_t hash_word(const char *word, size_t n)
{
    uint64_t h = n, part = 0;
    for (; n >= 8; word += 8, n -= 8) {
        memcpy(&part, word, 8);
        h = (h ^ part) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    part = 0;
    memcpy(&part, word, n);
    h = (h ^ part) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

/* ---- runs, written -------------------------------------------------------------------------- */

struct run_writer {
    int fd;
    struct buf pending;
    const char *folder; /* borrowed */
};

static int write_pending(struct run_writer *r)
{
    for (size_t done = 0; done < r->pending.len;) {
        ssize_t n = AGAIN(write(r->fd, r->pending.data + done, r->pending.len - done));
        if (n < 0)
            return err_set("cannot write a temporary file in '%s': %s", r->folder, strerror(errno));
        done += (size_t)n;
    }
    buf_clear(&r->pending);
    return 0;
}

void word_row_put(struct buf *out, const char *word, size_t n, uint64_t count)
{
    protobuf_add_varint(out, n);
    protobuf_add_varint(out, count);
    buf_add(out, word, n);
}

static int run_put(void *ctx, const char *word, size_t n, uint64_t count)
{
    struct run_writer *r = ctx;
    word_row_put(&r->pending, word, n, count);
    return r->pending.len < RUN_BUFFER ? 0 : write_pending(r);
}

/* Ends a run. `result` is that of its rows so far: if it is 0, writes the pending rows. Returns 0,
 * or -1 with an error. */
static int run_end(struct run_writer *r, int result)
{
    if (!result)
        result = write_pending(r);
    buf_release(&r->pending);
    return result;
}

/* Represents a word during sorting: the first eight bytes decide most comparisons. */
struct sort_key {
    uint64_t first; /* big-endian, zero-padded */
    uint32_t word;
};

static int compare_keys(const void *x, const void *y, void *list)
{
    const struct sort_key *a = x, *b = y;
    const struct counted_words *l = list;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    const struct counted_word *p = &l->words[a->word], *q = &l->words[b->word];
    return order_bytes(l->bytes.data + p->at, p->len, l->bytes.data + q->at, q->len);
}

static struct sort_key *sorted(struct counted_words *l)
{
    struct sort_key *keys = mem_alloc(l->count * sizeof *keys);
    for (size_t i = 0; i < l->count; i++) {
        const struct counted_word *word = &l->words[i];
        keys[i] = (struct sort_key){ 0, (uint32_t)i };
        for (size_t k = 0; k < 8; k++)
            keys[i].first = keys[i].first << 8 |
                            (k < word->len ? (unsigned char)l->bytes.data[word->at + k] : 0u);
    }
    qsort_r(keys, l->count, sizeof *keys, compare_keys, l);
    return keys;
}

static void empty(struct word_counts *w)
{
    counted_words_release(&w->list);
    set_slots(w, FIRST_SLOTS);
}

/* Calls `put` for the words of the table in order, and empties the table. */
static int put_sorted(struct word_counts *w, word_put *put, void *ctx)
{
    SCOPED_MEM struct sort_key *keys = sorted(&w->list);
    int result = 0;
    for (size_t i = 0; i < w->list.count && !result; i++) {
        const struct counted_word *word = &w->list.words[keys[i].word];
        result = put(ctx, w->list.bytes.data + word->at, word->len, word->count);
    }
    empty(w);
    return result;
}

static int merge_first(struct word_counts *w);

/* Writes the table as a run, and empties it. Returns 0, or -1 with an error. */
static int spill(struct word_counts *w)
{
    struct run_writer run = { file_nameless(w->folder), BUF_INIT, w->folder };
    if (run.fd < 0)
        return -1;
    mem_next(w->runs, w->run_count, w->runs_cap) = run.fd;
    int result = run_end(&run, put_sorted(w, run_put, &run));
    return result || w->run_count < FAN_IN ? result : merge_first(w);
}

static size_t table_bytes(const struct word_counts *w)
{
    return w->list.bytes.len + w->list.count * (sizeof *w->list.words + sizeof(struct sort_key)) +
           (w->slot_mask + 1) * sizeof *w->slots;
}

static void count_word(struct word_counts *w, const char *word, size_t n, uint64_t count)
{
    uint32_t hash = hash_word(word, n);
    size_t i = hash & w->slot_mask;
    for (; w->slots[i] != NONE; i = (i + 1) & w->slot_mask) {
        struct counted_word *have = &w->list.words[w->slots[i]];
        if (have->hash == hash && have->len == n &&
            !memcmp(w->list.bytes.data + have->at, word, n)) {
            have->count += count;
            return;
        }
    }
    assert(w->list.count < NONE);
    w->slots[i] = (uint32_t)w->list.count;
    list_put(&w->list, word, n, hash, count);
    if (2 * w->list.count > w->slot_mask)
        set_slots(w, 2 * (w->slot_mask + 1));
}

/* ---- words that were added lately ------------------------------------------------------------ */

/* Returns the first 8 bytes of a word, or all its bytes and zeroes. */
static inline uint64_t first_bytes(const unsigned char *word, size_t n)
{
    if (n >= 8)
        return le_u64(word);
    if (n >= 4)
        return le_u32(word) | (uint64_t)le_u32(word + n - 4) << 8 * (n - 4);
    return n ? word[0] | (uint64_t)word[n / 2] << 8 * (n / 2) | (uint64_t)word[n - 1] << 8 * (n - 1)
             : 0;
}

/* Counts a recent word in the table and forgets it. */
static void count_recent(struct word_counts *w, struct recent *r)
{
    char word[RECENT_LENGTH];
    if (!r->count)
        return;
    le_put_u64(word, r->first);
    if (r->len > 8)
        le_put_u64(word + r->len - 8, r->last);
    count_word(w, word, r->len, r->count);
    r->count = 0;
}

/* Adds `count` to a recent word. If the word was not among the recent ones, it takes the place of
 * another, which is counted in the table. Returns 1 if it was among them, else 0. */
static int add_recent(struct word_counts *w, const char *word, size_t n, uint64_t count)
{
    const unsigned char *p = (const unsigned char *)word;
    uint64_t first = first_bytes(p, n), last = n > 8 ? le_u64(p + n - 8) : 0;
    uint64_t hash = ((first ^ n) * 0x9E3779B97F4A7C15u ^ last) * 0xC2B2AE3D27D4EB4Fu;
    struct recent *r = &w->recent[hash >> 32 & (RECENT - 1)];
    if (r->first == first && r->last == last && r->len == n && r->count) {
        r->count += count;
        return 1;
    }
    count_recent(w, r);
    *r = (struct recent){ first, last, count, n };
    return 0;
}

int word_counts_add(struct word_counts *w, const char *word, size_t n, uint64_t count)
{
    if (!count || n > RECENT_LENGTH) {
        if (n >= NONE)
            return err_set("a word of %zu bytes is too long to be counted", n);
        count_word(w, word, n, count);
    } else if (add_recent(w, word, n, count)) {
        return 0;
    }
    /* Growing arrays take up to twice the size of their contents. */
    return w->limit_bytes && 2 * table_bytes(w) > w->limit_bytes ? spill(w) : 0;
}

/* ---- runs, read ----------------------------------------------------------------------------- */

int word_bad(const struct input *in, const char *what)
{
    return err_set("%s: at byte %" PRIu64 ": %s", in->path, in->offset, what);
}

int word_row_read(struct input *in, struct word_row *row)
{
    enum { HEAD_MAX = 2 * PROTOBUF_VARINT_MAX };
    uint64_t n;
    const int64_t have = input_peek(in, HEAD_MAX);
    if (have <= 0)
        return (int)have;
    const unsigned char *p = (const unsigned char *)in->data + in->begin;
    const unsigned char *count = protobuf_varint(p, p + have, &n);
    const unsigned char *word = count ? protobuf_varint(count, p + have, &row->count) : NULL;
    const size_t head = word ? (size_t)(word - p) : 0;
    /* a number that is longer than necessary is malformed, too */
    if (!word || head > protobuf_varint_bytes(n) + protobuf_varint_bytes(row->count))
        return word_bad(in, have < HEAD_MAX ? "the file is cut off" : "not a row of a word");
    if (n >= NONE)
        return word_bad(in, "not a row of a word");
    row->len = (size_t)n;
    row->bytes = head + row->len;
    const int64_t all = (uint64_t)have < row->bytes ? input_peek(in, row->bytes) : have;
    if (all < 0)
        return -1;
    if ((uint64_t)all < row->bytes)
        return word_bad(in, "the file is cut off");
    row->word = in->data + in->begin + head;
    return 1;
}

struct run_reader {
    int fd;
    off_t at; /* where the next read begins: the file's own position is at its end */
    struct input in;
    struct word_row row; /* the current one */
};

static int64_t read_run(void *from, void *bytes, size_t n)
{
    struct run_reader *r = from;
    const ssize_t got = AGAIN(pread(r->fd, bytes, n, r->at));
    if (got < 0)
        return err_set("cannot read '%s': %s", r->in.path, strerror(errno));
    r->at += got;
    return got;
}

static void reader_open(struct run_reader *r, int fd)
{
    *r = (struct run_reader){ .fd = fd };
    input_open_pulled(&r->in, "<temporary file of words>", read_run, r);
}

/* Reads the next row of the run. Returns 1, 0 at the end, or -1 with an error. */
static int reader_next(struct run_reader *r)
{
    input_skip(&r->in, r->row.bytes);
    return word_row_read(&r->in, &r->row);
}

/* ---- merging -------------------------------------------------------------------------------- */

/* Orders the heap of readers, whose top has the least word. */
static int reader_before(struct run_reader *const *a, struct run_reader *const *b)
{
    const struct word_row *x = &(*a)->row, *y = &(*b)->row;
    return order_bytes(x->word, x->len, y->word, y->len) < 0;
}

HEAP(readers, struct run_reader *, reader_before)

struct merge {
    struct run_reader readers[FAN_IN], *heap[FAN_IN];
    size_t heap_count;
    struct buf word;
};

/* Puts the least word into m->word and the sum of its counts in all runs into *count. */
static int take_least(struct merge *m, uint64_t *count)
{
    *count = 0;
    buf_set(&m->word, m->heap[0]->row.word, m->heap[0]->row.len);
    while (m->heap_count &&
           !order_bytes(m->heap[0]->row.word, m->heap[0]->row.len, m->word.data, m->word.len)) {
        *count += m->heap[0]->row.count;
        int got = reader_next(m->heap[0]);
        if (got < 0)
            return -1;
        if (got)
            readers_sink(m->heap, m->heap_count, 0, m->heap[0]);
        else
            readers_take(m->heap, &m->heap_count);
    }
    return 0;
}

/* Merges up to FAN_IN runs and calls `put` for each row of the result. */
static int merge_runs(const int *fds, size_t count, word_put *put, void *ctx)
{
    struct merge m = { .word = BUF_INIT };
    int result = 0;
    uint64_t sum;
    for (size_t i = 0; i < count; i++)
        reader_open(&m.readers[i], fds[i]);
    for (size_t i = 0; i < count && !result; i++) {
        int got = reader_next(&m.readers[i]);
        if (got > 0)
            m.heap[m.heap_count++] = &m.readers[i];
        result = got < 0 ? -1 : 0;
    }
    readers_make(m.heap, m.heap_count);
    while (m.heap_count && !result)
        if ((result = take_least(&m, &sum)) == 0)
            result = put(ctx, m.word.data, m.word.len, sum);
    for (size_t i = 0; i < count; i++)
        input_close(&m.readers[i].in);
    buf_release(&m.word);
    return result;
}

/* Merges the first FAN_IN runs into one, which is put after the last. */
static int merge_first(struct word_counts *w)
{
    struct run_writer run = { file_nameless(w->folder), BUF_INIT, w->folder };
    if (run.fd < 0)
        return -1;
    int result = run_end(&run, merge_runs(w->runs, FAN_IN, run_put, &run));
    for (size_t i = 0; i < FAN_IN; i++)
        close(w->runs[i]);
    w->run_count -= FAN_IN;
    memmove(w->runs, w->runs + FAN_IN, w->run_count * sizeof *w->runs);
    w->runs[w->run_count++] = run.fd;
    return result;
}

struct chosen {
    struct counted_words *list;
    uint64_t least;
};

static int put_chosen(void *ctx, const char *word, size_t n, uint64_t count)
{
    const struct chosen *c = ctx;
    if (count >= c->least && c->list->count == NONE)
        return err_set("too many different words: leave out rare ones with --min-word-count");
    if (count >= c->least)
        list_put(c->list, word, n, 0, count);
    return 0;
}

/* Writes all tables as runs, merges all runs, and calls `put` for each word. */
static int put_runs(struct word_counts **tables, size_t count, word_put *put, void *ctx)
{
    struct word_counts *all = tables[0];
    for (size_t i = 0; i < count; i++) {
        struct word_counts *w = tables[i];
        if (spill(w) < 0)
            return -1;
        for (size_t k = 0; k < w->run_count && i; k++)
            mem_next(all->runs, all->run_count, all->runs_cap) = w->runs[k];
        w->run_count = i ? 0 : w->run_count;
    }
    while (all->run_count > FAN_IN)
        if (merge_first(all) < 0)
            return -1;
    return merge_runs(all->runs, all->run_count, put, ctx);
}

/* Adds the words of all tables to the first one's. */
static void gather_tables(struct word_counts **tables, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct counted_words *l = &tables[i]->list;
        for (size_t k = 0; k < l->count; k++)
            count_word(tables[0], l->bytes.data + l->words[k].at, l->words[k].len,
                       l->words[k].count);
        empty(tables[i]);
    }
}

/* Counts the recent words in the tables. Returns the number of runs of all tables. */
static size_t count_pending(struct word_counts **tables, size_t count)
{
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < RECENT; k++)
            count_recent(tables[i], &tables[i]->recent[k]);
        runs += tables[i]->run_count;
    }
    return runs;
}

int word_counts_each(struct word_counts **tables, size_t count, word_put *put, void *ctx)
{
    if (count_pending(tables, count))
        return put_runs(tables, count, put, ctx);
    gather_tables(tables, count);
    return count ? put_sorted(tables[0], put, ctx) : 0;
}

int word_counts_join(struct counted_words *out, struct word_counts **tables, size_t count,
                     uint64_t least)
{
    struct chosen chosen = { out, least };
    if (!count)
        return 0;
    if (count_pending(tables, count))
        return put_runs(tables, count, put_chosen, &chosen);
    gather_tables(tables, count);
    *out = tables[0]->list;
    tables[0]->list = (struct counted_words)COUNTED_WORDS_INIT;
    empty(tables[0]);
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++)
        if (out->words[i].count >= least)
            out->words[kept++] = out->words[i];
    out->count = kept;
    return 0;
}
