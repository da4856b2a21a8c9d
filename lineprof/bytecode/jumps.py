"""Jumps and lines in bytecode, read by the tables of `opcode`."""

from __future__ import annotations

import opcode
import sys
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

    Step = tuple[int, int, int]  # offset, opcode, where it jumps to or -1

_INLINED = sys.version_info >= (3, 12)  # comprehensions run in their function
# From 3.14 on `hasjrel` lists it as a jump: its argument is the offset of an END_SEND.
_NO_JUMP = opcode.opmap.get("END_ASYNC_FOR", -1)
_JUMPS = frozenset(opcode.hasjrel) - {_NO_JUMP}
_CACHE = opcode.opmap.get("CACHE", -1)
_EXTENDED = opcode.EXTENDED_ARG
_OPCODES = 256  # that bytecode can hold
_SWAP = opcode.opmap.get("SWAP", -1)
# The two that end a loop's iterator. From 3.14 on neither begins a line, nor does the
# next instruction, if it is on the line of the one before them.
_END_FOR, _POP_ITER = opcode.opmap.get("END_FOR", -1), opcode.opmap.get("POP_ITER", -1)


class UnknownBytecodeError(Exception):
    """Bytecode of a Python that is newer than this module, with unknown opcodes."""


def _numbers(*names: str) -> frozenset[int]:
    return frozenset(opcode.opmap[name] for name in names if name in opcode.opmap)


def _caches(op: int) -> int:
    """Return the number of cache entries that follow an instruction."""
    known = getattr(opcode, "_inline_cache_entries", {})
    if sys.version_info >= (3, 13):  # by name
        return int(known.get(opcode.opname[op], 0))
    return int(known[op])


class JumpTarget(namedtuple("JumpTarget", "base step")):
    """The target of a kind of jump: `base` + `step` * argument bytes from the jump."""

    __slots__ = ()

    base: int
    step: int


def _jump_target(op: int) -> JumpTarget:
    back = "JUMP_BACKWARD" in opcode.opname[op]
    return JumpTarget(2 + 2 * _caches(op), -2 if back else 2)


_JUMP_TARGETS = {op: _jump_target(op) for op in _JUMPS if op < _OPCODES}

_CALLED = _numbers(*(("CALL", "PUSH_NULL") if sys.version_info >= (3, 14) else ()))
_HEADS = _numbers("FOR_ITER", "GET_ANEXT")
_ITERATES = _numbers("GET_ITER", "GET_AITER")
# Jumps that may go back to a loop's head.
_BACKWARD = frozenset(
    op
    for op in _JUMP_TARGETS
    if not opcode.opname[op].endswith("NO_INTERRUPT")
    and "BACKWARD" in opcode.opname[op]
)
_ENDS = frozenset(  # the next instruction does not run after these
    number
    for name, number in opcode.opmap.items()
    if name.startswith(("RETURN", "RERAISE", "RAISE_VARARGS", "JUMP_"))
    and "_IF_" not in name
)
# Of 3.12 and later; a newer Python may have others.
_KNOWN_JUMPS = (
    "FOR_ITER SEND JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT"
    " POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE"
)
_NEEDED = frozenset("EXTENDED_ARG FOR_ITER GET_ITER JUMP_FORWARD".split())  # noqa: SIM905

_UNKNOWN_JUMPS = _INLINED and not _NEEDED.union(_KNOWN_JUMPS.split()).issubset(
    opcode.opmap
)

# Opcodes that may be in bytecode that is read here.
_KNOWN = frozenset(
    number
    for number, name in enumerate(opcode.opname[:_OPCODES])
    if not name.startswith("<")
    and not (_INLINED and number in _JUMPS and name not in _KNOWN_JUMPS.split())
)


class Jump(namedtuple("Jump", "start target in_comprehension")):
    """A jump back to the head of a loop."""

    __slots__ = ()

    start: int  # byte offsets
    target: int
    in_comprehension: bool


def loop_jumps(code: CodeType) -> list[Jump]:
    """Return the jumps back to the head of a loop.

    A comprehension's loop head follows a SWAP, which puts the result below the
    iterator; that of ``all()`` follows a call. A loop statement creates its iterator
    itself and has no result. Jumps inside an ``await``, and those from an exception
    handler at the end back to where it was raised, are no loops. Raises
    UnknownBytecodeError for an unknown opcode.
    """
    raw = code.co_code
    if _UNKNOWN_JUMPS or not _KNOWN.issuperset(raw[::2]):
        raise UnknownBytecodeError
    if _BACKWARD.isdisjoint(raw[::2]):
        return []
    steps = _steps(raw)
    places = {step[0]: place for place, step in enumerate(steps)}
    if not places.keys() >= {target for _, _, target in steps if target != -1}:
        raise UnknownBytecodeError
    jumps = []
    for offset, op, target in steps:
        if target < 0 or target > offset or op not in _BACKWARD:
            continue
        place = places[target]
        head = steps[place][1]
        if head in _HEADS or _is_reachable(steps, places, place, offset):
            inner = _INLINED and head in _HEADS and _is_comprehension(steps, place)
            jumps.append(Jump(offset, target, in_comprehension=inner))
    return jumps


def jumps_without_event(code: CodeType) -> list[int]:
    """Return the offsets of backward jumps for which Python has no line event.

    There an outer loop of a comprehension continues after an inner one: the interpreter
    regards the jump as part of the line where the inner one began.
    """
    raw = code.co_code
    if _POP_ITER < 0 or _POP_ITER not in raw[::2]:
        return []
    steps = _steps(raw)
    reached = {target for _, _, target in steps}
    lines = _lines(code)
    found = []
    for place, (offset, op, _) in enumerate(steps):
        first = place
        while steps[first - 1][1] == _EXTENDED:
            first -= 1
        if (
            op in _BACKWARD
            and [step[1] for step in steps[first - 2 : first]] == [_END_FOR, _POP_ITER]
            and steps[first][0] not in reached
            and lines[steps[first - 3][0]] == lines[offset]
        ):
            found.append(offset)
    return found


def _lines(code: CodeType) -> list[int | None]:
    """Return the line of each byte."""
    lines: list[int | None] = [None] * len(code.co_code)
    for start, end, line in code.co_lines():
        lines[start:end] = [line] * (end - start)
    return lines


def targets(code: CodeType) -> list[int]:
    """Return the target offsets of jumps."""
    return [target for _, _, target in _steps(code.co_code) if target >= 0]


def handlers(code: CodeType) -> list[int]:
    """Return the offsets of exception handlers."""
    import dis  # noqa: PLC0415  # it takes 1 ms, and few functions are that long

    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]  # noqa: SLF001
    return [entry.target for entry in entries]


def _steps(raw: bytes) -> list[Step]:
    """Return the instructions without caches."""
    steps = []
    extended = 0
    for offset in range(0, len(raw), 2):
        op = raw[offset]
        if op == _CACHE:
            continue
        arg = raw[offset + 1] | extended
        extended = arg << 8 if op == _EXTENDED else 0
        target = -1
        if op in _JUMP_TARGETS:
            kind = _JUMP_TARGETS[op]
            target = offset + kind.base + kind.step * arg
        steps.append((offset, op, target))
    return steps


def _is_comprehension(steps: Sequence[Step], head: int) -> bool:
    """Return whether the instruction at `head` is a comprehension's loop head."""
    before = [step[1] for step in steps[max(0, head - 2) : head]]
    if before and before[-1] in _ITERATES:
        before.pop()
        return before[-1:] == [_SWAP]  # from 3.15 on
    return before[-1:] == [_SWAP] or not _CALLED.isdisjoint(before[-1:])


def _is_reachable(
    steps: Sequence[Step], places: dict[int, int], start: int, offset: int
) -> bool:
    """Return whether control can go from the instruction at `start` to `offset`."""
    seen: set[int] = set()
    pending = [start]
    while pending:
        place = pending.pop()
        if place in seen or place >= len(steps):
            continue
        seen.add(place)
        at, op, target = steps[place]
        if at == offset:
            return True
        if target >= 0:
            pending.append(places[target])
        if op not in _ENDS:
            pending.append(place + 1)
    return False


def for_loops(code: CodeType) -> list[int]:
    """Return the offsets of the FOR_ITER to which a jump goes."""
    raw, head = code.co_code, opcode.opmap["FOR_ITER"]
    return [label for label in dict.fromkeys(targets(code)) if raw[label] == head]
