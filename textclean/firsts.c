#include "textclean/firsts.h"

#include "common/base/log.h"

struct key_slot {
    struct key key;
    uint64_t next; /* number + 1; 0: the slot is empty */
};

enum { FIRST_SLOTS = 1 << 12, READ_KEYS = 1 << 15 };

void firsts_init(struct firsts *f, uint64_t memory, int twice)
{
    *f = (struct firsts){ .memory = memory, .slot_count = FIRST_SLOTS };
    f->slots = mem_zalloc(f->slot_count, sizeof *f->slots);
    if (!twice)
        return;
    f->parts = mem_zalloc(FIRSTS_PARTS, sizeof *f->parts);
    for (int i = 0; i < FIRSTS_PARTS; i++) /* half the memory is for the table */
        spill_init(&f->parts[i], memory / 2 / FIRSTS_PARTS);
}

void firsts_release(struct firsts *f)
{
    for (int i = 0; i < FIRSTS_PARTS && f->parts; i++)
        spill_release(&f->parts[i]);
    free(f->parts);
    free(f->slots);
}

/* ---- the table ------------------------------------------------------------------------------- */

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
    /* the old table and one of twice its size */
    if (3 * count * sizeof *f->slots > (f->parts ? f->memory / 2 : f->memory))
        return err_set(f->parts
                           ? "%zu keys, a part of all, do not fit half of --memory %s; give more"
                           : "%zu keys of a stream do not fit --memory %s; give more, or files, "
                             "which are read twice",
                       f->used, log_bytes(text, f->memory));
    SCOPED_MEM struct key_slot *old = f->slots;
    f->slot_count *= 2;
    f->slots = mem_zalloc(f->slot_count, sizeof *f->slots);
    for (size_t i = 0; i < count; i++)
        if (old[i].next)
            *slot_of(f, &old[i].key) = old[i];
    return 0;
}

static int put(struct firsts *f, const struct key *key, uint64_t number, uint64_t *first)
{
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

int firsts_add(struct firsts *f, const struct key *key, uint64_t number, uint64_t *first)
{
    const struct key_slot entry = { *key, number };
    return f->parts ? spill_add(&f->parts[key->high >> 56], &entry, sizeof entry)
                    : put(f, key, number, first);
}

int firsts_find(const struct firsts *f, const struct key *key, uint64_t *first)
{
    const struct key_slot *slot = slot_of(f, key);
    *first = slot->next - 1;
    return slot->next > 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Adds a part's keys to the empty table; calls `same` for those that are in it. A key's first
 * number comes first, since numbers rise in a part. Empties the table again. */
static int finish_part(struct firsts *f, struct spill *part,
                       void (*same)(void *ctx, uint64_t number, uint64_t first), void *ctx)
{
    struct key_slot entry;
    uint64_t first;
    if (spill_finish(part) < 0)
        return -1;
    for (uint64_t at = 0, n = 0; at < part->bytes; at += sizeof entry) {
        memcpy(&entry, part->data + at, sizeof entry);
        if (put(f, &entry.key, entry.next, &first) < 0)
            return -1;
        if (first != entry.next)
            same(ctx, entry.next, first);
        if (++n % READ_KEYS == 0)
            spill_forget(part, at);
    }
    spill_clear(part);
    memset(f->slots, 0, f->slot_count * sizeof *f->slots);
    f->used = 0;
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

void clusters_add(struct ids *parents, size_t count)
{
    while (parents->count < count)
        ids_add(parents, (uint32_t)parents->count);
}

/* As clusters_first, but also shortens the path for the next search. */
static uint32_t find(struct ids *parents, size_t document)
{
    uint32_t *p = parents->data;
    while (p[document] != document) {
        p[document] = p[p[document]];
        document = p[document];
    }
    return (uint32_t)document;
}

void clusters_join(struct ids *parents, size_t a, size_t b)
{
    uint32_t x = find(parents, a), y = find(parents, b);
    parents->data[x > y ? x : y] = x < y ? x : y;
}

size_t clusters_first(const struct ids *parents, size_t document)
{
    while (parents->data[document] != document)
        document = parents->data[document];
    return document;
}
