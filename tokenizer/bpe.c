#include "tokenizer/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"

enum { SHORT_PIECE = 96, SCRATCH_KEPT = 1 << 20 }; /* bytes; elements */
#define NONE UINT32_MAX

/* rank and id of a pair: an open-addressing table, at most half full. */
struct pair {
    uint64_t key;  /* left << 32 | right; ~0: free */
    uint32_t rank; /* place in the list of merges */
    uint32_t id;
};

struct bpe {
    int64_t byte_ids[256];
    int complete; /* every byte has an id */
    struct pair *pairs;
    uint64_t mask;
    uint32_t byte_ranks[256][256]; /* of a pair of bytes, the piece's first step; NONE for none */
};

/* ---- pairs --------------------------------------------------------------------------------- */

static inline uint64_t pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 32 | right;
}

static inline uint64_t pair_slot(uint64_t key)
{
    uint64_t h = key * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

static inline struct pair *find_pair(const struct bpe *b, uint64_t key)
{
    uint64_t i = pair_slot(key) & b->mask;
    while (b->pairs[i].key != key && b->pairs[i].key != UINT64_MAX)
        i = (i + 1) & b->mask;
    return &b->pairs[i];
}

static inline uint32_t pair_rank(const struct bpe *b, uint32_t left, uint32_t right)
{
    return find_pair(b, pair_key(left, right))->rank;
}

static void fill_byte_ranks(struct bpe *b)
{
    for (int x = 0; x < 256; x++)
        for (int y = 0; y < 256; y++)
            b->byte_ranks[x][y] = b->byte_ids[x] < 0 || b->byte_ids[y] < 0
                                      ? NONE
                                      : pair_rank(b, (uint32_t)b->byte_ids[x],
                                                  (uint32_t)b->byte_ids[y]);
}

struct bpe *bpe_new(const int64_t byte_ids[256], const struct bpe_merge *merges, size_t count)
{
    struct bpe *b = mem_zalloc(1, sizeof *b);
    memcpy(b->byte_ids, byte_ids, sizeof b->byte_ids);
    b->complete = 1;
    for (int i = 0; i < 256; i++)
        b->complete &= byte_ids[i] >= 0;
    uint64_t slots = 16;
    while (slots < 2 * (uint64_t)count)
        slots *= 2;
    b->mask = slots - 1;
    b->pairs = mem_alloc(slots * sizeof *b->pairs);
    for (uint64_t i = 0; i < slots; i++)
        b->pairs[i] = (struct pair){ UINT64_MAX, NONE, NONE };
    for (size_t i = 0; i < count; i++) {
        uint64_t key = pair_key(merges[i].left, merges[i].right);
        *find_pair(b, key) = (struct pair){ key, (uint32_t)i, merges[i].id };
    }
    fill_byte_ranks(b);
    return b;
}

void bpe_free(struct bpe *b)
{
    if (!b)
        return;
    free(b->pairs);
    free(b);
}

/* ---- short pieces -------------------------------------------------------------------------- */

/* Ranks here have a sign, since that is how processors compare many at once. */
#define NO_RANK INT32_MAX

static inline int32_t signed_rank(uint32_t rank)
{
    return (int32_t)(rank & INT32_MAX);
}

enum { LANES = 4 };
typedef int32_t lanes __attribute__((vector_size(LANES * sizeof(int32_t))));

/* ranks[0..n), and as many more as fill the last step, which are NO_RANK. */
static inline int32_t least_rank(const int32_t *ranks, size_t n)
{
    lanes least = { NO_RANK, NO_RANK, NO_RANK, NO_RANK }, next;
    for (size_t i = 0; i < n; i += LANES) {
        memcpy(&next, ranks + i, sizeof next);
        lanes less = next < least;
        least = (next & less) | (least & ~less);
    }
    int32_t result = least[0];
    for (int i = 1; i < LANES; i++)
        result = least[i] < result ? least[i] : result;
    return result;
}

/* ids[0..n) and ranks[i] of the pair (i, i+1); from ranks[n-1] on they are NO_RANK. */
static size_t merge_short(const struct bpe *b, uint32_t *ids, int32_t *ranks, size_t n)
{
    for (;;) {
        size_t at = 0;
        int32_t least = least_rank(ranks, n);
        if (least == NO_RANK)
            return n;
        while (ranks[at] != least)
            at++;
        ids[at] = find_pair(b, pair_key(ids[at], ids[at + 1]))->id;
        n--;
        memmove(ids + at + 1, ids + at + 2, (n - at - 1) * sizeof *ids);
        memmove(ranks + at, ranks + at + 1, (n - at) * sizeof *ranks);
        if (at)
            ranks[at - 1] = signed_rank(pair_rank(b, ids[at - 1], ids[at]));
        if (at + 1 < n)
            ranks[at] = signed_rank(pair_rank(b, ids[at], ids[at + 1]));
    }
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

static void set_rank(const struct bpe *b, struct bpe_scratch *s, uint32_t at)
{
    s->ranks[at] = s->next[at] == NONE ? NONE : pair_rank(b, s->ids[at], s->ids[s->next[at]]);
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
        s->ids[at] = find_pair(b, pair_key(s->ids[at], s->ids[gone]))->id;
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
        s->ranks[i] = i + 1 < n ? pair_rank(b, s->ids[i], s->ids[i + 1]) : NONE;
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

/* ids and ranks have room for SHORT_PIECE + LANES. */
static void encode_short(const struct bpe *b, uint32_t *ids, int32_t *ranks, size_t n,
                         struct ids *out)
{
    for (size_t i = n; i < n + LANES; i++)
        ranks[i] = NO_RANK;
    if (n > 1)
        n = merge_short(b, ids, ranks, n);
    mem_grow(out->data, out->cap, out->count + n);
    memcpy(out->data + out->count, ids, n * sizeof *ids);
    out->count += n;
}

int bpe_encode_ids(const struct bpe *b, struct bpe_scratch *s, const uint32_t *from, size_t n,
                   struct ids *out)
{
    uint32_t ids[SHORT_PIECE];
    int32_t ranks[SHORT_PIECE + LANES];
    if (n >= NONE)
        return err_set("a piece of %zu tokens without a place to split is too long", n);
    if (n > SHORT_PIECE) {
        scratch_reserve(s, n);
        memcpy(s->ids, from, n * sizeof *from);
        encode_long(b, s, n, out);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        ids[i] = from[i];
        ranks[i] = i + 1 < n ? signed_rank(pair_rank(b, from[i], from[i + 1])) : NO_RANK;
    }
    encode_short(b, ids, ranks, n, out);
    return 0;
}

int bpe_encode(const struct bpe *b, struct bpe_scratch *s, const char *text, size_t n,
               struct ids *out)
{
    const unsigned char *piece = (const unsigned char *)text;
    uint32_t ids[SHORT_PIECE];
    int32_t ranks[SHORT_PIECE + LANES];
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
    for (size_t i = 0; i < n; i++) {
        ids[i] = (uint32_t)b->byte_ids[piece[i]];
        ranks[i] = i + 1 < n ? signed_rank(b->byte_ranks[piece[i]][piece[i + 1]]) : NO_RANK;
    }
    encode_short(b, ids, ranks, n, out);
    return 0;
}
