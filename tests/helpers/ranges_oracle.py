"""The oracle of NVTX ranges: those that a program must show, by `sys.settrace`.

The oracle shares no code with lineprof, only these rules:

R1  A frame of a profiled function is a range for as long as it runs: from its
    call, or from where it is resumed, until it returns, raises or is suspended.
R2  Within it, the frame's current line is a range, from its ``line`` event until
    the next one, or until the frame ends; in a resumed frame, from the start.
    (3.12 and later) An event that names the line on which a frame was resumed,
    like 3.13's for an exception that is thrown in, begins no other range.
R3  A decorated function always counts, an added one while the profiler is
    enabled; calls of decorated functions enable the profiler.
R4  ``disable`` ends all ranges.  A frame that continues to run has its ranges
    again from its first line after an ``enable``.

Programs avoid comprehensions, whose line events differ between versions.
"""

from __future__ import annotations

import json
import linecache
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from nvtx_spy import POP
from oracle import codes_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

T = TypeVar("T")


class OpenFrame:
    """A frame with an open range, and whether its line has one."""

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.has_line = False
        self.resumed_on = 0


class ThreadRanges(threading.local):
    """The ranges of a thread: all so far, and the frames with open ones."""

    def __init__(self) -> None:
        self.ranges: list[str] | None = None
        self.open: list[OpenFrame] = []


class RangesOracle:
    """A stand-in for a profiler, which records ranges alone."""

    def __init__(self, *, lines: bool = True) -> None:
        self.threads: list[list[str]] = []
        self._lines = lines
        self._thread = ThreadRanges()
        self._decorated: dict[int, CodeType] = {}
        self._added: dict[int, CodeType] = {}
        self._begun: dict[int, FrameType] = {}
        self._enabled = 0
        self._running = 0  # frames of decorated functions

    def __call__(self, target: T) -> T:
        """Record ranges of *target* from now on; return *target* unchanged."""
        self._decorated.update((id(code), code) for code in codes_of(target))
        return target

    def add_function(self, target: object) -> None:
        """Record ranges of *target* while the profiler is enabled."""
        self._added.update((id(code), code) for code in codes_of(target))

    def enable(self) -> None:
        """Enable, until `disable`."""
        self._enabled += 1

    def disable(self) -> None:
        """End all open ranges."""
        self._enabled = self._running = 0
        for frame in self._thread.open:
            self._add(*[POP] * (1 + frame.has_line))
        self._thread.open.clear()

    def __enter__(self) -> Self:
        """Enable until the block ends."""
        self._enabled += 1
        return self

    def __exit__(self, *_: object) -> None:
        """Disable."""
        self._enabled -= 1

    def trace(self, run: Callable[[], T]) -> T:
        """Call *run* and trace it."""
        threading.settrace(self._called)
        sys.settrace(self._called)
        try:
            return run()
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]

    def _add(self, *ranges: str) -> None:
        thread = self._thread
        if thread.ranges is None:
            thread.ranges = []
            self.threads.append(thread.ranges)
        thread.ranges += ranges

    def _counts(self, code: CodeType) -> bool:
        return id(code) in self._decorated or (
            id(code) in self._added and self._enabled + self._running > 0
        )

    def _push(self, frame: FrameType) -> None:
        code, file = frame.f_code, Path(frame.f_code.co_filename).name
        self._thread.open.append(OpenFrame(frame))
        self._add(f"{code.co_name} ({file}:{code.co_firstlineno})")

    def _push_line(self, frame: FrameType) -> None:
        file, line = frame.f_code.co_filename, frame.f_lineno
        if self._lines:
            self._thread.open[-1].has_line = True
            text = linecache.getline(file, line).strip()[:80]
            self._add(f"{Path(file).name}:{line}  {text}")

    def _called(self, frame: FrameType, event: str, _: object) -> object:
        code = frame.f_code
        if event != "call" or id(code) not in {**self._decorated, **self._added}:
            return None
        if id(code) in self._decorated:
            self._running += 1
        if self._counts(code):
            self._push(frame)
            if self._begun.get(id(frame)) is frame:
                self._push_line(frame)
                self._thread.open[-1].resumed_on = frame.f_lineno
        self._begun[id(frame)] = frame
        return self._local

    def _local(self, frame: FrameType, event: str, _: object) -> object:
        code, thread = frame.f_code, self._thread
        is_open = bool(thread.open) and thread.open[-1].frame is frame
        if event == "line" and is_open:
            goes_on = thread.open[-1].resumed_on == frame.f_lineno
            thread.open[-1].resumed_on = 0
            if goes_on and sys.version_info >= (3, 12):
                return self._local
        if event == "line" and (is_open or self._enabled + self._running > 0):
            if not is_open:
                self._running += id(code) in self._decorated
                self._push(frame)
            elif thread.open[-1].has_line:
                self._add(POP)
            self._push_line(frame)
        if event == "return" and is_open:
            self._add(*[POP] * (1 + thread.open.pop().has_line))
            self._running -= id(code) in self._decorated
        return self._local


def main() -> None:
    """Run a program under the oracle: FILE MODE FUNCTION..."""
    from running import play  # noqa: PLC0415 - needed here alone

    file, mode, *functions = sys.argv[1:]
    text = Path(file).read_text(encoding="utf-8")
    oracle = RangesOracle(lines=mode != "func")
    output, result = oracle.trace(lambda: play(text, file, oracle, functions))
    print(json.dumps([oracle.threads, output, result]))


if __name__ == "__main__":
    main()
