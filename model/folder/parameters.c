#include "model/folder/parameters.h"

#include "model/compute/stored.h"
#include "model/folder/folder.h"
#include "model/folder/gguf_model.h"
#include "model/network/architecture.h"

enum { FEW_OUTPUTS = 16 };

/* ---- the type of each tensor ------------------------------------------------------------- */

enum ops_type parameters_type(const struct model *m, size_t row, enum ops_type weights)
{
    const int decoder = model_is_decoder(m, row), map = model_is_map(m, row);
    const int64_t *shape = m->tensors.rows[row].shape; /* a map's is [in,out] */
    if ((!map || shape[1] < FEW_OUTPUTS) && !decoder)
        return OPS_F32;
    if (weights == OPS_IQ4_NL && (decoder || m->tensors.rows[row].precious))
        weights = OPS_Q8;
    return stored_fits(weights, shape[!map]) ? weights : OPS_F32;
}

/* ---- the lists ---------------------------------------------------------------------------- */

static void make_lists(struct parameters *p, const struct model *m)
{
    p->count = m->tensors.count + 1;
    p->items = mem_zalloc(p->count, sizeof *p->items);
    p->own = mem_zalloc(p->count, sizeof *p->own);
    p->blocks = mem_zalloc((size_t)m->tensors.blocks, sizeof *p->blocks);
    for (int b = 0; b < m->tensors.blocks; b++) /* the last item of block 0 is that of tied_item */
        p->blocks[b] = ops_host_array(p->items + m->tensors.first[b] + (b > 0), OPS_LIST);
}

/* Returns the index in p->items of the tensor in row `row` of the table. */
static size_t item_of(const struct model *m, size_t row)
{
    return row + (m->tensors.rows[row].block > 0);
}

/* Returns the index in p->items of a tied decoder. */
static size_t tied_item(const struct model *m)
{
    return m->tensors.first[1];
}

/* ---- tensors ------------------------------------------------------------------------------ */

/* What loading needs. */
struct loading {
    struct parameters *p;
    const struct model *m;
    struct ops *o;
    struct pool *pool;
    enum ops_type weights;
    const struct gguf *gguf; /* NULL: a folder */
    uint64_t *need; /* if not NULL, nothing is made: the bytes that would be are added here */
};

/* Sets p->items[item] to the matrix in type `type`, with `grouped` in groups: to the file's bytes
 * if they have this layout, else to a converted copy. A device other than the host gets a copy of
 * either. Takes over `copy`. */
static int put(const struct loading *k, size_t item, const struct matrix *x, unsigned char *copy,
               enum ops_type type, int grouped)
{
    const size_t bytes = ops_type_bytes(x->type); /* 0 for blocks, which need no alignment */
    const int in_place = matrix_is(x, type, grouped) && (!bytes || (uintptr_t)x->data % bytes == 0);
    if (k->need) {
        *k->need += in_place ? 0 : stored_bytes(type, x->O * x->I);
        free(copy);
        return 0;
    }
    char *made = in_place ? NULL : matrix_make(x, type, grouped, k->pool);
    void *own = in_place ? (void *)copy : made;
    char *numbers = in_place ? (char *)(uintptr_t)x->data : made;
    if (!in_place)
        free(copy);
    if (!numbers)
        return -1;
    if (made && k->gguf)
        file_map_leave(&k->gguf->map, x->offset, stored_bytes(x->type, x->O * x->I));
    if (ops_on_host(k->o)) {
        k->p->items[item] = ops_host_array(numbers, type);
        k->p->own[item] = own;
    } else {
        k->p->items[item] = ops_buffer(k->o, type, x->O * x->I);
        ops_upload(k->o, k->p->items[item], numbers, x->O * x->I);
        free(own);
    }
    return in_place && grouped ? matrix_check_groups(x, k->pool) : 0;
}

/* Returns the type in which a matrix of the file is used. With --weights auto this is the file's
 * type, or F16 if products cannot read that. */
static enum ops_type used_type(const struct loading *k, size_t row, enum ops_type stored)
{
    if (k->weights != STORED_AUTO)
        return parameters_type(k->m, row, k->weights);
    return stored_only_read(stored) ? OPS_F16 : stored;
}

/* Returns 1 if a lookup table, norm or bias in this type is used as it is, else 0. On the host
 * tables may have any type, since rows are converted when they are looked up. */
static int is_kept(const struct loading *k, size_t row, enum ops_type type)
{
    const int table = k->m->tensors.rows[row].rank == 2 && k->m->tensors.rows[row].block == 0;
    if (!ops_on_host(k->o))
        return table && type == OPS_BF16;
    return type == OPS_BF16 || (table && type != OPS_F64);
}

/* Sets p->items[item] to a matrix of a linear map or the decoder's table; if `matrix` is 0, to a
 * lookup table, a norm or a bias. */
static int use(const struct loading *k, size_t row, size_t item, const char *name, int matrix)
{
    struct matrix x;
    unsigned char *copy = NULL;
    if ((k->gguf ? gguf_model_matrix(&x, k->gguf, k->m, row, name)
                 : folder_matrix(&x, &copy, k->m, &k->p->files.weights, row)) < 0)
        return -1;
    const enum ops_type type = matrix                    ? used_type(k, row, x.type)
                               : is_kept(k, row, x.type) ? x.type
                                                         : OPS_F32;
    return put(k, item, &x, copy, type, matrix && stored_grouped(type));
}

static int use_tensor(const struct loading *k, size_t row)
{
    const struct model *m = k->m;
    const int decoder = model_is_decoder(m, row);
    if (model_is_map(m, row) || (decoder && !m->tied))
        return use(k, row, item_of(m, row), NULL, 1);
    if (decoder && !ops_on_host(k->o)) { /* the decoder and the lookups share the table */
        const int failed = use(k, row, item_of(m, row), NULL, 1);
        k->p->items[tied_item(m)] = k->p->items[item_of(m, row)];
        return failed;
    }
    if (use(k, row, item_of(m, row), NULL, 0) < 0)
        return -1;
    const char *copy = k->gguf && gguf_tensor(k->gguf, "output.weight") ? "output.weight" : NULL;
    return decoder ? use(k, row, tied_item(m), copy, 1) : 0;
}

/* ---- all ---------------------------------------------------------------------------------- */

static int check_device(const struct ops *o, const char *dir, enum ops_type weights)
{
    if (ops_on_host(o))
        return 0;
    if (gguf_is(dir))
        return err_usage("a GPU cannot use a GGUF file: give a model folder, or --device cpu");
    if (weights == OPS_F32 || weights == OPS_BF16 || weights == STORED_AUTO)
        return 0;
    return err_usage("on a GPU, --weights must be auto, f32 or bf16");
}

static int load_small(struct parameters *p, struct model *m, struct ops *o, const char *dir,
                      enum model_head head, enum ops_type weights)
{
    const struct model_config wanted = { .head = head };
    int failed = 0;
    if (folder_open(m, &p->files, dir, &wanted, NULL) < 0)
        return -1;
    const struct gguf *gguf = p->files.gguf.path ? &p->files.gguf : NULL;
    uint64_t need = 0;
    struct loading k = { p, m, o, pool_new(ops_threads(o)), weights, gguf, &need };
    make_lists(p, m);
    for (size_t i = 0; i < m->tensors.count && !failed && ops_on_host(o); i++)
        failed = use_tensor(&k, i);
    if (!failed)
        failed = folder_check_machine(dir, need, "");
    k.need = NULL;
    for (size_t i = 0; i < m->tensors.count && !failed; i++)
        failed = use_tensor(&k, i);
    pool_free(k.pool);
    return failed;
}

/* Limits positions to the window on a GPU, which cannot compute attention in a window. Returns 0,
 * or -1 with an error for ModernBERT and for heads that are too wide. */
static int stay_in_window(struct model_config *c, const struct ops *o)
{
    if (ops_on_host(o))
        return 0;
    if (c->local_pause)
        return err_usage("a GPU cannot compute a %s yet: give --device cpu",
                         c->architecture->title);
    if (c->head_width > OPS_GPU_HEAD)
        return err_usage("a GPU takes heads of at most %d numbers, not %lld: give --device cpu",
                         OPS_GPU_HEAD, (long long)c->head_width);
    if (c->window && c->window < c->positions)
        c->positions = c->window;
    return 0;
}

int parameters_load(struct parameters *p, struct model *m, struct ops *o, const char *dir,
                    enum model_head head, enum ops_type weights)
{
    *p = (struct parameters){ 0 };
    if (check_device(o, dir, weights) < 0)
        return -1;
    const int large = !gguf_is(dir) && (weights == OPS_F32 || weights == STORED_AUTO);
    int failed = large ? folder_load(m, o, &p->blocks, dir, head, 0, NULL)
                       : load_small(p, m, o, dir, head, weights);
    if (!failed)
        failed = stay_in_window(&m->config, o);
    if (failed)
        parameters_release(p, m, o);
    return failed;
}

void parameters_release(struct parameters *p, struct model *m, struct ops *o)
{
    /* a shared table is freed as the item of its row */
    for (size_t i = 0; p->items && !ops_on_host(o) && i < m->tensors.count; i++)
        ops_buffer_free(o, p->items[item_of(m, i)]);
    for (size_t i = 0; i < p->count; i++)
        free(p->own[i]);
    if (p->items)
        free(p->blocks);
    else
        folder_free_blocks(m, o, p->blocks);
    free(p->items);
    free(p->own);
    if (p->blocks)
        model_release(m);
    folder_close(&p->files);
    *p = (struct parameters){ 0 };
}
