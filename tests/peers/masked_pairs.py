"""The samples that train makes of a Megatron pair of sentences and its map, beside those of Megatron Core's BERT data
set with the settings of pretrain_bert.py. 40 random pairs; Megatron Core or tfwrite makes the map.
tests/peers/masked_pairs.c runs our side."""
import glob
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
    from megatron.core.datasets.bert_dataset import BERTMaskedWordPieceDataset, BERTMaskedWordPieceDatasetConfig
    from megatron.core.datasets.indexed_dataset import IndexedDataset
    from megatron.core.datasets.utils import Split
except ImportError:
    sys.exit(77)

from lib.program import build

CASES, IGNORE = 40, -100
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


class Tokenizer:
    """The attributes that the data set reads from a tokenizer."""

    unique_identifiers, pad, cls, sep, mask = {}, 0, 2, 3, 4

    def __init__(self, tokens):
        self.inv_vocab = dict(enumerate(tokens))
        self.vocab_size = len(tokens)


def write_pair(prefix, documents, wide):
    sentences = [s for d in documents for s in d]
    sizes, width = [len(s) for s in sentences], 4 if wide else 2
    ends = np.concatenate([[0], np.cumsum(sizes)])
    starts = np.concatenate([[0], np.cumsum([len(d) for d in documents])])
    with open(prefix + ".idx", "wb") as f:
        f.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4 if wide else 8, len(sizes), len(starts)))
        f.write(np.asarray(sizes, "<i4").tobytes() + (width * ends[:-1]).astype("<i8").tobytes() + starts.astype("<i8").tobytes())
    with open(prefix + ".bin", "wb") as f:
        f.write(np.array([t for s in sentences for t in s], "<i4" if wide else "<u2").tobytes())


def documents_of(rng, vocabulary):
    # some sentences have special tokens, or begin with a piece that continues a word
    sentence = lambda: [rng.randrange(1 if rng.random() < 0.05 else 5, vocabulary) for _ in range(rng.choice([1, 2, rng.randint(1, 40)]))]
    return [[sentence() for _ in range(rng.randint(0, 30))] for _ in range(rng.randint(2, 60))] + [[sentence(), sentence()]]


def data_set(prefix, tokenizer, length, seed, probability, samples, documents, cache):
    config = BERTMaskedWordPieceDatasetConfig(
        random_seed=seed, sequence_length=length, blend=([prefix], None), split="1,0,0", tokenizer=tokenizer, path_to_cache=cache,
        masking_probability=0.15, short_sequence_probability=probability, masking_max_ngram=3, masking_do_full_word=True,
        masking_do_permutation=False, masking_use_longer_ngrams=False, masking_use_geometric_distribution=False,
        classification_head=True)
    return BERTMaskedWordPieceDataset(IndexedDataset(prefix), prefix, np.arange(documents, dtype=np.int32), samples, Split.train,
                                      config)


def check_sample(got, want, length, what):
    n = int((want["loss_mask"]).sum())
    tokens = got["length"]
    assert got["next"] == want["is_random"], what
    assert np.array_equal(got["ids"], want["text"]), what
    assert np.array_equal(got["segments"][:tokens], want["types"][:tokens]), what
    # Megatron's padding mask leaves out tokens that are [PAD] themselves; masking draws such an id now and then
    real = np.arange(length) < tokens
    assert np.array_equal((want["padding_mask"] == 1) | (got["ids"] == 0) & real, real), what
    labels = np.where(want["loss_mask"] == 1, want["labels"], IGNORE)
    assert np.array_equal(got["labels"], labels), what
    return n


def main():
    logging.disable(logging.CRITICAL)
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=torch.distributed.HashStore())
    rng = random.Random(20)
    samples = masked = 0
    with tempfile.TemporaryDirectory() as folder:
        program = build("masked_pairs", folder)
        for case in range(CASES):
            vocabulary, wide = rng.randint(20, 3000), rng.random() < 0.3
            tokens = SPECIAL + [f"##w{i}" if rng.random() < 0.3 else f"w{i}" for i in range(5, vocabulary)]
            prefix, vocab, out = f"{folder}/pair{case}", f"{folder}/vocab.txt", f"{folder}/out"
            with open(vocab, "w") as f:
                f.write("".join(t + "\n" for t in tokens))
            documents = documents_of(rng, vocabulary)
            write_pair(prefix, documents, wide)
            length, seed, probability = rng.choice([10, 20, 64, 128, 512]), rng.randint(1, 2**31 - 2), rng.choice([0, 0.1, 0.5])
            wanted = rng.randint(1, 300)
            theirs = data_set(prefix, Tokenizer(tokens), length, seed, probability, wanted, len(documents), f"{folder}/cache{case}")
            (map_file,) = glob.glob(f"{folder}/cache{case}/*sample_index.npy")
            if case % 2:
                subprocess.run(["tfwrite", "index-map", "-q", "--kind", "bert", "--samples", str(wanted), "--split", "1,0,0", "--seed",
                                str(seed), "--sequence-length", str(length), "--short-sequence-probability", repr(probability), "-o",
                                f"{folder}/map{case}", prefix], check=True, stdout=subprocess.DEVNULL)
                map_file = f"{folder}/map{case}_sample_index.npy"
            given = length if case % 3 else 0  # 0: as long as the map's samples
            said = subprocess.run([program, f"{prefix}@{map_file}", vocab, str(given), str(seed), str(len(theirs)), out],
                                  check=True, capture_output=True, text=True).stdout.split()
            row = int(said[0])
            assert int(said[1]) == len(theirs) and (row == length if given else row <= length), (said, length)
            rows = np.fromfile(out, "<i4").reshape(len(theirs), 2 + 3 * row)
            for i in range(len(theirs)):
                pad = lambda a, with_: np.concatenate([a, np.full(length - row, with_)])
                ids, segments, labels = rows[i, 2:].reshape(3, row)
                got = {"next": rows[i, 0], "length": rows[i, 1], "ids": pad(ids, 0), "segments": pad(segments, 0),
                       "labels": pad(labels, IGNORE)}
                masked += check_sample(got, theirs[i], length, (case, i))
            samples += len(theirs)
    print(f"masked pairs: {samples} samples as Megatron Core makes them, {masked} masked tokens")


sys.exit(main())
