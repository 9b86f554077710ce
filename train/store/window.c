#include "train/store/window.h"

struct slot *window_new_slot(struct window *w, uint64_t bytes)
{
    struct slot *s = mem_zalloc(1, sizeof *s);
    s->memory = ops_buffer(w->ops, OPS_U8, (int64_t)bytes);
    s->bytes = bytes;
    s->array = -1;
    s->next = w->slots;
    w->taken_bytes += bytes;
    return w->slots = s;
}

static void free_slot(struct window *w, struct slot *s)
{
    struct slot **at = &w->slots;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    ops_finish(w->ops);
    ops_mark_free(w->ops, &s->arrived);
    ops_mark_free(w->ops, &s->done);
    ops_mark_free(w->ops, &s->left);
    ops_buffer_free(w->ops, s->memory, (int64_t)s->bytes);
    w->taken_bytes -= s->bytes;
    free(s);
}

void window_release(struct window *w)
{
    while (w->slots)
        free_slot(w, w->slots);
}

static struct slot *empty_slot(const struct window *w, uint64_t bytes)
{
    struct slot *s = w->slots;
    while (s && (s->array >= 0 || s->bytes != bytes))
        s = s->next;
    return s;
}

/* Returns the slot whose array is taken out next, or NULL. */
static struct slot *cheapest(const struct window *w, uint64_t bytes, int most)
{
    struct slot *found = NULL;
    int least = most + 1;
    for (struct slot *s = w->slots; s; s = s->next) {
        const int cost = w->cost(w->owner, s, bytes);
        if (!cost || cost > least || (cost == least && (!found || s->used >= found->used)))
            continue;
        found = s;
        least = cost;
    }
    return found;
}

struct slot *window_take(struct window *w, uint64_t bytes, int most)
{
    for (;;) {
        struct slot *s = empty_slot(w, bytes);
        if (s)
            return s;
        if (w->taken_bytes + bytes <= w->limit_bytes)
            return window_new_slot(w, bytes);
        s = cheapest(w, bytes, most);
        if (!s)
            return NULL;
        if (s->array >= 0)
            w->evict(w->owner, s->array);
        if (s->bytes != bytes)
            free_slot(w, s);
    }
}
