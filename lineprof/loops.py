"""The loops in a function's bytecode: which jumps begin a statement anew.

Comprehensions run in their function from Python 3.12 on, and are part of their
line: their turns are told from those of a loop statement.
"""

from __future__ import annotations

import opcode
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

AGAIN, WITHIN = 1, 2  # lp_line_entry in csrc/record/recorder.h

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
# Functions without these have no loop but those of statements.  From 3.14 on
# all(), any() and tuple() of a generator expression are loops of their caller.
_GATHERERS = {
    opcode.opmap[name]
    for name in ("LOAD_FAST_AND_CLEAR", "FOR_ITER")
    if _INLINED and (name != "FOR_ITER" or sys.version_info >= (3, 14))
}


# Two on one line: where the inner one ends an exception, it jumps back within it.
_WITH = opcode.opmap.get("BEFORE_WITH", opcode.opmap.get("LOAD_SPECIAL"))


def jump_marks(code: CodeType, *, statements: bool) -> bytes | None:
    """Return a byte for each instruction: 0, or what a backward jump to it is.

    From 3.12 on the jumps themselves are marked, too: one that stays on its
    line is told of from where it starts. None where nothing needs to know:
    `statements` says whether a statement has several lines.
    """
    codes = code.co_code[::2]
    if not (
        statements
        or any(gatherer in codes for gatherer in _GATHERERS)
        or (_WITH is not None and codes.count(_WITH) > 1)
    ):
        return None
    from lineprof.jumps import loop_jumps  # noqa: PLC0415  # few functions need it

    jumps = loop_jumps(code)
    # The loops of an inlined comprehension lie inside its outermost one.
    regions = [(jump.target, jump.start) for jump in jumps if jump.gathers]
    marks = bytearray(len(code.co_code) // 2)
    for jump in jumps:
        within = any(first <= jump.target <= last for first, last in regions)
        mark = WITHIN if within else AGAIN
        marks[jump.target // 2] = mark
        if _INLINED:
            marks[jump.start // 2] = mark
    return bytes(marks)  # all 0 says that there is no loop
