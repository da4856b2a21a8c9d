"""Timelines: the recording of every slice of time in a function or on a line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from lineprof.config import parse_bool
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from types import ModuleType

    from lineprof._core import Tracer
    from lineprof.snapshot.gpu import Taken
    from lineprof.snapshot.profile import RawTrace

NO_LINES = float("inf")  # µs that no stay on a line is as long as
LONG_US = 10.0  # µs: shorter stays on a line are not recorded
MEMORY_MB = 128
_MOST_MB = 1 << 20
_MB = 1 << 20  # bytes
_LAST = (1 << 64) - 2  # ticks; one more means that no lines are recorded


class TraceOptions(NamedTuple):
    """What to record one by one; None is what the environment says, or the usual."""

    lines_us: float | None = None  # stays from so long on: LINEPROF_TRACE_LINES, or 10
    memory_mb: int | None = None  # in all threads together: LINEPROF_TRACE_MB, or 128


def trace_recorder(
    core: ModuleType,
    asked: TraceOptions | bool | None,  # noqa: FBT001  # what a profiler was told
) -> TraceRecorder | None:
    """Return a recorder if a timeline was `asked` for; None takes ``LINEPROF_TRACE``.

    LineprofError if a variable of the environment has an invalid value.
    """
    if asked is None:
        word = os.environ.get("LINEPROF_TRACE", "")
        asked = parse_bool(word)
        if asked is None:
            raise _bad("LINEPROF_TRACE", word, "yes or no")
    if asked is False:
        return None
    options = TraceOptions() if asked is True else asked
    memory = options.memory_mb
    return TraceRecorder(
        core,
        _lines() if options.lines_us is None else options.lines_us,
        _memory() if memory is None else memory,
    )


def microseconds(word: str) -> float | None:
    """Return what ``10`` or ``off`` means, in µs; None where it means nothing."""
    if word == "off":
        return NO_LINES
    try:
        number = float(word)
    except ValueError:
        return None
    return number if 0 <= number < NO_LINES else None


def _lines() -> float:
    word = os.environ.get("LINEPROF_TRACE_LINES") or str(LONG_US)
    number = microseconds(word)
    if number is None:
        raise _bad("LINEPROF_TRACE_LINES", word, "microseconds, or off")
    return number


def _memory() -> int:
    word = os.environ.get("LINEPROF_TRACE_MB") or str(MEMORY_MB)
    if not word.isdecimal() or not 0 < int(word) <= _MOST_MB:
        raise _bad("LINEPROF_TRACE_MB", word, "megabytes from 1 on")
    return int(word)


def _bad(name: str, word: str, hint: str) -> LineprofError:
    return LineprofError(f"{word!r} is no value of {name}", hint=f"give {hint}")


class TraceRecorder:
    """One profiler's request for a timeline.

    All profilers of the process share one trace buffer: the options of the last
    request hold, and recording goes on while any `TraceRecorder` is alive.
    """

    _alive = 0

    def __init__(self, core: ModuleType, lines_us: float, memory_mb: int) -> None:
        """Record functions from now on, so that their cost is calibrated, too."""
        self._core, self._lines_us = core, lines_us
        self._memory_mb = memory_mb
        self._bytes = min(memory_mb, _MOST_MB) * _MB
        self._began = 0
        core.trace_start(self._bytes, None)
        TraceRecorder._alive += 1

    def __del__(self) -> None:
        """Stop recording after the last request."""
        TraceRecorder._alive -= 1
        if not TraceRecorder._alive:
            self._core.trace_start(0, None)

    def begin(self) -> None:
        """Also record lines, now that the clock is open."""
        ticks = None
        if self._lines_us < NO_LINES:
            ticks = min((int(self._lines_us * 1000) << 32) // self._core.scale(), _LAST)
        self._core.trace_start(self._bytes, ticks)
        self._began = self._core.ticks()

    def of(self, tracer: Tracer, gpu: Taken | None) -> RawTrace:
        """Return the trace of `tracer`, which is not read out yet.

        Its times start where those of `gpu` do.
        """
        from lineprof.snapshot.profile import RawTrace  # noqa: PLC0415  # at the end

        return RawTrace(
            self._core,
            tracer,
            self._began,
            gpu.raw["origin_ns"] if gpu and gpu.raw else None,
            self._memory_mb,
        )
