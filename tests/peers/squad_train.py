"""Fine-tuning for SQuAD, here and in PyTorch: from one BertForPreTraining with a new head, with windows made by
transformers' tokenizer, AdamW with warm-up and linear decay. Losses and final weights agree."""
import json
import os
import sys
import tempfile

try:
    import torch
    import transformers
    from lib import finetune
    from transformers import BertConfig, BertForPreTraining, BertForQuestionAnswering, BertTokenizerFast
except ImportError:
    sys.exit(77)

DATA = os.environ["DATA"]
VOCAB, TRAIN = (os.path.join(DATA, p) for p in ("tokenizers/bert-base-uncased-vocab.txt", "squad/train-v1.1.subset44.json"))
if not os.path.exists(TRAIN):
    print("SKIP squad_train: no data")
    sys.exit(0)
LENGTH, STRIDE = 128, 32
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.manual_seed(9)


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


def loss_of(rows, starts, ends):
    hide = rows["attention_mask"] == 0

    def loss(model):
        out = model(**rows)
        return sum(torch.nn.functional.cross_entropy(x.masked_fill(hide, -torch.inf), y)
                   for x, y in ((out.start_logits, starts), (out.end_logits, ends))) / 2
    return loss


with tempfile.TemporaryDirectory() as work:
    start, data, out = (os.path.join(work, n) for n in ("start", "train.json", "out"))
    config = BertConfig(num_hidden_layers=2, hidden_size=32, num_attention_heads=2, intermediate_size=64, initializer_range=0.1,
                        max_position_embeddings=LENGTH, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    BertForPreTraining(config).save_pretrained(start)
    with open(os.path.join(start, "vocab.txt"), "wb") as f:
        f.write(open(VOCAB, "rb").read())
    rows, starts, ends = batch(BertTokenizerFast(VOCAB), few_questions(data))
    n = len(starts)
    here = finetune.ours("squad", start, out, n, "--data", data, "--sequence-length", str(LENGTH), "--stride", str(STRIDE))
    model = BertForQuestionAnswering.from_pretrained(out + "0")
    there = finetune.theirs(model, loss_of(rows, starts, ends))
    without = int((starts == 0).sum())
    assert 0 < without < n
    finetune.compare(f"squad_train: {n} windows, {without} without answer", here, there, model, out,
                     ("key.bias", "qa_outputs.bias", "layer.1.output.LayerNorm.bias"))
