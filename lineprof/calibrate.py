"""What an event costs, so that it can be taken out of the numbers.

Most of an event's cost lies outside the profiler: in the interpreter, before
and after the call of the hook. A second look at the clock would not see it.
So it is measured as a whole: small functions run with and without events, and
the difference is the cost. Takes a few milliseconds at the first use.
"""

from __future__ import annotations

import sys

from lineprof.bench import Bench, function_of
from lineprof.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from lineprof.bench import Case

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


class Costs(Value):
    """Costs of events in ticks times COST_ONE; see ``lp_costs`` in csrc."""

    line: int = 0
    high_line: int = 0
    instruction: int = 0
    call: int = 0
    resume: int = 0
    plain_call: int = 0
    plain_inner: int = 0


class Calibration(Value):
    """What events cost, and what a traced turn of the loop took by itself."""

    costs: Costs = Costs()
    turn: float = 0.0  # in ticks; 0: unknown


def set_costs(core: ModuleType, costs: Costs) -> None:
    """Have the core take `costs` out of the numbers from now on."""
    core.set_costs(*vars(costs).values())


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
    ticks = [line, high, instruction, called.added - small]
    # A turn: two lines, and once more the one that the resumed step ends.
    ticks.append(resumed.added - 3 * small)
    if plain:
        outer, nested = plain
        ticks += [outer.added - 2 * small, nested.added - outer.added]
    costs = Costs(*(round(max(0.0, cost) * core.COST_ONE) for cost in ticks))
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
