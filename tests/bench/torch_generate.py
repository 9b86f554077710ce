"""torch_generate.py f32|bf16 TEXTS FEW MANY: tokens a second that GPT-2 small generates with PyTorch, so many texts at a
time, on one thread, in seconds of processor time: what MANY tokens of each text take beyond FEW."""
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

form, texts, few, many = sys.argv[1], *map(int, sys.argv[2:5])
torch.set_num_threads(1)
model = GPT2LMHeadModel(GPT2Config()).eval().to({"f32": torch.float32, "bf16": torch.bfloat16}[form])
with torch.inference_mode():
    ids = torch.randint(50257, (1, 3)).repeat(texts, 1)
    kept = None
    for step in range(many):
        if step == few:
            began = time.process_time()
        out = model(ids, past_key_values=kept, use_cache=True)
        kept, ids = out.past_key_values, out.logits[:, -1:].argmax(-1)
print(f"{texts * (many - few) / (time.process_time() - began):.2f}")
