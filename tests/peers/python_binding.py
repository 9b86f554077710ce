"""python/ beside tiktoken and Hugging Face's tokenizers: `pip install` of the source tree; equal ids, offsets and texts
for single texts, for batches, from several threads at a time and from Arrow's buffers."""
import os
import random
import sys
import threading

try:
    import numpy
    import tiktoken
    import tiktoken.load
    import tokenizers
except ImportError:
    sys.exit(77)

from lib.paths import DATA, need_data
from lib.python_package import install

need_data()
install()
from textmill_tokenizer import Tokenizer, TokenizerError  # noqa: E402

checks = 0


def same(what, ours, theirs):
    global checks
    assert len(ours) == len(theirs), what
    for i, (a, b) in enumerate(zip(ours, theirs)):
        assert list(map(int, a)) == list(b), f"{what}: text {i}"
    checks += 1


def read(name):
    with open(os.path.join(DATA, name), encoding="utf-8", newline="") as f:
        return f.read()


texts = read("text/multilingual.txt").splitlines(keepends=True)[:4000] + read("text/alice.txt").split("\n\n") + ["", " ", "é"]
rng = random.Random(5)
texts += ["".join(chr(rng.choice([rng.randrange(32, 127), rng.randrange(0x80, 0xD800), rng.randrange(0xE000, 0x110000)]))
                  for _ in range(rng.randrange(40))) for _ in range(2000)]

gpt2 = os.path.join(DATA, "tokenizers/gpt2-tokenizer.json")
ours, theirs = Tokenizer(gpt2), tokenizers.Tokenizer.from_file(gpt2)
expected = theirs.encode_batch(texts, add_special_tokens=False)
same("GPT-2", ours.encode_batch(texts), [e.ids for e in expected])
same("GPT-2, one thread", ours.encode_batch(texts, threads=1), [e.ids for e in expected])
same("GPT-2, one by one", [ours.encode(t) for t in texts], [e.ids for e in expected])
assert ours.decode_batch([e.ids for e in expected]) == texts and len(ours) == theirs.get_vocab_size()
ids, places = ours.encode_batch(texts, offsets="characters")
assert all([tuple(p) for p in a.tolist()] == e.offsets for a, e in zip(places, expected))
ids, places = ours.encode_batch(texts, offsets="bytes")
assert all([len(t[:p].encode()) for o in e.offsets for p in o] == a.ravel().tolist() for t, a, e in zip(texts, places, expected))

ranks = tiktoken.load.load_tiktoken_bpe(os.path.join(DATA, "tokenizers/gpt2.tiktoken"))
pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
encoding = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
same("tiktoken", Tokenizer(os.path.join(DATA, "tokenizers/gpt2.tiktoken"), pattern="gpt2").encode_batch(texts),
     encoding.encode_ordinary_batch(texts))

bert = os.path.join(DATA, "tokenizers/bert-base-uncased-tokenizer.json")
ours, theirs = Tokenizer(bert), tokenizers.Tokenizer.from_file(bert)
expected = theirs.encode_batch(texts)
ids, places = ours.encode_batch(texts, wrap=True, offsets="characters")
same("BERT", ids, [e.ids for e in expected])
assert all([tuple(p) for p in a.tolist()] == e.offsets for a, e in zip(places, expected))

for wrap in True, False:
    for length in None, 20, 2:
        for side in "right", "left":
            theirs.no_truncation() if length is None else theirs.enable_truncation(length)
            theirs.enable_padding(direction=side, pad_id=7)
            rows = theirs.encode_batch(texts[:3000:7], add_special_tokens=wrap)
            ids, mask = ours.encode_padded(texts[:3000:7], pad=7, length=length, side=side, wrap=wrap)
            same(f"padded, wrap {wrap}, length {length}, {side}", ids, [e.ids for e in rows])
            same(f"masks, wrap {wrap}, length {length}, {side}", mask, [e.attention_mask for e in rows])
theirs.no_truncation(), theirs.no_padding()
assert [a.shape for a in ours.encode_padded([], pad=0)] == [(0, 0), (0, 0)]

# Several threads of Python share a tokenizer, and the lock of the interpreter is not held.
results = [None] * 4
workers = [threading.Thread(target=lambda i=i: results.__setitem__(i, ours.encode_batch(texts, threads=1))) for i in range(4)]
for w in workers:
    w.start()
for w in workers:
    w.join()
for r in results:
    same("threads", r, [e.ids for e in theirs.encode_batch(texts, add_special_tokens=False)])

# Texts in a buffer, as Arrow keeps a column.
data = "".join(texts).encode()
ends = numpy.cumsum([len(t.encode()) for t in texts])
ids, made, _ = ours.encode_buffer(memoryview(data), ends)
same("buffer", numpy.split(ids, made[:-1].astype(int)), [list(map(int, r)) for r in results[0]])

# One array of all ids, from objects of all kinds.
kinds = str, str.encode, lambda text: memoryview(text.encode()), lambda text: bytearray(text.encode())
mixed = [kinds[i % 4](text) for i, text in enumerate(texts)]
rows, places = ours.encode_batch(mixed, offsets="characters")
same("mixed", rows, [list(map(int, r)) for r in results[0]])
flat, made, flat_places = ours.encode_batch(mixed, flat=True, offsets="characters")
same("flat", numpy.split(flat, made[:-1].astype(int)), [list(map(int, r)) for r in rows])
assert (flat_places == numpy.concatenate(places)).all() and ours.encode_batch(["The"], flat=True)[2] is None
whole, rows = "and half a pair: \ud800".encode("utf-8", "replace").decode().replace("?", "\ufffd" * 3), ["a", "and half a pair: \ud800", memoryview(b"b")]
same("replaced", ours.encode_batch(rows), [list(map(int, ours.encode(text))) for text in ("a", whole, "b")])
assert [part.size for part in ours.encode_batch([], flat=True)[:2]] == [0, 0]

for bad in (lambda: Tokenizer("nothing"), lambda: Tokenizer(gpt2, pattern="x"), lambda: ours.decode([1 << 30]),
            lambda: ours.encode(b"\xff", strict=True), lambda: ours.encode_batch(["a", b"\xff"], strict=True, flat=True), lambda: ours.encode_buffer(b"ab", [3]),
            lambda: ours.encode_buffer(b"ab", [2, 1]), lambda: ours.encode_padded(["a"], pad=0, length=1, wrap=True),
            lambda: ours.encode_padded(["a"], pad=0, side="up")):
    try:
        bad()
        sys.exit("no error")
    except TokenizerError as e:
        assert str(e) and "\n" not in str(e)
        checks += 1
print(f"python_binding: {checks} comparisons equal")
