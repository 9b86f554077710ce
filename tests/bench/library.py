"""library.py FOLDER TEXT PACKAGE [THREADS]: MB/s of the Python binding in PACKAGE beside tiktoken and Hugging Face's
tokenizers, wall clock, with GPT-2's vocabulary in FOLDER: the lines of TEXT in one batch (ids as each hands them out), on
so many threads. The best of five rounds in turn; ids are compared."""
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
encoders = {
    "textmill": lambda: ours.encode_batch(lines, threads=threads),
    "tiktoken": lambda: encoding.encode_ordinary_batch(lines, num_threads=threads),
    "tokenizers": lambda: [e.ids for e in theirs.encode_batch(lines, add_special_tokens=False)],
}
best, results = dict.fromkeys(encoders, 0), {}
for _ in range(5):
    for name, encode in encoders.items():
        begin = time.perf_counter()
        ids = encode()
        best[name] = max(best[name], megabytes / (time.perf_counter() - begin))
        results[name] = ids
for name in ("tiktoken", "tokenizers"):
    assert all(a.tolist() == b for a, b in zip(results["textmill"], results[name])), name
print(*(f"{name}={rate:.1f}" for name, rate in best.items()))
