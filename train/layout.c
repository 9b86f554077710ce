#include "train/layout.h"

#include <stdlib.h>

#include "common/err.h"
#include "common/log.h"
#include "common/mem.h"

/* ---- arrays ------------------------------------------------------------------------------------- */

static int is_moment(int kind)
{
    return kind == STORE_MOMENT1 || kind == STORE_MOMENT2;
}

static int has(const unsigned char *moments, size_t row, int kind)
{
    return !is_moment(kind) || !moments || moments[row] > kind - STORE_MOMENT1;
}

/* Where the tensors of a kind stand: as the table says, without those that have none. */
static void lay_out_blocks(struct layout *l, const struct tensor_table *t,
                           const struct store_config *c, int kind)
{
    int64_t *size = l->elements[kind], *offset = mem_zalloc(t->count, sizeof *offset);
    for (size_t i = 0; i < t->count; i++) {
        const struct tensor *row = &t->rows[i];
        int64_t elements = tensor_elements(row);
        offset[i] = has(c->moments, i, kind) ? size[row->block] : -1;
        if (offset[i] >= 0)
            size[row->block] += (elements + TENSOR_ALIGN - 1) / TENSOR_ALIGN * TENSOR_ALIGN;
    }
    l->offset[kind] = offset;
}

static enum ops_type type_of(const struct store_config *c, int kind)
{
    int half = kind == STORE_PARAMETERS ? c->half_parameters
               : is_moment(kind)        ? c->half_moments
                                        : c->half_activations;
    return half && kind != STORE_GRADIENTS && kind != STORE_CACHE + CACHE_SUMS ? OPS_BF16 : OPS_F32;
}

static void lay_out(struct layout *l, const struct tensor_table *t, const struct store_config *c)
{
    *l = (struct layout){ 0 };
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        size_t count = kind < STORE_BLOCKS ? (size_t)t->blocks : (size_t)c->rows[kind].count;
        l->count[kind] = (int)count;
        l->type[kind] = type_of(c, kind);
        l->elements[kind] = mem_zalloc(count + 1, sizeof *l->elements[kind]);
        l->in_file[kind] = mem_zalloc(count + 1, 1);
        if (kind < STORE_BLOCKS)
            lay_out_blocks(l, t, c, kind);
        for (size_t i = 0; i < count && kind >= STORE_BLOCKS; i++)
            l->elements[kind][i] = c->rows[kind].elements;
    }
}

uint64_t layout_bytes(const struct layout *l, enum store_kind kind, int i)
{
    return (uint64_t)l->elements[kind][i] * ops_type_bytes(l->type[kind]);
}

/* ---- what is in the file ------------------------------------------------------------------------- */

/* Of a kind of rows the first are those that stay in memory. */
static uint64_t file_bytes(const struct layout *l, int kind, int i)
{
    return i >= 0 && i < l->count[kind] && l->in_file[kind][i] ? layout_bytes(l, kind, i) : 0;
}

/* Of the file, what is in use at once on the way back through block b: its parameters and
 * gradients, with the head the embedding's too, and one of each kind of rows, of x two. */
static uint64_t used_backward(const struct layout *l, int b)
{
    uint64_t sum = file_bytes(l, STORE_PARAMETERS, b) + file_bytes(l, STORE_GRADIENTS, b) +
                   file_bytes(l, STORE_X, l->count[STORE_X] - 1);
    if (b && b == l->count[STORE_PARAMETERS] - 1)
        sum += file_bytes(l, STORE_PARAMETERS, 0) + file_bytes(l, STORE_GRADIENTS, 0);
    for (int kind = STORE_BLOCKS; kind < STORE_KINDS; kind++)
        sum += file_bytes(l, kind, l->count[kind] - 1);
    return sum;
}

static uint64_t used_in_update(const struct layout *l, int b)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < STORE_BLOCKS; kind++)
        sum += file_bytes(l, kind, b);
    return sum;
}

/* The most that two phases which follow each other have in use, but no more than there is. */
static uint64_t window_bytes(const struct layout *l, uint64_t file_total)
{
    uint64_t most = 0;
    for (int b = 0; b < l->count[STORE_PARAMETERS]; b++) {
        uint64_t back = used_backward(l, b) + used_backward(l, b + 1);
        uint64_t update = used_in_update(l, b) + used_in_update(l, b + 1);
        most = back > most ? back : most;
        most = update > most ? update : most;
    }
    return most < file_total ? most : file_total;
}

/* Arrays of a kind that a step would move equally often between memory and file. */
struct class
{
    int kind, first, end;
    int moves;
};

enum { CLASSES = STORE_KINDS + 2, ALWAYS = 1 << 30 };

/* What phases that follow each other use stays between them, what is dropped is not written, and
 * what there is one of has no other to give way to. */
static int list_classes(struct class *c, const struct layout *l, int groups)
{
    const int moves[STORE_KINDS] = {
        [STORE_PARAMETERS] = 2 * groups + 2, /* forward and backward; update */
        [STORE_GRADIENTS] = 2 * groups,      /* made, added to; update */
        [STORE_MOMENT1] = 2,
        [STORE_MOMENT2] = 2,
        [STORE_X] = 3 * groups, /* made, read by the next layer and on the way back */
        [STORE_DX] = 2 * groups * l->count[STORE_PARAMETERS], /* by each layer */
        [STORE_CACHE + CACHE_ATTENTION] = 2 * groups,
        [STORE_CACHE + CACHE_REST] = 2 * groups,
        [STORE_CACHE + CACHE_SUMS] = 2 * groups,
    };
    int n = 0;
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        int first = kind <= STORE_GRADIENTS; /* the embedding's are the head's, too */
        int always = kind >= STORE_BLOCKS && l->count[kind] == 1;
        if (first)
            c[n++] = (struct class){ kind, 0, 1, moves[kind] + 2 * groups };
        c[n++] = (struct class){ kind, first, l->count[kind], always ? ALWAYS : moves[kind] };
    }
    return n;
}

/* Of equally many the embedding first: the head is used with it, and takes a smaller window alone.
 */
static int by_moves(const void *a, const void *b)
{
    const struct class *x = a, *y = b;
    int alone = (y->end == 1) - (x->end == 1);
    if (x->moves != y->moves)
        return x->moves > y->moves ? -1 : 1;
    return alone ? alone : (x->kind > y->kind) - (x->kind < y->kind);
}

/* Takes an array out of the file, if there is room for it and the window that is then left. */
static int keep(struct layout *l, int kind, int i, uint64_t *kept, uint64_t *filed, uint64_t room)
{
    uint64_t bytes = layout_bytes(l, kind, i);
    l->in_file[kind][i] = 0;
    if (*kept + bytes + window_bytes(l, *filed - bytes) <= room) {
        *kept += bytes;
        *filed -= bytes;
        return 1;
    }
    l->in_file[kind][i] = 1;
    return 0;
}

static int choose(struct layout *l, const struct store_config *c)
{
    struct class classes[CLASSES];
    int n = list_classes(classes, l, c->groups > 0 ? c->groups : 1);
    uint64_t kept = 0, filed = 0, room = c->memory_bytes;
    for (int kind = 0; kind < STORE_KINDS; kind++)
        for (int i = 0; i < l->count[kind]; i++) {
            l->in_file[kind][i] = 1;
            filed += layout_bytes(l, kind, i);
        }
    qsort(classes, (size_t)n, sizeof *classes, by_moves);
    for (int k = 0; k < n; k++)
        for (int i = classes[k].first; i < classes[k].end; i++)
            if (!keep(l, classes[k].kind, i, &kept, &filed,
                      classes[k].moves == ALWAYS ? UINT64_MAX : room) &&
                classes[k].kind >= STORE_BLOCKS)
                break;
    l->window_bytes = window_bytes(l, filed);
    if (!room || kept + l->window_bytes <= room)
        return 0;
    char need[32], have[32];
    return err_set("memory is too small: one phase of a step needs %s, but only %s are left for it",
                   log_bytes(need, kept + l->window_bytes), log_bytes(have, room));
}

/* ---- the layout ---------------------------------------------------------------------------------- */

int layout_init(struct layout *l, const struct tensor_table *t, const struct store_config *c)
{
    lay_out(l, t, c);
    return c->dir ? choose(l, c) : 0;
}

void layout_release(struct layout *l)
{
    for (int kind = 0; kind < STORE_KINDS; kind++) {
        free(l->elements[kind]);
        free(l->in_file[kind]);
    }
    for (int kind = 0; kind < STORE_BLOCKS; kind++)
        free(l->offset[kind]);
    *l = (struct layout){ 0 };
}

int store_plan(struct store_plan *p, const struct tensor_table *t, const struct store_config *c)
{
    struct layout l;
    int result = layout_init(&l, t, c);
    *p = (struct store_plan){ .window_bytes = l.window_bytes };
    for (int kind = 0; kind < STORE_KINDS; kind++)
        for (int i = 0; i < l.count[kind]; i++) {
            uint64_t bytes = layout_bytes(&l, kind, i);
            p->kind_bytes[kind] += bytes;
            *(l.in_file[kind][i] ? &p->file_bytes : &p->memory_bytes) += bytes;
        }
    layout_release(&l);
    return result;
}

uint64_t store_plan_total(const struct store_plan *p)
{
    return p->memory_bytes + p->window_bytes;
}
