"""GGUF files that `generate export` writes. gguf from PyPI reads every key and tensor, with the values of the folder's
tensors. If llama-cpp-python is installed, it generates the same text with a vocabulary learnt here."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from gguf import GGUFReader
    from gguf.quants import dequantize
    from safetensors.numpy import load_file
except ImportError:
    sys.exit(77)

from lib import llamacpp

LAYERS = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm",
          "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
WHOLE = {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}
STEPS = {"f32": 0, "bf16": 2 ** -8, "f16": 2 ** -11, "int8": 1 / 127, "int4": 1 / 7}


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def theirs(name):
    stem, end = name.removeprefix("transformer.").rsplit(".", 1)
    if stem in WHOLE:
        return f"{WHOLE[stem]}.{end}"
    _, layer, rest = stem.split(".", 2)
    return f"blk.{layer}.{LAYERS[rest]}.{end}"


def check(path, folder, weights):
    reader = GGUFReader(path)
    tensors = {t.name: t for t in reader.tensors}
    for field in reader.fields.values():
        field.contents()
    for name, ours in load_file(os.path.join(folder, "model.safetensors")).items():
        t = tensors[theirs(name)]
        if "attn.c_" in name or "mlp.c_" in name:
            ours = ours.T
        found = dequantize(t.data, t.tensor_type).reshape(ours.shape)
        error = np.abs(found - ours).max() / np.abs(ours).max()
        # int4 keeps the last map of each MLP in 8 bits.
        assert error <= STEPS["int8" if weights == "int4" and "mlp.c_proj" in name else weights] * 1.01, (weights, name, error)
        assert weights == "f32" or ours.ndim == 1 or not name.endswith("c_fc.weight") or error > 0, name
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    assert len(tokens) == tensors["token_embd.weight"].shape[1] and len(set(tokens)) == len(tokens)
    print(f"gguf {weights}: {len(reader.fields)} keys and {len(tensors)} tensors as gguf reads them")


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        text = os.path.join(os.environ["ROOT"], "README.md")
        run("tokenize", "train", "-q", "--vocab-size", "500", "--format", "text", "-o", "vocab", text)
        stream = subprocess.Popen(["tokenize", "-q", "--vocab", "vocab", "--format", "text", text], stdout=subprocess.PIPE)
        run("tfwrite", "-q", "--sequence-length", "32", "-o", "shards", stdin=stream.stdout)
        stream.wait()
        shape = "--layers 2 --width 64 --heads 2 --positions 64 --sequence-length 32 --micro-batch-size 8 --global-batch-size 8"
        for architecture in ("gpt2", "llama", "llama3"):
            if architecture == "llama3":  # the same model with Llama 3's rotary frequencies
                shutil.copytree("llama", "llama3")
                with open("llama3/config.json") as file:
                    config = json.load(file)
                config["rope_scaling"] = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0,
                                          "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
                with open("llama3/config.json", "w") as file:
                    json.dump(config, file)
            else:
                run("train", "-q", "--architecture", architecture, "--data", "shards", "--vocab", "vocab", *shape.split(),
                    "--steps", "250", "--learning-rate", "3e-3", "--warmup", "5", "--dropout", "0", "-o", architecture)
            for weights in STEPS:
                path = f"{architecture}-{weights}.gguf"
                run("generate", "export", "-q", "--model", architecture, "--weights", weights, "-o", path)
                if architecture == "gpt2":
                    check(path, architecture, weights)
                else:
                    GGUFReader(path)
                ours, own = (run("generate", "-q", "--no-echo", "--model", m, *more, "-T", "0", "-n", "24", "The text")
                             for m, more in ((path, []), (architecture, ["--weights", weights])))
                # The file has a table that is the output matrix, too, once: lookups read rounded numbers, and texts may part.
                assert ours == own or weights != "f32", (ours, own)
                if not llamacpp.available():
                    continue
                model = llamacpp.load(path)
                ids = model.tokenize(b"The text", add_bos=False, special=False)
                text = model.detokenize(llamacpp.greedy(model, ids, 24)).decode()
                print(f"gguf {architecture} {weights}: llama.cpp writes",
                      "the same text" if text == ours.removesuffix("\n") else repr(text))
                # Products with bf16, int8 and int4 round their other factor there, to bf16 or 8 bits in other blocks: texts
                # may part.
                assert text == ours.removesuffix("\n") or weights in ("bf16", "int8", "int4"), (text, ours)


main()
