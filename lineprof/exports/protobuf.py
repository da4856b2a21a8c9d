"""Protocol Buffers as they lie in a file: the few kinds of fields that we write.

https://protobuf.dev/programming-guides/encoding/ says how. A message is the
bytes of its fields one after the other, in any order.
"""

from __future__ import annotations

from struct import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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
