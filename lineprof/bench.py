"""Short loops that are timed with and without events, in turn.

Other processes, and neighbours on the same processor, slow most runs down, for
milliseconds on end. So runs are short, all loops take part in every round, and of
each loop the least counts: over the rounds it meets the machine at its best.
"""

from __future__ import annotations

import sys

from lineprof.register import register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FunctionType, ModuleType
    from typing import Callable

    Make = Callable[[], tuple[FunctionType, Sequence[FunctionType]]]

STEPS = 40  # of a loop in one run
ROUNDS = 24


def function_of(source: str, **names: object) -> FunctionType:
    """Return the function that `source` defines, with `names` as its globals."""
    scope: dict[str, object] = dict(names)
    exec(compile(source, "<calibration>", "exec"), scope)  # noqa: S102
    made = [value for name, value in scope.items() if callable(value)]
    return made[-1]  # type: ignore[return-value]


class Loop:
    """A function that takes a number of steps, and the least that they took."""

    def __init__(self, function: FunctionType, arguments: Sequence[object]) -> None:
        """Take the function, and its arguments after the number of steps."""
        self._function = function
        self._arguments = arguments
        self._none = self._all = float("inf")

    def run(self, core: ModuleType) -> None:
        """Time no step, and `STEPS` of them."""
        ticks, function, arguments = core.ticks, self._function, self._arguments
        start = ticks()
        function(0, *arguments)
        middle = ticks()
        function(STEPS, *arguments)
        end = ticks()
        self._none = min(self._none, middle - start)
        self._all = min(self._all, end - middle)

    @property
    def step(self) -> float:
        """Ticks of one step, the loop's own call apart."""
        return (self._all - self._none) / STEPS


class Case:
    """A loop without events, and the same with them."""

    def __init__(self, make: Make, watched: int) -> None:
        """Make both: `make` gives a loop's function and its further arguments.

        The events are those of number `watched` among them.
        """
        self.plain = Loop(*make())
        function, arguments = make()
        self.traced = Loop(function, arguments)
        self.code = (function, *arguments)[watched].__code__

    @property
    def added(self) -> float:
        """Ticks that the events add to one step."""
        return max(0.0, self.traced.step - self.plain.step)


class Bench:
    """Cases that are measured together, with the events of one hook."""

    def __init__(self, core: ModuleType, hook: str) -> None:
        """Take the C module and the hook."""
        self._core = core
        self._hook = hook
        self._cases: list[Case] = []
        # This one slows everything for as long as a tracer lives.
        self._apart = hook == "settrace" and sys.version_info >= (3, 12)

    def case(self, make: Make, watched: int = 0) -> Case:
        """Add a case: see `Case`."""
        self._cases.append(Case(make, watched))
        return self._cases[-1]

    def loop(self, source: str) -> Case:
        """Add the case of a loop that calls nothing."""
        return self.case(lambda: (function_of(source), ()))

    def run(self) -> None:
        """Measure all cases."""
        if self._apart:
            for _ in range(ROUNDS):
                self._run_plain()
        self.run_traced(plain=not self._apart)

    def run_traced(self, *, plain: bool = False) -> None:
        """Measure all cases with events; with `plain` in turn with the others."""
        # On the clock that is in use: a first tracer would choose one anew.
        clock = "monotonic" if self._core.clock()[0] == "monotonic" else "auto"
        tracer = self._core.Tracer(self._hook, None, clock)
        try:
            for case in self._cases:
                register(tracer, case.code, text="", labelled=False)
            for _ in range(ROUNDS):
                if plain:
                    self._run_plain()
                tracer.enable()
                for case in self._cases:
                    case.traced.run(self._core)
                tracer.disable()
        finally:
            tracer.close()

    def _run_plain(self) -> None:
        for case in self._cases:
            case.plain.run(self._core)
