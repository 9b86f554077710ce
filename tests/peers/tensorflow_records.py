"""TensorFlow's readers and writers: it reads and parses our shards in each of its compressions, and its files are shown
and used for training here."""
import json
import os
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.pop(0)  # this file is called like the package
try:
    import tensorflow as tf
except ImportError:
    sys.exit(77)

ROOT = os.environ.get("ROOT") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GPT, BERT = (f"{ROOT}/tests/golden/tfwrite/tfwrite-{layout}/docs.tokens" for layout in ("gpt", "bert"))
COMPRESSIONS = {"none": "", "gzip": "GZIP", "zlib": "ZLIB"}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def shown(path):
    return [json.loads(line) for line in run("tfwrite", "show", "-q", path).decode().splitlines()]


def shards(folder):
    return sorted(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".tfrecord"))


def windows_are_read(dir):
    for ours, theirs in COMPRESSIONS.items():
        run("tfwrite", "-q", "--sequence-length", "16", "--shards", "2", "--compression", ours, "-o", f"{dir}/{ours}", GPT)
        for path in shards(f"{dir}/{ours}"):
            data = tf.data.TFRecordDataset(path, compression_type=theirs)
            features = {"input_ids": tf.io.FixedLenFeature([17], tf.int64)}
            got = [tf.io.parse_single_example(r, features)["input_ids"].numpy().tolist() for r in data]
            assert got == [r["input_ids"] for r in shown(path)] and len(got) == 8


def instances_are_read(dir):
    S, M = 32, 6
    features = {name: tf.io.FixedLenFeature([n], kind) for name, n, kind in (
        ("input_ids", S, tf.int64), ("input_mask", S, tf.int64), ("segment_ids", S, tf.int64),
        ("masked_lm_positions", M, tf.int64), ("masked_lm_ids", M, tf.int64), ("masked_lm_weights", M, tf.float32),
        ("next_sentence_labels", 1, tf.int64))}
    run("tfwrite", "-q", "--layout", "bert", "--sequence-length", str(S), "--mask-tokens", str(M), "--shards", "1",
        "--compression", "gzip", "-o", dir + "/bert", BERT)
    (path,) = shards(dir + "/bert")
    rows = shown(path)
    data = tf.data.TFRecordDataset(path, compression_type="GZIP")
    parsed = [tf.io.parse_single_example(r, features) for r in data]
    assert len(parsed) == len(rows) > 100
    for theirs, ours in zip(parsed, rows):
        assert {k: v.numpy().tolist() for k, v in theirs.items()} == ours


def files_of_tensorflow_are_read(dir):
    ids = [[(7 * i + k) % 400 for k in range(17)] for i in range(300)]
    for ours, theirs in COMPRESSIONS.items():
        os.makedirs(f"{dir}/theirs-{ours}")
        path = f"{dir}/theirs-{ours}/x.tfrecord"
        with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression_type=theirs)) as out:
            for i, row in enumerate(ids):
                out.write(tf.train.Example(features=tf.train.Features(feature={
                    "input_ids": tf.train.Feature(int64_list=tf.train.Int64List(value=row)),
                    "weight": tf.train.Feature(float_list=tf.train.FloatList(value=[i / 2])),
                    "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"row"]))})).SerializeToString())
        assert shown(path) == [{"input_ids": row, "name": ["row"], "weight": [i / 2]} for i, row in enumerate(ids)]
        assert b"300 records" in run("tfwrite", "verify", "-q", path)
    data = f"{dir}/theirs-zlib"
    run("train", "-q", "--data", data, "--vocabulary", "400", "--layers", "1", "--heads", "1", "--width", "16",
        "--sequence-length", "16", "--steps", "2", "-o", dir + "/model")


def damage_is_refused_by_both(dir):
    """A truncated stream: TensorFlow stops with an error at the same place as verify."""
    (path, _) = shards(dir + "/gzip")
    whole = open(path, "rb").read()
    with open(dir + "/cut", "wb") as out:
        out.write(whole[:-40])
    try:
        for _ in tf.data.TFRecordDataset(dir + "/cut", compression_type="GZIP"):
            pass
        raise AssertionError("TensorFlow reads it")
    except tf.errors.OpError:
        assert subprocess.run(["tfwrite", "verify", "-q", dir + "/cut"], stderr=subprocess.DEVNULL).returncode == 1


with tempfile.TemporaryDirectory() as folder:
    windows_are_read(folder)
    instances_are_read(folder)
    files_of_tensorflow_are_read(folder)
    damage_is_refused_by_both(folder)
