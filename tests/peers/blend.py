"""Blends beside those that Megatron Core makes: 200 random cases."""
import logging
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from megatron.core.datasets.blended_dataset import BlendedDataset
    from megatron.core.datasets.utils import Split, normalize
except ImportError:
    sys.exit(77)

CASES = 200


class Source:
    """A data set with enough samples, and the few attributes that a blend reads."""

    index_split, unique_identifiers = Split.train, {}

    def __len__(self):
        return 2**40


class Config:
    path_to_cache, defer_npy_index_mmap = None, False


def weights_of(rng):
    n = rng.choice([1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 30, 128, 129, 300])
    kind = rng.randint(0, 3)
    if kind == 0:
        return [f"{rng.randint(1, 9) / 10}" for _ in range(n)]  # many are equal
    if kind == 1:
        return [str(rng.randint(1, 1000)) for _ in range(n)]
    if kind == 2:
        return [f"{rng.uniform(0.001, 1):.3f}" for _ in range(n)]
    return [repr(10 ** rng.uniform(-6, 6)) for _ in range(n)]


def main():
    logging.disable(logging.CRITICAL)
    rng = random.Random(20)
    several = 0
    with tempfile.TemporaryDirectory() as folder:
        pairs = [f"{folder}/{i}" for i in range(300)]
        for pair in pairs:  # of one document of one token
            with open(pair + ".idx", "wb") as idx, open(pair + ".bin", "wb") as ids:
                idx.write(b"MMIDIDX\0\0" + struct.pack("<QBQQiqqq", 1, 8, 1, 2, 1, 0, 0, 1))
                ids.write(bytes(2))
        for case in range(CASES):
            weights, samples = weights_of(rng), rng.choice([1, 7, 1000, 65536, 65537, 200000])
            # the builder of blends divides the weights by their sum, and the blend does it again
            core = BlendedDataset([Source()] * len(weights), normalize([float(w) for w in weights]), samples, Config())
            command = ["tfwrite", "blend", "-q", "--samples", str(samples), "-o", f"{folder}/b{case}"]
            command += [f"{pair}:{weight}" for pair, weight in zip(pairs, weights)]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, (command, done)
            for name in ("dataset_index", "dataset_sample_index"):
                got, want = np.load(f"{folder}/b{case}_{name}.npy"), getattr(core, name)
                assert got.dtype == want.dtype and np.array_equal(got, want), (command, name)
            counts = np.bincount(core.dataset_index, minlength=len(weights))
            said = [int(line.split(" sample")[0].split()[-1]) for line in done.stdout.splitlines()]
            assert said == counts.tolist(), (command, done)
            several += len(set(core.dataset_index.tolist())) > 1
    assert several > CASES / 2, several
    print(f"blends: {CASES} as Megatron Core makes them")


sys.exit(main())
