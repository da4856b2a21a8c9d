"""Blocks: the lines inside a ``with`` statement, counted under a name.

A block may stand anywhere, at the top of a module, too, and in functions that are
not decorated. It is a profiler of its own for the code around it, enabled while the
block runs; of what that counts, the lines of the block are kept.
"""

from __future__ import annotations

import sys
from threading import get_ident
from typing import TYPE_CHECKING

from lineprof.bytecode.code_tables import register
from lineprof.model.records import UNKNOWN_THREAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType, ModuleType

    from lineprof._core import Tracer
    from lineprof.model.records import Key
    from lineprof.snapshot.profile import Code, Line, RawWait


class Block:
    """A named block: ``with profiler.block("load"):``."""

    def __init__(self, blocks: Blocks, name: str) -> None:
        """Take where blocks are kept, and the name."""
        self._blocks = blocks
        self._name = name
        self._entered: list[tuple[_Part, int]] = []  # a block may be entered again

    def __enter__(self) -> None:
        """Count the lines of the ``with`` statement from here on."""
        part = self._blocks.part(_frame_of_with(), self._name)
        part.tracer.enable_by_count()
        self._entered.append((part, self._blocks.ticks()))

    def __exit__(self, *_: object) -> None:
        """Count no more; an exception goes on."""
        now = self._blocks.ticks()
        part, since = self._entered.pop()
        part.tracer.disable_by_count()
        part.end(now - since)


class Blocks:
    """The blocks of one profiler, in the order in which they were first entered."""

    def __init__(self, core: ModuleType, hook: str, texts: Mapping[str, str]) -> None:
        """Take the C module, the event source, and source that is in no file."""
        self.ticks = core.ticks
        self._core, self._hook = core, hook
        self._texts = texts
        self._parts: dict[Key, _Part] = {}

    def part(self, frame: FrameType, name: str) -> _Part:
        """Return the part for a block that `frame` is about to enter."""
        code = frame.f_code
        key = (code.co_filename, frame.f_lineno, name)
        part = self._parts.get(key)
        if part is None:
            made = _Part(key, self._core.Tracer(self._hook))
            part = self._parts.setdefault(key, made)  # another thread's, if it has one
        if not part.tracer.has_code(code):
            register(part.tracer, code, key, self._texts.get(code.co_filename))
        return part

    def codes(self) -> Iterator[Code]:
        """Yield what was counted, as ``Tracer.snapshot`` has it."""
        for part in list(self._parts.values()):  # a thread may enter a new one
            yield from part.codes(self._texts)

    def waits(self) -> Iterator[RawWait]:
        """Yield what its lines waited, as ``Tracer.off_cpu`` has it."""
        for part in list(self._parts.values()):
            yield from part.tracer.off_cpu()

    def reset(self) -> None:
        """Forget what was counted so far."""
        for part in list(self._parts.values()):
            part.reset()


class _Part:
    """One ``with`` statement: its profiler, and how often it was done."""

    def __init__(self, key: Key, tracer: Tracer) -> None:
        """Take what it is called, file, line and name, and its profiler."""
        self.tracer = tracer
        self._key = key
        # By thread, so that none writes over another's: how often it came to the
        # end, and ticks from the beginnings to the ends.
        self._ended: dict[int, tuple[int, int]] = {}

    def end(self, ticks: int) -> None:
        """Count that the statement was done, in so many ticks."""
        thread = get_ident()
        times, before = self._ended.get(thread, (0, 0))
        self._ended[thread] = (times + 1, before + ticks)

    def reset(self) -> None:
        """Forget what was counted so far."""
        self.tracer.reset()
        self._ended.clear()

    def codes(self, texts: Mapping[str, str]) -> Iterator[Code]:
        """Yield what was counted on the lines of the block."""
        file, entered_at, name = self._key
        first, last = self._place(texts)
        ended = list(self._ended.values())
        entered = sum(times for times, _ in ended)
        for code in self.tracer.snapshot()[1]:
            lines = [line for line in code[5] if entered_at < line[0] <= last]
            if entered:  # the line of the `with` itself, which came before us
                ticks = sum(ticks for _, ticks in ended) if last == first else 0
                thread = lines[0][1] if lines else UNKNOWN_THREAD
                lines.insert(0, _line_of_with(first, thread, entered, ticks))
            yield ((file, first, name), entered, 0, 0, 0, lines, code[6])
            entered = 0

    def _place(self, texts: Mapping[str, str]) -> tuple[int, float]:
        """Return the block's first and last line.

        Without source, that where it was entered, and all lines are its own.
        """
        from lineprof.source import (  # noqa: PLC0415  # at the end
            block,
            start_of_with,
            text_of,
        )

        file, entered_at, name = self._key
        text = texts.get(file) or text_of(file)
        if text is None:
            return entered_at, float("inf")
        first = start_of_with(text, entered_at)
        return first, first + len(block(text, first, name)) - 1


def _line_of_with(number: int, thread: int, hits: int, ticks: int) -> Line:
    return (number, thread, hits, ticks, 0, 0, -1, -1, 0)


def _frame_of_with() -> FrameType:
    """Return the frame of the ``with``, past a contextlib.ExitStack that entered."""
    frame = sys._getframe(2)  # noqa: SLF001  # of who called __enter__
    between = getattr(sys.modules.get("contextlib"), "__file__", None)
    while frame.f_code.co_filename == between and frame.f_back:
        frame = frame.f_back
    return frame
