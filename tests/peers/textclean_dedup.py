"""textclean dedup beside datatrove: the same texts after spans of three sentences were left out; the same clusters of near duplicates, and so the same signatures, for documents with planted copies,
some of them edited. Also the share of pairs that are found, beside the formula 1 - (1 - s^r)^b. TEXTMILL_DOCUMENTS says how many documents
are compared."""
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
    import spacy  # noqa: F401 (splits words for datatrove)
except ImportError:
    sys.exit(77)

from lib.noisy import documents
from lib.paths import DATA

if not os.path.isdir(os.path.join(DATA, "megatron")):
    sys.exit(77)


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


def their_clusters(texts, folder):
    config = MinhashConfig(n_grams=5, num_buckets=14, hashes_per_bucket=8, seed=1)
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
                print(f"  spans of document {i}: {ours['textclean'] or 'kept'} here, {'left out' if out else 'kept'} there")
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
    differ = spans(pages, folder)
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
print(f"spans: {len(pages) - differ} of {len(pages)} documents are alike")
failed = differ > len(pages) // 50
sys.exit(failed or abs(len(found) - expected) > 50 or len(false) > 0)
