"""--offsets with --special beside Hugging Face's tokenizers: ids and ranges of texts that spell special tokens, which take the
white space beside them or not, and are searched for before or after normalization."""
import json
import os
import sys
import tempfile

try:
    import tokenizers
except ImportError:
    sys.exit(77)

from lib.texts import DATA, json_lines, random_texts, tokenize

seen = 0
for file, names in (("gpt2-tokenizer.json", ["<|endoftext|>"]), ("bert-base-uncased-tokenizer.json", ["[CLS]", "[MASK]", "[SEP]"])):
    for field, value in (("lstrip", False), ("lstrip", True), ("rstrip", True), ("normalized", True)):
        with open(os.path.join(DATA, "tokenizers", file), encoding="utf-8") as f:
            described = json.load(f)
        for token in described["added_tokens"]:
            token[field] = value
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(described, f)
            f.flush()
            theirs = tokenizers.Tokenizer.from_file(f.name)
            texts = random_texts(2000, 4, [*names, " ", "  ", "the", "Moon", "é", "\n", "don't"], 0.9, 14)
            lines = tokenize("--vocab", f.name, "--ids", "--special", "--offsets", "chars", "--format", "jsonl", data=json_lines(texts))
        for text, line in zip(texts, lines.decode().split("\n")):
            ours, want = json.loads(line), theirs.encode(text, add_special_tokens=False)
            assert ours["ids"] == want.ids and list(map(tuple, ours["offsets"])) == want.offsets, (file, field, text)
            seen += 1
print(f"offsets_special: {seen} texts equal")
