"""Profiles of what one LineProfiler has counted, read from the C core."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from lineprof.bytecode.instructions import unread
from lineprof.recording.calibration import remeasure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineprof._core import Tracer
    from lineprof.line_stats import LineStats
    from lineprof.recording.blocks import Blocks
    from lineprof.recording.core import CoreSession
    from lineprof.recording.registry import Registry
    from lineprof.recording.trace import TraceRecorder
    from lineprof.snapshot.calls import RawTree
    from lineprof.snapshot.gpu import Taken
    from lineprof.snapshot.profile import Code, RawWait

    Counted = tuple[list[tuple[int, str]], Sequence[Code], RawTree, list[RawWait]]


class Results:
    """Reader of the core session of one profiler."""

    def __init__(self, session: CoreSession, registry: Registry) -> None:
        """Read out `session`, for the code objects in `registry`."""
        self._session = session
        self._registry = registry

    def stats(self, blocks: Blocks | None, *, end: str, from_start: bool) -> LineStats:
        """Return all that was counted so far, with GPU work and the timeline.

        `end` says how the program ended, "" if it ended normally. `from_start` is
        False if the program itself says when counting starts.
        """
        session = self._session
        gpu = session.gpu.take()
        cost_factor = remeasure(session.module, session.core, session.calibration)
        self._registry.note_compiled_by_numba()
        return self._stats(
            blocks,
            cost_factor=cost_factor,
            gpu=gpu,
            trace=session.trace,
            end=end,
            from_start=from_start,
        )

    def stats_so_far(self, blocks: Blocks | None, *, from_start: bool) -> LineStats:
        """Return the same while the program runs: see `LineProfiler.stats_so_far`."""
        return self._stats(
            blocks,
            cost_factor=1.0,
            gpu=None,
            trace=None,
            end="still running",
            from_start=from_start,
        )

    def _stats(  # noqa: PLR0913  # the parts of a profile
        self,
        blocks: Blocks | None,
        *,
        cost_factor: float,
        gpu: Taken | None,
        trace: TraceRecorder | None,
        end: str,
        from_start: bool,
    ) -> LineStats:
        """Return all that was counted, less `cost_factor` times the costs."""
        from lineprof.line_stats import LineStats  # noqa: PLC0415  # at the end
        from lineprof.snapshot.profile import Parts, TickScale, profile_of  # noqa: PLC0415  # at the end

        session, registry = self._session, self._registry
        module, tracer, run = session.module, session.tracer, session.run_info
        ids, counted, calls, waits = _counted(tracer)
        codes: list[Code] = [row for row in counted if not registry.is_hidden(row[0])]
        block_codes: list[Code] = []
        if blocks is not None:
            block_codes = list(blocks.codes())
            waits += blocks.waits()
        scale = TickScale(module.scale(), module.COST_ONE, cost_factor)
        process = run.process(
            core=(session.core, session.core_reason),
            overhead_ns=scale.cost_ns(run.cost),
            end=end,
        )
        warnings = [
            *registry.warnings,
            *run.warnings(registry.functions, from_start=from_start),
            *_compiled_warnings(registry),
            *unread(),
        ]
        if module.frames_switched():
            warnings.append("greenlets took turns: who called whom is partly a guess")
        parts = Parts(
            gpu=gpu,
            blocks=block_codes,
            calls=calls,
            c_functions=tracer.c_functions(),
            trace=trace.of(tracer, gpu) if trace else None,
            waits=waits,
            waits_unavailable=module.off_cpu_unavailable(),
            own_times=module.split_times(None),
        )
        return LineStats.of(profile_of(ids, codes, scale, process, warnings, parts))


def _counted(tracer: Tracer) -> Counted:
    """Return all counts of `tracer`, and the waits of lines."""
    collects = gc.isenabled()
    gc.disable()  # before 3.12 a collection may run the program's code in between
    try:
        return *tracer.snapshot(), tracer.off_cpu()
    finally:
        if collects:
            gc.enable()


def _compiled_warnings(registry: Registry) -> list[str]:
    """Return warnings about compiled functions, whose lines are not profiled."""
    if not registry.compiled:
        return []
    from lineprof.recording.compiled import warnings_of  # noqa: PLC0415  # seldom needed

    return warnings_of(registry.compiled)
