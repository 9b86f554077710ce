#include "train/store/transfer.h"

void transfer_open(struct transfer *g, struct store *s, struct comm *c)
{
    *g = (struct transfer){ .comm = c, .store = s };
    for (int kind = 0; kind < STORE_KINDS && c->size[COMM_PIPE] > 1; kind++)
        g->transfers[kind] = mem_zalloc((size_t)s->layout.count[kind] + 1,
                                        sizeof *g->transfers[kind]);
}

void transfer_close(struct transfer *g)
{
    transfer_await_all(g);
    for (int kind = 0; kind < STORE_KINDS; kind++)
        free(g->transfers[kind]);
    *g = (struct transfer){ 0 };
}

void transfer_begin(struct transfer *g, const struct phase *f, struct ops_array x, int64_t n)
{
    const struct use *u = &f->uses[0];
    struct transfer_work *t = &g->transfers[u->kind][u->number];
    char what[40];
    assert(f->count == 1);
    comm_end_of(g->comm, &t->work);
    snprintf(what, sizeof what, "%s, micro-batch %d", phase_name(f->kind), f->micro);
    t->sends = u->mode == MODE_READ;
    t->work = comm_transfer_begin(g->comm, COMM_PIPE, t->sends, f->peer, u->kind, g->store->ops, x,
                                  n, what);
}

void transfer_await(struct transfer *g, const struct use *u)
{
    struct transfer_work *t = g->transfers[u->kind];
    if (t && t[u->number].work && (!t[u->number].sends || u->mode != MODE_READ))
        comm_end_of(g->comm, &t[u->number].work);
}

void transfer_await_all(struct transfer *g)
{
    for (int kind = 0; kind < STORE_KINDS; kind++)
        for (int i = 0; g->transfers[kind] && i < g->store->layout.count[kind]; i++)
            comm_end_of(g->comm, &g->transfers[kind][i].work);
}
