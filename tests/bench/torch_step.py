"""torch_step.py gpt2|bert f32|bf16 B T STEPS [MASKED]: milliseconds of one training step (forward, backward,
clipping, AdamW) with PyTorch, bf16 by autocast. Prints one line per step, without two warm-up steps. gpt2: GPT-2 small on
random tokens. bert: pre-training of BERT base on full rows of random tokens; MASKED of them are predicted."""
import os
import sys
import time

import torch
from transformers import BertConfig, BertForPreTraining, GPT2Config, GPT2LMHeadModel

which, bf16 = sys.argv[1], sys.argv[2] == "bf16"
B, T, steps = (int(a) for a in sys.argv[3:6])
torch.manual_seed(0)
torch.set_num_threads(len(os.sched_getaffinity(0)))
cross_entropy = torch.nn.functional.cross_entropy


def gpt2():
    """Returns the model, a function that makes a batch, and a function that computes the loss of a batch."""
    config = GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    model = GPT2LMHeadModel(config)
    return model, lambda: torch.randint(config.vocab_size, (B, T)), lambda ids: model(ids, labels=ids).loss


def bert():
    masked = int(sys.argv[6])
    config = BertConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    model = BertForPreTraining(config)
    segments = torch.zeros(B, T, dtype=torch.long)
    segments[:, T // 2:] = 1

    def batch():
        ids = torch.randint(config.vocab_size, (B, T))
        places = torch.stack([torch.randperm(T)[:masked] for _ in range(B)])
        labels = torch.gather(torch.randint(config.vocab_size, (B, T)), 1, places)
        return ids, places, labels, torch.randint(2, (B,))

    def loss_of(batch):
        ids, places, labels, following = batch
        hidden, pooled = model.bert(ids, token_type_ids=segments, return_dict=False)
        rows = torch.gather(hidden, 1, places.unsqueeze(-1).expand(-1, -1, hidden.shape[-1]))
        words, pairs = model.cls(rows, pooled)  # the head at the masked words alone, as ours
        return cross_entropy(words.float().view(-1, config.vocab_size), labels.view(-1)) + \
            cross_entropy(pairs.float(), following)

    return model, batch, loss_of


model, batch, loss_of = {"gpt2": gpt2, "bert": bert}[which]()
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
for step in range(steps + 2):
    data = batch()
    began = time.perf_counter()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        loss = loss_of(data)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step >= 2:
        print(f"{1e3 * (time.perf_counter() - began):.1f}", flush=True)
