"""The session of one LineProfiler with the C core: event source, run, GPU, timeline.

This is the only module that imports `lineprof._core` for its state; its functions hand
the C module on to the other modules.
"""

from __future__ import annotations

import atexit
import os
import sys
from _thread import allocate_lock, get_ident  # as in threading, which imports warnings
from collections import namedtuple
from functools import cache

from lineprof import _core, process_info
from lineprof.errors import LineprofError
from lineprof.files import current_folder
from lineprof.later import Later
from lineprof.process_info import python_version
from lineprof.ranks import rank_of_process
from lineprof.recording.calibration import (
    CHEAPER,
    Calibration,
    Costs,
    measure,
    set_costs,
)
from lineprof.recording.gpu import GpuWork, open_ranges
from lineprof.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FunctionType, ModuleType
    from typing import Any

    from lineprof._core import Tracer
    from lineprof.recording import compiled
    from lineprof.recording.gpu import GpuOptions
    from lineprof.recording.host_memory import MemoryRecorder
    from lineprof.recording.live_file import LiveFile
    from lineprof.recording.trace import SliceRecorder, TraceOptions, TraceRecorder
else:
    compiled = Later("lineprof.recording.compiled")


# The choice of a core: the source of events, and the reason for it.

CORES = ("auto", "monitoring", "monitoring-line", "monitoring-instruction", "settrace")
_CORES_OF_LINE_PROFILER = {
    **dict.fromkeys(("old", "legacy", "ctrace"), "settrace"),
    **dict.fromkeys(("new", "sys.monitoring", "sysmon"), "monitoring"),
}


class _Opening:
    """A ``with`` block for one thread at a time, which may enter it again.

    It is no RLock: eventlet looks for those of a process, and complains of the ones
    that it cannot replace.
    """

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = allocate_lock()
        self._owner = self._depth = 0

    def __enter__(self) -> None:
        if self._owner != get_ident():
            self._lock.acquire()
            self._owner = get_ident()
        self._depth += 1

    def __exit__(self, *_exception: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = 0
            self._lock.release()


# Event costs belong to the process and are 0 during calibration: one thread at a time.
_opening = _Opening()
# Registered early, so that it runs after the program's own exit functions.
atexit.register(_core.keep_codes)


class OpenCore(namedtuple("OpenCore", "tracer calibration name reason")):
    """A tracer on the core that was chosen."""

    __slots__ = ()

    tracer: Tracer
    calibration: Calibration
    name: str
    reason: str  # one sentence


def wanted_core() -> str:
    """Return the core that the environment asks for: ``LINEPROF_CORE``.

    If that is not set, ``LINE_PROFILER_CORE`` counts, with line_profiler's names of
    cores; unknown names are ignored, as line_profiler does.
    """
    if wanted := os.environ.get("LINEPROF_CORE"):
        return wanted
    name = os.environ.get("LINE_PROFILER_CORE", "").lower()
    core = _CORES_OF_LINE_PROFILER.get(name, "auto")
    if core == "monitoring" and sys.version_info < (3, 12):
        return "auto"  # line_profiler falls back to its other core
    return core


def wanted_clock() -> str:
    """Return the clock that the environment asks for: ``LINEPROF_CLOCK``."""
    return os.environ.get("LINEPROF_CLOCK") or "auto"


def open_core(module: ModuleType, wanted: str, clock: object) -> OpenCore:
    """Open the core `wanted`, or for "auto" the best one that is available.

    `module` is the C module, `clock` None or a capsule (see `LineProfiler`). Raises
    LineprofError if no such core is available.
    """
    if wanted not in CORES:
        raise LineprofError(
            f"there is no core {wanted!r}", hint=f"choose one of {', '.join(CORES)}"
        )
    in_use = module.hook()
    refused = []
    hook, _, event = wanted.partition("-")
    for name, how in module.hooks():
        if hook not in (name, "auto") or (
            wanted == "auto" and in_use not in (None, name)
        ):
            continue
        try:
            with _opening:
                tracer, calibration = _open(module, name, event or CHEAPER, clock)
        except (RuntimeError, ValueError) as error:
            refused.append(str(error))
            continue
        events = _events(module, name, event, calibration.costs)
        reason = "; ".join([how, *events, *refused, *_reasons(wanted, in_use)])
        return OpenCore(
            tracer=tracer, calibration=calibration, name=name, reason=reason
        )
    reason = "; ".join(refused) or f"{python_version()} has none"
    raise LineprofError(
        f"the core {wanted!r} is not available: {reason}",
        hint="use --core auto, or LINEPROF_CORE=auto",
    )


def _reasons(wanted: str, in_use: str | None) -> list[str]:
    if wanted != "auto":
        return ["it was asked for"]
    return ["another profiler of this process uses it"] if in_use else []


def _events(module: ModuleType, hook: str, wanted: str, costs: Costs) -> Iterable[str]:
    """Yield the sentence on the events that tell of lines, if there is a choice."""
    if hook != "monitoring":
        return
    names = [(costs.line, "LINE"), (costs.by_instruction, "INSTRUCTION")]
    if not module.has_instructions():
        yield "LINE events tell of lines, because another tool may have them too"
    elif wanted:
        yield f"{wanted.upper()} events tell of lines"
    elif costs.line:
        one = module.COST_ONE * 2**32 / module.scale()  # of 1 ns
        (less, cheaper), (more, other) = sorted(names)
        yield (
            f"{cheaper} events tell of lines, because one costs {less / one:.1f} ns, "
            f"a {other} event {more / one:.1f} ns"
        )


def _open(
    module: ModuleType, hook: str, event: str, clock: object
) -> tuple[Tracer, Calibration]:
    calibration = Calibration()
    if clock is None:
        inherited = _inherited.get((hook, wanted_clock()))
        calibration = inherited or _calibrated(
            module, hook, event, wanted_clock(), alone=_is_alone()
        )
    module.set_line_event(event)
    tracer = module.Tracer(hook, clock, wanted_clock())
    set_costs(module, calibration.costs)
    return tracer, calibration


# Calibrations of the process that started this one, by hook and clock.
_inherited: dict[tuple[str, str], Calibration] = {}


def inherit_calibration(hook: str, costs: Iterable[int], turn: float) -> None:
    """Take the calibration of the parent process, which takes less time than another.

    `costs` and `turn` are the fields of `Calibration`.
    """
    _inherited[hook, wanted_clock()] = Calibration(costs=Costs(*costs), turn=turn)


def _is_alone() -> bool:
    """Return whether no other tool is there that changes what events cost."""
    if sys.gettrace() is not None:
        return False
    monitoring = getattr(sys, "monitoring", None)
    names = {monitoring.get_tool(number) for number in range(6)} if monitoring else ()
    return not {*names} - {None, "lineprof"}


@cache
def _calibrated(
    module: ModuleType,
    hook: str,
    event: str,
    clock_name: str,
    *,
    alone: bool,  # noqa: ARG001  # a part of the key
) -> Calibration:
    """Return the costs of a hook's events with a clock, measured at the first call."""
    if module.hook() is None:
        module.Tracer(hook, None, clock_name).close()  # starts the clock
    return measure(module, hook, event)


def new_live_file(
    out: str, *, folder: str | None = None, run: str | None = None
) -> LiveFile | None:
    """Create the live file of this process, whose profile goes to the path `out`.

    To be called before the first profiler is made; None if there can be none. A child
    gives the `folder` and the `run` of the process that it is a part of.
    """
    from lineprof.recording.live_file import open_live_file  # noqa: PLC0415  # by kernprof

    return open_live_file(_core, wanted_clock(), out, folder=folder, run=run)


prepared_call = _core.prepared_call  # a built-in function in place of another one
pause_sampler = _core.pause_sampler  # it begins again with the next line
# Blocks that the calling thread allocates from True to False are lineprof's own, and
# count nowhere; calls may be nested.
memory_quiet = _core.memory_quiet
call_soon = _core.call_soon  # have the main thread call a function between instructions


# Callbacks for the program's first use of a LineProfiler of its own: whole-program
# profiling, which the program did not ask for, then turns off. Each is called with a
# profiler when that is made, when code is registered with it, and when it is enabled.
# Empty except under kernprof.
on_first_use: list[Callable[[object], object]] = []


def notify_first_use(profiler: object) -> None:
    """Call all callbacks with `profiler`, which the program uses."""
    for callback in tuple(on_first_use):  # one may remove itself
        callback(profiler)


class RunInfo:
    """Metadata of the run of one LineProfiler, from its construction on."""

    def __init__(self, core: ModuleType) -> None:
        """Start now, before the tracer is opened; `core` is the C module."""
        self._core = core
        self._start_unix_ns = process_info.unix_ns()
        self._unix_offset_ns = process_info.unix_offset_ns()
        self._start_cpu_ns = process_info.cpu_ns()
        self._lost = core.lost()
        self._skipped = core.skipped()[0]
        self._cost = core.cost()
        self._displaced = 0

    def opened(self, core: str, reason: str) -> None:
        """Note the event source, why it was chosen, and its state once it is open."""
        self._source, self._reason = core, reason
        self._displaced = self._core.hook_displaced()

    @property
    def elapsed_ns(self) -> int:
        """Time since the start (ns), by the clock of the run's length."""
        return max(0, process_info.unix_ns() - self._start_unix_ns)

    @property
    def cost(self) -> int:
        """The profiler's own cost since the start, in the core's unit of cost."""
        return int(self._core.cost() - self._cost)

    def process(self, *, overhead_ns: int, end: str) -> dict[str, Any]:
        """Return the fields of `Process` of this process and of the run so far.

        `end` says how the program ended, "" if it ended normally.
        """
        now = process_info.unix_ns()
        return {
            **self.known_of_process(),
            "wall_ns": max(0, now - self._start_unix_ns),
            "overhead_ns": overhead_ns,
            "exit": end,
            "cpu_ns": max(0, process_info.cpu_ns() - self._start_cpu_ns),
        }

    def known_of_process(self) -> dict[str, Any]:
        """Return the fields of `Process` that are known while the program runs."""
        place = rank_of_process()
        return {
            "pid": os.getpid(),
            "host": process_info.host(),
            "rank": place.rank if place else None,
            "argv": process_info.arguments(),
            "cwd": current_folder(),
            "python": process_info.python_version(),
            "start_unix_ns": self._start_unix_ns,
            "core": self._source,
            "core_reason": self._reason,
            "clock": self._core.clock()[0],
            "version": VERSION,
            "ranks": place.ranks if place else None,
            "unix_offset_ns": self._unix_offset_ns,
        }

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
            warnings.append(f"{lost} calls were not counted: out of memory")
        skipped, depth = self._core.skipped()
        skipped -= self._skipped
        if skipped > 0:
            warnings.append(
                f"from {depth} nested profiled calls on, {skipped} calls, and calls"
                " made by them, were not counted to save C stack; a larger stack"
                " (ulimit -s, threading.stack_size) lets them be counted"
            )
        if uncharged := self._core.gpu_lost():
            warnings.append(
                f"{uncharged} calls of the GPU's API are charged to a calling line or"
                " to none: out of memory, or the program has too many call paths"
            )
        if self._core.hook_displaced() > self._displaced:
            warnings.append(
                "another frame evaluator (torch.compile's?) displaced the profiler's "
                "when it ended: calls since then were not counted"
            )
        if "torch._dynamo" in sys.modules:
            warnings += compiled.missing_lines(functions)
        return warnings


def held_tool_ids() -> set[int]:
    """Return the tool ids of ``sys.monitoring`` that lineprof holds at present."""
    if _core.hook() != "monitoring":
        return set()
    get_tool = sys.monitoring.get_tool  # type: ignore[attr-defined]
    return {number for number in range(6) if get_tool(number) == "lineprof"}


def start() -> None:
    """Resume counting lines and GPU work after `stop`, as cudaProfilerStart does.

    Running functions count from their next line on.
    """
    _core.collect(True)


def stop() -> None:
    """Pause counting in all profilers, until `start`.

    Current lines end here; with cudaProfilerStop, only those of the calling thread.
    """
    _core.collect(False)


def unmap(address: int, size: int) -> None:
    """Unmap pages that a client mapped into this process to attach; OSError."""
    _core.unmap(address, size)


def is_counting() -> bool:
    """Return whether profilers count: not after `stop`."""
    return bool(_core.collecting())


def is_discovering() -> bool:
    """Return whether a profiler finds functions at their first call."""
    return bool(_core.is_discovering())


def hook_in_use() -> str | None:
    """Return the event source of the profilers of this process; None without any."""
    hook: str | None = _core.hook()
    return hook


class NotCounting:
    """A ``with`` block in which calls of profiled functions do not count."""

    def __enter__(self) -> None:
        """Pause counting, unless it is paused."""
        self._was_on = _core.collecting()
        if self._was_on:
            _core.collect(False)

    def __exit__(self, *_exception: object) -> None:
        """Resume."""
        if self._was_on:
            _core.collect(True)


class OwnBlocks:
    """A ``with`` block in which memory that this thread allocates is lineprof's own."""

    def __enter__(self) -> None:
        """Count its blocks nowhere from now on."""
        memory_quiet(True)

    def __exit__(self, *_exception: object) -> None:
        """Count them again."""
        memory_quiet(False)


own_blocks = OwnBlocks()  # made here: it would be a block of the program's


class CoreSession:
    """One profiler's tracer, GPU and memory recording, and timeline, from its start."""

    module = _core  # for the other parts of a profiler

    def __init__(  # noqa: PLR0913, PLR0917  # a profiler's options
        self,
        core: str | None,
        clock: object,
        gpu: GpuOptions | str | None,
        nvtx: str | None,
        trace: TraceOptions | bool | None,  # noqa: FBT001  # as a profiler takes it
        live: LiveFile | None = None,
        memory: MemoryRecorder | bool | None = None,  # noqa: FBT001
        memory_sample: int | str | None = None,
    ) -> None:
        """Open the core; LineprofError if the options cannot be met.

        The arguments are those of `LineProfiler`.
        """
        self.memory = new_memory_recorder(memory, memory_sample)
        # Before the core is opened: recording adds to the costs that are measured then.
        self.trace = _trace_recorder(trace)
        self.run_info = RunInfo(_core)
        opened = open_core(_core, core or wanted_core(), clock)
        self.tracer, self.calibration = opened.tracer, opened.calibration
        self.live = live if live and self.tracer.record_live() else None
        self.core, self.core_reason = opened.name, opened.reason
        self.run_info.opened(self.core, self.core_reason)
        self.clock, self.clock_reason = _core.clock()
        open_ranges(_core, nvtx)
        self.gpu = GpuWork(_core, gpu)
        self.slices: SliceRecorder | None = None
        if self.trace is not None:
            self.trace.begin()
        elif (
            trace is None
            and not os.environ.get(
                "LINEPROF_TRACE"
            )  # set, and yet no timeline: it says no
            and self.gpu.status.backend == "cupti"
        ):
            from lineprof.recording.trace import SliceRecorder  # noqa: PLC0415  # with a GPU

            self.slices = SliceRecorder(_core)

    def enable(self) -> None:
        """Count from now on, in every thread."""
        _core.notice_greenlets()
        self.tracer.enable()

    def note_run(self) -> None:
        """Note in the live file that the profile has the counts of this tracer."""
        if self.live:
            known = self.run_info.known_of_process()
            self.live.note(tracer=self.tracer.live_number, process=known)

    def reset(self) -> None:
        """Forget all that was counted; code objects stay registered."""
        self.tracer.reset()
        self.gpu.restart()
        if self.memory:
            self.memory.restart()

    def begin_in_child(self, gpu: GpuOptions | None) -> None:
        """Forget what the parent process counted; this one was forked from it.

        With `gpu`, record GPU work from now on.
        """
        if gpu:
            self.gpu = GpuWork(_core, gpu)
        self.tracer.reset()
        self.run_info = RunInfo(_core)
        self.run_info.opened(self.core, self.core_reason)
        if self.trace is not None:
            self.trace.begin()


def _trace_recorder(
    trace: TraceOptions | bool | None,  # noqa: FBT001
) -> TraceRecorder | None:
    if not trace and (trace is not None or "LINEPROF_TRACE" not in os.environ):
        return None
    from lineprof.recording.trace import trace_recorder  # noqa: PLC0415  # seldom asked for

    return trace_recorder(_core, trace)


def new_memory_recorder(
    asked: MemoryRecorder | bool | None,  # noqa: FBT001
    sample: int | str | None,
) -> MemoryRecorder | None:
    """Return what measures memory, if that is wanted; LineprofError.

    The arguments are those of `LineProfiler`.
    """
    if asked is None and sample is None and "LINEPROF_MEMORY" not in os.environ:
        return None
    from lineprof.recording.host_memory import memory_recorder  # noqa: PLC0415  # the same

    return memory_recorder(_core, asked, sample)
