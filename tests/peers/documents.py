"""Attention inside documents, and rows of whole documents. Ten updates of a GPT-2 and of a Llama here and in PyTorch, which gets a
block mask and positions that restart: losses and gradient norms agree. Then three ways to make rows of one text are compared:
best-fit here, that of nanochat (each row begins with a document's start; the longest document that fits is taken, and if none fits the
shortest is cut and its rest is lost), and windows over joined documents, as Megatron-LM's."""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

from lib.order import sample

try:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
except ImportError:
    sys.exit(77)

VOCABULARY, END, T, MICRO, GLOBAL, SEED, STEPS, RATE = 101, 0, 48, 2, 8, 77, 10, 1e-2


def write_stream(path, documents):
    """Writes a token stream (docs/formats.md)."""
    subprocess.run(["tokenize", "-q", "--vocab", "vocab", "--format", "lines", "-o", path], check=True,
                   input="\n".join(documents).encode() + b"\n")


def rows_of(folder, count):
    """Returns the records of a folder of shards, in the order of their numbers in the data set."""
    rows = []
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".tfrecord")):
        out = subprocess.run(["tfwrite", "show", "-q", f"{folder}/{name}"], check=True, capture_output=True).stdout
        rows += [json.loads(line)["input_ids"] for line in out.splitlines()]
    assert len(rows) == count
    return rows


def block_mask(ids, end):
    """Returns what a sequence's model needs: places in the documents, and a mask over [query, key]."""
    number = (ids == end).cumsum(0)
    starts = torch.cat([torch.zeros(1, dtype=torch.bool), number[1:] != number[:-1]])
    begin = torch.where(starts, torch.arange(len(ids)), 0).cummax(0).values
    seen = (number[:, None] == number[None, :]).tril()
    return torch.arange(len(ids)) - begin, torch.where(seen, 0.0, torch.finfo(torch.float32).min)


def train_peer(model, rows, end, packed=True):
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses, norms = [], []
    for step in range(STEPS):
        batch = torch.tensor([rows[sample(step * GLOBAL + i, len(rows), SEED)] for i in range(GLOBAL)])
        ids, labels = batch[:, :-1], batch[:, 1:].clone()
        labels[(ids == end) & (labels == end)] = -100
        masks = [block_mask(row, end) for row in ids]
        logits = model(ids, position_ids=torch.stack([m[0] for m in masks]),
                       attention_mask=torch.stack([m[1] for m in masks])[:, None]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        model.zero_grad()
        loss.backward()
        norms.append(math.sqrt(sum(float((p.grad.double() ** 2).sum()) for p in model.parameters())))
        optimizer.step()
        losses.append(loss.item())
    return losses, norms


def compare(what, model, rows, end):
    model.save_pretrained("start-" + what)
    subprocess.run(["train", "-q", "--start-from", "start-" + what, "--data", "rows", "-o", what, "--log-every", "1",
                    "--document-attention", "--micro-batch-size", str(MICRO), "--global-batch-size", str(GLOBAL), "--steps", str(STEPS),
                    "--optimizer", "sgd", "--schedule", "constant", "--warmup", "0", "--clip", "0", "--learning-rate", str(RATE),
                    "--weight-decay", "0", "--dropout", "0", "--sequence-length", str(T), "--seed", str(SEED)], check=True)
    points = [json.loads(line) for line in open(what + "/metrics.jsonl")]
    losses, norms = train_peer(model, rows, end)
    for name, ours, theirs in [("loss", [p["loss"] for p in points], losses),
                               ("gradient norm", [p["gradient_norm"] for p in points], norms)]:
        worst = max(abs(a - b) / b for a, b in zip(ours, theirs))
        print(f"documents: {what}: {name}: greatest relative difference {worst:.1e} (allowed 1e-05)")
        assert len(ours) == len(theirs) == STEPS and worst < 1e-5, (ours, theirs)


def nanochat(lengths, row, buffer=1000):
    """Returns the rows, the documents that are cut, and the tokens that are lost, if each document has `lengths[i]` ids with its start."""
    waiting, left, rows, cut, lost = [], list(reversed(lengths)), 0, 0, 0
    while waiting or left:
        room = row
        while room:
            while left and len(waiting) < buffer:
                waiting.append(left.pop())
            if not waiting:
                break
            fitting = [n for n in waiting if n <= room]
            taken = max(fitting) if fitting else min(waiting)
            waiting.remove(taken)
            cut += taken > room
            lost += max(taken - room, 0)
            room -= min(taken, room)
        rows += 1
    return rows, cut, lost


def windows(lengths, row):
    """Returns the number of documents that are in more than one of the windows of joined documents."""
    at = cut = 0
    for n in lengths:
        cut += at // row != (at + n - 1) // row
        at += n
    return -(-at // row), cut


def numbers(folder):
    lines = [line.rstrip("\n").split("=", 1) for line in open(folder + "/manifest")]
    return {key: int(value) for key, value in lines if key in ("documents", "records", "filled", "cut_documents", "end_of_text", "tokens")}


def table():
    text = os.path.join(os.environ["DATA"], "text", "war_and_peace.txt")
    if not os.path.exists(text):
        print("SKIP documents: the table needs", text)
        return
    paragraphs = open(text, encoding="utf-8").read().split("\n\n")
    documents = [" ".join(p.split()) for p in paragraphs if p.strip()]
    write_stream("book.tokens", documents)
    subprocess.run(["tfwrite", "-q", "--layout", "megatron", "--no-append-eod", "-o", "book", "book.tokens"], check=True)
    with open("book.idx", "rb") as f:
        f.read(18)
        count = struct.unpack("<QQ", f.read(16))[0]
        lengths = list(struct.unpack(f"<{count}i", f.read(4 * count)))
    for row in (128, 512, 2048):
        subprocess.run(["tfwrite", "-q", "--pack", "best-fit", "--sequence-length", str(row), "--force", "-o", "book-rows", "book.tokens"],
                       check=True)
        n = numbers("book-rows")
        assert n["cut_documents"] == sum(k >= row for k in lengths) and n["documents"] == len(lengths)
        rows, cut, lost = nanochat([k + 1 for k in lengths], row + 1)
        all_rows, parted = windows([k + 1 for k in lengths], row)
        share = n["filled"] / n["records"] / row
        print(f"rows of {row}: best-fit {100 * share:.2f} % filled, {100 * n['cut_documents'] / len(lengths):.2f} % of documents cut, "
              f"0 tokens lost; nanochat 100 %, {100 * cut / len(lengths):.1f} %, {100 * lost / sum(lengths):.1f} %; "
              f"windows 100 %, {100 * parted / len(lengths):.1f} %, 0")
        assert share > 0.97 and n["records"] <= 1.03 * all_rows


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    words = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        lines = [" ".join(words.choice(["one", "two", "three", "seven", "eleven"]) for _ in range(words.randint(1, 30)))
                 for _ in range(300)]
        open("text", "w").write("\n".join(lines))
        subprocess.run(["tokenize", "train", "-q", "--vocab-size", "280", "-o", "vocab", "text"], check=True)
        write_stream("text.tokens", lines)
        subprocess.run(["tfwrite", "-q", "--pack", "best-fit", "--sequence-length", str(T), "-o", "rows", "text.tokens"], check=True)
        n = numbers("rows")
        rows, end = rows_of("rows", n["records"]), n["end_of_text"]
        assert sum(a != end or b != end for r in rows for a, b in zip(r, r[1:])) == n["filled"]
        size = max(max(r) for r in rows) + 1
        compare("gpt2", GPT2LMHeadModel(GPT2Config(
            vocab_size=size, n_positions=T, n_embd=48, n_layer=3, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
            initializer_range=0.1, bos_token_id=end, eos_token_id=end, attn_implementation="eager")), rows, end)
        compare("llama", LlamaForCausalLM(LlamaConfig(
            vocab_size=size, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=T, initializer_range=0.1, bos_token_id=end, eos_token_id=end,
            attn_implementation="eager")), rows, end)
        table()


main()
