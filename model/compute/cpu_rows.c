/*
 * cpu_rows.c - CPU back end: embedding, rotary positions, gather and scatter of rows.
 */
#include <math.h>

#include "model/compute/cpu.h"
#include "model/compute/stored.h"

enum {
    COLUMN_GRAIN = 64, /* minimum columns per thread in a sum over rows: whole cache lines */
    TABLES = 3,        /* of an embedding */
};

/* ---- embedding ---------------------------------------------------------------------------- */

struct embedding {
    const struct kernels *k;
    const struct ops_tokens *t;
    const struct ops_embedding *e; /* the tables (forward) or their gradients (backward) */
    struct ops_array x;            /* the output x (forward) or its gradient dx (backward) */
    float *room;                   /* forward: [threads, TABLES, C] */
};

static int64_t u32_at(struct ops_array a, int64_t i)
{
    return ((const uint32_t *)(void *)a.address)[i];
}

static int64_t place_of(const struct ops_tokens *t, int64_t n)
{
    return ops_is_none(t->places) ? t->first + n % t->T : u32_at(t->places, n);
}

static int64_t segment_of(const struct ops_tokens *t, int64_t n)
{
    return ops_is_none(t->segments) ? 0 : u32_at(t->segments, n);
}

/* Returns row i of a table in f32. room: memory for the converted row if the table has another
 * type. */
static struct ops_array row_of(struct ops_array table, int64_t i, int64_t C, float *room)
{
    if (ops_is_none(table) || table.type == OPS_F32 || table.type == OPS_BF16)
        return ops_part(table, i * C);
    stored_read(table.type, room, table.address + i * (int64_t)stored_bytes(table.type, C), C);
    return cpu_f32(room);
}

static void embed_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const struct embedding *s = ctx;
    const struct ops_tokens *t = s->t;
    const int64_t C = s->e->C;
    float *room = s->room + TABLES * C * thread;
    for (int64_t n = begin; n < end; n++) {
        struct ops_array x = ops_part(s->x, n * C);
        struct ops_array word = row_of(s->e->words, u32_at(t->ids, n), C, room);
        if (ops_is_none(s->e->positions))
            s->k->copy(x, word, C);
        else
            s->k->sum(x, word, row_of(s->e->positions, place_of(t, n), C, room + C), C);
        if (!ops_is_none(s->e->types))
            s->k->add(x, row_of(s->e->types, segment_of(t, n), C, room + 2 * C), C);
    }
}

void cpu_embedding_fwd(struct ops *o, struct ops_array x, const struct ops_tokens *t,
                       const struct ops_embedding *e)
{
    struct embedding s = { o->k, t, e, x, NULL };
    s.room = cpu_work(o, TABLES * e->C * o->threads);
    pool_for(o->pool, t->N, cpu_row_grain(e->C), embed_rows, &s);
}

/* Adds dx to the gradients of the tables in columns [begin, end). Threads divide the columns, not
 * the tokens: two threads never add to the same element, and the order of additions is fixed. */
static void embed_columns_bwd(void *ctx, int64_t begin, int64_t end, int)
{
    const struct embedding *s = ctx;
    const struct ops_array tables[TABLES] = { s->e->words, s->e->positions, s->e->types };
    const int64_t C = s->e->C;
    for (int64_t n = 0; n < s->t->N; n++) {
        const int64_t row[TABLES] = { u32_at(s->t->ids, n), place_of(s->t, n),
                                      segment_of(s->t, n) };
        for (int i = 0; i < TABLES; i++)
            if (!ops_is_none(tables[i]))
                s->k->add(ops_part(tables[i], row[i] * C + begin), ops_part(s->x, n * C + begin),
                          end - begin);
    }
}

void cpu_embedding_bwd(struct ops *o, const struct ops_embedding *d, struct ops_array dx,
                       const struct ops_tokens *t)
{
    struct embedding s = { o->k, t, d, dx, NULL };
    pool_for(o->pool, d->C, COLUMN_GRAIN, embed_columns_bwd, &s);
}

/* ---- rotary positions --------------------------------------------------------------------- */

/* Returns the table of cosines and sines, [places][HS/2 cosines, HS/2 sines], for at least `places`
 * positions. The context owns two tables, for two bases; one is rebuilt if it is too small or for
 * other settings. */
static const float *angles(struct ops *o, const struct ops_rotary *r, int64_t places)
{
    struct angles *a = &o->angles[o->angles[0].places && o->angles[0].base != r->base];
    const int64_t half = r->HS / 2;
    const struct ops_stretch *s = &r->stretch;
    if (a->places >= places && a->base == r->base && a->HS == r->HS &&
        !memcmp(&a->stretch, s, sizeof *s))
        return cpu_floats(a->table.at);
    int64_t room = 64; /* grows by doubling, to avoid a rebuild for each token */
    while (room < places)
        room *= 2;
    places = room;
    float *table = cpu_at_least(o, &a->table, places * r->HS);
    const double scale = s->scale ? s->scale : 1;
    for (int64_t i = 0; i < half; i++) {
        const double frequency = ops_rotary_frequency(r, i);
        for (int64_t p = 0; p < places; p++) {
            table[p * r->HS + i] = (float)(scale * cos((double)p * frequency));
            table[p * r->HS + half + i] = (float)(scale * sin((double)p * frequency));
        }
    }
    a->base = r->base;
    a->stretch = *s;
    a->HS = r->HS;
    a->places = places;
    return table;
}

struct rotation {
    const struct kernels *k;
    const struct ops_tokens *t;
    const struct ops_rotary *r;
    struct ops_array x;
    const float *table;
    float *room; /* [threads, HS/2] */
};

/* Rotates the heads of rows [begin, end), by the negative angles if r->back is set. */
static void rotate_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const struct rotation *s = ctx;
    const int64_t HS = s->r->HS, half = HS / 2;
    float *negative = s->room + half * thread;
    for (int64_t n = begin; n < end; n++) {
        const float *cosines = s->table + place_of(s->t, n) * HS, *sines = cosines + half;
        for (int64_t i = 0; i < half && s->r->back; i++)
            negative[i] = -sines[i];
        for (int64_t h = 0; h < s->r->heads; h++)
            s->k->rotate(ops_part(s->x, n * s->r->ld + h * HS), cosines,
                         s->r->back ? negative : sines, half);
    }
}

void cpu_rotate(struct ops *o, struct ops_array x, const struct ops_tokens *t,
                const struct ops_rotary *r)
{
    int64_t places = 0;
    for (int64_t n = 0; n < t->N; n++)
        places = place_of(t, n) >= places ? place_of(t, n) + 1 : places;
    assert(places <= t->first + t->T);
    struct rotation s = { o->k, t, r, x, angles(o, r, places), NULL };
    s.room = cpu_work(o, r->HS / 2 * o->threads);
    pool_for(o->pool, t->N, cpu_row_grain(r->heads * r->HS), rotate_rows, &s);
}

/* ---- gather and scatter ------------------------------------------------------------------- */

struct some {
    const struct kernels *k;
    struct ops_array y, x;
    const int64_t *rows;
    int64_t C;
};

static void gather_rows(void *ctx, int64_t begin, int64_t end, int)
{
    const struct some *s = ctx;
    for (int64_t i = begin; i < end; i++)
        s->k->copy(ops_part(s->y, i * s->C), ops_part(s->x, s->rows[i] * s->C), s->C);
}

static void scatter_rows(void *ctx, int64_t begin, int64_t end, int)
{
    const struct some *s = ctx;
    for (int64_t i = begin; i < end; i++)
        s->k->add(ops_part(s->y, s->rows[i] * s->C), ops_part(s->x, i * s->C), s->C);
}

static void for_rows(struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows,
                     int64_t n, int64_t C, void (*fn)(void *, int64_t, int64_t, int))
{
    struct some s = { o->k, y, x, (const int64_t *)(void *)rows.address, C };
    pool_for(o->pool, n, cpu_row_grain(C), fn, &s);
}

void cpu_gather_rows(struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows,
                     int64_t n, int64_t C)
{
    for_rows(o, y, x, rows, n, C, gather_rows);
}

void cpu_scatter_rows(struct ops *o, struct ops_array y, struct ops_array x, struct ops_array rows,
                      int64_t n, int64_t C)
{
    for_rows(o, y, x, rows, n, C, scatter_rows);
}
