"""Encodings of export files: JSON text, Protocol Buffers, and large arrays of text."""

from __future__ import annotations

import json
import os
from itertools import chain
from pathlib import Path
from struct import pack
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from lineprof.errors import CONTROLS, LineprofError, without_surrogates

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator
    from typing import IO, AnyStr


# Numbers of 64 bits.

_64_BITS = (1 << 64) - 1

_SIGN = 1 << 63


def int64(value: int) -> int:
    """Return `value`; LineprofError if it does not fit into a signed integer."""
    if -_SIGN <= value < _SIGN:
        return value
    raise _too_big(value)


def _too_big(value: int) -> LineprofError:
    return LineprofError(
        f"{value} is beyond the 64 bits of a number in the file",
        hint="choose another format: csv and json are exact",
    )


# JSON.

_CONTROLS = {ord(char): f"\\u{ord(char):04x}" for char in CONTROLS}


def quoted(text: str) -> str:
    """Return a text in JSON; surrogates come as escapes.

    JSON could hold surrogates, but few readers take them. Other characters are written
    as they are, as Perfetto does not decode escapes; those that act on a terminal come
    as escapes even so.
    """
    made = json.dumps(without_surrogates(text), ensure_ascii=False)
    return made if made.isprintable() else made.translate(_CONTROLS)


def url(file: str) -> str:
    """Return the URL of a file; its name if that is no absolute path.

    The URL's escapes are UTF-8, as JavaScript cannot decode others. A name is written
    without colons: a link with a scheme may do more on a click than to open a file.
    """
    if not os.path.isabs(file):
        return file.replace(":", "%3A")
    return Path(without_surrogates(file)).as_uri()


_CHUNK = 1 << 16  # bytes or characters


def chunks(pieces: Iterable[AnyStr], empty: AnyStr) -> Iterator[AnyStr]:
    """Yield `pieces` joined into larger chunks; `empty` is b"" or "", as they are."""
    waiting: list[AnyStr] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size > _CHUNK:
            yield empty.join(waiting)
            waiting, size = [], 0
    yield empty.join(waiting)


# Texts that grow side by side in bounded memory.


_MAX_IN_MEMORY = 1 << 22  # characters; more are written to a temporary file

_READ = 1 << 18  # bytes read at once


class SpooledTexts:
    """Texts by key, each made of pieces that are added one after the other.

    JSON needs one array after the other, while the items of all arrays come mixed,
    and there may be too many to keep in memory.
    """

    def __init__(self) -> None:
        self._new: dict[Hashable, list[str]] = {}
        self._size = 0
        self._file: IO[bytes] | None = None
        self._places: dict[Hashable, list[tuple[int, int]]] = {}  # start, length

    def add(self, key: Hashable, piece: str) -> None:
        """Add a piece, in ASCII, to the end of a text."""
        self._new.setdefault(key, []).append(piece)
        self._size += len(piece)
        if self._size > _MAX_IN_MEMORY:
            self._spill()

    def items(self, *keys: Hashable) -> Iterator[bytes]:
        """Yield texts in chunks, without the comma before the first item of all."""
        filled = filter(None, chain.from_iterable(map(self._take, keys)))
        yield next(filled, b"")[1:]
        yield from filled

    def _take(self, key: Hashable) -> Iterator[bytes]:
        """Yield a text in chunks, and forget it."""
        for start, length in self._places.pop(key, ()):
            assert self._file is not None  # noqa: S101  # it has these places
            for at in range(start, start + length, _READ):
                self._file.seek(at)
                yield self._file.read(min(_READ, start + length - at))
        yield "".join(self._new.pop(key, ())).encode()

    def close(self) -> None:
        """Forget all texts, and delete the temporary file."""
        self._new.clear()
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        """Move all texts from memory to the temporary file."""
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115  # `close` closes it
        at = self._file.seek(0, 2)
        for key, pieces in self._new.items():
            data = "".join(pieces).encode()
            self._file.write(data)
            self._places.setdefault(key, []).append((at, len(data)))
            at += len(data)
        self._new.clear()
        self._size = 0


# Protocol Buffers: the few types of fields that are written here.
#
# See https://protobuf.dev/programming-guides/encoding/. A message is the bytes of its
# fields one after the other, in any order.


_VARINT, _FIXED64, _BYTES = 0, 1, 2  # wire types

_LOW, _MORE = 0x7F, 0x80  # bits of a varint's byte

_PAIRS = 1 << 14  # numbers below this take two bytes of a varint

_THREE_PAIRS = 1 << 42

# The bytes of each such number, with more to follow and as the last ones. Tables,
# because a trace has millions of numbers.
_INNER = [bytes([i & _LOW | _MORE, i >> 7 | _MORE]) for i in range(_PAIRS)]

_LAST = [
    bytes([i]) if i <= _LOW else bytes([i & _LOW | _MORE, i >> 7])
    for i in range(_PAIRS)
]


def varint(value: int) -> bytes:
    """Return a number, seven bits a byte; one below 0 as its two's complement.

    Raises LineprofError for a number of more than 64 bits.
    """
    if 0 <= value < _PAIRS:
        return _LAST[value]
    if _PAIRS <= value < _THREE_PAIRS:  # times of up to an hour
        first, second = value & (_PAIRS - 1), value >> 14 & (_PAIRS - 1)
        if value >> 28:
            return _INNER[first] + _INNER[second] + _LAST[value >> 28]
        return _INNER[first] + _LAST[second]
    if not -_SIGN <= value <= _64_BITS:
        raise _too_big(value)
    value &= _64_BITS
    made = []
    while value >= _PAIRS:
        made.append(_INNER[value & (_PAIRS - 1)])
        value >>= 14
    made.append(_LAST[value])
    return b"".join(made)


def tag(field: int, wire_type: int) -> bytes:
    """Return the tag of a field, which stands before its value."""
    return varint(field << 3 | wire_type)


def number(field: int, value: int) -> bytes:
    """Return a field of type int32, int64, uint32, uint64, bool or enum."""
    return tag(field, _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """Return a field of type fixed64."""
    return tag(field, _FIXED64) + value.to_bytes(8, "little")


def double(field: int, value: float) -> bytes:
    """Return a field of type double."""
    return tag(field, _FIXED64) + pack("<d", value)


def message(field: int, content: bytes) -> bytes:
    """Return a field of type bytes, or an embedded message."""
    return tag(field, _BYTES) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """Return a field of type string; surrogates come as escapes."""
    return message(field, value.encode("utf-8", "backslashreplace"))


def packed(field: int, values: Iterable[int]) -> bytes:
    """Return a repeated field of numbers, packed."""
    return message(field, b"".join(map(varint, values)))
