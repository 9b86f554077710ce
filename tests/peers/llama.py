"""Llama, Qwen2, Qwen3, SmolLM3 and Mistral beside transformers and PyTorch. Random models of many sizes, saved by transformers, give the
same logits, the same gradients and the same greedy text here; so do the logits with fifty random settings of each scaling of rotary
positions, and those of fifty random Qwen3, SmolLM3 and Mistral, whose windows are shorter than many texts. Fifty updates with AdamW
agree with PyTorch's. A model trained here loads there. tests/peers/gpt.c runs our side."""
import json
import os
import struct
import subprocess
import sys
import tempfile

from lib.order import sample

try:
    import numpy as np
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import (AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM,
                              PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM,
                              SmolLM3Config, SmolLM3ForCausalLM)
except ImportError:
    sys.exit(77)

from lib.program import build, close, our_logits, stir, their_logits

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(11)
torch.set_num_threads(2)
KINDS = {"llama": (LlamaConfig, LlamaForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM),
         "qwen3": (Qwen3Config, Qwen3ForCausalLM),
         "smollm3": (SmolLM3Config, SmolLM3ForCausalLM),
         "mistral": (MistralConfig, MistralForCausalLM)}
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 3.0,
          "original_max_position_embeddings": 40}
SHAPES = [  # kind, vocabulary, and what differs from SMALL
    ("llama", 331, dict()),
    ("llama", 331, dict(num_key_value_heads=1, tie_word_embeddings=True)),
    ("llama", 97, dict(num_key_value_heads=4, intermediate_size=101, attention_bias=True, mlp_bias=True)),
    ("llama", 1000, dict(head_dim=10, num_hidden_layers=1, intermediate_size=77)),
    ("llama", 331, dict(rope_theta=500.0, rope_scaling={"rope_type": "linear", "factor": 2.5})),
    ("llama", 331, dict(rope_scaling=LLAMA3, hidden_size=100, num_attention_heads=10, num_key_value_heads=5)),
    ("qwen2", 331, dict(rope_theta=3e4, rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 40})),
    ("qwen2", 97, dict(tie_word_embeddings=True, rope_theta=1e6)),
    ("qwen3", 331, dict(head_dim=24, rope_theta=1e6)),
    ("qwen3", 97, dict(tie_word_embeddings=True, attention_bias=True, num_key_value_heads=1, head_dim=16)),
    ("smollm3", 331, dict(num_hidden_layers=4, tie_word_embeddings=False)),
    ("mistral", 1000, dict(num_key_value_heads=1, head_dim=32, sliding_window=None)),
    ("mistral", 331, dict(sliding_window=140)),
    ("mistral", 331, dict(sliding_window=19)),
    ("llama", 331, dict(hidden_act="gelu", tie_word_embeddings=True, num_hidden_layers=4)),
]
SMALL = dict(hidden_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, intermediate_size=112,
             max_position_embeddings=150, rms_norm_eps=1e-5, initializer_range=0.15, bos_token_id=1, eos_token_id=1,
             pad_token_id=None)


def random_model(kind, vocabulary, changes):
    config, model = KINDS[kind]
    model = model(config(vocab_size=vocabulary, **{**SMALL, **changes})).eval()
    return stir(model)


def gradients_agree(what, program, folder, model, vocabulary, B=3, T=37):
    ids = np.random.default_rng(3).integers(0, vocabulary, (B, T + 1))
    ids.astype(np.uint32).tofile(folder + ".ids")
    subprocess.check_call([program, "gradients", folder, folder + ".ids", str(B), str(T), folder + ".out"])
    ours = np.fromfile(folder + ".out", np.float32)
    logits = model(torch.tensor(ids[:, :-1])).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, vocabulary), torch.tensor(ids[:, 1:]).reshape(-1))
    loss.backward()
    close(f"{what}: loss", ours[:1], loss.detach().numpy()[None], 1e-5)
    named, at, worst = dict(model.named_parameters()), 1, ("", 0.0)
    order = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.q_norm", "self_attn.k_norm",
             "self_attn.o_proj"]
    mlp = ["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]
    names = ["model.embed_tokens.weight"]
    for layer in range(model.config.num_hidden_layers):
        for stem in ["input_layernorm", *order, "post_attention_layernorm", *mlp]:
            names += [f"model.layers.{layer}.{stem}.{end}" for end in ("weight", "bias")]
    for name in names + ["model.norm.weight", "lm_head.weight"]:  # the order of the tensor table
        if name not in named:
            continue
        theirs = named[name].grad
        theirs = theirs.T if "_proj.weight" in name else theirs  # maps are [in, out] here
        mine = ours[at:at + theirs.numel()]
        at += theirs.numel()
        if "k_proj.bias" in name and float(theirs.abs().max()) < 1e-6:
            continue  # what rounding leaves
        error = float(np.abs(mine - theirs.numpy().ravel()).max() / np.abs(theirs.numpy()).max())
        worst = max(worst, (name, error), key=lambda w: w[1])
    assert at == ours.size, (at, ours.size)
    print(f"{what}: gradients: {worst[1]:.1e} in {worst[0]} (at most 1e-04)")
    assert worst[1] <= 1e-4


def add_tokenizer(folder, vocabulary):
    """Writes a tokenizer of bytes, with as many added tokens as are needed for all ids; id 1 ends a text."""
    characters = [chr(c) for c in [*range(33, 127), *range(161, 173), *range(174, 256)]]
    characters += [chr(256 + i) for i in range(68)]
    vocab = {t: i for i, t in enumerate((["<a>", "<|endoftext|>"] + characters)[:vocabulary])}
    for i in range(len(vocab), vocabulary):
        vocab[f"<more{i}>"] = i
    with open(folder + "/vocab.json", "w") as f:
        json.dump(vocab, f)
    open(folder + "/merges.txt", "w").write("#version: 0.2\n")
    with open(folder + "/tokenizer_config.json", "w") as f:  # it says how text is split
        json.dump({"tokenizer_class": "GPT2Tokenizer"}, f)


def greedy_text_agrees(what, folder, model, vocabulary):
    add_tokenizer(folder, vocabulary)
    for prompt in "The Moon", "a":
        run = subprocess.run(["generate", "--model", folder, "--json", "--temperature", "0", "--length", "60", prompt],
                             check=True, capture_output=True, text=True)
        ours = json.loads(run.stdout)["ids"]
        vocab = json.load(open(folder + "/vocab.json"))
        ids = torch.tensor([[vocab[c] for c in prompt.replace(" ", "Ġ")]])
        with torch.no_grad():
            theirs = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=60,
                                    pad_token_id=1)[0, ids.shape[1]:].tolist()
        assert ours == theirs, (what, ours, theirs)
    print(f"{what}: the same greedy text")


def begin_of_text_agrees(work):
    """The tokenizer puts <a> before each text: generate reads the same ids as transformers' generate(), with that token
    and without."""
    model, folder = random_model("llama", 331, {}), os.path.join(work, "begins")
    model.save_pretrained(folder)
    add_tokenizer(folder, 331)
    tokenizer = Tokenizer(models.BPE(json.load(open(folder + "/vocab.json")), []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["<a>", "<|endoftext|>"])
    tokenizer.post_processor = processors.TemplateProcessing("<a> $A", "<a> $A <a> $B", special_tokens=[("<a>", 0)])
    os.remove(folder + "/vocab.json")
    os.remove(folder + "/merges.txt")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<a>", eos_token="<|endoftext|>").save_pretrained(folder)
    theirs = AutoTokenizer.from_pretrained(folder)
    for prompt, begun in [("The Moon", True), ("The Moon", False), ("", True)]:
        run = subprocess.run(["generate", "--model", folder, "--json", "--temperature", "0", "--length", "40", prompt,
                              *([] if begun else ["--no-begin"])], check=True, capture_output=True, text=True)
        ours, ids = json.loads(run.stdout), theirs(prompt, add_special_tokens=begun, return_tensors="pt").input_ids.long()
        with torch.no_grad():
            text = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=40, pad_token_id=1)
        assert ours["prompt_tokens"] == ids.shape[1], (prompt, begun, ours["prompt_tokens"], ids.tolist())
        assert ours["ids"] == text[0, ids.shape[1]:].tolist(), (prompt, begun)
    print("begin of text: the same greedy text")


def every_shape(program, work):
    for i, (kind, vocabulary, changes) in enumerate(SHAPES):
        model, folder, what = random_model(kind, vocabulary, changes), os.path.join(work, f"shape-{i}"), f"{kind} {changes}"
        model.save_pretrained(folder, **({"max_shard_size": "100KB"} if i == 2 else {}))
        ids = np.random.default_rng(i).integers(0, vocabulary, 130)
        close(f"{what}: logits", our_logits(program, folder, ids), their_logits(model, ids), 1e-4)
        gradients_agree(what, program, folder, model, vocabulary)
        if vocabulary >= 258:
            greedy_text_agrees(what, folder, model, vocabulary)


def random_longrope(random, pairs):
    """Returns settings of LongRoPE; most texts are longer than some of the lengths."""
    lists = {k: [float(x) for x in random.uniform(1, most, pairs)] for k, most in (("short_factor", 2), ("long_factor", 40))}
    keys = {"attention_factor": 1.3, "factor": float(random.choice([1, 4]))}
    return {"rope_type": "longrope", "original_max_position_embeddings": int(random.choice([30, 64, 100, 4096])), **lists,
            **{k: v for k, v in keys.items() if random.integers(2)}}


def random_scaling(random, dynamic):
    """Returns settings of dynamic scaling or of YaRN, each key there or not."""
    factor = float(random.choice([1, 1.5, 4, 20]))
    if dynamic:
        return {"rope_type": "dynamic", "factor": factor}
    keys = {"beta_fast": float(random.choice([3, 8, 32, 50])), "beta_slow": float(random.choice([0.5, 1, 2])),
            "original_max_position_embeddings": int(random.choice([30, 64, 300, 4096])), "truncate": False}
    scales = [{}, {"attention_factor": 1.3}, {"mscale": 0.7, "mscale_all_dim": 1.2}, {"mscale": 0.7}]
    return {"rope_type": "yarn", "factor": factor, **{k: v for k, v in keys.items() if random.integers(2)},
            **scales[random.integers(4)]}


def random_scalings_agree(program, work):
    """Also after our own program has saved them. transformers rounds frequencies to f32, which sharp attention shows: so the weights
    are smaller here."""
    random, worst = np.random.default_rng(51), 0
    for i in range(150):
        kind, pairs = str(random.choice(list(KINDS))), int(random.integers(2, 40))
        scaling = random_longrope(random, pairs) if i >= 100 else random_scaling(random, i % 2 == 0)
        model = random_model(kind, 97, dict(rope_scaling=scaling, rope_theta=float(random.choice([100, 1e4, 1e6])),
                                            head_dim=2 * pairs, sliding_window=None, initializer_range=0.08))
        folder, again = os.path.join(work, f"scaled-{i}"), os.path.join(work, f"scaled-again-{i}")
        model.save_pretrained(folder)
        subprocess.run(["train", "-q", "--start-from", folder, "--data", "generated", "--vocabulary", "97", "--sequence-length", "16",
                        "--steps", "1", "--learning-rate", "1e-30", "--minimum-learning-rate", "0", "--weight-decay", "0",
                        "-o", again], check=True)
        ids = random.integers(0, 97, int(random.integers(60, 150)))
        theirs, saved = their_logits(model, ids), AutoModelForCausalLM.from_pretrained(again).eval()
        for logits in our_logits(program, folder, ids), our_logits(program, again, ids), their_logits(saved, ids):
            error = float(np.abs(logits.ravel() - theirs.ravel()).max() / np.abs(theirs).max())
            assert error <= 2e-5, (kind, model.config.rope_parameters, error)
            worst = max(worst, error)
    print(f"50 random settings each of dynamic scaling, YaRN and LongRoPE, three ways: logits: {worst:.1e} (at most 2e-05)")


def random_pauses(random, layers):
    """Returns which layers of a SmolLM3 do not rotate, as an interval or as a list."""
    interval, own = int(random.integers(1, 6)), {"mlp_bias": bool(random.integers(2))}
    if random.integers(2):
        return {"no_rope_layer_interval": interval, **own}
    return {"no_rope_layers": [int((i + 1) % interval != 0) for i in range(layers)], **own}


def random_models_agree(program, work, kind, mine):
    """mine: returns settings of this kind for a number of layers."""
    random, worst = np.random.default_rng(50), 0
    for _ in range(50):
        layers, kv, group, vocabulary = int(random.integers(1, 7)), int(random.choice([1, 2, 3, 4])), int(random.choice([1, 2, 4])), int(random.integers(50, 700))
        model = random_model(kind, vocabulary, dict(
            num_key_value_heads=kv, num_attention_heads=kv * group, head_dim=2 * int(random.integers(2, 20)),
            hidden_size=4 * int(random.integers(4, 30)), intermediate_size=int(random.integers(10, 200)),
            num_hidden_layers=layers, rope_theta=float(random.choice([1e4, 1e6])),
            tie_word_embeddings=bool(random.integers(2)), attention_bias=bool(random.integers(2)),
            **mine(random, layers)))
        model.save_pretrained(os.path.join(work, "random"))
        ids = random.integers(0, vocabulary, int(random.integers(1, 140)))
        ours, theirs = our_logits(program, os.path.join(work, "random"), ids), their_logits(model, ids)
        worst = max(worst, float(np.abs(ours.ravel() - theirs.ravel()).max() / np.abs(theirs).max()))
    print(f"50 random {kind}: logits: {worst:.1e} (at most 2e-05)")
    assert worst <= 2e-5


VOCABULARY, T, SEQUENCES, STEPS, SEED = 101, 24, 20, 50, 77


def write_megatron(prefix, tokens):
    tokens.astype("<u2").tofile(prefix + ".bin")
    with open(prefix + ".idx", "wb") as f:
        f.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 1, 2))
        f.write(struct.pack("<iqqq", len(tokens), 0, 0, 1))


def updates_agree(work, kind, **changes):
    os.chdir(work)
    tokens = np.random.RandomState(3).zipf(1.3, SEQUENCES * T + 1) % VOCABULARY
    model = random_model(kind, VOCABULARY, dict(max_position_embeddings=32, head_dim=16, **changes))
    model.save_pretrained("start")
    write_megatron("corpus", tokens)
    subprocess.run(["train", "-q", "--force", "--start-from", "start", "--data", "corpus", "-o", "trained", "--log-every", "1",
                    "--sequence-length", str(T), "--micro-batch-size", "2", "--global-batch-size", "8", "--steps", str(STEPS),
                    "--learning-rate", "1e-3", "--minimum-learning-rate", "1e-3", "--warmup", "0", "--weight-decay", "0.1",
                    "--clip", "0", "--beta1", "0.9", "--beta2", "0.95", "--seed", str(SEED)], check=True)
    ours = [json.loads(line)["loss"] for line in open("trained/metrics.jsonl")]
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer, theirs = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8), []
    for t in range(STEPS):
        rows = [sample(t * 8 + i, SEQUENCES, SEED) * T for i in range(8)]
        batch = torch.tensor(np.stack([tokens[r:r + T + 1] for r in rows]).astype(np.int64))
        logits = model(batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), batch[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        theirs.append(loss.item())
    worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))
    print(f"{kind}: {STEPS} updates by AdamW, losses from {theirs[0]:.2f} to {theirs[-1]:.2f}: {worst:.1e} (at most 1e-04)")
    assert len(ours) == STEPS and worst <= 1e-4


def ours_loads_there(program, work):
    os.chdir(work)
    for name, options in [("llama", ["--kv-heads", "1", "--untied", "--rope-theta", "5000", "--inner", "51"]),
                          ("llama", ["--head-width", "10"]), ("qwen2", ["--kv-heads", "2"]),
                          ("qwen3", ["--head-width", "24", "--kv-heads", "1"]),
                          ("smollm3", ["--layers", "5", "--kv-heads", "2"]), ("mistral", ["--activation", "gelu_new"]), ("mistral", ["--window", "9"])]:
        folder = os.path.join(work, "ours-" + "-".join([name, *(o.strip("-") for o in options)]))
        subprocess.run(["train", "-q", "--architecture", name, "--data", "generated", "--vocabulary", "201", "--width", "64", *([] if "--layers" in options else ["--layers", "2"]),
                        "--heads", "4", "--sequence-length", "32", "--positions", "128", "--steps", "2",
                        "--init-std", "0.2", *options, "-o", folder], check=True)
        model, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
        assert not report["missing_keys"] and not report["unexpected_keys"], report
        assert model.config.model_type == name and model.config.max_position_embeddings == 128
        ids = np.random.default_rng(2).integers(0, 201, 100)
        close(f"ours, {name} {options}: logits", our_logits(program, folder, ids), their_logits(model.eval(), ids), 1e-4)


with tempfile.TemporaryDirectory() as scratch:
    gpt = build("gpt", scratch)
    every_shape(gpt, scratch)
    begin_of_text_agrees(scratch)
    random_scalings_agree(gpt, scratch)
    random_models_agree(gpt, scratch, "qwen3", lambda random, layers: {})
    random_models_agree(gpt, scratch, "smollm3", random_pauses)
    updates_agree(scratch, "llama")
    updates_agree(scratch, "qwen3")
    random_models_agree(gpt, scratch, "mistral", lambda random, layers: {"sliding_window": int(random.integers(1, 160))})
    updates_agree(scratch, "smollm3")
    updates_agree(scratch, "mistral", sliding_window=7)
    ours_loads_there(gpt, scratch)
