/*
 * ids.h - growable lists of 32-bit numbers: token ids, or positions in a text.
 */
#pragma once

#include "common/base/le.h"
#include "common/base/mem.h"

/* Bit of an id, if labels are marked: the token is no label, so it has no loss. */
#define IDS_UNCOUNTED (UINT32_C(1) << 31)

struct ids {
    uint32_t *data;
    size_t count, cap;
};

static inline void ids_add(struct ids *ids, uint32_t id)
{
    mem_next(ids->data, ids->count, ids->cap) = id;
}

static inline void ids_append(struct ids *ids, const uint32_t *from, size_t n)
{
    if (!n)
        return;
    mem_grow(ids->data, ids->cap, ids->count + n);
    memcpy(ids->data + ids->count, from, n * sizeof *from);
    ids->count += n;
}

/* Appends the numbers from `first` up to `end`, which is left out. */
static inline void ids_add_range(struct ids *ids, size_t first, size_t end)
{
    for (; first < end; first++)
        ids_add(ids, (uint32_t)first);
}

/* ids_put writes ids[n] to `out` with `width` bytes each, 2 or 4; ids_get reads them. The compiler
 * can vectorise these loops. */
static inline void ids_put(char *out, int width, const uint32_t *ids, size_t n)
{
    if (width == 2)
        for (size_t i = 0; i < n; i++)
            le_put_u16(out + 2 * i, (uint16_t)ids[i]);
    else
        for (size_t i = 0; i < n; i++)
            le_put_u32(out + 4 * i, ids[i]);
}

static inline void ids_get(uint32_t *ids, int width, const unsigned char *p, size_t n)
{
    if (width == 2)
        for (size_t i = 0; i < n; i++)
            ids[i] = le_u16(p + 2 * i);
    else
        for (size_t i = 0; i < n; i++)
            ids[i] = le_u32(p + 4 * i);
}

static inline void ids_release(struct ids *ids)
{
    free(ids->data);
    *ids = (struct ids){ 0 };
}

/* Tokens and their places in a text: token i covers the code points [begins[i], ends[i]). */
struct placed {
    struct ids ids, begins, ends;
};

static inline void placed_release(struct placed *p)
{
    ids_release(&p->ids);
    ids_release(&p->begins);
    ids_release(&p->ends);
}
