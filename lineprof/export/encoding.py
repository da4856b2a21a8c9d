"""Protocol Buffers as they lie in a file: the few kinds of fields that we write.

https://protobuf.dev/programming-guides/encoding/ says how. A message is the
bytes of its fields one after the other, in any order.
"""

from __future__ import annotations

import json
import os
from pathlib import PurePosixPath
from struct import pack
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator
    from typing import IO


# Texts and files as JSON has them, whatever characters they hold.


def quoted(text: str) -> str:
    """Return a text in JSON; halves of surrogate pairs come as escapes.

    JSON could hold these, but few readers take them. Other characters stay as
    they are: Perfetto shows those that are written by their number as that.
    """
    plain = text.encode("utf-8", "backslashreplace").decode()
    return json.dumps(plain, ensure_ascii=False)


def url(file: str) -> str:
    """Return the address of a file; its name where that is no path."""
    if not os.path.isabs(file):
        return file
    return PurePosixPath(file).as_uri()


# Many texts that grow side by side, in a bounded memory.


_MOST = 1 << 22  # characters in memory; above that they go to a file

_READ = 1 << 18  # bytes that are read at once


class SpooledTexts:
    """Texts by key, each of pieces that come one after the other.

    What JSON wants in one array after the other comes for all of them at once,
    and there may be too much of it to keep.
    """

    def __init__(self) -> None:
        self._new: dict[Hashable, list[str]] = {}
        self._size = 0
        self._file: IO[bytes] | None = None
        self._places: dict[Hashable, list[tuple[int, int]]] = {}  # start, length

    def add(self, key: Hashable, piece: str) -> None:
        """Put a piece, in ASCII, at the end of a text."""
        self._new.setdefault(key, []).append(piece)
        self._size += len(piece)
        if self._size > _MOST:
            self._spill()

    def take(self, key: Hashable) -> Iterator[bytes]:
        """Yield a text."""
        for start, length in self._places.pop(key, ()):
            assert self._file is not None  # noqa: S101  # it has these places
            for at in range(start, start + length, _READ):
                self._file.seek(at)
                yield self._file.read(min(_READ, start + length - at))
        yield "".join(self._new.pop(key, ())).encode()

    def close(self) -> None:
        """Forget all."""
        self._new.clear()
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        """Write to the file what is in memory."""
        if self._file is None:
            self._file = TemporaryFile()  # noqa: SIM115  # `close` does it
        at = self._file.seek(0, 2)
        for key, pieces in self._new.items():
            data = "".join(pieces).encode()
            self._file.write(data)
            self._places.setdefault(key, []).append((at, len(data)))
            at += len(data)
        self._new.clear()
        self._size = 0


_VARINT, _FIXED64, _BYTES = 0, 1, 2  # kinds of fields, as on the wire

_LOW, _MORE = 0x7F, 0x80

_64_BITS = (1 << 64) - 1

_PAIRS = 1 << 14  # two bytes of a varint hold a number below this

# The two bytes for each such number where more follow, and the one or two where
# none does: a trace has millions.
_INNER = [bytes([i & _LOW | _MORE, i >> 7 | _MORE]) for i in range(_PAIRS)]

_LAST = [
    bytes([i]) if i <= _LOW else bytes([i & _LOW | _MORE, i >> 7])
    for i in range(_PAIRS)
]


def varint(value: int) -> bytes:
    """Return a number, seven bits a byte; one below 0 as its two's complement."""
    value &= _64_BITS
    if value < _PAIRS:
        return _LAST[value]
    made = []
    while value >= _PAIRS:
        made.append(_INNER[value & (_PAIRS - 1)])
        value >>= 14
    made.append(_LAST[value])
    return b"".join(made)


def tag(field: int, kind: int) -> bytes:
    """Return what stands before a field's value."""
    return varint(field << 3 | kind)


def number(field: int, value: int) -> bytes:
    """Return a field of a kind int32, int64, uint32, uint64, bool or enum."""
    return tag(field, _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """Return a field of the kind fixed64."""
    return tag(field, _FIXED64) + value.to_bytes(8, "little")


def double(field: int, value: float) -> bytes:
    """Return a field of the kind double."""
    return tag(field, _FIXED64) + pack("<d", value)


def message(field: int, content: bytes) -> bytes:
    """Return a field of a kind bytes, or a message in another."""
    return tag(field, _BYTES) + varint(len(content)) + content


def text(field: int, value: str) -> bytes:
    """Return a field of the kind string; halves of surrogate pairs as escapes."""
    return message(field, value.encode("utf-8", "backslashreplace"))


def packed(field: int, values: Iterable[int]) -> bytes:
    """Return a repeated field of numbers, packed."""
    return message(field, b"".join(map(varint, values)))
