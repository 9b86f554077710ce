#include "model/parameters.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "model/folder.h"
#include "model/gguf_model.h"
#include "model/stored.h"

enum { FEW_OUTPUTS = 16, LINES = 16 /* outputs that are transposed at once */ };

/* ---- choice of the type ------------------------------------------------------------------- */

/* inputs_of and outputs_of return the number of inputs and of outputs of a weight matrix or of the
 * decoder. */
static int64_t inputs_of(const struct model *m, size_t row)
{
    return m->tensors.rows[row].shape[model_is_map(m, row) ? 0 : 1];
}

static int64_t outputs_of(const struct model *m, size_t row)
{
    return m->tensors.rows[row].shape[model_is_map(m, row) ? 1 : 0];
}

enum ops_type parameters_type(const struct model *m, size_t row, enum ops_type weights)
{
    int small = (model_is_map(m, row) && outputs_of(m, row) >= FEW_OUTPUTS) ||
                model_is_decoder(m, row);
    return small && stored_fits(weights, inputs_of(m, row)) ? weights : OPS_F32;
}

/* ---- one tensor --------------------------------------------------------------------------- */

/* The conversion of a float matrix to rows of a stored type, one row of I numbers per output.
 * numbers is [O,I], or [I,O] if turned is 1. */
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

char *parameters_rows(const struct model *m, size_t row, enum ops_type type, const float *numbers,
                      struct pool *pool)
{
    const struct tensor *t = &m->tensors.rows[row];
    struct making s = { .numbers = numbers, .type = type, .O = t->shape[0], .I = 1 };
    if (t->rank == 2) {
        s.O = outputs_of(m, row);
        s.I = inputs_of(m, row);
        s.turned = model_is_map(m, row) && !t->transposed;
    }
    s.rows = mem_alloc((size_t)s.O * stored_bytes(type, s.I));
    pool_for(pool, s.O, LINES, make_rows, &s);
    return s.rows;
}

/* The context of the functions that put the tensors of a model file into the parameter lists. */
struct taking {
    struct parameters *p;
    struct ops *o;
    struct pool *pool;
    enum ops_type weights;
};

static struct ops_array matrix(const struct taking *k, const struct model *m, size_t row,
                               enum ops_type type, const float *numbers)
{
    char *rows = parameters_rows(m, row, type, numbers, k->pool);
    struct ops_array w = ops_weights(k->o, type, rows, outputs_of(m, row), inputs_of(m, row), 0);
    free(rows);
    return w;
}

static struct ops_array vector(const struct taking *k, const float *numbers, int64_t n)
{
    return ops_weights(k->o, OPS_F32, numbers, 1, n, 0);
}

/* Returns the first item of a block in p->items. The items of a block are its tensors; block 0 has
 * one more item at its end, for the tied decoder. */
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
    if (model_is_map(m, row) || (model_is_decoder(m, row) && !m->tied))
        *item = matrix(k, m, row, parameters_type(m, row, k->weights), numbers);
    else
        *item = vector(k, numbers, tensor_elements(t));
    if (model_is_decoder(m, row) && m->tied)
        list_of(k->p, m, 1)[-1] = matrix(k, m, row, parameters_type(m, row, k->weights), numbers);
    return 0;
}

/* ---- all ---------------------------------------------------------------------------------- */

static void make_lists(struct parameters *p, const struct model *m)
{
    p->count = m->tensors.count + 1;
    p->items = mem_zalloc(p->count, sizeof *p->items);
    p->kept = mem_zalloc(p->count, sizeof *p->kept);
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

/* ---- a GGUF file -------------------------------------------------------------------------- */

/* A search for scales that are not finite in a matrix of Q8 or Q4 blocks. The threads share the
 * rows of the matrix. */
struct checking {
    const char *rows;
    enum ops_type type;
    int64_t n; /* numbers of a row */
    atomic_int bad;
};

static void check_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    struct checking *c = ctx;
    const char *from = c->rows + (uint64_t)begin * stored_bytes(c->type, c->n);
    if (stored_bad(c->type, from, (end - begin) * c->n) >= 0)
        atomic_store(&c->bad, 1);
}

/* Uses a matrix in the type that the file stores. The rows are used in the mapped file without a
 * copy, unless the file pairs the rows of a head in another order; then they are copied in the
 * order that the model needs. */
static int use_rows(const struct taking *k, const struct model *m, size_t row,
                    const struct gguf_tensor *t, size_t item)
{
    struct parameters *p = k->p;
    const enum ops_type type = (enum ops_type)gguf_model_stored(t);
    const int64_t O = outputs_of(m, row), I = inputs_of(m, row), HS = gguf_model_paired(m, row);
    const char *rows = (const char *)p->file.map.data + t->offset;
    const uint64_t bytes = stored_bytes(type, I);
    struct checking c = { .rows = rows, .type = type, .n = I };
    if (type == OPS_Q8 || type == OPS_Q4)
        pool_for(k->pool, O, LINES, check_rows, &c);
    if (c.bad)
        return gguf_model_check(&p->file, t);
    char *own = HS ? mem_alloc((size_t)O * bytes) : NULL;
    if (own)
        gguf_model_pair(own, rows, O, bytes, HS, 1);
    p->items[item] = ops_weights(k->o, type, own ? own : rows, O, I, !own);
    p->kept[item] = own ? NULL : rows;
    free(own);
    return 0;
}

/* Returns the numbers of tensor t as floats, with rows in the order that folder_each delivers. The
 * caller frees them. Returns NULL with an error if they cannot be read. */
static float *numbers_of(const struct taking *k, const struct model *m, size_t row,
                         const struct gguf_tensor *t)
{
    const int64_t HS = gguf_model_paired(m, row), rows = t->shape[0];
    float *x = mem_alloc((size_t)t->elements * sizeof *x);
    if (gguf_model_numbers(&k->p->file, t, x) < 0) {
        free(x);
        return NULL;
    }
    if (HS) {
        float *paired = x;
        x = mem_alloc((size_t)t->elements * sizeof *x);
        gguf_model_pair(x, paired, rows, (uint64_t)(t->elements / rows) * sizeof *x, HS, 1);
        free(paired);
    }
    return x;
}

/* Converts a matrix to another type than the one in the file. Matrices in GGUF files are [out,in],
 * so they are not transposed. */
static int convert_rows(const struct taking *k, const struct model *m, size_t row,
                        const struct gguf_tensor *t, size_t item)
{
    enum ops_type weights = k->weights == STORED_AUTO ? OPS_F16 : k->weights;
    struct making s = { .type = parameters_type(m, row, weights) };
    float *x = numbers_of(k, m, row, t);
    if (!x)
        return -1;
    s.numbers = x;
    s.O = outputs_of(m, row);
    s.I = inputs_of(m, row);
    s.rows = mem_alloc((size_t)s.O * stored_bytes(s.type, s.I));
    pool_for(k->pool, s.O, LINES, make_rows, &s);
    k->p->items[item] = ops_weights(k->o, s.type, s.rows, s.O, s.I, 0);
    free(s.rows);
    free(x);
    return 0;
}

static int use_matrix(const struct taking *k, const struct model *m, size_t row,
                      const struct gguf_tensor *t, size_t item)
{
    const int stored = gguf_model_stored(t);
    int same = stored >= 0 &&
               (k->weights == STORED_AUTO || stored == (int)parameters_type(m, row, k->weights));
    return same ? use_rows(k, m, row, t, item) : convert_rows(k, m, row, t, item);
}

/* Uses a tensor that is kept in F32: an embedding table, a norm or a bias. */
static int use_vector(const struct taking *k, const struct model *m, size_t row,
                      const struct gguf_tensor *t, size_t item)
{
    struct parameters *p = k->p;
    if (t->type == GGUF_TENSOR_F32 && !gguf_model_paired(m, row)) {
        p->kept[item] = p->file.map.data + t->offset;
        p->items[item] = ops_weights(k->o, OPS_F32, p->kept[item], 1, t->elements, 1);
        return 0;
    }
    float *x = numbers_of(k, m, row, t);
    if (x)
        p->items[item] = vector(k, x, t->elements);
    free(x);
    return x ? 0 : -1;
}

static int use_tensor(const struct taking *k, const struct model *m, size_t row)
{
    struct parameters *p = k->p;
    const struct tensor *wanted = &m->tensors.rows[row];
    const struct gguf_tensor *t = gguf_model_tensor(&p->file, m, row);
    const size_t item = (size_t)(list_of(p, m, wanted->block) - p->items) + (size_t)wanted->place;
    const int decoder = model_is_decoder(m, row);
    if (!t)
        return -1;
    if (model_is_map(m, row) || (decoder && !m->tied))
        return use_matrix(k, m, row, t, item);
    if (use_vector(k, m, row, t, item) < 0)
        return -1;
    if (!decoder)
        return 0;
    const struct gguf_tensor *own = gguf_tensor(&p->file, "output.weight");
    if (own && (own->rank != 2 || own->shape[0] != t->shape[0] || own->shape[1] != t->shape[1]))
        return err_set("%s: bad shape of tensor 'output.weight': not that of 'token_embd.weight'",
                       p->file.path);
    return use_matrix(k, m, row, own ? own : t, (size_t)(list_of(p, m, 1) - p->items) - 1);
}

static int load_gguf(struct taking *k, struct model *m, const char *path, enum model_head head)
{
    *m = (struct model){ 0 };
    if (gguf_open(&k->p->file, path) < 0)
        return -1;
    if (gguf_model_read(m, &k->p->file, head) < 0)
        return -1;
    make_lists(k->p, m);
    for (size_t i = 0; i < m->tensors.count; i++)
        if (use_tensor(k, m, i) < 0)
            return -1;
    return 0;
}

/* ---- either ------------------------------------------------------------------------------- */

static int load_small(struct parameters *p, struct model *m, struct ops *o, const char *dir,
                      enum model_head head, enum ops_type weights)
{
    if (!ops_on_host(o))
        return err_usage("only the CPU computes with small weights and GGUF files");
    struct taking k = { p, o, pool_new(ops_threads(o)), weights };
    int failed = gguf_is(dir) ? load_gguf(&k, m, dir, head)
                              : folder_each(m, dir, head, begin, take, &k);
    pool_free(k.pool);
    return failed;
}

int parameters_load(struct parameters *p, struct model *m, struct ops *o, const char *dir,
                    enum model_head head, enum ops_type weights)
{
    *p = (struct parameters){ 0 };
    if (!gguf_is(dir) && (weights == OPS_F32 || weights == STORED_AUTO))
        return folder_load(m, o, &p->blocks, dir, head, 0, NULL);
    int failed = load_small(p, m, o, dir, head, weights);
    if (failed)
        parameters_release(p, m, o);
    return failed;
}

void parameters_release(struct parameters *p, struct model *m, struct ops *o)
{
    for (size_t i = 0; i < p->count; i++)
        ops_weights_free(o, p->items[i], p->kept[i]);
    if (p->items)
        free(p->blocks);
    else
        folder_free_blocks(m, o, p->blocks);
    free(p->items);
    free(p->kept);
    if (p->blocks)
        model_release(m);
    gguf_close(&p->file);
    *p = (struct parameters){ 0 };
}
