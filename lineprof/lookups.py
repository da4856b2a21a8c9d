"""How far the interpreter goes in a function's table of lines, before 3.11.

It finds the line of an instruction entry by entry: 3.9 from the start of the table,
each time that control leaves an entry, 3.10 from where it was. That is most of what
tracing costs in a function of many lines, and differs from line to line.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType

_FROM_START = sys.version_info < (3, 10)
_NEAR = 64  # entries; in a shorter table no way is a long one
_MOST = 0xFFFF
_END = 16  # LP_LOOKUP_END in csrc/lp_python.h
_LONG_ENTRY = 200  # bytes
_DOWN_UP = bytes((0, 1, 0, 0xFF))


def lookups(
    code: CodeType, ranges: Iterable[tuple[int, int, int]], first: int, n_lines: int
) -> tuple[bool, bytes | None]:
    """Tell whether ways may be long, and how many entries stand before an instruction.

    Where all ways are short, they are those before the first instruction of a line, on
    3.9, or None, as on later versions.
    """
    if sys.version_info >= (3, 11):
        return False, None
    if len(_table(code)) > 2 * _NEAR:
        return True, b"".join(_by_instruction(code))
    if not _FROM_START:
        return False, None
    table = [0] * n_lines
    places = list(_by_instruction(code))
    for start, _, line in ranges:
        table[line - first] = table[line - first] or _number(places[start // 2])
    return False, b"".join(map(_packed, table))


def _by_instruction(code: CodeType) -> Iterator[bytes]:
    """Yield the entries before each instruction."""
    count = len(code.co_code) // 2
    offset = done = place = 0  # in bytes; in instructions; in entries
    for place, length in enumerate(_table(code)[::2]):
        offset += length
        upto = min((offset + 1) // 2, count)
        yield from [_packed(place)] * (upto - done)
        done = upto
    yield from [_packed(place + 1)] * (count - done)


def _packed(number: int) -> bytes:
    return min(number, _MOST).to_bytes(2, sys.byteorder)


def _number(packed: bytes) -> int:
    return int.from_bytes(packed, sys.byteorder)


def _table(code: CodeType) -> bytes:
    """Return the table of lines: two bytes an entry, of which one is its length."""
    return code.co_lnotab if _FROM_START else code.co_linetable


# -- for calibration ----------------------------------------------------------


def with_lines(code: CodeType) -> CodeType:
    """Return a copy with hundreds of lines more.

    For 3.9 before the first, none with an instruction; for 3.10, which is faster with
    such, out of what is one long line.
    """
    table = _table(code)
    if _FROM_START:
        fine = _DOWN_UP * 128 + table
        return code.replace(co_lnotab=fine)  # type: ignore[call-arg,unused-ignore]
    entries = zip(table[::2], table[1::2])
    fine = b"".join(_refined(length, line) for length, line in entries)
    return code.replace(co_linetable=fine)


def _refined(length: int, line: int) -> bytes:
    if length < _LONG_ENTRY:
        return bytes((length, line))
    pairs = (length - 1) // 4
    return bytes((length - 4 * pairs, line, *(2, 1, 2, 0xFF) * pairs))


def turn_steps(near: CodeType, far: CodeType) -> float:
    """Return the steps that a turn with these lines takes more than one without.

    As in `lp_lookup_steps` in csrc: of a loop of three lines, the last beyond them.
    """
    entries = (len(_table(far)) - len(_table(near))) // 2
    return 3 * (entries + _END) if _FROM_START else entries * 3.5 + 2 * _END
