"""Fine-tuning for SQuAD, here and in PyTorch: from one BertForPreTraining with a new head, with windows made by
transformers' tokenizer, AdamW with warm-up and linear decay. Losses and final weights agree."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
    from safetensors.torch import load_file
    from transformers import BertConfig, BertForPreTraining, BertForQuestionAnswering, BertTokenizerFast
except ImportError:
    sys.exit(77)

DATA = os.environ["DATA"]
VOCAB, TRAIN = (os.path.join(DATA, p) for p in ("tokenizers/bert-base-uncased-vocab.txt", "squad/train-v1.1.subset44.json"))
if not os.path.exists(TRAIN):
    print("SKIP squad_train: no data")
    sys.exit(0)
LENGTH, STRIDE, STEPS, PEAK, WARMUP, DECAY = 128, 32, 50, 2e-3, 5, 0.01
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(9)
torch.set_num_threads(1)


def few_questions(path):
    """Returns one question for each of some paragraphs; one of them has no answer, as in SQuAD 2.0."""
    paragraphs = [p for a in json.load(open(TRAIN, encoding="utf-8"))["data"] for p in a["paragraphs"]][::90][:8]
    few = [{"context": p["context"], "qas": p["qas"][:1]} for p in paragraphs]
    few[3]["qas"][0].update(answers=[], is_impossible=True)
    json.dump({"version": "2.0", "data": [{"title": "t", "paragraphs": few}]}, open(path, "w"))
    return few


def batch(tokenizer, paragraphs):
    """The published rule: the target is [CLS] if the window does not contain the whole answer."""
    e = tokenizer([p["qas"][0]["question"] for p in paragraphs], [p["context"] for p in paragraphs], truncation="only_second",
                  max_length=LENGTH, stride=STRIDE, return_overflowing_tokens=True, return_offsets_mapping=True, padding=True)
    starts, ends = [], []
    for i, offsets in enumerate(e["offset_mapping"]):
        answers = paragraphs[e["overflow_to_sample_mapping"][i]]["qas"][0]["answers"]
        inside = [t for t, s in enumerate(e.sequence_ids(i)) if s == 1]
        start = end = 0
        if answers:
            a = answers[0]["answer_start"]
            b = a + len(answers[0]["text"])
            if offsets[inside[0]][0] <= a and offsets[inside[-1]][1] >= b:
                start = max(t for t in inside if offsets[t][0] <= a)
                end = min(t for t in inside if offsets[t][1] >= b)
        starts.append(start)
        ends.append(end)
    rows = {k: torch.tensor(e[k]) for k in ("input_ids", "token_type_ids", "attention_mask")}
    return rows, torch.tensor(starts), torch.tensor(ends)


def rate(t):
    return PEAK * (t + 1) / WARMUP if t < WARMUP else PEAK * (1 - (t - WARMUP) / (STEPS - WARMUP))


def theirs(model, rows, starts, ends):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
                                  betas=(0.9, 0.999), eps=1e-6)
    hide, losses = rows["attention_mask"] == 0, []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        out = model(**rows)
        loss = sum(torch.nn.functional.cross_entropy(x.masked_fill(hide, -torch.inf), y)
                   for x, y in ((out.start_logits, starts), (out.end_logits, ends))) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


with tempfile.TemporaryDirectory() as work:
    start, data, out = (os.path.join(work, n) for n in ("start", "train.json", "out"))
    config = BertConfig(num_hidden_layers=2, hidden_size=32, num_attention_heads=2, intermediate_size=64, initializer_range=0.1,
                        max_position_embeddings=LENGTH, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    BertForPreTraining(config).save_pretrained(start)
    with open(os.path.join(start, "vocab.txt"), "wb") as f:
        f.write(open(VOCAB, "rb").read())
    rows, starts, ends = batch(BertTokenizerFast(VOCAB), few_questions(data))
    n = len(starts)
    ours = ["train", "-q", "--task", "squad", "--start-from", start, "--data", data, "--sequence-length", str(LENGTH),
            "--stride", str(STRIDE), "--question-tokens", "40", "--micro-batch-size", str(n), "--clip", "0", "--beta2", "0.999",
            "--adam-epsilon", "1e-6", "--weight-decay", str(DECAY), "--schedule", "linear", "--minimum-learning-rate", "0",
            "--log-every", "1", "--save-every", "0"]
    # a first step that changes nothing tells the head that was made
    subprocess.run([*ours, "--steps", "1", "--learning-rate", "0", "-o", out + "0"], check=True)
    model = BertForQuestionAnswering.from_pretrained(out + "0")
    ours[ours.index("--start-from") + 1] = out + "0"
    subprocess.run([*ours, "--steps", str(STEPS), "--learning-rate", str(PEAK), "--warmup", str(WARMUP), "-o", out], check=True)
    here = [json.loads(line)["loss"] for line in open(os.path.join(out, "metrics.jsonl"))]
    there = theirs(model, rows, starts, ends)
    worst = max(abs(a - b) / b for a, b in zip(here, there))
    print(f"squad_train: {n} windows, {int((starts == 0).sum())} without answer, {STEPS} steps, loss {there[0]:.4f} to "
          f"{there[-1]:.4f}: losses differ by {worst:.1e} (at most 1e-04)")
    assert len(here) == len(there) == STEPS and worst <= 1e-4
    assert 0 < int((starts == 0).sum()) < n and there[-1] < 0.5 * there[0]
    weights = load_file(os.path.join(out, "model.safetensors"))
    for name, p in model.named_parameters():
        # what adds the same to all that a softmax sees has no gradient but rounding, which AdamW makes large
        if not name.endswith(("key.bias", "qa_outputs.bias", "layer.1.output.LayerNorm.bias")):
            error = float((weights[name] - p.detach()).abs().max() / p.detach().abs().max())
            assert error < 2e-3, (name, error)
