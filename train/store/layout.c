#include "train/store/layout.h"

#include "common/base/log.h"
#include "train/store/mapped.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

static int is_moment(int kind)
{
    return kind == STORE_MOMENT1 || kind == STORE_MOMENT2;
}

/* Sets the offsets of the tensors in the arrays of a kind. Tensors follow each other in the order
 * of the table; those without values of that kind are left out. */
static void lay_out_blocks(struct layout *l, const struct tensor_table *t,
                           const struct store_config *c, int kind)
{
    int64_t *size = l->elements[kind], *offset = mem_zalloc(t->count, sizeof *offset);
    for (size_t i = 0; i < t->count; i++) {
        const struct tensor *row = &t->rows[i];
        int64_t elements = tensor_elements(row);
        const int has = !is_moment(kind) || !c->moments || c->moments[i] > kind - STORE_MOMENT1;
        offset[i] = has ? size[row->block] : -1;
        if (offset[i] >= 0)
            size[row->block] += (elements + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    }
    l->offset[kind] = offset;
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* Sets where share number `share` of a block begins in the block's arrays of all kinds: at element
 * `first` of tensor `row` or, in an array without this tensor, at the next tensor that it has. */
static void cut(struct layout *l, const struct tensor_table *t, int share, size_t row,
                int64_t first)
{
    const int block = t->rows[row].block;
    for (int kind = 0; kind < STORE_BLOCKS; kind++) {
        const int64_t *offset = l->offset[kind];
        int64_t *begin = &l->bounds[kind][(int64_t)block * (l->ranks + 1) + share];
        size_t i = row;
        while (i < t->first[block + 1] && offset[i] < 0)
            i++;
        *begin = i == t->first[block + 1] ? l->elements[kind][block]
                                          : offset[i] + (i == row ? first : 0);
    }
}

/* Assigns each piece of a block to the rank whose equal share of the block contains the piece's
 * middle. */
static void cut_block(struct layout *l, const struct tensor_table *t, const unsigned char *whole,
                      int block)
{
    const int64_t total = l->elements[STORE_PARAMETERS][block];
    int share = 0;
    for (size_t i = t->first[block]; i < t->first[block + 1]; i++) {
        const int64_t n = tensor_elements(&t->rows[i]);
        const int64_t piece = whole && whole[i] ? n : LAYOUT_PIECE;
        for (int64_t first = 0; first < n; first += piece) {
            int64_t length = n - first < piece ? n - first : piece;
            double middle = (double)(l->offset[STORE_PARAMETERS][i] + first) + (double)length / 2;
            for (; share < l->ranks && middle * l->ranks >= (double)total * share; share++)
                cut(l, t, share, i, first);
        }
    }
    for (int kind = 0; kind < STORE_BLOCKS; kind++)
        for (int q = share; q <= l->ranks; q++)
            l->bounds[kind][(int64_t)block * (l->ranks + 1) + q] = l->elements[kind][block];
}

/* Returns the rank whose shares of the arrays of this stage's blocks take the most bytes. */
static int fullest(const struct layout *l, const struct tensor_table *t, const struct program *p)
{
    uint64_t most = 0;
    int rank = 0;
    for (int q = 0; q < l->ranks; q++) {
        uint64_t bytes = 0;
        for (int kind = 0; kind < STORE_BLOCKS; kind++)
            for (int i = 0; i < l->count[kind] && layout_is_shared(l, kind); i++) {
                const int64_t *bounds = layout_bounds(l, kind, i % t->blocks) + q;
                if (p->owners[i % t->blocks] == p->stage)
                    bytes += (uint64_t)(bounds[1] - bounds[0]) * ops_type_bytes(l->type[kind]);
            }
        rank = bytes > most ? q : rank;
        most = bytes > most ? bytes : most;
    }
    return rank;
}

static void cut_blocks(struct layout *l, const struct tensor_table *t, const struct store_config *c)
{
    l->ranks = c->ranks > 1 ? c->ranks : 1;
    l->zero = c->ranks > 1 ? c->zero : 0;
    for (int kind = 0; kind < STORE_BLOCKS; kind++)
        l->bounds[kind] = mem_zalloc((size_t)t->blocks * ((size_t)l->ranks + 1), sizeof(int64_t));
    for (int b = 0; b < t->blocks; b++)
        cut_block(l, t, c->whole, b);
    l->rank = c->ranks <= 1 ? 0 : c->rank == LAYOUT_FULLEST ? fullest(l, t, c->program) : c->rank;
}

int layout_is_shared(const struct layout *l, int kind)
{
    return is_moment(kind)            ? l->zero > 0
           : kind == STORE_GRADIENTS  ? l->zero > 1
           : kind == STORE_PARAMETERS ? l->zero > 2
                                      : 0;
}

int layout_is_gathered(const struct layout *l, int kind)
{
    return layout_is_shared(l, kind) && !is_moment(kind);
}

/* Reduces the sizes of shared arrays to this rank's share. */
static void share_arrays(struct layout *l, const struct tensor_table *t)
{
    for (int kind = 0; kind < STORE_BLOCKS; kind++)
        for (int i = 0; i < l->count[kind] && layout_is_shared(l, kind); i++) {
            const int64_t *bounds = layout_bounds(l, kind, i % t->blocks);
            l->elements[kind][i] = bounds[l->rank + 1] - bounds[l->rank];
        }
}

const int64_t *layout_bounds(const struct layout *l, enum store_kind kind, int block)
{
    return l->bounds[kind] + (int64_t)block * (l->ranks + 1);
}

struct split_part layout_share_of(const struct layout *l, const struct tensor_table *t, size_t row,
                                  int rank)
{
    const int64_t *bounds = layout_bounds(l, STORE_PARAMETERS, t->rows[row].block) + rank;
    const int64_t begin = t->rows[row].offset, end = begin + tensor_elements(&t->rows[row]);
    const int64_t first = bounds[0] > begin ? bounds[0] : begin;
    const int64_t last = bounds[1] < end ? bounds[1] : end;
    return (struct split_part){ first - begin, last > first ? last - first : 0 };
}

struct split_part layout_share(const struct layout *l, const struct tensor_table *t, size_t row)
{
    return layout_share_of(l, t, row, l->rank);
}

struct split_part layout_own(const struct layout *l, const struct tensor_table *t, size_t row)
{
    return layout_owns(l, t->rows[row].block) ? layout_share(l, t, row)
                                              : (struct split_part){ 0, 0 };
}

/* ---- stages of a pipeline -------------------------------------------------------------------- */

/* Leaves out the arrays that no phase of the program uses, and sets the owners of the blocks. p
 * NULL: leaves out nothing, and stage 0 owns all blocks. */
static void take_used(struct layout *l, const struct tensor_table *t, const struct program *p)
{
    l->owner = mem_zalloc((size_t)t->blocks, sizeof *l->owner);
    l->stage = p ? p->stage : 0;
    for (int b = 0; b < t->blocks && p; b++)
        l->owner[b] = p->owners[b];
    for (int kind = 0; kind < STORE_BLOCKS && p; kind++) {
        SCOPED_MEM int64_t *all = l->elements[kind];
        l->elements[kind] = mem_zalloc((size_t)l->count[kind] + 1, sizeof *all);
        for (int64_t n = 0; n < p->count; n++) {
            const struct phase *f = &p->phases[n];
            for (int i = 0; i < f->count; i++)
                if (f->uses[i].kind == kind)
                    l->elements[kind][f->uses[i].number] = all[f->uses[i].number];
        }
    }
}

int layout_owns(const struct layout *l, int block)
{
    return l->owner[block] == l->stage;
}

int layout_has(const struct layout *l, enum store_kind kind, int block)
{
    return l->elements[kind][block] > 0;
}

/* ---- all arrays ------------------------------------------------------------------------------ */

static enum ops_type type_of(const struct store_config *c, int kind)
{
    int half = kind == STORE_PARAMETERS ? c->half_parameters
               : is_moment(kind)        ? c->half_moments
                                        : c->half_activations;
    return half && kind != STORE_GRADIENTS && kind != STORE_CACHE + CACHE_SUMS ? OPS_BF16 : OPS_F32;
}

static size_t count_of(const struct tensor_table *t, const struct store_config *c, int kind)
{
    if (kind < STORE_BLOCKS && (kind != STORE_GRADIENTS || !c->program))
        return (size_t)t->blocks;
    return c->program ? (size_t)c->program->arrays[kind] : 0;
}

static void lay_out(struct layout *l, const struct tensor_table *t, const struct store_config *c)
{
    *l = (struct layout){ 0 };
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        size_t count = count_of(t, c, kind);
        l->count[kind] = (int)count;
        l->type[kind] = type_of(c, kind);
        l->elements[kind] = mem_zalloc(count + 1, sizeof *l->elements[kind]);
        l->place[kind] = mem_zalloc(count + 1, 1);
        if (kind < STORE_BLOCKS)
            lay_out_blocks(l, t, c, kind);
        for (size_t i = 0; i < count && kind >= STORE_BLOCKS; i++)
            l->elements[kind][i] = c->row[kind];
        for (size_t i = (size_t)t->blocks; i < count && kind < STORE_BLOCKS; i++)
            l->elements[kind][i] = l->elements[kind][i - (size_t)t->blocks];
    }
    cut_blocks(l, t, c);
    share_arrays(l, t);
    take_used(l, t, c->program);
}

uint64_t layout_bytes(const struct layout *l, enum store_kind kind, int i)
{
    return (uint64_t)l->elements[kind][i] * ops_type_bytes(l->type[kind]);
}

/* ---- arrays in the file ---------------------------------------------------------------------- */

/* Returns the bytes of memory that a sum over the ranks may need beside the arrays of a phase. It
 * may end in any phase, and then adds two shares of a block's gradients, those of two leaves. */
static uint64_t sum_bytes(const struct layout *l)
{
    uint64_t most = 0;
    for (int i = 0; i < l->count[STORE_GRADIENTS] && l->zero > 1; i++) {
        const uint64_t bytes = l->place[STORE_GRADIENTS][i] == PLACE_MEMORY
                                   ? 0
                                   : mapped_bytes(layout_bytes(l, STORE_GRADIENTS, i));
        most = bytes > most ? bytes : most;
    }
    return 2 * most;
}

/* Returns the size of the window: the largest number of bytes, over all phases, of arrays of the
 * file or the host that must be in memory at the same time. */
static uint64_t window_bytes(const struct layout *l, const struct program *p)
{
    uint64_t most = 0;
    for (int64_t n = 0; n < p->count; n++) {
        const struct use *all[PROGRAM_TOGETHER];
        const int count = program_together(p, n, all);
        uint64_t sum = 0;
        for (int i = 0; i < count; i++)
            if (l->place[all[i]->kind][all[i]->number] != PLACE_MEMORY)
                sum += mapped_bytes(layout_bytes(l, all[i]->kind, all[i]->number));
        most = sum > most ? sum : most;
    }
    return most + sum_bytes(l);
}

/* An array that may stay in memory. */
struct choice {
    int kind, number;
    int always; /* 1: the only row of its kind, which always stays */
    int64_t moves;
};

/* Orders arrays by preference for memory: first those with `always`, then by the number of moves
 * per step, most first. Among equals, the embedding is first: the head uses it, too, so this makes
 * the window smaller. */
static int by_moves(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;
    const int64_t of_x[] = { x->always, x->moves, !x->number && x->kind < STORE_BLOCKS, -x->kind };
    const int64_t of_y[] = { y->always, y->moves, !y->number && y->kind < STORE_BLOCKS, -y->kind };
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++)
        if (of_x[i] != of_y[i])
            return of_x[i] > of_y[i] ? -1 : 1;
    return x->number - y->number;
}

/* Returns a list of all arrays in the order of preference for memory, and sets *count. The caller
 * frees the list. */
static struct choice *list_choices(const struct layout *l, const struct program *p, size_t *count)
{
    *count = 0;
    for (int kind = 0; kind < STORE_KINDS; kind++)
        *count += (size_t)l->count[kind];
    struct choice *choices = mem_zalloc(*count, sizeof *choices), *c = choices;
    for (int kind = 0; kind < STORE_KINDS; kind++)
        for (int i = 0; i < l->count[kind]; i++) {
            struct moves m = i < p->arrays[kind] ? p->moves[kind][i] : (struct moves){ 0 };
            int always = kind >= STORE_BLOCKS && l->count[kind] == 1;
            *c++ = (struct choice){ kind, i, always, m.reads + m.writes };
        }
    qsort(choices, *count, sizeof *choices, by_moves);
    return choices;
}

/* Moves an array to memory if it fits in `room` bytes, beside the `kept` bytes of others and the
 * window for the rest. Returns 1 if it was moved, else 0. l->window_bytes is an upper bound of the
 * window's size, which is computed exactly only when that matters. */
static int keep(struct layout *l, const struct program *p, const struct choice *c, uint64_t kept,
                uint64_t room)
{
    uint64_t bytes = layout_bytes(l, c->kind, c->number);
    unsigned char *place = &l->place[c->kind][c->number], before = *place;
    *place = PLACE_MEMORY;
    if (c->always || kept + bytes + l->window_bytes <= room)
        return 1;
    uint64_t window = window_bytes(l, p);
    if (kept + bytes + window <= room) {
        l->window_bytes = window;
        return 1;
    }
    *place = before;
    return 0;
}

/* Moves as many arrays to memory as fit in `room` bytes. Returns their bytes. All rows of a kind
 * have the same size: if one does not fit, the others are not tried. */
static uint64_t keep_most(struct layout *l, const struct program *p, uint64_t room)
{
    size_t count;
    uint64_t kept = 0;
    int full[STORE_KINDS] = { 0 };
    SCOPED_MEM struct choice *choices = list_choices(l, p, &count);
    for (size_t i = 0; i < count; i++) {
        const struct choice *c = &choices[i];
        int stays = !full[c->kind] && (room || c->always) && keep(l, p, c, kept, room);
        if (stays)
            kept += layout_bytes(l, c->kind, c->number);
        full[c->kind] |= !stays && c->kind >= STORE_BLOCKS;
    }
    return kept;
}

static int choose(struct layout *l, const struct store_config *c)
{
    const uint64_t all = c->memory_bytes, gathered = l->gathered_bytes;
    const uint64_t room = all > gathered ? all - gathered : 0;
    assert(c->program);
    for (int kind = 0; kind < STORE_KINDS; kind++)
        memset(l->place[kind], c->dir ? PLACE_FILE : PLACE_HOST, (size_t)l->count[kind]);
    l->window_bytes = window_bytes(l, c->program);
    uint64_t kept = keep_most(l, c->program, room);
    l->window_bytes = window_bytes(l, c->program);
    const uint64_t needed = kept + l->window_bytes + gathered;
    if (!all || needed <= all)
        return 0;
    char need[32], have[32];
    return err_set("memory is too small: one phase of a step needs %s, but only %s are left for it",
                   log_bytes(need, needed), log_bytes(have, all));
}

/* ---- a GPU's arrays in the host's memory ------------------------------------------------------ */

/* Returns the bytes of all arrays kept in `place`, and in *largest those of the largest one. */
static uint64_t bytes_in(const struct layout *l, enum place place, uint64_t *largest)
{
    uint64_t sum = 0;
    *largest = 0;
    for (int kind = 0; kind < STORE_KINDS; kind++)
        for (int i = 0; i < l->count[kind]; i++) {
            const uint64_t bytes = mapped_bytes(layout_bytes(l, kind, i));
            if (l->place[kind][i] != place)
                continue;
            sum += bytes;
            *largest = bytes > *largest ? bytes : *largest;
        }
    return sum;
}

/* Moves as many arrays from the file to the host's memory as fit in `room` bytes. */
static void fill_host(struct layout *l, const struct program *p, uint64_t room)
{
    size_t count;
    SCOPED_MEM struct choice *choices = list_choices(l, p, &count);
    for (size_t i = 0; i < count; i++) {
        const struct choice *c = &choices[i];
        const uint64_t bytes = mapped_bytes(layout_bytes(l, c->kind, c->number));
        unsigned char *place = &l->place[c->kind][c->number];
        if (*place != PLACE_FILE || bytes > room)
            continue;
        *place = PLACE_HOST;
        room -= bytes;
    }
}

/* Divides the arrays that are not in the GPU's memory between the host's memory and the file. */
static int choose_host(struct layout *l, const struct store_config *c)
{
    const uint64_t limit = c->host_bytes;
    uint64_t largest, all = bytes_in(l, c->dir ? PLACE_FILE : PLACE_HOST, &largest);
    char need[32], have[32];
    if (!c->dir && limit && all > limit)
        return err_set("the host's memory takes %s, which is more than --memory %s: give "
                       "--memmap-dir",
                       log_bytes(need, all), log_bytes(have, limit));
    if (!c->dir)
        return 0;
    l->stage_bytes = all <= limit ? 0 : LAYOUT_STAGES * largest;
    if (limit && l->stage_bytes > limit)
        return err_set("the host's memory between the file and the GPU takes %s, which is more "
                       "than --memory %s",
                       log_bytes(need, l->stage_bytes), log_bytes(have, limit));
    if (limit)
        fill_host(l, c->program, limit - l->stage_bytes);
    return 0;
}

/* ---- gathered arrays ------------------------------------------------------------------------- */

/* Counts the bytes in the window of shared arrays during a phase, each array once. */
struct window {
    const struct layout *layout;
    const struct program *program;
    int blocks;
    unsigned char *made; /* [blocks]: 1: gradients that wait for their sum */
    int summed;          /* block whose sum began last; -1: none */
    unsigned char *in; /* [2][blocks]: parameters and gradients that were counted for this phase */
};

/* Returns the bytes of an array and marks it as counted, or 0 if it was counted before. */
static uint64_t count_in(struct window *w, int kind, int block)
{
    unsigned char *in = &w->in[(kind == STORE_GRADIENTS) * w->blocks + block];
    if (*in)
        return 0;
    *in = 1;
    return layout_whole_bytes(layout_bounds(w->layout, kind, block)[w->layout->ranks],
                              w->layout->type[kind]);
}

/* Returns the bytes of the arrays that are in the window during phase n. */
static uint64_t phase_window(struct window *w, int64_t n)
{
    const struct use *all[PROGRAM_TOGETHER];
    const int count = program_together(w->program, n, all);
    uint64_t sum = 0;
    memset(w->in, 0, 2 * (size_t)w->blocks);
    for (int i = 0; i < count; i++)
        if (layout_is_gathered(w->layout, all[i]->kind) && !all[i]->own)
            sum += count_in(w, all[i]->kind, all[i]->number);
    for (int b = 0; b < w->blocks; b++)
        sum += w->made[b] || b == w->summed ? count_in(w, STORE_GRADIENTS, b) : 0;
    return sum;
}

/* Returns the most bytes of gathered arrays that are in the window at once. Traverses the program
 * twice: gradients of a tied table stay there after the last stage of a pipeline has sent them. */
static uint64_t gathered_window(const struct layout *l, const struct program *p, int blocks)
{
    SCOPED_MEM unsigned char *made = mem_zalloc((size_t)blocks, 1),
                             *in = mem_zalloc(2 * (size_t)blocks, 1);
    struct window w = { l, p, blocks, made, -1, in };
    uint64_t most = 0;
    for (int64_t n = 0; n < 2 * p->count; n++) {
        const struct phase *f = &p->phases[n % p->count];
        w.summed = n == p->count ? -1 : w.summed; /* no sum goes on after its step */
        uint64_t bytes = phase_window(&w, n % p->count);
        w.summed = f->kind == PHASE_SUM && layout_is_gathered(l, STORE_GRADIENTS) ? f->block
                                                                                  : w.summed;
        most = bytes > most ? bytes : most;
        for (int i = 0; i < f->count; i++)
            if (f->uses[i].kind == STORE_GRADIENTS && !f->uses[i].own)
                w.made[f->uses[i].number] = f->kind != PHASE_SUM;
    }
    return most;
}

int layout_init(struct layout *l, const struct tensor_table *t, const struct store_config *c)
{
    lay_out(l, t, c);
    if (l->zero > 1)
        l->gathered_bytes = gathered_window(l, c->program, t->blocks);
    if (!c->dir && !c->offload)
        return 0;
    return choose(l, c) < 0 || (c->offload && choose_host(l, c) < 0) ? -1 : 0;
}

void layout_release(struct layout *l)
{
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        free(l->elements[kind]);
        free(l->place[kind]);
    }
    for (int kind = 0; kind < STORE_BLOCKS; kind++) {
        free(l->offset[kind]);
        free(l->bounds[kind]);
    }
    free(l->owner);
    *l = (struct layout){ 0 };
}

static void add_file(struct store_plan *p, const struct layout *l, const struct program *program,
                     int kind, int i)
{
    struct moves m = i < program->arrays[kind] ? program->moves[kind][i] : (struct moves){ 0 };
    const uint64_t bytes = mapped_bytes(layout_bytes(l, kind, i));
    if (layout_is_gathered(l, kind)) { /* gradients are made whole, and so never gathered */
        m.reads = m.own_reads + (kind == STORE_PARAMETERS ? m.reads : 0);
        m.writes = m.own_writes;
    }
    p->file_bytes += bytes;
    p->read_bytes += bytes * (uint64_t)m.reads;
    p->written_bytes += bytes * (uint64_t)m.writes;
}

int store_plan(struct store_plan *p, const struct tensor_table *t, const struct store_config *c)
{
    struct layout l;
    int result = layout_init(&l, t, c);
    *p = (struct store_plan){ .window_bytes = l.window_bytes,
                              .gathered_bytes = l.gathered_bytes,
                              .host_bytes = l.stage_bytes };
    for (int kind = 0; kind < STORE_KINDS; kind++)
        for (int i = 0; i < l.count[kind]; i++) {
            uint64_t bytes = layout_bytes(&l, kind, i);
            p->kind_bytes[kind] += bytes;
            if (l.place[kind][i] == PLACE_FILE)
                add_file(p, &l, c->program, kind, i);
            else
                *(l.place[kind][i] == PLACE_HOST ? &p->host_bytes : &p->memory_bytes) += bytes;
        }
    layout_release(&l);
    return result;
}

uint64_t store_plan_total(const struct store_plan *p)
{
    return p->memory_bytes + p->window_bytes + p->gathered_bytes;
}
