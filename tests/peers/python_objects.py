"""python/: a Tokenizer as an object: copies, pickles, pools of forked and of spawned processes; wrong ids raise. It has no peer."""
import copy
import multiprocessing
import os
import pickle
import sys

try:
    import numpy
except ImportError:
    sys.exit(77)

from lib.paths import DATA, need_data
from lib.python_package import install

FILE = os.path.join(DATA, "tokenizers/gpt2-tokenizer.json")


def encode(work):
    tokenizer, text = work
    return tokenizer.encode(text).tolist()


def decode_batch(tokenizer):
    return tokenizer.decode_batch([[464, 6869]] * 1000)[-1]


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
    raises(lambda: Tokenizer.__new__(Tokenizer).encode("a"), AttributeError)
    assert t.decode([]) == "" and t.decode(numpy.array([464, 6869], numpy.int64)) == "The Moon"
    print("python_objects: copies, pickles, pools and wrong ids")


if __name__ == "__main__":
    need_data()
    install()
    main()
