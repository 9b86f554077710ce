"""Text to token ids and back.

    >>> from textmill_tokenizer import Tokenizer
    >>> t = Tokenizer("tokenizer.json")
    >>> t.encode("The Moon")
    array([464, 6869], dtype=uint32)
    >>> t.decode([464, 6869])
    'The Moon'
    >>> t.special_ids
    {'<|endoftext|>': 50256}

Ids are those of Hugging Face's tokenizers, tiktoken and SentencePiece for their files. Batches are encoded by all
processors without the interpreter's lock, and any number of threads may use one Tokenizer.
"""
import functools
import json
import os

import numpy

from . import _core
from ._core import TokenizerError
from .data import Shards, documents

__all__ = ["Shards", "Tokenizer", "TokenizerError", "documents"]
__version__ = _core.version


class Tokenizer(_core.Tokenizer):
    """A vocabulary: tokenizer.json, tekken.json, vocab.json with merges.txt, vocab.txt, .tiktoken, a SentencePiece .model,
    a GGUF file, or a folder with one of the others. `options` are those of tokenize(1): pattern="cl100k", missing="drop", rules="google",
    case="cased". A Tokenizer never changes, so its copies are itself. A pickled one holds the path and the options, and
    is read from the file again where it is unpickled. The types of all methods are in __init__.pyi."""

    def __init__(self, path, **options):
        super().__init__(os.fsencode(path), ",".join(f"{name}={value}" for name, value in options.items()).encode())
        self._opened = os.path.abspath(os.fsdecode(path)), options

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

    @functools.cached_property
    def special_ids(self):
        """The ids of the special tokens, by name."""
        return {self.token(id).decode("utf-8", "replace"): id for id in range(len(self)) if self.is_special(id)}

    @functools.cached_property
    def _around(self):
        """The special tokens before and after a text."""
        names = (self.token(id) or b"" for id in range(len(self)) if not self.is_special(id))
        name = next((name for name in names if len(self.encode(name))), b"")
        whole, text = self.encode(name, wrap=True), self.encode(name)
        at = next(i for i in range(len(whole)) if (whole[i:i + len(text)] == text).all())
        return whole[:at], whole[at + len(text):]

    def apply_chat_template(self, conversation, *, form="auto", add_generation_prompt=False, return_assistant_tokens_mask=False):
        """Returns the ids of a list of messages, {"role": "user", "content": "Hi"}, or of one {"prompt": "Hi", "answer": "Hello"}, in a
        form of tokenize(1)'s --chat: "chatml", "phi4", "llama3", "nanochat", "text", or "auto": that whose special tokens and chat
        template the vocabulary has. add_generation_prompt puts the beginning of the assistant's next message behind them. With
        return_assistant_tokens_mask, returns ids and an array with 1 for each id that the assistant says, and 0 for others."""
        whole = conversation if isinstance(conversation, dict) else {"messages": list(conversation)}
        use = 2 if add_generation_prompt else 0 if return_assistant_tokens_mask else 1
        ids, ends, _ = self._chat(form.encode(), json.dumps(whole).encode(), use)
        kinds = numpy.arange(len(ends), dtype=numpy.uint8) & 1
        return (ids, kinds.repeat(numpy.diff(ends.astype(int), prepend=0))) if return_assistant_tokens_mask else ids

    def as_hf(self, **options):
        """Returns a PreTrainedTokenizerFast of transformers (5 or later) with the ids of this Tokenizer. Special tokens, lengths and the chat
        template come from the files beside the vocabulary; `options`, such as pad_token="<pad>", add to them."""
        from . import hf
        return hf.make(self, self._opened[0], options)

    def encode_padded(self, texts, *, pad, length=None, side="right", wrap=False, special=False, strict=False, threads=0):
        """Returns the ids of the texts as the rows of one array, and an array with 1 for each id and 0 for padding. Texts whose
        ids are more than `length` lose the last ones; special tokens around a text stay. `pad` is the id that fills the rows, on
        the right or on the left."""
        if side not in ("right", "left"):
            raise TokenizerError(f"side is 'right' or 'left', not {side!r}")
        before, after = self._around if wrap else ((), ())
        room = None if length is None else length - len(before) - len(after)
        if room is not None and room < 0:
            raise TokenizerError(f"length {length} leaves no room beside {len(before) + len(after)} special tokens")
        texts = [text[:room] for text in self.encode_batch(texts, special=special, strict=strict, threads=threads)]
        width = max(map(len, texts), default=0) + len(before) + len(after)
        ids = numpy.full((len(texts), width), pad, numpy.uint32)
        mask = numpy.zeros(ids.shape, numpy.uint8)
        for row, kept, text in zip(ids, mask, texts):
            own = slice(0, len(before) + len(text) + len(after))
            own = own if side == "right" else slice(width - own.stop, width)
            row[own], kept[own] = numpy.concatenate([before, text, after]), 1
        return ids, mask
