"""The loops in a function's bytecode: which jumps begin a statement anew.

Comprehensions run in their function from Python 3.12 on, and are part of their
line: their turns are told from those of a loop statement.
"""

from __future__ import annotations

import dis
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

AGAIN, WITHIN = 1, 2  # lp_step in csrc/lp_recorder.h

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)
_CLEAR = dis.opmap.get("LOAD_FAST_AND_CLEAR")
_HEADS = frozenset(("FOR_ITER", "GET_ANEXT"))
_ENDS = ("RETURN", "RERAISE", "RAISE_VARARGS", "JUMP_")  # nothing runs next


@dataclass(frozen=True)
class _Jump:
    start: int  # byte offsets
    target: int
    gathers: bool  # goes back to the loop of a comprehension


def jump_marks(code: CodeType, *, statements: bool) -> bytes | None:
    """Return a byte for each instruction: 0, or what a backward jump to it is.

    From 3.12 on the jumps themselves are marked, too: one that stays on its
    line is told of from where it starts. None where nothing needs to know:
    `statements` says whether a statement has several lines.
    """
    if not statements and (_CLEAR is None or _CLEAR not in code.co_code[::2]):
        return None
    jumps = _loop_jumps(list(dis.get_instructions(code)))
    # The loops of an inlined comprehension lie inside its outermost one.
    regions = [(jump.target, jump.start) for jump in jumps if jump.gathers]
    marks = bytearray(len(code.co_code) // 2)
    for jump in jumps:
        within = any(first <= jump.target <= last for first, last in regions)
        mark = WITHIN if within else AGAIN
        marks[jump.target // 2] = mark
        if _INLINED:
            marks[jump.start // 2] = mark
    return bytes(marks) if any(marks) else None


def _loop_jumps(steps: Sequence[dis.Instruction]) -> list[_Jump]:
    """Return the jumps back to the head of a loop.

    A comprehension's loop head follows a SWAP, which puts the result below the
    iterator; a loop statement has no result to put anywhere. The jumps inside
    an ``await``, and those from the code of an exception, which stands at the
    end, back to where it was raised, are no loops.
    """
    places = {step.offset: place for place, step in enumerate(steps)}
    jumps = []
    for step in steps:
        if step.opcode not in _JUMPS or step.opname.endswith("NO_INTERRUPT"):
            continue
        if step.argval > step.offset:
            continue
        place = places[step.argval]
        head = steps[place].opname
        before = steps[place - 1].opname if place else ""
        if head in _HEADS or _leads(steps, places, place, step.offset):
            gathers = _INLINED and before == "SWAP"
            jumps.append(_Jump(step.offset, step.argval, gathers))
    return jumps


def _leads(
    steps: Sequence[dis.Instruction], places: dict[int, int], start: int, offset: int
) -> bool:
    """Tell whether control can come from a place to an offset by itself."""
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        place = waiting.pop()
        if place in seen or place >= len(steps):
            continue
        seen.add(place)
        step = steps[place]
        if step.offset == offset:
            return True
        if step.opcode in _JUMPS:
            waiting.append(places[step.argval])
        if not step.opname.startswith(_ENDS) or "_IF_" in step.opname:
            waiting.append(place + 1)
    return False
