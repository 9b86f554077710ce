"""SentencePiece's .model files beside SentencePiece: ids and text of BPE and Unigram models with its options, on real
and random text that also contains the text of special tokens; and the tokenizer.json that we write for them."""
import random
import subprocess
import sys
import tempfile

try:
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
except ImportError:
    sys.exit(77)

from lib.texts import our_ids, random_texts, read_lines, tokenize

PARTS = [" ", "  ", "\n", "\t", "\u00a0", "\u3000", "▁", "the", "The", "1", "4567", "!", "é", "e\u0301", "ﬁ", "½", "日本", "🙂", "İ",
         "\x07", "\ufeff", "\u200b", "<s>", "</s>", "<unk>", "<pad>", "[X]", "s>", "<0x41>", "abc"]
REAL = read_lines("text/multilingual.txt")[:1500:3] + read_lines("text/alice.txt")[:300]
TEXTS = [t for t in REAL + random_texts(2500, 7, PARTS, 0.8, 25) if "\0" not in t]
OPTIONS = [dict(), dict(byte_fallback=True, vocab_size=800), dict(normalization_rule_name="identity", remove_extra_whitespaces=False),
           dict(user_defined_symbols=["[X]", "abc"], control_symbols=["<pad>"]),
           dict(user_defined_symbols=["e", "the", "½", "ﬁ", "İ", "4", "\u0301!"], normalization_rule_name="nmt_nfkc_cf", vocab_size=360),
           dict(add_dummy_prefix=False, split_digits=True),
           dict(treat_whitespace_as_suffix=True), dict(treat_whitespace_as_suffix=True, remove_extra_whitespaces=False)]


def with_scores(path, out, score, users=0):
    """Writes the model with the scores score(old) for its normal pieces, and makes `users` of them pieces that the user defines."""
    m = sentencepiece_model_pb2.ModelProto()
    with open(path, "rb") as f:
        m.ParseFromString(f.read())
    normal = [piece for piece in m.pieces if piece.type == 1]
    for piece in normal:
        piece.score = score(piece.score)
    for piece in [p for p in normal if len(p.piece) > 1 and "▁" not in p.piece][:users]:
        piece.type = 4
    with open(out, "wb") as f:
        f.write(m.SerializeToString())


def compare(what, path, theirs, texts):
    ours = our_ids(path, texts)
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
                texts = [t for t in TEXTS if "\x07" not in t] if "treat_whitespace_as_suffix" in options else TEXTS  # see tokenize(1)
                compare(f"{kind} {options}", path + ".model", theirs, texts)
                stream = tokenize("--vocab", path + ".model", "--format", "lines", data=b"The moon\n" * 30)
                subprocess.run(["tfwrite", "-q", "--layout", "megatron", "--no-append-eod", "-o", path], input=stream, check=True)
                compare(f"{kind} {options}, kept", path + ".tokenizer.json", theirs, texts)
                count += 1
            for step in [1, 50, 1000]:
                with_scores(f"{folder}/{kind}0.model", f"{folder}/ties.model", lambda s: -float(int(-s) // step))
                compare(f"{kind}, ties of {step}", f"{folder}/ties.model",
                        sentencepiece.SentencePieceProcessor(model_file=f"{folder}/ties.model"), TEXTS)
                count += 1
        rng = random.Random(9)
        for users in 0, 5:  # sums that are equal but for rounding, in texts with sums beyond -100,000, too
            for name, score in ("scores of the file", lambda s: s), ("few scores", lambda s: -rng.choice([1.1, 2.3, 3.7, 5.9, 0.3])):
                with_scores(f"{folder}/unigram0.model", f"{folder}/ties.model", score, users)
                compare(f"unigram, {name}, {users} user-defined", f"{folder}/ties.model",
                        sentencepiece.SentencePieceProcessor(model_file=f"{folder}/ties.model"),
                        TEXTS + [" ".join(rng.choices(REAL, k=n)) for n in (10, 100, 300, 1000)])
                count += 1
    print(f"SentencePiece: {count} models, {len(TEXTS)} texts")


sys.exit(main())
