"""Index maps beside the same algorithm in numpy, for both kinds of requests and all parts."""
import os
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)


def maps(sizes, first, end, length, seed, epochs, samples):
    rng = np.random.RandomState(seed)
    epoch = sum(sizes[first:end])
    apart = False
    if samples:
        epochs = 1
        while (epochs * epoch - 1) // length < samples:
            epochs += 1
    made = before = (epochs * epoch - 1) // length
    if samples and epochs > 1:
        rest = ((epochs - 1) * epoch - 1) // length
        apart = samples - rest < int(0.80 * ((epoch - 1) // length))
        before = rest if apart else made
    documents = np.tile(np.arange(first, end, dtype=np.int32), epochs - apart)
    rng.shuffle(documents)
    if apart:
        last = np.arange(first, end, dtype=np.int32)
        rng.shuffle(last)
        documents = np.concatenate([documents, last])
    starts = np.concatenate([[0], np.cumsum([sizes[d] for d in documents])])
    where = np.zeros((made + 1, 2), np.int32)
    for i in range(1, made + 1):  # the document with token i * length
        place = int(np.searchsorted(starts, i * length, side="right")) - 1
        where[i] = place, i * length - starts[place]
    order = np.arange(made, dtype=np.uint32)
    rng.shuffle(order[:before])
    rng.shuffle(order[before:])
    return documents, where, order


def bounds(documents, shares, part, rule):
    shares = [s / sum(shares) for s in shares]
    at = [0]
    for i, share in enumerate(shares):
        if rule == "core":
            at.append(int(round(sum(shares[:i + 1]) * documents)))
        else:
            at.append(at[-1] + (int(share * documents) if rule == "cut" else int(round(share * documents))))
    if rule == "cut":
        at[2] = documents if shares[2] == 0 else at[2]
    if rule == "older":
        at = [0] + [a - (at[-1] - documents) for a in at[1:]]
    return at[part], at[part + 1]


def main():
    rng = random.Random(5)
    checked = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(60):
            sizes = [rng.randint(1, 60) for _ in range(rng.randint(20, 200))]
            pointers = [2 * sum(sizes[:i]) for i in range(len(sizes))]
            n = len(sizes)
            with open(f"{folder}/pair.idx", "wb") as f:
                f.write(b"MMIDIDX\0\0" + struct.pack(f"<QBQQ{n}i{n}q{n + 1}q", 1, 8, n, n + 1, *sizes, *pointers,
                                                     *range(n + 1)))
            shares, part = rng.choice([(969, 30, 1), (98, 2, 0), (1, 1, 1), (997, 3, 0)]), rng.randint(0, 1)
            length, seed, samples = rng.randint(1, 20), rng.randint(0, 2**32 - 1), rng.choice([0, rng.randint(1, 900)])
            epochs = 0 if samples else rng.randint(1, 5)
            rule = rng.choice(["core", "older"]) if samples else "cut"
            first, end = bounds(n, shares, part, rule)
            if first >= end or (sum(sizes[first:end]) - 1) // length < 1:
                continue
            subprocess.run(["tfwrite", "index-map", "-q", "--samples", str(samples), "--epochs", str(epochs), "--part",
                            ["train", "valid"][part], "--split", ",".join(map(str, shares)), "--seed", str(seed),
                            "--sequence-length", str(length), *(["--split-rule", rule] if samples else []), "--force", "-o", f"{folder}/m", f"{folder}/pair"],
                           check=True, stdout=subprocess.DEVNULL)
            for name, want in zip(("doc", "sample", "shuffle"), maps(sizes, first, end, length, seed, epochs, samples)):
                got = np.load(f"{folder}/m_{name}_idx.npy")
                assert got.dtype == want.dtype and np.array_equal(got, want), (name, shares, part, samples, epochs)
                path = f"{folder}/numpy.npy"
                np.save(path, want)
                assert open(path, "rb").read() == open(f"{folder}/m_{name}_idx.npy", "rb").read()
            checked += 1
    print(f"index maps: {checked} sets as numpy makes them")


sys.exit(main())
