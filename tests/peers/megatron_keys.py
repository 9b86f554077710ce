"""Pairs of several keys of JSON lines beside Megatron's writer: as its preprocess_data makes them with --json-keys and
--append-eod, also for empty strings."""
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
sys.path.pop(0)  # other files here are called like packages
try:
    import tokenizers
    import torch
    from megatron.core.datasets.indexed_dataset import DType, IndexedDatasetBuilder
except ImportError:
    sys.exit(77)

ROOT = os.environ.get("ROOT") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("DATA") or os.path.join(ROOT, "../shared/data")
VOCAB = os.path.join(DATA, "tokenizers/gpt2-tokenizer.json")
if not os.path.exists(VOCAB):
    sys.exit(77)


def records(rng):
    words = "the moon and a sun of stars, over land: sea & sky".split()
    text = lambda: " ".join(rng.choices(words, k=rng.choice([0, 1, 5, 30])))
    return [{"id": i, "title": text(), "body": text(), "text": text()} for i in range(300)]


def write_as_megatron(path, texts):
    tokenizer = tokenizers.Tokenizer.from_file(VOCAB)
    end = tokenizer.token_to_id("<|endoftext|>")
    builder = IndexedDatasetBuilder(path + ".bin", dtype=DType.optimal_dtype(tokenizer.get_vocab_size()))
    for text in texts:
        ids = tokenizer.encode(text).ids
        ids += [end] if ids else []
        builder.add_document(torch.IntTensor(ids), [len(ids)] if ids else [])
    builder.finalize(path + ".idx")


with tempfile.TemporaryDirectory() as folder:
    rows = records(random.Random(3))
    rows[0]["body"] = rows[-1]["body"] = ""
    with open(f"{folder}/pages.jsonl", "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    for key in "title", "body", "text":
        ours, theirs = f"{folder}/ours_{key}_document", f"{folder}/theirs_{key}_document"
        stream = subprocess.run(["tokenize", "-q", "--vocab", VOCAB, "--field", key, f"{folder}/pages.jsonl"], check=True,
                                stdout=subprocess.PIPE).stdout
        subprocess.run(["tfwrite", "-q", "--layout", "megatron", "-o", ours], input=stream, check=True)
        write_as_megatron(theirs, [row[key] for row in rows])
        for ending in ".bin", ".idx":
            assert open(ours + ending, "rb").read() == open(theirs + ending, "rb").read(), (key, ending)
        subprocess.run(["tfwrite", "verify", "-q", ours, theirs], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["tfwrite", "merge", "-q", "--force", "-o", folder + "/twice", theirs, theirs], check=True)
        subprocess.run(["tfwrite", "verify", "-q", folder + "/twice"], check=True, stdout=subprocess.DEVNULL)
print(f"keys: 3 pairs of {len(rows)} records as Megatron makes them")
