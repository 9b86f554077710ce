#include "tfrecord/layouts/fit.h"

#include "tfrecord/layouts/packing.h"

void fit_clear(struct fit *f)
{
    f->count = 0;
    f->cut = f->filled = 0;
}

void fit_release(struct fit *f)
{
    free(f->items);
    free(f->order);
    free(f->labels);
    free(f->ends);
    *f = (struct fit){ 0 };
}

void fit_add(struct fit *f, size_t at, size_t n, uint32_t N)
{
    f->cut += n >= N;
    while (n) {
        const uint32_t tokens = n < N ? (uint32_t)n : N;
        mem_next(f->items, f->count, f->cap) = (struct fit_item){ at, tokens };
        f->filled += tokens + (tokens < N); /* an end-of-text after the item is a label, too */
        at += tokens;
        n -= tokens;
    }
}

size_t fit_pack(struct fit *f, uint32_t N)
{
    mem_grow(f->order, f->order_cap, f->count);
    mem_grow(f->labels, f->labels_cap, f->count);
    mem_grow(f->ends, f->ends_cap, f->count);
    for (size_t i = 0; i < f->count; i++)
        f->labels[i] = f->items[i].tokens + (f->items[i].tokens < N);
    return packing_fit(f->labels, f->count, N, f->order, f->ends);
}

void fit_row(const struct fit *f, size_t r, const uint32_t *ids, int64_t end_of_text, int64_t *out,
             uint32_t N)
{
    const int64_t *end = out + N + 1;
    int64_t between = end_of_text;
    for (size_t i = r ? f->ends[r - 1] : 0; i < f->ends[r]; i++) {
        const struct fit_item *item = &f->items[f->order[i]];
        *out++ = between;
        for (uint32_t k = 0; k < item->tokens; k++)
            *out++ = ids[item->at + k];
        between = ids[item->at + item->tokens]; /* not used if the item fills its row */
    }
    for (; out < end; between = end_of_text)
        *out++ = between;
}
