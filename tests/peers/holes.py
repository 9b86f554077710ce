"""Vocabularies whose ids have gaps, beside Hugging Face's tokenizers: ids, text, and saving and loading by both."""
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
except ImportError:
    sys.exit(77)

WORDS = "the moon and a sun of stars over land sea sky thé Ünïcode 東京 ##s 's".split()


def learned(kind, texts):
    if kind == "wordpiece":
        t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        t.pre_tokenizer, t.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=150, special_tokens=["[UNK]"])
    elif kind == "wordlevel":
        t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
        t.pre_tokenizer, trainer = pre_tokenizers.Whitespace(), trainers.WordLevelTrainer(vocab_size=12, special_tokens=["[UNK]"])
    elif kind == "characters":
        t = Tokenizer(models.BPE(unk_token="[UNK]", fuse_unk=True))
        t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        trainer = trainers.BpeTrainer(vocab_size=120, special_tokens=["[UNK]"])
    else:
        t = Tokenizer(models.BPE())
        t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=[])
    t.train_from_iterator(texts, trainer)
    return t


def spread(tokenizer, rng):
    """Returns the same tokens with other ids, some of them unused. The last ids are those of added tokens."""
    root = json.loads(tokenizer.to_str())
    vocab, added = root["model"]["vocab"], root["added_tokens"]
    ids = sorted(rng.sample(range(2 * len(vocab)), len(vocab)))
    root["model"]["vocab"] = {token: ids[k] for k, (token, _) in enumerate(sorted(vocab.items(), key=lambda x: x[1]))}
    for a in added:
        a["id"] = root["model"]["vocab"][a["content"]]
    return Tokenizer.from_str(json.dumps(root))


def run(*command, text=""):
    return subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")


def compare(theirs, path, texts, rng):
    lines = "".join(json.dumps({"text": t}) + "\n" for t in texts)
    ours = [[int(i) for i in line.split()] for line in run("tokenize", "-q", "--vocab", path, "--ids", "--special", "--format", "jsonl", text=lines).split("\n")[:-1]]
    want = [e.ids for e in theirs.encode_batch(texts, add_special_tokens=False)]
    assert ours == want, (path, [x for x in zip(texts, ours, want) if x[1] != x[2]][0])
    most = max(theirs.get_vocab().values())
    rows = want + [[rng.randint(0, most) for _ in range(rng.randint(0, 12))] for _ in range(200)]
    decoded = run("tokenize", "decode", "-q", "--ids", "--vocab", path, text="".join(" ".join(map(str, r)) + "\n" for r in rows))
    want = "".join(theirs.decode(r, skip_special_tokens=False) + "\n" for r in rows)
    assert decoded == want, path


def main():
    rng = random.Random(5)
    texts = [" ".join(rng.choices(WORDS + ["<pad>", "x<s>y", "zz9"], k=rng.randint(0, 12))) for _ in range(300)]
    checked = more = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in "bytes", "characters", "wordlevel", "wordpiece":
            for case in range(5):
                theirs = spread(learned(kind, texts), rng)
                size, ids = theirs.get_vocab_size(), set(theirs.get_vocab().values())
                if size not in ids and size + 1 not in ids:  # else an added token would get the id of another
                    theirs.add_special_tokens(["<pad>"])
                    theirs.add_tokens([AddedToken("<s>", normalized=False)])
                    more += 1
                path = f"{folder}/{kind}{case}"
                os.mkdir(path)
                theirs.save(path + "/tokenizer.json")
                compare(theirs, path, texts, rng)
                # what our tools keep of it, loaded by both
                stream = subprocess.run(["tokenize", "-q", "--vocab", path, "--format", "lines"], input="the moon\nthe sun\n".encode() * 40,
                                        stdout=subprocess.PIPE, check=True).stdout
                subprocess.run(["tfwrite", "-q", "--layout", "megatron", "--no-append-eod", "-o", path + "/pair"], input=stream, check=True)
                again = Tokenizer.from_file(path + "/pair.tokenizer.json")
                assert again.get_vocab() == theirs.get_vocab(), (kind, case)
                compare(again, path + "/pair.tokenizer.json", texts, rng)
                checked += 1
    assert 0 < more < checked
    print(f"holes: {checked} vocabularies, {more} of them with added tokens; {len(texts)} texts")


sys.exit(main())
