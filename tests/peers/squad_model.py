"""evaluate squad --model beside transformers: features from the Rust tokenizer, logits of a random
BertForQuestionAnswering, and the two published ways from logits to answers, rewritten in plain Python. Contexts of
SQuAD and artificial ones of all scripts; questions too long for their window; SQuAD 1.1 and 2.0."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

try:
    import torch
    import transformers
    from transformers import BertConfig, BertForQuestionAnswering, BertTokenizerFast
except ImportError:
    sys.exit(77)

DATA = os.environ["DATA"]
VOCAB = os.path.join(DATA, "tokenizers/bert-base-uncased-vocab.txt")
if not os.path.exists(VOCAB):
    print("SKIP squad_model: no vocabulary")
    sys.exit(0)
LETTERS = [chr(c) for c in range(0x20000) if unicodedata.category(chr(c))[0] in "LNPS" or chr(c) in " \t\n\u00a0\u0301\u200d"]
draw = random.Random(11)
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(4)
torch.set_num_threads(1)  # small matrices


def make_model(folder):
    config = BertConfig(num_hidden_layers=2, hidden_size=64, num_attention_heads=4, intermediate_size=128,
                        max_position_embeddings=200, initializer_range=0.3)
    model = BertForQuestionAnswering(config).eval()
    model.save_pretrained(folder)
    with open(os.path.join(folder, "vocab.txt"), "wb") as f:
        f.write(open(VOCAB, "rb").read())
    return model, BertTokenizerFast(VOCAB)


def some_text(words):
    parts = []
    for _ in range(words):
        if draw.random() < .6:
            parts.append(draw.choice(["the", "Moon", "tide", "caf\u00e9", "\u0130zmir", "na\u00efve", "\u6d77", "1969.", "O'Neil", "\U0001f319"]))
        else:
            parts.append("".join(draw.choices(LETTERS, k=draw.randrange(1, 6))))
        parts.append(draw.choice([" ", " ", " ", "\n", "  ", ""]))
    return "".join(parts)


def made_up(v2):
    paragraphs = []
    for p in range(25):
        context = some_text(draw.choice([0, 1, 5, 60, 400]))
        qas = []
        for q in range(3):
            text = context[(at := draw.randrange(len(context) + 1)):at + draw.randrange(1, 20)]
            qa = {"id": f"{p}-{q}", "question": some_text(draw.choice([1, 8, 8, 8, 70])),
                  "answers": [{"text": text, "answer_start": at}] if text else [{"text": "x", "answer_start": 0}]}
            if v2:
                qa["is_impossible"] = q == 1
                qa["answers"] = [] if q == 1 else qa["answers"]
            qas.append(qa)
        paragraphs.append({"context": context, "qas": qas})
    return {"version": "x", "data": [{"title": "t", "paragraphs": paragraphs}]}


def published():
    path = os.path.join(DATA, "squad/dev-v1.1.json")
    data = json.load(open(path, encoding="utf-8"))
    paragraphs = [p for article in data["data"] for p in article["paragraphs"]]
    longest = sorted(paragraphs, key=lambda p: -len(p["context"]))[:4]
    return {"version": "1.1", "data": [{"title": "t", "paragraphs": draw.sample(paragraphs, 30) + longest}]}


# ---- features ---------------------------------------------------------------------------------

def encode(tokenizer, text):
    e = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    return e["input_ids"], e["offset_mapping"]


def features(tokenizer, question, context, style, length, stride, most):
    """Returns windows as (ids, segments, first row of the context, the context's first tokens)."""
    q, (ids, offsets) = encode(tokenizer, question)[0], encode(tokenizer, context)
    least = 1 if style == "google" else stride + 1
    if len(q) > most and (style == "google" or len(q) + 3 + least > length):
        q = q[:most]
    room = length - len(q) - 3
    step = min(stride, room) if style == "google" else room - stride
    first = 0
    while True:
        part = ids[first:first + room]
        yield {"ids": [tokenizer.cls_token_id, *q, tokenizer.sep_token_id, *part, tokenizer.sep_token_id],
               "segments": [0] * (len(q) + 2) + [1] * (len(part) + 1), "at": len(q) + 2, "first": first,
               "offsets": offsets[first:first + room]}
        first += step
        if len(part) + first - step >= len(ids):
            return


def check_features(tokenizer, question, context, length, stride):
    """Compares with the windows that transformers makes, if it makes any."""
    ours = [f["ids"] for f in features(tokenizer, question, context, "hf", length, stride, 64)]
    if len(encode(tokenizer, question)[0]) + 4 + stride <= length and encode(tokenizer, context)[0]:
        theirs = tokenizer(question, context, truncation="only_second", max_length=length, stride=stride,
                           return_overflowing_tokens=True)["input_ids"]
        assert ours == theirs, (question, context)


def logits(model, fs):
    for f in fs:
        with torch.no_grad():
            out = model(input_ids=torch.tensor([f["ids"]]), token_type_ids=torch.tensor([f["segments"]]))
        f["start"], f["end"] = out.start_logits[0].tolist(), out.end_logits[0].tolist()
    return fs


# ---- answers ----------------------------------------------------------------------------------

def most_context(fs, token):
    def score(f):
        i = token - f["first"]
        return min(i, len(f["offsets"]) - i - 1) + .01 * len(f["offsets"])
    holding = [f for f in fs if f["first"] <= token < f["first"] + len(f["offsets"])]
    return max(holding, key=score)


def top(values, n):
    return sorted(range(len(values)), key=lambda i: -values[i])[:n]


def answer(fs, context, style, v2, n_best=20, most=30, threshold=0.0):
    found = []
    for f in fs:
        inside = range(f["at"], f["at"] + len(f["offsets"]))
        for s in top(f["start"], n_best):
            for e in top(f["end"], n_best):
                if s not in inside or e not in inside or not s <= e < s + most:
                    continue
                if style == "google" and most_context(fs, f["first"] + s - f["at"]) is not f:
                    continue
                text = context[f["offsets"][s - f["at"]][0]:f["offsets"][e - f["at"]][1]]
                found.append((f["start"][s] + f["end"][e], text, f["start"][s], f["end"][e]))
    null = min(((f["start"][0] + f["end"][0], "", f["start"][0], f["end"][0]) for f in fs), key=lambda c: c[0])
    if v2:
        found.append(null)
    found.sort(key=lambda c: -c[0])
    kept = []
    for c in found:
        if len(kept) < n_best and not (style == "google" and any(c[1] == k[1] for k in kept)):
            kept.append(c)
    if v2 and not any(k[1] == "" for k in kept):
        kept.append(null)
    if not any(k[1] for k in kept):
        kept.insert(0, (0.0, "empty", 0.0, 0.0))
    total = sum(math.exp(k[0] - kept[0][0]) for k in kept)
    best = next(k for k in kept if k[1])
    odds = null[0] - best[0]
    return {"text": "" if v2 and odds > threshold else best[1], "odds": odds,
            "n_best": [(k[1], math.exp(k[0] - kept[0][0]) / total, k[2], k[3]) for k in kept]}


def same_n_best(what, ours, theirs):
    """Compares lists of answers; neighbours with nearly the same score may be swapped."""
    assert len(ours) == len(theirs), (what, len(ours), len(theirs))
    for i, (o, (text, p, s, e)) in enumerate(zip(ours, theirs)):
        assert abs(o["start_logit"] + o["end_logit"] - s - e) < 2e-4, (what, i, o, (text, s, e))
        assert abs(o["probability"] - p) < 1e-4, (what, i, o, p)
        near = [t[0] for t in theirs if abs(t[2] + t[3] - s - e) < 2e-4]
        assert o["text"] in near, (what, i, o, near)


def compare(work, what, data, model, tokenizer, style, length, stride, v2):
    path, out = os.path.join(work, "data.json"), os.path.join(work, "out")
    json.dump(data, open(path, "w", encoding="utf-8"), ensure_ascii=False)
    subprocess.run(["evaluate", "squad", "-q", "--force", "--model", os.path.join(work, "model"), "--style", style, "--sequence-length",
                    str(length), "--stride", str(stride), "-o", out, "--batch-tokens", "700", "-t", "2", path],
                   check=True, stdout=subprocess.PIPE)
    ours = {n: json.load(open(os.path.join(out, n + ".json"), encoding="utf-8"))
            for n in ["predictions", "nbest_predictions"] + ["null_odds"] * v2}
    asked = differ = 0
    for p in data["data"][0]["paragraphs"]:
        for q in p["qas"]:
            fs = list(features(tokenizer, q["question"], p["context"], style, length, stride, 64))
            if style == "hf":
                check_features(tokenizer, q["question"], p["context"], length, stride)
            want = answer(logits(model, fs), p["context"], style, v2)
            same_n_best(f"{what}: {q['id']}", ours["nbest_predictions"][q["id"]], want["n_best"])
            if v2:
                assert abs(ours["null_odds"][q["id"]] - want["odds"]) < 2e-4, (what, q["id"])
            differ += ours["predictions"][q["id"]] != want["text"]
            asked += 1
    print(f"squad_model: {what}, {style}: {asked} questions, {differ} predictions differ")
    return differ


def one_segment(work):
    """A model that cannot distinguish question and context must be refused."""
    folder = os.path.join(work, "one")
    config = BertConfig(num_hidden_layers=1, hidden_size=16, num_attention_heads=2, intermediate_size=16, type_vocab_size=1)
    BertForQuestionAnswering(config).save_pretrained(folder)
    json.dump(made_up(0), open(os.path.join(work, "data.json"), "w"))
    run = subprocess.run(["evaluate", "squad", "--model", folder, "--vocab", VOCAB, os.path.join(work, "data.json")],
                         stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1 and "type_vocab_size is 1, must be at least 2" in run.stderr, run.stderr


with tempfile.TemporaryDirectory() as scratch:
    one_segment(scratch)
    bert, rust = make_model(os.path.join(scratch, "model"))
    wrong = 0
    for way in "hf", "google":
        wrong += compare(scratch, "made up, 1.1", made_up(0), bert, rust, way, 150, 40, 0)
        wrong += compare(scratch, "made up, 2.0", made_up(1), bert, rust, way, 150, 40, 1)
        if os.path.exists(os.path.join(DATA, "squad")):
            wrong += compare(scratch, "SQuAD, 1.1", published(), bert, rust, way, 200, 128 if way == "google" else 64, 0)
sys.exit(wrong != 0)
