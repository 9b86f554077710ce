#include "tfrecord/layouts/packing.h"

#include "common/base/order.h"

enum { NONE = -1, LEVELS = 6 }; /* 64^6 lists are more than there can be */

/* What is packed, and what a row may have. */
struct sequences {
    const uint32_t *lengths, *masked; /* [count]; masked NULL: nothing is masked */
    size_t count;
    uint32_t length, most_masked;
    size_t most; /* sequences of a row */
};

/* Rows with space for another sequence: one list for each amount of free space, the newest row
 * first. Bit i of filled[0] says that list i has a row; bit i of filled[k+1], that word i of
 * filled[k] is not 0. */
struct shelf {
    uint64_t *filled[LEVELS];
    int64_t *first;   /* [length + 1] first row of each list, by free space */
    int64_t *next;    /* [rows] */
    uint32_t *masked; /* [rows] masked tokens so far */
    size_t *members;  /* [rows] sequences so far */
};

static uint32_t masked_of(const struct sequences *all, uint32_t i)
{
    return all->masked ? all->masked[i] : 0;
}

static void put(struct shelf *s, int64_t row, uint32_t room)
{
    s->next[row] = s->first[room];
    s->first[room] = row;
    for (int l = 0; l < LEVELS; l++, room /= 64)
        s->filled[l][room / 64] |= 1ull << room % 64;
}

static void mark_empty(struct shelf *s, uint32_t room)
{
    for (int l = 0; l < LEVELS; l++, room /= 64)
        if (s->filled[l][room / 64] &= ~(1ull << room % 64))
            return;
}

/* Returns the least free space of a row that is at least `room`, or UINT32_MAX if there is none. */
static uint32_t next_room(const struct shelf *s, uint64_t room, uint32_t length)
{
    int l = 0;
    for (; l < LEVELS && room <= length >> 6 * l; l++, room = room / 64 + 1) {
        const uint64_t word = s->filled[l][room / 64] >> room % 64;
        if (!word)
            continue;
        for (room += (uint64_t)__builtin_ctzll(word); l; l--)
            room = room * 64 + (uint64_t)__builtin_ctzll(s->filled[l - 1][room]);
        return (uint32_t)room;
    }
    return UINT32_MAX;
}

/* Removes and returns the row with the least free space that can take sequence i, and sets *room to
 * that space; NONE if there is none. Tries only the newest rows of each list, since many rows that
 * can take no more masked tokens would make the time quadratic. */
static int64_t take(struct shelf *s, const struct sequences *all, uint32_t i, uint32_t *room)
{
    enum { ASKED = 16 };
    *room = all->lengths[i];
    while ((*room = next_room(s, *room, all->length)) != UINT32_MAX) {
        int64_t *link = &s->first[*room];
        for (int k = 0; k < ASKED && *link != NONE; k++, link = &s->next[*link]) {
            int64_t row = *link;
            if (s->masked[row] + masked_of(all, i) > all->most_masked)
                continue;
            *link = s->next[row];
            if (s->first[*room] == NONE)
                mark_empty(s, *room);
            return row;
        }
        ++*room;
    }
    return NONE;
}

/* Sets order[] to the sequences, longest first, and rows[i] to the row of sequence i. Returns the
 * number of rows. */
static size_t assign(const struct sequences *all, uint32_t *order, uint32_t *rows)
{
    size_t count = 0;
    struct shelf s = { .first = mem_alloc(((size_t)all->length + 1) * sizeof *s.first),
                       .next = mem_zalloc(all->count, sizeof *s.next),
                       .masked = mem_zalloc(all->count, sizeof *s.masked),
                       .members = mem_zalloc(all->count, sizeof *s.members) };
    for (int l = 0; l < LEVELS; l++)
        s.filled[l] = mem_zalloc(((size_t)all->length >> 6 * (l + 1)) + 1, sizeof *s.filled[l]);
    order_sizes(order, all->lengths, all->count);
    for (size_t i = 0; i <= all->length; i++)
        s.first[i] = NONE;
    for (size_t k = 0; k < all->count; k++) {
        const uint32_t i = order[k];
        uint32_t room;
        int64_t row = take(&s, all, i, &room);
        if (row == NONE) {
            row = (int64_t)count++;
            room = all->length;
        }
        rows[i] = (uint32_t)row;
        s.masked[row] += masked_of(all, i);
        if (++s.members[row] == all->most)
            continue;
        put(&s, row, room - all->lengths[i]);
    }
    for (int l = 0; l < LEVELS; l++)
        free(s.filled[l]);
    free(s.first);
    free(s.next);
    free(s.masked);
    free(s.members);
    return count;
}

size_t packing_make(const struct instances *all, uint32_t length, uint32_t masked, uint32_t most,
                    struct packing_row *rows)
{
    assert(most >= 1 && most <= PACKING_MAX);
    SCOPED_MEM uint32_t *numbers = mem_alloc(4 * all->count * sizeof *numbers);
    uint32_t *lengths = numbers, *masks = lengths + all->count, *order = masks + all->count;
    uint32_t *row_of = order + all->count;
    for (size_t i = 0; i < all->count; i++) {
        lengths[i] = all->list[i].length;
        masks[i] = all->list[i].masked;
    }
    const struct sequences s = { lengths, masks, all->count, length, masked, most };
    size_t count = assign(&s, order, row_of);
    for (size_t i = 0; i < count; i++)
        rows[i].count = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct packing_row *r = &rows[row_of[order[i]]];
        memmove(r->members + 1, r->members, r->count++ * sizeof *r->members);
        r->members[0] = order[i]; /* longer ones come first, and each goes to the front */
    }
    return count;
}

size_t packing_fit(const uint32_t *lengths, size_t count, uint32_t length, uint32_t *order,
                   size_t *ends)
{
    const struct sequences s = { lengths, NULL, count, length, 0, SIZE_MAX };
    SCOPED_MEM uint32_t *rows = mem_alloc(2 * count * sizeof *rows);
    uint32_t *sorted = rows + count;
    size_t n = assign(&s, sorted, rows), end = 0;
    for (size_t i = 0; i < count; i++)
        ends[i] = 0;
    for (size_t i = 0; i < count; i++)
        ends[rows[i]]++;
    for (size_t r = 0; r < n; r++) { /* sets ends[r] to the beginning of row r */
        const size_t members = ends[r];
        ends[r] = end;
        end += members;
    }
    for (size_t i = 0; i < count; i++)
        order[ends[rows[sorted[i]]]++] = sorted[i];
    return n;
}
