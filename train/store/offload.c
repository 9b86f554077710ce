#include "train/store/offload.h"

#include <assert.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"

/* A piece of the window, with the size of the arrays that it is for. */
struct slot {
    struct slot *next;
    struct ops_array memory; /* U8 */
    uint64_t bytes;
    int array;               /* the array in the slot; -1: none */
    uint64_t used;           /* time of the last use: the slot used longest ago is reused first */
    struct ops_mark arrived; /* its copy in has ended */
    struct ops_mark done;    /* the arithmetic with it has ended */
    struct ops_mark left;    /* its copy out has ended */
};

struct array {
    struct ops_array host; /* U8 */
    uint64_t bytes;
    struct slot *slot;    /* NULL: not in the window */
    struct ops_mark left; /* its last copy out has ended */
    int users, expected, changed;
    int arriving; /* 1: the arithmetic has not waited for its copy in yet */
};

struct offload {
    struct ops *ops;
    struct array *arrays;
    int count;
    struct slot *slots;
    uint64_t window_bytes, taken_bytes, clock;
    struct mapped_traffic traffic;
};

/* ---- life cycle ----------------------------------------------------------------------------- */

struct offload *offload_new(struct ops *o, const uint64_t *bytes, int count, uint64_t window_bytes)
{
    struct offload *m = mem_zalloc(1, sizeof *m);
    m->ops = o;
    m->count = count;
    m->window_bytes = window_bytes;
    m->arrays = mem_zalloc((size_t)count + 1, sizeof *m->arrays);
    for (int i = 0; i < count; i++) {
        m->arrays[i].bytes = bytes[i];
        m->arrays[i].host = ops_host_buffer(o, (int64_t)bytes[i]);
    }
    return m;
}

static void free_slot(struct offload *m, struct slot *s)
{
    if (s->array >= 0)
        m->arrays[s->array].slot = NULL;
    ops_mark_free(m->ops, &s->arrived);
    ops_mark_free(m->ops, &s->done);
    ops_mark_free(m->ops, &s->left);
    ops_buffer_free(m->ops, s->memory, (int64_t)s->bytes);
    m->taken_bytes -= s->bytes;
    free(s);
}

void offload_free(struct offload *m)
{
    if (!m)
        return;
    ops_finish(m->ops);
    while (m->slots) {
        struct slot *next = m->slots->next;
        free_slot(m, m->slots);
        m->slots = next;
    }
    for (int i = 0; i < m->count; i++) {
        ops_mark_free(m->ops, &m->arrays[i].left);
        ops_host_buffer_free(m->ops, m->arrays[i].host, (int64_t)m->arrays[i].bytes);
    }
    free(m->arrays);
    free(m);
}

/* ---- the window ----------------------------------------------------------------------------- */

static int is_idle(const struct offload *m, const struct slot *s)
{
    return s->array < 0 || (!m->arrays[s->array].users && !m->arrays[s->array].expected);
}

/* Returns the slot of `bytes` bytes (0: of any size) that is not in use and was used longest ago,
 * or NULL. */
static struct slot *oldest(const struct offload *m, uint64_t bytes)
{
    struct slot *found = NULL;
    for (struct slot *s = m->slots; s; s = s->next)
        if ((!bytes || s->bytes == bytes) && is_idle(m, s) && (!found || s->used < found->used))
            found = s;
    return found;
}

static void unlink_slot(struct offload *m, struct slot *s)
{
    struct slot **at = &m->slots;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
}

static struct slot *new_slot(struct offload *m, uint64_t bytes)
{
    struct slot *s = mem_zalloc(1, sizeof *s);
    s->memory = ops_buffer(m->ops, OPS_U8, (int64_t)bytes);
    s->bytes = bytes;
    s->array = -1;
    s->next = m->slots;
    m->taken_bytes += bytes;
    return m->slots = s;
}

/* Returns a slot of `bytes` bytes for another array, or NULL if all memory is in slots that are in
 * use. To free GPU memory, it waits for all work; there are few sizes of slots, so this happens
 * only in the first step. */
static struct slot *take_slot(struct offload *m, uint64_t bytes)
{
    struct slot *s = oldest(m, bytes), *other;
    if (!s && m->taken_bytes + bytes <= m->window_bytes)
        return new_slot(m, bytes);
    while (!s && m->taken_bytes + bytes > m->window_bytes && (other = oldest(m, 0))) {
        ops_finish(m->ops);
        unlink_slot(m, other);
        free_slot(m, other);
    }
    if (!s)
        return m->taken_bytes + bytes <= m->window_bytes ? new_slot(m, bytes) : NULL;
    if (s->array >= 0)
        m->arrays[s->array].slot = NULL;
    return s;
}

/* Takes a slot for array i and begins to fill it, as soon as computations with the slot's old
 * contents and copies out of it are done. Returns 1, or 0 if there is no slot. */
static int bring(struct offload *m, int i, enum use_mode use)
{
    struct array *a = &m->arrays[i];
    struct slot *s = take_slot(m, a->bytes);
    if (!s)
        return 0;
    const enum ops_queue writer = use == MODE_MAKE ? OPS_COMPUTE : OPS_IN;
    ops_after(m->ops, writer, &s->done);
    ops_after(m->ops, writer, &s->left);
    ops_after(m->ops, writer, &a->left);
    s->array = i;
    a->slot = s;
    a->arriving = use != MODE_MAKE;
    if (!a->arriving) {
        ops_zero(m->ops, s->memory, (int64_t)a->bytes);
        return 1;
    }
    ops_move(m->ops, OPS_IN, s->memory, a->host, (int64_t)a->bytes);
    ops_mark(m->ops, OPS_IN, &s->arrived);
    m->traffic.read_bytes += a->bytes;
    return 1;
}

/* ---- use ------------------------------------------------------------------------------------ */

struct ops_array offload_fetch(struct offload *m, int i, enum use_mode use)
{
    struct array *a = &m->arrays[i];
    assert(i >= 0 && i < m->count);
    if (!a->slot && !bring(m, i, use))
        log_fatal("the window of --device-memory is too small for what a phase uses");
    if (a->arriving)
        ops_after(m->ops, OPS_COMPUTE, &a->slot->arrived);
    if (use != MODE_READ) {
        ops_after(m->ops, OPS_COMPUTE, &a->left); /* the copy out still reads the array */
        a->changed = 1;
    }
    a->arriving = a->expected = 0;
    a->users++;
    a->slot->used = ++m->clock;
    return a->slot->memory;
}

void offload_expect(struct offload *m, int i, enum use_mode use)
{
    struct array *a = &m->arrays[i];
    if (a->slot || use != MODE_MAKE)
        a->expected = a->slot || bring(m, i, use);
}

void offload_release(struct offload *m, int i, enum use_then then)
{
    struct array *a = &m->arrays[i];
    const int dead = then == THEN_DROPPED;
    assert(a->users > 0);
    if (--a->users)
        return;
    if (then == THEN_STAYS) {
        a->expected = 1;
        return;
    }
    ops_mark(m->ops, OPS_COMPUTE, &a->slot->done);
    if (a->changed && !dead) {
        ops_after(m->ops, OPS_OUT, &a->slot->done);
        ops_move(m->ops, OPS_OUT, a->host, a->slot->memory, (int64_t)a->bytes);
        ops_mark(m->ops, OPS_OUT, &a->left);
        ops_mark(m->ops, OPS_OUT, &a->slot->left);
        m->traffic.written_bytes += a->bytes;
    }
    a->changed = 0;
    if (dead) {
        a->slot->array = -1;
        a->slot = NULL;
    }
}

struct ops_array offload_data(const struct offload *m, int i)
{
    return m->arrays[i].host;
}

struct mapped_traffic offload_traffic(const struct offload *m)
{
    return m->traffic;
}
