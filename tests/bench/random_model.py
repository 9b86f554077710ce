"""random_model.py gpt2-small|gpt2-xl|llama-1b FOLDER: writes a model folder with random bf16 weights, for benchmarks of
speed. Prints five numbers: the weights of the layers, the weights of the output layer, the number of layers, the
numbers that the keys and values of one position have in one layer, and how many weights of the layers `--weights int4`
keeps in 8 bits. All tensors repeat the same random numbers, because that is quick."""
import array
import json
import math
import os
import random
import struct
import sys

BLOCK = 1 << 20  # random numbers
VOCABULARY = 50257


def gpt2(width, layers, heads):
    """Returns a GPT-2's configuration, its tensors' shapes, and the width of keys and values together."""
    config = {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new",
              "n_embd": width, "n_layer": layers, "n_head": heads, "n_positions": 1024, "n_ctx": 1024,
              "vocab_size": VOCABULARY, "layer_norm_epsilon": 1e-5}
    shapes = {"transformer.wte.weight": [VOCABULARY, width], "transformer.wpe.weight": [1024, width]}
    for i in range(layers):
        for name, shape in (("ln_1", [width]), ("ln_2", [width]), ("attn.c_attn", [width, 3 * width]),
                            ("attn.c_proj", [width, width]), ("mlp.c_fc", [width, 4 * width]),
                            ("mlp.c_proj", [4 * width, width])):
            shapes[f"transformer.h.{i}.{name}.weight"] = shape
            shapes[f"transformer.h.{i}.{name}.bias"] = shape[-1:]
    shapes["transformer.ln_f.weight"] = shapes["transformer.ln_f.bias"] = [width]
    return config, shapes, layers, 2 * width


def llama(width, layers, heads, kv_heads, inner):
    """As gpt2(), for a Llama with GPT-2's vocabulary."""
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": width,
              "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads,
              "intermediate_size": inner, "max_position_embeddings": 2048, "vocab_size": VOCABULARY,
              "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False}
    shapes = {"model.embed_tokens.weight": [VOCABULARY, width], "model.norm.weight": [width],
              "lm_head.weight": [VOCABULARY, width]}
    kept = width // heads * kv_heads
    for i in range(layers):
        for name, shape in (("input_layernorm", [width]), ("post_attention_layernorm", [width]),
                            ("self_attn.q_proj", [width, width]), ("self_attn.k_proj", [kept, width]),
                            ("self_attn.v_proj", [kept, width]), ("self_attn.o_proj", [width, width]),
                            ("mlp.gate_proj", [inner, width]), ("mlp.up_proj", [inner, width]),
                            ("mlp.down_proj", [width, inner])):
            shapes[f"model.layers.{i}.{name}.weight"] = shape
    return config, shapes, layers, 2 * kept


def random_bytes():
    """Returns BLOCK random bf16 numbers: the upper halves of floats."""
    numbers = random.Random(1)
    floats = array.array("f", (0.02 * numbers.gauss(0, 1) for _ in range(BLOCK)))
    return array.array("H", (bits >> 16 for bits in array.array("I", floats.tobytes()))).tobytes()


def write(path, shapes):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        end = at + 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, end]}
        at = end
    text, block = json.dumps(header).encode(), random_bytes()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for left in range(at, 0, -len(block)):
            out.write(block[:left])


def main():
    name, folder = sys.argv[1:3]
    config, shapes, layers, kept = {"gpt2-small": lambda: gpt2(768, 12, 12), "gpt2-xl": lambda: gpt2(1600, 48, 25),
                                    "llama-1b": lambda: llama(2048, 20, 32, 8, 5632)}[name]()
    os.makedirs(folder)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as out:
        json.dump(config, out)
    write(os.path.join(folder, "model.safetensors"), shapes)
    maps = {n: math.prod(s) for n, s in shapes.items() if len(s) == 2 and (".h." in n or ".layers." in n)}
    fine = sum(maps[n] for n in maps if any(end in n for end in ("mlp.c_proj", "k_proj", "v_proj", "down_proj")))
    print(sum(maps.values()), VOCABULARY * config.get("n_embd", config.get("hidden_size")), layers, kept, fine)


main()
