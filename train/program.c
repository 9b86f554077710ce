#include "train/program.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/mem.h"
#include "train/reduce.h"

static const char *const phase_names[PHASE_KINDS] = {
    [PHASE_INPUTS] = "inputs",
    [PHASE_EMBEDDING_FORWARD] = "embedding forward",
    [PHASE_LAYER_FORWARD] = "layer forward",
    [PHASE_HEAD] = "head",
    [PHASE_ATTENTION_AGAIN] = "attention again",
    [PHASE_LAYER_AGAIN] = "layer again",
    [PHASE_LAYER_BACKWARD] = "layer backward",
    [PHASE_EMBEDDING_BACKWARD] = "embedding backward",
    [PHASE_MERGE] = "merge of gradients",
    [PHASE_SUM] = "sum of gradients",
    [PHASE_UPDATE] = "update",
    [PHASE_SCORE] = "score",
};

const char *phase_name(enum phase_kind kind)
{
    return phase_names[kind];
}

/* ---- the phases, in order ------------------------------------------------------------------------ */

struct compiler {
    struct program *program;
    struct program_config config;
    size_t count, room; /* of program->phases */
    int first;          /* group of the leaf: its first micro-batch sets the gradients */
    int last;           /* group of the leaf: it completes the leaf's */
    int slot;           /* of the stack of gradients, that the leaf makes */
    int merges;         /* after the leaf */
    int final;          /* leaf of the step */
    size_t parts;       /* of program->parts */
    int run;
    int64_t turns; /* of the part */
};

static struct phase *add_phase(struct compiler *c, enum phase_kind kind, int block, int64_t micro)
{
    mem_grow(c->program->phases, c->room, c->count + 1);
    struct phase *f = &c->program->phases[c->count++];
    *f = (struct phase){ .kind = kind,
                         .block = block,
                         .layer = block > 0 && block <= c->config.layers ? block - 1 : -1,
                         .micro = (int)micro,
                         .add = !c->first || micro > 0,
                         .run = c->run };
    return f;
}

static void add_use(struct phase *f, enum use_role role, enum store_kind kind, int64_t number,
                    enum mapped_use mode)
{
    assert(f->count < PHASE_USES);
    f->uses[f->count++] = (struct use){ .role = (unsigned char)role,
                                        .kind = (unsigned char)kind,
                                        .mode = (unsigned char)mode,
                                        .number = (int)number };
}

static void use_parameters(struct phase *f)
{
    add_use(f, USE_W, STORE_PARAMETERS, f->block, MAPPED_READ);
}

/* A block's gradients in a slot. */
static int64_t gradients(const struct compiler *c, int slot, int block)
{
    return (int64_t)slot * (c->config.layers + 2) + block;
}

static void use_gradients(const struct compiler *c, struct phase *f)
{
    add_use(f, USE_DW, STORE_GRADIENTS, gradients(c, c->slot, f->block),
            f->add ? MAPPED_WRITE : MAPPED_MAKE);
}

static void use_x(const struct compiler *c, struct phase *f, int64_t l, enum use_role role)
{
    add_use(f, role, STORE_X, l * c->config.group + f->micro,
            role == USE_Y ? MAPPED_MAKE : MAPPED_READ);
}

static void use_dx(struct phase *f, enum mapped_use mode)
{
    add_use(f, USE_DX, STORE_DX, f->micro, mode);
}

/* Whether each layer of each micro-batch keeps that part of its cache until it comes back. */
static int is_kept(enum recompute again, int part)
{
    return again == RECOMPUTE_NONE || (again == RECOMPUTE_ATTENTION && part != CACHE_ATTENTION);
}

static void use_cache(const struct compiler *c, struct phase *f, int part, enum mapped_use mode)
{
    int64_t row = (f->block - 1) * c->config.group + f->micro;
    add_use(f, USE_CACHE + (enum use_role)part, STORE_CACHE + (enum store_kind)part,
            is_kept(c->config.recompute, part) ? row : 0, mode);
}

static void use_caches(const struct compiler *c, struct phase *f, enum mapped_use mode)
{
    for (int part = 0; part < CACHE_PARTS; part++)
        use_cache(c, f, part, mode);
}

/* Layer l is block l+1 (tensor.h). */
static void layer_forward(struct compiler *c, enum phase_kind kind, int l, int64_t micro)
{
    struct phase *f = add_phase(c, kind, l + 1, micro);
    use_parameters(f);
    use_x(c, f, l, USE_X);
    use_x(c, f, l + 1, USE_Y);
    use_caches(c, f, MAPPED_MAKE);
}

/* The sums that attention makes are a share of what is kept. */
static void attention_again(struct compiler *c, int l, int64_t micro)
{
    struct phase *f = add_phase(c, PHASE_ATTENTION_AGAIN, l + 1, micro);
    use_parameters(f);
    use_x(c, f, l, USE_X);
    use_cache(c, f, CACHE_ATTENTION, MAPPED_MAKE);
    use_cache(c, f, CACHE_SUMS, MAPPED_WRITE);
}

static void layer_backward(struct compiler *c, int l, int64_t micro)
{
    if (c->config.recompute == RECOMPUTE_LAYER) /* x[l+1] is free by now */
        layer_forward(c, PHASE_LAYER_AGAIN, l, micro);
    else if (c->config.recompute == RECOMPUTE_ATTENTION)
        attention_again(c, l, micro);
    struct phase *f = add_phase(c, PHASE_LAYER_BACKWARD, l + 1, micro);
    use_parameters(f);
    use_gradients(c, f);
    use_x(c, f, l, USE_X);
    use_dx(f, MAPPED_WRITE);
    use_caches(c, f, MAPPED_WRITE);
}

static void embedding_forward(struct compiler *c, int64_t micro)
{
    add_phase(c, PHASE_INPUTS, -1, micro);
    struct phase *f = add_phase(c, PHASE_EMBEDDING_FORWARD, 0, micro);
    use_parameters(f);
    use_x(c, f, 0, USE_Y);
}

static void head(struct compiler *c, int64_t micro)
{
    const int L = c->config.layers;
    struct phase *f = add_phase(c, PHASE_HEAD, L + 1, micro);
    use_parameters(f);
    use_gradients(c, f);
    if (c->config.tied) {
        add_use(f, USE_TIED, STORE_PARAMETERS, 0, MAPPED_READ);
        add_use(f, USE_DTIED, STORE_GRADIENTS, gradients(c, c->slot, 0),
                f->add ? MAPPED_WRITE : MAPPED_MAKE);
    }
    use_x(c, f, L, USE_X);
    use_dx(f, MAPPED_MAKE);
}

static void embedding_backward(struct compiler *c, int64_t micro)
{
    struct phase *f = add_phase(c, PHASE_EMBEDDING_BACKWARD, 0, micro);
    enum mapped_use mode = f->add || c->config.tied ? MAPPED_WRITE : MAPPED_MAKE;
    use_parameters(f);
    add_use(f, USE_DW, STORE_GRADIENTS, gradients(c, c->slot, 0), mode);
    use_dx(f, MAPPED_WRITE);
}

/* The last two of the stack become one. */
static void merge(struct compiler *c, int block, int slot)
{
    struct phase *f = add_phase(c, PHASE_MERGE, block, -1);
    add_use(f, USE_DW, STORE_GRADIENTS, gradients(c, slot - 1, block), MAPPED_WRITE);
    add_use(f, USE_MERGED, STORE_GRADIENTS, gradients(c, slot, block), MAPPED_READ);
}

/* All micro-batches have gone through the phase; if they are the last ones of a leaf, its gradients
 * of the block are complete. */
static void end_backward(struct compiler *c, int block)
{
    for (int i = 0; c->last && i < c->merges; i++)
        merge(c, block, c->slot - i);
    if (c->last && c->final) {
        struct phase *f = add_phase(c, PHASE_SUM, block, -1);
        add_use(f, USE_DW, STORE_GRADIENTS, block, MAPPED_WRITE);
    }
    c->run++;
}

static void compile_group(struct compiler *c, int64_t count)
{
    const int L = c->config.layers;
    for (int64_t i = 0; i < count; i++)
        embedding_forward(c, i);
    c->run++;
    for (int l = 0; l < L; l++, c->run++)
        for (int64_t i = 0; i < count; i++)
            layer_forward(c, PHASE_LAYER_FORWARD, l, i);
    for (int64_t i = 0; i < count; i++)
        head(c, i);
    end_backward(c, L + 1);
    for (int l = L; l-- > 0; end_backward(c, l + 1))
        for (int64_t i = 0; i < count; i++)
            layer_backward(c, l, i);
    for (int64_t i = 0; i < count; i++)
        embedding_backward(c, i);
    end_backward(c, 0);
}

static void compile_update(struct compiler *c)
{
    for (int b = 0; b < c->config.layers + 2; b++, c->run++) {
        struct phase *f = add_phase(c, PHASE_UPDATE, b, -1);
        add_use(f, USE_W, STORE_PARAMETERS, b, MAPPED_WRITE);
        for (int i = 0; i < c->config.moments; i++)
            add_use(f, USE_M + (enum use_role)i, STORE_MOMENT1 + (enum store_kind)i, b,
                    MAPPED_WRITE);
        add_use(f, USE_DW, STORE_GRADIENTS, b, MAPPED_WRITE);
    }
}

/* x is read from one row and made in the other, in turns. */
static void evaluate_layer(struct compiler *c, int l)
{
    struct phase *f = add_phase(c, PHASE_LAYER_FORWARD, l + 1, 0);
    use_parameters(f);
    use_x(c, f, l % 2, USE_X);
    use_x(c, f, (l + 1) % 2, USE_Y);
}

static void score(struct compiler *c)
{
    struct phase *f = add_phase(c, PHASE_SCORE, c->config.layers + 1, 0);
    use_parameters(f);
    if (c->config.tied)
        add_use(f, USE_TIED, STORE_PARAMETERS, 0, MAPPED_READ);
    use_x(c, f, c->config.layers % 2, USE_X);
}

/* What was added since the last part is one, which comes c->turns times. */
static void end_part(struct compiler *c)
{
    struct program *p = c->program;
    int64_t before = 0;
    for (size_t i = 0; i < c->parts; i++)
        before += p->parts[i].count;
    p->parts = mem_resize(p->parts, c->parts + 2, sizeof *p->parts);
    p->parts[c->parts] = (struct program_part){ before, (int64_t)c->count - before, c->turns };
    p->length += p->parts[c->parts].count * c->turns;
    p->parts[++c->parts] = (struct program_part){ 0 };
}

/* ---- what follows from the order ------------------------------------------------------------------ */

/* A phase that only prepares or ends the work on a micro-batch: what comes behind it is expected,
 * too. */
static int is_between(enum phase_kind kind)
{
    return kind == PHASE_INPUTS || kind == PHASE_ATTENTION_AGAIN || kind == PHASE_LAYER_AGAIN ||
           kind == PHASE_MERGE || kind == PHASE_SUM;
}

/* What the walks over the list know of an array. */
struct array {
    int64_t next;         /* the entry that uses it next, */
    enum mapped_use mode; /* and how */
    int in, changed;      /* in memory; and not as in the file */
};

static struct array *array_of(struct array *const arrays[STORE_KINDS], const struct use *u)
{
    return &arrays[u->kind][u->number];
}

static void count_arrays(struct program *p, int64_t end)
{
    for (int64_t n = 0; n < end; n++)
        for (int i = 0; i < p->phases[n].count; i++) {
            const struct use *u = &p->phases[n].uses[i];
            if (p->count[u->kind] <= u->number)
                p->count[u->kind] = u->number + 1;
        }
}

/* Backwards over the list, twice since its end is followed by its beginning: how far ahead each
 * entry looks, and what becomes of its arrays. A part is followed by the same arrays, whether it
 * comes again or the next one begins. */
static void look_ahead(struct program *p, int64_t end, struct array *const arrays[STORE_KINDS])
{
    int64_t work = 2 * end, other = 2 * end; /* the next piece of work, and that of another run */
    for (int64_t n = 2 * end; n-- > 0;) {
        struct phase *f = &p->phases[n % end];
        if (p->phases[work % end].run != f->run)
            other = work;
        f->ahead = (int)(work - n);
        f->next = (int)(other - n);
        for (int i = 0; i < f->count; i++) {
            struct use *u = &f->uses[i];
            struct array *a = array_of(arrays, u);
            u->last = a->mode == MAPPED_MAKE;
            u->stays = a->next <= work || (u->kind < STORE_BLOCKS && a->next == other);
            a->next = n;
            a->mode = (enum mapped_use)u->mode;
        }
        if (!is_between(f->kind))
            work = n;
    }
}

/* One use, in the order of the list: what it moves if the array is in the file. */
static struct moves move(struct array *a, const struct use *u)
{
    struct moves m = { .reads = !a->in && u->mode != MAPPED_MAKE };
    a->changed |= u->mode != MAPPED_READ;
    a->in = u->stays && !u->last;
    if (!a->in) {
        m.writes = a->changed && !u->last;
        a->changed = 0;
    }
    return m;
}

/* In the second round all is where the round before has left it. */
static void count_moves(struct program *p, struct array *const arrays[STORE_KINDS])
{
    for (int round = 0; round < 2; round++)
        for (int64_t n = 0; n < p->length; n = program_once(p, n)) {
            int64_t turns = program_turns(p, n);
            const struct phase *f = program_at(p, n);
            for (int i = 0; i < f->count; i++) {
                struct moves m = move(array_of(arrays, &f->uses[i]), &f->uses[i]);
                struct moves *sum = &p->moves[f->uses[i].kind][f->uses[i].number];
                sum->reads += round ? turns * m.reads : 0;
                sum->writes += round ? turns * m.writes : 0;
            }
        }
}

static void finish(struct compiler *c)
{
    struct program *p = c->program;
    struct array *arrays[STORE_KINDS];
    count_arrays(p, (int64_t)c->count);
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        size_t count = (size_t)p->count[kind];
        p->moves[kind] = mem_zalloc(count + 1, sizeof *p->moves[kind]);
        arrays[kind] = mem_zalloc(count + 1, sizeof *arrays[kind]);
        for (size_t i = 0; i < count; i++)
            arrays[kind][i] = (struct array){ .next = INT64_MAX, .mode = MAPPED_MAKE };
    }
    look_ahead(p, (int64_t)c->count, arrays);
    count_moves(p, arrays);
    for (int kind = 0; kind < STORE_KINDS; kind++)
        free(arrays[kind]);
}

/* ---- programs ------------------------------------------------------------------------------------- */

static void compile_leaf(struct compiler *c, int64_t micro)
{
    const int64_t G = c->config.group, groups = (micro + G - 1) / G;
    for (int64_t g = 0; g < groups; g += c->turns) {
        int between = g > 0 && g + 1 < groups;
        c->first = !g;
        c->last = g + 1 == groups;
        c->turns = between ? groups - 2 : 1;
        compile_group(c, c->last ? micro - g * G : G);
        end_part(c);
    }
}

/* The stack has a sum for each one in the binary number of leaves that are done, the larger ones
 * below (reduce.h). */
static void compile_leaves(struct compiler *c)
{
    const int leaves = c->config.leaves ? c->config.leaves : 1;
    for (int k = 0; k < leaves; k++) {
        c->slot = __builtin_popcount((unsigned)k);
        c->final = k + 1 == leaves;
        c->merges = reduce_merges(k, c->final);
        compile_leaf(c, c->config.micro / leaves);
    }
}

void program_step(struct program *p, const struct program_config *config)
{
    *p = (struct program){ 0 };
    struct compiler c = { .program = p, .config = *config };
    compile_leaves(&c);
    p->update = p->length;
    c.turns = 1;
    compile_update(&c);
    end_part(&c);
    finish(&c);
}

void program_evaluation(struct program *p, int layers, int tied)
{
    *p = (struct program){ 0 };
    struct compiler c = { .program = p,
                          .config = { .layers = layers, .group = 1, .tied = tied },
                          .turns = 1 };
    embedding_forward(&c, 0);
    for (int l = 0; l < layers; l++) {
        c.run++;
        evaluate_layer(&c, l);
    }
    c.run++;
    score(&c);
    end_part(&c);
    p->update = p->length;
    finish(&c);
}

void program_release(struct program *p)
{
    free(p->phases);
    free(p->parts);
    for (int kind = 0; kind < STORE_KINDS; kind++)
        free(p->moves[kind]);
    *p = (struct program){ 0 };
}

/* ---- reading -------------------------------------------------------------------------------------- */

/* The part that entry n is of; *n becomes its place in the part, turn after turn. */
static const struct program_part *part_of(const struct program *p, int64_t *n)
{
    const struct program_part *part = p->parts;
    for (; *n >= part->count * part->turns; part++)
        *n -= part->count * part->turns;
    return part;
}

const struct phase *program_at(const struct program *p, int64_t n)
{
    int64_t i = n % p->length;
    const struct program_part *part = part_of(p, &i);
    return &p->phases[part->first + i % part->count];
}

int64_t program_turns(const struct program *p, int64_t n)
{
    return part_of(p, &n)->turns;
}

int64_t program_once(const struct program *p, int64_t n)
{
    int64_t i = n;
    const struct program_part *part = part_of(p, &i);
    return i + 1 < part->count ? n + 1 : n - i + part->count * part->turns;
}

int program_ahead(const struct program *p, int64_t n, const struct use *ahead[PROGRAM_AHEAD])
{
    const struct phase *now = program_at(p, n);
    int count = 0;
    for (int k = 1; k <= now->ahead + 1; k++) {
        int beyond = k > now->ahead;
        const struct phase *f = program_at(p, n + (beyond ? now->next : k));
        for (int i = 0; i < f->count; i++)
            if (!beyond || f->uses[i].kind < STORE_BLOCKS)
                ahead[count++] = &f->uses[i];
    }
    assert(count <= PROGRAM_AHEAD);
    return count;
}

static void print_use(const struct use *u, struct buf *out)
{
    static const char *const modes[] = { "read", "change", "make" };
    static const char *const kinds[STORE_KINDS] = { "parameters",      "gradients", "moment1",
                                                    "moment2",         "x",         "dx",
                                                    "attention-cache", "cache",     "sums" };
    buf_addf(out, "%s %s %d%s", modes[u->mode], kinds[u->kind], u->number,
             u->last    ? " drop"
             : u->stays ? " keep"
                        : "");
}

static void print_phase(const struct phase *f, struct buf *out)
{
    buf_addf(out, "  %s", phase_names[f->kind]);
    if (f->block >= 0)
        buf_addf(out, ", block %d", f->block);
    if (f->micro >= 0)
        buf_addf(out, ", micro-batch %d", f->micro);
    for (int i = 0; i < f->count; i++) {
        buf_adds(out, i ? ", " : ": ");
        print_use(&f->uses[i], out);
    }
    buf_adds(out, "\n");
}

void program_print(const struct program *p, struct buf *out)
{
    for (const struct program_part *part = p->parts; part->count; part++) {
        if (part->turns > 1)
            buf_addf(out, "%" PRId64 " times:\n", part->turns);
        for (int64_t i = 0; i < part->count; i++)
            print_phase(&p->phases[part->first + i], out);
    }
}
