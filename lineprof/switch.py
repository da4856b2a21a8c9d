"""A profiler's core: opened, and switched on and off."""

from __future__ import annotations

import sys

from lineprof import _core
from lineprof.cores import open_core, wanted_core
from lineprof.first_use import notify_first_use, on_first_use
from lineprof.gpu import gpu_status, open_ranges
from lineprof.gpu_work import GpuWork
from lineprof.run import RunInfo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.gpu import GpuOptions, GpuStatus


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


class Switch:
    """One profiler's part of the core, and its GPU work."""

    _core = _core  # for those that derive from it: this is the one door to it

    def __init__(
        self,
        core: str | None,
        clock: object,
        gpu: GpuOptions | str | None,
        nvtx: str | None,
    ) -> None:
        """Open the core; LineprofError when it cannot be had."""
        if on_first_use:
            notify_first_use(self)
        self._run = RunInfo(_core)
        opened = open_core(_core, core or wanted_core(), clock)
        self._tracer, self._calibration = opened.tracer, opened.calibration
        self._run.opened()
        self.core, self.core_reason = opened.name, opened.reason
        self.clock, self.clock_reason = _core.clock()
        open_ranges(_core, nvtx)
        self._gpu = GpuWork(_core, gpu)

    @property
    def gpu_status(self) -> GpuStatus:
        """Whether GPU work is recorded, and why."""
        return gpu_status()

    @property
    def enable_count(self) -> int:
        """How many decorated calls and ``with`` blocks are under way."""
        return self._tracer.enable_count

    def enable(self) -> None:
        """Count from now on, in every thread."""
        if on_first_use:
            notify_first_use(self)
        _core.set_strict("greenlet" in sys.modules)
        self._tracer.enable()

    def disable(self) -> None:
        """Stop counting, whatever was enabled before; lines under way end here."""
        self._tracer.disable()

    def enable_by_count(self) -> None:
        """Enable, unless it is enabled; each call wants a `disable_by_count`."""
        if on_first_use:
            notify_first_use(self)
        self._tracer.enable_by_count()

    def disable_by_count(self) -> None:
        """Undo one `enable_by_count`; the last one disables."""
        self._tracer.disable_by_count()

    def reset(self) -> None:
        """Forget all that was counted; functions stay registered."""
        self._tracer.reset()
        self._gpu.restart()
