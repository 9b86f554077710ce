"""CLIP's vocab.json and merges.txt, without a tokenizer.json, beside transformers' CLIPTokenizer: ids of real and of random texts, plain,
with special tokens in the text and around it."""
import json
import os
import sys
import tempfile

try:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import CLIPTokenizer
except ImportError:
    sys.exit(77)

from lib.texts import our_ids, random_texts, read_lines

PARTS = [" ", "  ", "a", "The", "É", "e\u0301", "日", "'s", "1", "<|endoftext|>", "<|startoftext|>", "<|ENDOFTEXT|>", "\t", "\u00a0", "!", "ß",
         "İ", "🙂"]


def write_pair(folder, lines):
    t = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    words = Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(words, "removed", True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet, end_of_word_suffix="</w>", show_progress=False))
    model = json.loads(t.to_str())["model"]
    for token in [c + "</w>" for c in sorted(alphabet)] + ["<|startoftext|>", "<|endoftext|>"]:
        model["vocab"].setdefault(token, len(model["vocab"]))
    with open(os.path.join(folder, "vocab.json"), "w") as f:
        json.dump(model["vocab"], f)
    with open(os.path.join(folder, "merges.txt"), "w") as f:
        f.write("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in model["merges"]))


def main():
    lines = read_lines("text/alice.txt")
    texts = lines[:400] + read_lines("text/multilingual.txt")[:1500:2] + random_texts(1500, 2, PARTS, 0.9, 20)
    with tempfile.TemporaryDirectory() as folder:
        write_pair(folder, lines)
        theirs = CLIPTokenizer.from_pretrained(folder)
        for options, how in [([], {"add_special_tokens": False, "split_special_tokens": True}), (["--special"], {"add_special_tokens": False}),
                             (["--special", "--wrap"], {})]:
            for text, ids in zip(texts, our_ids(folder, texts, *options), strict=True):
                assert ids == theirs(text, **how)["input_ids"], (options, text)
    print(f"CLIP: {len(texts)} texts in three ways")


main()
