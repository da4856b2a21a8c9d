"""Who sees to it that what is not decorated gets profiled, as a plan asks for it."""

from __future__ import annotations

from kernprof.options import COMMAND, STDIN
from kernprof.recorders import LineRecorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Protocol

    from kernprof.options import Plan
    from kernprof.program import Program
    from kernprof.recorders import Recorder
    from lineprof.profiler import LineProfiler

    class Watcher(Protocol):
        """Learns what the program is just before it runs, and when it is over."""

        def begin(self, code: CodeType, module: str = "") -> None:
            """See to it that what was asked for is profiled."""

        def end(self) -> None:
            """Leave nothing behind."""


def watchers(plan: Plan, program: Program, recorder: Recorder) -> list[Watcher]:
    """Return what sees to it that `recorder` counts what `plan` asks for."""
    if not isinstance(recorder, LineRecorder):
        return []
    found: list[Watcher] = []
    builtin: LineProfiler = recorder.builtin  # type: ignore[assignment]
    whole = plan.whole
    if whole is None:  # -p '' takes back what a file of configuration says
        whole = not plan.prof_mod and "prof_mod" not in plan.given
    if plan.prof_mod or (plan.kind in {COMMAND, STDIN} and not whole):
        from kernprof.prof_mod import named  # noqa: PLC0415  # seldom needed

        found.append(named(plan, program, builtin))
    if whole:
        from kernprof.whole import Whole  # noqa: PLC0415  # -p and no -l do without

        finds = builtin if plan.whole else recorder.new_profiler()
        recorder.whole = Whole(plan, program, finds, builtin)
        found.append(recorder.whole)
    return found
