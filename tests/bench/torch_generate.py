"""torch_generate.py FOLDER f32|bf16 FEW MANY TEXTS...: prints, for each number of texts at a time, the tokens per second
that the model in FOLDER generates with PyTorch on all cores. Measures the tokens FEW to MANY of each text."""
import sys
import time

import torch
from transformers import AutoModelForCausalLM

folder, form, few, many = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
model = AutoModelForCausalLM.from_pretrained(folder, dtype={"f32": torch.float32, "bf16": torch.bfloat16}[form]).eval()
with torch.inference_mode():
    for texts in map(int, sys.argv[5:]):
        ids, kept = torch.randint(50257, (1, 3)).repeat(texts, 1), None
        for step in range(many):
            if step == few:
                began = time.perf_counter()
            out = model(ids, past_key_values=kept, use_cache=True)
            kept, ids = out.past_key_values, out.logits[:, -1:].argmax(-1)
        print(f"{texts * (many - few) / (time.perf_counter() - began):.2f}")
