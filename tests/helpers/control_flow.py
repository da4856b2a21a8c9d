"""Control flow of a code object: the backward jumps that repeat a loop.

Other jumps also lead back: the compiler puts the code for exceptions at the end,
from which a statement that awaits jumps back into its middle.  The target of a
loop's jump is an instruction that every path to the jump has passed.
"""

from __future__ import annotations

import dis
import itertools
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

JUMPS = frozenset(
    opcode
    for opcode in dis.hasjrel
    if dis.opname[opcode] != "END_ASYNC_FOR"  # it names a target, but continues
)
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS", "INTERPRETER_EXIT")
LEAVES = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
NO_NEXT = frozenset((*ENDS, *LEAVES))


def successors(code: CodeType, steps: Sequence[dis.Instruction]) -> dict[int, set[int]]:
    """Return the offsets that may follow each instruction's offset."""
    offsets = [step.offset for step in steps]
    found: dict[int, set[int]] = {step.offset: set() for step in steps}
    for step, following in itertools.pairwise(steps):
        if step.opname not in NO_NEXT:
            found[step.offset].add(following.offset)
    for step in steps:
        if step.opcode in JUMPS:
            found[step.offset].add(step.argval)
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        first, last = (bisect_left(offsets, at) for at in (entry.start, entry.end))
        for offset in offsets[first:last]:
            found[offset].add(entry.target)
    return found


def reached(found: dict[int, set[int]], without: int) -> set[int]:
    """Return the offsets that can be reached from offset 0 without passing one."""
    seen = {without}
    todo = [0]
    while todo:
        offset = todo.pop()
        if offset not in seen:
            seen.add(offset)
            todo += found[offset]
    return seen - {without}


def loop_jumps(code: CodeType) -> dict[int, int]:
    """Return the target offset of each jump that repeats a loop, by its own offset."""
    steps = list(dis.get_instructions(code))
    back = {
        step.offset: step.argval
        for step in steps
        if step.opcode in JUMPS and step.argval <= step.offset
    }
    found = successors(code, steps) if back else {}
    passed = {target: reached(found, target) for target in set(back.values())}
    return {
        source: target
        for source, target in back.items()
        if source not in passed[target]
    }
