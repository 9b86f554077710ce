#include "tokenizer/model/bpe.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/base/heap.h"
#include "common/base/simd.h"
#include "tokenizer/model/pairs.h"
#include "tokenizer/model/starts.h"

enum { SHORT_PIECE = 62, SCRATCH_KEPT = 1 << 20 }; /* most tokens; elements to keep */
#define NONE PAIR_NONE

struct bpe {
    int64_t byte_ids[256];
    int complete; /* every byte has an id */
    int drop;     /* leave out bytes without an id */
    struct pairs pairs;
    struct starts *starts;
};

struct bpe *bpe_new(const int64_t byte_ids[256], const struct bpe_merge *merges, size_t count,
                    int drop)
{
    struct bpe *b = mem_zalloc(1, sizeof *b);
    memcpy(b->byte_ids, byte_ids, sizeof b->byte_ids);
    b->drop = drop;
    b->complete = 1;
    for (int i = 0; i < 256; i++)
        b->complete &= byte_ids[i] >= 0;
    pairs_init(&b->pairs, merges, count);
    b->starts = starts_new(byte_ids, &b->pairs, merges, count);
    return b;
}

void bpe_free(struct bpe *b)
{
    if (!b)
        return;
    pairs_release(&b->pairs);
    starts_free(b->starts);
    free(b);
}

/* ---- short pieces -------------------------------------------------------------------------- */

/* A short piece being merged. Tokens are at places 1 to n; bit p of `alive` is set if place p
 * still holds a token. A token's place is that of its first byte. Places 0 and n + 1 hold tokens
 * that merge with nothing, so every place has neighbours. */
enum { PLACES = SHORT_PIECE + 2, LANES = 16, TOGETHER = 32 };

struct bpe_short {
    uint32_t ranks[PLACES]; /* rank of the pair of this token and the next one, NONE after the last;
                               a whole row of lanes is set */
    uint32_t ids[PLACES];
    uint64_t alive;
    size_t n;
};

static inline int place_after(uint64_t alive, int place)
{
    return place + 1 + __builtin_ctzll(alive >> 1 >> place);
}

static inline int place_before(uint64_t alive, int place)
{
    return 63 - __builtin_clzll(alive & (((uint64_t)1 << place) - 1));
}

/* Initialises a short piece whose tokens are in s->ids[1..n]. */
static void short_begin(const struct pairs *pairs, struct bpe_short *s, size_t n)
{
    size_t row = n <= LANES ? LANES : PLACES;
    s->alive = UINT64_MAX;
    s->n = n;
    s->ids[0] = s->ids[n + 1] = NONE;
    memset(s->ranks, 0xFF, row * sizeof *s->ranks);
    for (size_t i = 1; i < n; i++)
        s->ranks[i] = pairs_find(pairs, s->ids[i], s->ids[i + 1]);
}

/* The ranks that a merge changes: at `place`, at `before`, and at `gone`, which becomes NONE. */
struct merged {
    int place, gone, before;
    uint32_t rank, rank_before;
};

/* Replaces the two tokens at `place` and after it by their merge, the one of this rank. Returns the
 * places whose pairs have changed, and their new ranks. */
__attribute__((always_inline)) static inline struct merged merge_at(const struct pairs *pairs,
                                                                    struct bpe_short *s, int place,
                                                                    uint32_t rank)
{
    struct merged m = { .place = place, .gone = place_after(s->alive, place) };
    uint32_t id = pairs->ids[rank];
    s->ids[place] = id;
    s->alive &= ~((uint64_t)1 << m.gone);
    m.before = place_before(s->alive, place);
    m.rank = pairs_find(pairs, id, s->ids[place_after(s->alive, place)]);
    m.rank_before = pairs_find(pairs, s->ids[m.before], id);
    return m;
}

/* Returns the last of the ranks that are tied with `rank` (merge.h). */
static inline uint32_t last_tied(const struct pairs *pairs, uint32_t rank)
{
    return pairs->last && rank != NONE ? pairs->last[rank] : rank;
}

static void merge_plain(const struct pairs *pairs, struct bpe_short *s)
{
    for (;;) {
        int least = 0;
        for (size_t i = 1; i < s->n; i++)
            if (last_tied(pairs, s->ranks[i]) < last_tied(pairs, s->ranks[least]))
                least = (int)i;
        if (s->ranks[least] == NONE)
            return;
        struct merged m = merge_at(pairs, s, least, s->ranks[least]);
        s->ranks[m.gone] = NONE;
        s->ranks[m.place] = m.rank;
        s->ranks[m.before] = m.rank_before;
    }
}

#if defined(__x86_64__)
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi2,bmi,lzcnt,popcnt")))

AVX512 static inline __m512i with_rank(__m512i ranks, int base, int place, uint32_t rank)
{
    __mmask16 lane = (__mmask16)((uint64_t)1 << place >> base);
    return _mm512_mask_set1_epi32(ranks, lane, (int)rank);
}

/* Does one merge, with one place per lane in `rows` registers. Returns 1; 0 if no pair merges. */
AVX512 __attribute__((always_inline)) static inline int merge_least(const struct pairs *pairs,
                                                                    struct bpe_short *s, int rows)
{
    __m512i ranks[PLACES / LANES];
    for (int i = 0; i < rows; i++)
        ranks[i] = _mm512_loadu_si512(s->ranks + LANES * i);
    __m512i low = ranks[0];
    for (int i = 1; i < rows; i++)
        low = _mm512_min_epu32(low, ranks[i]);
    uint32_t least = _mm512_reduce_min_epu32(low);
    if (least == NONE)
        return 0;
    const __m512i last = _mm512_set1_epi32((int)last_tied(pairs, least));
    uint64_t where = 0;
    for (int i = 0; i < rows; i++)
        where |= (uint64_t)_mm512_cmple_epu32_mask(ranks[i], last) << LANES * i;
    const int place = __builtin_ctzll(where);
    struct merged m = merge_at(pairs, s, place, pairs->last ? s->ranks[place] : least);
    for (int i = 0; i < rows; i++) {
        ranks[i] = with_rank(ranks[i], LANES * i, m.gone, NONE);
        ranks[i] = with_rank(ranks[i], LANES * i, m.place, m.rank);
        ranks[i] = with_rank(ranks[i], LANES * i, m.before, m.rank_before);
        _mm512_storeu_si512(s->ranks + LANES * i, ranks[i]);
    }
    return 1;
}

/* Merges the pieces list[0..count), whose ranks fit into `rows` registers. Does one merge of each
 * in turn, because a merge must wait for the look-up of the merge before it in the same piece, but
 * not for those of other pieces. */
AVX512 __attribute__((always_inline)) static inline void merge_alternately(
    const struct pairs *pairs, struct bpe_short **list, size_t count, int rows)
{
    while (count) {
        size_t kept = 0;
        for (size_t i = 0; i < count; i++) {
            struct bpe_short *s = list[i];
            list[kept] = s;
            kept += (size_t)merge_least(pairs, s, rows);
        }
        count = kept;
    }
}

/* Merges the pieces s[0..count), those that fit into one register apart from the others. */
AVX512 static void merge_avx512(const struct pairs *pairs, struct bpe_short *s, size_t count)
{
    struct bpe_short *small[TOGETHER], *large[TOGETHER];
    size_t smalls = 0, larges = 0;
    for (size_t i = 0; i < count; i++) {
        small[smalls] = large[larges] = &s[i];
        smalls += s[i].n <= LANES;
        larges += s[i].n > LANES;
    }
    merge_alternately(pairs, small, smalls, 1);
    merge_alternately(pairs, large, larges, PLACES / LANES);
}
#endif

static void merge_all(const struct pairs *pairs, struct bpe_short *s, size_t count)
{
#if defined(__x86_64__)
    if (simd_level() == SIMD_AVX512) {
        merge_avx512(pairs, s, count);
        return;
    }
#endif
    for (size_t i = 0; i < count; i++)
        merge_plain(pairs, &s[i]);
}

/* Appends the tokens of a merged piece. out->data needs room for PLACES more ids. */
static void append(const struct bpe_short *s, struct ids *out)
{
    uint64_t tokens = s->alive & (((uint64_t)1 << s->n) - 1) << 1;
    for (; tokens; tokens &= tokens - 1)
        out->data[out->count++] = s->ids[__builtin_ctzll(tokens)];
}

/* ---- long pieces --------------------------------------------------------------------------- */

/* An entry of the heap has last_tied of a rank in its high 32 bits and a place in its low ones: the
 * least rank is on top, and of tied ranks the leftmost place. */
static inline int is_less(const uint64_t *a, const uint64_t *b)
{
    return *a < *b;
}

HEAP(entries, uint64_t, is_less)

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
    free(s->shorts);
    *s = (struct bpe_scratch){ 0 };
}

static void set_rank(const struct bpe *b, struct bpe_scratch *s, uint32_t at)
{
    s->ranks[at] = s->next[at] == NONE ? NONE
                                       : pairs_find(&b->pairs, s->ids[at], s->ids[s->next[at]]);
    if (s->ranks[at] == NONE)
        return;
    mem_grow(s->heap, s->heap_cap, s->heap_count + 1);
    const uint64_t entry = (uint64_t)last_tied(&b->pairs, s->ranks[at]) << 32 | at;
    entries_rise(s->heap, s->heap_count++, entry);
}

/* Merges the pairs of a long piece. Its tokens are a list linked by prev and next. A token's place
 * is that of its first byte. A heap entry is stale if the rank at its place has changed since. */
static void merge_long(const struct bpe *b, struct bpe_scratch *s)
{
    while (s->heap_count) {
        uint64_t top = entries_take(s->heap, &s->heap_count);
        uint32_t at = (uint32_t)top;
        if (last_tied(&b->pairs, s->ranks[at]) != top >> 32)
            continue;
        uint32_t gone = s->next[at];
        s->ids[at] = b->pairs.ids[s->ranks[at]];
        s->ranks[gone] = NONE;
        s->next[at] = s->next[gone];
        if (s->next[at] != NONE)
            s->prev[s->next[at]] = at;
        set_rank(b, s, at);
        if (s->prev[at] != NONE)
            set_rank(b, s, s->prev[at]);
    }
}

/* Merges the tokens from[0..n) and appends the resulting ids to `out`. */
static void encode_long(const struct bpe *b, struct bpe_scratch *s, const uint32_t *from, size_t n,
                        struct ids *out)
{
    scratch_reserve(s, n);
    memcpy(s->ids, from, n * sizeof *from);
    mem_grow(s->heap, s->heap_cap, n);
    s->heap_count = 0;
    for (size_t i = 0; i < n; i++) {
        s->prev[i] = i ? (uint32_t)i - 1 : NONE;
        s->next[i] = i + 1 < n ? (uint32_t)i + 1 : NONE;
        s->ranks[i] = i + 1 < n ? pairs_find(&b->pairs, s->ids[i], s->ids[i + 1]) : NONE;
        if (s->ranks[i] != NONE)
            s->heap[s->heap_count++] = (uint64_t)last_tied(&b->pairs, s->ranks[i]) << 32 | i;
    }
    entries_make(s->heap, s->heap_count);
    merge_long(b, s);
    for (uint32_t i = 0; i != NONE; i = s->next[i])
        ids_add(out, s->ids[i]);
    if (s->cap > SCRATCH_KEPT || s->heap_cap > SCRATCH_KEPT)
        bpe_scratch_release(s);
}

/* ---- pieces -------------------------------------------------------------------------------- */

/* Merges the waiting short pieces and appends their ids to `out`. Sets ends[i] to out->count after
 * piece i. */
static void merge_waiting(const struct bpe *b, struct bpe_scratch *s, size_t count, struct ids *out,
                          size_t *ends)
{
    mem_grow(out->data, out->cap, out->count + TOGETHER * PLACES);
    merge_all(&b->pairs, s->shorts, count);
    for (size_t i = 0; i < count; i++) {
        append(&s->shorts[i], out);
        ends[i] = out->count;
    }
}

void bpe_merge(const struct bpe *b, struct bpe_scratch *s, const uint32_t *ids,
               const size_t *list_ends, size_t count, struct ids *out, size_t *ends)
{
    size_t waiting = 0;
    for (size_t i = 0, at = 0; i < count; at = list_ends[i++]) {
        size_t n = list_ends[i] - at, is_short = n && n <= SHORT_PIECE;
        if (is_short) {
            if (!s->shorts)
                s->shorts = mem_aligned(TOGETHER, sizeof *s->shorts);
            struct bpe_short *to = &s->shorts[waiting++];
            memcpy(to->ids + 1, ids + at, n * sizeof *ids);
            short_begin(&b->pairs, to, n);
        }
        if (is_short && waiting < TOGETHER)
            continue;
        merge_waiting(b, s, waiting, out, ends + i + is_short - waiting);
        waiting = 0;
        if (n > SHORT_PIECE)
            encode_long(b, s, ids + at, n, out);
        ends[i] = out->count;
    }
    merge_waiting(b, s, waiting, out, ends + count - waiting);
}

int bpe_begin(const struct bpe *b, const char *piece, size_t n, struct ids *ids)
{
    const unsigned char *bytes = (const unsigned char *)piece;
    mem_grow(ids->data, ids->cap, ids->count + n);
    if (b->complete) {
        ids->count += starts_put(b->starts, ids->data + ids->count, bytes, n);
        return 0;
    }
    for (size_t i = 0; i < n; i++)
        if (b->byte_ids[bytes[i]] >= 0)
            ids->data[ids->count++] = (uint32_t)b->byte_ids[bytes[i]];
        else if (!b->drop)
            return err_set("the vocabulary has no token for byte 0x%02X (tokenize --missing drop "
                           "leaves it out, as Hugging Face does)",
                           bytes[i]);
    return 0;
}
