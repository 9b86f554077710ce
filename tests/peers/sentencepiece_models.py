"""SentencePiece's .model files against SentencePiece itself: ids and text of BPE and Unigram models with its options, on real and
random text that also spells special tokens; and the tokenizer.json that we keep of them."""
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import sentencepiece
except ImportError:
    sys.exit(77)

ROOT = os.environ.get("ROOT") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.environ.get("DATA") or os.path.join(ROOT, "../shared/data")
if not os.path.isdir(DATA):
    sys.exit(77)


def read(name):
    with open(os.path.join(DATA, "text", name), encoding="utf-8", newline="") as f:
        return [line for line in f.read().split("\n") if line]


def random_texts(count, seed):
    r = random.Random(seed)
    parts = [" ", "  ", "\n", "\t", "\u00a0", "\u3000", "▁", "the", "The", "1", "4567", "!", "é", "e\u0301", "ﬁ", "½", "日本", "🙂", "İ",
             "\x07", "\ufeff", "\u200b", "<s>", "</s>", "<unk>", "<pad>", "[X]", "s>", "<0x41>", "abc"]

    def one():
        if r.random() < 0.8:
            return r.choice(parts)
        c = r.randrange(0x20, r.choice([0x80, 0x800, 0x10000, 0x110000]))
        return "" if 0xD800 <= c < 0xE000 else chr(c)
    return ["".join(one() for _ in range(r.randrange(0, 25))) for _ in range(count)]


REAL = read("multilingual.txt")[:1500:3] + read("alice.txt")[:300]
TEXTS = [t for t in REAL + random_texts(2500, 7) if "\0" not in t]
OPTIONS = [dict(), dict(byte_fallback=True, vocab_size=800), dict(normalization_rule_name="identity", remove_extra_whitespaces=False),
           dict(user_defined_symbols=["[X]", "abc"], control_symbols=["<pad>"]), dict(add_dummy_prefix=False, split_digits=True)]


def run(*command, data):
    return subprocess.run(command, input=data.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()


def compare(what, path, theirs, texts):
    lines = "".join(json.dumps({"text": t}) + "\n" for t in texts)
    ours = [[int(i) for i in line.split()] for line in run("tokenize", "-q", "--vocab", path, "--ids", "--format", "jsonl", data=lines).split("\n")[:-1]]
    for text, a in zip(texts, ours):
        assert a == theirs.encode(text), (what, text, a, theirs.encode(text))
    assert len(ours) == len(texts)


def main():
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in "bpe", "unigram":
            for k, options in enumerate(OPTIONS):
                path = f"{folder}/{kind}{k}"
                sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([x for x in REAL if x.isascii()]), model_prefix=path,
                                                         model_type=kind, minloglevel=2, **{"vocab_size": 560, **options})
                theirs = sentencepiece.SentencePieceProcessor(model_file=path + ".model")
                compare(f"{kind} {options}", path + ".model", theirs, TEXTS)
                stream = subprocess.run(["tokenize", "-q", "--vocab", path + ".model", "--format", "lines"], input=b"The moon\n" * 30,
                                        stdout=subprocess.PIPE, check=True).stdout
                subprocess.run(["tfwrite", "-q", "--layout", "megatron", "--no-append-eod", "-o", path], input=stream, check=True)
                compare(f"{kind} {options}, kept", path + ".tokenizer.json", theirs, TEXTS)
                count += 1
    print(f"SentencePiece: {count} models, {len(TEXTS)} texts")


sys.exit(main())
