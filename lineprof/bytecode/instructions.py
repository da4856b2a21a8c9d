"""Marks of instructions: jumps that begin a statement anew, lines far down."""

from __future__ import annotations

import opcode
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType

    from lineprof.bytecode.jumps import Jump


# Lines so far down in a function that Python 3.12 and 3.13 are slow to tell of them.
#
# There a LINE event's number is kept in one byte, as the distance from where it might
# be expected; for a line further off, the interpreter goes through the function's table
# of lines from its start, twice at each event: 5 to 17 us in a function of 600 lines.
# Such functions are asked for INSTRUCTION events instead, where a line begins.


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
    from lineprof.bytecode.jumps import handlers, targets  # noqa: PLC0415  # few need it

    raw = code.co_code
    marked = bytearray(marks or len(raw) // 2)
    for offset in (*(start for start, _, _ in ranges), *targets(code), *handlers(code)):
        if raw[offset] not in _NEVER:
            marked[offset // 2] |= STARTS
    return bytes(marked)


_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function

# The loops in a function's bytecode: which jumps begin a statement anew.
#
# Comprehensions run in their function from Python 3.12 on, and are part of their
# line: their turns are told from those of a loop statement. On a Python that is newer
# than this module, and whose bytecode it cannot read, nothing is told, and the profile
# says so.


AGAIN, WITHIN = 1, 2  # lp_line_entry in csrc/record/recorder.h

_UNHEARD = 8  # LP_UNHEARD in csrc/engine/code.h

# Functions without these have no loop but those of statements.  From 3.14 on
# all(), any() and tuple() of a generator expression are loops of their caller.
_GATHERERS = {
    opcode.opmap.get(name, -1)
    for name in ("LOAD_FAST_AND_CLEAR", "FOR_ITER")
    if _INLINED and (name != "FOR_ITER" or sys.version_info >= (3, 14))
}
_UNKNOWN_LOOPS = -1 in _GATHERERS


# Two on one line: where the inner one ends an exception, it jumps back within it.
_WITH = opcode.opmap.get("BEFORE_WITH", opcode.opmap.get("LOAD_SPECIAL"))
_TABLES, _CODE = "tables", "code"
_unread: set[str] = set()  # which of these could not be read


def jump_marks(code: CodeType, *, statements: bool) -> bytes | None:
    """Return a byte for each instruction: 0, or what a backward jump to it is.

    From 3.12 on the jumps themselves are marked, too: one that stays on its
    line is told of from where it starts. None where nothing needs to know:
    `statements` says whether a statement has several lines.
    """
    codes = code.co_code[::2]
    if not (
        statements
        or _UNKNOWN_LOOPS
        or any(gatherer in codes for gatherer in _GATHERERS)
        or (_WITH is not None and codes.count(_WITH) > 1)
    ):
        return None
    found = _read(code)
    if found is None:
        return None
    jumps, alone = found
    # The loops of an inlined comprehension lie inside its outermost one.
    regions = [(jump.target, jump.start) for jump in jumps if jump.gathers]
    marks = bytearray(len(code.co_code) // 2)
    for jump in jumps:
        within = any(first <= jump.target <= last for first, last in regions)
        mark = WITHIN if within else AGAIN
        marks[jump.target // 2] = mark
        if _INLINED:
            marks[jump.start // 2] = mark
    for start in alone if regions else ():
        marks[start // 2] |= _UNHEARD
    return bytes(marks)  # all 0 says that there is no loop


def _read(code: CodeType) -> tuple[list[Jump], list[int]] | None:
    """Return the loops' jumps and those that no event comes before; None if unread."""
    if not prepare():
        return None
    from lineprof.bytecode.jumps import (  # noqa: PLC0415  # few functions need it
        UnknownBytecodeError,
        loop_jumps,
        unheard,
    )

    try:
        return loop_jumps(code), unheard(code)
    except (UnknownBytecodeError, LookupError):
        _unread.add(_CODE)
        return None


def prepare() -> bool:
    """Import what reads jumps; False where this Python's tables are all unlike."""
    if _TABLES in _unread:
        return False
    try:
        import lineprof.bytecode.jumps  # noqa: F401, PLC0415  # it imports dis
    except (AttributeError, LookupError, TypeError, ValueError):
        _unread.add(_TABLES)
        return False
    return True


def unread() -> list[str]:
    """Return what a profile has to say of bytecode that could not be read."""
    if not _unread:
        return []
    version = ".".join(map(str, sys.version_info[:2]))
    text = (
        f"the bytecode of Python {version} is unknown to this version of lineprof: "
        "hits of comprehensions and of statements over several lines may be wrong"
    )
    return [text]
