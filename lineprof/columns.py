"""Columns of integers, packed: docs/format.md says how, byte by byte."""

from __future__ import annotations

import sys
import zlib
from array import array
from itertools import accumulate, islice
from operator import sub

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_LEVEL = 3  # of zlib: above it, half the speed for a twentieth of the size


def packed(kind: str, data: bytes, *, differences: bool = False) -> bytes:
    """Return a column of values of the array module's `kind`, packed.

    `data` is in the machine's byte order. What mostly grows is kept as the
    `differences` to the value before.
    """
    values = array(kind, data)
    size = values.itemsize
    if differences:
        values = _wrapped(kind, _steps(values), size)
    if sys.byteorder == "big":
        values.byteswap()
    data = values.tobytes()
    # All lowest bytes first, then those above: what varies little lies together.
    return zlib.compress(b"".join([data[i::size] for i in range(size)]), _LEVEL)


def unpacked(
    kind: str, data: bytes, count: int, *, differences: bool = False
) -> array[int]:
    """Return the values of a packed column, `count` of them.

    ValueError unless `data` is exactly that: no more than that is unpacked.
    """
    size = array(kind).itemsize
    stream = zlib.decompressobj()
    try:
        planes = stream.decompress(data, count * size + 1)
    except zlib.error as error:
        raise ValueError(f"does not unpack: {error}") from error
    if len(planes) != count * size or not stream.eof or stream.unused_data:
        raise ValueError(f"is not of {count} events")
    raw = bytearray(len(planes))
    for place in range(size):
        raw[place::size] = planes[place * count : (place + 1) * count]
    values = array(kind, bytes(raw))
    if sys.byteorder == "big":
        values.byteswap()
    return _wrapped(kind, list(accumulate(values)), size) if differences else values


def _steps(values: array[int]) -> list[int]:
    return [*values[:1], *map(sub, islice(values, 1, None), values)]


def _wrapped(kind: str, numbers: Iterable[int], size: int) -> array[int]:
    """Return `numbers` as an array; what is beyond its integers wraps around."""
    try:
        return array(kind, numbers)  # most of the time
    except OverflowError:
        mask = (1 << 8 * size) - 1
        return array(kind, [number & mask for number in numbers])
