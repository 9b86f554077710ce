"""tokenize --offsets beside Hugging Face's tokenizers for every kind of vocabulary and every step: normalizers,
pre-tokenizers, unknown and byte tokens, added tokens. Real and random texts, and a sweep over code points for each
normalizer."""
import io
import json
import random
import sys
import tempfile

try:
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    from tokenizers import AddedToken, Regex, Tokenizer, models, processors, trainers
    from tokenizers import normalizers as N
    from tokenizers import pre_tokenizers as P
except ImportError:
    sys.exit(77)

from lib.texts import json_lines, random_texts, read_lines, tokenize

PARTS = [" ", "  ", "\n", "\t", "\u00a0", "\u3000", "▁", "'s", "don't", "the", "The", "1", "4567", "!", ", ", "é", "e\u0301",
         "\u0323\u0301", "\u0301\u0323", "ﬁ", "Å", "Ⅷ", "²", "½", "日本", "한국", "각", "\u1100\u1161\u11a8", "🙂", "İ", "ß", "Σ", "\x00",
         "\x07", "\ufeff", "\u200b", "<mask>", "<s>", "abc", "``", "''"]
REAL = read_lines("text/multilingual.txt")[:1500:3] + read_lines("text/alice.txt")[:300]
LEARNED_FROM = random.Random(3).sample(REAL, 400) + random_texts(200, 5, PARTS, 0.7, 25)
TEXTS = REAL + random_texts(1500, 7, PARTS, 0.7, 25)


def code_points():
    """Yields texts of forty code points: all below U+3400, and some of the others."""
    rest = [c for c in range(0x3400, 0x110000) if not 0xD800 <= c < 0xE000]
    chosen = [chr(c) for c in [*range(0x3400), *sorted(random.Random(2).sample(rest, 8000))]]
    return [" ".join(f"a{c}b {c}{c} A{c}" for c in chosen[i:i + 40]) for i in range(0, len(chosen), 40)]


def learned(model, trainer, normalizer, pre):
    t = Tokenizer(model)
    t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.train_from_iterator(LEARNED_FROM, trainer)
    return t


def bpe(normalizer=None, pre=P.Metaspace(), suffix=None, **options):
    ending = {"end_of_word_suffix": suffix} if suffix else {}
    trainer = trainers.BpeTrainer(vocab_size=800, show_progress=False, special_tokens=["<unk>", "<s>"], limit_alphabet=200, **ending)
    return learned(models.BPE(unk_token="<unk>", **ending, **options), trainer, normalizer, pre)


def byte_level(normalizer=None, **options):
    trainer = trainers.BpeTrainer(vocab_size=900, show_progress=False, initial_alphabet=P.ByteLevel.alphabet(), special_tokens=["<s>"])
    t = learned(models.BPE(), trainer, normalizer, P.ByteLevel(**options))
    t.post_processor = processors.ByteLevel(trim_offsets=options.get("trim_offsets", True))
    return t


def unigram(normalizer, pre):
    trainer = trainers.UnigramTrainer(vocab_size=1500, show_progress=False, unk_token="<unk>", special_tokens=["<unk>", "<s>"])
    t = Tokenizer(models.Unigram())
    t.normalizer, t.pre_tokenizer = normalizer, pre
    t.train_from_iterator([x for x in REAL if x.isascii()], trainer)
    return t


def wordpiece(normalizer, pre):
    return learned(models.WordPiece(unk_token="[UNK]"),
                   trainers.WordPieceTrainer(vocab_size=600, show_progress=False, special_tokens=["[UNK]", "[CLS]"]), normalizer, pre)


def wordlevel(normalizer, pre):
    return learned(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(vocab_size=300, special_tokens=["<unk>"]), normalizer, pre)


def with_bytes(t):
    """Returns the same vocabulary with byte tokens instead of the unknown token."""
    root = json.loads(t.to_str())
    vocab = root["model"]["vocab"]
    for b in range(256):
        name = f"<0x{b:02X}>"
        vocab.append([name, -30.0]) if isinstance(vocab, list) else vocab.update({name: len(vocab)})
    root["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(root))


def with_added(t):
    t.add_tokens([AddedToken("abc", lstrip=True, rstrip=True), AddedToken("The", normalized=True), AddedToken("日本", normalized=False),
                  AddedToken("don", single_word=True)])
    return t


def with_bert(*added):
    t = wordpiece(N.BertNormalizer(), P.BertPreTokenizer())
    t.add_tokens(list(added))
    return t


def precompiled():
    """Returns the map of characters that SentencePiece makes for its default rule."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([x for x in REAL if x.isascii()]), model_writer=model, vocab_size=300,
                                             minloglevel=2)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return N.Precompiled(proto.normalizer_spec.precompiled_charsmap)


def cases():
    t5 = N.Sequence([precompiled(), N.Replace(Regex(" {2,}"), " ")])
    roberta = byte_level(None, add_prefix_space=True)
    yield "metaspace", bpe()
    yield "metaspace, fused unknown", bpe(fuse_unk=True)
    yield "Llama 2", with_bytes(bpe(N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), None, fuse_unk=True))
    yield "Llama, first", with_bytes(bpe(None, P.Metaspace(prepend_scheme="first"), fuse_unk=True))
    yield "bytes, NFC", byte_level(N.NFC())
    yield "bytes, NFKC, prefix", byte_level(N.NFKC(), add_prefix_space=True)
    yield "bytes, lower", byte_level(N.Sequence([N.NFD(), N.StripAccents(), N.Lowercase()]), add_prefix_space=False, trim_offsets=False)
    yield "bytes, prepended and deleted", byte_level(N.Sequence([N.Prepend("x "), N.Replace(Regex("[0-9]"), ""), N.NFC()]), add_prefix_space=True)
    yield "suffix", bpe(N.BertNormalizer(), P.BertPreTokenizer(), suffix="</w>")
    yield "strip", bpe(N.Sequence([N.Strip(), N.Replace("``", '"'), N.Replace(Regex(r"\s+"), " ")]), P.WhitespaceSplit())
    yield "replace", bpe(N.Sequence([N.Replace("e", "xyz"), N.Replace("日本", "J")]))
    yield "Nmt", bpe(N.Sequence([N.Nmt(), N.NFKC(), N.Replace(Regex(" {2,}"), " ")]))
    yield "NFKD", bpe(N.NFKD())
    yield "NFC", bpe(N.NFC(), P.Whitespace())
    yield "Unigram", unigram(N.NFKC(), P.Metaspace())
    yield "Unigram, bytes", with_bytes(unigram(N.NFKC(), P.Metaspace()))
    yield "T5", unigram(t5, P.Metaspace())
    yield "ALBERT", unigram(N.Sequence([N.Replace("``", '"'), N.Replace("''", '"'), N.NFKD(), N.StripAccents(), N.Lowercase(), precompiled()]),
                            P.Sequence([P.WhitespaceSplit(), P.Metaspace()]))
    yield "WordPiece, NFC", wordpiece(N.Sequence([N.NFC(), N.BertNormalizer()]), P.BertPreTokenizer())
    yield "WordPiece, digits", wordpiece(N.BertNormalizer(strip_accents=True, lowercase=False),
                                         P.Sequence([P.Punctuation(), P.WhitespaceSplit(), P.Digits(True)]))
    yield "WordPiece, plain", wordpiece(None, P.Whitespace())
    yield "WordLevel", wordlevel(N.Sequence([N.NFKD(), N.Lowercase()]), P.Whitespace())
    yield "added", with_added(bpe())
    yield "added, lower bytes", with_added(byte_level(N.Lowercase()))
    yield "added, bytes", with_added(byte_level(None, add_prefix_space=False))
    yield "added, BERT's words", with_bert(AddedToken("abc", lstrip=True, normalized=False), AddedToken("日本", rstrip=True, normalized=False))
    yield "added, prefix", with_added(roberta)


def in_bytes(text, offsets):
    ends = [0]
    for c in text:
        ends.append(ends[-1] + len(c.encode()))
    return [[ends[a], ends[b]] for a, b in offsets]


def compare(name, path, theirs, texts, unit):
    out = tokenize("--vocab", path, "--ids", "--offsets", unit, "--format", "jsonl", data=json_lines(texts))
    ours = [json.loads(line) for line in out.decode().split("\n")[:-1]]
    assert len(ours) == len(texts)
    for i in range(0, len(texts), 500):
        for text, a, b in zip(texts[i:], ours[i:], theirs.encode_batch(texts[i:i + 500], add_special_tokens=False)):
            want = [list(o) for o in b.offsets] if unit == "chars" else in_bytes(text, b.offsets)
            assert a["ids"] == b.ids and a["offsets"] == want, (name, unit, text, a, b.tokens, want)


def main():
    count = 0
    sweep = code_points()
    with tempfile.TemporaryDirectory() as folder:
        for name, theirs in cases():
            path = folder + "/tokenizer.json"
            theirs.save(path)
            theirs.encode_special_tokens = True
            compare(name, path, theirs, TEXTS, "chars")
            compare(name, path, theirs, TEXTS[-600:], "bytes")
            compare(name, path, theirs, sweep, "chars")
            count += 1
    print(f"offsets after steps: {count} vocabularies, {len(TEXTS)} texts and {len(sweep)} of code points")


sys.exit(main())
