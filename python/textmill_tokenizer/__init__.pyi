from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, overload

import numpy
from numpy.typing import NDArray

__version__: str

_Text = str | bytes | bytearray | memoryview
_Ids = Iterable[int] | NDArray[numpy.integer]
_Array = NDArray[numpy.uint32]
_Ends = NDArray[numpy.uint64]
_Form = Literal["auto", "chatml", "phi4", "llama3", "nanochat", "text"]
_Row = dict[str, NDArray[numpy.int64] | NDArray[numpy.float32]]
_Offsets = Literal["characters", "bytes"]

class TokenizerError(ValueError):
    """An error of the library about a vocabulary, a text or ids."""

class Shards(Sequence[_Row]):
    path: str
    def __init__(self, path: str | PathLike[str]) -> None: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, i: int) -> _Row: ...
    @overload
    def __getitem__(self, i: slice) -> list[_Row]: ...

def documents(*paths: str | PathLike[str], **options: str | int | bool | None) -> Iterator[dict[str, Any]]: ...

class Tokenizer:
    special_ids: dict[str, int]
    @property
    def end_of_text(self) -> int | None:
        """The id of the token that ends a text."""
    def __init__(self, path: str | bytes | PathLike[str], **options: str) -> None: ...
    def __len__(self) -> int: ...
    def token(self, id: int) -> bytes | None:
        """Returns the bytes of a token, or None if the id has none."""
    def find(self, token: _Text) -> int | None:
        """Returns the id of the token with exactly these bytes, or None."""
    def is_special(self, id: int) -> bool: ...
    @overload
    def encode(self, text: _Text, *, special: bool = ..., wrap: bool = ..., strict: bool = ..., offsets: None = ...) -> _Array:
        """Returns the ids of a text. With `special`, spellings of special tokens become their ids; with `wrap`, the vocabulary's
        special tokens stand around the text; with `strict` or `offsets`, bytes that are not UTF-8 are an error. With `offsets`, returns
        ids and an array of begins and ends of the tokens in the text."""
    @overload
    def encode(self, text: _Text, *, special: bool = ..., wrap: bool = ..., strict: bool = ...,
               offsets: _Offsets) -> tuple[_Array, _Array]: ...
    @overload
    def encode_batch(self, texts: Iterable[_Text], *, special: bool = ..., wrap: bool = ..., strict: bool = ..., offsets: None = ...,
                     threads: int = ...) -> list[_Array]:
        """Returns the ids of each text, encoded on all processors (threads=0) or on some; with `offsets`, a pair of lists. The arrays
        are parts of one."""
    @overload
    def encode_batch(self, texts: Iterable[_Text], *, special: bool = ..., wrap: bool = ..., strict: bool = ..., offsets: _Offsets,
                     threads: int = ...) -> tuple[list[_Array], list[_Array]]: ...
    @overload
    def encode_batch(self, texts: Iterable[_Text], *, flat: Literal[True], special: bool = ..., wrap: bool = ..., strict: bool = ...,
                     offsets: _Offsets | None = ..., threads: int = ...) -> tuple[_Array, _Ends, _Array | None]:
        """Returns the same as encode_buffer, which takes less time than a list of many short arrays."""
    def encode_padded(self, texts: Iterable[_Text], *, pad: int, length: int | None = ..., side: Literal["right", "left"] = ...,
                      wrap: bool = ..., special: bool = ..., strict: bool = ..., threads: int = ...) -> tuple[_Array, NDArray[numpy.uint8]]: ...
    @overload
    def apply_chat_template(self, conversation: Iterable[Mapping[str, str]] | Mapping[str, object], *, form: _Form = ...,
                            add_generation_prompt: bool = ..., return_assistant_tokens_mask: Literal[False] = ...) -> _Array: ...
    @overload
    def apply_chat_template(self, conversation: Iterable[Mapping[str, str]] | Mapping[str, object], *, form: _Form = ...,
                            add_generation_prompt: bool = ..., return_assistant_tokens_mask: Literal[True]
                            ) -> tuple[_Array, NDArray[numpy.uint8]]: ...
    def as_hf(self, **options: Any) -> Any: ...
    def encode_buffer(self, data: _Text, ends: _Ids, *, special: bool = ..., wrap: bool = ..., strict: bool = ...,
                      offsets: _Offsets | None = ..., threads: int = ...) -> tuple[_Array, _Ends, _Array | None]:
        """Encodes several texts, which are stored one after the other in `data`. `ends` has the end of each text, as an Arrow column
        without its first 0. Returns the ids of all texts, the end of each text's ids, and with `offsets` an array of begins and ends,
        else None."""
    def decode(self, ids: _Ids, *, skip_special: bool = ...) -> str:
        """Returns the text of ids. Bytes that are not UTF-8 become U+FFFD."""
    def decode_bytes(self, ids: _Ids, *, skip_special: bool = ...) -> bytes: ...
    def decode_batch(self, batch: Iterable[_Ids], *, skip_special: bool = ..., threads: int = ...) -> list[str]: ...
    def decode_buffer(self, ids: _Ids, ends: _Ids, *, skip_special: bool = ..., threads: int = ...) -> tuple[bytes, _Ends]:
        """Returns the bytes of the texts, one after the other, and the end of each text."""
