#!/usr/bin/env python3
"""torch_gpu.py ceilings | gpt|bert LAYERS WIDTH HEADS B T STEPS [forward]: measures PyTorch on this GPU, and prints
key=value.

ceilings: a large copy, and an 8192^3 product in bf16. gpt, bert: the median training step (or forward pass) of a
model with these sizes, written as PyTorch's users write it: compiled, bf16 autocast, scaled-dot-product attention,
fused AdamW, clipping. bert predicts 20 masked tokens of each sequence of 128, and 76 of 512."""
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

DEVICE, VOCABULARY = "cuda", 50304


def seconds(run, count):
    """Returns the median over `count` runs."""
    times = []
    for _ in range(count):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        run()
        b.record()
        torch.cuda.synchronize()
        times.append(a.elapsed_time(b) * 1e-3)
    return sorted(times)[len(times) // 2]


def ceilings():
    x = torch.randn(1 << 29, device=DEVICE)
    y = torch.empty_like(x)
    for _ in range(3):
        y.copy_(x)
    print(f"copy_bytes_per_second={2 * 4 * x.numel() / seconds(lambda: y.copy_(x), 20):.4g}")
    a = torch.randn(8192, 8192, device=DEVICE, dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device=DEVICE, dtype=torch.bfloat16)
    for _ in range(3):
        a @ b
    print(f"product_flops={2 * 8192**3 / seconds(lambda: a @ b, 20):.4g}")
    print(f"device={torch.cuda.get_device_name()}")


class Layer(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in self.qkv(x).split(C, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(B, T, C))

    def forward(self, x):
        if self.causal:
            x = x + self.attend(self.norm1(x))
            return x + self.proj(F.gelu(self.fc(self.norm2(x)), approximate="tanh"))
        x = self.norm1(x + self.attend(x))
        return self.norm2(x + self.proj(F.gelu(self.fc(x))))


class Model(nn.Module):
    def __init__(self, kind, layers, width, heads, T, vocabulary):
        super().__init__()
        self.kind = kind
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(T, width)
        self.layers = nn.ModuleList(Layer(width, heads, kind == "gpt") for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.transform = nn.Linear(width, width) if kind == "bert" else None
        self.head.weight = self.words.weight
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, ids, labels, picked):
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x)
        if self.kind == "bert":
            x = x.flatten(0, 1)[picked]
            x = F.gelu(self.transform(x))
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, -2), labels.flatten())


def train(kind, layers, width, heads, B, T, steps, forward):
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    vocabulary = VOCABULARY if kind == "gpt" else 30528
    model = Model(kind, layers, width, heads, T, vocabulary).to(DEVICE)
    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    ids = torch.randint(vocabulary, (B, T), device=DEVICE)
    picked = torch.arange(B * (20 if T <= 128 else 76), device=DEVICE) * (B * T // (B * (20 if T <= 128 else 76)))
    labels = torch.randint(vocabulary, (B, T) if kind == "gpt" else (picked.numel(),), device=DEVICE)

    def step():
        with torch.autocast(DEVICE, dtype=torch.bfloat16), torch.set_grad_enabled(not forward):
            loss = compiled(ids, labels, picked)
        if forward:
            return
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    began = time.time()
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    print(f"torch_warm_seconds={time.time() - began:.1f}")
    each = seconds(step, steps)
    print(f"torch_tokens_per_second={B * T / each:.0f}")
    print(f"torch_memory_bytes={torch.cuda.max_memory_allocated()}")


if sys.argv[1] == "ceilings":
    ceilings()
else:
    train(sys.argv[1], *map(int, sys.argv[2:8]), sys.argv[8:] == ["forward"])
