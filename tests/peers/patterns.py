"""Pre-tokenizers of published models beside tokenizers: 20,000 strings for each, from all planes, with controls, marks
and long words, and with a small vocabulary. The patterns are those of the models' tokenizer.json. With a folder as
argument it writes the vocabularies, of 32,000 tokens, to that folder instead, for benchmarks."""
import json
import os
import random
import sys
import tempfile

try:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
except ImportError:
    sys.exit(77)

from lib.texts import our_ids, read

p = pre_tokenizers
LEVEL = p.ByteLevel(add_prefix_space=False, use_regex=False)
GPT2 = p.ByteLevel(add_prefix_space=False)
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL


def split(pattern, behavior="isolated"):
    return p.Sequence([p.Split(Regex(pattern), behavior), LEVEL])


MODELS = {
    "llama3": split(CL100K),
    "qwen2": split(CL100K.replace("{1,3}", "")),
    "tekken": split(rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*|\p{{N}}"
                    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + TAIL),
    "phi4": split(CL100K),
    "phi2": GPT2,
    "command-r": p.Sequence([p.Digits(individual_digits=True), GPT2]),
    "starcoder": p.Sequence([p.Digits(individual_digits=True), GPT2]),
    "bloom": split(r" ?[^(\s|[.,!?…。，、।۔،])]+"),
    "falcon": p.Sequence([p.Punctuation("contiguous"), GPT2, p.Digits(individual_digits=False),
                          p.Split(Regex("[0-9][0-9][0-9]"), "isolated")]),
    "gemma": p.Split(" ", "merged_with_previous"),
}


REAL = read("text/multilingual.txt").split("\n") + read("text/alice.txt").split("\n")


def learn(name, size):
    if name == "gemma":
        t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
        t.normalizer = normalizers.Replace(" ", "▁")
        special = ["<pad>", "<unk>"] + [f"<0x{b:02X}>" for b in range(256)]
        options = {"special_tokens": special, "limit_alphabet": 1000}
        t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    else:
        t = Tokenizer(models.BPE())
        options = {"initial_alphabet": p.ByteLevel.alphabet()}
        t.decoder = decoders.ByteLevel()
    t.pre_tokenizer = MODELS[name]
    texts = REAL if size < 10000 else REAL + read("wikitext/wikitext-2.train.tokens").split("\n")
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, show_progress=False, **options))
    state = json.loads(t.to_str())
    state["added_tokens"] = [a for a in state["added_tokens"] if not a["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(state))


def strings(count, seed):
    r = random.Random(seed)
    parts = [" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\x00", "\x1f", "'s", "'LL", "the", "The", "iPhone", "1", "234", "…",
             "。", "।", "(", "|", "[", "/", "...", "!?", "é", "e\u0301", "\u0301", "日本", "각", "🙂", "👩‍🔬", "İ", "ǅ", "ſ", "²", "Ⅷ", "½",
             "▁", "_", "\u200b", "\ufeff", "\u0378"]

    def one():
        if r.random() < 0.5:
            return r.choice(parts)
        c = r.randrange(1, r.choice([0x80, 0x800, 0x3000, 0x10000, 0x110000]))
        return "x" if 0xD800 <= c < 0xE000 else chr(c)

    made = ["".join(one() for _ in range(r.randrange(1, 25))) for _ in range(count - 2050)]
    made += r.sample(REAL, 2000)
    return made + [r.choice(["a", "Ab", "é", "1", "字", " ", "!"]) * r.randrange(100, 5000) for _ in range(50)]


if len(sys.argv) > 1:
    for name in MODELS:
        learn(name, 32000).save(os.path.join(sys.argv[1], name + ".json"))
    sys.exit(0)

count = 20000
path = os.path.join(tempfile.mkdtemp(), "tokenizer.json")
for seed, name in enumerate(MODELS):
    t = learn(name, 3000)
    t.save(path)
    texts = strings(count, seed)
    ids = our_ids(path, texts)
    assert len(ids) == len(texts), name
    for i in range(0, count, 1000):
        for text, a, b in zip(texts[i:], ids[i:], t.encode_batch(texts[i:i + 1000], add_special_tokens=False)):
            assert a == b.ids, f"{name}: {text!r}: {a[:40]} here, {b.ids[:40]} there"
print(f"patterns: {len(MODELS)} of {count} strings each")
