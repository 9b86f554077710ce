#include "train/store/shared.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/mem.h"

/* A piece of the window, with the size of the arrays that it is for. */
struct slot {
    struct slot *next;
    struct ops_array memory; /* U8 */
    uint64_t bytes;
    int array; /* the array in the slot; -1: none */
};

enum place { OUT, ENTERED, COMING, IN, SUMMED };

struct array {
    struct ops_array own;
    const int64_t *bounds;
    const char *name;
    int block;
    struct slot *slot;
    enum place place;
    int users, made;
    struct comm_work *work; /* the operation, if COMING or SUMMED */
    int to, stride, merges; /* for SUMMED: see shared_sum */
    struct shared_end end;  /* the same; end.end NULL: `work` is the sum */
    uint64_t used;          /* time of the last use: the array used longest ago leaves first */
};

struct shared {
    struct ops *ops;
    struct comm *comm;
    struct array *arrays;
    size_t count, cap;
    struct slot *slots;
    uint64_t window_bytes, taken_bytes, clock;
};

/* ---- life cycle ----------------------------------------------------------------------------- */

struct shared *shared_new(struct ops *o, uint64_t window_bytes)
{
    struct shared *m = mem_zalloc(1, sizeof *m);
    m->ops = o;
    m->window_bytes = window_bytes;
    return m;
}

int shared_add(struct shared *m, struct ops_array own, const int64_t *bounds, const char *name,
               int block)
{
    mem_grow(m->arrays, m->cap, m->count + 1);
    m->arrays[m->count] = (struct array){
        .own = own, .bounds = bounds, .name = name, .block = block
    };
    return (int)m->count++;
}

void shared_join(struct shared *m, struct comm *c)
{
    m->comm = c;
}

static void free_slot(struct shared *m, struct slot *s)
{
    struct slot **at = &m->slots;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    m->taken_bytes -= s->bytes;
    ops_buffer_free(m->ops, s->memory, (int64_t)s->bytes);
    free(s);
}

void shared_free(struct shared *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->count; i++)
        comm_end(m->comm, m->arrays[i].work);
    while (m->slots)
        free_slot(m, m->slots);
    free(m->arrays);
    free(m);
}

/* ---- arrays --------------------------------------------------------------------------------- */

static int64_t own_elements(const struct shared *m, const struct array *a)
{
    const int rank = m->comm->rank[COMM_DATA];
    return a->bounds[rank + 1] - a->bounds[rank];
}

static struct ops_array whole(const struct array *a)
{
    struct ops_array x = a->slot->memory;
    x.type = a->own.type;
    return x;
}

static struct ops_array own_part(const struct shared *m, const struct array *a)
{
    return ops_part(whole(a), a->bounds[m->comm->rank[COMM_DATA]]);
}

/* Returns the bytes of the whole array, at least 1, so that there is a buffer. */
static uint64_t bytes_of(const struct shared *m, const struct array *a)
{
    const int64_t n = a->bounds[m->comm->size[COMM_DATA]];
    return n ? (uint64_t)n * ops_type_bytes(a->own.type) : 1;
}

static void end_work(struct shared *m, struct array *a)
{
    comm_end(m->comm, a->work);
    a->work = NULL;
}

/* Removes the array from its slot. */
static void drop(struct array *a)
{
    a->slot->array = -1;
    a->slot = NULL;
    a->place = OUT;
    a->made = 0;
}

static void finish_sum(struct shared *m, struct array *a)
{
    const int64_t n = own_elements(m, a);
    int to = a->to;
    assert(!a->users);
    end_work(m, a);
    if (a->end.end)
        a->end.end(a->end.ctx, whole(a));
    ops_copy(m->ops, m->arrays[to].own, own_part(m, a), n);
    for (int k = 0; k < a->merges; k++, to -= a->stride)
        ops_add(m->ops, m->arrays[to - a->stride].own, m->arrays[to].own, n);
    drop(a);
}

static void forget(struct shared *m, struct array *a)
{
    if (a->place == SUMMED) {
        finish_sum(m, a);
    } else if (a->place != OUT) {
        end_work(m, a);
        drop(a);
    }
}

/* ---- the window ----------------------------------------------------------------------------- */

static struct slot *new_slot(struct shared *m, uint64_t bytes)
{
    struct slot *s = mem_zalloc(1, sizeof *s);
    s->memory = ops_buffer(m->ops, OPS_U8, (int64_t)bytes);
    s->bytes = bytes;
    s->array = -1;
    s->next = m->slots;
    m->taken_bytes += bytes;
    return m->slots = s;
}

/* Returns a slot of `bytes` bytes (0: of any size) without an array, or NULL. */
static struct slot *empty_slot(const struct shared *m, uint64_t bytes)
{
    struct slot *s = m->slots;
    while (s && (s->array >= 0 || (bytes && s->bytes != bytes)))
        s = s->next;
    return s;
}

/* Returns, of the arrays in state `place` that are not in use, the one that was used longest ago,
 * or NULL. Only arrays in slots of `bytes` bytes count (0: of any size). */
static struct array *oldest(const struct shared *m, enum place place, uint64_t bytes)
{
    struct array *found = NULL;
    for (struct slot *s = m->slots; s; s = s->next) {
        struct array *a = s->array >= 0 ? &m->arrays[s->array] : NULL;
        if (a && a->place == place && !a->users && (place != IN || !a->made) &&
            (!bytes || s->bytes == bytes) && (!found || a->used < found->used))
            found = a;
    }
    return found;
}

static int count_sums(const struct shared *m, uint64_t bytes)
{
    int count = 0;
    for (struct slot *s = m->slots; s; s = s->next)
        count += s->array >= 0 && m->arrays[s->array].place == SUMMED && s->bytes == bytes;
    return count;
}

/* Makes room in the window by removing one array or empty slot. Tries first what costs least: a sum
 * that another one of the same size follows; a gathered array of `bytes` bytes; an empty slot; any
 * gathered array. With `all` 1 then also a sum for which it must wait, and an array that is being
 * gathered. Returns 1, or 0 if nothing can be removed. */
static int make_room(struct shared *m, uint64_t bytes, int all)
{
    struct array *a = count_sums(m, bytes) > 1 ? oldest(m, SUMMED, bytes) : NULL;
    if (!a)
        a = oldest(m, IN, bytes);
    if (!a && empty_slot(m, 0)) {
        free_slot(m, empty_slot(m, 0));
        return 1;
    }
    if (!a)
        a = oldest(m, IN, 0);
    if (!a && all)
        a = oldest(m, SUMMED, bytes);
    if (!a && all)
        a = oldest(m, SUMMED, 0);
    if (!a && all)
        a = oldest(m, COMING, 0);
    if (a)
        forget(m, a);
    return !!a;
}

/* Returns a slot of `bytes` bytes for an array. With `all` 0, returns NULL if that takes waiting
 * (make_room); with 1, always returns a slot. */
static struct slot *take_slot(struct shared *m, uint64_t bytes, int all)
{
    for (;;) {
        struct slot *s = empty_slot(m, bytes);
        if (s)
            return s;
        if (m->taken_bytes + bytes <= m->window_bytes)
            return new_slot(m, bytes);
        if (!make_room(m, bytes, all))
            return all ? new_slot(m, bytes) : NULL;
    }
}

static int enter(struct shared *m, int i, int all)
{
    struct array *a = &m->arrays[i];
    a->slot = take_slot(m, bytes_of(m, a), all);
    if (a->slot)
        a->slot->array = i;
    return a->slot != NULL;
}

static void take_own(struct shared *m, struct array *a)
{
    ops_copy(m->ops, own_part(m, a), a->own, own_elements(m, a));
}

static void begin_gather(struct shared *m, struct array *a)
{
    char what[64];
    snprintf(what, sizeof what, "%s of block %d", a->name, a->block);
    take_own(m, a);
    a->work = comm_gather_begin(m->comm, m->ops, whole(a), a->bounds, what);
    a->place = COMING;
}

/* ---- use ------------------------------------------------------------------------------------ */

struct ops_array shared_fetch(struct shared *m, int i, enum use_mode use)
{
    struct array *a = &m->arrays[i];
    if (a->place == SUMMED)
        finish_sum(m, a);
    assert(use != MODE_WRITE || a->made);
    if (a->place == OUT) {
        enter(m, i, 1);
        if (use == MODE_READ)
            begin_gather(m, a);
    }
    end_work(m, a);
    a->place = a->place == ENTERED ? ENTERED : IN;
    a->made |= use != MODE_READ;
    a->users++;
    a->used = ++m->clock;
    return whole(a);
}

struct ops_array shared_enter(struct shared *m, int i)
{
    struct array *a = &m->arrays[i];
    assert(a->place == OUT);
    enter(m, i, 1);
    take_own(m, a);
    a->place = ENTERED;
    a->used = ++m->clock;
    return whole(a);
}

void shared_complete(struct shared *m, int i)
{
    assert(m->arrays[i].place == ENTERED);
    m->arrays[i].place = IN;
}

void shared_release(struct shared *m, int i)
{
    assert(m->arrays[i].users > 0);
    m->arrays[i].users--;
}

void shared_expect(struct shared *m, int i, enum use_mode use)
{
    struct array *a = &m->arrays[i];
    if (use == MODE_READ && a->place == OUT && enter(m, i, 0)) {
        begin_gather(m, a);
        a->used = ++m->clock;
    }
}

void shared_forget(struct shared *m, int i)
{
    assert(!m->arrays[i].users && !m->arrays[i].made);
    forget(m, &m->arrays[i]);
}

void shared_sum(struct shared *m, int i, int to, int stride, int merges,
                const struct shared_end *end)
{
    struct array *a = &m->arrays[i];
    char what[64];
    assert(a->place == IN && a->made);
    snprintf(what, sizeof what, "%s of block %d", a->name, a->block);
    a->end = end ? *end : (struct shared_end){ 0 };
    if (!end)
        a->work = comm_scatter_begin(m->comm, m->ops, whole(a), a->bounds, what);
    a->place = SUMMED;
    a->to = to;
    a->stride = stride;
    a->merges = merges;
}

void shared_end_sums(struct shared *m)
{
    struct array *a;
    while ((a = oldest(m, SUMMED, 0)))
        finish_sum(m, a);
}
