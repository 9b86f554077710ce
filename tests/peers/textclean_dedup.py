"""textclean dedup beside datatrove: the same texts after spans of three sentences were left out; the same signatures; the same clusters of
near duplicates, for documents with planted copies, some of them edited. Also the share of pairs that are found, beside the formula
1 - (1 - s^r)^b. TEXTMILL_DOCUMENTS says how many documents are compared; 100,000 take a quarter of an hour."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

try:
    from datatrove.data import Document
    from datatrove.pipeline.dedup import SentDedupConfig, SentenceDedupFilter, SentenceDedupSignature
    from datatrove.pipeline.dedup.minhash import (MinhashConfig, MinhashDedupBuckets, MinhashDedupCluster,
                                                  MinhashDedupSignature)
    import numpy
    import spacy  # noqa: F401 (splits words for datatrove)
    import xxhash
except ImportError:
    sys.exit(77)

from lib.noisy import documents
from lib.paths import DATA

if not os.path.isdir(os.path.join(DATA, "megatron")):
    sys.exit(77)


CONFIG = MinhashConfig(n_grams=5, num_buckets=14, hashes_per_bucket=8, seed=1)


def planted(count):
    """Paragraphs, and copies of earlier ones: as they are, in capitals, or with some words replaced."""
    rng = random.Random(7)
    paragraphs = [p for t in documents(1000) for p in t.split("\n\n") if len(p) > 80]
    words = " ".join(paragraphs[:3000]).split()
    out = []
    while len(out) < count:
        kind, old = rng.random(), rng.choice(out) if out else ""
        if kind < 0.5 or not old:
            text = rng.choice(paragraphs) if kind < 0.1 else " ".join(rng.choice(words) for _ in range(rng.randint(3, 120)))
        elif kind < 0.6:
            text = old
        elif kind < 0.65:
            text = old.upper() + " !"
        else:
            share = rng.choice([0.005, 0.01, 0.02, 0.03, 0.05, 0.1])
            text = " ".join(rng.choice(words) if rng.random() < share else w for w in old.split(" "))
        out.append(text)
    return out


def signatures(texts, folder):
    """How many bands of signatures are other ones. --keys-to writes a hash of the bytes of each band."""
    path, keys = os.path.join(folder, "signed.jsonl"), os.path.join(folder, "keys")
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps({"text": t}) + "\n" for t in texts)
    subprocess.run(["textclean", "dedup", "-q", "--keys-to", keys, path], check=True)
    data = open(keys, "rb").read()
    ours = numpy.frombuffer(data[data.index(b"\n") + 1 :], "<u8").reshape(len(texts), 14, 2)[:, :, 0]
    signer, differ = MinhashDedupSignature(folder + "/signed", CONFIG), 0
    for text, hashes in zip(texts, ours, strict=True):
        shingles_of = signer.get_shingles(text)
        bands = signer.get_signature(shingles_of) if shingles_of.size else [None] * 14
        theirs = [0 if b is None else xxhash.xxh64_intdigest(numpy.array(b, "<u8").tobytes(), i) for i, b in enumerate(bands)]
        differ += sum(a != int(b) for a, b in zip(theirs, hashes, strict=True))
    return differ


def their_clusters(texts, folder):
    config = CONFIG
    MinhashDedupSignature(folder + "/s", config).run((Document(text=t, id=str(i)) for i, t in enumerate(texts)), 0, 1)
    for bucket in range(14):
        MinhashDedupBuckets(folder + "/s", folder + "/b", config=config).run(None, bucket, 14)
    MinhashDedupCluster(folder + "/b", folder + "/c", config, save_cluster_id=True).run(None, 0, 1)
    clusters = {}
    data = open(folder + "/c/000000.clusters", "rb").read()
    for doc, cluster in struct.iter_unpack("<II", data):
        clusters.setdefault(cluster, []).append(doc + 1)
    return sorted(sorted(c) for c in clusters.values())


def shingles(text):
    words = "".join(c.lower() if c.isalpha() else "0" if c.isdigit() else " " for c in text).split()
    return {" ".join(words[i : i + 5]) for i in range(len(words) - 4)}


def find(texts, folder):
    """The clusters that textclean finds."""
    path, found = os.path.join(folder, "in.jsonl"), os.path.join(folder, "clusters")
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps({"text": t}) + "\n" for t in texts)
    command = ["textclean", "dedup", "-q", "--force", "--memory", "1M", "--clusters", found, "-o", os.path.join(folder, "out"), path]
    subprocess.run(command, check=True)
    return [[c["kept"]] + c["left_out"] for c in map(json.loads, open(found))]


def spans(texts, folder):
    """How many texts are other ones, when spans of sentences were left out, than by datatrove's hashes, its removal and its bounds."""
    config, seen, differ = SentDedupConfig(only_dedup_in_index=False), set(), 0
    signature, judge = SentenceDedupSignature(folder, config=config), SentenceDedupFilter(folder, config)
    path = os.path.join(folder, "spans.jsonl")
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps({"text": t}) + "\n" for t in texts)
    lines = subprocess.run(["textclean", "dedup", "-q", "--by", "span", "--mark", path], check=True, stdout=subprocess.PIPE).stdout
    for i, (text, line) in enumerate(zip(texts, lines.splitlines(), strict=True)):
        doc, twice = Document(text=text, id=""), []
        for key, _, place in signature.get_hashes(doc, 0):
            twice += [place] if key in seen else []
            seen.add(key)
        left = judge.remove_dup_sentences(doc, twice)[0] if twice else text
        words, sentences = judge.tokenizer.word_tokenize(left), judge.tokenizer.sent_tokenize(left)
        out = left != text and (len(words) < config.min_doc_words or len(sentences) < config.min_num_sentences)
        ours = json.loads(line)
        if bool(ours["textclean"]) != out or (not out and ours["text"].rstrip() != left.rstrip()):
            differ += 1
            if differ < 4:
                verdicts = ours["textclean"] or "kept", "left out" if out else "kept"
                print(f"  spans of document {i}: {verdicts[0]} here, {verdicts[1]} there{', another text' if not out else ''}")
    return differ


def pairs(count):
    """Texts of random words and a changed copy of each, one after the other, and how many of the pairs the formula expects to be found."""
    rng, texts, expected = random.Random(11), [], 0
    for _ in range(count):
        words = ["".join(rng.choice("abcdefghijklmnoprstuvw") for _ in range(6)) for _ in range(rng.randint(60, 200))]
        share = rng.random() * 0.12
        copy = [w if rng.random() > share else w[::-1] for w in words]
        texts += [" ".join(words), " ".join(copy)]
        a, b = shingles(texts[-2]), shingles(texts[-1])
        expected += 1 - (1 - (len(a & b) / len(a | b)) ** 8) ** 14
    return texts, expected


texts = planted(int(os.environ.get("TEXTMILL_DOCUMENTS", "5000")))
with tempfile.TemporaryDirectory() as folder:
    pages = documents(1000)
    differ, unsigned = spans(pages, folder), signatures(pages, folder)
    ours = find(texts, folder)
    theirs = their_clusters(texts, folder)
    both, expected = pairs(5000)
    found = find(both, folder)
print(f"{len(texts)} documents: {len(ours)} clusters of {sum(map(len, ours))} here, {len(theirs)} of {sum(map(len, theirs))} there")
if ours != theirs:
    print("  other clusters:", [c for c in ours if c not in theirs][:3], [c for c in theirs if c not in ours][:3])
    sys.exit(1)
false = [c for c in found if len(c) != 2 or c[0] % 2 == 0 or c[1] != c[0] + 1]
print(f"{len(found) - len(false)} of 5000 pairs found, {expected:.0f} by the formula; {len(false)} other clusters")
print(f"signatures: {unsigned} of {14 * len(pages)} bands differ")
print(f"spans: {len(pages) - differ} of {len(pages)} documents are alike")
failed = differ > len(pages) // 50
sys.exit(failed or unsigned > 0 or abs(len(found) - expected) > 50 or len(false) > 0)
