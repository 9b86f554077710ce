/* Llama's blocks through model.h: gradients by differences, dropout, recomputation, threads. That
 * they compute what transformers' Llama, Qwen2, Qwen3 and Mistral do is shown by
 * tests/peers/llama.py. */
#include <criterion/criterion.h>

#include <string.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "model/network/architecture.h"
#include "tests/unit/arrays.h"
#include "tests/unit/net.h"

static struct model_config small(void)
{
    return (struct model_config){ .architecture = &architecture_llama,
                                  .layers = 2,
                                  .width = 20,
                                  .heads = 4,
                                  .kv_heads = 2,
                                  .head_width = 6,
                                  .inner = 33,
                                  .positions = 12,
                                  .vocabulary = 31,
                                  .epsilon = 1e-5,
                                  .activation = OPS_SILU,
                                  .init_std = 0.3 };
}

static void fill(struct net *n)
{
    n->b = (struct batch){
        .B = 2, .T = 11, .ids = n->ids, .labels = n->labels, .key = 5, .dropout = 1
    };
    for (int64_t i = 0; i < 22; i++) {
        n->ids[i] = (uint32_t)(rng_at(1, (uint64_t)i) % 31);
        n->labels[i] = i % 5 == 2 ? MODEL_IGNORE : (int32_t)(rng_at(2, (uint64_t)i) % 31);
    }
}

/* The same tokens as documents, one after the other. */
static void fill_documents(struct net *n)
{
    static const int64_t lengths[] = { 4, 1, 6, 8, 3 };
    fill(n);
    n->b.B = 5;
    n->b.lengths = lengths;
    n->b.joined = 1;
}

/* Gradients with one, some and all heads of keys and values; with tied and untied weights; with and
 * without biases. */
Test(llama, gradients)
{
    struct model_config c = small();
    for (int64_t kv = 1; kv <= 4; kv *= 2) {
        c.kv_heads = kv;
        c.untied = kv == 2;
        c.qkv_bias = kv == 1;
        c.out_bias = c.mlp_bias = kv == 4;
        net_check_gradients(&c, fill);
    }
    c.architecture = &architecture_qwen2;
    c.rope_stretch = (struct ops_stretch){ 4, 1, 3, 16, .scale = 1.1 };
    net_check_gradients(&c, fill);
    net_check_gradients(&c, fill_documents);
}

/* With zero_ends a new layer passes its input on: its last maps are 0, and no other is. */
Test(llama, zero_ends)
{
    struct model m;
    struct model_config c = small();
    for (c.zero_ends = 0; c.zero_ends < 2; c.zero_ends++) {
        cr_assert_eq(model_init(&m, &c), 0, "%s", err_get());
        for (size_t i = 0; i < m.tensors.count; i++) {
            const char *name = m.tensors.rows[i].name;
            const int end = strstr(name, "o_proj") || strstr(name, "down_proj");
            if (m.tensors.rows[i].init == INIT_NORMAL)
                cr_assert_eq(m.tensors.rows[i].std == 0, end && c.zero_ends, "%s", name);
        }
        model_release(&m);
    }
}

static double loss_of(const struct model_config *c)
{
    static struct net n;
    net_init(&n, c, fill, 1);
    const double loss = net_loss(&n);
    net_release(&n);
    return loss;
}

/* The texts have 11 tokens: one more than those of the short list, then as many. */
Test(llama, longrope)
{
    struct model_config c = small();
    c.rope_stretch = (struct ops_stretch){ .original = 10, .scale = 1.1, .divided = 3 };
    c.rope_longer = c.rope_stretch;
    for (int i = 0; i < 3; i++) {
        c.rope_stretch.divisors[i] = 1 + (float)i;
        c.rope_longer.divisors[i] = 3;
    }
    net_check_gradients(&c, fill);
    const double longer = loss_of(&c);
    c.rope_stretch.original = 11;
    const double shorter = loss_of(&c);
    memcpy(c.rope_stretch.divisors, c.rope_longer.divisors, sizeof c.rope_longer.divisors);
    cr_assert_eq(loss_of(&c), longer);
    cr_assert_neq(shorter, longer);
}

static struct model_config qwen3(void)
{
    struct model_config c = small();
    c.architecture = &architecture_qwen3;
    return c;
}

/* The second layer does not rotate. */
Test(llama, smollm3)
{
    struct model_config c = small();
    c.architecture = &architecture_smollm3;
    c.rope_pause = 2;
    net_check_gradients(&c, fill);
}

Test(llama, qwen3)
{
    struct model_config c = qwen3();
    net_check_gradients(&c, fill);
    c.kv_heads = 1;
    c.qkv_bias = c.out_bias = 1;
    c.head_width = 6;
    c.residual_dropout = c.attention_dropout = 0.2;
    net_check_gradients(&c, fill);
    net_check_dropout_key(&c, fill);
    net_check_accumulation(&c, fill);
    net_check_beginning(&c, fill);
    net_check_evaluation(&c, fill);
    net_check_threads(&c, fill, OPS_F32);
    net_check_threads(&c, fill, OPS_BF16);
}

static struct model_config with_dropout(void)
{
    struct model_config c = small();
    c.embedding_dropout = c.attention_dropout = c.residual_dropout = 0.2;
    c.untied = 1;
    return c;
}

Test(llama, gradients_with_dropout)
{
    struct model_config c = with_dropout();
    net_check_gradients(&c, fill);
    net_check_dropout_key(&c, fill);
}

Test(llama, gradients_accumulate_and_begin)
{
    struct model_config c = small();
    for (c.untied = 0; c.untied < 2; c.untied++) {
        net_check_accumulation(&c, fill);
        net_check_beginning(&c, fill);
    }
}

Test(llama, gradients_in_bf16)
{
    struct model_config c = small();
    net_check_bf16(&c, fill);
    c = qwen3();
    net_check_bf16(&c, fill);
}

Test(llama, evaluation_equals_training_forward)
{
    struct model_config c = small();
    net_check_evaluation(&c, fill);
}

Test(llama, threads_do_not_matter)
{
    struct model_config c = with_dropout();
    net_check_threads(&c, fill, OPS_F32);
    net_check_threads(&c, fill, OPS_BF16);
}

/* The numbers of parameters of Llama 3.2 1B and Mistral 7B, and with the biases of Qwen2. */
Test(llama, parameter_counts)
{
    struct model m;
    struct model_config c = small();
    c = (struct model_config){ .architecture = &architecture_llama,
                               .layers = 16,
                               .width = 2048,
                               .heads = 32,
                               .kv_heads = 8,
                               .inner = 8192,
                               .positions = 131072,
                               .vocabulary = 128256,
                               .epsilon = 1e-5 };
    cr_assert_eq(model_init(&m, &c), 0, "%s", err_get());
    cr_assert_eq(tensor_parameters(&m.tensors), 1235814400);
    model_release(&m);
    c.architecture = &architecture_mistral;
    c.layers = 32;
    c.width = 4096;
    c.inner = 14336;
    c.vocabulary = 32000;
    c.untied = 1;
    cr_assert_eq(model_init(&m, &c), 0, "%s", err_get());
    cr_assert_eq(tensor_parameters(&m.tensors), 7241732096);
    cr_assert_eq(m.config.head_width, 128);
    model_release(&m);
    c.architecture = &architecture_qwen2;
    cr_assert_eq(model_init(&m, &c), 0, "%s", err_get());
    cr_assert_eq(tensor_parameters(&m.tensors), 7241732096 + 32 * (4096 + 2 * 1024));
    cr_assert(tensor_find(&m.tensors, "model.layers.31.self_attn.k_proj.bias"));
    model_release(&m);
    c = (struct model_config){ .architecture = &architecture_qwen3, /* Qwen3 0.6B */
                               .layers = 28,
                               .width = 1024,
                               .heads = 16,
                               .kv_heads = 8,
                               .head_width = 128,
                               .inner = 3072,
                               .positions = 40960,
                               .vocabulary = 151936,
                               .epsilon = 1e-6 };
    cr_assert_eq(model_init(&m, &c), 0, "%s", err_get());
    cr_assert_eq(tensor_parameters(&m.tensors), 596049920);
    model_release(&m);
}

static void refused(struct model_config c, const char *words)
{
    struct model m;
    cr_assert_eq(model_init(&m, &c), -1);
    cr_assert(strstr(err_get(), words), "%s", err_get());
}

Test(llama, bad_configurations)
{
    struct model_config c = small();
    c.head_width = 5;
    refused(c, "the width of a head is 5, but rotary positions");
    c = small();
    c.kv_heads = 3;
    refused(c, "3 heads of keys and values do not divide 4 heads");
    c = small();
    c.rope_theta = -1;
    refused(c, "rope_theta is -1");
    c = small();
    c.rope_stretch = (struct ops_stretch){ 4, 32, 1, 64, 1, .yarn = 1, .whole = 1 };
    refused(c, "YaRN's beta_slow is 32, beta_fast 1");
    c = small();
    c.rope_stretch.divided = c.rope_longer.divided = 2;
    refused(c, "LongRoPE has 2 divisors for 3 pairs of a head");
    c.rope_stretch.divided = c.rope_longer.divided = 3;
    refused(c, "LongRoPE's divisor 0 is 0, must be above 0");
}

Test(llama, flops)
{
    struct model m;
    struct model_config c = small();
    cr_assert_eq(model_init(&m, &c), 0);
    double layer = 2 * 20 * 6 * (4 + 2) + 3 * 20 * 33;
    cr_assert_float_eq(model_flops_per_token(&m.config, 11, 1),
                       6 * (2 * layer + 31 * 20) + 6 * 2 * 11 * 24, 1e-6);
    model_release(&m);
}

/* ---- config.json -------------------------------------------------------------------------- */

static struct model_config read_config(const char *text)
{
    struct model_config c;
    cr_assert_eq(architecture_read(&c, HEAD_NEXT, text, strlen(text), "config.json"), 0, "%s",
                 err_get());
    return c;
}

static void config_refused(const char *text, const char *words)
{
    struct model_config c;
    cr_assert_eq(architecture_read(&c, HEAD_NEXT, text, strlen(text), "config.json"), -1, "%s",
                 text);
    cr_assert(strstr(err_get(), words) && strstr(err_get(), "config.json"), "%s", err_get());
}

Test(llama, config)
{
    struct model_config c = read_config("{\"model_type\":\"llama\"}");
    cr_assert(c.layers == 32 && c.width == 4096 && c.inner == 11008 && c.kv_heads == 0 &&
              c.untied == 1 && c.rope_theta == 10000 && c.epsilon == 1e-6 && !c.qkv_bias);
    c = read_config("{\"model_type\":\"mistral\"}");
    cr_assert(c.kv_heads == 8 && c.inner == 14336 && c.positions == 131072 && c.window == 4096);
    c = read_config("{\"model_type\":\"mistral\",\"sliding_window\":null}");
    cr_assert(c.positions == 131072 && !c.window);
    c = read_config("{\"model_type\":\"qwen2\",\"sliding_window\":64}");
    cr_assert_eq(c.positions, 32768);
    c = read_config("{\"model_type\":\"qwen2\",\"sliding_window\":64,"
                    "\"use_sliding_window\":true}");
    cr_assert_eq(c.positions, 64);
    c = read_config("{\"model_type\":\"qwen3\",\"attention_bias\":true}");
    cr_assert(c.head_width == 128 && c.kv_heads == 32 && c.qkv_bias && c.out_bias && !c.mlp_bias);
    c = read_config("{\"model_type\":\"llama\",\"attention_bias\":true,\"rope_theta\":5e5,"
                    "\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}}");
    cr_assert(c.qkv_bias && c.out_bias && c.rope_theta == 5e5 && c.rope_stretch.factor == 2 &&
              c.rope_stretch.original == 0);
    c = read_config("{\"model_type\":\"llama\",\"rope_parameters\":{\"rope_type\":\"llama3\","
                    "\"rope_theta\":7,\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
                    "\"original_max_position_embeddings\":8192}}");
    cr_assert(c.rope_theta == 7 && c.rope_stretch.factor == 8 && c.rope_stretch.low == 1 &&
              c.rope_stretch.high == 4 && c.rope_stretch.original == 8192);
    c = read_config("{\"model_type\":\"smollm3\"}");
    cr_assert(c.rope_pause == 4 && !c.untied && c.rope_theta == 2e6 && c.layers == 36);
    c = read_config("{\"model_type\":\"smollm3\",\"num_hidden_layers\":5,"
                    "\"no_rope_layers\":[1,0,1,0,1]}");
    cr_assert_eq(c.rope_pause, 2);
    c = read_config("{\"model_type\":\"smollm3\",\"num_hidden_layers\":2,"
                    "\"no_rope_layers\":[1,1]}");
    cr_assert_eq(c.rope_pause, 3);
    c = read_config("{\"model_type\":\"smollm3\",\"sliding_window\":16,\"layer_types\":"
                    "[\"full_attention\",\"sliding_attention\"]}");
    cr_assert_eq(c.positions, 16);
    config_refused("{\"model_type\":\"mistral\",\"sliding_window\":16,\"layer_types\":"
                   "[\"full_attention\",\"sliding_attention\"]}",
                   "unsupported layer_types: 'full_attention' beside a sliding_window");
    c = read_config("{\"model_type\":\"qwen3\",\"num_key_value_heads\":null}");
    cr_assert_eq(c.kv_heads, 0);
    config_refused("{\"model_type\":\"qwen2\",\"is_causal\":false}",
                   "unsupported is_causal: false");
    c = read_config("{\"model_type\":\"llama\",\"is_causal\":true,\"rope_parameters\":"
                    "{\"rope_theta\":7}}");
    cr_assert_eq(c.rope_theta, 7);
    config_refused("{\"model_type\":\"llama\",\"rope_parameters\":{\"full_attention\":"
                   "{\"rope_type\":\"default\",\"rope_theta\":7}}}",
                   "unsupported rope_type ''");
    c = read_config("{\"model_type\":\"llama\",\"rope_theta\":9,\"rope_parameters\":"
                    "{\"rope_theta\":7},\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}}");
    cr_assert(c.rope_theta == 9 && c.rope_stretch.factor == 2);
    config_refused("{\"model_type\":\"llama\",\"rope_parameters\":{\"rope_theta\":7},"
                   "\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}}",
                   "rope_scaling has no rope_theta, and rope_parameters has one");
    config_refused("{\"model_type\":\"llama\",\"partial_rotary_factor\":0.5}",
                   "unsupported partial_rotary_factor 0.5, only 1");
    config_refused("{\"model_type\":\"smollm3\",\"num_hidden_layers\":3,"
                   "\"no_rope_layers\":[1,0,0]}",
                   "unsupported no_rope_layers: the layers with 0 are not at an interval");
    config_refused("{\"model_type\":\"smollm3\",\"num_hidden_layers\":3,"
                   "\"no_rope_layers\":[1,1]}",
                   "bad no_rope_layers: number 2 is missing or neither 0 nor 1");
    config_refused("{\"model_type\":\"smollm3\",\"no_rope_layer_interval\":0}",
                   "bad no_rope_layer_interval: 0");
    c = read_config("{\"model_type\":\"qwen2\",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,"
                    "\"original_max_position_embeddings\":512,\"truncate\":false}}");
    cr_assert(c.rope_stretch.yarn && !c.rope_stretch.whole && c.rope_stretch.low == 1 &&
              c.rope_stretch.high == 32 && c.rope_stretch.original == 512);
    cr_assert_float_eq(c.rope_stretch.scale, 1.1386294361119891, 1e-15);
    c = read_config("{\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"dynamic\","
                    "\"factor\":3}}");
    cr_assert(c.rope_dynamic == 3 && !c.rope_stretch.factor);
    config_refused("{\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2,"
                   "\"truncate\":0}}",
                   "bad truncate: not true or false");
    config_refused("{\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2,"
                   "\"original_max_position_embeddings\":-1}}",
                   "YaRN's beta_slow is 1, beta_fast 32, original_max_position_embeddings -1");
    c = read_config("{\"model_type\":\"llama\",\"max_position_embeddings\":131072,"
                    "\"original_max_position_embeddings\":4096,\"rope_scaling\":{\"type\":"
                    "\"longrope\",\"short_factor\":[1,1.5],\"long_factor\":[2,3]}}");
    cr_assert(c.rope_stretch.divided == 2 && c.rope_stretch.divisors[1] == 1.5F &&
              c.rope_longer.divisors[1] == 3 && c.rope_stretch.original == 4096);
    cr_assert_float_eq(c.rope_longer.scale, 1.190238, 1e-6); /* as Phi-3 mini 128k */
    config_refused("{\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"longrope\","
                   "\"original_max_position_embeddings\":4096}}",
                   "bad short_factor: not a list of 1 to 128 numbers");
    config_refused(
        "{\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"longrope\","
        "\"original_max_position_embeddings\":4096,\"short_factor\":[1],\"long_factor\":[\"a\"]}}",
        "bad long_factor: item 0 is not a number");
    config_refused("{\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"longrope\","
                   "\"original_max_position_embeddings\":1}}",
                   "bad original_max_position_embeddings: 1, must be above 1");
    config_refused("{\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"longrope\","
                   "\"original_max_position_embeddings\":4096,\"attention_factor\":0}}",
                   "bad attention_factor: 0, must be above 0");
    config_refused("{\"model_type\":\"llama\",\"rope_scaling\":{\"rope_type\":\"su\"}}",
                   "unsupported rope_type 'su', only default, linear, llama3, yarn, dynamic and "
                   "longrope");
    config_refused("{\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"dynamic\","
                   "\"factor\":0.5}}",
                   "bad factor of rope_scaling: 0.5");
    config_refused("{\"model_type\":\"llama\",\"rope_scaling\":{\"rope_type\":\"linear\"}}",
                   "bad factor of rope_scaling: 0");
    config_refused("{\"model_type\":\"llama\",\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8}}",
                   "bad rope_scaling: low_freq_factor is 0");
    config_refused("{\"model_type\":\"llama\",\"hidden_act\":\"mish\"}",
                   "unsupported hidden_act 'mish'");
}
