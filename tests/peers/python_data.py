"""python/ where training scripts use it: datasets' map with several processes, and PyTorch's DataLoader with workers that are spawned.
What is encoded there is what is encoded here. Shards of tfwrite are the rows that it shows and that TensorFlow's format says; documents are
those that wikiprep prints, and its errors are raised."""
import glob
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import warnings

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


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, **options).stdout


def raises(error, words, call):
    try:
        call()
    except error as e:
        assert words in str(e) and "\n" not in str(e), e
    else:
        sys.exit(f"no error: {words}")


def check_shards(folder):
    from textmill_tokenizer import Shards, TokenizerError
    text = run("tokenize", "-q", "--vocab", FILE, os.path.join(DATA, "text/tinyshakespeare.txt"))
    run("tfwrite", "-q", "--sequence-length", "64", "--shards", "3", "-o", f"{folder}/text", input=text)
    shards = Shards(f"{folder}/text")
    want = [json.loads(line) for file in sorted(glob.glob(f"{folder}/text/*.tfrecord")) for line in run("tfwrite", "show", "-q", file).splitlines()]
    assert [{name: values.tolist() for name, values in row.items()} for row in shards] == want and len(shards) == len(want) == 5281
    assert shards[-1]["input_ids"].tolist() == want[-1]["input_ids"]
    raises(IndexError, "", lambda: shards[len(shards)])
    here = os.getcwd()
    os.chdir(folder)
    relative = Shards("text")
    os.chdir(here)
    assert len(pickle.loads(pickle.dumps(relative))) == len(want), "read from another folder than that in which it was made"
    for method in (None, "fork", "spawn"):
        loader = torch.utils.data.DataLoader(shards, batch_size=100, num_workers=2 if method else 0, multiprocessing_context=method)
        assert torch.cat([batch["input_ids"] for batch in loader]).tolist() == [row["input_ids"] for row in want], method
    lines = "".join(json.dumps({"prompt": f"{i} + 1 =", "answer": f" {i + 1}"}) + "\n" for i in range(9)).encode()
    answers = run("tokenize", "-q", "--vocab", FILE, "--chat", "text", input=lines)
    run("tfwrite", "-q", "--sequence-length", "16", "--shards", "1", "-o", f"{folder}/answers", input=answers)
    file, = glob.glob(f"{folder}/answers/*.tfrecord")
    assert [len(shards[part]) for part in (slice(2), slice(-1, None), slice(0))] == [2, 1, 0]
    assert (shards[:2][1]["input_ids"] == shards[1]["input_ids"]).all()
    for row, line in zip(Shards(file), run("tfwrite", "show", "-q", file).splitlines(), strict=True):
        ids, mask = json.loads(line).values()
        assert row["input_ids"].tolist() == ids and row["labels"].tolist() == [i if m else -100 for i, m in zip(ids, mask)]
    for name, how in ("packed", "gzip"), ("zstd", "zstd"), ("zlib", "zlib"):
        run("tfwrite", "-q", "--sequence-length", "64", "--compression", how, "-o", f"{folder}/{name}", input=text)
        raises(TokenizerError, "compressed", lambda: Shards(f"{folder}/{name}"))
    raises(TokenizerError, "ends in .tfrecord", lambda: Shards(DATA))
    run("tfwrite", "-q", "--sequence-length", "4096", "--allow-empty", "-o", f"{folder}/empty", input=answers)
    assert len(Shards(f"{folder}/empty")) == 0 and not list(Shards(f"{folder}/empty"))
    raises(FileNotFoundError, "nothing", lambda: Shards("nothing"))
    rows = Shards(file)
    os.truncate(file, os.path.getsize(file) - 5)
    raises(TokenizerError, f"{file}: record {len(rows) - 1} at byte", lambda: Shards(file)[-1])
    os.truncate(file, int(rows._files[0][2][-1]))
    raises(TokenizerError, "the file ends before it", lambda: Shards(file)[-1])
    os.truncate(file, 0)
    assert len(Shards(file)) == 0
    with open(f"{folder}/short.tfrecord", "wb") as f, open(f"{folder}/short.index", "w") as index:  # begins as zlib's files do
        f.write((120).to_bytes(8, "little") + bytes(128))
        index.write("0 136\n")
    assert len(Shards(f"{folder}/short.tfrecord")) == 1
    sample = os.path.join(DATA, "bert/sample_text.tfrecord")
    rows = Shards(sample)
    for row, line in zip(rows, run("tfwrite", "show", "-q", sample).splitlines(), strict=True):
        assert {name: [round(float(x), 6) for x in values] for name, values in row.items()} == json.loads(line), line
    damaged = bytearray(open(sample, "rb").read())
    damaged[int(rows._files[0][2][7]) + 20] ^= 1
    with open(f"{folder}/damaged.tfrecord", "wb") as f:
        f.write(damaged)
    raises(TokenizerError, "tfwrite index makes one", lambda: Shards(f"{folder}/damaged.tfrecord"))
    shutil.copy(os.path.join(DATA, "bert/sample_text.index"), f"{folder}/damaged.index")
    rows = Shards(f"{folder}/damaged.tfrecord")
    assert len(rows) == 45 and len(rows[8]["input_ids"])
    raises(TokenizerError, "damaged.tfrecord: record 7 at byte", lambda: rows[7])
    return len(shards)


def check_documents():
    from textmill_tokenizer import documents
    dump = os.path.join(DATA, "wiki/smallwiki.xml")
    for options, flags in ({}, []), ({"fields": "title,text", "lists": False, "redirects": True}, ["--fields", "title,text", "--no-lists", "--redirects"]):
        want = [json.loads(line) for line in run("wikiprep", "-q", "--json", *flags, dump).splitlines()]
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            assert list(documents(dump, **options)) == want and len(want) > 50
        assert not given, given
    plain = [page["text"] for page in documents(dump)]
    assert [page["text"] for page in documents(dump, sections=None)] == plain, "an option that is None is not given"
    large = documents(os.path.join(DATA, "wiki/enwiki-p10p30302-shortened.xml.bz2"))
    assert next(large)["title"]
    children = [int(p) for p in run("ps", "-o", "pid=,comm=", "--ppid", str(os.getpid()), text=True).split() if p.isdigit()]
    large.close()
    assert not [p for p in children if os.path.exists(f"/proc/{p}/exe") and os.readlink(f"/proc/{p}/exe").endswith("wikiprep")]
    raises(RuntimeError, "cannot open 'nothing.xml'", lambda: list(documents("nothing.xml")))
    raises(RuntimeError, "nonsense", lambda: list(documents(dump, nonsense=True)))
    cut = []
    raises(RuntimeError, "wikiprep: ", lambda: cut.extend(documents(os.path.join(DATA, "wiki/jawiki-truncated-100k.xml.xz"), quiet=True, strict=True)))
    assert len(cut) > 100, "the pages before the damage"
    return len(want)


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
    with tempfile.TemporaryDirectory() as folder:
        rows = check_shards(folder)
    print(f"python_data: datasets.map in 2 processes, DataLoader with forked and spawned workers, {rows} rows of shards, {check_documents()} documents")


if __name__ == "__main__":
    need_data()
    install()
    main()
