#include "train/program/program.h"

#include "common/base/least.h"
#include "train/ranks/reduce.h"

/* ---- the arrays that phases use -------------------------------------------------------------- */

/* The ZeRO stages from which on a phase uses only this rank's share of arrays: of those that it
 * updates, and of the weights. */
enum { OWN_UPDATE = 1, OWN_WEIGHTS = 3 };
/* clang-format off */
#define READ(role)      { USE_##role, MODE_READ, 0 }
#define CHANGE(role)    { USE_##role, MODE_WRITE, 0 }
#define MAKE(role)      { USE_##role, MODE_MAKE, 0 }
#define OWN(role)       { USE_##role, MODE_WRITE, OWN_UPDATE }
#define READ_KEPT(role) { USE_##role, MODE_READ, OWN_WEIGHTS }
#define MAKE_KEPT(role) { USE_##role, MODE_MAKE, OWN_WEIGHTS }
/* clang-format on */

/* The name of each kind of phase, and the arrays that it uses. A phase that sets gradients instead
 * of adding to them uses them with MODE_MAKE (sets_gradients). */
static const struct {
    const char *name;
    struct {
        unsigned char role, mode;
        unsigned char own; /* only the rank's share, from this ZeRO stage on; 0: always all */
    } uses[PHASE_USES + 1];
    /* 1: it does little work itself, before or after the main phases of a micro-batch: the arrays
     * of the phase after it are read ahead, as well */
    unsigned char between;
} rows[PHASE_KINDS] = {
    [PHASE_INPUTS] = { "inputs", .between = 1 },
    [PHASE_EMBEDDING_FORWARD] = { "embedding forward", { READ(W), MAKE(Y) } },
    [PHASE_LAYER_FORWARD] = { "layer forward",
                              { READ(W), READ(X), MAKE(Y), MAKE(ATTENTION), MAKE(REST),
                                MAKE(SUMS) } },
    [PHASE_HEAD] = { "head",
                     { READ(W), READ(TIED), CHANGE(DTIED), CHANGE(DW), READ(X), MAKE(DX) } },
    [PHASE_ATTENTION_AGAIN] = { "attention again",
                                { READ(W), READ(X), MAKE(ATTENTION), CHANGE(SUMS) },
                                .between = 1 },
    [PHASE_LAYER_AGAIN] = { "layer again",
                            { READ(W), READ(X), MAKE(Y), MAKE(ATTENTION), MAKE(REST), MAKE(SUMS) },
                            .between = 1 },
    [PHASE_LAYER_BACKWARD] = { "layer backward",
                               { READ(W), CHANGE(DW), READ(X), CHANGE(DX), CHANGE(ATTENTION),
                                 CHANGE(REST), CHANGE(SUMS) } },
    [PHASE_EMBEDDING_BACKWARD] = { "embedding backward", { READ(W), CHANGE(DW), CHANGE(DX) } },
    [PHASE_MERGE] = { "merge of gradients", { CHANGE(DW), READ(MERGED) }, .between = 1 },
    [PHASE_SUM_TABLE] = { "sum of the table", { CHANGE(DTIED) }, .between = 1 },
    [PHASE_SUM] = { "sum of gradients", { CHANGE(DW), OWN(SUM) }, .between = 1 },
    [PHASE_UPDATE] = { "update", { OWN(W), OWN(M), OWN(V), OWN(DW) } },
    [PHASE_GATHER] = { "gather of parameters", { CHANGE(W) }, .between = 1 },
    [PHASE_GATHER_TABLE] = { "gather of the table", .between = 1 },
    [PHASE_SEND_X] = { "send x", { READ(Y) } },
    [PHASE_RECEIVE_X] = { "receive x", { MAKE(Y) } },
    [PHASE_SEND_DX] = { "send dx", { READ(DX) } },
    [PHASE_RECEIVE_DX] = { "receive dx", { MAKE(DX) } },
    [PHASE_SEND_TIED] = { "send tied gradients", { READ(DTIED) } },
    [PHASE_RECEIVE_TIED] = { "receive tied gradients", { MAKE(DW) } },
    [PHASE_SEND_TABLE] = { "send table", { READ_KEPT(W) } },
    [PHASE_RECEIVE_TABLE] = { "receive table", { MAKE_KEPT(TIED) } },
    [PHASE_LAYER_EVALUATION] = { "layer evaluation", { READ(W), READ(X), MAKE(Y) } },
    [PHASE_HEAD_EVALUATION] = { "head evaluation", { READ(W), READ(TIED), READ(X) } },
};

const char *phase_name(enum phase_kind kind)
{
    return rows[kind].name;
}

int phase_is_transfer(enum phase_kind kind)
{
    return kind >= PHASE_SEND_X && kind <= PHASE_RECEIVE_TABLE;
}

static const unsigned char kind_of[USE_ROLES] = {
    [USE_W] = STORE_PARAMETERS,
    [USE_TIED] = STORE_PARAMETERS,
    [USE_DW] = STORE_GRADIENTS,
    [USE_DTIED] = STORE_GRADIENTS,
    [USE_MERGED] = STORE_GRADIENTS,
    [USE_SUM] = STORE_GRADIENTS,
    [USE_M] = STORE_MOMENT1,
    [USE_V] = STORE_MOMENT2,
    [USE_X] = STORE_X,
    [USE_Y] = STORE_X,
    [USE_DX] = STORE_DX,
    [USE_ATTENTION] = STORE_CACHE + CACHE_ATTENTION,
    [USE_REST] = STORE_CACHE + CACHE_REST,
    [USE_SUMS] = STORE_CACHE + CACHE_SUMS,
};

/* A piece of a stage: blocks below+1 to above. */
struct piece {
    int below, above;
    int64_t rows;  /* rows of x per micro-batch: one per layer and one more, or two that are used
                    * alternately */
    int64_t slots; /* micro-batches whose x and caches are kept at a time */
    int64_t x, caches; /* numbers of the piece's first array of x and of its first cache */
};

struct compiler {
    struct program *program;
    struct step_config config;
    size_t room;           /* capacity of program->phases */
    int stages, leaves;    /* at least 1 */
    struct piece *pieces;  /* of this stage, [count_of_pieces] */
    int count_of_pieces;   /* at least 1 */
    struct piece *piece;   /* the piece of the phases that are added */
    int64_t micros;        /* micro-batches whose inputs are kept at a time */
    int64_t dx, turn, dxs; /* micro-batch i of the run has dx number dx + (turn + i) modulo dxs */
    int64_t micro;         /* number of the run's first micro-batch; all take slots in turn */
    int64_t count;         /* number of micro-batches in the run */
    int first, last;       /* first: the run has the leaf's first micro-batch; last: its last */
    int slot;              /* slot of the stack of gradients */
    int merges;            /* sums to add after the leaf (reduce_merges) */
    int final;             /* 1: it is the last leaf of the step */
    int run;
};

/* is_first_stage and is_last_stage return 1 for the stages that have the embedding and the head.
 * is_begin and is_end return 1 for the pieces that have them. */
static int is_first_stage(const struct compiler *c)
{
    return !c->config.stage;
}

static int is_last_stage(const struct compiler *c)
{
    return c->config.stage == c->stages - 1;
}

static int is_begin(const struct compiler *c)
{
    return is_first_stage(c) && c->piece == c->pieces;
}

static int is_end(const struct compiler *c)
{
    return is_last_stage(c) && c->piece == c->pieces + c->count_of_pieces - 1;
}

/* Returns 1 if the part of the cache with the role `role` is kept for each layer and micro-batch
 * until its backward pass; 0 if it is recomputed and so has only one row. `again` is what is
 * recomputed. */
static int is_kept(enum recompute again, enum use_role role)
{
    return again == RECOMPUTE_NONE || (again == RECOMPUTE_ATTENTION && role != USE_ATTENTION);
}

/* Returns the number, within its kind, of the array that has this role in the phase of micro-batch
 * i of the run. Layer l is block l+1 (tensor.h). */
static int64_t number_of(const struct compiler *c, const struct phase *f, enum use_role role,
                         int64_t i)
{
    const int64_t blocks = c->config.layers + 2, top = c->slot * blocks;
    const int64_t slot = c->config.zero < 2 ? top : 0; /* only shares are in the stack */
    const struct piece *p = c->piece;
    const int64_t row = (c->micro + i) % p->slots, layer = f->layer - p->below;
    const int64_t x = f->block - p->below; /* number of the row that the block makes */
    switch (role) {
    case USE_SUM: return top + f->block;
    case USE_TIED: return 0;
    case USE_DTIED: return c->stages > 1 ? 0 : slot;
    case USE_DW: return slot + f->block;
    case USE_MERGED: return slot + blocks + f->block;
    case USE_X: return p->x + (x - 1) % p->rows * p->slots + row;
    case USE_Y: return p->x + x % p->rows * p->slots + row;
    case USE_DX: return c->dx + (c->turn + i) % c->dxs;
    case USE_ATTENTION:
    case USE_REST:
    case USE_SUMS:
        return is_kept(c->config.recompute, role) ? p->caches + layer * p->slots + row : 0;
    default: return f->block;
    }
}

static int has_role(const struct step_config *c, enum phase_kind kind, enum use_role role)
{
    if (kind == PHASE_EMBEDDING_BACKWARD && role == USE_W)
        return c->embedding_again;
    return role == USE_TIED || role == USE_DTIED ? c->tied
           : role == USE_M                       ? c->moments > 0
           : role == USE_V                       ? c->moments > 1
           : role == USE_SUM                     ? c->zero > 1
                                                 : 1;
}

/* Returns 1 if the phase sets the gradients of this role instead of adding to them, else 0. The
 * embedding's backward pass adds to the gradients of a tied table, because the head has set them
 * before. */
static int sets_gradients(const struct compiler *c, const struct phase *f, enum use_role role)
{
    return kind_of[role] == STORE_GRADIENTS && !f->add &&
           !(f->kind == PHASE_EMBEDDING_BACKWARD && c->config.tied);
}

/* Returns the stage that a phase sends to or receives from. After the last stage, x goes on to the
 * next piece in the first stage. */
static int peer_of(const struct compiler *c, enum phase_kind kind)
{
    switch (kind) {
    case PHASE_SEND_X:
    case PHASE_RECEIVE_DX: return (c->config.stage + 1) % c->stages;
    case PHASE_RECEIVE_X:
    case PHASE_SEND_DX: return (c->config.stage + c->stages - 1) % c->stages;
    case PHASE_RECEIVE_TIED:
    case PHASE_SEND_TABLE: return c->stages - 1;
    default: return 0;
    }
}

/* Adds a phase of micro-batch i of the run; -1: of none. */
static void add_phase(struct compiler *c, enum phase_kind kind, int block, int64_t i)
{
    struct program *p = c->program;
    struct phase *f = &mem_next(p->phases, p->count, c->room);
    *f = (struct phase){ .kind = kind,
                         .block = block,
                         .layer = block > 0 && block <= c->config.layers ? block - 1 : -1,
                         .micro = i < 0 ? -1 : (int)((c->micro + i) % c->micros),
                         .peer = peer_of(c, kind),
                         .add = !c->first || i != 0,
                         .run = c->run,
                         .turns = 1 };
    for (int k = 0; rows[kind].uses[k].role; k++) {
        enum use_role role = rows[kind].uses[k].role;
        if (has_role(&c->config, kind, role))
            f->uses[f->count++] = (struct use){
                .role = (unsigned char)role,
                .kind = kind_of[role],
                .mode = sets_gradients(c, f, role) ? MODE_MAKE : rows[kind].uses[k].mode,
                .own = rows[kind].uses[k].own && c->config.zero >= rows[kind].uses[k].own,
                .number = (int)number_of(c, f, role, i)
            };
    }
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Adds the phases that follow when the gradients of a block are complete in a leaf. First, each of
 * c->merges phases adds the two topmost sums of the stack. Then, if it is due, one phase sums over
 * the ranks. */
static void end_leaf(struct compiler *c, int block)
{
    const int slot = c->slot, shared = c->config.zero > 1;
    for (int i = 0; i < c->merges && !shared; i++) {
        c->slot--;
        add_phase(c, PHASE_MERGE, block, -1);
    }
    if (c->final || shared)
        add_phase(c, PHASE_SUM, block, -1);
    if (shared)
        c->program->phases[c->program->count - 1].merges = c->merges;
    c->slot = slot;
}

/* Adds a phase for each micro-batch of the run, with the phase `before` in front of each. `before`
 * equal to `kind` means none. */
static void add_run(struct compiler *c, enum phase_kind before, enum phase_kind kind, int block)
{
    const int backward = kind == PHASE_HEAD || kind == PHASE_LAYER_BACKWARD ||
                         kind == PHASE_EMBEDDING_BACKWARD; /* computes gradients of parameters */
    for (int64_t i = 0; i < c->count; i++) {
        if (before != kind)
            add_phase(c, before, block, i);
        add_phase(c, kind, block, i);
    }
    if (c->last && backward)
        end_leaf(c, block);
    c->run++;
}

static void add_forward(struct compiler *c, enum phase_kind kind)
{
    for (int b = c->piece->below + 1; b <= c->piece->above; b++)
        add_run(c, kind, kind, b);
}

static void add_backward(struct compiler *c)
{
    static const enum phase_kind again[] = { [RECOMPUTE_NONE] = PHASE_LAYER_BACKWARD,
                                             [RECOMPUTE_ATTENTION] = PHASE_ATTENTION_AGAIN,
                                             [RECOMPUTE_LAYER] = PHASE_LAYER_AGAIN };
    for (int b = c->piece->above; b > c->piece->below; b--)
        add_run(c, again[c->config.recompute], PHASE_LAYER_BACKWARD, b);
}

/* Returns 1 if parameters are gathered after the update, else 0. */
static int gathers(const struct compiler *c)
{
    return c->config.zero == 1 || c->config.zero == 2;
}

static void compile_group(struct compiler *c)
{
    add_run(c, PHASE_INPUTS, PHASE_EMBEDDING_FORWARD, 0);
    if (gathers(c) && !c->program->part_count)
        add_phase(c, PHASE_GATHER_TABLE, 0, -1);
    add_forward(c, PHASE_LAYER_FORWARD);
    add_run(c, PHASE_HEAD, PHASE_HEAD, c->config.layers + 1);
    if (c->last && c->final && c->config.tied && !c->merges && c->config.zero < 2)
        add_phase(c, PHASE_SUM_TABLE, 0, -1);
    add_backward(c);
    add_run(c, PHASE_EMBEDDING_BACKWARD, PHASE_EMBEDDING_BACKWARD, 0);
}

/* Makes the phases that were added since the last part a part of the program, which is executed
 * `turns` times. */
static void end_part(struct program *p, int64_t turns)
{
    int64_t first = p->part_count ? p->parts[p->part_count - 1].end : 0;
    p->parts = mem_resize(p->parts, (size_t)p->part_count + 1, sizeof *p->parts);
    p->parts[p->part_count++] = (struct program_part){ first, p->count, turns };
    for (int64_t n = first; n < p->count; n++)
        p->phases[n].turns = turns;
}

/* ---- read-ahead and traffic ------------------------------------------------------------------ */

/* The state of an array while the list is traversed. */
struct array {
    int64_t next;       /* the next entry that uses it */
    unsigned char mode; /* and the mode of that use */
    int in, changed;    /* in: in memory; changed: differs from the file */
};

/* Sets p->arrays to the number of arrays of each kind, and allocates p->moves and arrays[], zeroed,
 * with an element for each array. */
static void count_arrays(struct program *p, struct array *arrays[STORE_KINDS])
{
    for (int64_t n = 0; n < p->count; n++)
        for (int i = 0; i < p->phases[n].count; i++) {
            const struct use *u = &p->phases[n].uses[i];
            if (p->arrays[u->kind] <= u->number)
                p->arrays[u->kind] = u->number + 1;
        }
    for (int kind = 0; kind < STORE_BLOCKS; kind++) /* a stage uses only some blocks */
        p->arrays[kind] = (p->arrays[kind] + p->layers + 1) / (p->layers + 2) * (p->layers + 2);
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        p->moves[kind] = mem_zalloc((size_t)p->arrays[kind] + 1, sizeof *p->moves[kind]);
        arrays[kind] = mem_zalloc((size_t)p->arrays[kind] + 1, sizeof *arrays[kind]);
    }
}

/* Returns 1 if use u is of this rank's share of an array that other uses gather as a whole
 * (shared.h), else 0. */
static int is_apart(const struct program *p, const struct use *u)
{
    return u->own && ((u->kind == STORE_GRADIENTS && p->zero > 1) ||
                      (u->kind == STORE_PARAMETERS && p->zero > 2));
}

/* Sets how far each phase reads ahead, and what happens to its arrays afterwards. Traverses the
 * list backwards, twice, because the end of the list is followed by its beginning. Treats each part
 * of the program as executed once: the arrays used after it are the same whether it is repeated or
 * the next part begins. */
static void look_ahead(struct program *p, struct array *const arrays[STORE_KINDS])
{
    int64_t work = 2 * p->count, other = work; /* next main phase; next phase of another run */
    for (int64_t n = 2 * p->count; n-- > 0;) {
        struct phase *f = &p->phases[n % p->count];
        if (p->phases[work % p->count].run != f->run)
            other = work;
        f->ahead = (int)(work - n);
        f->next = (int)(other - n);
        for (int i = 0; i < f->count; i++) {
            struct use *u = &f->uses[i];
            struct array *a = &arrays[u->kind][u->number];
            if (is_apart(p, u))
                continue;
            int soon = a->next <= work || (u->kind < STORE_BLOCKS && a->next == other);
            u->then = soon ? THEN_STAYS : a->mode == MODE_MAKE ? THEN_DROPPED : THEN_LEAVES;
            a->next = n;
            a->mode = u->mode;
        }
        if (!rows[f->kind].between)
            work = n;
    }
}

/* Returns the moves that a use causes if its array is in the file. */
static struct moves move(struct array *a, const struct use *u)
{
    struct moves m = { .reads = !a->in && u->mode != MODE_MAKE };
    a->changed |= u->mode != MODE_READ;
    m.writes = a->changed && u->then == THEN_LEAVES;
    a->in = u->then == THEN_STAYS;
    a->changed &= a->in;
    return m;
}

/* Counts the moves of all arrays in p->moves. The first traversal of the phases sets the states in
 * arrays[]; the second one counts. */
static void count_moves(struct program *p, struct array *const arrays[STORE_KINDS])
{
    for (int64_t n = 0; n < 2 * p->count; n++) {
        const struct phase *f = &p->phases[n % p->count];
        const int64_t turns = n < p->count ? 0 : f->turns;
        for (int i = 0; i < f->count; i++) {
            const struct use *u = &f->uses[i];
            struct moves *all = &p->moves[u->kind][u->number];
            if (is_apart(p, u)) {
                all->own_reads += turns * (u->role == USE_SUM ? f->merges : u->mode != MODE_MAKE);
                all->own_writes += turns *
                                   (u->role == USE_SUM ? f->merges + 1 : u->mode != MODE_READ);
                continue;
            }
            struct moves m = move(&arrays[u->kind][u->number], u);
            all->reads += turns * m.reads;
            all->writes += turns * m.writes;
        }
    }
}

static void finish(struct program *p)
{
    struct array *arrays[STORE_KINDS];
    count_arrays(p, arrays);
    look_ahead(p, arrays);
    count_moves(p, arrays);
    for (int kind = 0; kind < STORE_KINDS; kind++)
        free(arrays[kind]);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* Begins leaf k. The stack holds the sum of all rounds that have ended, if any, and above it one
 * sum for each 1 bit in the number of finished leaves of this round, the larger sums below
 * (reduce.h).
 */
static void begin_leaf(struct compiler *c, int k)
{
    const int round = c->leaves / (int)larger(c->config.rounds, 1), i = k % round;
    const int others = k >= round, ends = i + 1 == round;
    c->slot = others + __builtin_popcount((unsigned)i);
    c->final = k + 1 == c->leaves;
    c->merges = reduce_merges(i, ends) + (ends && others);
}

static void compile_leaf(struct compiler *c, int64_t micro)
{
    const int64_t G = c->config.G, groups = (micro + G - 1) / G;
    for (int64_t g = 0, turns; g < groups; g += turns) {
        c->first = !g;
        c->last = g + 1 == groups;
        c->count = c->last ? micro - g * G : G;
        turns = c->first || c->last ? 1 : groups - 2;
        compile_group(c);
        end_part(c->program, turns);
    }
}

static void compile_leaves(struct compiler *c)
{
    c->piece->slots = c->micros = c->dxs = c->config.G;
    for (int k = 0; k < c->leaves; k++) {
        begin_leaf(c, k);
        compile_leaf(c, c->config.A / c->leaves);
    }
}

/* ---- pipelines ------------------------------------------------------------------------------- */

static int64_t leaf_size(const struct compiler *c)
{
    return c->config.A / c->leaves;
}

/* Begins a run of `count` micro-batches of one leaf, from number m of the step on. */
static void begin_run(struct compiler *c, int64_t m, int64_t count)
{
    const int64_t leaf = leaf_size(c);
    c->micro = c->turn = m;
    c->count = count;
    c->first = m % leaf == 0;
    c->last = (m + count) % leaf == 0;
    begin_leaf(c, (int)(m / leaf));
}

/* Adds the phases that make the input of the piece. */
static void add_input(struct compiler *c)
{
    const enum phase_kind kind = is_begin(c) ? PHASE_EMBEDDING_FORWARD : PHASE_RECEIVE_X;
    add_run(c, c->piece == c->pieces ? PHASE_INPUTS : kind, kind, c->piece->below);
}

/* Returns the micro-batch of the forward or backward pass number i of this stage, and sets *piece
 * to the number of its piece. Groups of as many micro-batches as there are stages go through one
 * piece after the other. */
static int64_t pass_of(const struct compiler *c, int64_t i, int backward, int *piece)
{
    const int64_t stages = c->stages, group = stages * c->count_of_pieces;
    const int k = (int)(i % group / stages);
    *piece = backward ? c->count_of_pieces - 1 - k : k;
    return i / group * stages + i % stages;
}

/* Adds the phases of the forward pass number i of this stage. */
static void pass_forward(struct compiler *c, int64_t i)
{
    int piece;
    const int64_t m = pass_of(c, i, 0, &piece);
    c->piece = &c->pieces[piece];
    begin_run(c, m, 1);
    add_input(c);
    add_forward(c, PHASE_LAYER_FORWARD);
    if (!is_end(c))
        add_run(c, PHASE_SEND_X, PHASE_SEND_X, c->piece->above);
}

/* If the head shares the token embedding, adds the phase that begins to receive the head's
 * gradients of it, of the leaf that starts with micro-batch m. Adds nothing after the last leaf. */
static void expect_tied(struct compiler *c, int64_t m)
{
    if (!c->config.tied || m == c->config.A)
        return;
    begin_run(c, m, 1);
    add_phase(c, PHASE_RECEIVE_TIED, 0, -1);
    c->run++;
}

/* Adds the phases of the embedding's backward pass, after the backward pass of micro-batch m in the
 * first stage's layers. If the table is tied, adds those of all micro-batches of a leaf at the end
 * of the leaf, because the gradients of the head must be the first in the sum. */
static void embedding_backward(struct compiler *c, int64_t m)
{
    const int64_t leaf = leaf_size(c);
    if (c->config.tied && !c->last)
        return;
    if (c->config.tied)
        begin_run(c, m + 1 - leaf, leaf);
    add_run(c, PHASE_EMBEDDING_BACKWARD, PHASE_EMBEDDING_BACKWARD, 0);
    if (c->last)
        expect_tied(c, m + 1);
}

/* Returns 1 if the embedding's backward passes wait for the end of their leaf. */
static int waits(const struct compiler *c)
{
    return is_first_stage(c) && c->config.tied;
}

/* Chooses the array of dx for backward pass number i. Two arrays are used in turn, since one is
 * sent while the next is computed. If the embedding waits (`waits`), a leaf's micro-batches have an
 * array each, before these two. */
static void choose_dx(struct compiler *c, int64_t i)
{
    const int64_t leaf = waits(c) ? leaf_size(c) : 0;
    const int kept = leaf && is_begin(c);
    c->dx = kept ? 0 : leaf;
    c->dxs = kept ? leaf : 2;
    c->turn = kept ? c->micro : i;
}

/* Adds the phases of the backward pass number i of this stage. */
static void pass_backward(struct compiler *c, int64_t i)
{
    int piece;
    const int64_t m = pass_of(c, i, 1, &piece);
    c->piece = &c->pieces[piece];
    begin_run(c, m, 1);
    choose_dx(c, i);
    if (is_end(c))
        add_run(c, PHASE_HEAD, PHASE_HEAD, c->config.layers + 1);
    else
        add_run(c, PHASE_RECEIVE_DX, PHASE_RECEIVE_DX, c->piece->above);
    if (is_end(c) && c->config.tied && c->last)
        add_phase(c, PHASE_SEND_TIED, 0, -1);
    c->run++;
    add_backward(c);
    if (is_begin(c))
        embedding_backward(c, m);
    else
        add_run(c, PHASE_SEND_DX, PHASE_SEND_DX, c->piece->below);
}

/* Returns the number of forward passes before the first backward pass. */
static int64_t passes_ahead(const struct compiler *c)
{
    const int64_t behind = c->stages - 1 - c->config.stage;
    const int64_t pieces = c->count_of_pieces, all = c->config.A * pieces;
    const int64_t ahead = pieces > 1 ? 2 * behind + (pieces - 1) * c->stages : behind;
    return smaller(ahead, all);
}

/* Sets how many micro-batches each piece keeps at a time, and of how many the inputs are kept. */
static void count_slots(struct compiler *c)
{
    const int64_t all = c->config.A * c->count_of_pieces, ahead = passes_ahead(c);
    const int64_t leaf = waits(c) ? leaf_size(c) : 1;
    SCOPED_MEM int64_t *ended = mem_zalloc((size_t)c->count_of_pieces, sizeof *ended);
    int piece;
    for (int64_t i = 0; i < all + ahead; i++) {
        if (i < all) {
            const int64_t begun = pass_of(c, i, 0, &piece) + 1, kept = begun - ended[piece];
            const int64_t inputs = begun - ended[0] / leaf * leaf;
            struct piece *p = &c->pieces[piece];
            p->slots = kept > p->slots ? kept : p->slots;
            c->micros = !piece && inputs > c->micros ? inputs : c->micros;
        }
        if (i >= ahead) {
            pass_of(c, i - ahead, 1, &piece);
            ended[piece]++;
        }
    }
    for (int k = 1; k < c->count_of_pieces; k++) {
        const struct piece *p = &c->pieces[k - 1];
        c->pieces[k].x = p->x + p->rows * p->slots;
        c->pieces[k].caches = p->caches + (p->rows - 1) * p->slots;
    }
}

/* Compiles all micro-batches of the step for one stage of a pipeline. */
static void compile_stage(struct compiler *c)
{
    const int64_t all = c->config.A * c->count_of_pieces, ahead = passes_ahead(c);
    assert(c->stages * c->count_of_pieces <= c->config.layers);
    assert(!c->config.tied || c->config.G == leaf_size(c));
    assert(c->count_of_pieces == 1 || leaf_size(c) % c->stages == 0);
    count_slots(c);
    if (waits(c))
        expect_tied(c, 0);
    for (int64_t i = 0; i < all + ahead; i++) {
        if (i < all)
            pass_forward(c, i);
        if (i >= ahead)
            pass_backward(c, i - ahead);
    }
    end_part(c->program, 1);
}

/* Adds the phases that send a tied table from the first stage to the last one after the update. */
static void exchange_table(struct compiler *c)
{
    if (c->stages == 1 || !c->config.tied || !(is_first_stage(c) || is_last_stage(c)))
        return;
    add_phase(c, is_first_stage(c) ? PHASE_SEND_TABLE : PHASE_RECEIVE_TABLE, 0, -1);
    end_part(c->program, 1);
}

/* ---- whole programs -------------------------------------------------------------------------- */

/* Returns the number of layers of the stages before stage `stage`. Each piece has at least one
 * layer. */
static int64_t layers_before(const struct compiler *c, int stage)
{
    const int64_t stages = c->stages, pieces = c->count_of_pieces, least = stage * pieces;
    const int64_t layers = c->config.layers, most = layers - stages * pieces + least;
    const int64_t even = ((layers + c->config.head) * stage + stages / 2) / stages;
    return even < least ? least : even > most ? most : even;
}

/* Returns the number of layers in piece k of a stage. The pieces of the stage have about the same
 * work. */
static int layers_of_piece(const struct compiler *c, int stage, int k)
{
    const int64_t n = layers_before(c, stage + 1) - layers_before(c, stage);
    const int64_t head = stage == c->stages - 1 ? c->config.head : 0;
    const int64_t pieces = c->count_of_pieces, most = n - (pieces - 1);
    const int64_t last = larger(1, smaller((n + head) / pieces - head, most));
    if (k == pieces - 1)
        return (int)last;
    return (int)((n - last) * (k + 1) / (pieces - 1) - (n - last) * k / (pieces - 1));
}

/* Sets the owners of the blocks and the layers of this stage's pieces. The first layers are divided
 * among the first pieces of all stages, the next ones among the second pieces, and so on. */
static void divide_layers(struct compiler *c)
{
    const struct step_config *config = &c->config;
    int *owners = mem_zalloc((size_t)config->layers + 2, sizeof *owners), below = 0;
    for (int i = 0; i < c->stages * c->count_of_pieces; i++) {
        const int stage = i % c->stages, k = i / c->stages;
        const int above = below + layers_of_piece(c, stage, k);
        if (stage == config->stage)
            c->pieces[k] = (struct piece){ below, above, .rows = above - below + 1 };
        while (below < above)
            owners[++below] = stage;
    }
    owners[config->layers + 1] = c->stages - 1;
    c->program->owners = owners;
}

static void begin(struct compiler *c, struct program *p, const struct step_config *config)
{
    *c = (struct compiler){ .program = p,
                            .config = *config,
                            .stages = (int)larger(config->stages, 1),
                            .leaves = (int)larger(config->leaves, 1),
                            .count_of_pieces = (int)larger(config->interleave, 1) };
    *p = (struct program){
        .zero = config->zero, .layers = config->layers, .stages = c->stages, .stage = config->stage
    };
    c->piece = c->pieces = mem_zalloc((size_t)c->count_of_pieces, sizeof *c->pieces);
    divide_layers(c);
}

static void end(struct compiler *c)
{
    free(c->pieces);
    c->program->micros = (int)c->micros;
    finish(c->program);
}

void program_step(struct program *p, const struct step_config *config)
{
    struct compiler c;
    begin(&c, p, config);
    if (c.stages > 1)
        compile_stage(&c);
    else
        compile_leaves(&c);
    c.slot = 0;
    p->update = p->part_count;
    for (int b = 0; b < config->layers + 2; b++, c.run++) {
        if (p->owners[b] != config->stage)
            continue;
        add_phase(&c, PHASE_UPDATE, b, -1);
        if (gathers(&c))
            add_phase(&c, PHASE_GATHER, b, -1);
    }
    end_part(p, 1);
    exchange_table(&c);
    end(&c);
}

static void add_evaluation(struct compiler *c)
{
    c->piece->rows = 2;
    c->piece->slots = 1;
    add_input(c);
    add_forward(c, PHASE_LAYER_EVALUATION);
    if (is_end(c))
        add_run(c, PHASE_HEAD_EVALUATION, PHASE_HEAD_EVALUATION, c->config.layers + 1);
    else
        add_run(c, PHASE_SEND_X, PHASE_SEND_X, c->piece->above);
}

void program_evaluation(struct program *p, const struct step_config *config)
{
    struct compiler c;
    begin(&c, p,
          &(struct step_config){ .layers = config->layers,
                                 .tied = config->tied,
                                 .head = config->head,
                                 .stages = config->stages,
                                 .stage = config->stage,
                                 .interleave = config->interleave });
    c.count = c.micros = c.dxs = 1;
    for (c.piece = c.pieces; c.piece < c.pieces + c.count_of_pieces; c.piece++)
        add_evaluation(&c);
    end_part(p, 1);
    end(&c);
}

void program_release(struct program *p)
{
    free(p->phases);
    free(p->parts);
    free(p->owners);
    for (int kind = 0; kind < STORE_KINDS; kind++)
        free(p->moves[kind]);
    *p = (struct program){ 0 };
}

/* ---- reading --------------------------------------------------------------------------------- */

static int add_once(const struct use *all[PROGRAM_TOGETHER], int count, const struct use *u)
{
    for (int i = 0; i < count; i++)
        if (all[i]->kind == u->kind && all[i]->number == u->number && all[i]->own == u->own)
            return count;
    assert(count < PROGRAM_TOGETHER);
    all[count] = u;
    return count + 1;
}

int program_together(const struct program *p, int64_t n, const struct use *all[PROGRAM_TOGETHER])
{
    const struct phase *now = &p->phases[n];
    int count = 0;
    for (int k = 0; k <= now->ahead + 1; k++) {
        int beyond = k > now->ahead;
        const struct phase *f = &p->phases[(n + (beyond ? now->next : k)) % p->count];
        for (int i = 0; i < f->count; i++)
            if (!beyond || f->uses[i].kind < STORE_BLOCKS)
                count = add_once(all, count, &f->uses[i]);
    }
    return count;
}

int64_t program_micro_batch(int zero, int64_t A, int leaves, int ranks, int rank, int64_t m)
{
    const int64_t leaf = zero > 1 ? A / (leaves ? leaves : 1) : A; /* micro-batches in a row */
    return (m / leaf * ranks + rank) * leaf + m % leaf;
}

static void print_use(const struct use *u, struct buf *out)
{
    static const char *const modes[] = { "read", "change", "make" };
    static const char *const thens[] = { "", " keep", " drop" };
    static const char *const kinds[STORE_KINDS] = { "parameters",      "gradients", "moment1",
                                                    "moment2",         "x",         "dx",
                                                    "attention-cache", "cache",     "sums" };
    buf_addf(out, "%s %s%s %d%s", modes[u->mode], u->own ? "share of " : "", kinds[u->kind],
             u->number, thens[u->then]);
}

static void print_phase(const struct phase *f, struct buf *out)
{
    buf_addf(out, "  %s", phase_name(f->kind));
    if (f->count)
        buf_addf(out, ", block %d", f->block);
    if (f->micro >= 0)
        buf_addf(out, ", micro-batch %d", f->micro);
    if (phase_is_transfer(f->kind))
        buf_addf(out, ", stage %d", f->peer);
    for (int i = 0; i < f->count; i++) {
        buf_adds(out, i ? ", " : ": ");
        print_use(&f->uses[i], out);
    }
    buf_adds(out, "\n");
}

void program_print(const struct program *p, struct buf *out)
{
    for (const struct program_part *part = p->parts; part < p->parts + p->part_count; part++) {
        if (part->turns > 1)
            buf_addf(out, "%" PRId64 " times:\n", part->turns);
        for (int64_t n = part->first; n < part->end; n++)
            print_phase(&p->phases[n], out);
    }
}
