/*
 * ops_loss.c - the loss of a decoder, for a chunk of rows at a time: the logits of all rows would
 * need more memory than the model.
 */

#include "common/program/trace.h"
#include "model/compute/cpu.h"

struct loss {
    struct ops *o;
    struct ops_scores out;
    const struct ops_labels *l;
    struct ops_decoder d;
    struct ops_array x, dx; /* all rows; dx may be OPS_NONE */
    struct ops_gradient dtable, dbias;
    double scale;
    /* Scratch for a chunk: logits, their gradients in the same memory, and the rows with a label;
     * x_rows and dx_rows are OPS_NONE if the rows of x and dx serve as they are. */
    struct ops_matrix logits, dlogits;
    struct ops_array x_rows, dx_rows;
    struct ops_columns columns; /* if ranks share the columns */
    /* Of the teacher, if there is one: the rows with a label, logits, and their scores. */
    struct ops_array taught_x, taught;
    struct ops_scores taught_out;
};

static int wants_gradients(const struct loss *s)
{
    return !ops_is_none(s->dx);
}

static int is_shared(const struct ops_decoder *d)
{
    return d->shares.exchange != NULL;
}

static void exchange(const struct loss *s, enum ops_share_kind kind, struct ops_array x, int64_t n)
{
    s->d.shares.exchange(s->d.shares.ctx, kind, s->o, x, n);
}

/* Returns the rows of x[N,C] to which the labels first to first + n - 1 belong: copies in `room`,
 * or, if that is OPS_NONE, a part of x itself. */
static struct ops_array rows_of(const struct loss *s, struct ops_array x, struct ops_array room,
                                int64_t C, int64_t first, int64_t n)
{
    if (ops_is_none(room))
        return ops_part(x, first * C);
    if (ops_is_none(s->l->rows))
        ops_copy(s->o, room, ops_part(x, first * C), n * C);
    else
        ops_gather_rows(s->o, room, x, ops_part(s->l->rows, first), n, C);
    return room;
}

/* Computes the scores from logits whose columns are divided among ranks, and their gradients. */
static void score_columns(struct loss *s, struct ops_scores out, struct ops_array labels, int64_t n)
{
    struct ops_columns *c = &s->columns;
    c->n = n;
    c->labels = labels;
    exchange(s, OPS_SHARE_LOGITS, c->logits, n * c->V);
    ops_columns_most(s->o, c);
    exchange(s, OPS_SHARE_MOST, c->most, n);
    ops_columns_sums(s->o, c);
    exchange(s, OPS_SHARE_SUM, c->sums, n);
    exchange(s, OPS_SHARE_SUM, c->wanted, n);
    ops_columns_loss(s->o, out, c, wants_gradients(s), s->scale);
}

/* Computes the gradients of x's rows, the table and the bias from those of the logits. */
static void chunk_bwd(struct loss *s, struct ops_array x, int64_t first, int64_t n)
{
    const int64_t V = s->d.V, C = s->d.C;
    const struct ops_matrix d = s->dlogits, turned = { d.x, d.ld, 1 };
    struct ops_array own = ops_part(s->dx, first * C);
    struct ops_array dx = ops_is_none(s->dx_rows) ? own : s->dx_rows;
    ops_matmul(s->o, &(struct ops_matmul){
                         .C = { dx, C }, .A = d, .B = { s->d.table, C }, .M = n, .N = C, .K = V });
    ops_matmul(s->o, &(struct ops_matmul){ .C = { s->dtable.to, C },
                                           .A = turned,
                                           .B = { x, C },
                                           .M = V,
                                           .N = C,
                                           .K = n,
                                           .base = s->dtable.add ? s->dtable.to : OPS_NONE });
    if (!ops_is_none(s->dbias.to))
        s->o->b->column_sums(s->o, s->dbias, d.x, d.ld, n, V);
    s->dtable.add = s->dbias.add = 1;
    if (is_shared(&s->d))
        exchange(s, OPS_SHARE_SUM, dx, n * C);
    if (!ops_is_none(s->l->rows))
        ops_scatter_rows(s->o, s->dx, dx, ops_part(s->l->rows, first), n, C);
    else if (!ops_is_none(s->dx_rows))
        ops_copy(s->o, own, dx, n * C);
}

/* Adds the teacher's part to the gradients of the model's logits:
 * scale * share * (onehot(label) - softmax(teacher's logits)). These are the gradients of
 * -scale * share * (the teacher's loss for the labels) with respect to the teacher's logits. */
static void learn_from_teacher(struct loss *s, const struct ops_teacher *t, struct ops_array labels,
                               int64_t first, int64_t n)
{
    struct ops_array x = rows_of(s, t->x, s->taught_x, t->d.C, first, n), d = s->taught;
    s->o->b->logits(s->o, s->taught, s->logits.ld, x, n, &t->d, 1);
    d.type = s->dlogits.x.type;
    s->o->b->cross_entropy(s->o, s->taught_out, s->taught, s->logits.ld, s->d.V, labels, n, d,
                           -s->scale * t->share);
    ops_add(s->o, s->dlogits.x, d, n * s->dlogits.ld);
}

static void run_chunk(struct loss *s, int64_t first, int64_t n)
{
    struct ops_array x = rows_of(s, s->x, s->x_rows, s->d.C, first, n);
    struct ops_array labels = ops_part(s->l->labels, first);
    const struct ops_scores out = { ops_part(s->out.losses, first),
                                    ops_part(s->out.correct, first) };
    const struct ops_matrix m = s->logits;
    const int gradient = wants_gradients(s), shared = is_shared(&s->d);
    s->o->b->logits(s->o, m.x, m.ld, x, n, &s->d, gradient && !shared);
    if (shared)
        score_columns(s, out, labels, n);
    else
        s->o->b->cross_entropy(s->o, out, m.x, m.ld, s->d.V, labels, n,
                               gradient ? s->dlogits.x : OPS_NONE, s->scale);
    if (gradient && s->l->teacher)
        learn_from_teacher(s, s->l->teacher, labels, first, n);
    if (gradient)
        chunk_bwd(s, x, first, n);
}

/* Returns the number of rows in each chunk but the last. */
static int64_t chunk_of(const struct ops_backend *b, int64_t n, const struct ops_decoder *d)
{
    const int64_t most = is_shared(d) ? (int64_t)OPS_SHARED_ROWS * d->shares.ranks : b->loss_rows;
    const int64_t chunks = (n + most - 1) / most;
    return chunks ? (n + chunks - 1) / chunks : 0;
}

/* Sets the scratch arrays for chunks of `rows` rows. */
static void take_scratch(struct loss *s, int64_t rows)
{
    struct ops *o = s->o;
    const int64_t V = s->d.V, C = s->d.C;
    const int shared = is_shared(&s->d), some = !ops_is_none(s->l->rows);
    const struct ops_teacher *t = wants_gradients(s) ? s->l->teacher : NULL;
    const enum ops_type type = shared ? OPS_F32 : o->precision;
    s->logits = (struct ops_matrix){
        .ld = shared ? V : (V + OPS_LOGITS_ALIGN - 1) / OPS_LOGITS_ALIGN * OPS_LOGITS_ALIGN
    };
    s->logits.x = ops_scratch(o, o->b->rounds_logits ? type : OPS_F32, rows * s->logits.ld);
    s->dlogits = s->logits;
    s->dlogits.x.type = type;
    s->dlogits.ld *= (int64_t)(ops_type_bytes(s->logits.x.type) / ops_type_bytes(type));
    if (some || (!shared && s->x.type != type))
        s->x_rows = ops_scratch(o, shared ? s->x.type : type, rows * C);
    if (wants_gradients(s) && (some || s->dx.type != OPS_F32))
        s->dx_rows = ops_scratch(o, OPS_F32, rows * C);
    assert(!t || !shared);
    if (t) {
        s->taught = ops_scratch(o, s->logits.x.type, rows * s->logits.ld);
        s->taught_out.losses = ops_scratch(o, OPS_F32, rows);
        if (some || t->x.type != type)
            s->taught_x = ops_scratch(o, type, rows * t->d.C);
    }
    if (shared)
        s->columns = (struct ops_columns){ .logits = s->logits.x,
                                           .V = V,
                                           .first = s->d.shares.first,
                                           .most = ops_scratch(o, OPS_F32, rows),
                                           .sums = ops_scratch(o, OPS_F32, rows),
                                           .wanted = ops_scratch(o, OPS_F32, rows) };
    else if (o->b->decoder_table && !t) /* the teacher's product would convert its own B */
        s->d.table = o->b->decoder_table(o, rows, &s->d);
}

/* Computes the loss chunk by chunk. At the end gives the scratch memory back, if it directly
 * follows the caller's. */
static void run_chunks(struct loss *s)
{
    const int64_t n = s->l->n, rows = chunk_of(s->o->b, n, &s->d), used = s->o->scratch.used;
    const int count = s->o->scratch.count;
    take_scratch(s, rows);
    for (int64_t first = 0; first < n; first += rows)
        run_chunk(s, first, n - first < rows ? n - first : rows);
    s->o->scratch.used = s->o->scratch.count == count ? used : 0;
}

void ops_loss(struct ops *o, struct ops_scores out, struct ops_array dx, struct ops_gradient dtable,
              struct ops_gradient dbias, struct ops_array x, int64_t N, double scale,
              const struct ops_labels *l, const struct ops_decoder *d)
{
    struct loss s = { .o = o,
                      .out = out,
                      .l = l,
                      .d = *d,
                      .x = x,
                      .dx = dx,
                      .dtable = dtable,
                      .dbias = dbias,
                      .scale = scale };
    TRACE_OPERATION(0, 0);
    assert(!wants_gradients(&s) || l->n == N || !ops_is_none(l->rows) || !l->n);
    if (wants_gradients(&s) && (!ops_is_none(l->rows) || !l->n))
        ops_zero(o, dx, N * d->C);
    if (l->n) {
        run_chunks(&s);
        return;
    }
    if (!ops_is_none(dtable.to) && !dtable.add)
        ops_zero(o, dtable.to, d->V * d->C);
    if (!ops_is_none(dbias.to) && !dbias.add)
        ops_zero(o, dbias.to, d->V);
}
