#include "model/parameters.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/pool.h"
#include "model/folder.h"
#include "model/stored.h"

enum { FEW_OUTPUTS = 16, LINES = 16 /* outputs that are turned at once */ };

/* ---- which are small ---------------------------------------------------------------------- */

static int is_decoder(const struct model *m, size_t row)
{
    return m->config.head == HEAD_NEXT && row == (m->tied ? 0 : m->decoder_table);
}

/* Whether a row is a matrix of a linear map, [in,out]. */
static int is_map(const struct model *m, size_t row)
{
    const struct tensor *t = &m->tensors.rows[row];
    return t->rank == 2 && t->block > 0 && !is_decoder(m, row);
}

/* Inputs of a map or of the decoder. */
static int64_t inputs_of(const struct model *m, size_t row)
{
    return m->tensors.rows[row].shape[is_map(m, row) ? 0 : 1];
}

static int64_t outputs_of(const struct model *m, size_t row)
{
    return m->tensors.rows[row].shape[is_map(m, row) ? 1 : 0];
}

/* The type in which a row's numbers are kept when `weights` are asked for. */
static enum ops_type type_of(const struct model *m, size_t row, enum ops_type weights)
{
    int small = (is_map(m, row) && outputs_of(m, row) >= FEW_OUTPUTS) || is_decoder(m, row);
    return small && stored_fits(weights, inputs_of(m, row)) ? weights : OPS_F32;
}

/* ---- one tensor --------------------------------------------------------------------------- */

/* Rows of O outputs are made of numbers[O,I], or of its transpose. */
struct making {
    const float *numbers;
    char *rows;
    enum ops_type type;
    int64_t O, I;
    int turned;
};

static void make_lines(const struct making *s, float *lines, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < s->I && s->turned; i++)
        for (int64_t l = 0; l < n; l++)
            lines[l * s->I + i] = s->numbers[i * s->O + first + l];
    const float *from = s->turned ? lines : s->numbers + first * s->I;
    const uint64_t bytes = stored_bytes(s->type, s->I);
    for (int64_t l = 0; l < n; l++)
        stored_make(s->type, s->rows + (uint64_t)(first + l) * bytes, from + l * s->I, s->I);
}

static void make_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    const struct making *s = ctx;
    float *lines = s->turned ? mem_alloc((size_t)(LINES * s->I) * sizeof *lines) : NULL;
    for (int64_t o = begin; o < end; o += LINES)
        make_lines(s, lines, o, end - o < LINES ? end - o : LINES);
    free(lines);
}

/* What folder_each finds, on its way into the lists. */
struct taking {
    struct parameters *p;
    struct ops *o;
    struct pool *pool;
    enum ops_type weights;
};

static struct ops_array matrix(const struct taking *k, const struct model *m, size_t row,
                               const float *numbers)
{
    struct making s = { .numbers = numbers, .type = type_of(m, row, k->weights) };
    s.O = outputs_of(m, row);
    s.I = inputs_of(m, row);
    s.turned = is_map(m, row) && !m->tensors.rows[row].transposed;
    s.rows = mem_alloc((size_t)s.O * stored_bytes(s.type, s.I));
    pool_for(k->pool, s.O, LINES, make_rows, &s);
    struct ops_array w = ops_weights(k->o, s.type, s.rows, s.O, s.I, 0);
    free(s.rows);
    return w;
}

static struct ops_array vector(const struct taking *k, const float *numbers, int64_t n)
{
    return ops_weights(k->o, OPS_F32, numbers, 1, n, 0);
}

/* The list of a block: of its tensors, and of block 0 the tied decoder behind them. */
static struct ops_array *list_of(const struct parameters *p, const struct model *m, int block)
{
    size_t first = 0;
    for (size_t i = 0; i < m->tensors.count && m->tensors.rows[i].block < block; i++)
        first++;
    return p->items + first + (block > 0);
}

static int take(void *ctx, const struct model *m, size_t row, const float *numbers)
{
    const struct taking *k = ctx;
    const struct tensor *t = &m->tensors.rows[row];
    struct ops_array *item = list_of(k->p, m, t->block) + t->place;
    if (is_map(m, row) || (is_decoder(m, row) && !m->tied))
        *item = matrix(k, m, row, numbers);
    else
        *item = vector(k, numbers, tensor_elements(t));
    if (is_decoder(m, row) && m->tied)
        list_of(k->p, m, 1)[-1] = matrix(k, m, row, numbers);
    return 0;
}

/* ---- all ---------------------------------------------------------------------------------- */

static void make_lists(struct parameters *p, const struct model *m)
{
    p->count = m->tensors.count + 1;
    p->items = mem_zalloc(p->count, sizeof *p->items);
    p->blocks = mem_zalloc((size_t)m->tensors.blocks, sizeof *p->blocks);
    for (int b = 0; b < m->tensors.blocks; b++)
        p->blocks[b] = ops_host_array(list_of(p, m, b), OPS_LIST);
}

static int begin(void *ctx, const struct model *m)
{
    const struct taking *k = ctx;
    make_lists(k->p, m);
    return 0;
}

int parameters_load(struct parameters *p, struct model *m, struct ops *o, const char *dir,
                    enum model_head head, enum ops_type weights)
{
    *p = (struct parameters){ 0 };
    if (weights == OPS_F32)
        return folder_load(m, o, &p->blocks, dir, head, 0, NULL);
    if (!ops_on_host(o))
        return err_usage("only the CPU computes with small weights: give --weights f32");
    struct taking k = { p, o, pool_new(ops_threads(o)), weights };
    int failed = folder_each(m, dir, head, begin, take, &k);
    pool_free(k.pool);
    if (failed)
        parameters_release(p, m, o);
    return failed;
}

void parameters_release(struct parameters *p, struct model *m, struct ops *o)
{
    if (p->items)
        for (size_t i = 0; i < p->count; i++)
            ops_weights_free(o, p->items[i], NULL);
    if (p->items)
        free(p->blocks);
    else
        folder_free_blocks(m, o, p->blocks);
    free(p->items);
    if (p->blocks)
        model_release(m);
    *p = (struct parameters){ 0 };
}
