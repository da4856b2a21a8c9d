"""Blocks: the lines inside a ``with`` statement, counted under a name.

A block may be anywhere, also at the top of a module and in functions that are not
decorated. It has a tracer of its own for the code around it, enabled while the block
runs; the profile keeps only the counts of the block's lines.
"""

from __future__ import annotations

import sys
from _thread import get_ident  # as in threading, which imports warnings
from typing import TYPE_CHECKING

from lineprof.bytecode.code_tables import register
from lineprof.model.records import UNKNOWN_THREAD
from lineprof.recording.core import memory_quiet
from lineprof.snapshot.profile import CodeRow, LineRow, line_rows, packed_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, ModuleType

    from lineprof._core import Tracer
    from lineprof.model.records import Key
    from lineprof.recording.sources import RecordedSources
    from lineprof.snapshot.profile import Code, RawWait


class Block:
    """A named block: ``with profiler.block("load"):``."""

    def __init__(self, blocks: Blocks, name: str) -> None:
        """Start outside; `blocks` are those of the profiler."""
        self._blocks = blocks
        self._name = name
        # A block may be entered again while it runs.
        self._entered: list[tuple[_WithStatement, int]] = []

    def __enter__(self) -> None:
        """Count the lines of the ``with`` statement from here on."""
        memory_quiet(True)  # a ``with`` statement would allocate a method
        try:
            statement = self._blocks.statement(_frame_of_with(), self._name)
            statement.tracer.enable_by_count()
            self._entered.append((statement, self._blocks.ticks()))
        finally:
            memory_quiet(False)

    def __exit__(self, *_: object) -> None:
        """Stop counting; an exception propagates."""
        memory_quiet(True)
        now = self._blocks.ticks()
        statement, start = self._entered.pop()
        statement.tracer.disable_by_count()
        statement.end(now - start)
        memory_quiet(False)


class Blocks:
    """The blocks of one profiler, in the order in which they were first entered."""

    def __init__(self, core: ModuleType, hook: str, sources: RecordedSources) -> None:
        """Start empty; `sources` are those of the profiler.

        `core` is the C module, `hook` the event source.
        """
        self.ticks = core.ticks
        self._core, self._hook = core, hook
        self._sources = sources
        self._statements: dict[Key, _WithStatement] = {}

    def statement(self, frame: FrameType, name: str) -> _WithStatement:
        """Return the ``with`` statement that `frame` is about to enter."""
        code = frame.f_code
        key = (code.co_filename, frame.f_lineno, name)
        statement = self._statements.get(key)
        if statement is None:
            made = _WithStatement(key, self._core.Tracer(self._hook))
            statement = self._statements.setdefault(key, made)  # or another thread's
        if not statement.tracer.has_code(code):
            register(statement.tracer, code, key, self._sources.of(code))
        return statement

    def codes(self) -> Iterator[Code]:
        """Yield the counts of all blocks, in the form of ``Tracer.snapshot``."""
        for statement in list(self._statements.values()):  # a thread may add one
            yield from statement.codes(self._sources)

    def waits(self) -> Iterator[RawWait]:
        """Yield the waits of the blocks' lines, in the form of ``Tracer.off_cpu``."""
        for statement in list(self._statements.values()):
            yield from statement.tracer.off_cpu()

    def reset(self) -> None:
        """Set all counts to zero."""
        for statement in list(self._statements.values()):
            statement.reset()


class _WithStatement:
    """One ``with`` statement: its tracer, the number and the time of its runs."""

    def __init__(self, key: Key, tracer: Tracer) -> None:
        """Start without runs; `key` is file, line and name, `tracer` its own."""
        self.tracer = tracer
        self._key = key
        # By thread, so that no thread overwrites the counts of another: number of
        # runs, and their ticks.
        self._ended: dict[int, tuple[int, int]] = {}

    def end(self, ticks: int) -> None:
        """Count a run of the statement that took `ticks`."""
        thread = get_ident()
        runs, ticks_before = self._ended.get(thread, (0, 0))
        self._ended[thread] = (runs + 1, ticks_before + ticks)

    def reset(self) -> None:
        """Set all counts to zero."""
        self.tracer.reset()
        self._ended.clear()

    def codes(self, sources: RecordedSources) -> Iterator[Code]:
        """Yield the counts of the block's lines."""
        file, entered_at, name = self._key
        first, last = self._first_and_last_line(sources)
        ended = list(self._ended.values())
        runs = sum(count for count, _ in ended)
        for code in map(CodeRow._make, self.tracer.snapshot()[1]):
            rows = line_rows(code.lines)
            lines = [row for row in rows if entered_at < row.line <= last]
            if runs:  # the line of the `with`, which started before the tracer
                ticks = sum(ticks for _, ticks in ended) if last == first else 0
                thread = lines[0].thread if lines else UNKNOWN_THREAD
                lines.insert(
                    0, LineRow(line=first, thread=thread, hits=runs, ticks=ticks)
                )
            yield CodeRow(
                key=(file, first, name),
                calls=runs,
                ticks=0,
                cost=0,
                recursed=0,
                lines=packed_lines(lines),
                serial=code.serial,
            )
            runs = 0

    def _first_and_last_line(self, sources: RecordedSources) -> tuple[int, float]:
        """Return the block's first and last line.

        Without source, these are the line where it was entered, and infinity.
        """
        from lineprof.source import block, start_of_with  # noqa: PLC0415  # at the end

        file, entered_at, name = self._key
        text = sources.texts.get(file) or sources.read(file).text
        if not text:
            return entered_at, float("inf")
        first = start_of_with(text, entered_at)
        return first, first + len(block(text, first, name)) - 1


def _frame_of_with() -> FrameType:
    """Return the frame of the ``with``, skipping those of a contextlib.ExitStack."""
    frame = sys._getframe(2)  # noqa: SLF001  # the caller of __enter__
    contextlib_file = getattr(sys.modules.get("contextlib"), "__file__", None)
    while frame.f_code.co_filename == contextlib_file and frame.f_back:
        frame = frame.f_back
    return frame
