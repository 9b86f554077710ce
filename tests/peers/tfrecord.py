"""Shards and Megatron pairs beside the readers and writers of other programs: PyPI's tfrecord (with protobuf's own
parser) and numpy."""
import json
import os
import subprocess
import struct
import sys
import tempfile

sys.path.pop(0)  # this file is called like the package
try:
    import numpy as np
    from tfrecord import example_pb2, reader, writer
    from tfrecord.tools import tfrecord2idx
except ImportError:
    sys.exit(77)

DATA = os.environ.get("DATA") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../shared/data")
VOCABULARY, END = 50257, 50256


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


def token_stream(documents, vocabulary=VOCABULARY, end=END):
    """Writes the format of common/formats/stream.h."""
    dtype = "u16" if vocabulary <= 1 << 16 else "u32"
    header = f"textmill=tokens 1\ndtype={dtype}\nvocabulary={vocabulary}\nend_of_text={end}\nsentences=0\n"
    frames = [header.encode()]
    frames += [struct.pack("<I", 0) + np.asarray(d, "<" + dtype[0] + str(int(dtype[1:]) // 8)).tobytes()
               for d in documents]
    return b"".join(b"%08x" % len(f) + f for f in frames) + b"00000000"


def make_documents(seed, vocabulary=VOCABULARY):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, vocabulary - 1, rng.integers(1, 400)) for _ in range(200)]


def shards_are_read_by_others(dir):
    """PyPI's reader reads all windows in order, with our index and without."""
    documents = make_documents(1)
    run("tfwrite", "-q", "--no-shuffle", "--sequence-length", "64", "--shards", "3", "-o", dir + "/out",
        input=token_stream(documents))
    joined = np.concatenate([np.append(d, END) for d in documents])
    windows = [joined[i : i + 65] for i in range(0, len(joined) - 64, 64)]
    got = []
    for k in range(3):
        path = f"{dir}/out/data-{k:05}-of-00003"
        tfrecord2idx.create_index(path + ".tfrecord", dir + "/index")
        assert open(dir + "/index").read() == open(path + ".index").read()
        rows = [r["input_ids"] for r in reader.tfrecord_loader(path + ".tfrecord", None, {"input_ids": "int"})]
        for shard in range(2):  # with an index, the reader gives a share of the records
            part = reader.tfrecord_loader(path + ".tfrecord", path + ".index", {"input_ids": "int"}, (shard, 2))
            begin, end = len(rows) * shard // 2, len(rows) * (shard + 1) // 2
            assert all((a["input_ids"] == b).all() for a, b in zip(part, rows[begin:end], strict=True))
        got += rows
    dealt = windows[0::3] + windows[1::3] + windows[2::3]
    assert len(got) == len(dealt) and all((a == b).all() for a, b in zip(got, dealt))


def messages_are_protobufs(dir):
    """The bytes of our Example equal those of protobuf's deterministic serializer."""
    run("tfwrite", "-q", "--sequence-length", "300", "--shards", "1", "-o", dir + "/bytes",
        input=token_stream(make_documents(2)))
    data = open(dir + "/bytes/data-00000-of-00001.tfrecord", "rb").read()
    at = 0
    while at < len(data):
        (n,) = struct.unpack_from("<Q", data, at)
        payload = data[at + 12 : at + 12 + n]
        example = example_pb2.Example.FromString(payload)
        assert example.SerializeToString(deterministic=True) == payload
        at += n + 16


def records_of_others_are_shown(dir):
    """protobuf writes all kinds of features, with extreme values; tfwrite shows them."""
    rng = np.random.default_rng(3)
    out = writer.TFRecordWriter(dir + "/others.tfrecord")
    want = []
    for i in range(50):
        ints = [int(x) >> int(s) for x, s in zip(rng.integers(-(2**63), 2**63 - 1, i), rng.integers(0, 63, i))]
        floats = [float(np.float32(x)) for x in rng.standard_normal(i) * 10.0 ** rng.integers(-30, 30, i)]
        texts = ["text \u00e9\u4e2d\n" * k for k in range(i % 4)]
        out.write({"ints": (ints, "int"), "floats": (floats, "float"), "a text": ([t.encode() for t in texts], "byte")})
        want.append({"a text": texts, "floats": floats, "ints": ints})
    out.close()
    lines = run("tfwrite", "show", "-q", dir + "/others.tfrecord").decode().splitlines()
    got = [json.loads(line) for line in lines]
    for line in got:
        line["floats"] = [float(np.float32(x)) for x in line["floats"]]
    assert got == want and [list(line) for line in got] == [sorted(line) for line in got]
    run("tfwrite", "index", "-q", dir + "/others.tfrecord")
    tfrecord2idx.create_index(dir + "/others.tfrecord", dir + "/index")
    assert open(dir + "/index").read() == open(dir + "/others.index").read()


def tensorflows_samples_are_shown():
    """TensorFlow's sample records are read by both readers."""
    for name, count in ("sample_text", 45), ("sample_text_packed", 44):
        path = f"{DATA}/bert/{name}.tfrecord"
        if not os.path.exists(path):
            print(f"no {path}")
            continue
        lines = run("tfwrite", "show", "-q", path).decode().splitlines()
        theirs = list(reader.tfrecord_loader(path, None))
        assert len(lines) == len(theirs) == count
        for line, their in zip(lines, theirs):
            ours = json.loads(line)
            assert ours.keys() == their.keys()
            assert all(np.array_equal(ours[k], their[k]) for k in ours)


def pairs_are_megatrons(dir):
    """numpy reads both files by Megatron's layout, for narrow and wide ids."""
    for vocabulary in VOCABULARY, 65499, 65500, 100000:
        documents = make_documents(4, vocabulary)
        run("tfwrite", "-q", "--layout", "megatron", "--force", "-o", dir + "/m",
            input=token_stream(documents, vocabulary, vocabulary - 1))
        dtype, code = (np.uint16, 8) if vocabulary < 65500 else (np.int32, 4)
        ended = [np.append(d, vocabulary - 1).astype(dtype) for d in documents]
        sizes = np.array([len(d) for d in ended], np.int32)
        pointers = np.concatenate([[0], np.cumsum(sizes[:-1], dtype=np.int64)]) * dtype().itemsize
        index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(sizes), len(sizes) + 1)
        index += sizes.tobytes() + pointers.tobytes() + np.arange(len(sizes) + 1, dtype=np.int64).tobytes()
        assert open(dir + "/m.bin", "rb").read() == np.concatenate(ended).tobytes()
        assert open(dir + "/m.idx", "rb").read() == index


with tempfile.TemporaryDirectory() as folder:
    shards_are_read_by_others(folder)
    messages_are_protobufs(folder)
    records_of_others_are_shown(folder)
    pairs_are_megatrons(folder)
tensorflows_samples_are_shown()
