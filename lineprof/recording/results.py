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
    """Reads out the core session of one profiler."""

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
        holds = remeasure(session.module, session.core, session.calibration)
        self._registry.note_compiled_by_numba()
        return self._stats(blocks, holds, gpu, session.trace, end, from_start)

    def stats_so_far(self, blocks: Blocks | None, *, from_start: bool) -> LineStats:
        """Return the same while the program runs, for a thread beside it.

        Nothing is kept from running: costs count as they were first calibrated, and
        GPU work, for which the device would have to be waited for, is left out, as
        is the timeline, which may be long.
        """
        return self._stats(blocks, 1.0, None, None, "still running", from_start)

    def _stats(  # noqa: PLR0913, PLR0917  # the parts of a profile
        self,
        blocks: Blocks | None,
        holds: float,
        gpu: Taken | None,
        trace: TraceRecorder | None,
        end: str,
        from_start: bool,  # noqa: FBT001
    ) -> LineStats:
        """Return what was counted; `holds` is the share of the costs to subtract."""
        from lineprof.line_stats import LineStats  # noqa: PLC0415  # at the end
        from lineprof.snapshot.profile import Parts, TickScale, profile_of  # noqa: PLC0415  # at the end

        session, registry = self._session, self._registry
        module, tracer, run = session.module, session.tracer, session.run_info
        ids, counted, calls, waits = _counted(tracer)
        codes: list[Code] = [one for one in counted if not registry.is_hidden(one[0])]
        natives = tracer.c_functions()
        block_codes: list[Code] = []
        if blocks is not None:
            block_codes = list(blocks.codes())
            waits += blocks.waits()
        scale = TickScale(module.scale(), module.COST_ONE, holds)
        core, cost = (session.core, session.core_reason), scale.cost_ns(run.cost)
        process = run.process(core=core, overhead_ns=cost, end=end)
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
            natives=natives,
            trace=trace.of(tracer, gpu) if trace else None,
            waits=waits,
            blind=module.off_cpu_unavailable(),
            split=module.split_times(None),
        )
        return LineStats.of(profile_of(ids, codes, scale, process, warnings, parts))


def _counted(tracer: Tracer) -> Counted:
    """Return what `tracer` has counted, and what lines waited for."""
    collects = gc.isenabled()
    gc.disable()  # before 3.12 a collection may run the program's code meanwhile
    try:
        return *tracer.snapshot(), tracer.off_cpu()
    finally:
        if collects:
            gc.enable()


def _compiled_warnings(registry: Registry) -> list[str]:
    """Return warnings about compiled functions, whose lines are not profiled."""
    if not registry.compiled:
        return []
    from lineprof.recording.compiled import sentences  # noqa: PLC0415  # seldom needed

    return sentences(registry.compiled)
