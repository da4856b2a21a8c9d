"""The loops in a function's bytecode: which jumps begin a statement anew.

Comprehensions run in their function from Python 3.12 on, and are part of their
line: their turns are told from those of a loop statement. On a Python that is newer
than this module, and whose bytecode it cannot read, nothing is told, and the profile
says so.
"""

from __future__ import annotations

import opcode
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from lineprof.jumps import Jump

AGAIN, WITHIN = 1, 2  # lp_step in csrc/lp_recorder.h
_UNHEARD = 8  # LP_UNHEARD in csrc/lp_code.h

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
# Functions without these have no loop but those of statements.  From 3.14 on
# all(), any() and tuple() of a generator expression are loops of their caller.
_GATHERERS = {
    opcode.opmap.get(name, -1)
    for name in ("LOAD_FAST_AND_CLEAR", "FOR_ITER")
    if _INLINED and (name != "FOR_ITER" or sys.version_info >= (3, 14))
}
_UNLIKE = -1 in _GATHERERS


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
        or _UNLIKE
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
    from lineprof.jumps import (  # noqa: PLC0415  # few functions need it
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
        import lineprof.jumps  # noqa: F401, PLC0415
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
