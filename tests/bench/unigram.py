"""unigram.py TEXT TOKENIZER.JSON THEIRS.MODEL: measures how well two Unigram vocabularies fit a text. Prints tokens per
byte and nats per byte: the negated sum of the token scores of the text's best division, per byte. Hugging Face's
tokenizers reads ours, SentencePiece reads theirs. An unknown token counts as 10 below the smallest score, as in both
programs."""
import json
import sys
from collections import Counter

import sentencepiece
import tokenizers

text, ours, theirs = sys.argv[1:]
lines = open(text, encoding="utf-8").read().split("\n")
size = sum(len(line.encode()) for line in lines)
batches = [lines[i:i + 10000] for i in range(0, len(lines), 10000)]


def show(name, counts, scores):
    scores[0] = min(scores) - 10
    nats = -sum(count * scores[i] for i, count in counts.items())
    print(f"{name}: tokens={sum(counts.values()) / size:.5f} nats={nats / size:.5f}")


model = sentencepiece.SentencePieceProcessor(model_file=theirs)
show("theirs", Counter(i for batch in batches for ids in model.encode(batch) for i in ids),
     [model.get_score(i) for i in range(model.vocab_size())])
model = tokenizers.Tokenizer.from_file(ours)
show("ours", Counter(i for batch in batches for e in model.encode_batch(batch) for i in e.ids),
     [score for _, score in json.load(open(ours))["model"]["vocab"]])
