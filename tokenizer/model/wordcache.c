#include "tokenizer/model/wordcache.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/simd.h"

enum {
    KEY_BYTES = 16,
    INLINE_IDS = 4,
    WAYS = 4,
    LEAST_LOG = 12, /* of the number of buckets */
    MOST_LOG = 16,
    GROWTH_LOG = 2,
    RING_UNITS = 1 << 20, /* of four bytes */
    PIECE_BYTES_MAX = 255,
    PIECE_IDS_MAX = 255,
    COUNT_SHIFT = 24,
    ID_MASK = (1 << COUNT_SHIFT) - 1,
    ELSEWHERE = 255, /* value of the count if the ids are in the ring */
    FEW_IDS = 16, /* ids are copied in blocks of this size; the last block may go beyond the end */
    AHEAD = 256,  /* pieces whose buckets are fetched together */
    GROUP = 1024, /* most pieces in a group (struct group) */
    FRESH_KEPT = 1 << 20,
};

struct word {
    uint64_t key[KEY_BYTES / 8];
    union {
        uint32_t ids[INLINE_IDS]; /* the count is in the bits above the first id */
        struct {
            uint32_t elsewhere; /* ELSEWHERE as count, and the real count below it; 0: the ids are
                                   not known yet */
            uint32_t missing;   /* while the ids are not known: index in struct missing */
            uint64_t place; /* position in the ring (units written before) of the ids and then the
                               bytes */
        };
    };
};

struct wordcache {
    struct word (*buckets)[WAYS];
    int log;      /* there are 1 << log buckets */
    size_t taken; /* entries that were filled, also those that were overwritten since */
    uint32_t *ring;
    uint64_t written; /* units written in total; the ring has the last RING_UNITS of them */
    wordcache_encode_fn *encode;
    void *ctx;
    struct ids fresh; /* of the pieces that were encoded last */
    struct group *group;
};

/* ---- keys ------------------------------------------------------------------------------------ */

struct key {
    uint64_t low, high;
};

#define LAST_BYTE_SHIFT (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 56 : 0)
/* marks the key of a long piece: no short piece has this length */
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

static const uint64_t low_factor = 0x9E3779B97F4A7C15u, high_factor = 0xC2B2AE3D27D4EB4Fu;

static inline struct word *bucket_of(const struct wordcache *c, struct key k)
{
    uint64_t h = k.low * low_factor + k.high * high_factor;
    return c->buckets[h >> (64 - c->log)];
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

/* Copies n ids, forwards, in whole blocks: at least one; the last one may go beyond n. */
static inline void copy_blocks(uint32_t *to, const uint32_t *from, size_t n)
{
    size_t i = 0;
    do
        memcpy(to + i, from + i, FEW_IDS * sizeof *to);
    while ((i += FEW_IDS) < n);
}

/* Reserves contiguous space for a record of `units` numbers in the ring. Returns its position,
 * which goes on counting when the ring begins again: modulo RING_UNITS it is the index in
 * c->ring. */
static uint64_t ring_take(struct wordcache *c, size_t units)
{
    if (c->written % RING_UNITS + units > RING_UNITS)
        c->written += RING_UNITS - c->written % RING_UNITS;
    uint64_t place = c->written;
    c->written += units;
    return place;
}

/* Sets the ids of an entry that has the key of this piece. FEW_IDS elements must be readable after
 * the ids. */
static void set_ids(struct wordcache *c, struct word *w, const char *piece, size_t n,
                    const uint32_t *ids, size_t count)
{
    if (n < KEY_BYTES && count <= INLINE_IDS) {
        memcpy(w->ids, ids, sizeof w->ids);
        w->ids[0] |= (uint32_t)count << COUNT_SHIFT;
        return;
    }
    w->elsewhere = (uint32_t)ELSEWHERE << COUNT_SHIFT | (uint32_t)count;
    w->place = ring_take(c, count + (n < KEY_BYTES ? 0 : (n + 3) / 4));
    uint32_t *record = c->ring + w->place % RING_UNITS;
    copy_blocks(record, ids, count);
    if (n >= KEY_BYTES) /* the key of a short piece has all its bytes */
        memcpy(record + count, piece, n);
}

/* Returns 1 if the cache takes pieces of n bytes and this number of ids, else 0. */
static inline int has_room(size_t n, size_t count)
{
    return n <= PIECE_BYTES_MAX && count <= PIECE_IDS_MAX && count;
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

/* Writes the ids of an entry whose ids are in the ring to to[]. Returns their number, or 0 if there
 * are none yet, or they have been overwritten or belong to another piece. */
static inline size_t emit_record(uint32_t *to, const struct wordcache *c, const struct word *w,
                                 const char *piece, size_t n)
{
    const uint32_t *record = c->ring + w->place % RING_UNITS;
    size_t count = w->elsewhere & ID_MASK;
    if (!count || c->written - w->place > RING_UNITS - FEW_IDS ||
        (n >= KEY_BYTES && !same_bytes((const char *)(record + count), piece, n)))
        return 0;
    copy_blocks(to, record, count);
    return count;
}

/* ---- a group of pieces ----------------------------------------------------------------------- */

/* A piece whose ids are not in the first two entries of its bucket. Its ids are inserted later. */
struct late {
    struct key key;
    struct word *bucket;
    size_t piece;      /* index in the group */
    size_t place;      /* number of ids before it, without those of other late pieces */
    size_t begin, end; /* the ids are c->fresh.data[begin..end) */
    int is_missing;    /* it is not in the cache; until it is encoded, `begin` is its index among
                          the missing pieces */
};

/* The pieces of a group that are not in the cache, each once. The ids of piece i end at
 * c->fresh.data[ids_ends[i]]; those of the first piece begin at c->fresh.data[known]. */
struct missing {
    size_t begins[GROUP], ends[GROUP], ids_ends[GROUP], count, known;
};

/* Pieces that are looked up together. All their buckets are prefetched before the first is read.
 * What then needs other memory is prefetched, too, and read after the other pieces. */
struct group {
    struct wordcache *c;
    struct pieces p;
    size_t first; /* index of the piece that the next two arrays begin with */
    struct key keys[AHEAD];
    struct word *buckets[AHEAD];
    struct late late[GROUP];
    size_t late_count;
    struct missing missing;
    const uint32_t *given; /* the ids of the empty pieces that are still to come */
};

/* The key of an entry that is not in use; no piece has it. */
static const struct key unused = { UINT64_MAX, UINT64_MAX };

static void make_buckets(struct wordcache *c, int log)
{
    const size_t bytes = sizeof *c->buckets << log;
    c->buckets = memset(mem_huge(1, bytes), 0xFF, bytes);
    c->log = log;
}

/* Makes the table larger if it is half full and not of the largest size. It begins small, to save
 * memory for short texts. Each bucket's entries are spread over new ones, in order. */
static void grow(struct wordcache *c)
{
    const size_t count = (size_t)1 << c->log;
    if (c->log == MOST_LOG || c->taken < count * WAYS / 2)
        return;
    struct word(*old)[WAYS] = c->buckets;
    make_buckets(c, c->log + GROWTH_LOG);
    for (const struct word *w = *old; w < old[count]; w++) {
        const struct key k = { w->key[0], w->key[1] };
        if (!has_key(w, unused))
            bucket_of(c, k)[find_way(bucket_of(c, k), unused)] = *w;
    }
    free(old);
}

struct wordcache *wordcache_new(wordcache_encode_fn *encode, void *ctx)
{
    struct wordcache *c = mem_zalloc(1, sizeof *c);
    make_buckets(c, LEAST_LOG);
    c->ring = mem_alloc((RING_UNITS + FEW_IDS) * sizeof *c->ring);
    c->encode = encode;
    c->ctx = ctx;
    c->group = mem_aligned(1, sizeof *c->group);
    c->group->c = c;
    return c;
}

void wordcache_free(struct wordcache *c)
{
    if (!c)
        return;
    free(c->buckets);
    free(c->ring);
    ids_release(&c->fresh);
    free(c->group);
    free(c);
}

static inline size_t size_of(const struct pieces *p, size_t i)
{
    return p->ends[i] - p->begins[i];
}

static inline const char *text_of(const struct pieces *p, size_t i)
{
    return p->text + p->begins[i];
}

/* Returns the number of elements that the ids of `pieces` pieces in the cache need at most. */
static inline size_t room_of(size_t pieces)
{
    return (pieces + 1) * (PIECE_IDS_MAX + 1);
}

/* Computes the key of a piece and prefetches its bucket. */
static inline void begin_piece(struct group *g, size_t i)
{
    const struct pieces *p = &g->p;
    size_t n = size_of(p, i);
    struct key k = n < KEY_BYTES ? short_key(text_of(p, i), n, p->readable - p->begins[i])
                                 : long_key(text_of(p, i), n);
    g->keys[i - g->first] = k;
    g->buckets[i - g->first] = bucket_of(g->c, k);
    __builtin_prefetch(g->buckets[i - g->first]);
}

/* Writes the ids of piece g->first + i to to[], and returns the end of these ids. `known` 1: w is
 * the entry among the first two of the piece's bucket that has its key; 0: there is none. `from` is
 * where the group's first id is. A piece whose ids are not found is added to the late pieces and
 * gets no ids yet. So is an empty piece, whose key no entry has. */
static inline uint32_t *put_ids(struct group *g, size_t i, const struct word *w, int known,
                                const uint32_t *from, uint32_t *to)
{
    if (known && w->ids[0] >> COUNT_SHIFT <= INLINE_IDS)
        return to + emit(to, w);
    if (known) {
        size_t count = emit_record(to, g->c, w, text_of(&g->p, g->first + i),
                                   size_of(&g->p, g->first + i));
        if (count)
            return to + count;
    }
    __builtin_prefetch(g->buckets[i] + 2);
    g->late[g->late_count++] = (struct late){ g->keys[i], g->buckets[i], .piece = g->first + i,
                                              .place = (size_t)(to - from) };
    return to;
}

static uint32_t *look_up_plain(struct group *g, size_t n, const uint32_t *from, uint32_t *to)
{
    for (size_t i = 0; i < n; i++)
        begin_piece(g, g->first + i);
    for (size_t i = 0; i < n; i++) {
        const struct word *w = g->buckets[i];
        w += !has_key(w, g->keys[i]);
        to = put_ids(g, i, w, has_key(w, g->keys[i]), from, to);
    }
    return to;
}

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))
#define ALWAYS AVX512 __attribute__((always_inline)) static inline
enum { EIGHT = 8 };

/* Returns the keys of four short pieces, which begin at text + begins[0..4). Their lengths are byte
 * 0 of each of the lanes first ... first + 3 of `sizes`. */
ALWAYS __m512i four_keys(const char *text, const size_t *begins, __m512i sizes, int first)
{
    const __m512i bytes = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    const __m512i lanes = _mm512_setr_epi64(0, 0, 0x0808080808080808, 0x0808080808080808,
                                            0x1010101010101010, 0x1010101010101010,
                                            0x1818181818181818, 0x1818181818181818);
    __m512i n = _mm512_permutexvar_epi8(_mm512_add_epi8(lanes, _mm512_set1_epi8((char)(8 * first))),
                                        sizes);
    __m512i key = _mm512_castsi128_si512(_mm_loadu_si128((const void *)(text + begins[0])));
    key = _mm512_inserti32x4(key, _mm_loadu_si128((const void *)(text + begins[1])), 1);
    key = _mm512_inserti32x4(key, _mm_loadu_si128((const void *)(text + begins[2])), 2);
    key = _mm512_inserti32x4(key, _mm_loadu_si128((const void *)(text + begins[3])), 3);
    key = _mm512_maskz_mov_epi8(_mm512_cmplt_epu8_mask(bytes, n), key);
    return _mm512_mask_mov_epi8(key, 0x8000800080008000u, n);
}

/* Returns the addresses of the buckets of eight keys: the four in `keys` and the four in `more`. */
ALWAYS __m512i eight_buckets(const struct wordcache *c, __m512i keys, __m512i more)
{
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    __m512i low = _mm512_mullo_epi64(_mm512_unpacklo_epi64(keys, more),
                                     _mm512_set1_epi64((long long)low_factor));
    __m512i high = _mm512_mullo_epi64(_mm512_unpackhi_epi64(keys, more),
                                      _mm512_set1_epi64((long long)high_factor));
    __m512i hash = _mm512_srl_epi64(_mm512_add_epi64(low, high), _mm_cvtsi32_si128(64 - c->log));
    __m512i at = _mm512_slli_epi64(hash, __builtin_ctz(sizeof *c->buckets));
    return _mm512_permutexvar_epi64(
        order, _mm512_add_epi64(at, _mm512_set1_epi64((long long)(uintptr_t)c->buckets)));
}

/* Does for the pieces i ... i + 7 of the group what begin_piece does for one. The pieces are
 * text[begins[k]..ends[k]), k < 8. */
ALWAYS void begin_eight(struct group *g, const char *text, const size_t *begins, const size_t *ends,
                        size_t readable, size_t i)
{
    const size_t at = i - g->first;
    __m512i from = _mm512_loadu_si512(begins),
            sizes = _mm512_sub_epi64(_mm512_loadu_si512(ends), from);
    unsigned others = _mm512_cmpge_epu64_mask(sizes, _mm512_set1_epi64(KEY_BYTES));
    if (_mm512_cmpgt_epu64_mask(from, _mm512_set1_epi64((long long)(readable - KEY_BYTES)))) {
        others = UINT8_MAX;
    } else {
        __m512i keys = four_keys(text, begins, sizes, 0),
                more = four_keys(text, begins + 4, sizes, 4);
        _mm512_storeu_si512(&g->keys[at], keys);
        _mm512_storeu_si512(&g->keys[at + 4], more);
        _mm512_storeu_si512(&g->buckets[at], eight_buckets(g->c, keys, more));
#pragma GCC unroll 8
        for (int k = 0; k < EIGHT; k++)
            __builtin_prefetch(g->buckets[at + (size_t)k]);
    }
    for (; others; others &= others - 1)
        begin_piece(g, i + (size_t)__builtin_ctz(others));
}

AVX512 static uint32_t *look_up_avx512(struct group *g, size_t n, const uint32_t *from,
                                       uint32_t *to)
{
    const struct pieces p = g->p;
    size_t i = g->first, end = i + n;
    for (; i + EIGHT <= end && p.readable >= KEY_BYTES; i += EIGHT)
        begin_eight(g, p.text, p.begins + i, p.ends + i, p.readable, i);
    for (; i < end; i++)
        begin_piece(g, i);
    for (i = 0; i < n; i++) {
        const struct word *w = g->buckets[i];
        __m512i key = _mm512_broadcast_i64x2(_mm_loadu_si128((const void *)&g->keys[i]));
        unsigned same = _mm512_cmpeq_epi64_mask(_mm512_loadu_si512(w), key);
        same &= same >> 1 & 0x11; /* bit 0: the first entry has the key; bit 4: the second */
        w += !(same & 1);
        to = put_ids(g, i, w, same != 0, from, to);
    }
    return to;
}
#endif

/* Writes the ids of the group's pieces except the late ones to from[], and returns their end. */
static uint32_t *look_up(struct group *g, uint32_t *from)
{
    uint32_t *to = from;
    for (g->first = 0; g->first < g->p.count; g->first += AHEAD) {
        size_t left = g->p.count - g->first, n = left < AHEAD ? left : AHEAD;
#if defined(__x86_64__)
        if (simd_level() == SIMD_AVX512) {
            to = look_up_avx512(g, n, from, to);
            continue;
        }
#endif
        to = look_up_plain(g, n, from, to);
    }
    return to;
}

/* ---- late pieces ----------------------------------------------------------------------------- */

/* Brings entry i of a bucket to the front, as the one used last. */
static void bring_to_front(struct word *bucket, int i)
{
    struct word w = bucket[i];
    push_down(bucket, i);
    bucket[0] = w;
}

/* Writes the ids of the first entry of a late piece's bucket to to[]. Returns their number, or 0 if
 * they are not known. */
static size_t emit_first(uint32_t *to, const struct group *g, const struct late *l)
{
    size_t count = emit(to, l->bucket);
    return count == ELSEWHERE ? emit_record(to, g->c, l->bucket, text_of(&g->p, l->piece),
                                            size_of(&g->p, l->piece))
                              : count;
}

/* Returns 1 if the entry was made for a missing piece and has no ids yet, else 0. */
static inline int is_waiting(const struct word *w)
{
    return w->elsewhere == (uint32_t)ELSEWHERE << COUNT_SHIFT;
}

/* Returns 1 if a waiting entry with the key of piece i was made for a piece in *m with the same
 * bytes, else 0. */
static int is_missing(const struct group *g, const struct missing *m, const struct word *w,
                      size_t i)
{
    size_t n = size_of(&g->p, i);
    return w->missing < m->count && m->ends[w->missing] - m->begins[w->missing] == n &&
           !memcmp(g->p.text + m->begins[w->missing], text_of(&g->p, i), n);
}

/* Adds a late piece to *m, unless it is there, and returns its index in *m. If the piece is not too
 * long, the first entry of its bucket then waits for the ids. `known` 1: this entry has the piece's
 * key; 0: a new entry is made. */
static size_t add_missing(const struct group *g, struct missing *m, const struct late *l, int known)
{
    struct word *w = l->bucket;
    const size_t i = l->piece;
    if (known && is_waiting(w) && is_missing(g, m, w, i))
        return w->missing;
    if (size_of(&g->p, i) <= PIECE_BYTES_MAX) {
        if (!known) {
            push_down(w, WAYS - 1);
            g->c->taken++;
        }
        w->key[0] = l->key.low;
        w->key[1] = l->key.high;
        w->elsewhere = (uint32_t)ELSEWHERE << COUNT_SHIFT;
        w->missing = (uint32_t)m->count;
    }
    m->begins[m->count] = g->p.begins[i];
    m->ends[m->count] = g->p.ends[i];
    return m->count++;
}

/* Looks up the pieces of the group that were not found at the first attempt: appends the ids of
 * those that are in the cache by now to c->fresh, and lists the others in *m, to be encoded. */
static void find_late(struct group *g, struct missing *m)
{
    struct ids *fresh = &g->c->fresh;
    mem_grow(fresh->data, fresh->cap, room_of(g->late_count));
    fresh->count = 0;
    for (struct late *l = g->late; l < g->late + g->late_count; l++) {
        size_t count = 0;
        int way = find_way(l->bucket, l->key);
        if (!size_of(&g->p, l->piece)) {
            fresh->data[fresh->count] = *g->given++;
            count = 1;
        } else if (way < WAYS) {
            if (way)
                bring_to_front(l->bucket, way);
            count = emit_first(fresh->data + fresh->count, g, l);
        }
        l->is_missing = !count;
        l->begin = count ? fresh->count : add_missing(g, m, l, way < WAYS);
        l->end = fresh->count += count;
    }
}

/* Encodes the missing pieces *m, and appends their ids to c->fresh, which then has room for FEW_IDS
 * more. Returns the number of pieces before the first one that cannot be encoded; m->count if all
 * can. */
static size_t encode_missing(const struct group *g, struct missing *m)
{
    struct wordcache *c = g->c;
    struct pieces all = { g->p.text, g->p.readable, m->begins, m->ends, m->count, NULL };
    size_t done = m->count;
    m->known = c->fresh.count;
    if (m->count && c->encode(c->ctx, &all, &c->fresh, m->ids_ends) < 0) {
        c->fresh.count = m->known;
        for (done = 0; done < m->count; done++) {
            struct pieces one = pieces_of(&all, done, done + 1);
            if (c->encode(c->ctx, &one, &c->fresh, m->ids_ends + done) < 0)
                break;
        }
    }
    mem_grow(c->fresh.data, c->fresh.cap, c->fresh.count + FEW_IDS);
    return done;
}

/* Sets the range of the ids of a late piece that was missing, *l, and puts them into the cache if
 * its bucket still begins with the entry that waits for them. */
static void end_missing(const struct group *g, const struct missing *m, struct late *l)
{
    size_t i = l->piece, number = l->begin, n = size_of(&g->p, i);
    struct word *w = l->bucket;
    l->begin = number ? m->ids_ends[number - 1] : m->known;
    l->end = m->ids_ends[number];
    if (has_key(w, l->key) && is_waiting(w) && w->missing == number &&
        has_room(n, l->end - l->begin))
        set_ids(g->c, w, text_of(&g->p, i), n, g->c->fresh.data + l->begin, l->end - l->begin);
}

/* Inserts the ids of the late pieces among those of the others, which begin at out->data[start].
 * First moves the others up, and then copies blocks in order. As blocks may go beyond their end,
 * FEW_IDS elements stay free between what is written and what is not read yet. */
static void insert_late(const struct group *g, struct ids *out, size_t start)
{
    const uint32_t *fresh = g->c->fresh.data;
    size_t others = out->count - start, more = FEW_IDS, done = 0;
    for (size_t k = 0; k < g->late_count; k++)
        more += g->late[k].end - g->late[k].begin;
    mem_grow(out->data, out->cap, out->count + more + FEW_IDS);
    uint32_t *to = out->data + start, *from = to + more;
    memmove(from, to, others * sizeof *to);
    for (size_t k = 0; k < g->late_count; k++) {
        const struct late *l = &g->late[k];
        copy_blocks(to, from + done, l->place - done);
        to += l->place - done;
        done = l->place;
        copy_blocks(to, fresh + l->begin, l->end - l->begin);
        to += l->end - l->begin;
    }
    memmove(to, from + done, (others - done) * sizeof *to);
    out->count += more - FEW_IDS;
}

/* Inserts the ids of the late pieces, and puts those that were missing into the cache. Returns 0,
 * or -1 with an error if a piece cannot be encoded: then sets *failed to its index, and out->data
 * ends with the ids of the pieces before it. */
static int add_late(struct group *g, struct ids *out, size_t start, size_t *failed)
{
    struct missing *m = &g->missing;
    m->count = 0;
    find_late(g, m);
    size_t done = encode_missing(g, m);
    for (size_t k = 0; k < g->late_count; k++) {
        struct late *l = &g->late[k];
        if (l->is_missing && l->begin == done) {
            *failed = l->piece;
            out->count = start + l->place;
            g->late_count = k;
        } else if (l->is_missing) {
            end_missing(g, m, l);
        }
    }
    insert_late(g, out, start);
    return done < m->count ? -1 : 0;
}

int wordcache_encode(struct wordcache *c, const struct pieces *p, struct ids *out, size_t *failed)
{
    struct group *g = c->group;
    g->given = p->given;
    for (size_t done = 0; done < p->count; done += g->p.count) {
        size_t left = p->count - done, start = out->count;
        g->p = pieces_of(p, done, done + (left < GROUP ? left : GROUP));
        g->late_count = 0;
        mem_grow(out->data, out->cap, start + room_of(g->p.count));
        out->count = (size_t)(look_up(g, out->data + start) - out->data);
        if (g->late_count && add_late(g, out, start, failed) < 0) {
            *failed += done;
            return -1;
        }
        grow(c);
    }
    if (c->fresh.cap > FRESH_KEPT)
        ids_release(&c->fresh);
    return 0;
}
