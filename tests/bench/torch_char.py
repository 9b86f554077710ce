"""torch_char.py TEXT: trains nanoGPT's character-level recipe for CPUs in plain PyTorch: 4 layers, 4 heads, width 128,
context 64, batch 12, 2000 steps, highest rate 1e-3, no dropout. Prints the validation loss over the last tenth of the
text, which training does not see, and the seconds of training."""
import math
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(1337)
torch.set_num_threads(len(__import__("os").sched_getaffinity(0)))
text = open(sys.argv[1], encoding="utf-8").read()
symbols = sorted(set(text))
data = torch.tensor([symbols.index(c) for c in text])
cut = int(0.9 * len(data))
train, valid = data[:cut], data[cut:]
T, B, steps = 64, 12, 2000
model = GPT2LMHeadModel(GPT2Config(vocab_size=len(symbols), n_positions=T, n_embd=128, n_layer=4, n_head=4,
                                   resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))
decay = [p for p in model.parameters() if p.dim() >= 2]
plain = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}],
                              lr=1e-3, betas=(0.9, 0.99), fused=True)


def rate(step):
    if step < 100:
        return 1e-3 * (step + 1) / 101
    share = (step - 100) / (steps - 100)
    return 1e-4 + 0.5 * (1 + math.cos(math.pi * share)) * 9e-4


began = time.perf_counter()
for step in range(steps):
    for group in optimizer.param_groups:
        group["lr"] = rate(step)
    at = torch.randint(len(train) - T, (B,))
    x = torch.stack([train[i : i + T] for i in at])
    y = torch.stack([train[i + 1 : i + 1 + T] for i in at])
    logits = model(x).logits
    loss = torch.nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
seconds = time.perf_counter() - began
model.eval()
total = count = 0
with torch.no_grad():
    for i in range(0, len(valid) - T - 1, T * 64):
        rows = [valid[k : k + T + 1] for k in range(i, min(i + T * 64, len(valid) - T), T)]
        block = torch.stack([r for r in rows if len(r) == T + 1])
        logits = model(block[:, :-1]).logits
        total += torch.nn.functional.cross_entropy(logits.reshape(-1, logits.size(-1)), block[:, 1:].reshape(-1),
                                                   reduction="sum").item()
        count += block[:, 1:].numel()
print(f"{total / count:.4f} {seconds:.1f}")
