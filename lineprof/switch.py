"""One LineProfiler's session with the C core; the only module that imports `_core`."""

from __future__ import annotations

import os
import sys

from lineprof import _core
from lineprof.cores import open_core, wanted_core
from lineprof.gpu import open_ranges
from lineprof.gpu_work import GpuWork
from lineprof.run import RunInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.gpu import GpuOptions
    from lineprof.trace import TraceOptions, TraceRecorder


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
    from lineprof.trace import trace_recorder  # noqa: PLC0415  # seldom asked for

    return trace_recorder(_core, trace)
