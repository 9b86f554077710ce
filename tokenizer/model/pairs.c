#include "tokenizer/model/pairs.h"

#include "common/base/order.h"

enum { SHIFTS = 1 << 16 };

struct entry {
    uint64_t hash;
    uint32_t rank;
};

/* The merges, ordered by group. Group g is list[first[g]..first[g + 1]). */
struct groups {
    struct entry *list;
    uint32_t *first;
    size_t count;
};

/* Sorts the merges by group, with a stable counting sort. */
static void fill_groups(struct groups *g, const struct pairs *p, const struct bpe_merge *merges,
                        size_t count)
{
    memset(g->first, 0, (g->count + 2) * sizeof *g->first);
    for (int put = 0; put < 2; put++) {
        for (size_t i = 0; i < count; i++) {
            uint64_t hash = pairs_hash(p, merges[i].left, merges[i].right);
            uint64_t group = hash >> p->group_shift;
            if (put)
                g->list[g->first[group + 1]++] = (struct entry){ hash, (uint32_t)i };
            else
                g->first[group + 2]++;
        }
        for (size_t i = 2; i < g->count + 2 && !put; i++)
            g->first[i] += g->first[i - 1];
    }
}

/* Keeps only the last of equal pairs in a group. Returns the number of pairs left. */
static size_t drop_doubles(struct entry *list, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < kept && list[k].hash != list[i].hash)
            k++;
        list[k] = list[i];
        kept += k == kept;
    }
    return kept;
}

/* Finds a shift with which all pairs of a group get free slots, and stores the pairs. Returns 1,
 * or 0 if there is no such shift. */
static int place_group(struct pairs *p, const struct entry *list, size_t n, uint16_t *shift)
{
    for (uint32_t s = 0; s < SHIFTS; s++) {
        size_t i = 0;
        for (; i < n; i++) {
            uint64_t *slot = &p->slots[pairs_slot(p, list[i].hash, s)];
            if (*slot != PAIR_UNUSED)
                break;
            *slot = (list[i].hash & ~p->slot_mask) | list[i].rank;
        }
        if (i == n) {
            *shift = (uint16_t)s;
            return 1;
        }
        while (i--)
            p->slots[pairs_slot(p, list[i].hash, s)] = PAIR_UNUSED;
    }
    return 0;
}

static int place_all(struct pairs *p, struct groups *g, const struct bpe_merge *merges,
                     size_t count)
{
    for (uint64_t i = 0; i <= p->slot_mask; i++)
        p->slots[i] = PAIR_UNUSED;
    fill_groups(g, p, merges, count);
    SCOPED_MEM uint32_t *sizes = mem_alloc(2 * g->count * sizeof *sizes);
    uint32_t *by_size = sizes + g->count; /* the largest groups first */
    for (size_t i = 0; i < g->count; i++)
        sizes[i] = g->first[i + 1] - g->first[i];
    order_sizes(by_size, sizes, g->count);
    for (size_t i = 0; i < g->count; i++) {
        const uint32_t group = by_size[i];
        struct entry *list = g->list + g->first[group];
        if (!place_group(p, list, drop_doubles(list, sizes[group]), &p->shifts[group]))
            return 0;
    }
    return 1;
}

static int log_at_least(size_t n)
{
    int log = 1;
    while ((size_t)1 << log < n)
        log++;
    return log;
}

/* Returns the number of slots to allocate. A table that needs many pages is read at random, so it
 * gets at least one huge page. */
static size_t room_of(size_t slots)
{
    enum { HUGE_SLOTS = (2 << 20) / sizeof(uint64_t), MANY = HUGE_SLOTS / 8 };
    return slots >= MANY && slots < HUGE_SLOTS ? HUGE_SLOTS : slots;
}

static uint32_t *last_of_ties(const struct bpe_merge *merges, size_t count)
{
    uint32_t *last = NULL;
    for (size_t i = count; i-- > 1;) {
        if (!last && merges[i].tied) {
            last = mem_alloc(count * sizeof *last);
            for (size_t k = 0; k < count; k++)
                last[k] = (uint32_t)k;
        }
        if (merges[i].tied)
            last[i - 1] = last[i];
    }
    return last;
}

void pairs_init(struct pairs *p, const struct bpe_merge *merges, size_t count)
{
    int slots_log = log_at_least(count + count / 4 + 2);
    *p = (struct pairs){ .seed = 0x9E3779B97F4A7C15u };
    p->ids = mem_alloc((count + 1) * sizeof *p->ids);
    for (size_t i = 0; i < count; i++)
        p->ids[i] = merges[i].id;
    p->last = last_of_ties(merges, count);
    for (;; slots_log++) {
        int groups_log = slots_log > 3 ? slots_log - 2 : 1;
        struct groups g = { .count = (size_t)1 << groups_log };
        g.list = mem_alloc((count + 1) * sizeof *g.list);
        g.first = mem_alloc((g.count + 2) * sizeof *g.first);
        p->slots = mem_huge(room_of((size_t)1 << slots_log), sizeof *p->slots);
        p->shifts = mem_zalloc(g.count, sizeof *p->shifts);
        p->slot_mask = ((uint64_t)1 << slots_log) - 1;
        p->group_shift = 64 - groups_log;
        int placed = 0;
        for (int tries = 0; tries < 8 && !placed; tries++) {
            if (tries)
                p->seed = p->seed * 0xD1342543DE82EF95u + 2; /* odd again */
            placed = place_all(p, &g, merges, count);
        }
        free(g.list);
        free(g.first);
        if (placed)
            return;
        free(p->slots);
        free(p->shifts);
    }
}

void pairs_release(struct pairs *p)
{
    free(p->slots);
    free(p->shifts);
    free(p->ids);
    free(p->last);
}
