"""Ten updates of a small GPT-2, and a hundred with AdamW, here and in PyTorch: the same weights, data, order of the
data, learning rates, weight decay and clipping, for each optimizer that PyTorch has. Losses, gradient norms and final
weights agree, and TensorBoard reads our event file."""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

from lib.order import sample

try:
    import numpy as np
    import torch
    from safetensors.torch import load_file
    from transformers import GPT2Config, GPT2LMHeadModel
except ImportError:
    sys.exit(77)

VOCABULARY, T, SEQUENCES, MICRO, GLOBAL, SEED = 101, 24, 20, 2, 8, 77
PEAK, FLOOR, WARMUP, DECAY, CLIP, BETAS, EPSILON, MOMENTUM = 1e-2, 1e-3, 3, 0.1, 0.7, (0.9, 0.95), 1e-8, 0.9


def rate(t, steps):
    if t < WARMUP:
        return PEAK * (t + 1) / WARMUP
    u = (t - WARMUP) / (steps - WARMUP)
    return FLOOR + (PEAK - FLOOR) * 0.5 * (1 + math.cos(math.pi * u))


def write_megatron(prefix, tokens):
    """Writes all tokens as one document; sequence i is tokens i*T .. i*T+T."""
    tokens.astype("<u2").tofile(prefix + ".bin")
    with open(prefix + ".idx", "wb") as f:
        f.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 1, 2))
        f.write(struct.pack("<iqqq", len(tokens), 0, 0, 1))


def peer_optimizers(kind, model):
    decaying = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decaying, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
    adam = {"lr": PEAK, "betas": BETAS, "eps": EPSILON}
    if kind == "adamw":
        return [torch.optim.AdamW(groups, **adam)]
    if kind == "adam":
        return [torch.optim.Adam(groups, **adam)]
    if kind in ("sgd", "momentum"):
        return [torch.optim.SGD(groups, lr=PEAK, momentum=MOMENTUM if kind == "momentum" else 0)]
    in_layers = [p for name, p in model.named_parameters() if ".h." in name and p.dim() == 2]
    groups[0]["params"] = [p for p in decaying if not any(p is q for q in in_layers)]
    return [torch.optim.AdamW(groups, **adam),
            torch.optim.Muon(in_layers, lr=PEAK, weight_decay=DECAY, momentum=MOMENTUM,
                             adjust_lr_fn="match_rms_adamw")]


def train_peer(model, tokens, optimizers, steps):
    losses, norms = [], []
    for t in range(steps):
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate(t, steps)
        rows = [sample(t * GLOBAL + i, SEQUENCES, SEED) * T for i in range(GLOBAL)]
        batch = torch.tensor(np.stack([tokens[r:r + T + 1] for r in rows]).astype(np.int64))
        logits = model(batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), batch[:, 1:].reshape(-1))
        model.zero_grad()
        loss.backward()
        norm = math.sqrt(sum(float((p.grad.double() ** 2).sum()) for p in model.parameters()))
        for p in model.parameters():
            p.grad *= CLIP / max(norm, CLIP)
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
        norms.append(norm)
    return losses, norms


def check(what, ours, theirs, tolerance):
    worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))
    print(f"{what}: greatest relative difference {worst:.1e} (allowed {tolerance:.0e})")
    assert len(ours) == len(theirs) and worst <= tolerance, (ours, theirs)


def check_weights(path, model, start, tolerance):
    """Measures differences relative to the change of the tensor during training; the last bit of a weight does not
    count. The bias of the keys is left out: softmax does not depend on it, so its gradient is rounding noise, which
    AdamW turns into steps."""
    ours = load_file(path)
    worst = 0.0
    for name, theirs in model.state_dict().items():
        short = name.removeprefix("transformer.")
        if short not in ours and name not in ours:
            assert name == "lm_head.weight", name
            continue
        tensor = ours.get(short, ours.get(name))
        difference, moved = tensor - theirs, theirs - start[name]
        difference[difference.abs() <= torch.finfo(torch.float32).eps * theirs.abs()] = 0
        if name.endswith("attn.c_attn.bias"):
            n = len(theirs) // 3
            difference[n:2 * n] = 0
        worst = max(worst, float(difference.norm() / moved.norm()))
    print(f"weights: greatest difference {worst:.1e} of the way moved (allowed {tolerance:.0e})")
    assert worst <= tolerance


def check_tensorboard(folder, losses):
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        print("SKIP tensorboard: not installed")
        return
    events = EventAccumulator(folder)
    events.Reload()
    scalars = events.Scalars("loss/train")
    assert [e.step for e in scalars] == list(range(1, len(losses) + 1))
    assert np.allclose([e.value for e in scalars], losses, rtol=1e-6)
    print("tensorboard: reads the event file")


def compare(kind, model, tokens, steps):
    """PyTorch's Muon orthogonalizes in bf16, which explains its tolerances; rounding errors grow from step to step."""
    start = {k: v.clone() for k, v in model.state_dict().items()}
    exact, out = kind != "muon", f"out-{kind}-{steps}"
    moments = ["--beta1", str(BETAS[0]), "--beta2", str(BETAS[1]), "--adam-epsilon", str(EPSILON)]
    print(f"-- {kind}, {steps} steps")
    subprocess.run(
        ["train", "-q", "--start-from", "start", "--data", "corpus", "-o", out, "--log-every", "1",
         "--sequence-length", str(T), "--micro-batch-size", str(MICRO), "--global-batch-size", str(GLOBAL),
         "--steps", str(steps), "--learning-rate", str(PEAK), "--minimum-learning-rate", str(FLOOR),
         "--warmup", str(WARMUP), "--weight-decay", str(DECAY), "--clip", str(CLIP), "--seed", str(SEED),
         "--optimizer", kind] + (moments if kind not in ("sgd", "momentum") else [])
        + (["--momentum", str(MOMENTUM)] if kind in ("momentum", "muon") else []),
        check=True)
    points = [json.loads(line) for line in open(out + "/metrics.jsonl")]
    losses, norms = train_peer(model, tokens, peer_optimizers(kind, model), steps)
    check("losses", [p["loss"] for p in points], losses, 1e-2 if not exact else 1e-5 if steps == 10 else 1e-4)
    check("gradient norms", [p["gradient_norm"] for p in points], norms, 5e-2 if not exact else 1e-4 if steps == 10 else 1e-2)
    check("learning rates", [p["learning_rate"] for p in points], [rate(t, steps) for t in range(steps)], 1e-8)
    check_weights(out + "/model.safetensors", model, start, 0.2 if not exact else 1e-4 if steps == 10 else 1e-2)
    GPT2LMHeadModel.from_pretrained(out)
    print("transformers: loads the model folder")
    check_tensorboard(out, [p["loss"] for p in points])


def check_files(out):
    """A model in one file for each block, from a checkpoint and at the end: transformers reads the weights of the single file, and
    writes the same index."""
    subprocess.run(["train", "-q", "--start-from", out, "--data", "corpus", "--sequence-length", str(T), "--steps", "1",
                    "--checkpoint-files", "block", "-o", "parts"], check=True)
    subprocess.run(["train", "-q", "--start-from", out, "--data", "corpus", "--sequence-length", str(T), "--steps", "1",
                    "-o", "whole"], check=True)
    want = GPT2LMHeadModel.from_pretrained("whole").state_dict()
    for folder in ["parts", "parts/checkpoints/step-000001"]:
        assert not os.path.exists(folder + "/model.safetensors")
        model, report = GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True)
        got = model.state_dict()
        assert not any(report.values()), report
        assert want.keys() == got.keys() and all(torch.equal(want[k], got[k]) for k in want)
    model.save_pretrained("again", max_shard_size="50KB")
    ours, theirs = (json.load(open(f"{d}/model.safetensors.index.json")) for d in ["parts", "again"])
    assert ours["weight_map"].keys() == theirs["weight_map"].keys()
    assert ours["metadata"]["total_size"] == theirs["metadata"]["total_size"]
    print("transformers: loads one file for each block, and indexes the same tensors")


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    tokens = np.random.RandomState(3).zipf(1.3, SEQUENCES * T + 1) % VOCABULARY
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=VOCABULARY, n_positions=32, n_embd=48, n_layer=3, n_head=4, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0, initializer_range=0.1, bos_token_id=0, eos_token_id=0))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        model.save_pretrained("start")
        write_megatron("corpus", tokens)
        for kind in ["adamw", "adam", "sgd", "momentum"] + ["muon"] * hasattr(torch.optim, "Muon"):
            compare(kind, GPT2LMHeadModel.from_pretrained("start"), tokens, 10)
        compare("adamw", GPT2LMHeadModel.from_pretrained("start"), tokens, 100)
        check_files("out-adamw-100")


main()
