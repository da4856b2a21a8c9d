"""Marks of instructions: jumps that begin a loop's next turn, and lines far down.

The core reads the marks of the instructions at which an event comes. On a Python that
is newer than this module, and whose bytecode it cannot read, loops have no marks, and
the profile has a warning.
"""

from __future__ import annotations

import opcode
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType

    from lineprof.bytecode.jumps import Jump

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function

LOOP_BACK, COMPREHENSION = 1, 2  # lp_line_entry in csrc/record/recorder.h

_NO_LINE_EVENT = 8  # LP_NO_LINE_EVENT in csrc/engine/code.h

# Opcodes without which a function has no comprehension. From 3.14 on all(), any() and
# tuple() of a generator expression are loops of the function that calls them.
_OF_COMPREHENSIONS = {
    opcode.opmap.get(name, -1)
    for name in ("LOAD_FAST_AND_CLEAR", "FOR_ITER")
    if _INLINED and (name != "FOR_ITER" or sys.version_info >= (3, 14))
}
_UNKNOWN_LOOPS = -1 in _OF_COMPREHENSIONS


# Two `with` on one line: the inner one jumps back after it has suppressed an exception.
_WITH = opcode.opmap.get("BEFORE_WITH", opcode.opmap.get("LOAD_SPECIAL"))
_TABLES, _CODE = "tables", "code"
_unread: set[str] = set()  # those of _TABLES and _CODE that could not be read


def jump_marks(code: CodeType, *, statements: bool) -> bytes | None:
    """Return a byte for each instruction: 0, or the kind of the backward jump to it.

    From 3.12 on the jumps themselves are also marked, because the event of one that
    stays on its line comes at its start. Returns None if no marks are needed;
    `statements` is true if a statement has several lines.
    """
    codes = code.co_code[::2]
    if not (
        statements
        or _UNKNOWN_LOOPS
        or any(number in codes for number in _OF_COMPREHENSIONS)
        or (_WITH is not None and codes.count(_WITH) > 1)
    ):
        return None
    found = _read(code)
    if found is None:
        return None
    jumps, without_event = found
    # The loops of an inlined comprehension lie inside its outermost one.
    regions = [(jump.target, jump.start) for jump in jumps if jump.in_comprehension]
    marks = bytearray(len(code.co_code) // 2)
    for jump in jumps:
        within = any(first <= jump.target <= last for first, last in regions)
        mark = COMPREHENSION if within else LOOP_BACK
        marks[jump.target // 2] = mark
        if _INLINED:
            marks[jump.start // 2] = mark
    for start in without_event if regions else ():
        marks[start // 2] |= _NO_LINE_EVENT
    return bytes(marks)  # all 0 if there is no loop


def _read(code: CodeType) -> tuple[list[Jump], list[int]] | None:
    """Return the loops' jumps, and those without a line event; None if unreadable."""
    if not prepare():
        return None
    from lineprof.bytecode.jumps import (  # noqa: PLC0415  # few functions need it
        UnknownBytecodeError,
        jumps_without_event,
        loop_jumps,
    )

    try:
        return loop_jumps(code), jumps_without_event(code)
    except (UnknownBytecodeError, LookupError):
        _unread.add(_CODE)
        return None


def prepare() -> bool:
    """Import the reader of jumps; False if this Python's opcode tables are unknown."""
    if _TABLES in _unread:
        return False
    try:
        import lineprof.bytecode.jumps  # noqa: F401, PLC0415  # it imports dis
    except (AttributeError, LookupError, TypeError, ValueError):
        _unread.add(_TABLES)
        return False
    return True


def unread() -> list[str]:
    """Return the warning about bytecode that could not be read, if there is one."""
    if not _unread:
        return []
    version = ".".join(map(str, sys.version_info[:2]))
    warning = (
        f"the bytecode of Python {version} is unknown to this version of lineprof: "
        "hits of comprehensions and of statements over several lines may be wrong"
    )
    return [warning]


# Lines far down in a function, whose LINE events are slow in Python 3.12 and 3.13.
#
# The interpreter keeps the number of an event's line in one byte, as the distance from
# an expected line. For a line further off, it searches the function's line table from
# its start, twice for each event: 5 to 17 us in a function of 600 lines. Such functions
# have INSTRUCTION events instead, at instructions where a line begins.

STARTS_LINE = 4  # LP_STARTS_LINE in csrc/engine/code.h

_FAR_IS_SLOW = (3, 12) <= sys.version_info < (3, 14)
_NEAR = range(-126, 128)  # distances that a byte holds
_BYTES_PER_LINE = 64  # of bytecode, by which a line is expected
# Instructions without events of their own, or without a line of the program.
_NO_EVENTS = {
    opcode.opmap[name]
    for name in ("END_FOR", "END_SEND", "END_ASYNC_FOR", "RESUME")
    if name in opcode.opmap
}


def are_far(code: CodeType, ranges: Iterable[tuple[int, int, int]]) -> bool:
    """Return whether a line of `ranges`, (start, end, line) in bytes, is far down."""
    first = code.co_firstlineno
    if not _FAR_IS_SLOW:
        return False
    return any(
        line - first - place // _BYTES_PER_LINE not in _NEAR
        for start, end, line in ranges
        for place in (start, end - 2)
    )


def with_starts(
    marks: bytes | None, code: CodeType, ranges: Iterable[tuple[int, int, int]]
) -> bytes:
    """Return `marks` with `STARTS_LINE` at instructions where a line may begin."""
    from lineprof.bytecode.jumps import handlers, targets  # noqa: PLC0415  # few need it

    raw = code.co_code
    marked = bytearray(marks or len(raw) // 2)
    for offset in (*(start for start, _, _ in ranges), *targets(code), *handlers(code)):
        if raw[offset] not in _NO_EVENTS:
            marked[offset // 2] |= STARTS_LINE
    return bytes(marked)
