"""What -p names, and all that a program defines that is no file, gets profiled."""

from __future__ import annotations

from kernprof import report
from kernprof.options import COMMAND, MODULE, STDIN
from lineprof.autoprofile.functions import functions_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from kernprof.options import Plan
    from kernprof.program import Program
    from kernprof.watchers import Watcher
    from lineprof.profiler import LineProfiler


class Defined:
    """Every function that a program defines, as if it were decorated."""

    def __init__(self, profiler: LineProfiler) -> None:
        """Have `profiler` count them."""
        self._profiler = profiler

    def begin(self, code: CodeType, module: str = "") -> None:  # noqa: ARG002
        """Watch what `code` defines."""
        for _, function in functions_in(code):
            self._profiler.watch(function)

    def end(self) -> None:
        """Have nothing to undo."""


def named(plan: Plan, program: Program, profiler: LineProfiler) -> Watcher:
    """Return what watches what -p names.

    A program from the command line or from standard input is always profiled
    as a whole, as under line_profiler.
    """
    no_file = plan.kind in {COMMAND, STDIN}
    if not plan.prof_mod and not plan.prof_imports:
        return Defined(profiler)
    from lineprof.autoprofile.watching import ANY, Watching  # noqa: PLC0415  # rare

    own_names = {ANY} if no_file else {plan.target, program.argv0}
    return Watching(
        profiler,
        plan.prof_mod,
        own_names=() if plan.kind == MODULE else own_names,
        preimports=plan.preimports,
        imports=plan.prof_imports,
        complain=report.complain,
    )
