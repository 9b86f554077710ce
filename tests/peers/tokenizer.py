"""tokenizer/ beside tokenizers, transformers and tiktoken: ids of GPT-2's vocabulary on real and on random text;
vocabularies learned here and there, merge by merge; what we write loads there with the same ids; what they write
loads here, with other patterns, added tokens and prefix spaces."""
import json
import os
import sys
import tempfile

try:
    import tiktoken
    import tiktoken.load
    import tokenizers
    import transformers
except ImportError:
    sys.exit(77)

from lib.texts import DATA, our_ids, random_texts, read, tokenize

transformers.utils.logging.set_verbosity_error()

GPT2 = os.path.join(DATA, "tokenizers/gpt2-tokenizer.json")
TIKTOKEN_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
LLAMA3_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                  r"|\s*[\r\n]+|\s+(?!\S)|\s+")
checks = 0


def same(what, texts, ours, theirs):
    global checks
    assert len(ours) == len(texts) == len(theirs), f"{what}: {len(ours)} of {len(texts)} documents"
    for text, a, b in zip(texts, ours, theirs):
        assert a == b, f"{what}: {text[:200]!r}: {a[:40]} here, {b[:40]} there"
    checks += 1


def hugging_face(tokenizer, texts, special=False):
    tokenizer.encode_special_tokens = not special
    return [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]


# Characters of all planes, white space, digits and contractions, close together.
PARTS = [" ", "  ", "\n", "\t", "\u00a0", "\u3000", "\u180e", "'s", "'ll", "'S", "’s", "don't", "the", "The", "1", "23",
         "!", "...", "<|endoftext|>", "<|endof", "ß", "é", "e\u0301", "日本", "한국", "🙂", "👩‍👩‍👧", "ⅷ", "²", "\r\n"]


def texts_of(name, count):
    lines = read(name).split("\n")
    return ["\n".join(lines[i:i + 7]) + "\n" for i in range(0, min(len(lines), 7 * count), 7)]


def every_code_point():
    return [f"a{chr(c)}b {chr(c)} {chr(c)}1" for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def check_gpt2(texts, folder):
    theirs = tokenizers.Tokenizer.from_file(GPT2)
    ranks = tiktoken.load.load_tiktoken_bpe(os.path.join(DATA, "tokenizers/gpt2.tiktoken"))
    tik = tiktoken.Encoding("gpt2", pat_str=TIKTOKEN_PATTERN, mergeable_ranks=ranks,
                            special_tokens={"<|endoftext|>": 50256})
    expected = hugging_face(theirs, texts)
    same("tokenizers", texts, our_ids(GPT2, texts), expected)
    same("tiktoken", texts, our_ids(GPT2, texts, "-t", "1"), [tik.encode_ordinary(t) for t in texts])
    same("special tokens", texts, our_ids(GPT2, texts, "--special"), hugging_face(theirs, texts, True))
    points = every_code_point()
    same("every code point", points, our_ids(GPT2, points), hugging_face(theirs, points))
    long = ["a" * 1000000, " " * 1000000, "^" * 300000, "ab" * 200000, "\n" * 100000 + "x"]
    same("long pieces", long, our_ids(GPT2, long), [tik.encode_ordinary(t) for t in long])


def train_there(file, size, least, alphabet, pattern):
    t = tokenizers.Tokenizer(tokenizers.models.BPE())
    t.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pattern == "llama3":
        t.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
            [tokenizers.pre_tokenizers.Split(tokenizers.Regex(LLAMA3_PATTERN), "isolated"),
             tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    initial = tokenizers.pre_tokenizers.ByteLevel.alphabet() if alphabet == "bytes" else []
    t.train([file], tokenizers.trainers.BpeTrainer(vocab_size=size, min_frequency=least, initial_alphabet=initial,
                                                   special_tokens=["<|endoftext|>"], show_progress=False))
    return json.loads(t.to_str())["model"]


def check_training(texts, folder):
    global checks
    cases = [("text/tinyshakespeare.txt", 2000, 2, "bytes", "auto"), ("text/tinyshakespeare.txt", 66, 0, "seen", "auto"),
             ("text/multilingual.txt", 6000, 5, "bytes", "gpt2"), ("text/war_and_peace.txt", 30000, 1, "seen", "auto"),
             ("text/multilingual.txt", 6000, 2, "bytes", "llama3")]
    for name, size, least, alphabet, pattern in cases:
        file = os.path.join(DATA, name)
        tokenize("train", "--force", "-o", folder, "--vocab-size", str(size), "--min-frequency", str(least), "--alphabet", alphabet, "--pattern", pattern,
                 file)
        with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as f:
            ours = json.load(f)["model"]
        theirs = train_there(file, size, least, alphabet, pattern)
        assert ours["merges"] == theirs["merges"], f"{name}: merges differ"
        assert ours["vocab"] == theirs["vocab"], f"{name}: ids differ"
        checks += 1


def check_written(texts, folder):
    """A vocabulary made by `tokenize train`, in each form that it writes."""
    tokenize("train", "--force", "-o", folder, "--vocab-size", "3000", os.path.join(DATA, "text/alice.txt"))
    ours = our_ids(folder, texts)
    auto = transformers.AutoTokenizer.from_pretrained(folder)
    assert auto.eos_token == "<|endoftext|>" and len(auto) == 3000, (auto.eos_token, len(auto))
    plain = [t for t in texts if "<|" not in t]
    same("AutoTokenizer", plain, [o for o, t in zip(ours, texts) if "<|" not in t], [auto(t)["input_ids"] for t in plain])
    file = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    same("Tokenizer.from_file", texts, ours, hugging_face(file, texts))
    special = our_ids(folder, texts, "--special")
    same("AutoTokenizer, special", texts, special, [auto(t)["input_ids"] for t in texts])
    ranks = tiktoken.load.load_tiktoken_bpe(os.path.join(folder, "vocab.tiktoken"))
    tik = tiktoken.Encoding("learned", pat_str=TIKTOKEN_PATTERN, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 0})
    same("vocab.tiktoken", texts, ours, [tik.encode_ordinary(t) for t in texts])
    for form in ["vocab.json", "vocab.tiktoken", "tokenizer.json"]:
        same(form, texts, our_ids(os.path.join(folder, form), texts), ours)


def check_variants(texts, folder):
    """tokenizer.json files that tokenizers writes, with features that GPT-2's file does not use."""
    pre = tokenizers.pre_tokenizers
    split = lambda pattern: pre.Split(tokenizers.Regex(pattern), "isolated")
    level = pre.ByteLevel(add_prefix_space=False, use_regex=False)
    old = lambda text: "".join(c for c in text if c != "\u180e" and ord(c) < 0x3000)  # as old as PCRE2's tables
    variants = {
        "prefix space": (pre.ByteLevel(add_prefix_space=True), texts),
        "Split of GPT-2's pattern": (pre.Sequence([split(TIKTOKEN_PATTERN.replace("++$", "+$").replace("++", "+")), level]), [old(t) for t in texts]),
        "Llama 3's pattern": (pre.Sequence([split(LLAMA3_PATTERN), level]), [old(t) for t in texts]),
        "two rules": (pre.Sequence([split(r"\p{N}"), pre.ByteLevel(add_prefix_space=False)]), [old(t) for t in texts]),
        "a string": (pre.Sequence([pre.Split("th", "isolated"), level]), texts),
        "no pattern": (level, texts),
    }
    for name, (pre_tokenizer, some) in variants.items():
        t = tokenizers.Tokenizer.from_file(GPT2)
        t.pre_tokenizer = pre_tokenizer
        path = os.path.join(folder, "variant.json")
        t.save(path)
        same(name, some, our_ids(path, some), hugging_face(t, some))
    t = tokenizers.Tokenizer.from_file(GPT2)
    t.add_special_tokens([tokenizers.AddedToken("<mask>", lstrip=True), tokenizers.AddedToken("<|end", rstrip=True)])
    t.add_tokens(["don't", tokenizers.AddedToken("ten", normalized=False), tokenizers.AddedToken("!\u00e9", lstrip=True)])
    path = os.path.join(folder, "added.json")
    t.save(path)
    some = [x.replace("日本", "  <mask> \u00a0").replace("23", "often !\u00e9").replace("1", "<|end \n") for x in texts]
    same("added tokens", some, our_ids(path, some), hugging_face(t, some))
    same("added special tokens", some, our_ids(path, some, "--special"), hugging_face(t, some, True))


def main():
    texts = random_texts(4000, 11, PARTS, 0.6, 40)
    for name in os.listdir(os.path.join(DATA, "text")):
        texts += texts_of("text/" + name, 500)
    with tempfile.TemporaryDirectory() as folder:
        for check in [check_gpt2, check_training, check_written, check_variants]:
            check(texts, folder)
    print(f"tokenizer: {checks} comparisons over {len(texts)} texts")


main()
