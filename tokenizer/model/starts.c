#include "tokenizer/model/starts.h"

#include "tokenizer/model/pairs.h"

#define NONE PAIR_NONE

enum { LEAD = 0xC0, TAIL = 0x80, LEADS = 64, TAILS = 64, LEAD_OF_3 = 0xE0, LEAD_OF_4 = 0xF0 };

/* The first two bytes of a character, and the tokens they may become with the third. */
struct start {
    uint32_t id;     /* the token they certainly merge to, or NONE */
    uint32_t thirds; /* index in thirds[] of the row for the third byte; 0 is an empty row */
};

/* The text that may precede a character: another character that is no space, or anything. */
enum front { AFTER_CHARACTER, AFTER_ANYTHING, FRONTS };

struct starts {
    uint32_t byte_ids[256];
    struct start starts[FRONTS][LEADS][TAILS];
    uint32_t (*thirds)[TAILS];
    size_t thirds_count, thirds_cap;
};

/* ---- the bounds ------------------------------------------------------------------------------ */

/* Kinds of bytes that a token may begin or end with, as a set. */
enum { SPACE = 1, OTHER_ASCII = 2, TAIL_BYTE = 4, LEAD_BYTE = 8 };

/* Lower bounds for the ranks of the merges that a token takes part in, by its id. NONE: no such
 * merge. */
struct bounds {
    size_t ids;
    uint8_t *begins, *ends;   /* kinds of bytes with which the token may begin, and end */
    uint32_t *front[FRONTS];  /* for merges with a token before it, by how that token ends */
    uint32_t *tail, *no_tail; /* for merges with a token after it that begins with a tail byte, or
                                 with another byte */
};

static uint8_t kind_of(unsigned byte)
{
    return byte == ' ' ? SPACE : byte < TAIL ? OTHER_ASCII : byte < LEAD ? TAIL_BYTE : LEAD_BYTE;
}

static void include(struct bounds *b, uint32_t id)
{
    b->ids = id >= b->ids ? id + (size_t)1 : b->ids;
}

static void lower(uint32_t *bound, uint32_t rank)
{
    *bound = rank < *bound ? rank : *bound;
}

static uint32_t *new_bounds(size_t ids)
{
    return memset(mem_alloc(ids * sizeof(uint32_t)), 0xFF, ids * sizeof(uint32_t));
}

/* Computes the kinds of bytes with which each token may begin (b->begins) and end (b->ends), from
 * the tokens that merge to it. Repeats this until nothing changes, because a merge may come before
 * the merges that make its parts. */
static void find_sets(struct bounds *b, const struct bpe_merge *merges, size_t count)
{
    for (int changed = 1; changed;) {
        changed = 0;
        for (size_t i = 0; i < count; i++) {
            uint8_t begins = b->begins[merges[i].id] | b->begins[merges[i].left];
            uint8_t ends = b->ends[merges[i].id] | b->ends[merges[i].right];
            changed |= begins != b->begins[merges[i].id] || ends != b->ends[merges[i].id];
            b->begins[merges[i].id] = begins;
            b->ends[merges[i].id] = ends;
        }
    }
}

static void bounds_init(struct bounds *b, const struct starts *s, const struct bpe_merge *merges,
                        size_t count)
{
    *b = (struct bounds){ 0 };
    for (int i = 0; i < 256; i++)
        include(b, s->byte_ids[i]);
    for (size_t i = 0; i < count; i++) {
        include(b, merges[i].left);
        include(b, merges[i].right);
        include(b, merges[i].id);
    }
    b->begins = mem_zalloc(b->ids, 1);
    b->ends = mem_zalloc(b->ids, 1);
    b->front[AFTER_CHARACTER] = new_bounds(b->ids);
    b->front[AFTER_ANYTHING] = new_bounds(b->ids);
    b->tail = new_bounds(b->ids);
    b->no_tail = new_bounds(b->ids);
    for (unsigned byte = 0; byte < 256; byte++) {
        b->begins[s->byte_ids[byte]] |= kind_of(byte);
        b->ends[s->byte_ids[byte]] |= kind_of(byte);
    }
    find_sets(b, merges, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t left = merges[i].left, right = merges[i].right, rank = (uint32_t)i;
        lower(&b->front[AFTER_ANYTHING][right], rank);
        if (b->ends[left] & (OTHER_ASCII | TAIL_BYTE))
            lower(&b->front[AFTER_CHARACTER][right], rank);
        if (b->begins[right] & TAIL_BYTE)
            lower(&b->tail[left], rank);
        if (b->begins[right] & ~TAIL_BYTE)
            lower(&b->no_tail[left], rank);
    }
}

static void bounds_release(struct bounds *b)
{
    free(b->begins);
    free(b->ends);
    free(b->front[AFTER_CHARACTER]);
    free(b->front[AFTER_ANYTHING]);
    free(b->tail);
    free(b->no_tail);
}

/* Returns the token to which x and y certainly merge, or NONE. `front` is what may precede x.
 * tail_follows 1: y is followed by a further byte of the same character; 0: it is not. */
static uint32_t merge_of(const struct bounds *b, const struct pairs *pairs, enum front front,
                         uint32_t x, uint32_t y, int tail_follows)
{
    uint32_t rank = pairs_find(pairs, x, y);
    if (rank == NONE || rank >= b->front[front][x] ||
        rank >= (tail_follows ? b->tail : b->no_tail)[y])
        return NONE;
    uint32_t id = pairs->ids[rank];
    int first = rank < b->front[AFTER_ANYTHING][id] && rank < b->tail[id] && rank < b->no_tail[id];
    return first ? id : NONE;
}

/* ---- the tables ------------------------------------------------------------------------------ */

static uint32_t add_thirds(struct starts *s)
{
    mem_grow(s->thirds, s->thirds_cap, s->thirds_count + 1);
    memset(s->thirds[s->thirds_count], 0xFF, sizeof *s->thirds);
    return (uint32_t)s->thirds_count++;
}

static struct start make_start(struct starts *s, const struct bounds *b, const struct pairs *pairs,
                               enum front front, unsigned lead, unsigned tail)
{
    const uint32_t *bytes = s->byte_ids;
    struct start start = { merge_of(b, pairs, front, bytes[lead], bytes[tail], lead >= LEAD_OF_3),
                           0 };
    for (unsigned third = TAIL; third < LEAD && lead >= LEAD_OF_3 && start.id != NONE; third++) {
        uint32_t id = merge_of(b, pairs, front, start.id, bytes[third], lead >= LEAD_OF_4);
        if (id == NONE)
            continue;
        start.thirds = start.thirds ? start.thirds : add_thirds(s);
        s->thirds[start.thirds][third - TAIL] = id;
    }
    return start;
}

/* Returns 1 if all bytes have tokens, each a different one, else 0. */
static int bytes_differ(const int64_t byte_ids[256])
{
    for (int i = 0; i < 256; i++)
        for (int k = 0; k <= i; k++)
            if (byte_ids[i] < 0 || (k < i && byte_ids[i] == byte_ids[k]))
                return 0;
    return 1;
}

struct starts *starts_new(const int64_t byte_ids[256], const struct pairs *pairs,
                          const struct bpe_merge *merges, size_t count)
{
    struct starts *s = mem_alloc(sizeof *s);
    struct bounds b;
    s->thirds = NULL;
    s->thirds_count = s->thirds_cap = 0;
    memset(s->starts, 0xFF, sizeof s->starts);
    for (int i = 0; i < 256; i++)
        s->byte_ids[i] = (uint32_t)byte_ids[i];
    add_thirds(s); /* row 0 is the empty row */
    if (!bytes_differ(byte_ids))
        return s;
    bounds_init(&b, s, merges, count);
    for (int front = 0; front < FRONTS; front++)
        for (unsigned lead = 0; lead < LEADS; lead++)
            for (unsigned tail = 0; tail < TAILS; tail++)
                s->starts[front][lead][tail] = make_start(s, &b, pairs, (enum front)front,
                                                          LEAD + lead, TAIL + tail);
    bounds_release(&b);
    return s;
}

void starts_free(struct starts *s)
{
    if (!s)
        return;
    free(s->thirds);
    free(s);
}

/* ---- a piece --------------------------------------------------------------------------------- */

static inline int is_tail(const unsigned char *piece, size_t i, size_t n)
{
    return i < n && (piece[i] & 0xC0) == TAIL;
}

static inline int is_character_end(unsigned char byte)
{
    return byte != ' ' && byte < LEAD;
}

/* Returns 1 if a character begins at piece[i] whose first bytes, `len` 2 or 3 of them, may be a
 * start: all bytes of the character, or the first three of four. */
static inline int begins_start(const unsigned char *piece, size_t i, size_t n, size_t len)
{
    return is_tail(piece, i + 1, n) && (len == 2 || is_tail(piece, i + 2, n)) &&
           is_tail(piece, i + len, n) == (piece[i] >= LEAD_OF_4);
}

size_t starts_put(const struct starts *s, uint32_t *ids, const unsigned char *piece, size_t n)
{
    size_t count = 0, len;
    unsigned char before = 0;
    for (size_t i = 0; i < n; i += len) {
        const unsigned char *p = piece + i;
        enum front front = is_character_end(before) ? AFTER_CHARACTER : AFTER_ANYTHING;
        len = *p < LEAD_OF_3 ? 2 : 3;
        if (*p < LEAD || !begins_start(piece, i, n, len)) {
            ids[count++] = s->byte_ids[*p];
            before = *p;
            len = 1;
            continue;
        }
        /* no branch on the tables: the number of tokens varies from character to character */
        before = p[len - 1];
        struct start start = s->starts[front][*p - LEAD][p[1] - TAIL];
        size_t single = start.id == NONE;
        ids[count] = single ? s->byte_ids[*p] : start.id;
        ids[count + 1] = s->byte_ids[p[1]];
        count += 1 + single;
        if (len == 3) {
            uint32_t third = s->thirds[start.thirds & -(uint32_t)!single][p[2] - TAIL];
            ids[count - (third != NONE)] = third == NONE ? s->byte_ids[p[2]] : third;
            count += third == NONE;
        }
    }
    return count;
}
