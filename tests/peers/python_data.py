"""python/ where training scripts use it: datasets' map with several processes, and PyTorch's DataLoader with workers that are spawned.
What is encoded there is what is encoded here."""
import os
import sys

try:
    import datasets
    import numpy
    import torch
except ImportError:
    sys.exit(77)

from lib.paths import DATA, need_data
from lib.python_package import install

FILE = os.path.join(DATA, "tokenizers/gpt2-tokenizer.json")


class Rows(torch.utils.data.Dataset):
    """Encodes when a row is asked for, in the worker."""

    def __init__(self, tokenizer, texts):
        self.tokenizer, self.texts = tokenizer, texts

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, i):
        return torch.from_numpy(self.tokenizer.encode(self.texts[i]).astype(numpy.int64))


def joined(batch):
    return torch.nn.utils.rnn.pad_sequence(batch, batch_first=True, padding_value=-1)


def main():
    from textmill_tokenizer import Tokenizer
    t = Tokenizer(FILE)
    with open(os.path.join(DATA, "text/alice.txt"), encoding="utf-8") as f:
        texts = [part for part in f.read().split("\n\n") if part][:400]
    want = [ids.tolist() for ids in t.encode_batch(texts)]
    datasets.disable_progress_bars()
    table = datasets.Dataset.from_dict({"text": texts})
    made = table.map(lambda rows: {"ids": t.encode_batch(rows["text"], threads=1)}, batched=True, batch_size=64, num_proc=2)
    assert [list(ids) for ids in made["ids"]] == want
    again = made.map(lambda rows: {"text": t.decode_batch(rows["ids"])}, batched=True, num_proc=2)
    assert again["text"][:] == texts
    for method in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(Rows(t, texts), batch_size=16, num_workers=2, collate_fn=joined, multiprocessing_context=method)
        got = [row[row >= 0].tolist() for batch in loader for row in batch]
        assert got == want, method
    print("python_data: datasets.map in 2 processes, DataLoader with forked and spawned workers")


if __name__ == "__main__":
    need_data()
    install()
    main()
