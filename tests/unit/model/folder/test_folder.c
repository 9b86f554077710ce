#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/mem.h"
#include "common/files/file.h"
#include "model/folder/folder.h"
#include "model/folder/folder_names.h"
#include "model/formats/safetensors.h"
#include "model/network/architecture.h"
#include "tests/unit/arrays.h"
#include "tests/unit/dir.h"
#include "tests/unit/save_model.h"

TestSuite(folder, .init = make_dir, .fini = remove_dir);

static const struct model_config small = { .architecture = &architecture_gpt2,
                                           .kv_heads = 3,
                                           .head_width = 4,
                                           .layers = 2,
                                           .width = 12,
                                           .heads = 3,
                                           .inner = 30,
                                           .positions = 9,
                                           .vocabulary = 17,
                                           .epsilon = 1e-6,
                                           .embedding_dropout = 0.1,
                                           .attention_dropout = 0.25,
                                           .residual_dropout = 0.3,
                                           .init_std = 0.05,
                                           .qkv_bias = 1,
                                           .out_bias = 1,
                                           .mlp_bias = 1 };

static void save_small(struct ops *o)
{
    struct model m;
    struct ops_array blocks[4];
    cr_assert_eq(model_init(&m, &small), 0);
    for (int b = 0; b < 4; b++)
        blocks[b] = ops_buffer(o, OPS_F32, m.tensors.block_size[b]);
    for (size_t i = 0; i < m.tensors.count; i++) {
        const struct tensor *row = &m.tensors.rows[i];
        tensor_initialise(row, 8, 0, tensor_elements(row),
                          floats(blocks[row->block]) + row->offset);
    }
    cr_assert_eq(save_whole_model(&m, o, blocks, dir, 16), 0, "%s", err_get());
    for (int b = 0; b < 4; b++)
        ops_buffer_free(o, blocks[b]);
    model_release(&m);
}

/* ---- what is saved is what is loaded ----------------------------------------------------- */

Test(folder, round_trip)
{
    struct ops *o = ops_open("cpu", 1);
    struct model m;
    struct ops_array *blocks;
    save_small(o);
    cr_assert_eq(folder_load(&m, o, &blocks, dir, HEAD_NEXT, 0, NULL), 0, "%s", err_get());
    cr_assert_eq(0, memcmp(&m.config, &small, sizeof small));
    for (size_t i = 0; i < m.tensors.count; i++) {
        const struct tensor *row = &m.tensors.rows[i];
        int64_t n = tensor_elements(row);
        float *wanted = mem_alloc((size_t)n * sizeof *wanted);
        tensor_initialise(row, 8, 0, tensor_elements(row), wanted);
        cr_assert_eq(0, memcmp(wanted, floats(blocks[row->block]) + row->offset,
                               (size_t)n * sizeof *wanted));
        free(wanted);
    }
    struct buf config = BUF_INIT;
    file_read(in_dir("config.json"), &config);
    cr_assert(strstr(config.data, "\"eos_token_id\": 16"));
    buf_release(&config);
    folder_free_blocks(&m, o, blocks);
    model_release(&m);
    ops_free(o);
}

static void check_text(const char *file, const char *words)
{
    struct buf text = BUF_INIT;
    cr_assert_eq(file_read(in_dir(file), &text), 0, "%s", err_get());
    cr_expect(strstr(text.data, words), "%s: %s", file, text.data);
    buf_release(&text);
}

/* The tokens that begin a text and fill up a batch are those of the vocabulary or, if it has none,
 * the usual end. */
Test(folder, tokens_that_begin_and_end)
{
    static const char own[] = "\"bos_token_id\": 5,\n  \"eos_token_id\": [16, 3],\n",
                      usual[] = "\"bos_token_id\": 16,\n  \"eos_token_id\": [16, 3],\n";
    struct model m;
    uint32_t both[] = { 16, 3 };
    const struct ids ends = { both, 2, 2 }, none = { 0 };
    cr_assert_eq(model_init(&m, &small), 0);
    cr_assert_eq(folder_save_config(&m, OPS_F32, dir, 5, &ends, -1, NULL), 0, "%s", err_get());
    check_text("config.json", own);
    check_text("generation_config.json", own);
    check_text("generation_config.json", "\"pad_token_id\": 16\n");
    cr_assert_eq(folder_save_config(&m, OPS_F32, dir, 5, &ends, 2, NULL), 0, "%s", err_get());
    check_text("generation_config.json", "\"pad_token_id\": 2\n");
    cr_assert_eq(folder_save_config(&m, OPS_F32, dir, 5, &ends, m.config.vocabulary, NULL), 0, "%s",
                 err_get()); /* the model has no such row */
    check_text("generation_config.json", "\"pad_token_id\": 16\n");
    cr_assert_eq(folder_save_config(&m, OPS_F32, dir, -1, &ends, -1, NULL), 0, "%s", err_get());
    check_text("config.json", usual);
    check_text("generation_config.json", usual);
    cr_assert_eq(folder_save_config(&m, OPS_F32, dir, -1, &none, -1, NULL), 0, "%s", err_get());
    check_text("config.json", "\"bos_token_id\": null,\n  \"eos_token_id\": null,\n");
    model_release(&m);
}

/* The key names the token that begins the next file of a model of code. */
Test(folder, ends_of_gguf)
{
    struct gguf_writer w;
    struct ids ends = { 0 };
    gguf_begin(&w);
    gguf_add_u32(&w, "tokenizer.ggml.eos_token_id", 5);
    gguf_add_u32(&w, "tokenizer.ggml.fim_sep_token_id", 7);
    cr_assert_eq(gguf_create(&w, in_dir("m.gguf")), 0, "%s", err_get());
    cr_assert_eq(gguf_finish(&w), 0, "%s", err_get());
    cr_assert_eq(folder_ends(&ends, NULL, in_dir("m.gguf")), 0, "%s", err_get());
    cr_expect(ends.count == 2 && ends.data[0] == 5 && ends.data[1] == 7);
    ids_release(&ends);
}

/* ---- tensors ----------------------------------------------------------------------------- */

/* Replaces `from` by `to`, a text of the same length, in model.safetensors: to rename a tensor or
 * to change a shape. */
static void change_file(const char *from, const char *to)
{
    struct buf b = BUF_INIT;
    cr_assert_eq(strlen(from), strlen(to));
    file_read(in_dir("model.safetensors"), &b);
    char *at = memmem(b.data, b.len, from, strlen(from));
    cr_assert_not_null(at);
    memcpy(at, to, strlen(to));
    cr_assert_eq(file_write(in_dir("model.safetensors"), b.data, b.len), 0);
    buf_release(&b);
}

static void load_refused(const char *words)
{
    struct ops *o = ops_open("cpu", 1);
    struct model m;
    struct ops_array *blocks;
    cr_assert_eq(folder_load(&m, o, &blocks, dir, HEAD_NEXT, 0, NULL), -1, "no error: %s", words);
    cr_assert(strstr(err_get(), words), "%s", err_get());
    cr_assert_null(blocks);
    ops_free(o);
}

static void changed_refused(const char *from, const char *to, const char *words)
{
    struct ops *o = ops_open("cpu", 1);
    save_small(o);
    ops_free(o);
    change_file(from, to);
    load_refused(words);
}

Test(folder, wrong_tensors)
{
    changed_refused("h.1.ln_2.bias", "h.1.ln_2.bibs", "no tensor 'h.1.ln_2.bias'");
    changed_refused("[12,36]", "[36,12]",
                    "h.0.attn.c_attn.weight' has shape [36,12], but config.json needs [12,36]");
    changed_refused("\"F32\",\"shape\":[17,12]", "\"U32\",\"shape\":[17,12]",
                    "is U32; only F64, F32");
}

/* Writes model.safetensors, in which all elements of tensor i are i. prefix: is put before each
 * name; extra: NULL, or the name of one more tensor of the shape [rows,12], whose elements are
 * extra_value. */
static void write_variant(const struct model_config *config, const char *prefix, const char *extra,
                          float extra_value, int64_t rows)
{
    struct model m;
    struct safetensors_writer w;
    struct safetensor t[40] = { { 0 } };
    size_t n = 0;
    cr_assert_eq(model_init(&m, config), 0);
    for (; n < m.tensors.count; n++) {
        const struct tensor *row = &m.tensors.rows[n];
        struct buf name = BUF_INIT;
        buf_addf(&name, "%s%s", prefix, row->name);
        t[n] = safetensors_entry(name.data, OPS_F32, row->rank, row->shape);
        buf_release(&name);
    }
    if (extra)
        t[n++] = safetensors_entry(extra, OPS_F32, 2, (int64_t[]){ rows, 12 });
    cr_assert_eq(safetensors_create(&w, in_dir("model.safetensors"), t, n), 0);
    for (size_t i = 0; i < n; i++) {
        int64_t count = t[i].shape[0] * (t[i].rank == 2 ? t[i].shape[1] : 1);
        float value = i < m.tensors.count ? (float)i : extra_value;
        for (int64_t e = 0; e < count; e++)
            cr_assert_eq(safetensors_write(&w, &value, 1, sizeof value), 0);
        free(t[i].name);
    }
    cr_assert_eq(safetensors_finish(&w), 0);
    model_release(&m);
}

static void load_accepted(void)
{
    struct ops *o = ops_open("cpu", 1);
    struct model m;
    struct ops_array *blocks;
    cr_assert_eq(folder_load(&m, o, &blocks, dir, HEAD_NEXT, 0, NULL), 0, "%s", err_get());
    for (size_t i = 0; i < m.tensors.count; i++)
        cr_assert_eq(floats(blocks[m.tensors.rows[i].block])[m.tensors.rows[i].offset], (float)i);
    folder_free_blocks(&m, o, blocks);
    model_release(&m);
    ops_free(o);
}

Test(folder, names_and_extras)
{
    struct ops *o = ops_open("cpu", 1);
    save_small(o);
    ops_free(o);
    write_variant(&small, "", NULL, 0, 0);
    load_accepted();
    write_variant(&small, "transformer.", "transformer.h.0.attn.bias", 1, 4);
    load_accepted();
    write_variant(&small, "transformer.", "transformer.h.0.attn.masked_bias", 1, 1);
    load_accepted();
    write_variant(&small, "transformer.", "lm_head.weight", 0, 17); /* wte is all 0 as well: tied */
    load_accepted();
    write_variant(&small, "transformer.", "lm_head.weight", 1, 17);
    load_refused("'lm_head.weight' differs from wte.weight, but config.json ties them");
    write_variant(&small, "transformer.", "score.weight", 1, 2);
    load_accepted();
    write_variant(&small, "transformer.", "scores.weight", 1, 2);
    load_refused("tensor 'scores.weight' is not part of the model");
    write_variant(&small, "transformer.", "h.2.ln_1.weight", 1, 2);
    load_refused("'h.2.ln_1.weight' is not part of the model");
    write_variant(&small, "transformer.", "wte.weight", 0, 17);
    load_refused("'transformer.wte.weight' is there twice, as 'wte.weight' too");
}

/* Rotary frequencies, of each layer in older files and of the whole model in newer ones. */
Test(folder, buffers_of_rotary_positions)
{
    struct model m;
    struct model_config c = small;
    c.architecture = &architecture_llama;
    cr_assert_eq(model_init(&m, &c), 0, "%s", err_get());
    cr_expect(folder_names_passed_over(&m, "model.layers.1.self_attn.rotary_emb.inv_freq"));
    cr_expect(folder_names_passed_over(&m, "model.rotary_emb.inv_freq"));
    cr_expect(folder_names_passed_over(&m, "rotary_emb.inv_freq"));
    cr_expect(!folder_names_passed_over(&m, "model.rotary_emb.weight"));
    model_release(&m);
}

/* Sizes in config.json must be compared with the file before memory for them is allocated. */
Test(folder, absurd_sizes)
{
    struct ops *o = ops_open("cpu", 1);
    save_small(o);
    ops_free(o);
    put_text("config.json", "{\"model_type\":\"gpt2\",\"n_layer\":9999,\"n_embd\":1048576,"
                            "\"n_head\":1,\"vocab_size\":16777216}");
    load_refused("has shape [17,12], but config.json needs [16777216,1048576]");
    put_text("config.json", "{\"model_type\":\"gpt2\",\"n_layer\":1000000000}");
    load_refused("layers is 1000000000");
    put_text("config.json", "{\"model_type\":\"gpt2\",\"n_embd\":9223372036854775807}");
    load_refused("bad n_embd");
}

/* ---- config.json ------------------------------------------------------------------------- */

Test(folder, config_defaults)
{
    struct model_config c;
    put_text("config.json", "{\"model_type\":\"gpt2\",\"n_inner\":null}");
    cr_assert_eq(folder_read_config(&c, HEAD_NEXT, dir), 0, "%s", err_get());
    cr_assert(c.layers == 12 && c.width == 768 && c.heads == 12 && c.inner == 3072 &&
              c.positions == 1024 && c.vocabulary == 50257 && c.epsilon == 1e-5 &&
              c.residual_dropout == 0.1);
}

static void config_refused(const char *text, const char *words)
{
    struct model_config c;
    put_text("config.json", text);
    cr_assert_eq(folder_read_config(&c, HEAD_NEXT, dir), -1, "accepted: %s", text);
    cr_assert(strstr(err_get(), words) && strstr(err_get(), "config.json"), "%s", err_get());
}

Test(folder, config_refuses_what_it_cannot_compute)
{
    config_refused("{", "bad JSON");
    config_refused("[]", "unsupported model_type ''");
    config_refused("{\"model_type\":\"gpt_neox\"}", "unsupported model_type 'gpt_neox'");
    config_refused("{\"model_type\":\"gpt2\",\"activation_function\":\"quick_gelu\"}",
                   "unsupported activation_function 'quick_gelu'");
    config_refused("{\"model_type\":\"gpt2\",\"add_cross_attention\":true}",
                   "unsupported add_cross_attention: true");
    config_refused("{\"model_type\":\"gpt2\",\"scale_attn_weights\":0}", "bad scale_attn_weights");
    config_refused("{\"model_type\":\"gpt2\",\"quantization_config\":{}}", "quantization_config");
    config_refused("{\"model_type\":\"gpt2\",\"n_layer\":\"12\"}", "bad n_layer: not an integer");
    config_refused("{\"model_type\":\"gpt2\",\"embd_pdrop\":\"x\"}",
                   "bad embd_pdrop: not a number");
}

/* ---- BERT -------------------------------------------------------------------------------- */

static const struct model_config bert = { .architecture = &architecture_bert,
                                          .layers = 2,
                                          .width = 12,
                                          .heads = 3,
                                          .inner = 30,
                                          .positions = 9,
                                          .vocabulary = 17,
                                          .epsilon = 1e-3,
                                          .embedding_dropout = 0.3,
                                          .attention_dropout = 0.25,
                                          .residual_dropout = 0.3,
                                          .init_std = 0.05,
                                          .head = HEAD_PRETRAINING,
                                          .types = 3,
                                          .activation = OPS_GELU_TANH,
                                          .dropout_first = 1,
                                          .bare_head = 1 };

static void save_bert(struct ops *o, enum model_head kind)
{
    struct model m;
    struct model_config c = bert;
    struct ops_array blocks[4];
    c.head = kind;
    cr_assert_eq(model_init(&m, &c), 0);
    for (int b = 0; b < 4; b++)
        blocks[b] = ops_buffer(o, OPS_F32, m.tensors.block_size[b]);
    for (size_t i = 0; i < m.tensors.count; i++) {
        const struct tensor *row = &m.tensors.rows[i];
        tensor_initialise(row, 8, 0, tensor_elements(row),
                          floats(blocks[row->block]) + row->offset);
    }
    cr_assert_eq(save_whole_model(&m, o, blocks, dir, -1), 0, "%s", err_get());
    for (int b = 0; b < 4; b++)
        ops_buffer_free(o, blocks[b]);
    model_release(&m);
}

/* Loads a BERT model with the head `kind`: every tensor must have the values that the seed 8 gives,
 * whether it was loaded or made. made: NULL, or is set as folder_load does. */
static void check_bert(struct ops *o, enum model_head kind, int *made)
{
    struct model m;
    struct ops_array *blocks;
    cr_assert_eq(folder_load(&m, o, &blocks, dir, kind, 8, made), 0, "%s", err_get());
    for (size_t i = 0; i < m.tensors.count; i++) {
        const struct tensor *row = &m.tensors.rows[i];
        size_t bytes = (size_t)tensor_elements(row) * sizeof(float);
        float *wanted = mem_alloc(bytes);
        tensor_initialise(row, 8, 0, tensor_elements(row), wanted);
        cr_assert_eq(0, memcmp(wanted, floats(blocks[row->block]) + row->offset, bytes), "%s",
                     row->name);
        free(wanted);
    }
    folder_free_blocks(&m, o, blocks);
    model_release(&m);
}

Test(folder, bert_round_trip)
{
    struct ops *o = ops_open("cpu", 1);
    struct model_config c;
    struct model m;
    struct ops_array *blocks;
    int made;
    save_bert(o, HEAD_PRETRAINING);
    cr_assert_eq(folder_read_config(&c, HEAD_PRETRAINING, dir), 0, "%s", err_get());
    cr_assert_eq(0, memcmp(&c, &bert, sizeof bert));
    check_bert(o, HEAD_PRETRAINING, NULL);
    check_bert(o, HEAD_NONE, NULL); /* its heads are passed over */
    check_bert(o, HEAD_QUESTIONS, &made);
    cr_assert_eq(made, 2);
    cr_assert_eq(folder_load(&m, o, &blocks, dir, HEAD_QUESTIONS, 8, NULL), -1);
    cr_assert(strstr(err_get(), "no tensor 'qa_outputs.weight'"), "%s", err_get());
    save_bert(o, HEAD_NONE);
    check_bert(o, HEAD_PRETRAINING, &made);
    cr_assert_eq(made, 4);
    change_file("bert.encoder.layer.1.output.dense.bias", "bert.encoder.layer.1.output.dense.bibs");
    cr_assert_eq(folder_load(&m, o, &blocks, dir, HEAD_NONE, 8, &made), -1);
    cr_assert(strstr(err_get(), "no tensor 'bert.encoder.layer.1.output.dense.bias'"), "%s",
              err_get());
    load_refused("unsupported model_type 'bert', only gpt2"); /* a GPT is wanted */
    ops_free(o);
}

/* A tensor whose name, without a prefix, is that of one that the head lacks. */
Test(folder, bert_prefix_twice)
{
    static const char name[] = "bert.bert.pooler.dense.weight";
    struct ops *o = ops_open("cpu", 1);
    struct model m;
    struct ops_array *blocks;
    struct model_config c = bert;
    const struct ids none = { 0 };
    int made;
    c.head = HEAD_NONE;
    c.inner = c.width; /* all matrices are square, so no shape depends on the order of its sizes */
    cr_assert_eq(model_init(&m, &c), 0);
    cr_assert_eq(folder_save_config(&m, OPS_F32, dir, -1, &none, -1, NULL), 0, "%s", err_get());
    model_release(&m);
    write_variant(&c, "", name, 1, c.width);
    cr_assert_eq(folder_load(&m, o, &blocks, dir, HEAD_PRETRAINING, 8, &made), -1);
    cr_assert(strstr(err_get(), name) && strstr(err_get(), "is not part of the model"), "%s",
              err_get());
    ops_free(o);
}

/* The norms have other names in the first models that were converted from TensorFlow. */
/* A rank that keeps a share of a block reads its numbers, which cut tensors: also tensors that the
 * file holds transposed, and those that are made because they are missing. */
Test(folder, parts_of_blocks)
{
    enum { PIECE = 112 };
    struct ops *o = ops_open("cpu", 1);
    struct model m, again;
    struct ops_array *blocks, part;
    struct folder_reader r;
    int made;
    save_bert(o, HEAD_NONE);
    cr_assert_eq(folder_load(&m, o, &blocks, dir, HEAD_PRETRAINING, 8, &made), 0, "%s", err_get());
    cr_assert_eq(folder_reader_open(&r, &again, dir, &m.config, NULL, 8, &made), 0, "%s",
                 err_get());
    for (int b = 0; b < m.tensors.blocks; b++)
        for (int64_t i = 0; i < m.tensors.block_size[b]; i += PIECE) {
            const int64_t left = m.tensors.block_size[b] - i, n = left < PIECE ? left : PIECE;
            cr_assert_eq(folder_reader_block(&r, &again, o, b, i, n, &part), 0, "%s", err_get());
            cr_assert_arr_eq(floats(part), floats(blocks[b]) + i, (size_t)n * sizeof(float),
                             "block %d, from %d on", b, (int)i);
            ops_buffer_free(o, part);
        }
    folder_reader_close(&r);
    folder_free_blocks(&m, o, blocks);
    model_release(&again);
    model_release(&m);
    ops_free(o);
}

Test(folder, bert_norms_by_their_old_names)
{
    struct ops *o = ops_open("cpu", 1);
    save_bert(o, HEAD_QUESTIONS);
    change_file("embeddings.LayerNorm.weight\":", "embeddings.LayerNorm.gamma\" :");
    change_file("layer.1.output.LayerNorm.bias", "layer.1.output.LayerNorm.beta");
    check_bert(o, HEAD_QUESTIONS, NULL);
    check_bert(o, HEAD_NONE, NULL);
    ops_free(o);
}

static void bert_refused(const char *text, const char *words)
{
    struct model_config c;
    put_text("config.json", text);
    cr_assert_eq(folder_read_config(&c, HEAD_NONE, dir), -1, "accepted: %s", text);
    cr_assert(strstr(err_get(), words) && strstr(err_get(), "config.json"), "%s", err_get());
}

Test(folder, bert_config)
{
    struct model_config c;
    put_text("config.json", "{\"model_type\":\"bert\"}");
    cr_assert_eq(folder_read_config(&c, HEAD_NONE, dir), 0, "%s", err_get());
    cr_assert(c.layers == 12 && c.width == 768 && c.inner == 3072 && c.positions == 512 &&
              c.vocabulary == 30522 && c.types == 2 && c.epsilon == 1e-12 &&
              c.activation == OPS_GELU && !c.dropout_first && !c.bare_head &&
              c.embedding_dropout == 0.1);
    put_text("config.json", "{\"model_type\":\"modernbert\",\"global_rope_theta\":7,"
                            "\"local_rope_theta\":null}");
    cr_assert_eq(folder_read_config(&c, HEAD_NONE, dir), 0, "%s", err_get());
    cr_assert(c.rope_theta == 7 && c.local_theta == 7);
    put_text("config.json", "{\"model_type\":\"modernbert\",\"local_rope_theta\":null,"
                            "\"rope_parameters\":{\"sliding_attention\":{\"rope_theta\":9}}}");
    cr_assert_eq(folder_read_config(&c, HEAD_NONE, dir), 0, "%s", err_get());
    cr_assert(c.rope_theta == 160000 && c.local_theta == 9);
    bert_refused("{\"model_type\":\"gpt2\"}",
                 "unsupported model_type 'gpt2', only bert, distilbert, roberta and modernbert");
    bert_refused("{\"model_type\":\"bert\",\"hidden_act\":\"mish\"}",
                 "unsupported hidden_act 'mish'");
    bert_refused("{\"model_type\":\"bert\",\"hidden_act\":1}", "bad hidden_act");
    bert_refused("{\"model_type\":\"bert\",\"position_embedding_type\":\"relative_key\"}",
                 "unsupported position_embedding_type 'relative_key'");
    bert_refused("{\"model_type\":\"bert\",\"is_decoder\":true}", "unsupported is_decoder: true");
    bert_refused("{\"model_type\":\"bert\",\"hidden_size\":\"a\"}",
                 "bad hidden_size: not an integer");
    bert_refused("{\"model_type\":\"bert\",\"bare_prediction_head\":2}",
                 "bad bare_prediction_head: not true or false");
}

Test(folder, nothing_there)
{
    load_refused("config.json");
    put_text("config.json", "{\"model_type\":\"gpt2\"}");
    load_refused("no model.safetensors");
}
