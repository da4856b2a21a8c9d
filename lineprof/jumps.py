"""Jumps and lines in bytecode, as the module `dis` reads it."""

from __future__ import annotations

import dis
import sys
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

    Step = tuple[int, int, int]  # offset, opcode, where it jumps to or -1

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
_CACHE = dis.opmap["CACHE"]
_EXTENDED = dis.EXTENDED_ARG
_REAL = 256  # opcodes that bytecode can hold
_SWAP = dis.opmap["SWAP"]


def _numbers(*names: str) -> frozenset[int]:
    return frozenset(dis.opmap[name] for name in names if name in dis.opmap)


def _caches(opcode: int) -> int:
    """Return how many entries of a cache follow an instruction."""
    known = dis._inline_cache_entries  # type: ignore[attr-defined]  # noqa: SLF001
    if isinstance(known, dict):  # by name, from 3.13 on
        return int(known.get(dis.opname[opcode], 0))
    return int(known[opcode])


class Way(NamedTuple):
    """How a jump says where it goes."""

    first: int  # bytes from the jump to where its argument counts from
    by: int  # bytes that one more of the argument is


def _way(opcode: int) -> Way:
    back = "JUMP_BACKWARD" in dis.opname[opcode]
    return Way(2 + 2 * _caches(opcode), -2 if back else 2)


_WAYS = {opcode: _way(opcode) for opcode in dis.hasjrel if opcode < _REAL}
_CALLED = _numbers(*(("CALL", "PUSH_NULL") if sys.version_info >= (3, 14) else ()))
_HEADS = _numbers("FOR_ITER", "GET_ANEXT")
_ITERATES = _numbers("GET_ITER", "GET_AITER")
# Those that may go back to a loop's head.
_BACKWARD = frozenset(
    opcode
    for opcode in _WAYS
    if not dis.opname[opcode].endswith("NO_INTERRUPT")
    and "BACKWARD" in dis.opname[opcode]
)
_ENDS = frozenset(  # nothing runs next
    number
    for name, number in dis.opmap.items()
    if name.startswith(("RETURN", "RERAISE", "RAISE_VARARGS", "JUMP_"))
    and "_IF_" not in name
)


class Jump(NamedTuple):
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
    raw = code.co_code
    if _BACKWARD.isdisjoint(raw[::2]):
        return []
    steps = _steps(raw)
    places = {step[0]: place for place, step in enumerate(steps)}
    jumps = []
    for offset, opcode, target in steps:
        if target < 0 or target > offset or opcode not in _BACKWARD:
            continue
        place = places[target]
        head = steps[place][1]
        if head in _HEADS or _leads(steps, places, place, offset):
            gathers = _INLINED and head in _HEADS and _gathers(steps, place)
            jumps.append(Jump(offset, target, gathers))
    return jumps


def targets(code: CodeType) -> list[int]:
    """Return the offsets that jumps go to."""
    return [target for _, _, target in _steps(code.co_code) if target >= 0]


def handlers(code: CodeType) -> list[int]:
    """Return the offsets that exceptions go to."""
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]  # noqa: SLF001
    return [entry.target for entry in entries]


def _steps(raw: bytes) -> list[Step]:
    """Return the instructions, caches left out."""
    steps = []
    extended = 0
    for offset in range(0, len(raw), 2):
        opcode = raw[offset]
        if opcode == _CACHE:
            continue
        arg = raw[offset + 1] | extended
        extended = arg << 8 if opcode == _EXTENDED else 0
        target = -1
        if opcode in _WAYS:
            way = _WAYS[opcode]
            target = offset + way.first + way.by * arg
        steps.append((offset, opcode, target))
    return steps


def _gathers(steps: Sequence[Step], head: int) -> bool:
    """Tell whether a loop's head is that of an expression."""
    before = [step[1] for step in steps[max(0, head - 2) : head]]
    if before and before[-1] in _ITERATES:
        before.pop()
        return before[-1:] == [_SWAP]  # from 3.15 on
    return before[-1:] == [_SWAP] or not _CALLED.isdisjoint(before[-1:])


def _leads(
    steps: Sequence[Step], places: dict[int, int], start: int, offset: int
) -> bool:
    """Tell whether control can come from a place to an offset by itself."""
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        place = waiting.pop()
        if place in seen or place >= len(steps):
            continue
        seen.add(place)
        at, opcode, target = steps[place]
        if at == offset:
            return True
        if target >= 0:
            waiting.append(places[target])
        if opcode not in _ENDS:
            waiting.append(place + 1)
    return False


def for_loops(code: CodeType) -> list[int]:
    """Return the offsets of the FOR_ITER that are jumped to."""
    raw, head = code.co_code, dis.opmap["FOR_ITER"]
    return [label for label in dis.findlabels(raw) if raw[label] == head]  # type: ignore[arg-type]
