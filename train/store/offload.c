#include "train/store/offload.h"

#include <time.h>

#include "common/base/log.h"
#include "model/compute/ops_exchange.h"
#include "train/store/layout.h"

/* A piece of the window. Arrays of its size use it in turn. */
struct slot {
    struct slot *next;
    struct ops_array memory; /* U8 */
    uint64_t bytes;
    int array;               /* the array in the slot; -1: none */
    uint64_t used;           /* time of the last use (offload.clock) */
    struct ops_mark arrived; /* end of the last copy into the slot */
    struct ops_mark done;    /* end of the last computation with the array */
    struct ops_mark left;    /* end of the last copy out of the slot */
};

struct array {
    struct ops_array host; /* U8; OPS_NONE: the array is in the file */
    int in_file;           /* 1: it is in the file, with the same number; 0: in the host's memory */
    uint64_t bytes;
    struct slot *slot;    /* NULL: not in the window */
    struct ops_mark left; /* end of its last copy out of the window */
    int users, expected, changed;
    int arriving; /* 1: computations have not waited for its copy in yet */
};

/* A piece of host memory through which arrays are copied between the file and the GPU, one at a
 * time. */
struct stage {
    struct ops_array memory; /* U8 */
    char *data;              /* its address */
    int array;               /* the array whose new contents it holds for the file; -1: none */
    struct ops_mark done;    /* the last copy to or from the window has ended */
};

enum { STAGES = LAYOUT_STAGES / 2 }; /* the window of the file takes the other half */

struct offload {
    struct home home;
    struct ops *ops;
    struct home *file; /* a mapped_home; NULL: no file */
    struct stage stages[STAGES];
    int next_stage;
    struct array *arrays;
    int count;
    struct slot *slots;
    uint64_t limit_bytes, taken_bytes, clock;
};

/* ---- slots ---------------------------------------------------------------------------------- */

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

static void free_slot(struct offload *m, struct slot *s)
{
    struct slot **at = &m->slots;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    ops_finish(m->ops);
    ops_mark_free(m->ops, &s->arrived);
    ops_mark_free(m->ops, &s->done);
    ops_mark_free(m->ops, &s->left);
    ops_buffer_free(m->ops, s->memory);
    m->taken_bytes -= s->bytes;
    free(s);
}

static void evict(struct offload *m, int array)
{
    m->arrays[array].slot->array = -1;
    m->arrays[array].slot = NULL;
}

/* Returns the slot to reuse for an array of `bytes` bytes: if possible one of that size, and among
 * those the one that was used longest ago. Returns NULL if all are in use. */
static struct slot *next_slot(const struct offload *m, uint64_t bytes)
{
    struct slot *found = NULL;
    for (struct slot *s = m->slots; s; s = s->next) {
        const struct array *a = s->array < 0 ? NULL : &m->arrays[s->array];
        if (a && (a->users || a->expected))
            continue;
        const int alike = s->bytes == bytes, before = found && found->bytes == bytes;
        if (!found || alike > before || (alike == before && s->used < found->used))
            found = s;
    }
    return found;
}

/* Returns an empty slot of `bytes` bytes, or NULL if the window is too full. If it must, frees
 * slots of other sizes, after waiting for all work of the GPU. If arrays of several sizes take
 * turns, that happens in every step. */
static struct slot *take_slot(struct offload *m, uint64_t bytes)
{
    struct slot *s = m->slots;
    while (s && (s->array >= 0 || s->bytes != bytes))
        s = s->next;
    while (!s && m->taken_bytes + bytes > m->limit_bytes) {
        s = next_slot(m, bytes);
        if (!s)
            return NULL;
        if (s->array >= 0)
            evict(m, s->array);
        if (s->bytes != bytes) {
            free_slot(m, s);
            s = NULL;
        }
    }
    return s ? s : new_slot(m, bytes);
}

/* ---- life cycle ----------------------------------------------------------------------------- */

static void make_stages(struct offload *m, uint64_t bytes)
{
    for (int i = 0; i < STAGES && bytes; i++) {
        struct stage *s = &m->stages[i];
        s->memory = ops_host_buffer(m->ops, (int64_t)bytes);
        s->data = ops_map(m->ops, s->memory, (int64_t)bytes);
        s->array = -1;
    }
}

void offload_free(struct offload *m)
{
    if (!m)
        return;
    ops_finish(m->ops);
    while (m->slots)
        free_slot(m, m->slots);
    for (int i = 0; i < m->count; i++) {
        ops_mark_free(m->ops, &m->arrays[i].left);
        ops_buffer_free(m->ops, m->arrays[i].host);
    }
    for (int i = 0; i < STAGES; i++) {
        ops_mark_free(m->ops, &m->stages[i].done);
        ops_buffer_free(m->ops, m->stages[i].memory);
    }
    free(m->arrays);
    free(m);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Waits for the last copy to or from a stage. If the stage holds new contents of an array of the
 * file, writes them there. */
static void settle(struct offload *m, struct stage *s)
{
    const struct timespec pause = { 0, 50000 };
    while (!ops_reached(m->ops, &s->done))
        nanosleep(&pause, NULL);
    if (s->array < 0)
        return;
    const struct array *a = &m->arrays[s->array];
    memcpy(mapped_fetch(m->file, s->array, MODE_MAKE), s->data, a->bytes);
    mapped_release(m->file, s->array, THEN_LEAVES);
    s->array = -1;
}

/* Returns the stage that holds new contents of array i, or NULL. */
static struct stage *stage_of(struct offload *m, int i)
{
    for (int k = 0; k < STAGES; k++)
        if (m->stages[k].data && m->stages[k].array == i)
            return &m->stages[k];
    return NULL;
}

/* Returns a free stage for array i: the one that was taken longest ago. No stage holds other
 * contents of the array afterwards. */
static struct stage *take_stage(struct offload *m, int i)
{
    struct stage *old = stage_of(m, i), *s = &m->stages[m->next_stage++ % STAGES];
    if (old)
        settle(m, old);
    settle(m, s);
    return s;
}

/* Copies array i of the file to its slot, through a stage. */
static void move_in(struct offload *m, int i)
{
    const struct array *a = &m->arrays[i];
    struct stage *s = take_stage(m, i);
    memcpy(s->data, mapped_fetch(m->file, i, MODE_READ), a->bytes);
    mapped_release(m->file, i, THEN_LEAVES);
    ops_move(m->ops, OPS_IN, a->slot->memory, s->memory, (int64_t)a->bytes);
    ops_mark(m->ops, OPS_IN, &s->done);
}

/* Begins to copy array i from its slot to a stage, for the file. */
static void move_out(struct offload *m, int i)
{
    const struct array *a = &m->arrays[i];
    struct stage *s = take_stage(m, i);
    ops_move(m->ops, OPS_OUT, s->memory, a->slot->memory, (int64_t)a->bytes);
    ops_mark(m->ops, OPS_OUT, &s->done);
    s->array = i;
}

/* Writes the arrays that were copied out to stages to the file, so that the disk works while the
 * GPU computes. */
static void write_arrived(struct offload *m)
{
    for (int k = 0; k < STAGES; k++)
        if (m->stages[k].data && m->stages[k].array >= 0 && ops_reached(m->ops, &m->stages[k].done))
            settle(m, &m->stages[k]);
}

/* ---- the window ----------------------------------------------------------------------------- */

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
    if (!a->in_file)
        ops_move(m->ops, OPS_IN, s->memory, a->host, (int64_t)a->bytes);
    else
        move_in(m, i);
    ops_mark(m->ops, OPS_IN, &s->arrived);
    return 1;
}

/* ---- use ------------------------------------------------------------------------------------ */

static struct ops_array fetch(struct home *h, int i, enum use_mode use)
{
    struct offload *m = (struct offload *)h;
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

static void expect(struct home *h, int i, enum use_mode use)
{
    struct offload *m = (struct offload *)h;
    struct array *a = &m->arrays[i];
    if (a->slot || (use != MODE_MAKE && !a->in_file))
        a->expected = a->slot || bring(m, i, use);
    else if (use != MODE_MAKE && !stage_of(m, i))
        mapped_expect(m->file, i, MODE_READ);
}

static void release(struct home *h, int i, enum use_then then)
{
    struct offload *m = (struct offload *)h;
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
        if (!a->in_file)
            ops_move(m->ops, OPS_OUT, a->host, a->slot->memory, (int64_t)a->bytes);
        else
            move_out(m, i);
        ops_mark(m->ops, OPS_OUT, &a->left);
        ops_mark(m->ops, OPS_OUT, &a->slot->left);
    }
    a->changed = 0;
    if (dead)
        evict(m, i);
    write_arrived(m);
}

struct offload *offload_new(struct ops *o, const uint64_t *bytes, const uint64_t *in_file,
                            int count, struct mapped *file, uint64_t window_bytes)
{
    struct offload *m = mem_zalloc(1, sizeof *m);
    uint64_t largest = 0; /* of the file's arrays */
    m->home = (struct home){ fetch, release, expect };
    m->ops = o;
    m->count = count;
    m->file = mapped_home(file);
    m->limit_bytes = window_bytes;
    m->arrays = mem_zalloc((size_t)count + 1, sizeof *m->arrays);
    for (int i = 0; i < count; i++) {
        struct array *a = &m->arrays[i];
        a->bytes = bytes[i];
        a->in_file = in_file[i] > 0;
        if (!a->in_file && bytes[i])
            a->host = ops_host_buffer(o, (int64_t)bytes[i]);
        largest = in_file[i] > largest ? in_file[i] : largest;
    }
    make_stages(m, largest);
    return m;
}

struct home *offload_home(struct offload *m)
{
    return &m->home;
}
