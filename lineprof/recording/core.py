"""Recording of a timeline: every slice of time in a function or on a line."""

from __future__ import annotations

import os
import sys
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from lineprof import _core, process_info
from lineprof.config import parse_bool
from lineprof.errors import LineprofError
from lineprof.process_info import python_version
from lineprof.recording.calibration import Calibration, measure, set_costs
from lineprof.recording.gpu import GpuWork, open_ranges
from lineprof.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FunctionType, ModuleType

    from lineprof._core import Tracer
    from lineprof.model.records import Process
    from lineprof.recording.gpu import GpuOptions
    from lineprof.snapshot.gpu import Taken
    from lineprof.snapshot.profile import RawTrace


# The choice of a core: where events come from, and why from there.


CORES = ("auto", "monitoring", "settrace")
_THEIRS = {
    **dict.fromkeys(("old", "legacy", "ctrace"), "settrace"),
    **dict.fromkeys(("new", "sys.monitoring", "sysmon"), "monitoring"),
}
# Costs are the process', and none while they are measured: by one thread at a time.
_opening = RLock()

os.register_at_fork(after_in_child=_opening._at_fork_reinit)  # type: ignore[attr-defined] # noqa: SLF001


class OpenCore(NamedTuple):
    """A tracer on the core that was chosen."""

    tracer: Tracer
    calibration: Calibration
    name: str
    reason: str  # one sentence


def wanted_core() -> str:
    """Return the core that the environment asks for: ``LINEPROF_CORE``.

    Where that says nothing, line_profiler's variable ``LINE_PROFILER_CORE`` does,
    in its words; those that mean nothing here mean nothing there.
    """
    wanted = os.environ.get("LINEPROF_CORE")
    if not wanted:
        wanted = _THEIRS.get(os.environ.get("LINE_PROFILER_CORE", "").lower())
    if wanted == "monitoring" and sys.version_info < (3, 12):
        wanted = os.environ.get("LINEPROF_CORE")  # line_profiler takes what there is
    return wanted or "auto"


def wanted_clock() -> str:
    """Return the clock that the environment asks for: ``LINEPROF_CLOCK``."""
    return os.environ.get("LINEPROF_CLOCK") or "auto"


def open_core(module: ModuleType, wanted: str, clock: object) -> OpenCore:
    """Open the core `wanted`, or for "auto" the best that can be had.

    `module` is the C module, `clock` None or a capsule. LineprofError says why
    there is none.
    """
    if wanted not in CORES:
        raise LineprofError(
            f"there is no core {wanted!r}", hint=f"choose one of {', '.join(CORES)}"
        )
    in_use = module.hook()
    refused = []
    for name, how in module.hooks():
        if wanted not in (name, "auto") or (
            wanted == "auto" and in_use not in (None, name)
        ):
            continue
        try:
            with _opening:
                tracer, calibration = _open(module, name, clock)
        except (RuntimeError, ValueError) as error:
            refused.append(str(error))
            continue
        reason = "; ".join([how, *refused, *_why(wanted, in_use)])
        return OpenCore(tracer, calibration, name, reason)
    why = "; ".join(refused) or f"{python_version()} has none"
    raise LineprofError(
        f"the core {wanted!r} can't be had: {why}",
        hint="use --core auto, or LINEPROF_CORE=auto",
    )


def _why(wanted: str, in_use: str | None) -> list[str]:
    if wanted != "auto":
        return ["it was asked for"]
    return ["another profiler of this process uses it"] if in_use else []


def _open(module: ModuleType, hook: str, clock: object) -> tuple[Tracer, Calibration]:
    known = (
        _calibrated(module, hook, wanted_clock()) if clock is None else Calibration()
    )
    tracer = module.Tracer(hook, clock, wanted_clock())
    set_costs(module, known.costs)
    return tracer, known


class _Calibrations:
    """The costs of hooks on clocks, each measured when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[tuple[ModuleType, str, str], Calibration] = {}

    def __call__(self, module: ModuleType, hook: str, clock_name: str) -> Calibration:
        key = (module, hook, clock_name)
        if key not in self._known:
            if module.hook() is None:
                module.Tracer(hook, None, clock_name).close()  # starts the clock
            self._known[key] = measure(module, hook)
        return self._known[key]


_calibrated = _Calibrations()


# Callbacks for when the program first uses a LineProfiler of its own.
#
# Whole-program profiling, which nobody asked for in the program, then turns off.


# Each is called with a profiler when that is made, when it is given something to
# count, and when it is enabled: often. Empty except under kernprof.
on_first_use: list[Callable[[object], object]] = []


def notify_first_use(profiler: object) -> None:
    """Call all callbacks with `profiler`, which the program uses."""
    for callback in tuple(on_first_use):  # one may remove itself
        callback(profiler)


# Metadata of one profiler's run: start, process, own cost, warnings.


class RunInfo:
    """Metadata of the run of one LineProfiler, from its construction on."""

    def __init__(self, core: ModuleType) -> None:
        """Start now, before the tracer is opened; `core` is the C module."""
        self._core = core
        self._start_unix_ns = process_info.unix_ns()
        self._lost = core.lost()
        self._cost = core.cost()
        self._displaced = 0

    def opened(self) -> None:
        """Note the state of the core right after the tracer was opened."""
        self._displaced = self._core.displaced()

    @property
    def cost(self) -> int:
        """The profiler's own cost since the start, in the core's unit of cost."""
        return int(self._core.cost() - self._cost)

    def process(self, *, core: tuple[str, str], overhead_ns: int, end: str) -> Process:
        """Return the metadata of this process and of the run so far.

        `core` is the event source and the reason for its choice; `end` says how the
        program ended, "" if it ended normally.
        """
        from lineprof.model.records import Process  # noqa: PLC0415  # at the end

        name, reason = core
        now = process_info.unix_ns()
        return Process(
            pid=os.getpid(),
            host=process_info.host(),
            rank=process_info.rank(),
            argv=tuple(sys.argv),
            cwd=process_info.cwd(),
            python=process_info.python_version(),
            start_unix_ns=self._start_unix_ns,
            wall_ns=max(0, now - self._start_unix_ns),
            core=name,
            core_reason=reason,
            clock=self._core.clock()[0],
            overhead_ns=overhead_ns,
            version=VERSION,
            exit=end,
        )

    def warnings(
        self, functions: Iterable[FunctionType], *, from_start: bool
    ) -> list[str]:
        """Return a sentence for each reason why numbers of `functions` are incomplete.

        `from_start` is False if the program itself says when counting starts.
        """
        warnings = []
        if from_start and not self._core.collecting():
            warnings.append(
                "nothing was counted since a call of cudaProfilerStop or lineprof.stop"
            )
        lost = self._core.lost() - self._lost
        if lost > 0:
            warnings.append(f"{lost} calls went uncounted: memory was out")
        if uncharged := self._core.gpu_lost():
            warnings.append(
                f"{uncharged} calls of the GPU's API are charged to a calling line or"
                " to none: memory was out, or the program has too many call paths"
            )
        if self._core.displaced() > self._displaced:
            warnings.append(
                "another frame evaluator (torch.compile's?) put the profiler's out of "
                "its place when it ended: calls since then went uncounted"
            )
        if "torch._dynamo" in sys.modules:
            from lineprof.recording.compiled import missing_lines  # noqa: PLC0415  # at the end

            warnings += missing_lines(functions)
        return warnings


# One LineProfiler's session with the C core; the only module that imports `_core`.


def held_tool_ids() -> set[int]:
    """Return the ids of ``sys.monitoring`` that lineprof holds just now."""
    if _core.hook() != "monitoring":
        return set()
    get_tool = sys.monitoring.get_tool  # type: ignore[attr-defined]
    return {number for number in range(6) if get_tool(number) == "lineprof"}


def start() -> None:
    """Count lines and GPU work from now on, after `stop`; as cudaProfilerStart does.

    Functions under way count from their next line on.
    """
    _core.collect(True)


def stop() -> None:
    """Count nothing from now on, in any profiler, until `start`.

    Lines under way end here; by cudaProfilerStop, those of its thread alone.
    """
    _core.collect(False)


class CoreSession:
    """One profiler's tracer, GPU recording and timeline, from construction on."""

    module = _core  # for the other parts of a profiler

    def __init__(
        self,
        core: str | None,
        clock: object,
        gpu: GpuOptions | str | None,
        nvtx: str | None,
        trace: TraceOptions | bool | None,  # noqa: FBT001  # as a profiler takes it
    ) -> None:
        """Open the core; LineprofError if the options cannot be met.

        The arguments are those of `LineProfiler`.
        """
        # Before the core is opened: recording adds to the costs that are measured then.
        self.trace = _trace_recorder(trace)
        self.run_info = RunInfo(_core)
        opened = open_core(_core, core or wanted_core(), clock)
        self.tracer, self.calibration = opened.tracer, opened.calibration
        self.run_info.opened()
        self.core, self.core_reason = opened.name, opened.reason
        self.clock, self.clock_reason = _core.clock()
        open_ranges(_core, nvtx)
        self.gpu = GpuWork(_core, gpu)
        if self.trace is not None:
            self.trace.begin()

    def enable(self) -> None:
        """Count from now on, in every thread."""
        _core.set_strict("greenlet" in sys.modules)
        self.tracer.enable()

    def reset(self) -> None:
        """Forget all that was counted; code objects stay registered."""
        self.tracer.reset()
        self.gpu.restart()


def _trace_recorder(
    trace: TraceOptions | bool | None,  # noqa: FBT001
) -> TraceRecorder | None:
    if not trace and (trace is not None or "LINEPROF_TRACE" not in os.environ):
        return None

    return trace_recorder(_core, trace)


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
        core.trace(self._bytes, None)
        TraceRecorder._alive += 1

    def __del__(self) -> None:
        """Stop recording after the last request."""
        TraceRecorder._alive -= 1
        if not TraceRecorder._alive:
            self._core.trace(0, None)

    def begin(self) -> None:
        """Also record lines, now that the clock is open."""
        ticks = None
        if self._lines_us < NO_LINES:
            ticks = min((int(self._lines_us * 1000) << 32) // self._core.scale(), _LAST)
        self._core.trace(self._bytes, ticks)
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
