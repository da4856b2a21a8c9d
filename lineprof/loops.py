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
# Functions without these have no loop but those of statements.  From 3.14 on
# all(), any() and tuple() of a generator expression are loops of their caller.
_GATHERERS = {
    dis.opmap[name]
    for name in ("LOAD_FAST_AND_CLEAR", "FOR_ITER")
    if _INLINED and (name != "FOR_ITER" or sys.version_info >= (3, 14))
}
_CALLED = frozenset(("CALL", "PUSH_NULL") if sys.version_info >= (3, 14) else ())
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
    opcodes = code.co_code[::2]
    if not statements and not any(opcode in opcodes for opcode in _GATHERERS):
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
    iterator; a loop statement has no result to put anywhere, and makes its
    iterator itself, where ``all()`` calls for one. The jumps inside
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
        if head in _HEADS or _leads(steps, places, place, step.offset):
            gathers = _INLINED and head in _HEADS and _gathers(steps, place)
            jumps.append(_Jump(step.offset, step.argval, gathers))
    return jumps


def _gathers(steps: Sequence[dis.Instruction], head: int) -> bool:
    """Tell whether a loop's head is that of an expression."""
    before = [step.opname for step in steps[max(0, head - 2) : head]]
    if before and before[-1] in ("GET_ITER", "GET_AITER"):
        before.pop()
        return before[-1:] == ["SWAP"]  # from 3.15 on
    return before[-1:] == ["SWAP"] or not _CALLED.isdisjoint(before[-1:])


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
