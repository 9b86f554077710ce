"""torch_evaluate.py f32|bf16: prints tokens per second of forward passes with the loss, for GPT-2 small with PyTorch.
bf16 uses autocast. Each pass has 4 x 1,024 random tokens; one pass warms up and two are measured."""
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.set_num_threads(len(__import__("os").sched_getaffinity(0)))
model = GPT2LMHeadModel(GPT2Config()).eval()
ids = torch.randint(50257, (4, 1024))
rates = []
for _ in range(3):
    began = time.perf_counter()
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=sys.argv[1] == "bf16"):
        model(ids, labels=ids).loss.item()
    rates.append(ids.numel() / (time.perf_counter() - began))
print(f"{sum(rates[1:]) / 2:.1f}")
