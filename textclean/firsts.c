#include "textclean/firsts.h"

#include "common/base/log.h"

struct key_slot {
    struct key key;
    uint64_t next; /* number + 1; 0: the slot is empty */
};

enum { FIRST_SLOTS = 1 << 12 };

void firsts_init(struct firsts *f, uint64_t memory, int twice)
{
    *f = (struct firsts){ .memory = memory };
    if (!twice) {
        f->slot_count = FIRST_SLOTS;
        f->slots = mem_zalloc(f->slot_count, sizeof *f->slots);
        return;
    }
    f->parts = mem_zalloc(FIRSTS_PARTS, sizeof *f->parts);
    for (int i = 0; i < FIRSTS_PARTS; i++) /* the other half is for sorting */
        spill_init(&f->parts[i], memory / 2 / FIRSTS_PARTS);
}

void firsts_release(struct firsts *f)
{
    for (int i = 0; i < FIRSTS_PARTS && f->parts; i++)
        spill_release(&f->parts[i]);
    free(f->parts);
    free(f->slots);
}

/* ---- a stream -------------------------------------------------------------------------------- */

static struct key_slot *slot_of(const struct firsts *f, const struct key *key)
{
    size_t at = key->high & (f->slot_count - 1);
    while (f->slots[at].next &&
           (f->slots[at].key.high != key->high || f->slots[at].key.low != key->low))
        at = (at + 1) & (f->slot_count - 1);
    return &f->slots[at];
}

static int grow(struct firsts *f)
{
    size_t count = f->slot_count;
    char text[32];
    if (3 * count * sizeof *f->slots > f->memory) /* the old table and one of twice its size */
        return err_set(
            "%zu keys of a stream do not fit --memory %s; give more, or files, which are "
            "read twice",
            f->used, log_bytes(text, f->memory));
    SCOPED_MEM struct key_slot *old = f->slots;
    f->slot_count *= 2;
    f->slots = mem_zalloc(f->slot_count, sizeof *f->slots);
    for (size_t i = 0; i < count; i++)
        if (old[i].next)
            *slot_of(f, &old[i].key) = old[i];
    return 0;
}

int firsts_add(struct firsts *f, const struct key *key, uint64_t number, uint64_t *first)
{
    const struct key_slot entry = { *key, number };
    if (f->parts)
        return spill_add(&f->parts[key->high >> 56], &entry, sizeof entry);
    if (f->used * 4 > f->slot_count * 3 && grow(f) < 0)
        return -1;
    struct key_slot *slot = slot_of(f, key);
    if (!slot->next) {
        *slot = (struct key_slot){ *key, number + 1 };
        f->used++;
    }
    *first = slot->next - 1;
    return 0;
}

int firsts_find(const struct firsts *f, const struct key *key, uint64_t *first)
{
    const struct key_slot *slot = slot_of(f, key);
    *first = slot->next - 1;
    return slot->next > 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct key_slot *x = a, *y = b;
    if (x->key.high != y->key.high)
        return x->key.high < y->key.high ? -1 : 1;
    if (x->key.low != y->key.low)
        return x->key.low < y->key.low ? -1 : 1;
    return x->next < y->next ? -1 : x->next > y->next;
}

static int finish_part(struct firsts *f, struct spill *part,
                       void (*same)(void *ctx, uint64_t number, uint64_t first), void *ctx)
{
    char text[32];
    if (spill_finish(part) < 0)
        return -1;
    if (part->bytes > f->memory / 2)
        return err_set("a part of the keys has %s, more than half of --memory: give more",
                       log_bytes(text, part->bytes));
    size_t n = part->bytes / sizeof(struct key_slot);
    SCOPED_MEM struct key_slot *all = mem_alloc(part->bytes);
    if (n)
        memcpy(all, part->data, part->bytes);
    qsort(all, n, sizeof *all, compare);
    for (size_t i = 1, first = 0; i < n; i++) {
        if (all[i].key.high != all[first].key.high || all[i].key.low != all[first].key.low)
            first = i;
        else if (all[i].next != all[first].next)
            same(ctx, all[i].next, all[first].next);
    }
    spill_clear(part);
    return 0;
}

int firsts_finish(struct firsts *f, void (*same)(void *ctx, uint64_t number, uint64_t first),
                  void *ctx)
{
    for (int i = 0; i < FIRSTS_PARTS; i++)
        if (finish_part(f, &f->parts[i], same, ctx) < 0)
            return -1;
    return 0;
}

/* ---- clusters -------------------------------------------------------------------------------- */

void clusters_add(struct clusters *c, size_t count)
{
    mem_grow(c->parents, c->cap, count);
    for (; c->count < count; c->count++)
        c->parents[c->count] = (uint32_t)c->count;
}

void clusters_release(struct clusters *c)
{
    free(c->parents);
    *c = (struct clusters){ 0 };
}

/* As clusters_first, and shortens the way for the next search. */
static uint32_t find(struct clusters *c, size_t document)
{
    uint32_t *p = c->parents;
    while (p[document] != document) {
        p[document] = p[p[document]];
        document = p[document];
    }
    return (uint32_t)document;
}

void clusters_join(struct clusters *c, size_t a, size_t b)
{
    uint32_t x = find(c, a), y = find(c, b);
    c->parents[x > y ? x : y] = x < y ? x : y;
}

size_t clusters_first(const struct clusters *c, size_t document)
{
    while (c->parents[document] != document)
        document = c->parents[document];
    return document;
}
