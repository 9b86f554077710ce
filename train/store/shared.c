#include "train/store/shared.h"

#include "train/store/layout.h"

enum state { OUT, COMING, IN, SUMMED };

struct array {
    const struct spot *own; /* this rank's share */
    const int64_t *bounds;
    char what[64]; /* its name in messages */
    enum state state;
    uint64_t first, bytes;     /* its place in the window, unless it is OUT */
    struct ops_array own_room; /* memory outside the window, if that had no space; else OPS_NONE */
    uint64_t used;             /* time of the last use (shared.clock) */
    int from_end;              /* 1: it is placed from the window's end */
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
    struct ops_array window; /* U8 */
    uint64_t bytes, clock;
};

/* ---- life cycle ----------------------------------------------------------------------------- */

int shared_add(struct shared *m, const struct spot *own, const int64_t *bounds, const char *name,
               int block, int from_end)
{
    mem_grow(m->arrays, m->cap, m->count + 1);
    struct array *a = &m->arrays[m->count];
    *a = (struct array){ .own = own, .bounds = bounds, .from_end = from_end };
    snprintf(a->what, sizeof a->what, "%s of block %d", name, block);
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
    ops_buffer_free(m->ops, m->window);
    free(m->arrays);
    free(m);
}

/* ---- arrays --------------------------------------------------------------------------------- */

static int64_t own_elements(const struct shared *m, const struct array *a)
{
    const int rank = m->comm->rank[COMM_DATA];
    return a->bounds[rank + 1] - a->bounds[rank];
}

static struct ops_array whole(const struct shared *m, const struct array *a)
{
    struct ops_array x = ops_is_none(a->own_room) ? ops_part(m->window, (int64_t)a->first)
                                                  : a->own_room;
    x.type = a->own->array.type;
    return x;
}

static struct ops_array own_part(const struct shared *m, const struct array *a)
{
    return ops_part(whole(m, a), a->bounds[m->comm->rank[COMM_DATA]]);
}

/* Removes the array from the window. */
static void drop(struct shared *m, struct array *a)
{
    ops_buffer_free(m->ops, a->own_room);
    a->own_room = OPS_NONE;
    a->state = OUT;
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
    drop(m, a);
}

static void forget(struct shared *m, struct array *a)
{
    if (a->state == SUMMED) {
        finish_sum(m, a);
    } else if (a->state != OUT) {
        comm_end_of(m->comm, &a->work);
        drop(m, a);
    }
}

/* ---- the window ----------------------------------------------------------------------------- */

/* The cost of removing an array from the window, in ascending order. Up to EASY, there is no
 * waiting. */
enum { NEXT_SUM = 1, READ, EASY = READ, SUM, GATHER, ANY = GATHER, NEVER };

/* Returns 1 if a sum of an array that was used later is in progress, else 0. */
static int is_followed(const struct shared *m, const struct array *a)
{
    size_t i = 0;
    while (i < m->count && (m->arrays[i].state != SUMMED || m->arrays[i].used <= a->used))
        i++;
    return i < m->count;
}

static uint64_t cost(const struct shared *m, const struct array *a)
{
    if (a->users || (a->state == IN && a->made))
        return NEVER;
    switch (a->state) {
    case SUMMED: return is_followed(m, a) ? NEXT_SUM : SUM;
    case IN: return READ;
    default: return GATHER;
    }
}

/* A possible place for an array in the window. */
struct room {
    uint64_t first;
    uint64_t cost; /* the highest cost of removing an array that is there; 0: the place is empty */
    uint64_t used; /* the time of the last use of any of these arrays */
    uint64_t far;  /* distance from the end of the window at which arrays of this kind are placed */
};

static int is_better(const struct room *r, const struct room *than)
{
    if (r->cost != than->cost)
        return r->cost < than->cost;
    return r->used != than->used ? r->used < than->used : r->far < than->far;
}

static int is_in(const struct array *a)
{
    return a->state != OUT && ops_is_none(a->own_room);
}

static int overlaps(const struct array *a, uint64_t first, uint64_t bytes)
{
    return is_in(a) && a->first < first + bytes && first < a->first + a->bytes;
}

/* Replaces *best by the place for `a` at `first` if that is better. */
static void weigh(const struct shared *m, const struct array *a, struct room *best, uint64_t first)
{
    struct room r = { .first = first, .far = a->from_end ? m->bytes - first : first };
    if (first > m->bytes || m->bytes - first < a->bytes)
        return;
    for (size_t i = 0; i < m->count; i++) {
        const struct array *b = &m->arrays[i];
        if (!overlaps(b, first, a->bytes))
            continue;
        r.cost = cost(m, b) > r.cost ? cost(m, b) : r.cost;
        r.used = b->used > r.used ? b->used : r.used;
    }
    if (is_better(&r, best))
        *best = r;
}

/* Returns the best place for an array. Arrays are placed without gaps: parameters from the
 * beginning of the window, and gradients, some of which stay longer, from its end. So the free
 * space is in one piece. */
static struct room find_room(const struct shared *m, const struct array *a)
{
    struct room best = { .cost = NEVER };
    weigh(m, a, &best, a->from_end ? m->bytes - a->bytes : 0);
    for (size_t i = 0; i < m->count; i++) {
        const struct array *b = &m->arrays[i];
        if (is_in(b))
            weigh(m, a, &best, a->from_end ? b->first - a->bytes : b->first + b->bytes);
    }
    return best;
}

/* Finds a place for array a, and removes the arrays that lie there. Returns 1, or 0 if their
 * removal costs more than `most`. */
static int enter(struct shared *m, struct array *a, uint64_t most)
{
    a->bytes = layout_whole_bytes(a->bounds[m->comm->size[COMM_DATA]], a->own->array.type);
    const struct room r = find_room(m, a);
    if (r.cost > most && most < ANY)
        return 0;
    if (r.cost == NEVER)
        a->own_room = ops_buffer(m->ops, OPS_U8, (int64_t)a->bytes);
    for (size_t i = 0; i < m->count && r.cost < NEVER; i++)
        if (overlaps(&m->arrays[i], r.first, a->bytes))
            forget(m, &m->arrays[i]);
    a->first = r.first;
    return 1;
}

static void begin_gather(struct shared *m, struct array *a)
{
    ops_copy(m->ops, own_part(m, a), spot_fetch(a->own, MODE_READ), own_elements(m, a));
    spot_release(a->own, THEN_LEAVES);
    a->work = comm_gather_begin(m->comm, m->ops, whole(m, a), a->bounds, a->what);
    a->state = COMING;
}

/* ---- use ------------------------------------------------------------------------------------ */

static struct ops_array fetch(struct home *h, int i, enum use_mode use)
{
    struct shared *m = (struct shared *)h;
    struct array *a = &m->arrays[i];
    if (a->state == SUMMED)
        finish_sum(m, a);
    assert(use != MODE_WRITE || a->made);
    if (a->state == OUT) {
        enter(m, a, ANY);
        if (use == MODE_READ)
            begin_gather(m, a);
    }
    comm_end_of(m->comm, &a->work);
    a->state = IN;
    a->made |= use != MODE_READ;
    a->users++;
    a->used = ++m->clock;
    return whole(m, a);
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
    if (use == MODE_READ && a->state == OUT && enter(m, a, EASY)) {
        begin_gather(m, a);
        a->used = ++m->clock;
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
    assert(a->state == IN && a->made);
    a->work = comm_scatter_begin(m->comm, m->ops, whole(m, a), a->bounds, a->what);
    a->state = SUMMED;
    a->to = to;
    a->stride = stride;
    a->merges = merges;
}

void shared_end_sums(struct shared *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->arrays[i].state == SUMMED)
            finish_sum(m, &m->arrays[i]);
}

struct shared *shared_new(struct ops *o, uint64_t window_bytes)
{
    struct shared *m = mem_zalloc(1, sizeof *m);
    m->home = (struct home){ fetch, release, expect };
    m->ops = o;
    m->window = ops_buffer(o, OPS_U8, (int64_t)window_bytes);
    m->bytes = window_bytes;
    return m;
}

struct home *shared_home(struct shared *m)
{
    return &m->home;
}
