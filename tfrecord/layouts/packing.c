#include "tfrecord/layouts/packing.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

enum { NONE = -1 };

/* Rows with space for another sequence: one list for each amount of free space, the newest row
 * first. */
struct shelf {
    int64_t *first;   /* [length + 1] first row of each list, by free space */
    int64_t *next;    /* [rows] */
    uint32_t *masked; /* [rows] masked tokens so far */
};

/* Returns the indices of the instances sorted by length, longest first; those of equal length keep
 * their order. */
static uint32_t *by_length(const struct instances *all, uint32_t length)
{
    size_t *at = mem_zalloc((size_t)length + 2, sizeof *at);
    uint32_t *order = mem_zalloc(all->count, sizeof *order);
    for (size_t i = 0; i < all->count; i++)
        at[length - all->list[i].length + 1]++;
    for (size_t k = 1; k <= length; k++)
        at[k] += at[k - 1];
    for (size_t i = 0; i < all->count; i++)
        order[at[length - all->list[i].length]++] = (uint32_t)i;
    free(at);
    return order;
}

/* Removes and returns the row with the least free space that can take `x`, and sets *room to that
 * space; NONE if there is none. In each list only the newest rows are tried. Otherwise many rows
 * that can take no more masked tokens would make the time quadratic. */
static int64_t take(struct shelf *s, const struct instance *x, uint32_t length, uint32_t masked,
                    uint32_t *room)
{
    enum { ASKED = 16 };
    for (*room = x->length; *room <= length; ++*room) {
        int64_t *link = &s->first[*room];
        for (int i = 0; i < ASKED && *link != NONE; i++, link = &s->next[*link]) {
            int64_t row = *link;
            if (s->masked[row] + x->masked > masked)
                continue;
            *link = s->next[row];
            return row;
        }
    }
    return NONE;
}

size_t packing_make(const struct instances *all, uint32_t length, uint32_t masked, uint32_t most,
                    struct packing_row *rows)
{
    assert(most >= 1 && most <= PACKING_MAX);
    size_t count = 0;
    uint32_t *order = by_length(all, length);
    struct shelf s = { mem_zalloc((size_t)length + 1, sizeof *s.first),
                       mem_zalloc(all->count, sizeof *s.next),
                       mem_zalloc(all->count, sizeof *s.masked) };
    for (size_t i = 0; i <= length; i++)
        s.first[i] = NONE;
    for (size_t i = 0; i < all->count; i++) {
        const struct instance *x = &all->list[order[i]];
        uint32_t room;
        int64_t row = take(&s, x, length, masked, &room);
        if (row == NONE) {
            row = (int64_t)count++;
            room = length;
            rows[row].count = 0;
        }
        struct packing_row *r = &rows[row];
        memmove(r->members + 1, r->members, r->count++ * sizeof *r->members);
        r->members[0] = order[i]; /* the shortest comes last and stands first */
        s.masked[row] += x->masked;
        if (r->count == most)
            continue;
        s.next[row] = s.first[room - x->length];
        s.first[room - x->length] = row;
    }
    free(order);
    free(s.first);
    free(s.next);
    free(s.masked);
    return count;
}
