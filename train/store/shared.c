#include "train/store/shared.h"

#include "train/store/window.h"

enum place { OUT, COMING, IN, SUMMED };

struct array {
    const struct spot *own; /* this rank's share */
    const int64_t *bounds;
    const char *name;
    int block;
    struct slot *slot;
    enum place place;
    int users, made;
    struct comm_work *work; /* the operation, if COMING or SUMMED */
    int to, stride, merges; /* for SUMMED: see shared_sum */
};

struct shared {
    struct home home;
    struct ops *ops;
    struct comm *comm;
    struct array *arrays;
    size_t count, cap;
    struct window window;
};

/* ---- life cycle ----------------------------------------------------------------------------- */

int shared_add(struct shared *m, const struct spot *own, const int64_t *bounds, const char *name,
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

void shared_free(struct shared *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->count; i++)
        comm_end(m->comm, m->arrays[i].work);
    window_release(&m->window);
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
    x.type = a->own->array.type;
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
    return n ? (uint64_t)n * ops_type_bytes(a->own->array.type) : 1;
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
    comm_end_of(m->comm, &a->work);
    struct ops_array sum = spot_fetch(m->arrays[to].own, MODE_MAKE);
    ops_copy(m->ops, sum, own_part(m, a), n);
    for (int k = 0; k < a->merges; k++, to -= a->stride) {
        struct ops_array below = spot_fetch(m->arrays[to - a->stride].own, MODE_WRITE);
        ops_add(m->ops, below, sum, n);
        spot_release(m->arrays[to].own, THEN_DROPPED);
        sum = below;
    }
    spot_release(m->arrays[to].own, THEN_LEAVES);
    drop(a);
}

static void forget(struct shared *m, struct array *a)
{
    if (a->place == SUMMED) {
        finish_sum(m, a);
    } else if (a->place != OUT) {
        comm_end_of(m->comm, &a->work);
        drop(a);
    }
}

/* ---- the window ----------------------------------------------------------------------------- */

/* What it costs to remove an array. EASY: no waiting. */
enum { NEXT_SUM = 1, READ_ALIKE, EMPTY, READ, EASY = READ, SUM_ALIKE, SUM, GATHER, ANY = GATHER };

static int count_sums(const struct shared *m, uint64_t bytes)
{
    int count = 0;
    for (const struct slot *s = m->window.slots; s; s = s->next)
        count += s->array >= 0 && m->arrays[s->array].place == SUMMED && s->bytes == bytes;
    return count;
}

/* A sum costs least if another one of the same size follows it. */
static int cost(void *owner, const struct slot *s, uint64_t bytes)
{
    const struct shared *m = owner;
    const int alike = s->bytes == bytes;
    if (s->array < 0)
        return EMPTY;
    const struct array *a = &m->arrays[s->array];
    if (a->users || (a->place == IN && a->made))
        return 0;
    switch (a->place) {
    case SUMMED: return !alike ? SUM : count_sums(m, bytes) > 1 ? NEXT_SUM : SUM_ALIKE;
    case IN: return alike ? READ_ALIKE : READ;
    case COMING: return GATHER;
    default: return 0;
    }
}

static void evict(void *owner, int array)
{
    struct shared *m = owner;
    forget(m, &m->arrays[array]);
}

static int enter(struct shared *m, int i, int most)
{
    struct array *a = &m->arrays[i];
    const uint64_t bytes = bytes_of(m, a);
    a->slot = window_take(&m->window, bytes, most);
    if (!a->slot && most == ANY)
        a->slot = window_new_slot(&m->window, bytes);
    if (a->slot)
        a->slot->array = i;
    return a->slot != NULL;
}

static void begin_gather(struct shared *m, struct array *a)
{
    char what[64];
    snprintf(what, sizeof what, "%s of block %d", a->name, a->block);
    ops_copy(m->ops, own_part(m, a), spot_fetch(a->own, MODE_READ), own_elements(m, a));
    spot_release(a->own, THEN_LEAVES);
    a->work = comm_gather_begin(m->comm, m->ops, whole(a), a->bounds, what);
    a->place = COMING;
}

/* ---- use ------------------------------------------------------------------------------------ */

static struct ops_array fetch(struct home *h, int i, enum use_mode use)
{
    struct shared *m = (struct shared *)h;
    struct array *a = &m->arrays[i];
    if (a->place == SUMMED)
        finish_sum(m, a);
    assert(use != MODE_WRITE || a->made);
    if (a->place == OUT) {
        enter(m, i, ANY);
        if (use == MODE_READ)
            begin_gather(m, a);
    }
    comm_end_of(m->comm, &a->work);
    a->place = IN;
    a->made |= use != MODE_READ;
    a->users++;
    a->slot->used = ++m->window.clock;
    return whole(a);
}

static void release(struct home *h, int i, enum use_then)
{
    struct shared *m = (struct shared *)h;
    assert(m->arrays[i].users > 0);
    m->arrays[i].users--;
}

static void expect(struct home *h, int i, enum use_mode use)
{
    struct shared *m = (struct shared *)h;
    struct array *a = &m->arrays[i];
    if (use == MODE_READ && a->place == OUT && enter(m, i, EASY)) {
        begin_gather(m, a);
        a->slot->used = ++m->window.clock;
    }
}

void shared_forget(struct shared *m, int i)
{
    assert(!m->arrays[i].users && !m->arrays[i].made);
    forget(m, &m->arrays[i]);
}

void shared_sum(struct shared *m, int i, int to, int stride, int merges)
{
    struct array *a = &m->arrays[i];
    char what[64];
    assert(a->place == IN && a->made);
    snprintf(what, sizeof what, "%s of block %d", a->name, a->block);
    a->work = comm_scatter_begin(m->comm, m->ops, whole(a), a->bounds, what);
    a->place = SUMMED;
    a->to = to;
    a->stride = stride;
    a->merges = merges;
}

void shared_end_sums(struct shared *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->arrays[i].place == SUMMED)
            finish_sum(m, &m->arrays[i]);
}

struct shared *shared_new(struct ops *o, uint64_t window_bytes)
{
    struct shared *m = mem_zalloc(1, sizeof *m);
    m->home = (struct home){ fetch, release, expect };
    m->ops = o;
    m->window = (struct window){
        .ops = o, .limit_bytes = window_bytes, .owner = m, .cost = cost, .evict = evict
    };
    return m;
}

struct home *shared_home(struct shared *m)
{
    return &m->home;
}
