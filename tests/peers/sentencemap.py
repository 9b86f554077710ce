"""Index maps of sentences beside those that Megatron Core makes of the same pair: 150 random cases; some go through its
whole data set."""
import logging
import os
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from megatron.core.datasets import helpers_cpp
    from megatron.core.datasets.bert_dataset import BERTMaskedWordPieceDataset, BERTMaskedWordPieceDatasetConfig
    from megatron.core.datasets.indexed_dataset import IndexedDataset
    from megatron.core.datasets.utils import Split
except ImportError:
    sys.exit(77)

CASES = 150


class Tokenizer:
    """The attributes that the data set's configuration reads from a tokenizer."""

    vocab_size, cls, sep, mask, pad, unique_identifiers, inv_vocab = 100, 1, 2, 3, 0, {}, {0: "a"}


def write_pair(prefix, documents):
    sizes = [n for d in documents for n in d]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    starts = np.concatenate([[0], np.cumsum([len(d) for d in documents])])
    with open(prefix + ".idx", "wb") as f:
        f.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(sizes), len(starts)))
        f.write(np.asarray(sizes, "<i4").tobytes() + (2 * ends[:-1]).astype("<i8").tobytes())
        f.write(starts.astype("<i8").tobytes())
    with open(prefix + ".bin", "wb") as f:
        f.write(bytes(2 * int(ends[-1])))


def documents_of(rng):
    sentence = lambda: rng.randint(1, 60) if rng.random() < 0.98 else rng.randint(500, 530)
    return [[sentence() for _ in range(rng.choice([0, 1, 1, 2, 3, rng.randint(4, 40)]))] for _ in range(rng.choice([rng.randint(1, 4), rng.randint(5, 200)]))]


def whole_data_set(prefix, length, seed, probability, samples, first, end, least, folder):
    """Returns the map that the data set of a BERT keeps."""
    config = BERTMaskedWordPieceDatasetConfig(
        random_seed=seed, sequence_length=length, blend=([prefix], None), split="1,0,0", tokenizer=Tokenizer(),
        path_to_cache=folder, masking_probability=0.15, short_sequence_probability=probability, masking_max_ngram=3,
        masking_do_full_word=True, masking_do_permutation=False, masking_use_longer_ngrams=False,
        masking_use_geometric_distribution=False, classification_head=least == 2)
    data = IndexedDataset(prefix)
    return BERTMaskedWordPieceDataset(data, prefix, np.arange(first, end, dtype=np.int32), samples, Split.train, config).sample_index


def bounds(split, documents):
    shares = np.cumsum(np.array(split) / sum(split))
    return [0] + [int(round(s * documents)) for s in shares]


def main():
    logging.disable(logging.CRITICAL)
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=torch.distributed.HashStore())
    rng = random.Random(12)
    checked = empty = whole = 0
    with tempfile.TemporaryDirectory() as folder:
        while checked < CASES:
            prefix = f"{folder}/pair{checked}"
            documents = documents_of(rng)
            length, seed, least = rng.randint(5, 300), rng.randint(1, 2**31 - 3), rng.randint(1, 2)
            probability, part = rng.choice([0, 0.1, 0.5, 1, rng.random()]), rng.randint(0, 2)
            samples, epochs = rng.choice([(rng.randint(1, 3000), 0), (0, rng.randint(1, 4))])
            write_pair(prefix, documents)
            first, end = bounds([5, 3, 2], len(documents))[part:part + 2]
            command = ["tfwrite", "index-map", "-q", "--kind", "bert", "--seed", str(seed), "--sequence-length", str(length),
                       "--part", "train valid test".split()[part], "--short-sequence-probability", repr(probability),
                       "--min-sentences", str(least), "-o", f"{folder}/m{checked}", prefix]
            command += ["--samples", str(samples), "--split", "5,3,2"] if samples else ["--epochs", str(epochs), "--split", "1,0,0", "--part", "train"]
            if epochs:
                first, end = 0, len(documents)
            done = subprocess.run(command, capture_output=True, text=True)
            usable = [d for d in documents[first:end] if len(d) >= least and (len(d) == 1 or max(d) <= 512)]
            if not usable:
                assert done.returncode == 1, (command, done)
                empty += 1
                continue
            assert done.returncode == 0, (command, done)
            data = IndexedDataset(prefix)
            docs = data.document_indices[np.arange(first, end + 1)].astype(np.int64)
            want = helpers_cpp.build_mapping(docs, data.sequence_lengths, epochs or 2**31 - 2, samples or 2**62, length - 3,
                                             probability, seed, False, least)
            got = np.load(f"{folder}/m{checked}_sample_index.npy")
            assert got.dtype == want.dtype and np.array_equal(got, want), command
            if samples and whole < 20:
                cache = f"{folder}/cache{checked}"
                assert np.array_equal(got, whole_data_set(prefix, length, seed, probability, samples, first, end, least, cache)), command
                whole += 1
            checked += 1
    assert whole == 20
    print(f"maps of sentences: {checked} as Megatron Core makes them, {whole} of them by its data set; {empty} parts without samples")


sys.exit(main())
