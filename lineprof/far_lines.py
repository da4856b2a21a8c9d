"""Lines so far down in a function that Python 3.12 and 3.13 are slow to tell of them.

There a LINE event's number is kept in one byte, as the distance from where it might
be expected; for a line further off, the interpreter goes through the function's table
of lines from its start, twice at each event: 5 to 17 us in a function of 600 lines.
Such functions are asked for INSTRUCTION events instead, where a line begins.
"""

from __future__ import annotations

import opcode
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType

STARTS = 4  # LP_STARTS_LINE in csrc/engine/code.h
_SLOW = (3, 12) <= sys.version_info < (3, 14)
_NEAR = range(-126, 128)  # distances that a byte holds
_EXPECTED = 64  # bytes of bytecode to a line
# They are passed over, or are none of the program's.
_NEVER = {
    opcode.opmap[name]
    for name in ("END_FOR", "END_SEND", "END_ASYNC_FOR", "RESUME")
    if name in opcode.opmap
}


def are_far(code: CodeType, ranges: Iterable[tuple[int, int, int]]) -> bool:
    """Tell whether any of the lines is, of the runs (start, end, line) in bytes."""
    first = code.co_firstlineno
    if not _SLOW:
        return False
    return any(
        line - first - place // _EXPECTED not in _NEAR
        for start, end, line in ranges
        for place in (start, end - 2)
    )


def with_starts(
    marks: bytes | None, code: CodeType, ranges: Iterable[tuple[int, int, int]]
) -> bytes:
    """Return the marks of instructions, with those where a line may begin."""
    from lineprof.jumps import handlers, targets  # noqa: PLC0415  # few need it

    raw = code.co_code
    marked = bytearray(marks or len(raw) // 2)
    for offset in (*(start for start, _, _ in ranges), *targets(code), *handlers(code)):
        if raw[offset] not in _NEVER:
            marked[offset // 2] |= STARTS
    return bytes(marked)
