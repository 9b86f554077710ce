"""Mistral's tekken.json files, as the PyPI package mistral-common has them, beside its Tekkenizer: ids and special tokens."""
import glob
import os
import sys

try:
    import mistral_common
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer
except ImportError:
    sys.exit(77)

from lib.texts import our_ids, random_texts, read, read_lines

texts = read_lines("text/multilingual.txt") + read("text/alice.txt").split("\n\n")
texts += random_texts(2000, 13, [" ", "  ", "\n", "'s", "1234", "日本語", "é", "Aa", "//", "<SPECIAL_20>", "</s>"], 0.5, 40)
files = sorted(glob.glob(os.path.join(os.path.dirname(mistral_common.__file__), "data", "tekken*.json")))
for file in files:
    theirs = Tekkenizer.from_file(file)
    want = [theirs.encode(text, False, False) for text in texts]
    assert our_ids(file, texts) == want, file
    for id in (0, 2, 9, 17, 19, 20, 999):
        name = theirs.id_to_piece(id)
        assert our_ids(file, ["a " + name + "b"], "--special")[0].count(id) == 1, (file, name)
print(f"tekken: {len(files)} files, {len(texts)} texts each: equal")
