/* Weights on a device that is not the host, an emulated GPU: matrices are bf16 there, all else is
 * f32, and the memory is that of these types. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "common/files/file.h"
#include "common/files/temp.h"
#include "model/compute/stored.h"
#include "model/folder/folder.h"
#include "model/folder/parameters.h"
#include "model/network/architecture.h"
#include "model/network/block.h"
#include "tests/unit/arrays.h"
#include "tests/unit/gauss.h"
#include "tests/unit/save_model.h"

enum { BLOCKS = 4 };

static char dir[] = "/tmp/parameters-XXXXXX";

static void make_dir(void)
{
    cr_assert_not_null(mkdtemp(dir));
}

static void remove_dir(void)
{
    temp_remove(dir);
}

TestSuite(parameters, .init = make_dir, .fini = remove_dir);

static const struct model_config gpt = { .architecture = &architecture_gpt2,
                                         .layers = 2,
                                         .width = 32,
                                         .heads = 2,
                                         .inner = 48,
                                         .positions = 16,
                                         .vocabulary = 77,
                                         .epsilon = 1e-5,
                                         .init_std = 0.1 };

/* Saves a model with random numbers, in f32 or bf16. */
static void save_model(const struct model_config *config, enum ops_type type)
{
    struct model m;
    struct ops *o = ops_open("cpu", 1);
    struct ops_array blocks[BLOCKS];
    struct rng r = { 5, 0 };
    cr_assert_eq(model_init(&m, config), 0, "%s", err_get());
    cr_assert_eq(m.tensors.blocks, BLOCKS);
    for (int b = 0; b < BLOCKS; b++) {
        const int64_t n = m.tensors.block_size[b];
        struct ops_array x = ops_buffer(o, OPS_F32, n);
        for (int64_t i = 0; i < n; i++)
            floats(x)[i] = (float)rng_normal(&r);
        blocks[b] = ops_buffer(o, type, n);
        ops_copy(o, blocks[b], x, n);
        ops_buffer_free(o, x);
    }
    cr_assert_eq(save_whole_model(&m, o, blocks, dir, 1), 0, "%s", err_get());
    for (int b = 0; b < BLOCKS; b++)
        ops_buffer_free(o, blocks[b]);
    model_release(&m);
    ops_free(o);
}

/* Returns n numbers of a device's array as floats. */
static float *downloaded(struct ops *o, struct ops_array a, int64_t n)
{
    struct ops_array whole = ops_buffer(o, OPS_F32, n);
    float *x = mem_alloc((size_t)n * sizeof *x);
    ops_copy(o, whole, a, n);
    ops_download(o, x, whole, n);
    ops_buffer_free(o, whole);
    return x;
}

static float rounded(float x)
{
    uint16_t half;
    stored_make(OPS_BF16, &half, &x, 1);
    stored_read(OPS_BF16, &x, &half, 1);
    return x;
}

/* The array of row `row` on the device must have the numbers of the folder's tensor, rounded if it
 * is bf16. Maps are turned. */
static void check_tensor(struct ops *gpu, const struct model *m, struct ops_array got,
                         const float *wanted, size_t row)
{
    const struct tensor *t = &m->tensors.rows[row];
    const int64_t n = tensor_elements(t), R = t->shape[0], C = t->rank == 2 ? t->shape[1] : 1;
    const int turned = model_is_map(m, row);
    float *x = downloaded(gpu, got, n);
    for (int64_t r = 0; r < R; r++)
        for (int64_t c = 0; c < C; c++) {
            const float w = wanted[r * C + c], g = x[turned ? c * R + r : r * C + c];
            cr_assert_float_eq(g, got.type == OPS_BF16 ? rounded(w) : w, 0, "%s [%lld,%lld]: %g",
                               t->name, (long long)r, (long long)c, g);
        }
    free(x);
}

/* Returns the type that a tensor should have on the device. */
static enum ops_type type_of(const struct model *m, size_t row, enum ops_type file)
{
    const struct tensor *t = &m->tensors.rows[row];
    if (model_is_decoder(m, row) || (model_is_map(m, row) && t->shape[1] >= 16))
        return OPS_BF16;
    return t->rank == 2 && t->block == 0 ? file : OPS_F32;
}

/* Loads the folder, whose tensors have the type `file`, with bf16 weights. */
static void check_upload(const struct model_config *config, enum ops_type file)
{
    struct ops *host = ops_open("cpu", 1), *gpu = ops_open("emulated", 1);
    struct parameters p;
    struct model m, plain;
    struct ops_array *blocks;
    uint64_t bytes = 0;
    cr_assert_not_null(gpu, "%s", err_get());
    save_model(config, file);
    cr_assert_eq(folder_load(&plain, host, &blocks, dir, config->head, 0, NULL), 0);
    const uint64_t before = ops_free_bytes(gpu);
    cr_assert_eq(parameters_load(&p, &m, gpu, dir, config->head, OPS_BF16), 0, "%s", err_get());
    const uint64_t after = ops_free_bytes(gpu);
    for (size_t i = 0; i < m.tensors.count; i++) {
        const struct tensor *t = &m.tensors.rows[i];
        struct ops_array got = block_tensor(&m, p.blocks[t->block], i);
        cr_assert_eq(got.type, type_of(&m, i, file), "%s is of type %d", t->name, got.type);
        check_tensor(gpu, &m, got, floats(blocks[t->block]) + t->offset, i);
        bytes += (uint64_t)tensor_elements(t) * ops_type_bytes(got.type);
    }
    if (m.tied)
        cr_assert_eq(block_decoder(&m, OPS_NONE, p.blocks[0], OPS_NONE).table.address,
                     p.items[0].address);
    cr_assert_eq(before - after, bytes, "%llu bytes are used, not %llu",
                 (unsigned long long)(before - after), (unsigned long long)bytes);
    parameters_release(&p, &m, gpu);
    cr_assert_eq(ops_free_bytes(gpu), before);
    folder_free_blocks(&plain, host, blocks);
    model_release(&plain);
    ops_free(gpu);
    ops_free(host);
}

Test(parameters, gpt_on_a_device)
{
    check_upload(&gpt, OPS_F32);
    check_upload(&gpt, OPS_BF16);
}

Test(parameters, llama_on_a_device)
{
    struct model_config c = gpt;
    c.architecture = &architecture_llama;
    c.kv_heads = 1;
    c.head_width = 8;
    c.heads = 4;
    c.rope_theta = 5000;
    c.activation = OPS_SILU;
    c.untied = 1;
    check_upload(&c, OPS_F32);
    check_upload(&c, OPS_BF16);
}

Test(parameters, bert_on_a_device)
{
    struct model_config c = gpt;
    c.architecture = &architecture_bert;
    c.types = 2;
    c.activation = OPS_GELU;
    c.head = HEAD_QUESTIONS;
    check_upload(&c, OPS_F32);
    c.head = HEAD_PRETRAINING;
    check_upload(&c, OPS_F32);
}

static void refused(struct ops *o, const char *path, enum ops_type weights, const char *words)
{
    struct parameters p;
    struct model m;
    cr_assert_eq(parameters_load(&p, &m, o, path, HEAD_NEXT, weights), -1);
    cr_assert(strstr(err_get(), words), "'%s' lacks '%s'", err_get(), words);
}

Test(parameters, types_that_a_device_refuses)
{
    const enum ops_type types[] = { OPS_F16, OPS_Q8, OPS_IQ4_NL };
    struct ops *gpu = ops_open("emulated", 1);
    cr_assert_not_null(gpu, "%s", err_get());
    for (int i = 0; i < 3; i++)
        refused(gpu, dir, types[i], "on a GPU, --weights must be auto, f32 or bf16");
    refused(gpu, "model.gguf", OPS_BF16, "a GPU cannot use a GGUF file");
    ops_free(gpu);
}

Test(parameters, heads_that_are_too_wide_for_a_device)
{
    struct ops *gpu = ops_open("emulated", 1);
    struct model_config c = gpt;
    c.width = 258;
    c.heads = 1;
    save_model(&c, OPS_F32);
    cr_assert_not_null(gpu, "%s", err_get());
    refused(gpu, dir, OPS_F32, "a GPU takes heads of at most 256 numbers, not 258");
    refused(gpu, dir, OPS_BF16, "a GPU takes heads of at most 256 numbers, not 258");
    ops_free(gpu);
}
