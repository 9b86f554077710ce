"""tokenize --offsets beside Hugging Face's tokenizers: the place of each token, in characters and in bytes, with and
without special tokens around the text."""
import json
import os
import random
import sys

try:
    import tokenizers
except ImportError:
    sys.exit(77)

from lib.texts import DATA, json_lines, read, tokenize

rng = random.Random(11)
texts = read("text/multilingual.txt").split("\n")[:3000] + read("text/alice.txt").split("\n\n")
texts += ["".join(chr(rng.choice([rng.randrange(32, 127), rng.randrange(0xA0, 0x3000), rng.randrange(0xE000, 0x110000)]))
                  for _ in range(rng.randrange(30))) for _ in range(3000)]
lines = json_lines(texts)
checks = 0
for name, wraps in [("gpt2", [False]), ("bert-base-uncased", [False, True]), ("bert-base-cased", [True])]:
    path = os.path.join(DATA, f"tokenizers/{name}-tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(path)
    theirs.encode_special_tokens = True
    for wrap in wraps:
        expected = theirs.encode_batch(texts, add_special_tokens=wrap)
        for unit in ["chars", "bytes"]:
            out = tokenize("--vocab", path, "--ids", "--offsets", unit, "--format", "jsonl", *["--wrap"] * wrap, data=lines)
            ours = [json.loads(line) for line in out.decode().split("\n")[:-1]]
            assert len(ours) == len(texts)
            for text, a, b in zip(texts, ours, expected):
                want = [list(o) if unit == "chars" else [len(text[:o[0]].encode()), len(text[:o[1]].encode())] for o in b.offsets]
                assert a["ids"] == b.ids and a["offsets"] == want, (name, unit, text, a, want)
            checks += 1
print(f"offsets: {checks} comparisons of {len(texts)} texts")
