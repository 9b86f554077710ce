#include "train/program/timeline.h"

/* A transfer in progress. Its number counts the messages of the same kind from the same sender to
 * the same receiver. */
struct message {
    int64_t number; /* from 1; 0: none */
    int peer, sends;
};

/* The times at which a stage began to send, or to receive, its messages of one kind. All of these
 * go to, or come from, the same other stage. */
struct times {
    double *at;
    size_t count, cap;
};

struct stage {
    const struct program *program;
    int64_t n; /* the next phase */
    double now;
    struct message *pending[STORE_KINDS]; /* [arrays]: the transfer of each array */
    struct times sent[STORE_KINDS], received[STORE_KINDS];
};

/* Moves the stage's time on until the array of use u can be used, and returns 1. Returns 0 if the
 * other stage has not begun its part of the transfer. */
static int await(struct stage *all, struct stage *s, const struct use *u)
{
    struct message *m = &s->pending[u->kind][u->number];
    if (!m->number || (m->sends && u->mode == MODE_READ))
        return 1;
    const struct stage *peer = &all[m->peer];
    const struct times *other = m->sends ? &peer->received[u->kind] : &peer->sent[u->kind];
    if ((int64_t)other->count < m->number)
        return 0;
    const double began = other->at[m->number - 1];
    s->now = began > s->now ? began : s->now;
    m->number = 0;
    return 1;
}

static void begin_transfer(struct stage *s, const struct phase *f)
{
    const struct use *u = &f->uses[0];
    const int sends = u->mode == MODE_READ;
    struct times *own = sends ? &s->sent[u->kind] : &s->received[u->kind];
    mem_next(own->at, own->count, own->cap) = s->now;
    s->pending[u->kind][u->number] = (struct message){ (int64_t)own->count, f->peer, sends };
}

/* Executes the phases of stage s until one has to wait. Adds their durations to *busy. Returns how
 * many it has executed. */
static int64_t advance(struct stage *all, struct stage *s, const struct timeline_costs *costs,
                       double *busy)
{
    const struct program *p = s->program;
    const int64_t before = s->n;
    for (; s->n < p->parts[p->update].first; s->n++) {
        const struct phase *f = &p->phases[s->n];
        for (int i = 0; i < f->count; i++)
            if (!await(all, s, &f->uses[i]))
                return s->n - before;
        if (phase_is_transfer(f->kind))
            begin_transfer(s, f);
        s->now += costs->of[f->kind];
        *busy += costs->of[f->kind];
    }
    return s->n - before;
}

static void release(struct stage *all, int stages)
{
    for (struct stage *s = all; s < all + stages; s++)
        for (int kind = 0; kind < STORE_KINDS; kind++) {
            free(s->pending[kind]);
            free(s->sent[kind].at);
            free(s->received[kind].at);
        }
    free(all);
}

int timeline_run(struct timeline *out, const struct program *programs, int stages,
                 const struct timeline_costs *costs)
{
    struct stage *all = mem_zalloc((size_t)stages, sizeof *all);
    int64_t moved = 1;
    int ended = 0;
    *out = (struct timeline){ 0 };
    for (int s = 0; s < stages; s++) {
        all[s].program = &programs[s];
        for (int kind = 0; kind < STORE_KINDS; kind++)
            all[s].pending[kind] = mem_zalloc((size_t)programs[s].arrays[kind] + 1,
                                              sizeof *all[s].pending[kind]);
    }
    while (moved) {
        moved = 0;
        for (int s = 0; s < stages; s++)
            moved += advance(all, &all[s], costs, &out->busy);
    }
    for (int s = 0; s < stages; s++) {
        out->length = all[s].now > out->length ? all[s].now : out->length;
        ended += all[s].n == programs[s].parts[programs[s].update].first;
    }
    release(all, stages);
    return ended == stages ? 0 : -1;
}
