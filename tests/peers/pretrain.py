"""Fifty updates of BERT's and RoBERTa's pre-training, here and in PyTorch: the same weights, shards, order of the data, learning
rates, weight decay and clipping, with AdamW and with LAMB. The losses of both heads, gradient norms and final weights
agree."""
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
    from transformers import BertConfig, BertForPreTraining, RobertaConfig, RobertaForMaskedLM, ModernBertConfig, ModernBertForMaskedLM
except ImportError:
    sys.exit(77)

VOCABULARY, T, MASKED, SEQUENCES, MICRO, GLOBAL, STEPS, SEED = 90, 24, 4, 20, 2, 4, 50, 77
PEAK, WARMUP, DECAY, CLIP, BETAS, EPSILON = 2e-3, 5, 0.01, 1.0, (0.9, 0.999), 1e-6
CLS, SEP, MASK = 2, 3, 4  # 0 and 1 are the padding of BERT and RoBERTa, whose vectors PyTorch does not train


# A record of the layout bert: a tf.Example within the framing of a TFRecord.
def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def feature(name, values, floats=False):
    packed = struct.pack(f"<{len(values)}f", *values) if floats else b"".join(varint(int(v)) for v in values)
    return field(1, field(1, name.encode()) + field(2, field(2 if floats else 3, field(1, packed))))


CRC = [0] * 256
for byte in range(256):
    c = byte
    for _ in range(8):
        c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    CRC[byte] = c


def masked_crc(data):
    c = 0xFFFFFFFF
    for byte in data:
        c = CRC[(c ^ byte) & 255] ^ c >> 8
    c ^= 0xFFFFFFFF
    return struct.pack("<I", ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(s):
    n, pad = len(s["ids"]), T - len(s["ids"])
    some = MASKED - len(s["positions"])
    data = field(1, feature("input_ids", s["ids"] + [0] * pad) +
                 feature("input_mask", [1] * n + [0] * pad) +
                 feature("segment_ids", s["segments"] + [0] * pad) +
                 feature("masked_lm_positions", s["positions"] + [0] * some) +
                 feature("masked_lm_ids", s["labels"] + [0] * some) +
                 feature("masked_lm_weights", [1] * len(s["positions"]) + [0] * some, floats=True) +
                 feature("next_sentence_labels", [s["next"]]))
    length = struct.pack("<Q", len(data))
    return length + masked_crc(length) + data + masked_crc(data)


def make_sequence(random):
    n = int(random.randint(8, T + 1))
    second = int(random.randint(3, n - 3))
    ids = [CLS] + [int(v) for v in random.zipf(1.3, n - 1) % (VOCABULARY - 5) + 5]
    ids[second - 1] = ids[-1] = SEP
    places = [i for i in range(1, n - 1) if ids[i] != SEP]
    positions = sorted(int(p) for p in random.choice(places, random.randint(1, MASKED + 1), replace=False))
    labels = [ids[p] for p in positions]
    for p in positions:
        ids[p] = MASK
    return {"ids": ids, "segments": [int(i >= second) for i in range(n)], "positions": positions,
            "labels": labels, "next": int(random.randint(2))}


def rate(t):
    return PEAK * (t + 1) / WARMUP if t < WARMUP else PEAK * (1 - (t - WARMUP) / (STEPS - WARMUP))


class Lamb:
    """You et al. 2020, with bias correction, written from the formula."""

    def __init__(self, parameters):
        self.state = [(p, torch.zeros_like(p), torch.zeros_like(p), DECAY if p.dim() > 1 else 0.0)
                      for p in parameters]
        self.t = 0

    @torch.no_grad()
    def step(self, lr):
        self.t += 1
        for p, m, v, decay in self.state:
            m.mul_(BETAS[0]).add_(p.grad, alpha=1 - BETAS[0])
            v.mul_(BETAS[1]).addcmul_(p.grad, p.grad, value=1 - BETAS[1])
            x = m / (1 - BETAS[0] ** self.t) / ((v / (1 - BETAS[1] ** self.t)).sqrt() + EPSILON) + decay * p
            w, u = float(p.double().norm()), float(x.double().norm())
            p -= lr * (w / u if w > 0 and u > 0 else 1.0) * x


class AdamW:
    def __init__(self, parameters):
        self.inner = torch.optim.AdamW(
            [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": DECAY},
             {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}],
            lr=PEAK, betas=BETAS, eps=EPSILON)

    def step(self, lr):
        for group in self.inner.param_groups:
            group["lr"] = lr
        self.inner.step()


def batch_of(sequences):
    ids = torch.zeros(len(sequences), T, dtype=torch.long)
    mask, segments, labels = torch.zeros_like(ids), torch.zeros_like(ids), torch.full_like(ids, -100)
    for i, s in enumerate(sequences):
        n = len(s["ids"])
        ids[i, :n], mask[i, :n], segments[i, :n] = torch.tensor(s["ids"]), 1, torch.tensor(s["segments"])
        labels[i, s["positions"]] = torch.tensor(s["labels"])
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}, labels, \
        torch.tensor([s["next"] for s in sequences])


def losses_of(model, rows):
    """Returns the losses and the share of masked words that are predicted. RoBERTa has one segment, and positions from 2 on."""
    inputs, labels, following = batch_of(rows)
    roberta, modern = isinstance(model, RobertaForMaskedLM), isinstance(model, ModernBertForMaskedLM)
    if modern:
        del inputs["token_type_ids"]
    if roberta:
        inputs["token_type_ids"] = torch.zeros_like(inputs["input_ids"])
        inputs["position_ids"] = torch.arange(2, T + 2).expand(len(rows), T)
    out = model(**inputs)
    words = out.logits if roberta or modern else out.prediction_logits
    mlm = torch.nn.functional.cross_entropy(words.reshape(-1, VOCABULARY), labels.reshape(-1))
    counted = labels >= 0
    right = (words.argmax(-1) == labels)[counted].double().mean()
    point = {"loss": mlm, "mlm_loss": mlm, "mlm_accuracy": right}
    if not roberta and not modern:
        point["nsp_loss"] = torch.nn.functional.cross_entropy(out.seq_relationship_logits, following)
        point["loss"] = mlm + point["nsp_loss"]
    return point


def train_peer(model, sequences, optimizer):
    points = []
    for t in range(STEPS):
        rows = [sample(t * GLOBAL + i, SEQUENCES, SEED) for i in range(GLOBAL)]
        point = losses_of(model, [sequences[row] for row in rows])
        model.zero_grad()
        point["loss"].backward()
        norm = math.sqrt(sum(float((p.grad.double() ** 2).sum()) for p in model.parameters()))
        for p in model.parameters():
            p.grad *= CLIP / max(norm, CLIP)
        optimizer.step(rate(t))
        points.append({name: x.item() for name, x in point.items()} | {"gradient_norm": norm})
    return points


def compare(kind, sequences, start, model):
    subprocess.run(
        ["train", "-q", "-t", "2", "--task", "bert", "--data", "data.tfrecord", "--start-from", start,
         "--sequence-length", str(T), "--mask-tokens", str(MASKED), "--micro-batch-size", str(MICRO),
         "--global-batch-size", str(GLOBAL), "--steps", str(STEPS), "--optimizer", kind,
         "--learning-rate", str(PEAK), "--minimum-learning-rate", "0", "--schedule", "linear",
         "--warmup", str(WARMUP), "--beta1", str(BETAS[0]), "--beta2", str(BETAS[1]),
         "--adam-epsilon", str(EPSILON), "--weight-decay", str(DECAY), "--clip", str(CLIP),
         "--dropout", "0", "--seed", str(SEED), "--log-every", "1", "-o", start + kind], check=True)
    with open(start + kind + "/metrics.jsonl") as f:
        ours = [json.loads(line) for line in f]
    model.train()
    theirs = train_peer(model, sequences, (Lamb if kind == "lamb" else AdamW)(list(model.parameters())))
    assert len(ours) == STEPS, "one line an update"
    worst = {}
    for a, b in zip(ours, theirs):
        for name in b:
            error = abs(a[name] - b[name]) / max(abs(b[name]), 1e-9) if name != "mlm_accuracy" \
                else abs(a[name] - b[name])
            worst[name] = max(worst.get(name, 0), error)
    for name, error in worst.items():
        assert error < 1e-4, (kind, name, error)
    mine = load_file(start + kind + "/model.safetensors")
    weights = 0.0
    for name, p in model.named_parameters():
        # A key's bias adds the same to all scores of a query: its gradient is rounding and nothing else,
        # which Adam makes large.
        if "key.bias" not in name:
            weights = max(weights, float((mine[name] - p.detach()).abs().max() / p.detach().abs().max()))
    assert weights < 1e-3, (kind, "weights", weights)
    print(f"transformers, {STEPS} updates of {start} by {kind}: loss {theirs[0]['loss']:.4f} to "
          f"{theirs[-1]['loss']:.4f}; largest relative differences: loss {worst['loss']:.1e}, "
          f"norm {worst['gradient_norm']:.1e}, weights {weights:.1e}")


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    random = np.random.RandomState(3)
    sequences = [make_sequence(random) for _ in range(SEQUENCES)]
    sizes = dict(vocab_size=VOCABULARY, max_position_embeddings=34, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=96, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("data.tfrecord", "wb") as f:
            f.write(b"".join(record(s) for s in sequences))
        BertForPreTraining(BertConfig(**sizes)).save_pretrained("bert")
        RobertaForMaskedLM(RobertaConfig(**sizes, type_vocab_size=1)).save_pretrained("roberta")
        ModernBertForMaskedLM(ModernBertConfig(
            vocab_size=VOCABULARY, hidden_size=48, num_hidden_layers=4, num_attention_heads=4, intermediate_size=72, local_attention=10,
            max_position_embeddings=34, pad_token_id=None, bos_token_id=None, eos_token_id=None, cls_token_id=None,
            sep_token_id=None)).save_pretrained("modernbert")
        for kind in ("adamw", "lamb"):
            compare(kind, sequences, "bert", BertForPreTraining.from_pretrained("bert"))
        compare("adamw", sequences, "roberta", RobertaForMaskedLM.from_pretrained("roberta"))
        compare("adamw", sequences, "modernbert", ModernBertForMaskedLM.from_pretrained("modernbert"))


main()
