"""library.py FOLDER TEXT PACKAGE [THREADS]: prints MB/s of the Python binding in PACKAGE, of tiktoken and of Hugging
Face's tokenizers, wall clock time, with GPT-2's vocabulary in FOLDER, on THREADS threads (1). Each prints one line
per test:
"batch": the lines of TEXT in one call, with the ids in the form that the package returns
"decode": the ids of all lines in one call
"lines", only with one thread: one call per line
The three packages run in turn; the best of five rounds counts. Ids and texts are compared."""
import os
import sys
import time

folder, path, package = sys.argv[1:4]
threads = int(sys.argv[4]) if len(sys.argv) > 4 else 1
os.environ["TOKENIZERS_PARALLELISM"] = "true"
os.environ["RAYON_NUM_THREADS"] = str(threads)
sys.path.insert(0, package)

import tiktoken  # noqa: E402
import tokenizers  # noqa: E402
from textmill_tokenizer import Tokenizer  # noqa: E402
from tiktoken.load import load_tiktoken_bpe  # noqa: E402

lines = open(path, encoding="utf-8", newline="").read().splitlines(keepends=True)
megabytes = 1e-6 * sum(len(line.encode()) for line in lines)
pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
encoding = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=load_tiktoken_bpe(f"{folder}/gpt2.tiktoken"),
                             special_tokens={})
ours, theirs = Tokenizer(f"{folder}/gpt2-tokenizer.json"), tokenizers.Tokenizer.from_file(f"{folder}/gpt2-tokenizer.json")
ids = {name: encoding.encode_ordinary_batch(lines, num_threads=4) for name in ("tiktoken", "tokenizers")}
ids["textmill"] = ours.encode_batch(lines)
work = {
    "batch": {
        "textmill": lambda: ours.encode_batch(lines, threads=threads),
        "tiktoken": lambda: encoding.encode_ordinary_batch(lines, num_threads=threads),
        "tokenizers": lambda: [e.ids for e in theirs.encode_batch(lines, add_special_tokens=False)],
    },
    "decode": {
        "textmill": lambda: ours.decode_batch(ids["textmill"], threads=threads),
        "tiktoken": lambda: encoding.decode_batch(ids["tiktoken"], num_threads=threads),
        "tokenizers": lambda: theirs.decode_batch(ids["tokenizers"]),
    },
    "lines": {
        "textmill": lambda: [ours.encode(line) for line in lines],
        "tiktoken": lambda: [encoding.encode_ordinary(line) for line in lines],
        "tokenizers": lambda: [theirs.encode(line, add_special_tokens=False).ids for line in lines],
    },
}
for what, ways in work.items():
    if what == "lines" and threads > 1:
        continue
    best, results = dict.fromkeys(ways, 0), {}
    for _ in range(5):
        for name, do in ways.items():
            begin = time.perf_counter()
            results[name] = do()
            best[name] = max(best[name], megabytes / (time.perf_counter() - begin))
    for name, made in results.items():
        assert made == lines if what == "decode" else all(list(a) == list(b) for a, b in zip(ids["textmill"], made)), (what, name)
    print(what, *(f"{name}={rate:.1f}" for name, rate in best.items()))
