/*
 * ids.h - a growable list of 32-bit numbers: token ids, or positions in a text.
 */
#pragma once

#include "common/base/mem.h"

/* Bit of an id in a list whose tokens are labels: this token is none, so it has no loss. */
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

static inline void ids_release(struct ids *ids)
{
    free(ids->data);
    *ids = (struct ids){ 0 };
}
