"""torch_squad.py SETUP FOLDER DATA QUESTIONS BATCH | TIME ...: BERT base for question answering with random weights, by
transformers. `setup` saves the model and the first questions of DATA to FOLDER. `time` prints the seconds that
PyTorch takes for the logits of their windows, f32, all cores: first padded to 384 as in the published script, then
padded to the longest window of the batch, with the windows sorted by length."""
import json
import os
import sys
import time

import torch
import transformers
from transformers import BertConfig, BertForQuestionAnswering, BertTokenizerFast

what, folder, source, count, size = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(len(os.sched_getaffinity(0)))
model_dir, data = os.path.join(folder, "model"), os.path.join(folder, "data.json")


def setup():
    torch.manual_seed(0)
    BertForQuestionAnswering(BertConfig()).save_pretrained(model_dir)
    with open(os.path.join(source, "tokenizers/bert-base-uncased-vocab.txt"), "rb") as f:
        open(os.path.join(model_dir, "vocab.txt"), "wb").write(f.read())
    paragraphs = [p for a in json.load(open(os.path.join(source, "squad/dev-v1.1.json")))["data"] for p in a["paragraphs"]]
    questions = [{"context": p["context"], "qas": [q]} for p in paragraphs for q in p["qas"][:1]]
    step = len(questions) // count
    json.dump({"version": "1.1", "data": [{"title": "", "paragraphs": questions[::step][:count]}]}, open(data, "w"))


def windows():
    tokenizer = BertTokenizerFast(os.path.join(model_dir, "vocab.txt"))
    paragraphs = json.load(open(data))["data"][0]["paragraphs"]
    e = tokenizer([p["qas"][0]["question"] for p in paragraphs], [p["context"] for p in paragraphs],
                  truncation="only_second", max_length=384, stride=128, return_overflowing_tokens=True)
    return tokenizer, [{k: e[k][i] for k in ("input_ids", "token_type_ids", "attention_mask")}
                       for i in range(len(e["input_ids"]))]


def timed(tokenizer, rows, model, **padding):
    began = time.perf_counter()
    with torch.inference_mode():
        for i in range(0, len(rows), size):
            out = model(**tokenizer.pad(rows[i:i + size], return_tensors="pt", **padding))
            assert out.start_logits.isfinite().all()
    return time.perf_counter() - began


if what == "setup":
    setup()
else:
    tokenizer, rows = windows()
    model = BertForQuestionAnswering.from_pretrained(model_dir).eval()
    print(f"{timed(tokenizer, rows, model, padding='max_length', max_length=384):.3f}",
          f"{timed(tokenizer, sorted(rows, key=lambda r: len(r['input_ids'])), model):.3f}")
