"""tokenizer/input beside Python's csv module, pandas and its compressors: tables and JSON lines with random cells,
compressed in each way, are read as the texts that were written."""
import bz2
import csv
import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile

try:
    import pandas
except ImportError:
    sys.exit(77)

ALPHABET = "ab,;\"\"''\n\r\t \u00e9\u4e2d\U0001f600\x00\x1f{}[]"


def cells(rng, count):
    return ["".join(rng.choice(ALPHABET) for _ in range(rng.randrange(0, 12))) + "x" for _ in range(count)]


def run(*args):
    return subprocess.run(["tokenize", *args, "-q"], check=True, stdout=subprocess.PIPE).stdout


def texts_of(path, fields):
    """Returns what tokenize read, as texts: the ids of a byte vocabulary are the bytes."""
    lines = run("--vocab", "bytes", "--ids", "--field", fields, path).decode().split("\n")[:-1]
    return ["".join(names[int(i)] for i in line.split()) for line in lines]


def as_bytes(texts):
    return [t.encode().decode("latin-1") for t in texts]


def write_csv(rows, terminator, quoting):
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=terminator, quoting=quoting)
    writer.writerow(["id", "text", "title"])
    writer.writerows(rows)
    return out.getvalue().encode()


def write_pandas(rows):
    return pandas.DataFrame(rows, columns=["id", "text", "title"]).to_csv(index=False).encode()


def write_json(rows):
    return "".join(json.dumps({"id": i, "text": t, "title": n}) + "\n" for i, t, n in rows).encode()


def packed(data):
    yield ".csv", data
    yield ".csv.gz", gzip.compress(data[:100]) + gzip.compress(data[100:])
    yield ".csv.bz2", bz2.compress(data[:50]) + bz2.compress(data[50:])
    yield ".csv.xz", lzma.compress(data)
    yield ".other", gzip.compress(data)


os.chdir(tempfile.mkdtemp())
with open("some", "w") as f:
    f.write("a")
run("train", "-o", "bytes", "--vocab-size", "257", "some")
vocabulary = json.load(open("bytes/tokenizer.json"))["model"]["vocab"]
byte_of = {}
keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
others = [b for b in range(256) if b not in keep]
for b in keep:
    byte_of[chr(b)] = chr(b)
for i, b in enumerate(others):
    byte_of[chr(256 + i)] = chr(b)
names = {i: byte_of[name] for name, i in vocabulary.items() if name in byte_of}
assert len(names) == 256

checks = 0
rng = random.Random(7)
for turn in range(20):
    rows = list(zip(map(str, range(30)), cells(rng, 30), cells(rng, 30)))
    tables = [write_csv(rows, "\n", csv.QUOTE_MINIMAL), write_csv(rows, "\r\n", csv.QUOTE_ALL), write_pandas(rows)]
    for data in tables:
        for ending, content in packed(data):
            with open("t" + ending, "wb") as f:
                f.write(content)
            assert texts_of("t" + ending, "text") == as_bytes([r[1] for r in rows]), (turn, ending)
            assert texts_of("t" + ending, "title,text") == as_bytes([r[2] + "\n\n" + r[1] for r in rows])
            checks += 2
    with open("t.jsonl.gz", "wb") as f:
        f.write(gzip.compress(write_json(rows)))
    assert texts_of("t.jsonl.gz", "title,text") == as_bytes([r[2] + "\n\n" + r[1] for r in rows])
    checks += 1
print(f"tables: {checks} comparisons equal")
