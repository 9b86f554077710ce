"""Fine-tuning of all rows in one batch, here and in PyTorch: AdamW with warm-up and linear decay, without dropout."""
import json
import os
import subprocess

import torch
from safetensors.torch import load_file

STEPS, PEAK, WARMUP, DECAY = 50, 2e-3, 5, 0.01
torch.set_num_threads(1)


def rate(t):
    return PEAK * (t + 1) / WARMUP if t < WARMUP else PEAK * (1 - (t - WARMUP) / (STEPS - WARMUP))


def ours(task, start, out, rows, *options):
    """Trains from the folder `start` twice: a first step that changes nothing, which writes out + "0", tells the head that was
    made; then STEPS updates, whose losses are returned."""
    command = ["train", "-q", "--task", task, "--start-from", start, "--micro-batch-size", str(rows), "--clip", "0", "--beta2", "0.999",
               "--adam-epsilon", "1e-6", "--weight-decay", str(DECAY), "--schedule", "linear", "--minimum-learning-rate", "0",
               "--log-every", "1", "--save-every", "0", *options]
    subprocess.run([*command, "--steps", "1", "--learning-rate", "0", "-o", out + "0"], check=True)
    command[command.index("--start-from") + 1] = out + "0"
    subprocess.run([*command, "--steps", str(STEPS), "--learning-rate", str(PEAK), "--warmup", str(WARMUP), "-o", out], check=True)
    return [json.loads(line)["loss"] for line in open(os.path.join(out, "metrics.jsonl"))]


def theirs(model, loss_of):
    """Trains the model; loss_of(model) is the loss. Returns the losses."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
                                  betas=(0.9, 0.999), eps=1e-6)
    losses = []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        loss = loss_of(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def compare(what, here, there, model, out, free):
    """Checks the losses, and the weights whose names do not end in one of `free`: what adds the same to all that a softmax sees
    has no gradient but rounding, which AdamW makes large."""
    worst = max(abs(a - b) / b for a, b in zip(here, there))
    print(f"{what}, {STEPS} steps, loss {there[0]:.4f} to {there[-1]:.4f}: losses differ by {worst:.1e} (at most 1e-04)")
    assert len(here) == len(there) == STEPS and worst <= 1e-4 and there[-1] < 0.5 * there[0]
    weights = load_file(os.path.join(out, "model.safetensors"))
    for name, p in model.named_parameters():
        if not name.endswith(free):
            error = float((weights[name] - p.detach()).abs().max() / p.detach().abs().max())
            assert error < 2e-3, (name, error)
