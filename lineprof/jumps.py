"""Jumps and lines in bytecode, as the module `dis` reads it."""

from __future__ import annotations

import dis
import sys

from lineprof.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)
_CALLED = frozenset(("CALL", "PUSH_NULL") if sys.version_info >= (3, 14) else ())
_HEADS = frozenset(("FOR_ITER", "GET_ANEXT"))
_ENDS = ("RETURN", "RERAISE", "RAISE_VARARGS", "JUMP_")  # nothing runs next


class Jump(Value):
    """A jump back to the head of a loop."""

    start: int  # byte offsets
    target: int
    gathers: bool  # goes back to the loop of a comprehension


def loop_jumps(code: CodeType) -> list[Jump]:
    """Return the jumps back to the head of a loop.

    A comprehension's loop head follows a SWAP, which puts the result below the
    iterator; a loop statement has no result to put anywhere, and makes its
    iterator itself, where ``all()`` calls for one. The jumps inside
    an ``await``, and those from the code of an exception, which stands at the
    end, back to where it was raised, are no loops.
    """
    steps = list(dis.get_instructions(code))
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
            jumps.append(Jump(step.offset, step.argval, gathers))
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


def line_starts(code: CodeType) -> list[tuple[int, int]]:
    """Return the offset and the line of each run of instructions."""
    return list(dis.findlinestarts(code))


def for_loops(code: CodeType) -> list[int]:
    """Return the offsets of the FOR_ITER that are jumped to."""
    raw, head = code.co_code, dis.opmap["FOR_ITER"]
    return [label for label in dis.findlabels(raw) if raw[label] == head]  # type: ignore[arg-type]
