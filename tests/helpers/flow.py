"""Where control flows in a code object: which jumps begin a loop anew.

Not every jump back does: the compiler puts the code for exceptions at the end,
from where a statement that awaits goes back to where it was.  A loop's jump
leads to an instruction that every way to the jump has passed.
"""

from __future__ import annotations

import dis
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType

JUMPS = frozenset(
    opcode
    for opcode in dis.hasjrel
    if dis.opname[opcode] != "END_ASYNC_FOR"  # it names a place, but goes on
)
ENDS = ("RETURN_VALUE", "RETURN_CONST", "RERAISE", "RAISE_VARARGS", "INTERPRETER_EXIT")
LEAVES = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
NO_NEXT = frozenset((*ENDS, *LEAVES))


def ways(code: CodeType) -> dict[int, set[int]]:
    """Map each instruction's offset to those that may follow it."""
    steps = list(dis.get_instructions(code))
    found: dict[int, set[int]] = {step.offset: set() for step in steps}
    for step, following in itertools.pairwise(steps):
        if step.opname not in NO_NEXT:
            found[step.offset].add(following.offset)
    for step in steps:
        if step.opcode in JUMPS:
            found[step.offset].add(step.argval)
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        for step in steps:
            if entry.start <= step.offset < entry.end:
                found[step.offset].add(entry.target)
    return found


def reached(found: dict[int, set[int]], without: int) -> set[int]:
    """Tell which instructions can be reached from the first, but not past one."""
    seen = {without}
    todo = [0]
    while todo:
        offset = todo.pop()
        if offset not in seen:
            seen.add(offset)
            todo += found[offset]
    return seen - {without}


def loop_jumps(code: CodeType) -> dict[int, int]:
    """Map the offset of each jump that begins a loop anew to where it leads."""
    back = {
        step.offset: step.argval
        for step in dis.get_instructions(code)
        if step.opcode in JUMPS and step.argval <= step.offset
    }
    found = ways(code) if back else {}
    passed = {target: reached(found, target) for target in set(back.values())}
    return {
        source: target
        for source, target in back.items()
        if source not in passed[target]
    }
