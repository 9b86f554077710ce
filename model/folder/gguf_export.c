#include "model/folder/gguf_export.h"

#include "common/base/log.h"
#include "common/base/pool.h"
#include "model/compute/stored.h"
#include "model/folder/folder.h"
#include "model/folder/gguf_model.h"
#include "model/folder/parameters.h"

/* llama.cpp's numbers of the types: of a tensor; of most tensors of a file (general.file_type). */
static const struct {
    uint32_t tensor, file;
} numbers[] = { [OPS_F32] = { GGUF_TENSOR_F32, 0 },
                [OPS_F16] = { GGUF_TENSOR_F16, 1 },
                [OPS_BF16] = { GGUF_TENSOR_BF16, 32 },
                [OPS_Q8] = { GGUF_TENSOR_Q8_0, 7 },
                [OPS_IQ4_NL] = { GGUF_TENSOR_IQ4_NL, 25 } };

struct exporting {
    const struct gguf_export *how;
    struct model m;
    struct folder_files files;
    struct gguf_writer w;
    enum ops_type weights;
    struct pool *pool;
    size_t next;   /* the row of the tensor that is made next */
    int next_copy; /* 1: its copy as output.weight */
};

static enum ops_type type_of(const struct exporting *e, size_t row)
{
    return parameters_type(&e->m, row, e->weights);
}

static int is_tied(const struct exporting *e, size_t row)
{
    return e->m.tied && model_is_decoder(&e->m, row);
}

/* Returns 1 if tensor `row` is written in groups (stored.h). For a tied table these are a copy,
 * output.weight, because lookups read the rows of the table. */
static int in_groups(const struct exporting *e, size_t row)
{
    return e->how->ours && stored_grouped(type_of(e, row));
}

static int has_copy(const struct exporting *e, size_t row)
{
    return is_tied(e, row) && in_groups(e, row);
}

static void declare(struct exporting *e, const char *name, size_t row, int grouped)
{
    const enum ops_type type = type_of(e, row);
    const struct tensor *t = &e->m.tensors.rows[row];
    const int map = model_is_map(&e->m, row);
    const int64_t O = t->shape[map], I = t->shape[!map];
    const int64_t shape[2] = { O, I };
    const int64_t groups[2] = { (O + STORED_GROUP - 1) / STORED_GROUP,
                                (int64_t)stored_group_bytes(type, I) };
    if (grouped)
        gguf_add_tensor(&e->w, name, GGUF_TENSOR_I8, 2, groups);
    else
        gguf_add_tensor(&e->w, name, numbers[type].tensor, t->rank, shape);
}

static int begin(struct exporting *e, const char *path)
{
    const struct model *m = &e->m;
    if (gguf_model_keys(&e->w, m) < 0)
        return -1;
    if (!e->how->ours && m->config.window && m->config.window < m->config.positions)
        log_warn("llama.cpp has no window for a Llama: texts of more than %lld tokens differ there",
                 (long long)m->config.window);
    gguf_add_u32(&e->w, "general.file_type", numbers[e->weights].file);
    gguf_add_u32(&e->w, "general.quantization_version", 2);
    if (e->how->ours)
        gguf_add_u32(&e->w, "textmill.layout", GGUF_MODEL_LAYOUT);
    if (e->how->add(e->how->ctx, &e->w, m->config.vocabulary) < 0)
        return -1;
    for (size_t i = 0; i < m->tensors.count; i++) {
        char name[TENSOR_NAME];
        gguf_model_name(name, m, i);
        declare(e, name, i, in_groups(e, i) && !is_tied(e, i));
        if (has_copy(e, i))
            declare(e, "output.weight", i, 1);
    }
    const char *name;
    int64_t divisors;
    for (int k = 0; (divisors = gguf_model_divisors(NULL, &name, &m->config, k)); k++)
        gguf_add_tensor(&e->w, name, GGUF_TENSOR_F32, 1, &divisors);
    return gguf_create(&e->w, path);
}

/* A tensor as it is in the file that is written. */
struct made {
    const char *data; /* in `rows`, in `copy` or in the mapped file */
    uint64_t bytes;
    char *rows;
    unsigned char *copy;
};

/* Sets *t to the tensor x of row `row`; `grouped` 1: in groups. For other programs, reorders the
 * rows of queries' and keys' weights and biases: their files have the two numbers of a rotary pair
 * side by side. */
static int make_rows(const struct exporting *e, struct made *t, const struct matrix *x, size_t row,
                     int grouped)
{
    const enum ops_type type = type_of(e, row);
    const int64_t rows = x->O, HS = e->how->ours ? 0 : gguf_model_paired(&e->m, row);
    const uint64_t bytes = stored_bytes(type, x->I);
    const int64_t whole = grouped ? (rows + STORED_GROUP - 1) / STORED_GROUP * STORED_GROUP : rows;
    const int as_it_is = matrix_is(x, type, grouped) && !stored_grouped(type);
    t->bytes = (uint64_t)whole * bytes;
    t->rows = as_it_is ? NULL : matrix_make(x, type, grouped, e->pool);
    t->data = as_it_is ? x->data : t->rows;
    if (!t->data)
        return -1;
    if (HS) {
        char *paired = mem_alloc((size_t)rows * bytes);
        const int64_t parts = rows > 1 ? 1 : x->I; /* of a vector, each number is a row */
        const uint64_t each = bytes / (uint64_t)parts;
        for (int64_t r = 0; r < rows * parts; r++)
            memcpy(paired + (uint64_t)matrix_paired(r, HS) * each, t->data + (uint64_t)r * each,
                   each);
        free(t->rows);
        t->data = t->rows = paired;
    }
    return 0;
}

/* Makes the next tensor on the threads of the pool, while the one before is written. */
static int make_tensor(void *ctx, void *item)
{
    struct exporting *e = ctx;
    struct made *t = item;
    struct matrix x;
    if (e->next == e->m.tensors.count)
        return 0;
    const size_t row = e->next;
    const int grouped = in_groups(e, row) && (e->next_copy || !is_tied(e, row));
    if (folder_matrix(&x, &t->copy, &e->m, &e->files.weights, row) < 0 ||
        make_rows(e, t, &x, row, grouped) < 0)
        return -1;
    e->next_copy = !e->next_copy && has_copy(e, row);
    e->next += !e->next_copy;
    return 1;
}

static void drop_tensor(struct made *t)
{
    free(t->rows);
    free(t->copy);
    *t = (struct made){ 0 };
}

static int write_tensor(void *ctx, void *item)
{
    struct exporting *e = ctx;
    struct made *t = item;
    int failed = gguf_write(&e->w, t->data, t->bytes) < 0 || gguf_end_tensor(&e->w) < 0;
    drop_tensor(t);
    return failed ? -1 : 0;
}

static int write_tensors(struct exporting *e)
{
    const int count = e->how->threads > 1 ? 2 : 1; /* of tensors in memory, and of threads */
    struct made made[2] = { { 0 } };
    void *items[] = { &made[0], &made[1] };
    const struct pipeline p = {
        .read = make_tensor, .write = write_tensor, .ctx = e, .items = items, .item_count = count
    };
    int failed = pipeline_run(&p, count);
    drop_tensor(&made[0]);
    drop_tensor(&made[1]);
    return failed;
}

static int write_divisors(struct exporting *e)
{
    const char *name;
    int64_t n;
    for (int k = 0; (n = gguf_model_divisors(NULL, &name, &e->m.config, k)); k++) {
        SCOPED_MEM float *divisors = mem_alloc((size_t)n * sizeof *divisors);
        SCOPED_MEM unsigned char *bytes = mem_alloc((size_t)n * sizeof *divisors);
        gguf_model_divisors(divisors, &name, &e->m.config, k);
        stored_make(OPS_F32, bytes, divisors, n);
        if (gguf_write(&e->w, bytes, (uint64_t)n * sizeof *divisors) < 0 ||
            gguf_end_tensor(&e->w) < 0)
            return -1;
    }
    return 0;
}

/* Sets *head to the head that is written; `ours` 1: for textmill alone. */
static int choose_head(enum model_head *head, const char *dir, int ours)
{
    if (gguf_is(dir))
        return err_usage("'%s' is a GGUF file: give a model folder", dir);
    if (folder_head(head, dir) < 0)
        return -1;
    if (ours && *head != HEAD_NEXT && *head != HEAD_QUESTIONS)
        return err_set("'%s': textmill runs encoders only with a head for questions: choose "
                       "--format gguf",
                       dir);
    if (!ours && *head != HEAD_NEXT)
        *head = HEAD_NONE;
    return 0;
}

int gguf_export(const char *dir, const char *path, const struct gguf_export *how)
{
    struct exporting e = { .how = how };
    e.weights = how->weights == STORED_AUTO ? OPS_F32 : how->weights;
    struct model_config wanted = { 0 };
    if (choose_head(&wanted.head, dir, how->ours) < 0 ||
        folder_open(&e.m, &e.files, dir, &wanted, NULL) < 0)
        return -1;
    e.pool = pool_new(how->threads);
    gguf_begin(&e.w);
    int failed = begin(&e, path) < 0 || write_tensors(&e) < 0 || write_divisors(&e) < 0 ? -1 : 0;
    if (failed)
        gguf_abandon(&e.w);
    else
        failed = gguf_finish(&e.w);
    pool_free(e.pool);
    folder_close(&e.files);
    model_release(&e.m);
    return failed;
}
