"""torch_step.py f32|bf16 B T STEPS: milliseconds of one training step (forward, backward, AdamW) of
GPT-2 small with PyTorch, bf16 by autocast, on random tokens, two warm-up steps left out. One line a
step."""
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

bf16 = sys.argv[1] == "bf16"
B, T, steps = (int(a) for a in sys.argv[2:5])
torch.manual_seed(0)
torch.set_num_threads(len(__import__("os").sched_getaffinity(0)))
config = GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
model = GPT2LMHeadModel(config)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in range(steps + 2):
    ids = torch.randint(config.vocab_size, (B, T))
    began = time.perf_counter()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        loss = model(ids, labels=ids).loss
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step >= 2:
        print(f"{1e3 * (time.perf_counter() - began):.1f}", flush=True)
