#include "tokenizer/wordcache.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

enum {
    KEY_BYTES = 16,
    INLINE_IDS = 4,
    WAYS = 4,
    BUCKETS_LOG = 16,
    RING_UNITS = 1 << 20, /* of four bytes */
    PIECE_BYTES_MAX = 255,
    PIECE_IDS_MAX = 255,
    COUNT_SHIFT = 24,
    ID_MASK = (1 << COUNT_SHIFT) - 1,
    ELSEWHERE = 255, /* as a count: the ids stand in the ring */
    PROBES = 32,
};

struct word {
    uint64_t key[KEY_BYTES / 8];
    union {
        uint32_t ids[INLINE_IDS]; /* their number above the first */
        struct {
            uint32_t elsewhere; /* with the true number below */
            uint32_t spare;
            uint64_t place; /* units written to the ring before its ids, then its bytes */
        };
    };
};

struct wordcache {
    struct word (*buckets)[WAYS];
    uint32_t *ring;
    uint64_t written; /* units, all told; of them the last RING_UNITS are there */
    int (*encode)(void *ctx, const char *piece, size_t n, struct ids *out);
    void *ctx;
};

struct wordcache *wordcache_new(int (*encode)(void *ctx, const char *piece, size_t n,
                                              struct ids *out),
                                void *ctx)
{
    struct wordcache *c = mem_zalloc(1, sizeof *c);
    size_t bytes = sizeof *c->buckets << BUCKETS_LOG;
    c->buckets = memset(mem_aligned(1, bytes), 0, bytes);
    c->ring = mem_alloc(RING_UNITS * sizeof *c->ring);
    c->encode = encode;
    c->ctx = ctx;
    return c;
}

void wordcache_free(struct wordcache *c)
{
    if (!c)
        return;
    free(c->buckets);
    free(c->ring);
    free(c);
}

/* ---- keys ------------------------------------------------------------------------------------- */

struct key {
    uint64_t low, high;
};

#define LAST_BYTE_SHIFT (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 56 : 0)
static const uint64_t long_mark = (uint64_t)0xFF << LAST_BYTE_SHIFT; /* no short piece's length */

static inline struct key short_key(const char *piece, size_t n, size_t readable)
{
    static const unsigned char ones_then_zeroes[2 * KEY_BYTES] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    };
    struct key k = { 0, 0 }, mask;
    if (readable >= KEY_BYTES) { /* no loop over n, which the processor could not foresee */
        memcpy(&k, piece, sizeof k);
        memcpy(&mask, ones_then_zeroes + KEY_BYTES - n, sizeof mask);
        k.low &= mask.low;
        k.high &= mask.high;
    } else {
        memcpy(&k, piece, n);
    }
    k.high |= (uint64_t)n << LAST_BYTE_SHIFT;
    return k;
}

static struct key long_key(const char *piece, size_t n)
{
    const uint64_t odd = 0x9E3779B97F4A7C15u;
    uint64_t h = n, word;
    for (size_t i = 0; i + 8 < n; i += 8) {
        memcpy(&word, piece + i, 8);
        h = (h ^ word) * odd;
        h ^= h >> 29;
    }
    memcpy(&word, piece + n - 8, 8);
    return (struct key){ (h ^ word) * odd, (uint64_t)n << 8 | long_mark };
}

static inline struct word *bucket_of(const struct wordcache *c, struct key k)
{
    uint64_t h = k.low * 0x9E3779B97F4A7C15u + k.high * 0xC2B2AE3D27D4EB4Fu;
    return c->buckets[h >> (64 - BUCKETS_LOG)];
}

static inline int has_key(const struct word *w, struct key k)
{
    return !((w->key[0] ^ k.low) | (w->key[1] ^ k.high));
}

/* ---- words ------------------------------------------------------------------------------------ */

typedef uint32_t inline_ids __attribute__((vector_size(INLINE_IDS * sizeof(uint32_t))));

/* Stores all ids there are room for; the next piece's go over those that are none. */
static inline size_t emit(uint32_t *to, const struct word *w)
{
    const inline_ids mask = { ID_MASK, UINT32_MAX, UINT32_MAX, UINT32_MAX };
    inline_ids ids;
    memcpy(&ids, w->ids, sizeof ids);
    ids &= mask;
    memcpy(to, &ids, sizeof ids);
    return w->ids[0] >> COUNT_SHIFT;
}

/* Entries 0 to n-1 of a bucket move on by one, over entry n. */
static inline void push_down(struct word *bucket, int n)
{
    for (int i = n; i > 0; i--)
        bucket[i] = bucket[i - 1];
}

/* Room in the ring for a record in one piece. */
static uint64_t ring_take(struct wordcache *c, size_t units)
{
    if (c->written % RING_UNITS + units > RING_UNITS)
        c->written += RING_UNITS - c->written % RING_UNITS;
    uint64_t place = c->written;
    c->written += units;
    return place;
}

static void put_word(struct wordcache *c, struct word *bucket, struct key k, const char *piece,
                     size_t n, const uint32_t *ids, size_t count)
{
    struct word w = { .key = { k.low, k.high } };
    if (n > PIECE_BYTES_MAX || count > PIECE_IDS_MAX || !count)
        return;
    if (n < KEY_BYTES && count <= INLINE_IDS) {
        memcpy(w.ids, ids, count * sizeof *ids);
        w.ids[0] |= (uint32_t)count << COUNT_SHIFT;
    } else {
        w.elsewhere = (uint32_t)ELSEWHERE << COUNT_SHIFT | (uint32_t)count;
        w.place = ring_take(c, count + (n + 3) / 4);
        uint32_t *record = c->ring + w.place % RING_UNITS;
        memcpy(record, ids, count * sizeof *ids);
        memcpy(record + count, piece, n);
    }
    push_down(bucket, WAYS - 1);
    bucket[0] = w;
}

void wordcache_put(struct wordcache *c, const char *piece, size_t n, const uint32_t *ids,
                   size_t count)
{
    struct key k = n < KEY_BYTES ? short_key(piece, n, n) : long_key(piece, n);
    put_word(c, bucket_of(c, k), k, piece, n, ids, count);
}

/* The ids of a word that stand in the ring; NULL if they are overwritten or another's. */
static const uint32_t *ids_elsewhere(const struct wordcache *c, const struct word *w,
                                     const char *piece, size_t n, size_t *count)
{
    const uint32_t *record = c->ring + w->place % RING_UNITS;
    *count = w->elsewhere & ID_MASK;
    if (c->written - w->place > RING_UNITS || memcmp(record + *count, piece, n))
        return NULL;
    return record;
}

/* Moves entry i of a bucket to the front, as the one used last. */
static void bring_to_front(struct word *bucket, int i)
{
    struct word w = bucket[i];
    push_down(bucket, i);
    bucket[0] = w;
}

static void append(struct ids *out, const uint32_t *ids, size_t count)
{
    mem_grow(out->data, out->cap, out->count + count);
    memcpy(out->data + out->count, ids, count * sizeof *ids);
    out->count += count;
}

/* A piece whose ids are not at hand in the first entries of its bucket. */
static int encode_slowly(struct wordcache *c, struct word *bucket, struct key k, const char *piece,
                         size_t n, struct ids *out)
{
    size_t before = out->count, count;
    int way = 0;
    while (way < WAYS && !has_key(&bucket[way], k))
        way++;
    if (way < WAYS) {
        bring_to_front(bucket, way);
        uint32_t own[INLINE_IDS];
        const uint32_t *ids = own;
        if (bucket->ids[0] >> COUNT_SHIFT <= INLINE_IDS)
            count = emit(own, bucket);
        else
            ids = ids_elsewhere(c, bucket, piece, n, &count);
        if (ids) {
            append(out, ids, count);
            return 0;
        }
    }
    if (c->encode(c->ctx, piece, n, out) < 0)
        return -1;
    put_word(c, bucket, k, piece, n, out->data + before, out->count - before);
    return 0;
}

/* ---- pieces ----------------------------------------------------------------------------------- */

/* A piece on its way: its bucket is asked for some pieces before it is read. */
struct probe {
    struct key key;
    struct word *bucket;
};

static inline void probe_begin(const struct wordcache *c, struct probe *probe,
                               const struct pieces *p, size_t i)
{
    const char *piece = p->text + p->begins[i];
    size_t n = p->ends[i] - p->begins[i];
    probe->key = n < KEY_BYTES ? short_key(piece, n, p->readable - p->begins[i])
                               : long_key(piece, n);
    probe->bucket = bucket_of(c, probe->key);
    __builtin_prefetch(probe->bucket);
}

/* Pieces i.. of the probes. -1: piece *failed has no ids. */
static int probes_end(struct wordcache *c, const struct probe *probes, size_t count,
                      const struct pieces *p, size_t first, struct ids *out, size_t *failed)
{
    enum { ROOM = PROBES * INLINE_IDS };
    mem_grow(out->data, out->cap, out->count + ROOM);
    uint32_t *to = out->data + out->count;
    for (size_t i = 0; i < count; i++) {
        const struct probe *probe = &probes[i];
        const struct word *w = probe->bucket;
        w += !has_key(w, probe->key);
        if (has_key(w, probe->key) && w->ids[0] >> COUNT_SHIFT <= INLINE_IDS) {
            to += emit(to, w);
            continue;
        }
        size_t begin = p->begins[first + i], n = p->ends[first + i] - begin;
        out->count = (size_t)(to - out->data);
        if (encode_slowly(c, probe->bucket, probe->key, p->text + begin, n, out) < 0) {
            *failed = first + i;
            return -1;
        }
        mem_grow(out->data, out->cap, out->count + ROOM);
        to = out->data + out->count;
    }
    out->count = (size_t)(to - out->data);
    return 0;
}

int wordcache_encode(struct wordcache *c, const struct pieces *p, struct ids *out, size_t *failed)
{
    struct probe probes[PROBES];
    for (size_t i = 0, count; i < p->count; i += count) {
        count = p->count - i < PROBES ? p->count - i : PROBES;
        for (size_t k = 0; k < count; k++)
            probe_begin(c, &probes[k], p, i + k);
        if (probes_end(c, probes, count, p, i, out, failed) < 0)
            return -1;
    }
    return 0;
}
