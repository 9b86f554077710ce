#include "tfrecord/corpus.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/rng.h"
#include "tfrecord/le.h"

enum { KEY_DOCUMENTS = 1 }; /* names this shuffle among those of one seed */

int corpus_open(struct corpus *c, const char *path, int width)
{
    *c = (struct corpus){ .width = width, .bytes = BUF_INIT };
    return output_open(&c->spill, path);
}

int corpus_add(struct corpus *c, const uint32_t *ids, size_t n)
{
    mem_grow(c->documents, c->cap, c->count + 1);
    c->documents[c->count++] = (struct corpus_document){ c->tokens, c->tokens + n };
    c->tokens += n;
    buf_clear(&c->bytes);
    buf_reserve(&c->bytes, n * (size_t)c->width);
    for (size_t i = 0; i < n; i++) {
        if (c->width == 2)
            le_put_u16(c->bytes.data + 2 * i, (uint16_t)ids[i]);
        else
            le_put_u32(c->bytes.data + 4 * i, ids[i]);
    }
    return output_write(&c->spill, c->bytes.data, n * (size_t)c->width);
}

int corpus_map(struct corpus *c)
{
    if (output_flush(&c->spill) < 0)
        return -1;
    int fd = c->spill.fd;
    c->spill.fd = -1;
    if (close(fd) < 0) /* where some file systems tell that a write failed; fsync is not needed */
        return err_set("cannot close '%s': %s", c->spill.temp, strerror(errno));
    if (file_map(&c->map, c->spill.temp) < 0)
        return -1;
    output_abandon(&c->spill); /* the name goes, the map stays */
    return 0;
}

void corpus_release(struct corpus *c)
{
    output_abandon(&c->spill);
    file_unmap(&c->map);
    buf_release(&c->bytes);
    free(c->documents);
    *c = (struct corpus){ .bytes = BUF_INIT };
}

/* ---- parts -------------------------------------------------------------------------------- */

static void shuffle(struct corpus *c, uint64_t seed)
{
    struct rng r = { rng_key(rng_key(0, seed), KEY_DOCUMENTS), 0 };
    for (size_t i = c->count; i > 1; i--) {
        size_t j = rng_below(&r, i);
        struct corpus_document keep = c->documents[i - 1];
        c->documents[i - 1] = c->documents[j];
        c->documents[j] = keep;
    }
}

static int by_start(const void *a, const void *b)
{
    uint64_t x = ((const struct corpus_document *)a)->start;
    uint64_t y = ((const struct corpus_document *)b)->start;
    return (x > y) - (x < y);
}

/* Makes documents [begin, begin + count) a part: their ends become ends in it. */
static struct corpus_part make_part(struct corpus *c, size_t begin, size_t count, int keep_order)
{
    struct corpus_document *d = c->documents + begin;
    struct corpus_part part = { c, d, count, 0 };
    if (keep_order && count)
        qsort(d, count, sizeof *d, by_start);
    for (size_t i = 0; i < count; i++)
        d[i].end = part.tokens += d[i].end - d[i].start;
    return part;
}

void corpus_split(struct corpus *c, uint64_t seed, double share, uint64_t least, int keep_order,
                  struct corpus_part *first, struct corpus_part *second)
{
    shuffle(c, seed);
    uint64_t want = (uint64_t)(share * (double)c->tokens), got = 0;
    size_t n = 0;
    if (want < least)
        want = least;
    for (; n < c->count && got < want; n++)
        got += c->documents[n].end - c->documents[n].start;
    *first = make_part(c, 0, n, keep_order);
    *second = make_part(c, n, c->count - n, keep_order);
}

static uint64_t begin_of(const struct corpus_part *p, size_t document)
{
    return document ? p->documents[document - 1].end : 0;
}

static const unsigned char *bytes_at(const struct corpus *c, uint64_t token)
{
    return c->map.data + token * (uint64_t)c->width;
}

void corpus_find(const struct corpus_part *p, const uint64_t *at, size_t count, size_t *documents)
{
    enum { AHEAD = 4 };
    for (size_t i = 0; i < count; i++)
        documents[i] = 0;
    for (size_t left = p->count; left > 1; left -= left / 2)
        for (size_t i = 0; i < count; i++) /* a step of all searches, without a branch on what it finds */
            documents[i] += p->documents[documents[i] + left / 2 - 1].end <= at[i] ? left / 2 : 0;
    for (size_t i = 0; i < count; i++) {
        size_t d = documents[i], last = p->count - d < AHEAD ? p->count : d + AHEAD;
        __builtin_prefetch(bytes_at(p->corpus, p->documents[d].start + (at[i] - begin_of(p, d))));
        while (++d < last)
            __builtin_prefetch(bytes_at(p->corpus, p->documents[d].start));
    }
}

static void read_ids(const struct corpus *c, uint64_t at, size_t n, int64_t *ids)
{
    const unsigned char *p = bytes_at(c, at);
    if (c->width == 2)
        for (size_t i = 0; i < n; i++)
            ids[i] = le_u16(p + 2 * i);
    else
        for (size_t i = 0; i < n; i++)
            ids[i] = le_u32(p + 4 * i);
}

void corpus_read(const struct corpus_part *p, size_t document, uint64_t at, size_t n, int64_t *ids)
{
    assert(at + n <= p->tokens && (!n || at < p->documents[document].end));
    for (size_t i = document; n; i++) {
        const struct corpus_document *d = &p->documents[i];
        size_t here = d->end - at < n ? (size_t)(d->end - at) : n;
        read_ids(p->corpus, d->start + (at - begin_of(p, i)), here, ids);
        at += here;
        ids += here;
        n -= here;
    }
}
