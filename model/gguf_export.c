#include "model/gguf_export.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/pool.h"
#include "model/folder.h"
#include "model/gguf_model.h"
#include "model/parameters.h"
#include "model/stored.h"

/* Values of general.file_type in llama.cpp: the type of most tensors of the file. */
enum { ALL_F32 = 0, MOSTLY_F16 = 1, MOSTLY_Q4_0 = 2, MOSTLY_Q8_0 = 7, MOSTLY_BF16 = 32 };

struct exporting {
    struct gguf_writer w;
    const char *path;
    enum ops_type weights;
    struct pool *pool;
    int (*add)(void *ctx, struct gguf_writer *w, int64_t vocabulary);
    void *ctx;
    int open;
};

static uint32_t tensor_type(enum ops_type type)
{
    return type == OPS_Q8     ? GGUF_TENSOR_Q8_0
           : type == OPS_Q4   ? GGUF_TENSOR_Q4_0
           : type == OPS_F16  ? GGUF_TENSOR_F16
           : type == OPS_BF16 ? GGUF_TENSOR_BF16
                              : GGUF_TENSOR_F32;
}

static uint32_t file_type(enum ops_type type)
{
    return type == OPS_Q8     ? MOSTLY_Q8_0
           : type == OPS_Q4   ? MOSTLY_Q4_0
           : type == OPS_F16  ? MOSTLY_F16
           : type == OPS_BF16 ? MOSTLY_BF16
                              : ALL_F32;
}

/* Returns 1 if tensor `row` is a table tied to the decoder that is also written as a separate
 * output.weight, in a smaller type, else 0. The table itself is then written in f32. */
static int has_copy(const struct exporting *e, const struct model *m, size_t row)
{
    return m->tied && model_is_decoder(m, row) && parameters_type(m, row, e->weights) != OPS_F32;
}

static enum ops_type type_of(const struct exporting *e, const struct model *m, size_t row)
{
    return has_copy(e, m, row) ? OPS_F32 : parameters_type(m, row, e->weights);
}

static int begin(void *ctx, const struct model *m)
{
    struct exporting *e = ctx;
    gguf_begin(&e->w);
    e->open = 1;
    if (gguf_model_keys(&e->w, m) < 0)
        return -1;
    gguf_add_u32(&e->w, "general.file_type", file_type(e->weights));
    gguf_add_u32(&e->w, "general.quantization_version", 2);
    if (e->add(e->ctx, &e->w, m->config.vocabulary) < 0)
        return -1;
    for (size_t i = 0; i < m->tensors.count; i++) {
        const struct tensor *t = &m->tensors.rows[i];
        const int turned = model_is_map(m, i);
        const int64_t shape[2] = { t->shape[turned], t->shape[!turned] };
        char name[TENSOR_NAME];
        gguf_model_name(name, m, i);
        gguf_add_tensor(&e->w, name, tensor_type(type_of(e, m, i)), t->rank, shape);
        if (has_copy(e, m, i))
            gguf_add_tensor(&e->w, "output.weight", tensor_type(e->weights), t->rank, shape);
    }
    return gguf_create(&e->w, e->path);
}

/* Writes tensor `row`. Reorders the rows of queries' and keys' weights and biases, because the file
 * has the two numbers of a rotary pair side by side. */
static int write_rows(struct exporting *e, const struct model *m, size_t row, enum ops_type type,
                      const float *numbers)
{
    const struct tensor *t = &m->tensors.rows[row];
    const int64_t rows = t->shape[model_is_map(m, row)], n = tensor_elements(t) / rows;
    const int64_t HS = gguf_model_paired(m, row);
    char *data = parameters_rows(m, row, type, numbers, e->pool);
    const uint64_t bytes = stored_bytes(type, n);
    if (HS) {
        char *paired = mem_alloc((size_t)rows * bytes);
        gguf_model_pair(paired, data, rows, bytes, HS, 0);
        free(data);
        data = paired;
    }
    int failed = gguf_write(&e->w, data, (uint64_t)rows * bytes) < 0 || gguf_end_tensor(&e->w) < 0;
    free(data);
    return failed ? -1 : 0;
}

static int take(void *ctx, const struct model *m, size_t row, const float *numbers)
{
    struct exporting *e = ctx;
    if (write_rows(e, m, row, type_of(e, m, row), numbers) < 0)
        return -1;
    return has_copy(e, m, row) ? write_rows(e, m, row, e->weights, numbers) : 0;
}

int gguf_export(const char *dir, const char *path, enum ops_type weights, int threads,
                int (*add)(void *ctx, struct gguf_writer *w, int64_t vocabulary), void *ctx)
{
    struct model m;
    struct exporting e = { .path = path, .add = add, .ctx = ctx };
    e.weights = weights == STORED_AUTO ? OPS_F32 : weights;
    e.pool = pool_new(threads);
    int failed = folder_each(&m, dir, HEAD_NEXT, begin, take, &e);
    if (e.open && !failed)
        failed = gguf_finish(&e.w);
    else if (e.open)
        gguf_abandon(&e.w);
    if (e.open)
        model_release(&m);
    pool_free(e.pool);
    return failed;
}
