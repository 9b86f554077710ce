"""tfrecord_peer.py tfrecord|tensorflow FILE: prints the MB per second of FILE, in processor time on one thread, at which
the peer writes and reads; three times. TensorFlow reads in batches, which is its fastest way."""
import itertools
import os
import sys
import time

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", TF_NUM_INTRAOP_THREADS="1", TF_NUM_INTEROP_THREADS="1")
sys.path.pop(0)
IDS, BATCH = 1025, 64


def pypi():
    from tfrecord import reader, writer

    def write(rows):
        out = writer.TFRecordWriter("out")
        for row in rows:
            out.write({"input_ids": (row, "int")})
        out.close()

    return write, lambda path: (r["input_ids"] for r in reader.tfrecord_loader(path, None)), 256


def tensorflow():
    import tensorflow as tf
    train = tf.train
    features = {"input_ids": tf.io.FixedLenFeature([IDS], tf.int64)}

    def write(rows):
        with tf.io.TFRecordWriter("out") as out:
            for row in rows:
                ids = train.Feature(int64_list=train.Int64List(value=row))
                out.write(train.Example(features=train.Features(feature={"input_ids": ids})).SerializeToString())

    def read(path):
        data = tf.data.TFRecordDataset(path).batch(BATCH).map(lambda r: tf.io.parse_example(r, features)["input_ids"])
        options = tf.data.Options()
        options.threading.private_threadpool_size = 1
        for batch in data.with_options(options):
            yield from batch.numpy()

    return write, read, 4096


write, read, count = {"tfrecord": pypi, "tensorflow": tensorflow}[sys.argv[1]]()
rows = [[int(i) for i in ids] for ids in itertools.islice(read(sys.argv[2]), count)]
for _ in range(3):
    a = time.process_time()
    write(rows)
    b = time.process_time()
    total = sum(len(ids) for ids in read("out"))
    c = time.process_time()
    assert total == IDS * len(rows)
    mb = os.path.getsize("out") * 1e-6
    print(f"{mb / (b - a):.1f} {mb / (c - b):.1f}")
