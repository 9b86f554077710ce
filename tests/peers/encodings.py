"""--pattern: text is cut as tiktoken cuts it with the published pattern of each model: 20,000 strings for each, from all planes,
with a small vocabulary that was learned from real text."""
import base64
import os
import sys
import tempfile
import unicodedata

try:
    import tiktoken
    import tiktoken_ext.openai_public as public
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
except ImportError:
    sys.exit(77)

from lib.texts import our_ids, random_texts, read_lines

public.load_tiktoken_bpe = lambda *a, **k: {}  # the patterns alone, without the vocabularies
ENGLISH = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = ENGLISH + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = public.o200k_base()["pat_str"]
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
FRONT = r"[^\r\n\p{L}\p{N}]?"
PATTERNS = {
    "gpt2": public.r50k_base()["pat_str"],
    "cl100k": public.cl100k_base()["pat_str"],
    "o200k": O200K,
    "llama3": LLAMA3,
    "llama4": O200K,
    "glm": LLAMA3,
    "qwen": LLAMA3.replace("{1,3}", ""),
    "qwen35": LLAMA3.replace("{1,3}", "").replace(r"\p{L}+", r"[\p{L}\p{M}]+").replace(r"[^\s\p{L}", r"[^\s\p{L}\p{M}"),
    "tekken": O200K.replace(ENGLISH + "?", "").replace("{1,3}", ""),
    "kimi": "|".join([r"[\p{Han}]+", f"{FRONT}{UPPER}*{LOWER}+{ENGLISH}?", f"{FRONT}{UPPER}+{LOWER}*{ENGLISH}?", r"\p{N}{1,3}",
                      r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"]),
}
PARTS = [" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "'s", "'LL", "'\u017f", "the", "The", "iPhone", "McDonald", "1", "234", "…", "。",
         "//", "...", "!?", "é", "e\u0301", "\u0301", "日本", "漢", "\u3005", "\u3007", "\u30fb", "\u30fc", "\u302a", "각", "🙂", "ǅ", "²", "Ⅷ", "½"]

lines = read_lines("text/multilingual.txt") + read_lines("text/alice.txt")
learned = Tokenizer(models.BPE())
learned.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
learned.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=3000, show_progress=False,
                                                       initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
# GPT-2's letters for bytes: the printable ones stand for themselves, the others follow from 256 on
printable = [b for b in range(256) if 33 <= b < 127 or 161 <= b < 173 or 174 <= b]
others = [b for b in range(256) if b not in printable]
letters = {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}
by_id = sorted(learned.get_vocab().items(), key=lambda item: item[1])
ranks = {bytes(letters[letter] for letter in token): i for i, (token, _) in enumerate(by_id)}
path = os.path.join(tempfile.mkdtemp(), "small.tiktoken")
with open(path, "wb") as f:
    f.writelines(base64.b64encode(token) + b" %d\n" % i for token, i in ranks.items())

for seed, (name, pattern) in enumerate(PATTERNS.items()):
    texts = random_texts(18000, seed, PARTS, 0.6, 25) + lines[:2000]
    if name.startswith("qwen"):  # its tokenizer puts text into NFC first
        texts = [text for text in texts if unicodedata.is_normalized("NFC", text)]
    theirs = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    ids = our_ids(path, texts, "--pattern", name)
    for text, a, b in zip(texts, ids, theirs.encode_ordinary_batch(texts), strict=True):
        assert a == b, f"{name}: {text!r}: {a[:40]} here, {b[:40]} there"
print(f"encodings: {len(PATTERNS)} patterns, equal")
