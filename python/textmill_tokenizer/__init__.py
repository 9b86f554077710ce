"""Text to token ids and back.

    >>> from textmill_tokenizer import Tokenizer
    >>> t = Tokenizer("tokenizer.json")
    >>> t.encode("The Moon")
    array([464, 6869], dtype=uint32)
    >>> t.decode([464, 6869])
    'The Moon'

Ids are those of Hugging Face's tokenizers, tiktoken and SentencePiece for their files. Batches are encoded by all
processors without the interpreter's lock, and any number of threads may use one Tokenizer.
"""
import ctypes
import functools
import operator
import os

import numpy

__all__ = ["Tokenizer", "TokenizerError"]

_SPECIAL, _WRAP, _STRICT, _CHARACTERS, _BYTES, _SKIP_SPECIAL = 1, 2, 4, 8, 16, 32
_LIBRARY = "libtextmill-tokenizer.so.0"
_own = os.path.join(os.path.dirname(os.path.abspath(__file__)), _LIBRARY)
_lib = ctypes.CDLL(_own if os.path.exists(_own) else _LIBRARY)


class TokenizerError(ValueError):
    """An error of the library about a vocabulary, a text or ids."""


class _Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 1024)]


class _Tokens(ctypes.Structure):
    _fields_ = [("ids", ctypes.c_void_p), ("ends", ctypes.c_void_p), ("texts", ctypes.c_uint64),
                ("offsets", ctypes.c_void_p), ("replaced", ctypes.c_uint64)]


class _Texts(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("ends", ctypes.c_void_p), ("texts", ctypes.c_uint64)]


def _declare(name, result, *arguments):
    function = getattr(_lib, name)
    function.restype = result
    function.argtypes = arguments
    return function


_P, _U64, _SIZE = ctypes.c_void_p, ctypes.c_uint64, ctypes.POINTER(ctypes.c_size_t)
_open = _declare("textmill_open", _P, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_Error))
_close = _declare("textmill_close", None, _P)
_size = _declare("textmill_vocabulary_size", ctypes.c_uint32, _P)
_token = _declare("textmill_token", _P, _P, ctypes.c_uint32, _SIZE)
_find = _declare("textmill_find", ctypes.c_int64, _P, ctypes.c_char_p, ctypes.c_size_t)
_end_of_text = _declare("textmill_end_of_text", ctypes.c_int64, _P)
_encode = _declare("textmill_encode", ctypes.c_int, _P, _P, _P, _U64, ctypes.c_uint, ctypes.c_int,
                   ctypes.POINTER(_Tokens), ctypes.POINTER(_Error))
_tokens_free = _declare("textmill_tokens_free", None, ctypes.POINTER(_Tokens))
_decode = _declare("textmill_decode", ctypes.c_int, _P, _P, _P, _U64, ctypes.c_uint, ctypes.c_int,
                   ctypes.POINTER(_Texts), ctypes.POINTER(_Error))
_texts_free = _declare("textmill_texts_free", None, ctypes.POINTER(_Texts))


def _fail(why):
    raise TokenizerError(why.text.decode("utf-8", "replace"))


def _copy(address, count, dtype):
    """Returns a NumPy array with a copy of memory of the library."""
    made = numpy.empty(count, dtype)
    if count:
        ctypes.memmove(made.ctypes.data, address, made.nbytes)
    return made


def _address(data):
    """Returns the address of the bytes of an object with a buffer, and an array that keeps the object alive."""
    view = numpy.frombuffer(data, numpy.uint8) if len(data) else numpy.empty(1, numpy.uint8)
    return view.ctypes.data, view


def _whole(values, dtype, what):
    """Returns an array of one dimension, or raises if a value is no whole number or does not fit the type."""
    made = numpy.asarray(values)
    if not made.size and made.ndim == 1:
        return numpy.empty(0, dtype)
    if made.ndim != 1 or made.dtype.kind not in "iu":
        raise TokenizerError(f"{what} are whole numbers in one dimension, not {made.dtype} in {made.ndim}")
    if int(made.min()) < 0 or int(made.max()) > numpy.iinfo(dtype).max:
        raise TokenizerError(f"{what} go from 0 to {numpy.iinfo(dtype).max}, not from {made.min()} to {made.max()}")
    return numpy.ascontiguousarray(made, dtype)


def _bytes(text):
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


class Tokenizer:
    """A vocabulary: tokenizer.json, vocab.json with merges.txt, vocab.txt, .tiktoken, a SentencePiece .model, or a
    folder with one of them. `options` are those of tokenize(1): pattern="cl100k", missing="drop", rules="google",
    case="cased". A Tokenizer never changes, so its copies are itself. A pickled one holds the path and the options, and
    is read from the file again where it is unpickled."""

    def __init__(self, path, **options):
        why = _Error()
        text = ",".join(f"{name}={value}" for name, value in options.items())
        handle = _open(os.fsencode(path), text.encode(), ctypes.byref(why))
        if not handle:
            _fail(why)
        self._handle = handle
        self._opened = os.path.abspath(os.fspath(path)), options

    def __del__(self):
        if hasattr(self, "_handle"):
            _close(self._handle)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        path, options = self._opened
        return functools.partial(type(self), **options), (path,)

    def __repr__(self):
        path, options = self._opened
        return f"{type(self).__name__}({', '.join([repr(path), *(f'{k}={v!r}' for k, v in options.items())])})"

    def __len__(self):
        return _size(self._handle)

    @property
    def end_of_text(self):
        """Returns the id of the token that ends a text, or None."""
        id = _end_of_text(self._handle)
        return None if id < 0 else id

    def token(self, id):
        """Returns the bytes of a token, or None if the id has none."""
        id, n = operator.index(id), ctypes.c_size_t()
        if not 0 <= id < len(self):
            raise TokenizerError(f"id {id} is not in the vocabulary of {len(self)} tokens")
        address = _token(self._handle, id, ctypes.byref(n))
        return ctypes.string_at(address, n.value) if address else None

    def find(self, token):
        """Returns the id of the token with exactly these bytes, or None."""
        data = bytes(_bytes(token))
        id = _find(self._handle, data, len(data))
        return None if id < 0 else id

    def encode_buffer(self, data, ends, *, special=False, wrap=False, strict=False, offsets=None, threads=0):
        """Encodes several texts, which are stored one after the other in `data`, an object with a buffer. `ends` has the
        end of each text, as an Arrow column without its first 0. Returns ids, the end of each text's ids, and with
        offsets="characters" or "bytes" an array of begins and ends, else None."""
        how = _SPECIAL * special | _WRAP * wrap | _STRICT * strict
        how |= {None: 0, "characters": _CHARACTERS, "bytes": _BYTES}[offsets]
        ends = _whole(ends, numpy.uint64, "ends")
        address, kept = _address(data)
        if len(ends) and int(ends[-1]) > len(data):
            raise TokenizerError("the last text ends behind the data")
        tokens, why = _Tokens(), _Error()
        if _encode(self._handle, address, ends.ctypes.data, len(ends), how, threads, ctypes.byref(tokens),
                   ctypes.byref(why)) < 0:
            _fail(why)
        try:
            made_ends = _copy(tokens.ends, len(ends), numpy.uint64)
            count = int(made_ends[-1]) if len(ends) else 0
            places = _copy(tokens.offsets, 2 * count, numpy.uint32).reshape(count, 2) if offsets else None
            return _copy(tokens.ids, count, numpy.uint32), made_ends, places
        finally:
            _tokens_free(ctypes.byref(tokens))

    def encode(self, text, *, offsets=None, **how):
        """Returns the ids of a text (str or bytes); with `offsets`, returns ids and offsets."""
        data = _bytes(text)
        ids, _, places = self.encode_buffer(data, [len(data)], offsets=offsets, threads=1, **how)
        return (ids, places) if offsets else ids

    def encode_batch(self, texts, *, offsets=None, **how):
        """Returns the ids of each text, encoded on all processors; with `offsets`, returns a pair of lists."""
        parts = [_bytes(text) for text in texts]
        ends = numpy.cumsum(numpy.fromiter(map(len, parts), numpy.uint64, len(parts)), dtype=numpy.uint64)
        ids, ends, places = self.encode_buffer(b"".join(parts), ends, offsets=offsets, **how)
        bounds = [0, *ends.tolist()]
        each = [ids[a:b] for a, b in zip(bounds, bounds[1:])]
        return (each, [places[a:b] for a, b in zip(bounds, bounds[1:])]) if offsets else each

    def decode_buffer(self, ids, ends, *, skip_special=False, threads=0):
        """Returns the bytes of the texts, one after the other, and the end of each text."""
        ids, ends = _whole(ids, numpy.uint32, "ids"), _whole(ends, numpy.uint64, "ends")
        if len(ends) and int(ends[-1]) > len(ids):
            raise TokenizerError("the last text ends behind the ids")
        texts, why = _Texts(), _Error()
        if _decode(self._handle, ids.ctypes.data, ends.ctypes.data, len(ends), _SKIP_SPECIAL * skip_special, threads,
                   ctypes.byref(texts), ctypes.byref(why)) < 0:
            _fail(why)
        try:
            made_ends = _copy(texts.ends, len(ends), numpy.uint64)
            count = int(made_ends[-1]) if len(ends) else 0
            return bytes((ctypes.c_char * count).from_address(texts.bytes)) if count else b"", made_ends
        finally:
            _texts_free(ctypes.byref(texts))

    def decode_bytes(self, ids, **how):
        return self.decode_buffer(ids, [len(ids)], threads=1, **how)[0]

    def decode(self, ids, **how):
        """Returns the text of ids. Bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(ids, **how).decode("utf-8", "replace")

    def decode_batch(self, batch, **how):
        parts = [_whole(ids, numpy.uint32, "ids") for ids in batch]
        ends = numpy.cumsum(numpy.fromiter(map(len, parts), numpy.uint64, len(parts)), dtype=numpy.uint64)
        ids = numpy.concatenate(parts) if parts else numpy.empty(0, numpy.uint32)
        data, ends = self.decode_buffer(ids, ends, **how)
        bounds = [0, *ends.tolist()]
        return [data[a:b].decode("utf-8", "replace") for a, b in zip(bounds, bounds[1:])]
