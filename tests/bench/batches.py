"""batches.py PACKAGE LIBRARY VOCABULARY TEXT: the batch calls of the Python binding in PACKAGE beside the same calls of the C library, which is
the file LIBRARY (libtextmill-tokenizer.so), in this process: processor time, one thread, in turn, medians of 15 rounds. TEXT is divided
into documents of 4 KB, and into lines. C has the texts as the call has them: all in one object, or each in its own. Prints for
encode_buffer, encode_batch, decode_batch of arrays, and decode_batch of lists: MB/s, C's speed as 1; and C's time and that which Python
itself needs to read and make the objects, as a share of the call's: what no binding can do without. Python's time is that of slices of an
array, of strings from bytes, of memoryviews of the arrays, and of array.array from the lists. encode_buffer and encode_batch(flat=True)
make no objects for texts."""
import array
import ctypes
import gc
import statistics
import sys
import time

import numpy

package, library, vocabulary, path = sys.argv[1:]
sys.path.insert(0, package)
from textmill_tokenizer import Tokenizer  # noqa: E402

C = ctypes.CDLL(library)
POINTER, U64 = ctypes.c_void_p, ctypes.c_uint64
C.textmill_open.restype, C.textmill_open.argtypes = POINTER, [ctypes.c_char_p, ctypes.c_char_p, POINTER]
for call in C.textmill_encode, C.textmill_encode_texts, C.textmill_decode:
    call.argtypes = [POINTER, POINTER, POINTER, U64, ctypes.c_uint, ctypes.c_int, POINTER, POINTER]
for call in C.textmill_tokens_free, C.textmill_texts_free:
    call.argtypes = [POINTER]


class Result(ctypes.Structure):  # struct textmill_tokens, and the shorter struct textmill_texts
    _fields_ = [("data", POINTER), ("ends", POINTER), ("texts", U64), ("offsets", POINTER), ("replaced", U64)]


def medians(*ways):
    times = [[] for _ in ways]
    for _ in range(15):
        for way, spent in zip(ways, times):
            begin = time.process_time()
            made = way()
            del made
            spent.append(time.process_time() - begin)
    return [statistics.median(spent) for spent in times]


def of_c(call, free, *args):
    result = Result()
    assert call(*args, 0, 1, ctypes.byref(result), None) == 0
    free(ctypes.byref(result))


def compare(docs, what):
    raws = [doc.encode() for doc in docs]
    data, ids = b"".join(raws), ours.encode_batch(docs, threads=1)
    flat, lists = numpy.concatenate(ids), [row.tolist() for row in ids]
    byte_ends, id_ends = (numpy.cumsum([len(x) for x in rows], dtype=numpy.uint64) for rows in (raws, ids))
    assert ours.decode_batch(ids) == ours.decode_batch(lists) == docs
    apart = (ctypes.c_char_p * len(raws))(*raws)
    encode = medians(
        lambda: of_c(C.textmill_encode, C.textmill_tokens_free, theirs, data, byte_ends.ctypes.data, len(docs)),
        lambda: of_c(C.textmill_encode_texts, C.textmill_tokens_free, theirs, apart, byte_ends.ctypes.data, len(docs)),
        lambda: ours.encode_batch(docs, threads=1), lambda: [row[:] for row in ids], lambda: ours.encode_buffer(data, byte_ends, threads=1),
        lambda: ours.encode_batch(docs, threads=1, flat=True))
    decode = medians(
        lambda: of_c(C.textmill_decode, C.textmill_texts_free, theirs, flat.ctypes.data, id_ends.ctypes.data, len(docs)),
        lambda: ours.decode_batch(ids, threads=1), lambda: ours.decode_batch(lists, threads=1), lambda: [raw.decode() for raw in raws],
        lambda: [memoryview(row) for row in ids], lambda: [array.array("I", row) for row in lists])
    for name, c, own, objects in (("encode_buffer", encode[0], encode[4], 0), ("encode_batch, flat", encode[1], encode[5], 0),
                                  ("encode_batch", encode[1], encode[2], encode[3]), ("decode_batch, arrays", decode[0], decode[1], decode[3] + decode[4]),
                                  ("decode_batch, lists", decode[0], decode[2], decode[3] + decode[5])):
        print(f"{what}, {len(docs)} documents, {name}: {1e-6 * len(data) / own:.0f} MB/s, {c / own:.2f} of C's, "
              f"C and objects {(c + objects) / own:.2f}", flush=True)


gc.disable()  # a collection would count for whoever allocates next
ours, theirs = Tokenizer(vocabulary), C.textmill_open(vocabulary.encode(), None, None)
with open(path, encoding="utf-8", newline="") as f:
    text = f.read(4 << 20)
compare([text[i:i + 4096] for i in range(0, len(text), 4096)], "4 KB")
compare(text.splitlines(keepends=True), "lines")
