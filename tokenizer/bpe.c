#include "tokenizer/bpe.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/err.h"
#include "common/mem.h"
#include "tokenizer/cpu.h"
#include "tokenizer/pairs.h"

enum { SHORT_PIECE = 62, SCRATCH_KEPT = 1 << 20 }; /* tokens; elements */
#define NONE PAIR_NONE

struct bpe {
    int64_t byte_ids[256];
    int complete; /* every byte has an id */
    struct pairs pairs;
};

struct bpe *bpe_new(const int64_t byte_ids[256], const struct bpe_merge *merges, size_t count)
{
    struct bpe *b = mem_zalloc(1, sizeof *b);
    memcpy(b->byte_ids, byte_ids, sizeof b->byte_ids);
    b->complete = 1;
    for (int i = 0; i < 256; i++)
        b->complete &= byte_ids[i] >= 0;
    pairs_init(&b->pairs, merges, count);
    return b;
}

void bpe_free(struct bpe *b)
{
    if (!b)
        return;
    pairs_release(&b->pairs);
    free(b);
}

/* ---- short pieces -------------------------------------------------------------------------- */

/* A short piece: places 1 to n, of which those in `alive` have tokens; a token's place is its first
 * byte's. Places 0 and n + 1 have tokens that merge with nothing, so that no place is at an edge. */
enum { PLACES = SHORT_PIECE + 2 };

struct short_piece {
    uint64_t alive;
    uint32_t ids[PLACES];
    uint32_t merged[PLACES]; /* what the token and the next one merge to, where they do */
};

static inline int place_after(uint64_t alive, int place)
{
    return place + 1 + __builtin_ctzll(alive >> 1 >> place);
}

static inline int place_before(uint64_t alive, int place)
{
    return 63 - __builtin_clzll(alive & (((uint64_t)1 << place) - 1));
}

static void short_begin(struct short_piece *s, const uint32_t *ids, size_t n)
{
    s->alive = UINT64_MAX;
    s->ids[0] = s->ids[n + 1] = NONE;
    memcpy(s->ids + 1, ids, n * sizeof *ids);
}

static size_t short_end(const struct short_piece *s, uint32_t *ids, size_t n)
{
    size_t count = 0;
    uint64_t tokens = s->alive & (((uint64_t)1 << n) - 1) << 1;
    for (; tokens; tokens &= tokens - 1)
        ids[count++] = s->ids[__builtin_ctzll(tokens)];
    return count;
}

static void merge_plain(const struct pairs *pairs, struct short_piece *s, size_t n)
{
    uint32_t ranks[PLACES];
    for (size_t i = 0; i <= n; i++)
        ranks[i] = pairs_find(pairs, s->ids[i], s->ids[i + 1], &s->merged[i]);
    for (;;) {
        size_t at = 0;
        for (size_t i = 1; i < n; i++)
            at = ranks[i] < ranks[at] ? i : at;
        if (ranks[at] == NONE)
            return;
        int place = (int)at, gone = place_after(s->alive, place);
        s->ids[place] = s->merged[place];
        s->alive &= ~((uint64_t)1 << gone);
        ranks[gone] = NONE;
        int next = place_after(s->alive, place), before = place_before(s->alive, place);
        ranks[place] = pairs_find(pairs, s->ids[place], s->ids[next], &s->merged[place]);
        ranks[before] = pairs_find(pairs, s->ids[before], s->ids[place], &s->merged[before]);
    }
}

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,lzcnt,popcnt")))
#define LANES 16

/* The same with the ranks in `parts` registers, of which a place is a lane. */
AVX512 __attribute__((always_inline)) static inline void
merge_lanes(const struct pairs *pairs, struct short_piece *s, size_t n, int parts)
{
    __m512i ranks[PLACES / LANES];
    uint32_t first[PLACES];
    memset(first, 0xFF, (size_t)parts * LANES * sizeof *first);
    for (size_t i = 1; i < n; i++)
        first[i] = pairs_find(pairs, s->ids[i], s->ids[i + 1], &s->merged[i]);
    for (int i = 0; i < parts; i++)
        ranks[i] = _mm512_loadu_si512(first + LANES * i);
    for (;;) {
        __m512i low = ranks[0];
        for (int i = 1; i < parts; i++)
            low = _mm512_min_epu32(low, ranks[i]);
        uint32_t least = _mm512_reduce_min_epu32(low);
        if (least == NONE)
            return;
        uint64_t where = 0;
        for (int i = 0; i < parts; i++)
            where |= (uint64_t)_mm512_cmpeq_epi32_mask(ranks[i], _mm512_set1_epi32((int)least))
                     << LANES * i;
        int place = __builtin_ctzll(where), gone = place_after(s->alive, place);
        uint32_t id = s->ids[place] = s->merged[place];
        s->alive &= ~((uint64_t)1 << gone);
        int next = place_after(s->alive, place), before = place_before(s->alive, place);
        uint32_t here = pairs_find(pairs, id, s->ids[next], &s->merged[place]);
        uint32_t there = pairs_find(pairs, s->ids[before], id, &s->merged[before]);
        for (int i = 0; i < parts; i++) {
            int base = LANES * i;
            ranks[i] = _mm512_mask_set1_epi32(ranks[i], (__mmask16)((uint64_t)1 << gone >> base), -1);
            ranks[i] = _mm512_mask_set1_epi32(ranks[i], (__mmask16)((uint64_t)1 << place >> base),
                                              (int)here);
            ranks[i] = _mm512_mask_set1_epi32(ranks[i], (__mmask16)((uint64_t)1 << before >> base),
                                              (int)there);
        }
    }
}

AVX512 static void merge_avx512(const struct pairs *pairs, struct short_piece *s, size_t n)
{
    if (n < LANES)
        merge_lanes(pairs, s, n, 1);
    else if (n < 2 * LANES)
        merge_lanes(pairs, s, n, 2);
    else
        merge_lanes(pairs, s, n, 4);
}
#endif

static size_t merge_short(const struct pairs *pairs, uint32_t *ids, size_t n)
{
    struct short_piece s;
    short_begin(&s, ids, n);
#if defined(__x86_64__)
    if (cpu_level() == CPU_AVX512)
        merge_avx512(pairs, &s, n);
    else
#endif
        merge_plain(pairs, &s, n);
    return short_end(&s, ids, n);
}

/* ---- long pieces --------------------------------------------------------------------------- */

/* A binary heap of rank << 32 | place: the least rank first, leftmost first. */
static void sift_down(uint64_t *heap, size_t count, size_t i)
{
    uint64_t moving = heap[i];
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && heap[child + 1] < heap[child])
            child++;
        if (moving <= heap[child])
            break;
        heap[i] = heap[child];
    }
    heap[i] = moving;
}

static void heap_push(struct bpe_scratch *s, uint32_t rank, uint32_t place)
{
    mem_grow(s->heap, s->heap_cap, s->heap_count + 1);
    uint64_t moving = (uint64_t)rank << 32 | place;
    size_t i = s->heap_count++;
    for (; i && s->heap[(i - 1) / 2] > moving; i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = moving;
}

static uint64_t heap_pop(struct bpe_scratch *s)
{
    uint64_t least = s->heap[0];
    s->heap[0] = s->heap[--s->heap_count];
    if (s->heap_count)
        sift_down(s->heap, s->heap_count, 0);
    return least;
}

static void scratch_reserve(struct bpe_scratch *s, size_t n)
{
    if (n <= s->cap)
        return;
    s->ids = mem_resize(s->ids, n, sizeof *s->ids);
    s->prev = mem_resize(s->prev, n, sizeof *s->prev);
    s->next = mem_resize(s->next, n, sizeof *s->next);
    s->ranks = mem_resize(s->ranks, n, sizeof *s->ranks);
    s->cap = n;
}

void bpe_scratch_release(struct bpe_scratch *s)
{
    free(s->ids);
    free(s->prev);
    free(s->next);
    free(s->ranks);
    free(s->heap);
    *s = (struct bpe_scratch){ 0 };
}

static uint32_t rank_of(const struct bpe *b, uint32_t left, uint32_t right)
{
    uint32_t id;
    return pairs_find(&b->pairs, left, right, &id);
}

static void set_rank(const struct bpe *b, struct bpe_scratch *s, uint32_t at)
{
    s->ranks[at] = s->next[at] == NONE ? NONE : rank_of(b, s->ids[at], s->ids[s->next[at]]);
    if (s->ranks[at] != NONE)
        heap_push(s, s->ranks[at], at);
}

/* The tokens are a list by prev and next; a token's place is its first byte's. An entry of the
 * heap is stale when the rank at its place has changed since. */
static void merge_long(const struct bpe *b, struct bpe_scratch *s)
{
    while (s->heap_count) {
        uint64_t top = heap_pop(s);
        uint32_t at = (uint32_t)top;
        if (s->ranks[at] != top >> 32)
            continue;
        uint32_t gone = s->next[at];
        pairs_find(&b->pairs, s->ids[at], s->ids[gone], &s->ids[at]);
        s->ranks[gone] = NONE;
        s->next[at] = s->next[gone];
        if (s->next[at] != NONE)
            s->prev[s->next[at]] = at;
        set_rank(b, s, at);
        if (s->prev[at] != NONE)
            set_rank(b, s, s->prev[at]);
    }
}

/* s->ids[0..n) are the tokens. */
static void encode_long(const struct bpe *b, struct bpe_scratch *s, size_t n, struct ids *out)
{
    mem_grow(s->heap, s->heap_cap, n);
    s->heap_count = 0;
    for (size_t i = 0; i < n; i++) {
        s->prev[i] = i ? (uint32_t)i - 1 : NONE;
        s->next[i] = i + 1 < n ? (uint32_t)i + 1 : NONE;
        s->ranks[i] = i + 1 < n ? rank_of(b, s->ids[i], s->ids[i + 1]) : NONE;
        if (s->ranks[i] != NONE)
            s->heap[s->heap_count++] = (uint64_t)s->ranks[i] << 32 | i;
    }
    for (size_t i = s->heap_count / 2; i-- > 0;)
        sift_down(s->heap, s->heap_count, i);
    merge_long(b, s);
    for (uint32_t i = 0; i != NONE; i = s->next[i])
        ids_add(out, s->ids[i]);
    if (s->cap > SCRATCH_KEPT || s->heap_cap > SCRATCH_KEPT)
        bpe_scratch_release(s);
}

/* ---- a piece ------------------------------------------------------------------------------- */

static int check_bytes(const struct bpe *b, const unsigned char *piece, size_t n)
{
    for (size_t i = 0; i < n && !b->complete; i++)
        if (b->byte_ids[piece[i]] < 0)
            return err_set("the vocabulary has no token for byte 0x%02X", piece[i]);
    return 0;
}

int bpe_encode_ids(const struct bpe *b, struct bpe_scratch *s, const uint32_t *from, size_t n,
                   struct ids *out)
{
    if (n >= NONE)
        return err_set("a piece of %zu tokens without a place to split is too long", n);
    if (n > SHORT_PIECE) {
        scratch_reserve(s, n);
        memcpy(s->ids, from, n * sizeof *from);
        encode_long(b, s, n, out);
        return 0;
    }
    mem_grow(out->data, out->cap, out->count + n);
    memcpy(out->data + out->count, from, n * sizeof *from);
    out->count += merge_short(&b->pairs, out->data + out->count, n);
    return 0;
}

int bpe_encode(const struct bpe *b, struct bpe_scratch *s, const char *text, size_t n,
               struct ids *out)
{
    const unsigned char *piece = (const unsigned char *)text;
    if (check_bytes(b, piece, n) < 0)
        return -1;
    if (n >= NONE)
        return err_set("a piece of %zu bytes without a place to split is too long", n);
    if (n > SHORT_PIECE) {
        scratch_reserve(s, n);
        for (size_t i = 0; i < n; i++)
            s->ids[i] = (uint32_t)b->byte_ids[piece[i]];
        encode_long(b, s, n, out);
        return 0;
    }
    mem_grow(out->data, out->cap, out->count + n);
    for (size_t i = 0; i < n; i++)
        out->data[out->count + i] = (uint32_t)b->byte_ids[piece[i]];
    out->count += merge_short(&b->pairs, out->data + out->count, n);
    return 0;
}
