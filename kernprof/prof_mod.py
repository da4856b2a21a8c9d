"""What -p names, and the whole of a program that is no file, gets profiled."""

from __future__ import annotations

from kernprof import report
from kernprof.plan import COMMAND, MODULE, STDIN
from lineprof.autoprofile.functions import functions_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Protocol

    from kernprof.plan import Plan
    from kernprof.program import Program
    from lineprof.profiler import LineProfiler

    class ProfMod(Protocol):
        """Learns what the program is just before it runs, and when it is over."""

        def begin(self, code: CodeType, module: str = "") -> None:
            """See to it that what was asked for is profiled."""

        def end(self) -> None:
            """Leave nothing behind."""


class Whole:
    """Every function of a program, as if it were decorated."""

    def __init__(self, profiler: LineProfiler) -> None:
        """Have `profiler` count them."""
        self._profiler = profiler

    def begin(self, code: CodeType, module: str = "") -> None:  # noqa: ARG002
        """Watch what `code` defines."""
        for _, function in functions_in(code):
            self._profiler.watch(function)

    def end(self) -> None:
        """Have nothing to undo."""


def prof_mod(plan: Plan, program: Program, profiler: LineProfiler) -> ProfMod:
    """Return what sees to it that `profiler` counts what `plan` asks for.

    A program from the command line or from standard input is always profiled
    as a whole, as under line_profiler.
    """
    no_file = plan.kind in {COMMAND, STDIN}
    if not plan.prof_mod and not plan.prof_imports:
        return Whole(profiler)
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
