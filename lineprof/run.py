"""Metadata of one profiler's run: start, process, own cost, warnings."""

from __future__ import annotations

import os
import sys

from lineprof import process
from lineprof.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FunctionType, ModuleType

    from lineprof.records import Process


class RunInfo:
    """Metadata of the run of one LineProfiler, from its construction on."""

    def __init__(self, core: ModuleType) -> None:
        """Start now, before the tracer is opened; `core` is the C module."""
        self._core = core
        self._start_unix_ns = process.unix_ns()
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
        from lineprof.records import Process  # noqa: PLC0415  # at the end

        name, reason = core
        now = process.unix_ns()
        return Process(
            pid=os.getpid(),
            host=process.host(),
            rank=process.rank(),
            argv=tuple(sys.argv),
            cwd=process.cwd(),
            python=process.python_version(),
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
            from lineprof.dynamo import missing_lines  # noqa: PLC0415  # at the end

            warnings += missing_lines(functions)
        return warnings
