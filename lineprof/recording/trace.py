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

NO_LINES = float("inf")  # µs: longer than any slice on a line
_MIN_LINE_US = 10.0  # shorter slices on a line are not recorded
_MEMORY_MB = 128
_MAX_MB = 1 << 20
_MB = 1 << 20  # bytes
_IDLE_NS = 30_000  # min slice for idle times of GPUs: LP_WAIT_NS of the core
_IDLE_MB = 32
_MAX_US = 1e12  # a line without end
_MAX_TICKS = (1 << 64) - 2  # one more means that no lines are recorded


class TraceOptions(NamedTuple):
    """Options of a timeline; None takes the environment's variable, or the default."""

    lines_us: float | None = None  # min. slice on a line: LINEPROF_TRACE_LINES, or 10
    memory_mb: int | None = None  # of all threads together: LINEPROF_TRACE_MB, or 128


def trace_recorder(
    core: ModuleType,
    asked: TraceOptions | bool | None,  # noqa: FBT001  # what a profiler was told
) -> TraceRecorder | None:
    """Return a recorder if a timeline was `asked` for; None takes ``LINEPROF_TRACE``.

    Raises LineprofError if a variable of the environment has an invalid value.
    """
    if asked is None:
        word = os.environ.get("LINEPROF_TRACE", "")
        asked = parse_bool(word)
        if asked is None:
            raise _invalid("LINEPROF_TRACE", word, "yes or no")
    if asked is False:
        return None
    options = TraceOptions() if asked is True else asked
    memory = options.memory_mb
    return TraceRecorder(
        core,
        _default_lines_us() if options.lines_us is None else options.lines_us,
        _default_memory_mb() if memory is None else memory,
    )


def microseconds(word: str) -> float | None:
    """Return the value in µs of an option, ``10`` or ``off``; None if invalid."""
    if word == "off":
        return NO_LINES
    try:
        number = float(word)
    except ValueError:
        return None
    return number if 0 <= number < NO_LINES else None


def _default_lines_us() -> float:
    word = os.environ.get("LINEPROF_TRACE_LINES") or str(_MIN_LINE_US)
    number = microseconds(word)
    if number is None:
        raise _invalid("LINEPROF_TRACE_LINES", word, "microseconds, or off")
    return number


def _default_memory_mb() -> int:
    word = os.environ.get("LINEPROF_TRACE_MB") or str(_MEMORY_MB)
    if not word.isdecimal() or not 0 < int(word) <= _MAX_MB:
        raise _invalid("LINEPROF_TRACE_MB", word, "megabytes from 1 on")
    return int(word)


def _invalid(name: str, word: str, hint: str) -> LineprofError:
    return LineprofError(f"{word!r} is no value of {name}", hint=f"give {hint}")


class _Requests:
    """The requests for slices that are alive, of which timelines are some.

    A request may be the last object of a process, when module globals are gone:
    its end needs none.
    """

    def __init__(self) -> None:
        self.alive = 0
        self.timelines = 0


_REQUESTS = _Requests()


class _Request:
    """One profiler's request for slices, which the core keeps."""

    _is_timeline = False
    _min_ns = 0  # of a function that has a slice
    _began = 0  # ticks

    def __init__(self, core: ModuleType, memory_mb: int, min_line_ns: int) -> None:
        """Count the request; `min_line_ns` is that of a line that has a slice."""
        self._core, self._trace_start = core, core.trace_start
        self._memory_mb, self._min_line_ns = memory_mb, min_line_ns
        self._requests = _REQUESTS
        self._requests.alive += 1
        self._requests.timelines += self._is_timeline

    def __del__(self) -> None:
        """Stop recording after the last request."""
        self._requests.timelines -= self._is_timeline
        self._requests.alive -= 1
        if not self._requests.alive:
            self._trace_start(0, None)

    def of(self, tracer: Tracer, gpu: Taken | None) -> RawTrace:
        """Return the slices of `tracer`; they are read from the core later.

        Their times have the same origin as those of `gpu`.
        """
        from lineprof.snapshot.profile import RawTrace  # noqa: PLC0415  # at the end

        return RawTrace(
            core=self._core,
            tracer=tracer,
            began=self._began,
            origin_ns=gpu.raw["origin_ns"] if gpu and gpu.raw else None,
            memory_mb=self._memory_mb,
            min_ns=self._min_ns,
            min_line_ns=self._min_line_ns,
        )


class SliceRecorder(_Request):
    """One profiler's request for the long slices that explain a GPU's idle time.

    They are those of lines and functions whose off-CPU time is measured anyway. The
    requests of a timeline go first: they include these slices.
    """

    _min_ns = _IDLE_NS

    def __init__(self, core: ModuleType) -> None:
        """Record from now on; the clock must be open."""
        self._began = core.ticks()
        super().__init__(core, _IDLE_MB, _IDLE_NS)
        if not self._requests.timelines:
            ticks = (_IDLE_NS << 32) // core.scale()
            core.trace_start(_IDLE_MB * _MB, ticks, ticks)


class TraceRecorder(_Request):
    """One profiler's request for a timeline.

    All profilers of the process share one trace buffer. The options of the last
    request hold, and recording continues while any request is alive.
    """

    _is_timeline = True

    def __init__(self, core: ModuleType, lines_us: float, memory_mb: int) -> None:
        """Record functions from now on, so that calibration includes their cost."""
        self._lines_us = lines_us
        self._bytes = min(memory_mb, _MAX_MB) * _MB
        core.trace_start(self._bytes, None)
        super().__init__(core, memory_mb, int(min(lines_us, _MAX_US) * 1000))

    def begin(self) -> None:
        """Also record lines, now that the clock is open."""
        ticks = None
        if self._lines_us < NO_LINES:
            ticks = (int(self._lines_us * 1000) << 32) // self._core.scale()
            ticks = min(ticks, _MAX_TICKS)
        self._core.trace_start(self._bytes, ticks)
        self._began = self._core.ticks()
