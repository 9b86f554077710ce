"""python/: a Tokenizer as an object: copies, pickles, pools of forked and of spawned processes; wrong ids raise. It has no peer."""
import ast
import copy
import json
import multiprocessing
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

try:
    import numpy
except ImportError:
    sys.exit(77)

from lib.paths import DATA, ROOT, need_data
from lib.python_package import install

FILE = os.path.join(DATA, "tokenizers/gpt2-tokenizer.json")


def encode(work):
    tokenizer, text = work
    return tokenizer.encode(text).tolist()


def decode_batch(tokenizer):
    return tokenizer.decode_batch([[464, 6869]] * 1000)[-1]


def released(tokenizer):
    """Another thread goes on while a batch is encoded."""
    turns, ended = [], threading.Event()

    def count():
        while not ended.is_set():
            turns.append(time.monotonic())

    other = threading.Thread(target=count)
    other.start()
    begin = time.monotonic()
    tokenizer.encode_batch(["one two three " * 100000] * 8, threads=1)
    end = time.monotonic()
    ended.set()
    other.join()
    assert sum(begin < at < end for at in turns) > 100


class Shrinks:
    """A number that empties the list in which it is."""

    def __index__(self):
        self.all.clear()
        return 1


class Fails:
    """A number that raises an error, and a sequence that does."""

    def __index__(self):
        raise LookupError("of the caller")

    __iter__ = __index__


def editable():
    """`pip install -e` puts the module beside the source, where Python looks for it; an sdist would lack what it is made of."""
    with tempfile.TemporaryDirectory() as folder:
        for part in "python", "debian/copyright", "Makefile":
            copy_of = os.path.join(folder, part)
            os.makedirs(os.path.dirname(copy_of), exist_ok=True)
            (shutil.copytree if part == "python" else shutil.copy)(os.path.join(ROOT, part), copy_of)
        made = os.path.join(folder, "python/textmill_tokenizer/_core.abi3.so")
        if os.path.exists(made):
            os.remove(made)
        with open(os.path.join(folder, "make"), "w") as f:  # it compiles nothing
            f.write(f"#!/bin/sh\nmkdir -p {folder}/build/python/release/python && : >{folder}/build/python/release/python/_core.abi3.so\n")
        os.chmod(f.name, 0o755)
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", f"{folder}/target"]
        subprocess.run([*pip, "-e", f"{folder}/python"], check=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        assert os.path.exists(made)
        sdist = subprocess.run([sys.executable, "setup.py", "-q", "sdist"], cwd=f"{folder}/python", capture_output=True, text=True)
        assert sdist.returncode and "make dist" in sdist.stderr, sdist


def raises(call, *errors):
    try:
        call()
    except errors as e:
        assert str(e)
    else:
        sys.exit("no error")


def main():
    from textmill_tokenizer import Tokenizer, TokenizerError
    t = Tokenizer(FILE)
    want = t.encode("The Moon").tolist()
    for made in (copy.copy(t), copy.deepcopy([t])[0], pickle.loads(pickle.dumps(t)), pickle.loads(pickle.dumps(t, 0))):
        assert made.encode("The Moon").tolist() == want
        del made
    assert t.encode("The Moon").tolist() == want, "the copies are gone, the first one is not"
    google = Tokenizer(os.path.join(DATA, "tokenizers/bert-base-uncased-vocab.txt"), rules="google")
    assert pickle.loads(pickle.dumps(google)).encode("Moon").tolist() == google.encode("Moon").tolist()
    assert repr(t) == f"Tokenizer({os.path.abspath(FILE)!r})"
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map_async(encode, [(t, "The Moon")] * 8).get(120) == [want] * 8, method
            assert pool.apply_async(decode_batch, (t,)).get(120) == "The Moon", method
    size = len(t)
    for ids in ([size], [-1], [1 << 32], [1 << 70], [1.5], ["a"], [[1]], [None], [True], numpy.array([464.0])):
        raises(lambda: t.decode(ids), TokenizerError)
        raises(lambda: t.decode_batch([[464], ids]), TokenizerError)
    for id in (size, -1, 1 << 32, (1 << 32) + 464):
        raises(lambda: t.token(id), TokenizerError)
    raises(lambda: t.token(1.5), TypeError)
    raises(lambda: t.encode_buffer(b"ab", [1.5]), TokenizerError)
    raises(lambda: t.encode_buffer(b"ab", [-1]), TokenizerError)
    raises(lambda: Tokenizer.__new__(Tokenizer).encode("a"), TokenizerError)
    for array in (numpy.array([464, -1], numpy.int32), numpy.array([[464]]), numpy.array([1 << 63], numpy.uint64), numpy.array([True])):
        raises(lambda: t.decode(array), TokenizerError)
    for array in (numpy.array([[464]], numpy.uint32), numpy.array([1 << 30], numpy.uint32), numpy.array(464, numpy.uint32)):
        raises(lambda: t.decode(array), TokenizerError)
    ids = numpy.array([464, 1, 6869, 1], numpy.uint32)
    for array in (ids[::2], ids.reshape(2, 2)[:, 0], memoryview(ids[::2].copy())):
        assert t.decode(array) == "The Moon" and t.decode_batch([array, []]) == ["The Moon", ""]
    shrinks = [464, Shrinks(), 6869]
    shrinks[1].all = shrinks
    raises(lambda: t.decode(shrinks), IndexError, TokenizerError)
    for wrong in (lambda: t.decode([Fails()]), lambda: t.decode(Fails()), lambda: t.encode_buffer(b"a", Fails())):
        raises(wrong, LookupError)
    for array in (ids[::2].astype(">u4"), ids[::2].astype(object), numpy.array([464, 6869], ">i2")):
        assert t.decode(array) == "The Moon" and t.encode_buffer(b"a" * 6869, array)[1].tolist() == t.encode_buffer(b"a" * 6869, [464, 6869])[1].tolist()
    for wrong in (numpy.array([[1, 2]]), numpy.array([["a", "b"]]), memoryview(ids)):
        raises(lambda: t.encode(wrong), TypeError)
        raises(lambda: t.encode_batch(wrong), TypeError)
    raises(lambda: t.encode_padded(["a"], pad=0, offsets="bytes"), TypeError)
    assert repr(Tokenizer(os.fsencode(FILE))) == repr(t)
    raises(lambda: t.encode("a", threads=2), TypeError)
    raises(lambda: t.encode("a", offsets="words"), TokenizerError)
    raises(lambda: t.encode(7), TypeError)
    raises(lambda: t.encode_batch("The Moon"), TypeError)
    raises(lambda: t.__init__(FILE), TokenizerError)
    for array in (numpy.array([464, 1, 6869, 1])[::2], numpy.array([464, 6869], numpy.uint16), range(464, 465), (464, 6869), iter([464])):
        assert t.decode(array) in ("The Moon", "The")
    for text in ("", b"", bytearray(b"The Moon"), memoryview(b"The Moon"), "The Moon"):
        ids, places = t.encode(text, offsets="bytes")
        assert ids.dtype == places.dtype == numpy.uint32 and places.shape == (len(ids), 2)
        assert t.decode(ids) == (text if isinstance(text, str) else bytes(text).decode())
    assert t.decode(t.encode("a\ud800")) == "a\ufffd\ufffd\ufffd"
    ids = t.encode("The Moon")
    ids[0] = 1  # the memory is the caller's
    assert t.encode_batch([]) == [] and t.decode_batch([]) == [] and t.encode_batch(iter(["The", b"The"]))[1].tolist() == [464]
    assert t.special_ids == {"<|endoftext|>": 50256} == {"<|endoftext|>": t.end_of_text} and t.is_special(50256) and not t.is_special(0)
    import textmill_tokenizer
    assert re.fullmatch(r"\d+\.\d+\.\d+", textmill_tokenizer.__version__)
    stubs = ast.parse(open(textmill_tokenizer.__file__ + "i").read())
    stated = {n.name for c in stubs.body if isinstance(c, ast.ClassDef) and c.name == "Tokenizer" for n in c.body if isinstance(n, ast.FunctionDef)}
    public = {name for name in dir(Tokenizer) if not name.startswith("_")} - {"special_ids"}
    assert public == {name for name in stated if not name.startswith("_")}, public ^ stated
    shards, = (c for c in stubs.body if isinstance(c, ast.ClassDef) and c.name == "Shards")
    stated = {n.name for n in shards.body if isinstance(n, ast.FunctionDef)}
    defined = {name for name, value in vars(textmill_tokenizer.Shards).items() if callable(value)} - {"__reduce__"}
    assert stated == defined, "without one of them, type checkers take the class for an abstract one"
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:  # a vocabulary without "a"
        json.dump({"model": {"type": "BPE", "vocab": {"C": 0, "G": 1}, "merges": []},
                   "added_tokens": [{"id": 2, "content": "[CLS]", "special": True}, {"id": 3, "content": "[SEP]", "special": True}],
                   "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]}}, f)
        f.flush()
        assert Tokenizer(f.name).encode_padded(["CG", "G"], pad=9, wrap=True)[0].tolist() == [[2, 0, 1, 3], [2, 1, 3, 9]]
    editable()
    released(t)
    assert t.decode([]) == "" and t.decode(numpy.array([464, 6869], numpy.int64)) == "The Moon"
    print("python_objects: copies, pickles, pools and wrong ids")


if __name__ == "__main__":
    need_data()
    install()
    main()
