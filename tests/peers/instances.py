"""BERT instances beside the same algorithm in plain Python, with Python's own random."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

VOCABULARY, PAD, CLS, SEP, MASK = 500, 0, 101, 102, 103
CONTINUES = {i for i in range(200, VOCABULARY) if i % 3 == 0}


def documents(rng, count):
    return [[[rng.randrange(110, VOCABULARY) for _ in range(rng.randint(1, 40))] for _ in range(rng.randint(1, 20))]
            for _ in range(count)]


def token_stream(docs):
    """Reads the format of common/formats/stream.h."""
    frames = [(f"textmill=tokens 1\ndtype=u16\nvocabulary={VOCABULARY}\nsentences=1\n"
               f"pad={PAD}\nunk=100\ncls={CLS}\nsep={SEP}\nmask={MASK}\n").encode()]
    for doc in docs:
        ids = [i for sentence in doc for i in sentence]
        ends = [sum(map(len, doc[:k + 1])) for k in range(len(doc))]
        frames.append(struct.pack(f"<I{len(ends)}I{len(ids)}H", len(ends), *ends, *ids))
    return b"".join(b"%08x" % len(f) + f for f in frames) + b"00000000"


def masked(tokens, rng, o):
    words = []
    for i, token in enumerate(tokens):
        if token in (CLS, SEP):
            continue
        if o["words"] and words and words[-1][-1] == i - 1 and token in CONTINUES:
            words[-1].append(i)
        else:
            words.append([i])
    rng.shuffle(words)
    want = min(o["mask"], max(1, int(round(len(tokens) * o["mlm"]))))
    want = max(want, len(tokens) - o["length"] + o["mask"])
    out, chosen = list(tokens), []
    for word in words:
        if len(chosen) >= want:
            break
        if len(chosen) + len(word) > want:
            continue
        for i in word:
            if rng.random() < 0.8:
                out[i] = MASK
            elif rng.random() >= 0.5:
                out[i] = rng.randint(0, VOCABULARY - 1)
            chosen.append(i)
    chosen.sort()
    return out, chosen, [tokens[i] for i in chosen]


def pairs(docs, d, rng, o):
    most = target = o["length"] - 3
    if rng.random() < o["short"]:
        target = rng.randint(2, most)
    i, chunk, doc = 0, [], docs[d]
    while i < len(doc):
        chunk.append(doc[i])
        if i == len(doc) - 1 or sum(map(len, chunk)) >= target:
            cut = rng.randint(1, len(chunk) - 1) if len(chunk) >= 2 else 1
            a, b = sum(chunk[:cut], []), []
            other = len(chunk) == 1 or rng.random() < 0.5
            if other:
                want = target - len(a)
                for _ in range(10):
                    r = rng.randint(0, len(docs) - 1)
                    if r != d:
                        break
                for sentence in docs[r][rng.randint(0, len(docs[r]) - 1):]:
                    b += sentence
                    if len(b) >= want:
                        break
                i -= len(chunk) - cut
            else:
                b = sum(chunk[cut:], [])
            while len(a) + len(b) > most:
                longer = a if len(a) > len(b) else b
                longer.pop(0 if rng.random() < 0.5 else -1)
            tokens = [CLS, *a, SEP, *b, SEP]
            yield (*masked(tokens, rng, o), len(a) + 2, int(other))
            chunk = []
        i += 1


def instances(docs, o):
    rng = random.Random(o["seed"])
    docs = list(docs)
    rng.shuffle(docs)
    made = [x for _ in range(o["dup"]) for d in range(len(docs)) for x in pairs(docs, d, rng, o)]
    rng.shuffle(made)
    return made


def pad(values, n, by=0):
    return values + [by] * (n - len(values))


def plain(x, o):
    tokens, positions, labels, second, other = x
    n, m = o["length"], o["mask"]
    return {"input_ids": pad(tokens, n), "input_mask": pad([1] * len(tokens), n),
            "segment_ids": pad([int(i >= second) for i in range(len(tokens))], n),
            "masked_lm_positions": pad(positions, m), "masked_lm_ids": pad(labels, m),
            "masked_lm_weights": pad([1] * len(labels), m), "next_sentence_labels": [other]}


def tf1(x, o):
    tokens, positions, labels, second, other = x
    n, m = o["length"], o["mask"]
    rest = [i for i in range(len(tokens)) if i not in positions]
    order = pad(positions, m, None) + rest
    return {"input_ids": pad([0 if i is None else tokens[i] for i in order], n),
            "input_position": pad([384 if i is None else i for i in order], n, 384),
            "segment_ids": pad([int(i is not None and i >= second) for i in order], n),
            "mask_padding_index": [len(positions)], "seq_padding_index": [m + len(rest)],
            "masked_lm_positions": positions, "masked_labels": pad(labels, m), "masked_lm_ids": pad(labels, m),
            "masked_lm_weights": pad([1] * m, m)[:len(labels)] + [0] * (m - len(labels)),
            "next_sentence_labels": [other]}


def unpack(row, o):
    """Returns the instances of a packed row as plain features."""
    n, m = o["length"], o["mask"]
    places = range(n)
    for k in range(1, 4):
        if not row["packed_next_sentence_mask"][3 - k]:
            continue
        assert row["packed_input_mask"][n - k] == k and row["packed_position_ids"][n - k] == 0
        at = [p for p in places if row["packed_input_mask"][p] == k and p < n - 3 + (row["packed_position_ids"][p] > 0) * 3]
        assert at == list(range(at[0], at[0] + len(at)))
        assert [row["packed_position_ids"][p] for p in at] == list(range(1, len(at) + 1))
        mine = [i for i in range(m + 2) if row["packed_masked_lm_mask"][i] == k]
        tokens = [row["packed_input_ids"][n - k]] + [row["packed_input_ids"][p] for p in at]
        second = 1 + [row["packed_segment_ids"][p] for p in at].index(1)
        yield plain((tokens, [row["packed_masked_lm_positions"][i] - at[0] + 1 for i in mine],
                     [row["packed_masked_lm_ids"][i] for i in mine], second,
                     row["packed_next_sentence_labels"][3 - k]), o)


def written(stream, layout, o, words, shards=2, group=0):
    with tempfile.TemporaryDirectory() as folder:
        command = ["tfwrite", "-q", "--layout", layout, "--sequence-length", o["length"], "--mask-tokens", o["mask"],
                   "--mlm-probability", o["mlm"], "--short-sequence-probability", o["short"], "--group", group,
                   "--duplication-factor", o["dup"], "--seed", o["seed"], "--shards", shards, "-o", folder]
        subprocess.run([str(c) for c in command] + (["--whole-word-masking", words] if o["words"] else []),
                       input=stream, check=True)
        files = [f"{folder}/data-{i:05}-of-{shards:05}.tfrecord" for i in range(shards)]
        lists = [[json.loads(line) for line in subprocess.run(
            ["tfwrite", "show", "-q", f], check=True, stdout=subprocess.PIPE).stdout.splitlines()] for f in files]
        subprocess.run(["tfwrite", "verify", "-q", folder], check=True, stdout=subprocess.DEVNULL)
        return [lists[i % shards][i // shards] for i in range(sum(map(len, lists)))]


def canonical(records):
    return sorted(json.dumps(r, sort_keys=True) for r in records)


def main():
    rng = random.Random(7)
    checked = 0
    with tempfile.NamedTemporaryFile("w") as words:
        words.writelines(("##" if i in CONTINUES else "") + f"w{i}\n" for i in range(VOCABULARY))
        words.flush()
        for case in range(12):
            docs = documents(rng, rng.choice([1, 2, 9, 30]))
            length = rng.choice([32, 64, 128])
            o = {"length": length, "mask": rng.choice([3, 20, length - 3]), "mlm": rng.choice([0.05, 0.15, 0.5]),
                 "short": rng.choice([0, 0.1, 1]), "dup": rng.randint(1, 4), "seed": rng.choice([0, 1984, 2**40 + 3]),
                 "words": case % 3 == 2}
            docs *= 1 if len(docs) > 1 else 2  # enough records for two shards
            stream = token_stream(docs)
            want = instances(docs, o)
            assert written(stream, "bert", o, words.name) == [plain(x, o) for x in want], o
            if not o["words"]:
                assert written(stream, "bert-tf1", o, words.name) == [tf1(x, o) for x in want], o
            rows = written(stream, "bert-packed", o, words.name, shards=1)
            assert canonical(r for row in rows for r in unpack(row, o)) == canonical(plain(x, o) for x in want), o
            parts = [x for i in range(0, len(docs), 4) for x in instances(docs[i:i + 4], o)]
            assert written(stream, "bert", o, words.name, group=4) == [plain(x, o) for x in parts], o
            checked += len(want)
    print(f"instances: {checked} as Python's recipe makes them, in three layouts and in groups")


sys.exit(main())
