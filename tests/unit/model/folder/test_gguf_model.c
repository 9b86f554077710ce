/* GGUF files: a file that is written can be read again, a model computes the same from it, and
 * errors in a file are reported with their names and byte positions. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/le.h"
#include "common/base/mem.h"
#include "common/base/rng.h"
#include "common/files/file.h"
#include "common/files/temp.h"
#include "common/formats/gguf.h"
#include "model/compute/half.h"
#include "model/compute/stored.h"
#include "model/folder/folder.h"
#include "model/folder/gguf_export.h"
#include "model/folder/gguf_model.h"
#include "model/folder/parameters.h"
#include "model/network/architecture.h"
#include "model/network/bert_head.h"
#include "model/network/block.h"
#include "model/network/forward.h"
#include "tests/unit/arrays.h"
#include "tests/unit/gauss.h"
#include "tests/unit/save_model.h"

static char dir[] = "/tmp/gguf-XXXXXX";

static void make_dir(void)
{
    cr_assert_not_null(mkdtemp(dir));
}

static void remove_dir(void)
{
    temp_remove(dir);
}

TestSuite(gguf, .init = make_dir, .fini = remove_dir);

static const char *in_dir(const char *name)
{
    static char path[2][200];
    static int which;
    which = !which;
    snprintf(path[which], sizeof path[which], "%s/%s", dir, name);
    return path[which];
}

/* ---- models ------------------------------------------------------------------------------- */

static const struct model_config gpt = { .architecture = &architecture_gpt2,
                                         .layers = 2,
                                         .width = 64,
                                         .heads = 2,
                                         .inner = 96,
                                         .positions = 16,
                                         .vocabulary = 77,
                                         .epsilon = 1e-5,
                                         .init_std = 0.1 };
static const struct model_config llama = { .architecture = &architecture_llama,
                                           .layers = 2,
                                           .width = 64,
                                           .heads = 4,
                                           .kv_heads = 2,
                                           .head_width = 16,
                                           .inner = 96,
                                           .positions = 16,
                                           .vocabulary = 70,
                                           .epsilon = 1e-5,
                                           .init_std = 0.1,
                                           .rope_theta = 5000,
                                           .activation = OPS_SILU };

static void save_folder(struct ops *o, const struct model_config *config)
{
    struct model m;
    struct ops_array blocks[6];
    struct rng r = { 5, 0 };
    const int B = (int)config->layers + 2;
    cr_assert_eq(model_init(&m, config), 0, "%s", err_get());
    for (int b = 0; b < B; b++)
        blocks[b] = ops_buffer(o, OPS_F32, m.tensors.block_size[b]);
    for (size_t i = 0; i < m.tensors.count; i++) {
        const struct tensor *row = &m.tensors.rows[i];
        float *x = floats(blocks[row->block]) + row->offset;
        for (int64_t n = tensor_elements(row); n-- > 0;)
            *x++ = (float)(0.1 * rng_normal(&r)) + (row->init == INIT_ONE);
    }
    cr_assert_eq(save_whole_model(&m, o, blocks, dir, 1), 0, "%s", err_get());
    for (int b = 0; b < B; b++)
        ops_buffer_free(o, blocks[b]);
    model_release(&m);
}

enum { T = 7 };

/* Computes the logits out[T,V] of a fixed text with the model at `path`, with weights of type
 * `weights`. */
static void logits_of(float *out, struct ops *o, const char *path, enum ops_type weights)
{
    struct parameters p;
    struct model m;
    struct inputs in = { 0 };
    const uint32_t ids[T] = { 3, 1, 4, 1, 5, 9, 2 };
    cr_assert_eq(parameters_load(&p, &m, o, path, HEAD_NEXT, weights), 0, "%s", err_get());
    struct forward f = { .model = &m, .ops = o, .blocks = p.blocks };
    struct batch b = { .B = 1, .T = T, .ids = ids };
    inputs_set(&in, o, &m, &b);
    forward_logits(&f, f32(out), forward_layers(&f, &in), T);
    cr_assert_leq(m.config.vocabulary, 80);
    cr_expect(m.config.epsilon == 1e-5 || m.config.epsilon == 1e-6, "%.17g", m.config.epsilon);
    inputs_release(&in, o);
    forward_release(&f);
    parameters_release(&p, &m, o);
}

static int add_nothing(void *ctx, struct gguf_writer *w, int64_t vocabulary)
{
    (void)ctx, (void)w, (void)vocabulary;
    return 0;
}

static int export(const char *path, enum ops_type weights, int ours)
{
    return gguf_export(dir, path, &(struct gguf_export){ weights, ours, 2, add_nothing, NULL });
}

/* Returns the largest absolute difference of two arrays. */
static double farthest(const float *a, const float *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        double apart = fabs((double)a[i] - b[i]);
        most = apart > most ? apart : most;
    }
    return most;
}

/* For each type of weights, the logits computed from a GGUF file must have the same bits as those
 * computed from the model folder, but for a tied table: the file has it once, in the type of the
 * decoder, so the lookups read rounded numbers. Both layouts must give the same bits. */
static void check_round_trip(const struct model_config *config)
{
    const enum ops_type types[] = { OPS_F32, OPS_BF16, OPS_F16, OPS_Q8, OPS_IQ4_NL };
    struct ops *o = ops_open("cpu", 2);
    const double apart[] = { 1e-5, 0.02, 0.02, 0.2, 0.2 };
    float folder[T * 80] = { 0 }, file[T * 80] = { 0 }, plain[T * 80] = { 0 },
                     mapped[T * 80] = { 0 };
    save_folder(o, config);
    logits_of(plain, o, dir, OPS_F32);
    for (int t = 0; t < 5; t++) {
        const char *path = in_dir("model.gguf");
        cr_assert_eq(export(path, types[t], 0), 0, "%s", err_get());
        logits_of(folder, o, dir, types[t]);
        logits_of(file, o, path, STORED_AUTO);
        /* f32 maps are [in,out] in one, [out,in] in the other */
        double most = farthest(folder, file, T * 80);
        cr_assert(most <= (t && config->untied ? 0 : apart[t]), "type %d: logits differ by %g",
                  types[t], most);
        most = farthest(plain, file, T * 80);
        cr_assert((t == 0 || most > 0) && most < (t < 3 ? 0.02 : 1), "type %d: %g", types[t], most);
        cr_assert_eq(export(path, types[t], 1), 0, "%s", err_get());
        logits_of(mapped, o, path, STORED_AUTO);
        cr_assert(!memcmp(mapped, file, sizeof file), "type %d, mapped: other bits", types[t]);
        logits_of(folder, o, path, OPS_Q8);
        cr_assert_eq(export(path, types[t], 0), 0, "%s", err_get());
        logits_of(file, o, path, OPS_Q8);
        cr_assert(!memcmp(file, folder, sizeof file), "type %d: converted from both layouts",
                  types[t]);
        logits_of(folder, o, dir, OPS_Q8);
        cr_assert(t || !memcmp(file, folder, sizeof file), "f32 made int8");
    }
    ops_free(o);
}

Test(gguf, gpt)
{
    check_round_trip(&gpt);
}

Test(gguf, llama)
{
    check_round_trip(&llama);
}

Test(gguf, untied_and_biased)
{
    struct model_config c = llama;
    c.untied = c.qkv_bias = c.out_bias = c.mlp_bias = 1;
    check_round_trip(&c);
}

Test(gguf, qwen2_and_stretched)
{
    struct model_config c = llama;
    c.architecture = &architecture_qwen2;
    c.rope_stretch.factor = 4;
    check_round_trip(&c);
}

Test(gguf, qwen3)
{
    struct model_config c = llama;
    c.architecture = &architecture_qwen3;
    check_round_trip(&c);
}

Test(gguf, smollm3)
{
    struct model_config c = llama;
    c.architecture = &architecture_smollm3;
    c.layers = 4;
    check_round_trip(&c);
    c.rope_pause = 3;
    struct ops *o = ops_open("cpu", 1);
    save_folder(o, &c);
    ops_free(o);
    cr_assert_eq(export(in_dir("model.gguf"), OPS_F32, 0), -1);
    cr_assert(strstr(err_get(), "no other interval of layers without rotary positions than 4"),
              "%s", err_get());
}

static const struct ops_stretch scaling = { .factor = 8, .low = 1.5, .high = 4, .original = 32 };

Test(gguf, llama3)
{
    struct model_config c = llama;
    c.rope_stretch = scaling;
    check_round_trip(&c);
    const char *name;
    float divisors[64] = { 0 };
    int64_t n = gguf_model_divisors(divisors, &name, &c, 0);
    cr_assert(n > 0 && divisors[n - 1] == 8 && divisors[n] == 0);
}

/* YaRN's keys are llama.cpp's. Its scale in the file is relative to the usual one. */
Test(gguf, yarn)
{
    struct model_config c = llama;
    c.rope_stretch = (struct ops_stretch){
        4, 1, 32, 8, ops_yarn_scale(4, 1), .yarn = 1, .whole = 1
    };
    check_round_trip(&c);
    c.rope_stretch = (struct ops_stretch){ 4,         2,         3, 64, 1.25 * ops_yarn_scale(4, 1),
                                           .yarn = 1, .whole = 1 };
    check_round_trip(&c);
    struct gguf g; /* llama.cpp refuses a length that is no whole number */
    cr_assert_eq(gguf_open(&g, in_dir("model.gguf")), 0, "%s", err_get());
    cr_assert_eq(gguf_find(&g, "llama.rope.scaling.original_context_length")->form, GGUF_U32);
    gguf_close(&g);
    c.rope_stretch.whole = 0;
    struct ops *o = ops_open("cpu", 1);
    save_folder(o, &c);
    ops_free(o);
    cr_assert_eq(export(in_dir("model.gguf"), OPS_F32, 0), -1);
    cr_assert(strstr(err_get(), "no other rounding of YaRN's limits"), "%s", err_get());
}

/* LongRoPE is a Llama's in llama.cpp, with a tensor for each list. */
Test(gguf, longrope)
{
    struct model_config c = llama;
    c.rope_stretch = (struct ops_stretch){ .original = 5, .scale = 1.25 };
    c.rope_stretch.divided = (c.head_width ? c.head_width : c.width / c.heads) / 2;
    c.rope_longer = c.rope_stretch;
    for (int64_t i = 0; i < c.rope_stretch.divided; i++) {
        c.rope_stretch.divisors[i] = 1 + (float)i / 3;
        c.rope_longer.divisors[i] = 2 + (float)i;
    }
    check_round_trip(&c);
    c.rope_stretch.original = c.rope_longer.original = 7;
    check_round_trip(&c);
    c.architecture = &architecture_qwen2;
    struct ops *o = ops_open("cpu", 1);
    save_folder(o, &c);
    ops_free(o);
    cr_assert_eq(export(in_dir("model.gguf"), OPS_F32, 0), -1);
    cr_assert(strstr(err_get(), "no other rotary scaling, such as LongRoPE"), "%s", err_get());
}

/* ---- encoders ----------------------------------------------------------------------------- */

static const struct model_config bert = { .architecture = &architecture_bert,
                                          .layers = 2,
                                          .width = 64,
                                          .heads = 4,
                                          .inner = 96,
                                          .positions = 16,
                                          .vocabulary = 77,
                                          .types = 2,
                                          .epsilon = 1e-6,
                                          .init_std = 0.1,
                                          .activation = OPS_GELU };

/* Computes what the model at `path` gives for a fixed text: the last layer's output [T,C] or, with
 * the head for questions, its logits [T,2]. */
static void encoded(float *out, struct ops *o, const char *path, enum model_head head,
                    enum ops_type weights)
{
    struct parameters p;
    struct model m;
    struct inputs in = { 0 };
    const uint32_t ids[T] = { 3, 1, 4, 1, 5, 9, 2 }, segments[T] = { 0, 0, 0, 0, 1, 1, 1 };
    cr_assert_eq(parameters_load(&p, &m, o, path, head, weights), 0, "%s", err_get());
    struct forward f = { .model = &m, .ops = o, .blocks = p.blocks };
    const struct batch b = { .B = 1, .T = T, .ids = ids, .segments = segments };
    inputs_set(&in, o, &m, &b);
    struct ops_array x = forward_layers(&f, &in);
    if (head == HEAD_NONE)
        memcpy(out, floats(x), T * (size_t)m.config.width * sizeof *out);
    else
        forward_logits(&f, f32(out), x, T);
    inputs_release(&in, o);
    forward_release(&f);
    parameters_release(&p, &m, o);
}

/* The encoder of a model, and with ours 1 its head, too, must give the same from a file as from its
 * folder, in each type. */
static void check_encoder(const struct model_config *config, int ours)
{
    const enum ops_type types[] = { OPS_F32, OPS_BF16, OPS_F16, OPS_Q8, OPS_IQ4_NL };
    const enum model_head head = ours ? config->head : HEAD_NONE;
    struct ops *o = ops_open("cpu", 2);
    const char *path = in_dir("model.gguf");
    save_folder(o, config);
    for (int t = 0; t < 5; t++) {
        float folder[T * 80] = { 0 }, file[T * 80] = { 0 };
        cr_assert_eq(export(path, types[t], ours), 0, "%s", err_get());
        encoded(folder, o, dir, head, types[t]);
        encoded(file, o, path, head, STORED_AUTO);
        const double most = farthest(folder, file, T * 80);
        cr_assert(t ? most == 0 : most < 1e-5, "type %d: features differ by %g", types[t], most);
        cr_assert(farthest(file, (float[T * 80]){ 0 }, T * 80) > 0.1);
    }
    ops_free(o);
}

Test(gguf, bert)
{
    struct model_config c = bert;
    labels_set_regression(&c.classes);
    for (int head = HEAD_NONE; head < MODEL_HEADS; head++) {
        c.head = (enum model_head)head;
        check_encoder(&c, 0);
    }
    c.head = HEAD_QUESTIONS;
    check_encoder(&c, 1);
}

/* Computes with the head for pre-training, with `weights` from the folder, the logits of all words
 * and after them those of the next sentence. */
static void predicted(float *out, struct ops *o, enum ops_type weights)
{
    struct parameters p;
    struct model m;
    struct inputs in = { 0 };
    const uint32_t ids[T] = { 3, 1, 4, 1, 5, 9, 2 }, segments[T] = { 0, 0, 0, 0, 1, 1, 1 };
    cr_assert_eq(parameters_load(&p, &m, o, dir, HEAD_PRETRAINING, weights), 0, "%s", err_get());
    struct forward f = { .model = &m, .ops = o, .blocks = p.blocks };
    const struct batch b = { .B = 1, .T = T, .ids = ids, .segments = segments };
    inputs_set(&in, o, &m, &b);
    struct ops_array x = forward_layers(&f, &in), head = p.blocks[m.config.layers + 1];
    forward_logits(&f, f32(out), x, T);
    ops_scratch_begin(o);
    ops_copy(o, f32(out + T * m.config.vocabulary),
             bert_first_fwd(&m, o, x, head, OPS_NONE, 1, no_dropout).logits, 2);
    inputs_release(&in, o);
    forward_release(&f);
    parameters_release(&p, &m, o);
}

/* The head for pre-training must predict nearly the same with weights of each type, with a table of
 * its own and without. */
Test(gguf, bert_pretraining_with_small_weights)
{
    const enum ops_type types[] = { OPS_BF16, OPS_F16, OPS_Q8, OPS_IQ4_NL };
    const double most[] = { 0.05, 0.01, 0.1, 1.5 };
    struct model_config c = bert;
    struct ops *o = ops_open("cpu", 2);
    c.head = HEAD_PRETRAINING;
    for (int form = 0; form < 3; form++) {
        float wanted[T * 80], got[T * 80];
        const int64_t n = T * c.vocabulary + 2;
        c.untied = form > 0;
        c.bare_head = form > 1;
        save_folder(o, &c);
        predicted(wanted, o, OPS_F32);
        cr_assert(farthest(wanted, (float[T * 80]){ 0 }, n) > 1);
        for (int t = 0; t < 4; t++) {
            predicted(got, o, types[t]);
            cr_assert(farthest(got, wanted, n) < most[t], "form %d, type %d: differs by %g", form,
                      types[t], farthest(got, wanted, n));
        }
    }
    ops_free(o);
}

/* Saves a model, loads it with IQ4_NL, and exports it with IQ4_NL. Checks the types in memory and
 * in the file: Q8_0 for tensors whose names end with one of words[], IQ4_NL for `plain` others. */
static void check_precious(const struct model_config *config, const char *const words[], int plain)
{
    struct ops *o = ops_open("cpu", 2);
    struct parameters p;
    struct model m;
    struct gguf g;
    save_folder(o, config);
    cr_assert_eq(export(in_dir("model.gguf"), OPS_IQ4_NL, 0), 0, "%s", err_get());
    cr_assert_eq(gguf_open(&g, in_dir("model.gguf")), 0, "%s", err_get());
    cr_assert_eq(parameters_load(&p, &m, o, dir, HEAD_NEXT, OPS_IQ4_NL), 0, "%s", err_get());
    for (size_t i = 0; i < m.tensors.count; i++) {
        const struct tensor *t = &m.tensors.rows[i];
        const enum ops_type type = block_tensor(&m, p.blocks[t->block], i).type;
        char name[TENSOR_NAME];
        int precious = 0;
        gguf_model_name(name, &m, i);
        for (int w = 0; words[w]; w++)
            precious += strstr(name, words[w]) != NULL;
        if (!model_is_map(&m, i))
            continue;
        cr_expect_eq(type, precious ? OPS_Q8 : OPS_IQ4_NL, "%s has type %d", name, type);
        cr_expect_eq(gguf_tensor(&g, name)->type,
                     (uint32_t)(precious ? GGUF_TENSOR_Q8_0 : GGUF_TENSOR_IQ4_NL), "%s", name);
        plain -= !precious;
    }
    cr_expect_eq(plain, 0);
    cr_expect_eq(block_decoder(&m, OPS_NONE, p.blocks[0], OPS_NONE).table.type, OPS_Q8);
    gguf_close(&g);
    parameters_release(&p, &m, o);
    ops_free(o);
}

Test(gguf, matrices_that_int4_keeps_in_8_bits)
{
    struct model_config c = llama;
    const char *const shared[] = { "attn_k.weight", "attn_v.weight", "ffn_down.weight", NULL };
    check_precious(&c, shared, 2 * 4);
    c.kv_heads = 4;
    check_precious(&c, shared + 2, 2 * 6);
    check_precious(&gpt, shared + 2, 2 * 3);
}

/* Writes n numbers in blocks with random bytes and small scales. */
static void write_blocks(struct gguf_writer *w, enum ops_type type, int64_t n, struct rng *r)
{
    const struct stored_blocks *b = stored_blocks(type);
    const uint16_t small = half_make(5e-5f);
    unsigned char block[210];
    for (; n > 0; n -= b->numbers) {
        for (int64_t i = 0; i < b->bytes; i++)
            block[i] = (unsigned char)(rng_next(r) >> 40);
        for (int s = 0; s < b->scales; s++)
            memcpy(block + b->scales_at + 2 * s, &small, sizeof small);
        cr_assert_eq(gguf_write(w, block, (uint64_t)b->bytes), 0);
    }
}

/* Writes the model again, its matrices in turn as Q4_1, Q5_0 and Q5_1 or, if `large` is 1, as Q4_K,
 * Q5_K and Q6_K. */
static void export_blocks(const char *path, struct ops *o, int large)
{
    static const enum ops_type types[][3] = { { OPS_Q4_1, OPS_Q5_0, OPS_Q5_1 },
                                              { OPS_Q4_K, OPS_Q5_K, OPS_Q6_K } };
    static const uint32_t numbers[][3] = {
        { GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q5_0, GGUF_TENSOR_Q5_1 },
        { GGUF_TENSOR_Q4_K, GGUF_TENSOR_Q5_K, GGUF_TENSOR_Q6_K },
    };
    struct parameters p;
    struct model m;
    struct gguf_writer w = { 0 };
    struct rng r = { 7, 0 };
    char name[TENSOR_NAME];
    cr_assert_eq(parameters_load(&p, &m, o, in_dir("f32.gguf"), HEAD_NEXT, OPS_F32), 0);
    cr_assert_eq(gguf_model_keys(&w, &m), 0, "%s", err_get());
    for (size_t i = 0; i < m.tensors.count; i++) {
        gguf_model_name(name, &m, i);
        const struct gguf_tensor *t = gguf_tensor(&p.files.gguf, name);
        gguf_add_tensor(&w, name, t->rank == 2 ? numbers[large][i % 3] : t->type, t->rank,
                        t->shape);
    }
    cr_assert_eq(gguf_create(&w, path), 0, "%s", err_get());
    for (size_t i = 0; i < m.tensors.count; i++) {
        gguf_model_name(name, &m, i);
        const struct gguf_tensor *t = gguf_tensor(&p.files.gguf, name);
        if (t->rank == 2)
            write_blocks(&w, types[large][i % 3], t->shape[0] * t->shape[1], &r);
        else
            cr_assert_eq(gguf_write(&w, p.files.gguf.map.data + t->offset, 4 * t->elements), 0);
        cr_assert_eq(gguf_end_tensor(&w), 0);
    }
    cr_assert_eq(gguf_finish(&w), 0, "%s", err_get());
    parameters_release(&p, &m, o);
}

/* These types are computed as they are. The rows that they multiply are rounded to 8 bits, which is
 * all that differs from their numbers in f32. */
static void check_blocks(int large)
{
    struct model_config c = llama;
    struct ops *o = ops_open("cpu", 2);
    float wanted[T * 80] = { 0 }, got[T * 80] = { 0 };
    const char *path = in_dir("model.gguf");
    c.width = c.inner = large ? 256 : 64;
    c.head_width = c.width / 4;
    save_folder(o, &c);
    cr_assert_eq(export(in_dir("f32.gguf"), OPS_F32, 0), 0, "%s", err_get());
    path = in_dir("model.gguf");
    export_blocks(path, o, large);
    logits_of(wanted, o, path, OPS_F32);
    logits_of(got, o, path, STORED_AUTO);
    const double most = farthest(wanted, (float[T * 80]){ 0 }, T * 80);
    const double apart = farthest(wanted, got, T * 80);
    cr_assert(apart > 1e-5 * most && apart < 0.02 * most, "%g of %g", apart, most);
    ops_free(o);
}

Test(gguf, blocks_of_unsigned_integers)
{
    check_blocks(0);
    check_blocks(1);
}

Test(gguf, distilbert)
{
    struct model_config c = bert;
    c.architecture = &architecture_distilbert;
    c.types = 0;
    c.head = HEAD_NONE;
    check_encoder(&c, 0);
    c.head = HEAD_QUESTIONS;
    check_encoder(&c, 1);
}

Test(gguf, what_the_format_cannot_say)
{
    struct model_config c = gpt;
    struct ops *o = ops_open("cpu", 1);
    c.activation = OPS_GELU;
    save_folder(o, &c);
    cr_assert_eq(export(in_dir("model.gguf"), OPS_F32, 0), -1);
    cr_assert(strstr(err_get(), "GGUF's 'gpt2' has no other activation"), "%s", err_get());
    cr_assert(access(in_dir("model.gguf"), F_OK) != 0);
    ops_free(o);
}

/* ---- what is wrong ------------------------------------------------------------------------ */

static struct buf exported(struct ops *o, const struct model_config *config, enum ops_type type,
                           int ours)
{
    struct buf b = BUF_INIT;
    const char *path = in_dir("model.gguf");
    save_folder(o, config);
    cr_assert_eq(export(path, type, ours), 0, "%s", err_get());
    cr_assert_eq(file_read(path, &b), 0);
    return b;
}

static size_t find(const struct buf *b, const char *word)
{
    for (size_t i = 0; i + strlen(word) < b->len; i++)
        if (!memcmp(b->data + i, word, strlen(word)))
            return i;
    cr_assert_fail("no %s", word);
    return 0;
}

/* Overwrites the n bytes from byte `at` of the file `whole` with bytes[n]. Loading the file must
 * then fail with an error that contains `words`. */
static void refused(struct ops *o, const struct buf *whole, size_t at, const char *bytes, size_t n,
                    const char *words)
{
    struct parameters p;
    struct model m;
    struct buf b = BUF_INIT;
    const char *path = in_dir("bad.gguf");
    buf_add(&b, whole->data, whole->len);
    memcpy(b.data + at, bytes, n);
    cr_assert_eq(file_write(path, b.data, b.len), 0);
    cr_assert_eq(parameters_load(&p, &m, o, path, HEAD_NEXT, STORED_AUTO), -1, "no error: %s",
                 words);
    cr_assert(strstr(err_get(), "bad.gguf") && strstr(err_get(), words), "'%s' lacks '%s'",
              err_get(), words);
    buf_release(&b);
}

/* Inserts a key with a real number before all others, and one that keeps the data aligned. */
static struct buf with_key(const struct buf *whole, const char *name, float x)
{
    struct buf b = BUF_INIT, keys = BUF_INIT;
    const char *const filler = "key.of.another.program.and.known"; /* 32 bytes */
    const char *const names[] = { name, filler + strlen(name) % 32 };
    for (int i = 0; i < 2; i++) {
        le_add_u64(&keys, strlen(names[i]));
        buf_adds(&keys, names[i]);
        le_add_u32(&keys, GGUF_F32);
        buf_add(&keys, &x, sizeof x);
    }
    cr_assert_eq(keys.len % 32, 0, "%zu bytes", keys.len);
    buf_add(&b, whole->data, 24);
    b.data[16] = (char)(b.data[16] + 2);
    buf_add(&b, keys.data, keys.len);
    buf_add(&b, whole->data + 24, whole->len - 24);
    buf_release(&keys);
    return b;
}

/* A GGUF file of a Llama is refused if it has a key or a tensor that changes the logits and that we
 * do not compute with. */
Test(gguf, changes_refused)
{
    struct ops *o = ops_open("cpu", 1);
    struct model_config c = llama;
    c.qkv_bias = c.out_bias = c.mlp_bias = 1;
    struct buf b = exported(o, &c, OPS_F32, 0);
    refused(o, &b, find(&b, "blk.0.attn_q.bias"), "blk.7", 5,
            "tensor 'blk.7.attn_q.bias' is not part of the model");
    refused(o, &b, find(&b, "blk.0.ffn_gate.bias"), "blk.7", 5,
            "tensor 'blk.7.ffn_gate.bias' is not part of the model");
    refused(o, &b, find(&b, "blk.0.attn_q.bias") + 17 + 12, "\x08", 1, /* Q8_0 */
            "unsupported type of vector 'blk.0.attn_q.bias'");
    refused(o, &b, find(&b, "llama.rope.dimension_count") + 26 + 4, "\x08", 1,
            "unsupported llama.rope.dimension_count");
    const char *const names[] = { "llama.attention.causal", "llama.rope.scale_linear" };
    for (int i = 0; i < 2; i++) {
        struct buf more = with_key(&b, names[i], i ? 4 : 0);
        refused(o, &more, 0, "GGUF", 4, names[i]);
        buf_release(&more);
        more = with_key(&b, names[i], 1);
        cr_assert_eq(file_write(in_dir("fine.gguf"), more.data, more.len), 0);
        float out[T * 80];
        logits_of(out, o, in_dir("fine.gguf"), STORED_AUTO);
        buf_release(&more);
    }
    struct buf negative = with_key(&b, "llama.rope.scaling.factor", -2);
    refused(o, &negative, 0, "GGUF", 4, "bad llama.rope.scaling.factor: -2");
    buf_release(&negative);
    struct buf part = with_key(&b, "split.count", 3);
    refused(o, &part, find(&part, "general.architecture"), "G", 1, "one of 3 files of a model");
    buf_release(&part);
    part = with_key(&b, "adapter.type", 0);
    refused(o, &part, find(&part, "llama.context_length"), "L", 1, "an adapter: merge it");
    buf_release(&part);
    buf_release(&b);
    c.rope_stretch = scaling;
    b = exported(o, &c, OPS_F32, 0);
    part = with_key(&b, "llama.rope.scaling.factor", 2);
    refused(o, &part, 0, "GGUF", 4, "'rope_freqs.weight' beside other rotary scaling");
    buf_release(&part);
    buf_release(&b);
    ops_free(o);
}

Test(gguf, refused_by_name_and_byte)
{
    struct ops *o = ops_open("cpu", 1);
    struct buf b = exported(o, &gpt, OPS_Q8, 0);
    const char huge[8] = "\xff\xff\xff\xff\xff\xff\xff\x7f", nan[2] = "\xff\x7f";
    size_t qkv = find(&b, "blk.0.attn_qkv.weight"), shape = qkv + 21 + 4, type = shape + 16;
    refused(o, &b, 0, "GGML", 4, "not a GGUF file");
    refused(o, &b, 4, "\1", 1, "unsupported version 1 of GGUF, at byte 4");
    refused(o, &b, 8, huge, 8, "at byte");
    refused(o, &b, 16, huge, 8, "at byte");
    refused(o, &b, 24, huge, 8, "truncated");
    refused(o, &b, find(&b, "gpt2.block_count") + 16, "\x0d", 1, "bad type 13 of a value, at byte");
    refused(o, &b, find(&b, "gpt2.block_count"), "gpt3", 4, "no key 'gpt2.block_count'");
    refused(o, &b, find(&b, "gpt2.block_count") + 20, "\7", 1,
            "no tensor 'blk.2.attn_norm.weight'");
    refused(o, &b, find(&b, "general.architecture") + 32, "gpt9", 4,
            "unsupported general.architecture 'gpt9'");
    refused(o, &b, shape + 8, "\x80", 1, "bad shape of tensor 'blk.0.attn_qkv.weight'");
    refused(o, &b, shape, "\x41", 1, "row length 65 is not a multiple of Q8_0's block size");
    refused(o, &b, shape, huge, 8, "bad shape of tensor 'blk.0.attn_qkv.weight', at byte");
    refused(o, &b, type, "\x04", 1, "tensor 'blk.0.attn_qkv.weight' is of type 4, at byte");
    refused(o, &b, type + 4, "\1", 1, "of tensor 'blk.0.attn_qkv.weight': not a multiple of 32");
    refused(o, &b, type + 4, huge, 8, "of tensor 'blk.0.attn_qkv.weight': not a multiple of 32");
    refused(o, &b, type + 4, "\xe0\xff\xff\xff\xff\xff\xff\x7f", 8, "truncated: tensor 'blk.0");
    refused(o, &b, type + 4, "\0\0\0\0\0\0\0\0", 8, "overlaps '");
    refused(o, &b, qkv, "blk.7", 5, "no tensor 'blk.0.attn_qkv.weight'");
    struct gguf g;
    cr_assert_eq(gguf_parse(&g, b.data, b.len, "x"), 0);
    size_t data = gguf_tensor(&g, "blk.1.ffn_up.weight")->offset + 34 * 5;
    char words[100];
    snprintf(words, sizeof words,
             "tensor 'blk.1.ffn_up.weight' holds what is no finite number, at byte %zu", data);
    refused(o, &b, data, nan, 2, words);
    g.map = (struct file_map){ 0 };
    gguf_close(&g);
    buf_release(&b);
    ops_free(o);
}

/* Errors in a file for textmill alone: an infinite scale in a group, and an unknown number of the
 * layout. */
Test(gguf, mapped_refused_by_name_and_byte)
{
    struct ops *o = ops_open("cpu", 2);
    struct buf b = exported(o, &gpt, OPS_IQ4_NL, 1);
    struct gguf g;
    char words[100];
    size_t layout = find(&b, "textmill.layout") + 15 + 4,
           shape = find(&b, "blk.1.ffn_up.weight") + 23;
    refused(o, &b, layout, "\1", 1, "unsupported textmill.layout 1, only 2");
    refused(o, &b, find(&b, "textmill.layout"), "T", 1,
            "bad shape of tensor 'blk.0.attn_qkv.weight'");
    refused(o, &b, shape, "\x20", 1, "bad shape of tensor 'blk.1.ffn_up.weight'");
    cr_assert_eq(gguf_parse(&g, b.data, b.len, "x"), 0, "%s", err_get());
    /* the scale of the second block of output 5 in the last group */
    const struct gguf_tensor *t = gguf_tensor(&g, "blk.1.ffn_up.weight");
    size_t data = t->offset + 5 * (size_t)t->shape[1] + 2 * (16 + 5);
    snprintf(words, sizeof words,
             "tensor 'blk.1.ffn_up.weight' holds what is no finite number, at byte %zu", data);
    refused(o, &b, data, "\1\xfc", 2, words);
    g.map = (struct file_map){ 0 };
    gguf_close(&g);
    buf_release(&b);
    ops_free(o);
}

/* An encoder whose file says that it is a decoder, and one that has no head. */
Test(gguf, bert_refused)
{
    struct ops *o = ops_open("cpu", 1);
    struct model_config c = bert;
    struct parameters p;
    struct model m;
    c.head = HEAD_PRETRAINING;
    save_folder(o, &c);
    cr_assert_eq(export(in_dir("model.gguf"), OPS_F32, 1), -1);
    cr_expect(strstr(err_get(), "encoders only with a head for questions"), "%s", err_get());
    c.head = HEAD_QUESTIONS;
    struct buf b = exported(o, &c, OPS_F32, 0);
    cr_assert_eq(parameters_load(&p, &m, o, in_dir("model.gguf"), HEAD_QUESTIONS, STORED_AUTO), -1);
    cr_expect(strstr(err_get(), "no tensor 'qa_outputs.weight'"), "%s", err_get());
    cr_assert_eq(parameters_load(&p, &m, o, in_dir("model.gguf"), HEAD_PRETRAINING, STORED_AUTO),
                 -1);
    cr_expect(strstr(err_get(), "no tensor 'bert.pooler.dense.weight'"), "%s", err_get());
    memcpy(b.data + find(&b, "bert.attention.causal") + 21 + 4, "\1", 1);
    cr_assert_eq(file_write(in_dir("bad.gguf"), b.data, b.len), 0);
    cr_assert_eq(parameters_load(&p, &m, o, in_dir("bad.gguf"), HEAD_NONE, STORED_AUTO), -1);
    cr_expect(strstr(err_get(), "unsupported bert.attention.causal: 1"), "%s", err_get());
    refused(o, &b, 0, "GGUF", 4, "unsupported general.architecture 'bert'");
    buf_release(&b);
    ops_free(o);
}

/* Divisors of frequencies that Llama 3's scaling does not have, and settings without sense. */
Test(gguf, rope_freqs_refused)
{
    struct ops *o = ops_open("cpu", 1);
    struct model_config c = llama;
    struct gguf g;
    char words[100];
    c.rope_stretch = scaling;
    struct buf b = exported(o, &c, OPS_F32, 0);
    cr_assert_eq(gguf_parse(&g, b.data, b.len, "x"), 0, "%s", err_get());
    const struct gguf_tensor *t = gguf_tensor(&g, "rope_freqs.weight");
    cr_assert_eq(t->elements, 8);
    snprintf(words, sizeof words, "'rope_freqs.weight': number 3, at byte %zu, is",
             (size_t)t->offset + 12);
    refused(o, &b, t->offset + 12, "\0\0\0\x40", 4, words);
    refused(o, &b, t->offset + 12, "\0\0\xc0\x7f", 4, words);
    refused(o, &b, find(&b, "textmill.rope.low_freq_factor") + 29 + 4, "\0\0\0\x80", 4,
            "bad textmill.rope.low_freq_factor: -0");
    refused(o, &b, find(&b, "textmill.rope.original_context_length"), "T", 1,
            "Llama 3's scaling has");
    refused(o, &b, find(&b, "rope_freqs.weight") + 17 + 4, "\7", 1, "bad shape or type of tensor");
    g.map = (struct file_map){ 0 };
    gguf_close(&g);
    buf_release(&b);
    ops_free(o);
}

/* A file that is cut anywhere must be refused. */
Test(gguf, cut)
{
    struct ops *o = ops_open("cpu", 1);
    struct buf b = exported(o, &gpt, OPS_F32, 0);
    struct gguf g;
    for (size_t n = 0; n + 64 < b.len; n += n < 4000 ? 7 : 5003)
        cr_assert_eq(gguf_parse(&g, b.data, n, "cut"), -1, "%zu bytes", n);
    buf_release(&b);
    ops_free(o);
}
