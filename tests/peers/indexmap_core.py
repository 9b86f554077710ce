"""Index maps beside those that Megatron Core makes of the same pair: 200 random cases."""
import logging
import os
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from megatron.core.datasets.blended_megatron_dataset_builder import BlendedMegatronDatasetBuilder
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
    from megatron.core.datasets.utils import Split
except ImportError:
    sys.exit(77)

CASES = 200


class Tokenizer:
    """The attributes that the data set's configuration reads from a tokenizer."""

    vocab_size, eod, pad, unique_identifiers = 50257, 50256, 0, {}


def write_pair(prefix, sizes):
    n = len(sizes)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    with open(prefix + ".idx", "wb") as f:
        f.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, n, n + 1))
        f.write(np.asarray(sizes, "<i4").tobytes() + (2 * ends[:-1]).astype("<i8").tobytes())
        f.write(np.arange(n + 1).astype("<i8").tobytes())
    with open(prefix + ".bin", "wb") as f:
        f.write(bytes(2 * int(ends[-1])))


def core_maps(prefix, length, seed, split, part, samples, documents):
    """Returns the three maps of a part. Returns None if the part is empty, because Megatron Core would then never
    finish."""
    config = GPTDatasetConfig(random_seed=seed, sequence_length=length, blend=([prefix], None), split=split,
                              tokenizer=Tokenizer(), reset_position_ids=False, reset_attention_mask=False,
                              eod_mask_loss=False, mmap_bin_files=False, path_to_cache=prefix + ".cache")
    matrix = [row if i == part else None for i, row in enumerate(config.split_matrix)]
    config.split_matrix = matrix
    if matrix[part] is None or round(matrix[part][0] * documents) == round(matrix[part][1] * documents):
        return None
    builder = BlendedMegatronDatasetBuilder(GPTDataset, [samples] * len(Split), lambda: True, config)
    data = builder.build()[part]
    return data and (data.document_index, data.sample_index, data.shuffle_index)


def shares(rng):
    if rng.random() < 0.4:
        return rng.choice(["969,30,1", "98,2,0", "99,1,0", "949,50,1"])
    return ",".join(f"{rng.uniform(0.05, 9):.{rng.randint(1, 6)}f}" for _ in range(3))


def main():
    logging.disable(logging.CRITICAL)
    rng = random.Random(11)
    checked = empty = older = 0
    names = ("doc", "sample", "shuffle")
    with tempfile.TemporaryDirectory() as folder:
        while checked < CASES:
            prefix = f"{folder}/pair{checked}"
            sizes = [rng.randint(1, 60) for _ in range(rng.randint(20, 700))]
            length, seed = rng.randint(2, 20), rng.randint(0, 2**32 - 1)
            split, part, samples = shares(rng), rng.randint(0, 2), rng.randint(1, 900)
            write_pair(prefix, sizes)
            want = core_maps(prefix, length, seed, split, part, samples, len(sizes))
            command = ["tfwrite", "index-map", "-q", "--samples", str(samples), "--part", "train valid test".split()[part],
                       "--split", split, "--seed", str(seed), "--sequence-length", str(length), "-o", f"{folder}/m", prefix]
            done = subprocess.run(command, capture_output=True, text=True)
            if want is None:
                assert done.returncode == 1, (command, done)
                empty += 1
                continue
            assert done.returncode == 0, (command, done)
            for name, core in zip(names, want):
                got = np.load(f"{folder}/m_{name}_idx.npy")
                assert got.dtype == core.dtype and np.array_equal(got, core), (command, name)
            subprocess.run(command[:3] + ["--force", "--split-rule", "older"] + command[3:], capture_output=True)
            older += not np.array_equal(np.load(f"{folder}/m_doc_idx.npy"), want[0])
            for file in os.listdir(folder):
                if file.startswith("m_"):
                    os.remove(f"{folder}/{file}")
            checked += 1
    assert older, "the older rule makes the same of all"
    print(f"index maps: {checked} sets as Megatron Core makes them, and {empty} parts that both find empty; "
          f"{older} are others by the older rule")


sys.exit(main())
