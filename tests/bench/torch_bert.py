"""torch_bert.py f32|bf16 B T MASKED STEPS: milliseconds of one pre-training step (forward, backward,
AdamW) of BERT base with PyTorch, bf16 by autocast, on full rows of random tokens of which MASKED are
predicted, two warm-up steps left out. One line a step."""
import sys
import time

import torch
from transformers import BertConfig, BertForPreTraining

bf16 = sys.argv[1] == "bf16"
B, T, masked, steps = (int(a) for a in sys.argv[2:6])
torch.manual_seed(0)
torch.set_num_threads(len(__import__("os").sched_getaffinity(0)))
config = BertConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0)
model = BertForPreTraining(config)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
segments = torch.zeros(B, T, dtype=torch.long)
segments[:, T // 2:] = 1
for step in range(steps + 2):
    ids = torch.randint(config.vocab_size, (B, T))
    places = torch.stack([torch.randperm(T)[:masked] for _ in range(B)])
    labels = torch.gather(torch.randint(config.vocab_size, (B, T)), 1, places)
    following = torch.randint(2, (B,))
    began = time.perf_counter()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        hidden, pooled = model.bert(ids, token_type_ids=segments, return_dict=False)
        rows = torch.gather(hidden, 1, places.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))
        words, pairs = model.cls(rows, pooled) # the head at the masked words alone, as ours
        loss = torch.nn.functional.cross_entropy(words.float().view(-1, config.vocab_size), labels.view(-1)) + \
            torch.nn.functional.cross_entropy(pairs.float(), following)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step >= 2:
        print(f"{1e3 * (time.perf_counter() - began):.1f}", flush=True)
