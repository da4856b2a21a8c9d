"""Objects that Python makes for a profile function, as memray's, by line of a program.

    python profile_objects.py OUT PROGRAM

From 3.12 on the interpreter makes, for a profile function that is set in C: a frame
object for each call of a Python function; a bound method for each call of a method of
a C type, and once more when it returns; an int for each of these events further than
256 bytes into its code; and a table for each function that runs. Without a profile
function there are none, and lineprof leaves them out. Writes blocks and bytes by line
to OUT, a JSON file. Each is one of the innermost line of the program.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections import Counter
from pathlib import Path
from types import MethodDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType

OUT, PROGRAM = sys.argv[1:]
monitoring: Any = getattr(sys, "monitoring", None)  # from 3.12 on
BOUND = sys.getsizeof("".join)
SMALL_INT, INT = 256, 32  # the largest that there is only once; bytes of a larger one
TABLE = 64 if sys.version_info >= (3, 13) else 72
TOOL = 3

blocks: Counter[int] = Counter()
sizes: Counter[int] = Counter()
seen: set[CodeType] = set()


def add(frame: FrameType | None, size: int) -> None:
    """Count an object of the innermost line of the program."""
    while frame is not None and frame.f_code.co_filename != PROGRAM:
        frame = frame.f_back
    if frame:
        blocks[frame.f_lineno] += 1
        sizes[frame.f_lineno] += size


def started(code: CodeType, _: int) -> None:
    """Count a table, and the object of the frame: the caller's, as memray has it."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way
    if code not in seen:
        seen.add(code)
        add(frame.f_back, TABLE)
    add(frame.f_back, sys.getsizeof(frame))


def called(_: CodeType, offset: int, callee: object, first: object) -> None:
    """Count what the call of a function makes, or its return if it is one of C."""
    frame = sys._getframe(1)  # noqa: SLF001
    if isinstance(callee, MethodDescriptorType) and first is not MISSING:
        add(frame, BOUND)
    if offset > SMALL_INT:
        add(frame, INT)


def passed(_: CodeType, offset: int, __: object) -> None:
    """Count the offset of an event."""
    if offset > SMALL_INT:
        add(sys._getframe(1), INT)  # noqa: SLF001


def resumed(_: CodeType, offset: int) -> None:
    """Count the offset of the event."""
    if offset > SMALL_INT:
        add(sys._getframe(1), INT)  # noqa: SLF001


MISSING = monitoring.MISSING
EVENTS = monitoring.events
CALLBACKS = {
    EVENTS.PY_START: started,
    EVENTS.PY_RESUME: resumed,
    **dict.fromkeys((EVENTS.PY_RETURN, EVENTS.PY_YIELD, EVENTS.PY_UNWIND), passed),
    EVENTS.PY_THROW: passed,
    **dict.fromkeys((EVENTS.CALL, EVENTS.C_RETURN, EVENTS.C_RAISE), called),
}


def main() -> None:
    """Run the program, and write the numbers."""
    sys.argv = [PROGRAM]
    monitoring.use_tool_id(TOOL, "profile_objects")
    for event, callback in CALLBACKS.items():
        monitoring.register_callback(TOOL, event, callback)
    monitoring.set_events(TOOL, sum(CALLBACKS))
    try:
        runpy.run_path(PROGRAM, run_name="__main__")
    finally:
        monitoring.set_events(TOOL, 0)
    text = json.dumps({"blocks": blocks, "bytes": sizes})
    Path(OUT).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
