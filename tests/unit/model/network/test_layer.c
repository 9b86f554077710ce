/* Layers as lists: their text, and the scratch memory that follows from the lists. That their
 * numbers are right is shown by the tests of the architectures. */
#include <criterion/criterion.h>

#include "common/base/err.h"
#include "model/network/architecture.h"
#include "model/network/layer.h"

static const struct model_config small = { .layers = 2,
                                           .width = 24,
                                           .heads = 4,
                                           .inner = 100,
                                           .positions = 12,
                                           .vocabulary = 31,
                                           .epsilon = 1e-5,
                                           .init_std = 0.3 };

static struct model model_of(const struct architecture *a, enum model_head head)
{
    struct model m;
    struct model_config c = small;
    c.architecture = a;
    c.head = head;
    c.types = head != HEAD_NEXT;
    c.kv_heads = head == HEAD_NEXT && a != &architecture_gpt2 ? 2 : 0;
    cr_assert_eq(model_init(&m, &c), 0, "%s", err_get());
    return m;
}

static void check_text(const struct architecture *a, enum model_head head, const char *expected)
{
    struct buf out = BUF_INIT;
    struct model m = model_of(a, head);
    layer_print(&m, &out);
    cr_assert_str_eq(out.data, expected, "%s:\n%s", a->name, out.data);
    buf_release(&out);
    model_release(&m);
}

Test(layer, a_layer_reads_as_it_should)
{
    check_text(&architecture_gpt2, HEAD_NEXT,
               "  normed = norm(input), ln_1\n"
               "  queries, keys, values = maps(normed), attn.c_attn, kept\n"
               "  heads = attend(queries, keys, values), kept\n"
               "  middle = residual(heads, input), attn.c_proj, kept\n"
               "  branch = norm(middle), ln_2\n"
               "  inner = maps(branch), mlp.c_fc, kept\n"
               "  active = activate(inner)\n"
               "  output = residual(active, middle), mlp.c_proj\n");
    check_text(&architecture_llama, HEAD_NEXT,
               "  normed = norm(input), input_layernorm\n"
               "  queries, keys, values = maps(normed), self_attn.q_proj, self_attn.k_proj, "
               "self_attn.v_proj, kept\n"
               "  queries, keys = rotate(queries, keys)\n"
               "  heads = attend(queries, keys, values), kept\n"
               "  middle = residual(heads, input), self_attn.o_proj, kept\n"
               "  branch = norm(middle), post_attention_layernorm\n"
               "  inner, up = maps(branch), mlp.gate_proj, mlp.up_proj, kept\n"
               "  active = gate(inner, up)\n"
               "  output = residual(active, middle), mlp.down_proj\n");
    check_text(&architecture_qwen3, HEAD_NEXT,
               "  normed = norm(input), input_layernorm\n"
               "  queries, keys, values = maps(normed), self_attn.q_proj, self_attn.k_proj, "
               "self_attn.v_proj, kept\n"
               "  normed queries = norm(queries), self_attn.q_norm, kept\n"
               "  normed keys = norm(keys), self_attn.k_norm, kept\n"
               "  normed queries, normed keys = rotate(normed queries, normed keys)\n"
               "  heads = attend(normed queries, normed keys, values), kept\n"
               "  middle = residual(heads, input), self_attn.o_proj, kept\n"
               "  branch = norm(middle), post_attention_layernorm\n"
               "  inner, up = maps(branch), mlp.gate_proj, mlp.up_proj, kept\n"
               "  active = gate(inner, up)\n"
               "  output = residual(active, middle), mlp.down_proj\n");
    check_text(&architecture_bert, HEAD_NONE,
               "  queries, keys, values = maps(input), attention.self.query, attention.self.key, "
               "attention.self.value, kept\n"
               "  heads = attend(queries, keys, values), kept\n"
               "  middle = residual(heads, input), attention.output.dense, kept\n"
               "  branch = norm(middle), attention.output.LayerNorm\n"
               "  inner = maps(branch), intermediate.dense, kept\n"
               "  active = activate(inner)\n"
               "  sum = residual(active, branch), output.dense, kept\n"
               "  output = norm(sum), output.LayerNorm\n");
}

/* Counted by hand. GPT-2's forward has queries, keys and values (3 C), whose place then has the
 * residual stream, beside the norms' output (C) and the two inner arrays. Its backward has the
 * widest gradient (I), and a norm's output with its gradient. */
Test(layer, scratch_memory_is_reused)
{
    struct model m = model_of(&architecture_gpt2, HEAD_NEXT);
    const int64_t C = m.config.width, I = m.config.inner;
    cr_assert_eq(layer_scratch_bwd(&m), I + 2 * C, "%lld", (long long)layer_scratch_bwd(&m));
    cr_assert_eq(layer_scratch_fwd(&m), 2 * I + 4 * C, "%lld", (long long)layer_scratch_fwd(&m));
    cr_assert_lt(layer_scratch_fwd(&m), layer_cache(&m, 1, 16, NULL) / 16 + I);
    model_release(&m);
}
