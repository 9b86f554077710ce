"""tokenizer.json beside tokenizers: each normalizer, pre-tokenizer, post-processor, decoder, option of BPE and kind of
added token, as the package writes it, on real and on random text; and the files that we write from it."""
import collections
import json
import os
import random
import sys
import tempfile

try:
    import tokenizers
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
except ImportError:
    sys.exit(77)

from lib.texts import DATA, our_ids, random_texts, read, tokenize

checks = 0

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
DEEPSEEK = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+" \
           "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"


def our_texts(path, ids, *options):
    """Encodes texts one after another; texts may contain line ends."""
    return tokenize("decode", *options, "--vocab", path, "--ids",
                    data="".join(" ".join(map(str, i)) + "\n" for i in ids).encode())


def same(what, texts, ours, theirs):
    global checks
    assert len(ours) == len(texts) == len(theirs), f"{what}: {len(ours)} of {len(texts)} documents"
    for text, a, b in zip(texts, ours, theirs):
        assert a == b, f"{what}: {text[:200]!r}: {a[:60]} here, {b[:60]} there"
    checks += 1


def their_ids(t, texts, **options):
    """Encodes some texts at a time, because an encoding takes a hundred times the memory of its text."""
    return [e.ids for i in range(0, len(texts), 500) for e in t.encode_batch(texts[i:i + 500], **options)]


def compare_ids(what, t, texts, folder, special=False, wrap=False):
    path = os.path.join(folder, "tokenizer.json")
    t.save(path)
    t.encode_special_tokens = not special
    theirs = their_ids(t, texts, add_special_tokens=wrap)
    same(f"{what}, special {special}, wrapped {wrap}", texts,
         our_ids(path, texts, *["--special"] * special, *["--wrap"] * wrap), theirs)
    return theirs


def compare_texts(what, t, ids, folder):
    path = os.path.join(folder, "tokenizer.json")
    for skip in [False, True]:
        theirs = "".join(text + "\n" for text in t.decode_batch(ids, skip_special_tokens=skip))
        ours = our_texts(path, ids, *["--skip-special"] * skip).decode(errors="replace")
        assert ours == theirs, f"{what}, decoded: " + repr(next(
            (ids[i], a, b) for i, (a, b) in enumerate(zip(ours.split("\n"), theirs.split("\n"))) if a != b))[:800]
    globals()["checks"] += 1


def compare(what, t, folder, change=lambda text: text):
    """Compares encoding and decoding over texts for this configuration."""
    texts = [change(x) for x in some_texts(what)]
    ids = compare_ids(what, t, texts, folder)
    compare_ids(what, t, texts, folder, special=True)
    if t.post_processor:
        ids = compare_ids(what, t, texts, folder, wrap=True)
    compare_texts(what, t, ids, folder)


# Characters of all planes, white space, marks in any order, and what added tokens are made of.
PARTS = [" ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\u180e", "\u2028", "▁", "'s", "'S", "don't", "the", "The",
         "THE", "1", "23", "4567", "!", "...", ", ", "_", "-", "é", "e\u0301", "\u0323\u0301", "\u0301\u0323", "ﬁ", "Å",
         "Ⅷ", "²", "½", "日本", "한국", "각", "각", "🙂", "İ", "ǅ", "ß", "Σ", "ς", "\x00", "\x07", "\ufeff",
         "\u200b", "\u0378", "\ufffd", "<mask>", "<s>", "</s>", "ten", "often", "abc", "[X]", "<unk>", "ſ", "K", "</w>"]


def real_texts(count):
    texts = []
    for name in ["alice.txt", "multilingual.txt"]:
        lines = read("text/" + name).split("\n")
        texts += ["\n".join(lines[i:i + 3]) for i in range(0, len(lines), max(3, len(lines) // count))]
    return texts


REAL = real_texts(60)
LEARNED_FROM = random.Random(3).sample(REAL + random_texts(400, 5, PARTS, 0.7, 30), 300)


def some_texts(what, count=120):
    r = random.Random(what)
    return r.sample(REAL, count // 4) + random_texts(count - count // 4, what, PARTS, 0.7, 30)


def code_points(what, around=lambda c: f"a{c}b {c}{c} {c}1 A{c}"):
    """Yields texts of forty code points, because a call costs more than its text: all code points below U+3000, and some
    of the others. Each configuration gets other ones; with all of them the test would take an hour."""
    r = random.Random(what)
    rest = [c for c in range(0x3000, 0x110000) if not 0xD800 <= c < 0xE000]
    chosen = [*range(0x3000), *sorted(r.sample(rest, 8000))]
    return [" ".join(around(chr(c)) for c in chosen[i:i + 40]) for i in range(0, len(chosen), 40)]


def sweep(what, t, folder, special=False, **options):
    compare_ids(f"{what}, code points", t, code_points(what, **options), folder, special)


def trained(trainer, model, normalizer=None, pre_tokenizer=None):
    t = Tokenizer(model)
    t.normalizer, t.pre_tokenizer = normalizer, pre_tokenizer
    t.train_from_iterator(LEARNED_FROM, trainer)
    return t


def bytes_bpe(pre, normalizer=None):
    t = trained(tokenizers.trainers.BpeTrainer(vocab_size=1500, show_progress=False, special_tokens=["<s>", "</s>"],
                                               initial_alphabet=pre_tokenizers.ByteLevel.alphabet()),
                models.BPE(), normalizer, pre)
    t.decoder = decoders.ByteLevel()
    return t


def chars_bpe(pre, normalizer=None, **options):
    affix = {k: v for k, v in options.items() if k in ("continuing_subword_prefix", "end_of_word_suffix")}
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256) if options.get("byte_fallback")]
    t = trained(tokenizers.trainers.BpeTrainer(vocab_size=1500, limit_alphabet=200, show_progress=False,
                                               special_tokens=special, **affix),
                models.BPE(**options), normalizer, pre)
    if options.get("byte_fallback"):  # these are tokens of the model, and not special
        state = json.loads(t.to_str())
        state["added_tokens"] = [a for a in state["added_tokens"] if not a["content"].startswith("<0x")]
        t = Tokenizer.from_str(json.dumps(state))
    return t


def wordpiece(normalizer, pre):
    t = trained(tokenizers.trainers.WordPieceTrainer(vocab_size=1500, limit_alphabet=200, show_progress=False,
                                                     special_tokens=["[UNK]", "<s>", "</s>"]),
                models.WordPiece(unk_token="[UNK]"), normalizer, pre)
    t.decoder = decoders.WordPiece()
    return t


def check_normalizers(folder):
    n = normalizers
    level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    cases = [n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Lowercase(), n.StripAccents(), n.Nmt(), n.Strip(), n.Strip(True, False),
             n.Strip(False, True), n.Prepend("x"), n.Replace("the", "a"), n.Replace(Regex(r"\s+"), " "), n.Replace("e", ""),
             n.BertNormalizer(), n.BertNormalizer(strip_accents=False), n.BertNormalizer(False, False, True, False),
             n.Sequence([n.NFD(), n.StripAccents(), n.Lowercase(), n.Strip()]), n.Sequence([])]
    for case in cases:
        t = bytes_bpe(level, case)
        t.add_tokens(["the", AddedToken("TEN", normalized=True), AddedToken("日本", normalized=True)])
        compare(f"normalizer {case}", t, folder)
    plain = bytes_bpe(level)
    for case in [n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Lowercase(), n.StripAccents(), n.BertNormalizer(), n.Nmt()]:
        plain.normalizer = case
        sweep(f"normalizer {case}", plain, folder)


def check_pre_tokenizers(folder):
    p = pre_tokenizers
    level = p.ByteLevel(add_prefix_space=False, use_regex=False)
    behaviors = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
    cases = [p.Split(pattern, behavior, invert) for pattern in ["th", Regex(r"\d"), Regex(r"[aeiou]+|\s")]
             for behavior in behaviors for invert in [False, True]]
    cases += [p.Punctuation(b) for b in behaviors]
    cases += [p.Digits(True), p.Digits(False), p.Whitespace(), p.WhitespaceSplit(), p.BertPreTokenizer(),
              p.CharDelimiterSplit("e"), p.Sequence([p.Whitespace(), p.Digits(True)])]
    t, pieces = bytes_bpe(level), wordpiece(None, None)  # tokens that reach across what is cut
    for i, case in enumerate(cases):
        t.pre_tokenizer = p.Sequence([case, level])
        compare(f"pre-tokenizer {case}", t, folder)
        if i % 3 == 0:
            pieces.pre_tokenizer = case
            compare(f"WordPiece, {case}", pieces, folder)
    spaced = p.Sequence([p.Split(Regex("[0-9]{1,3}"), "isolated"), p.ByteLevel(add_prefix_space=True)])
    compare("a space in front of each piece", bytes_bpe(spaced), folder)
    for case in [p.Punctuation(), p.Digits(True), p.Whitespace(), p.BertPreTokenizer()]:
        t.pre_tokenizer = p.Sequence([case, level])
        sweep(f"{case}", t, folder)


def check_patterns(folder):
    p = pre_tokenizers
    level = p.ByteLevel(add_prefix_space=False, use_regex=False)
    patterns = [LLAMA3, QWEN2, O200K, DEEPSEEK, r"\w+|\W+", r"\d|\D+", r"\B\w|\w\b", r"\p{Lu}\p{Ll}*|\P{L}",
                r"[^\P{N}a]+", r"\h+|[\H]", r"[\S\d]+", r"[\w']+|[^\w\s]", r"[\W]+"]
    t = bytes_bpe(level)
    for pattern in patterns:
        t.pre_tokenizer = p.Sequence([p.Split(Regex(pattern), "isolated"), level])
        compare(f"pattern {pattern}", t, folder)
        sweep(f"pattern {pattern}", t, folder)


def check_metaspace(folder):
    p, n, d = pre_tokenizers, normalizers, decoders
    for scheme in ["always", "first", "never"]:
        for split in [True, False]:
            pre = p.Metaspace("▁", scheme, split)
            t = chars_bpe(pre, unk_token="<unk>")
            t.decoder = d.Metaspace("▁", scheme, split)
            t.add_special_tokens([AddedToken("<mask>", lstrip=True), "ten"])
            compare(f"{pre}", t, folder)
    pre = p.Metaspace("▁", "first")
    t = chars_bpe(pre, n.Sequence([n.Strip(), n.Replace("the", "")]), unk_token="<unk>")
    compare("Metaspace behind Strip", t, folder)


def check_characters(folder):
    p, n, d = pre_tokenizers, normalizers, decoders
    llama = n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")])
    llama_decoder = d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), d.Strip(" ", 1, 0)])
    t = chars_bpe(None, llama, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    t.decoder = llama_decoder
    compare("Llama 2", t, folder)
    t.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", t.token_to_id("<s>"))])
    compare("Llama 2, wrapped", t, folder)
    for options in [{"unk_token": "<unk>"}, {"unk_token": "<unk>", "fuse_unk": True}, {}, {"byte_fallback": True},
                    {"unk_token": "<unk>", "end_of_word_suffix": "</w>"}, {"unk_token": "<unk>", "ignore_merges": True},
                    {"unk_token": "<unk>", "continuing_subword_prefix": "##"},
                    {"unk_token": "<unk>", "continuing_subword_prefix": "@@", "end_of_word_suffix": "</w>", "fuse_unk": True}]:
        t = chars_bpe(p.Whitespace(), n.NFC(), **options)
        compare(f"BPE {options}", t, folder)
        t.decoder = d.BPEDecoder("</w>")
        compare(f"BPE {options}, BPEDecoder", t, folder)


def check_byte_affixes(folder):
    """CLIP's: a suffix on names in the byte alphabet; and other affixes."""
    p, n = pre_tokenizers, normalizers
    clip = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    for affix in [{"end_of_word_suffix": "</w>"}, {"continuing_subword_prefix": "##"}]:
        for pre in [p.Sequence([p.Split(Regex(clip), "removed", True), p.ByteLevel(add_prefix_space=False)]), p.ByteLevel()]:
            t = trained(tokenizers.trainers.BpeTrainer(vocab_size=1500, show_progress=False, special_tokens=["<s>"],
                                                       initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **affix),
                        models.BPE(unk_token="<s>", **affix), n.Sequence([n.NFC(), n.Replace(Regex(r"\s+"), " "), n.Lowercase()]), pre)
            t.decoder = decoders.ByteLevel()
            compare(f"bytes with {affix}, {pre}", t, folder)


def check_runs_of_spaces(folder):
    """ModernBERT's: runs of spaces are added tokens that the model has, too, beside the same in the byte alphabet."""
    t = bytes_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False), normalizers.NFC())
    state = json.loads(t.to_str())
    vocab = state["model"]["vocab"]
    vocab.update({" " * k: len(vocab) + 8 - k for k in range(8, 1, -1)})
    t = Tokenizer.from_str(json.dumps(state))
    t.add_tokens([AddedToken(" " * k, normalized=True) for k in range(8, 1, -1)])
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    compare("runs of spaces", t, folder, change=lambda x: x.replace("日", "   ").replace("the", "     ") + "    <mask>")


def check_added(folder):
    p, n = pre_tokenizers, normalizers
    for t in [bytes_bpe(p.ByteLevel()), wordpiece(n.BertNormalizer(), p.BertPreTokenizer()),
              bytes_bpe(p.ByteLevel(), n.Lowercase())]:
        t.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("[X]", rstrip=True, single_word=True), "often!"])
        t.add_tokens(["don't", AddedToken("ten", normalized=False, single_word=True), AddedToken("é", lstrip=True, rstrip=True),
                      AddedToken("THE", normalized=True), AddedToken("mask", single_word=True), AddedToken(" ab", rstrip=True)])
        some = lambda x: x.replace("23", "often! ten").replace("日", " <mask> [X] ten_ ").replace("½", " often! ab c")
        compare("added tokens", t, folder, change=some)
        sweep("single words", t, folder, special=True, around=lambda c: f"{c}ten ten{c} é{c}[X]")


def check_processors(folder):
    t = bytes_bpe(pre_tokenizers.ByteLevel())
    s, e = t.token_to_id("<s>"), t.token_to_id("</s>")
    level = processors.ByteLevel(trim_offsets=False)
    template = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B:1 </s>:1", [("<s>", s), ("</s>", e)])
    for case in [processors.RobertaProcessing(("</s>", e), ("<s>", s)), processors.BertProcessing(("</s>", e), ("<s>", s)),
                 level, template, processors.Sequence([level, template])]:
        t.post_processor = case
        compare(f"{case}", t, folder)


def check_written(folder):
    """The file that `tokenize train --from` writes loads there and gives the same ids."""
    t = chars_bpe(pre_tokenizers.Metaspace(), normalizers.NFKC(), unk_token="<unk>")
    t.decoder = decoders.Metaspace()
    t.add_special_tokens(["<mask>"])
    before, after = os.path.join(folder, "before.json"), os.path.join(folder, "after")
    t.save(before)
    tokenize("train", "--force", "--from", before, "-o", after, "--vocab-size", "1900", os.path.join(DATA, "text/alice.txt"))
    again = Tokenizer.from_file(os.path.join(after, "tokenizer.json"))
    assert again.get_vocab_size() == 1900, again.get_vocab_size()
    assert {k: again.get_vocab()[k] for k in t.get_vocab()} == t.get_vocab()
    compare("grown vocabulary", again, folder)


def check_wordpiece_training(folder):
    """Learns here, and there as BPE over words whose characters after the first have another form."""
    global checks
    shift, size = 0x80000, 3000
    for name, least in [("text/alice.txt", 1), ("text/multilingual.txt", 3)]:
        file, out = os.path.join(DATA, name), os.path.join(folder, "learned")
        tokenize("train", "--force", "--model", "wordpiece", "--special", "[UNK]", "-o", out, "--vocab-size", str(size), "--min-frequency",
            str(least), file)
        with open(os.path.join(out, "vocab.txt"), encoding="utf-8") as f:
            ours = f.read().split("\n")[:-1]
        normalize, cut = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        with open(file, encoding="utf-8", newline="") as f:
            words = [w for line in f.read().split("\n") for w, _ in cut.pre_tokenize_str(normalize.normalize_str(line))]
        rest = {c: chr(shift + ord(c)) for w in words for c in w}
        t = Tokenizer(models.BPE())
        t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        t.train_from_iterator([w[0] + "".join(rest[c] for c in w[1:]) for w in words],
                              tokenizers.trainers.BpeTrainer(vocab_size=size, min_frequency=least, special_tokens=["[UNK]"],
                                                             initial_alphabet=list(rest), show_progress=False))
        def spell(token):
            plain = "".join(chr(ord(c) - shift) if ord(c) >= shift else c for c in token)
            return plain if token == "[UNK]" or ord(token[0]) < shift else "##" + plain
        theirs = [spell(k) for k, _ in sorted(t.get_vocab().items(), key=lambda x: x[1])]
        assert ours == theirs, f"{name}: " + repr(next(x for x in zip(ours, theirs) if x[0] != x[1]))
        checks += 1


def check_character_training(folder):
    """Learns here and there, and compares all tokens in order, the merges, and the ids of a text. Two characters of
    which only one is in a limited alphabet must differ in frequency: at equal frequencies the order of a hash table
    decides there."""
    global checks
    for name, options in [("alice.txt", {}), ("alice.txt", {"special": ["<pad>", "[UNK]", "<s>"], "initial": "aéß日"}),
                          ("alice.txt", {"limit": 40, "initial": "é", "special": ["<unk>"], "unknown": "<unk>"}),
                          ("multilingual.txt", {"least": 7, "limit": 700}), ("multilingual.txt", {"special": []})]:
        file, out = os.path.join(DATA, "text", name), os.path.join(folder, "learned")
        special, least, unknown = options.get("special", ["[UNK]", "<|endoftext|>"]), options.get("least", 2), options.get("unknown")
        limit = options.get("limit") and whole_limit(file, options["limit"], options.get("initial", ""))
        flags = ["--initial-alphabet", options["initial"]] if "initial" in options else []
        flags += [x for name in special or [""] for x in ["--special", name]] if "special" in options else []
        flags += ["--alphabet-limit", str(limit)] if limit else []
        flags += ["--unknown", unknown] if unknown else []
        tokenize("train", "--force", "--units", "characters", "-o", out, "--vocab-size", "4000", "--min-frequency", str(least), *flags, file)
        theirs = Tokenizer(models.BPE(unk_token=unknown or ("[UNK]" if "[UNK]" in special else None)))
        theirs.pre_tokenizer = pre_tokenizers.Whitespace()
        theirs.train([file], tokenizers.trainers.BpeTrainer(
            vocab_size=4000, min_frequency=least, special_tokens=special, show_progress=False,
            initial_alphabet=list(options.get("initial", "")), **{"limit_alphabet": limit} if limit else {}))
        ours = Tokenizer.from_file(os.path.join(out, "tokenizer.json"))
        for what in ["vocab", "merges", "unk_token"]:
            a, b = (json.loads(t.to_str())["model"][what] for t in (ours, theirs))
            assert a == b, f"{name}, {options}: {what}: " + repr(next((x for x in zip(a, b) if x[0] != x[1]), (len(a), len(b))))
        compare(f"characters of {name}, {options}", theirs, folder)
        checks += 1


def whole_limit(file, limit, initial):
    """Returns the limit, or a smaller one at which the characters on both sides differ in frequency."""
    with open(file, encoding="utf-8", newline="") as f:
        found = collections.Counter(c for c in f.read() if not c.isspace())
    counts = sorted(({**found, **{c: float("inf") for c in initial}}).values(), reverse=True)
    while counts[limit - 1] == counts[limit]:
        limit -= 1
    return limit


def main():
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for check in [check_normalizers, check_pre_tokenizers, check_patterns, check_metaspace, check_characters,
                      check_byte_affixes, check_runs_of_spaces, check_added,
                      check_processors, check_written, check_wordpiece_training, check_character_training]:
            if not wanted or check.__name__[6:] in wanted:
                check(folder)
    print(f"tokenizer.json: {checks} comparisons")


main()
