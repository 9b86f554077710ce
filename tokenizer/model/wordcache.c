#include "tokenizer/model/wordcache.h"

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
    ELSEWHERE = 255, /* value of the count if the ids are in the ring */
    FEW_IDS = 8,     /* so many ids are always copied, even if there are fewer */
    PROBES = 32,
    MANY_MISSED = 3, /* misses in a group: the next group encodes its misses at once */
};

struct word {
    uint64_t key[KEY_BYTES / 8];
    union {
        uint32_t ids[INLINE_IDS]; /* the count is in the bits above the first id */
        struct {
            uint32_t elsewhere; /* ELSEWHERE as count, and the real count below it */
            uint32_t spare;
            uint64_t place; /* position in the ring (units written before) of the ids and then the
                               bytes */
        };
    };
};

struct wordcache {
    struct word (*buckets)[WAYS];
    uint32_t *ring;
    uint64_t written; /* units written in total; the ring has the last RING_UNITS of them */
    wordcache_encode_fn *encode;
    void *ctx;
    struct ids fresh; /* of the pieces that were encoded last */
};

struct wordcache *wordcache_new(wordcache_encode_fn *encode, void *ctx)
{
    struct wordcache *c = mem_zalloc(1, sizeof *c);
    size_t bytes = sizeof *c->buckets << BUCKETS_LOG;
    c->buckets = memset(mem_huge(1, bytes), 0, bytes);
    c->ring = mem_huge(RING_UNITS + FEW_IDS, sizeof *c->ring);
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
    ids_release(&c->fresh);
    free(c);
}

/* ---- keys ------------------------------------------------------------------------------------ */

struct key {
    uint64_t low, high;
};

#define LAST_BYTE_SHIFT (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 56 : 0)
/* not the length of a short piece */
static const uint64_t long_mark = (uint64_t)0xFF << LAST_BYTE_SHIFT;

static inline struct key short_key(const char *piece, size_t n, size_t readable)
{
    static const unsigned char ones_then_zeroes[2 * KEY_BYTES] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    };
    struct key k = { 0, 0 }, mask;
    if (readable >= KEY_BYTES) { /* a loop over n would cause branch mispredictions */
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

/* ---- words ----------------------------------------------------------------------------------- */

/* Returns the index of a key's entry in its bucket; WAYS if there is none. */
static inline int find_way(const struct word *bucket, struct key k)
{
    return __builtin_ctz((unsigned)(has_key(&bucket[0], k) | has_key(&bucket[1], k) << 1 |
                                    has_key(&bucket[2], k) << 2 | has_key(&bucket[3], k) << 3 |
                                    1 << WAYS));
}

/* Moves entries 0 to n - 1 of a bucket by one place, overwriting entry n. */
static inline void push_down(struct word *bucket, int n)
{
    for (int i = n; i > 0; i--)
        bucket[i] = bucket[i - 1];
}

/* Reserves contiguous space for a record in the ring. Returns its position. */
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
        size_t bytes = n < KEY_BYTES ? 0 : n; /* a short piece stands in its key */
        w.elsewhere = (uint32_t)ELSEWHERE << COUNT_SHIFT | (uint32_t)count;
        w.place = ring_take(c, count + (bytes + 3) / 4);
        uint32_t *record = c->ring + w.place % RING_UNITS;
        memcpy(record, ids, count * sizeof *ids);
        memcpy(record + count, piece, bytes);
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

/* Returns 1 if a[0..n) and b[0..n) are equal, else 0. n must be at least KEY_BYTES. */
static inline int same_bytes(const char *a, const char *b, size_t n)
{
    typedef uint64_t two __attribute__((vector_size(KEY_BYTES)));
    two x, y, differ = { 0 };
    for (size_t i = 0; i + KEY_BYTES < n; i += KEY_BYTES) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        differ |= x ^ y;
    }
    memcpy(&x, a + n - KEY_BYTES, sizeof x);
    memcpy(&y, b + n - KEY_BYTES, sizeof y);
    differ |= x ^ y;
    return !(differ[0] | differ[1]);
}

/* Writes the ids of an entry to to[] and returns their number. Always writes INLINE_IDS ids; the
 * caller overwrites those beyond that number. Returns ELSEWHERE if the ids are in the ring. */
static inline size_t emit(uint32_t *to, const struct word *w)
{
    typedef uint32_t inline_ids __attribute__((vector_size(INLINE_IDS * sizeof(uint32_t))));
    const inline_ids mask = { ID_MASK, UINT32_MAX, UINT32_MAX, UINT32_MAX };
    inline_ids ids;
    memcpy(&ids, w->ids, sizeof ids);
    ids &= mask;
    memcpy(to, &ids, sizeof ids);
    return w->ids[0] >> COUNT_SHIFT;
}

/* Writes the ids of an entry whose ids are in the ring to to[]. Returns their number, or 0 if they
 * have been overwritten or belong to another piece. */
static inline size_t emit_record(uint32_t *to, const struct wordcache *c, const struct word *w,
                                 const char *piece, size_t n)
{
    const uint32_t *record = c->ring + w->place % RING_UNITS;
    size_t count = w->elsewhere & ID_MASK;
    if (c->written - w->place > RING_UNITS ||
        (n >= KEY_BYTES && !same_bytes((const char *)(record + count), piece, n)))
        return 0;
    memcpy(to, record, FEW_IDS * sizeof *to);
    if (count > FEW_IDS)
        memcpy(to + FEW_IDS, record + FEW_IDS, (count - FEW_IDS) * sizeof *to);
    return count;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

struct probe {
    struct key key;
    struct word *bucket;
};

/* A group of pieces being looked up. All their buckets are prefetched before the first is read. */
struct group {
    struct wordcache *c;
    const struct pieces *p;
    size_t first, count; /* pieces of p */
    size_t missed;       /* number of pieces not found */
    int together;        /* at the first miss, encode all missing pieces of the group together */
    struct probe probes[PROBES];
};

/* Computes the key of a piece and prefetches its bucket. `p` is passed by value so that the
 * compiler knows that the stores do not change it. */
static inline void probe_begin(struct group *g, struct pieces p, size_t i)
{
    size_t begin = p.begins[g->first + i], n = p.ends[g->first + i] - begin;
    struct key key = n < KEY_BYTES ? short_key(p.text + begin, n, p.readable - begin)
                                   : long_key(p.text + begin, n);
    struct word *bucket = bucket_of(g->c, key);
    __builtin_prefetch(bucket);
    g->probes[i] = (struct probe){ key, bucket };
}

/* Encodes all missing pieces of the group from index `from` on, and adds them to the cache. If one
 * cannot be encoded, the error is reported later, when that piece is encoded by itself. */
static void fill(struct group *g, size_t from)
{
    struct wordcache *c = g->c;
    const struct probe *probes[PROBES];
    size_t begins[PROBES], ends[PROBES], ids_ends[PROBES];
    struct pieces missing = { g->p->text, g->p->readable, begins, ends, 0 };
    g->together = 0;
    for (size_t i = from; i < g->count; i++) { /* without an unpredictable branch */
        size_t at = missing.count;
        probes[at] = &g->probes[i];
        begins[at] = g->p->begins[g->first + i];
        ends[at] = g->p->ends[g->first + i];
        missing.count += (ends[at] - begins[at] <= PIECE_BYTES_MAX) &
                         (find_way(probes[at]->bucket, probes[at]->key) == WAYS);
    }
    g->missed += missing.count;
    c->fresh.count = 0;
    if (c->encode(c->ctx, &missing, &c->fresh, ids_ends) < 0)
        return;
    for (size_t i = 0, at = 0; i < missing.count; at = ids_ends[i++])
        if (ids_ends[i] > at && find_way(probes[i]->bucket, probes[i]->key) == WAYS)
            put_word(c, probes[i]->bucket, probes[i]->key, g->p->text + begins[i],
                     ends[i] - begins[i], c->fresh.data + at, ids_ends[i] - at);
}

/* Moves entry i of a bucket to the front, as the one used last. */
static void bring_to_front(struct word *bucket, int i)
{
    struct word w = bucket[i];
    push_down(bucket, i);
    bucket[0] = w;
}

/* Appends the ids of piece i of the group, if the first entry of its bucket is not the piece's.
 * Looks at the other entries, and then encodes the piece. Returns 0, or -1 with an error. */
static int encode_slowly(struct group *g, size_t i, struct ids *out)
{
    struct wordcache *c = g->c;
    const struct probe *probe = &g->probes[i];
    size_t begin = g->p->begins[g->first + i], n = g->p->ends[g->first + i] - begin;
    const char *piece = g->p->text + begin;
    int way = find_way(probe->bucket, probe->key);
    if (way == WAYS && g->together) {
        fill(g, i);
        way = find_way(probe->bucket, probe->key);
    }
    if (way < WAYS) {
        bring_to_front(probe->bucket, way);
        uint32_t *to = out->data + out->count;
        size_t count = emit(to, probe->bucket);
        count = count == ELSEWHERE ? emit_record(to, c, probe->bucket, piece, n) : count;
        out->count += count;
        if (count)
            return 0;
    }
    g->missed++;
    size_t before = out->count, zero = 0, end;
    if (c->encode(c->ctx, &(struct pieces){ piece, n, &zero, &n, 1 }, out, &end) < 0)
        return -1;
    put_word(c, probe->bucket, probe->key, piece, n, out->data + before, out->count - before);
    return 0;
}

static int encode_group(struct group *g, struct pieces p, struct ids *out, size_t *failed)
{
    enum { ROOM = (PROBES + 1) * (PIECE_IDS_MAX + 1) };
    mem_grow(out->data, out->cap, out->count + ROOM);
    uint32_t *to = out->data + out->count;
    size_t first = g->first, count = g->count;
    for (size_t i = 0; i < count; i++) {
        const struct probe *probe = &g->probes[i];
        const struct word *w = probe->bucket;
        w += !has_key(w, probe->key);
        int known = has_key(w, probe->key);
        if (known && w->ids[0] >> COUNT_SHIFT <= INLINE_IDS) {
            to += emit(to, w);
            continue;
        }
        size_t begin = p.begins[first + i], n = p.ends[first + i] - begin;
        size_t emitted = known ? emit_record(to, g->c, w, p.text + begin, n) : 0;
        to += emitted;
        if (emitted)
            continue;
        out->count = (size_t)(to - out->data);
        if (encode_slowly(g, i, out) < 0) {
            *failed = g->first + i;
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
    struct group g;
    g.c = c;
    g.p = p;
    g.missed = 0;
    for (g.first = 0; g.first < p->count; g.first += g.count) {
        g.count = p->count - g.first < PROBES ? p->count - g.first : PROBES;
        g.together = g.missed >= MANY_MISSED;
        g.missed = 0;
        for (size_t i = 0; i < g.count; i++)
            probe_begin(&g, *p, i);
        if (encode_group(&g, *p, out, failed) < 0)
            return -1;
    }
    return 0;
}
