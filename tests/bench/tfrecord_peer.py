"""tfrecord_peer.py FILE: MB a second of file, by processor time, that PyPI's tfrecord writes and reads."""
import itertools
import os
import sys
import time

sys.path.pop(0)
from tfrecord import reader, writer

path, count = sys.argv[1], 256
for _ in range(3):
    rows = [[int(i) for i in r["input_ids"]] for r in itertools.islice(reader.tfrecord_loader(path, None), count)]
    a = time.process_time()
    w = writer.TFRecordWriter("out")
    for row in rows:
        w.write({"input_ids": (row, "int")})
    w.close()
    b = time.process_time()
    total = sum(len(r["input_ids"]) for r in reader.tfrecord_loader("out", None))
    c = time.process_time()
    assert total == 1025 * len(rows)
    mb = os.path.getsize("out") * 1e-6
    print(f"{mb / (b - a):.1f} {mb / (c - b):.1f}")
