"""What an event costs, so that it can be taken out of the numbers.

Most of an event's cost lies outside the profiler: in the interpreter, before
and after the call of the hook. A second look at the clock would not see it.
So it is measured as a whole: small functions run with and without events, and
the difference is the cost. Takes a few milliseconds at the first use.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from lineprof.bytecode.code_tables import register

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FunctionType, ModuleType

    Make = Callable[[], tuple[FunctionType, Sequence[FunctionType]]]


# Short loops that are timed with and without events, in turn.
#
# Other processes, and neighbours on the same processor, slow most runs down, for
# milliseconds on end. So runs are short, all loops take part in every round, and of
# each loop the least counts: over the rounds it meets the machine at its best.


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


_TAXED = sys.version_info < (3, 12)  # every instruction of a traced line costs

_LONG = "        a = " + " + ".join(["i"] * 12)
_LOOP = """\
def loop(n):
    for i in range(n):
        a = i
        b = a
        c = b
        a = c
"""
_LONG_LOOP = f"""\
def loop(n):
    for i in range(n):
{_LONG}
{_LONG}
"""
_CALLED = """\
def called():
    pass
"""
_CALLER = """\
def caller(n, called):
    for i in range(n): called()
"""
_GENERATOR = """\
def generator(n):
    for i in range(n):
        yield i
"""
_CONSUMER = """\
def consumer(n, generator):
    for i in generator(n):
        pass
"""
_PLAIN_CALLER = """\
def caller(n, called):
    for i in range(n):
        called()
"""
_NATIVE = """\
def loop(n):
    called = abs
    for i in range(n):
        called(i)
"""
_OUTER = """\
def outer():
    return inner()
"""
_HIGH = "\n" * 300  # above the numbers that the interpreter keeps ready made


class Costs(NamedTuple):
    """Costs of events in ticks times COST_ONE; see ``lp_costs`` in csrc."""

    line: int = 0
    high_line: int = 0
    instruction: int = 0
    call: int = 0
    resume: int = 0
    plain_call: int = 0
    plain_inner: int = 0


class Calibration(NamedTuple):
    """What events cost, and what a traced turn of the loop took by itself."""

    costs: Costs = Costs()
    turn: float = 0.0  # in ticks; 0: unknown


def set_costs(core: ModuleType, costs: Costs) -> None:
    """Have the core take `costs` out of the numbers from now on."""
    core.set_costs(
        costs.line,
        costs.high_line,
        costs.instruction,
        costs.call,
        costs.resume,
        costs.plain_call,
        costs.plain_inner,
    )


def measure(core: ModuleType, hook: str) -> Calibration:
    """Measure the costs of `hook`'s events in the clock's ticks."""
    set_costs(core, Costs())
    bench = Bench(core, hook)
    short = bench.loop(_LOOP)
    other = bench.loop(_LONG_LOOP if _TAXED else _HIGH + _LOOP)
    called = bench.case(
        lambda: (function_of(_CALLER), (function_of(_CALLED),)), watched=1
    )
    resumed = bench.case(
        lambda: (function_of(_CONSUMER), (function_of(_GENERATOR),)), watched=1
    )
    plain = _plain_cases(bench) if _TAXED else ()
    bench.run()
    line, high, instruction = _line_costs(short, other)
    small = line + 2 * instruction  # of a line that does next to nothing
    ticks = {
        "line": line,
        "high_line": high,
        "instruction": instruction,
        "call": called.added - small,
        # A turn: two lines, and once more the one that the resumed step ends.
        "resume": resumed.added - 3 * small,
    }
    if plain:
        outer, nested = plain
        ticks["plain_call"] = outer.added - 2 * small
        ticks["plain_inner"] = nested.added - outer.added
    costs = Costs(
        **{name: round(max(0.0, cost) * core.COST_ONE) for name, cost in ticks.items()}
    )
    return Calibration(costs, short.traced.step)


def _line_costs(short: Case, other: Case) -> tuple[float, float, float]:
    """Ticks of a line event, of one above line 256, and per instruction."""
    turn = short.added / 5  # five lines of two instructions
    if not _TAXED:
        return turn, max(turn, other.added / 5), 0.0
    long = other.added / 3  # three lines of 2, 24 and 24
    instruction = max(0.0, (long - turn) / ((2 + 24 + 24) / 3 - 2))
    line = max(0.0, turn - 2 * instruction)
    return line, line, instruction


def _plain_cases(bench: Bench) -> tuple[Case, Case]:
    """Add unprofiled calls from a profiled line, and calls below them."""
    return (
        bench.case(lambda: (function_of(_PLAIN_CALLER), (function_of(_CALLED),))),
        bench.case(
            lambda: (
                function_of(_PLAIN_CALLER),
                (function_of(_OUTER, inner=function_of(_CALLED)),),
            )
        ),
    )


def native_cost(core: ModuleType, hook: str) -> int:
    """Measure what the events of one call of a C function cost, as `Costs` has it.

    Leaves the core without such events.
    """
    steps = []
    for on in (False, True):
        core.natives(on, 0)
        bench = Bench(core, hook)
        loop = bench.loop(_NATIVE)
        bench.run_traced()
        steps.append(loop.traced.step)
    core.natives(False, 0)
    one: int = core.COST_ONE
    return round(max(0.0, steps[1] - steps[0]) * one)


def remeasure(core: ModuleType, hook: str, before: Calibration) -> float:
    """Return how much of the costs holds now: 1.0, or less on a faster machine.

    The speed of a machine changes while a program runs; what is taken out must
    never be more than the events cost at any time.
    """
    if not before.turn:
        return 1.0
    bench = Bench(core, hook)
    short = bench.loop(_LOOP)
    bench.run_traced()
    return min(1.0, short.traced.step / before.turn)
