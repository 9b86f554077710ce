"""Megatron's own reader (megatron-core) on our pairs: every sequence and document, for both widths of ids, with
sentences and without. Our files equal those of its writer byte for byte, also those that it merges."""
import os
import struct
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
sys.path.pop(0)  # other files here are called like packages
try:
    import numpy as np
    import torch
    from megatron.core.datasets.indexed_dataset import DType, IndexedDataset, IndexedDatasetBuilder
except ImportError:
    sys.exit(77)


def token_stream(documents, vocabulary, end):
    """Writes the format of common/formats/stream.h; a document is a list of sentences."""
    width, dtype = (2, "<u2") if vocabulary <= 1 << 16 else (4, "<u4")
    several = any(len(d) > 1 for d in documents)
    header = f"textmill=tokens 1\ndtype=u{8 * width}\nvocabulary={vocabulary}\nend_of_text={end}\nsentences={int(several)}\n"
    frames = [header.encode()]
    for d in documents:
        ends = np.cumsum([len(s) for s in d], dtype="<u4") if several else np.zeros(0, "<u4")
        frames.append(struct.pack("<I", len(ends)) + ends.tobytes() + np.concatenate(d).astype(dtype).tobytes())
    return b"".join(b"%08x" % len(f) + f for f in frames) + b"00000000"


def make_documents(seed, vocabulary, most):
    rng = np.random.default_rng(seed)
    return [[rng.integers(0, vocabulary - 1, rng.integers(1, 60)) for _ in range(rng.integers(1, most + 1))]
            for _ in range(300)]


def write_as_megatron(path, documents, vocabulary, end):
    """Writes what Megatron's preprocess_data writes with --append-eod."""
    builder = IndexedDatasetBuilder(path + ".bin", dtype=DType.optimal_dtype(vocabulary))
    for d in documents:
        sentences = [list(map(int, s)) for s in d]
        sentences[-1].append(end)
        builder.add_document(torch.IntTensor([i for s in sentences for i in s]), [len(s) for s in sentences])
    builder.finalize(path + ".idx")


def check(dir, vocabulary, most):
    documents = make_documents(vocabulary + most, vocabulary, most)
    ours, theirs, end = dir + "/ours", dir + "/theirs", vocabulary - 1
    subprocess.run(["tfwrite", "-q", "--layout", "megatron", "--force", "-o", ours], check=True,
                   input=token_stream(documents, vocabulary, end))
    data = IndexedDataset(ours)
    sentences = [list(s) + ([end] if k == len(d) - 1 else []) for d in documents for k, s in enumerate(d)]
    assert len(data) == len(sentences)
    assert all(data[i].tolist() == [int(t) for t in s] for i, s in enumerate(sentences))
    assert data.sequence_lengths.tolist() == [len(s) for s in sentences]
    assert data.document_indices.tolist() == [0] + np.cumsum([len(d) for d in documents]).tolist()
    write_as_megatron(theirs, documents, vocabulary, end)
    for ending in ".bin", ".idx":
        assert open(ours + ending, "rb").read() == open(theirs + ending, "rb").read(), (vocabulary, most, ending)
    subprocess.run(["tfwrite", "verify", "-q", theirs], check=True, stdout=subprocess.DEVNULL)


def check_merge(dir, vocabulary):
    """tfwrite merge gives the result of add_index: with several sequences per document, and for pairs of one document
    and of many."""
    parts = [make_documents(1, vocabulary, 4), make_documents(2, vocabulary, 1)[:1], make_documents(3, vocabulary, 4)]
    builder = IndexedDatasetBuilder(dir + "/joined.bin", dtype=DType.optimal_dtype(vocabulary))
    for k, documents in enumerate(parts):
        write_as_megatron(f"{dir}/part{k}", documents, vocabulary, vocabulary - 1)
        builder.add_index(f"{dir}/part{k}")
    builder.finalize(dir + "/joined.idx")
    subprocess.run(["tfwrite", "merge", "-q", "--force", "-o", dir + "/merged"] + [f"{dir}/part{k}" for k in range(3)], check=True)
    for ending in ".bin", ".idx":
        assert open(dir + "/merged" + ending, "rb").read() == open(dir + "/joined" + ending, "rb").read(), (vocabulary, ending)


with tempfile.TemporaryDirectory() as folder:
    for size in 50257, 65499, 65500, 100000:
        for most_sentences in 1, 5:
            check(folder, size, most_sentences)
        check_merge(folder, size)
