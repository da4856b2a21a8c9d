"""Calibration: the cost of an event, which is subtracted from the times.

Most of an event's cost lies outside the profiler: in the interpreter, before and
after the call of the hook, where a second reading of the clock does not see it. So
the whole cost is measured: small functions run with and without events, and the
difference is the cost. Calibration takes a few milliseconds at the first use.
"""

from __future__ import annotations

import sys
from collections import namedtuple

from lineprof.bytecode.code_tables import register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FunctionType, ModuleType
    from typing import Any

    Make = Callable[[], tuple[FunctionType, Sequence[Any]]]


# Short loops are timed with and without events, in turn. Other processes slow most
# runs down, for several milliseconds at a time. So runs are short, every round runs
# all loops, and the minimum of each loop counts.
_STEPS = 40  # of a loop in one run
_ROUNDS = 24

# The events that may tell of a line, as `_core.set_line_event` has them: sys.monitoring
# has both, and of a function those are used that cost less.
BY_LINE, BY_INSTRUCTION, CHEAPER = "line", "instruction", "cheaper"


def function_of(source: str, **names: object) -> FunctionType:
    """Return the function that `source` defines, with `names` as its globals."""
    scope: dict[str, object] = dict(names)
    exec(compile(source, "<calibration>", "exec"), scope)  # noqa: S102
    name = [name for name, value in scope.items() if callable(value)][-1]
    return scope.pop(name)  # type: ignore[return-value]  # so that no cycle is left


class Loop:
    """A function that runs a number of steps, and its minimum times."""

    def __init__(self, function: FunctionType, arguments: Sequence[object]) -> None:
        """Time `function`, which takes the number of steps and then `arguments`."""
        self._function = function
        self._arguments = arguments
        self._min_empty = self._min_full = float("inf")

    def run(self, core: ModuleType) -> None:
        """Time a call with no step and one with `_STEPS` steps."""
        ticks, function, arguments = core.ticks, self._function, self._arguments
        start = ticks()
        function(0, *arguments)
        middle = ticks()
        function(_STEPS, *arguments)
        end = ticks()
        self._min_empty = min(self._min_empty, middle - start)
        self._min_full = min(self._min_full, end - middle)

    @property
    def step(self) -> float:
        """Ticks of one step, without the call of the loop."""
        return (self._min_full - self._min_empty) / _STEPS


class Case:
    """A loop without events, and the same loop with events."""

    def __init__(self, make: Make, watched: Sequence[int], event: str) -> None:
        """Create both: `make` returns the loop's function and its further arguments.

        Events come from the functions at indices `watched` among them; `event` tells
        of their lines, see `set_line_event`.
        """
        self.event = event
        self.plain = Loop(*make())
        function, arguments = make()
        self.traced = Loop(function, arguments)
        self.codes = [(function, *arguments)[at].__code__ for at in watched]

    @property
    def added(self) -> float:
        """Ticks that the events add to one step."""
        return max(0.0, self.traced.step - self.plain.step)


class Bench:
    """Cases that are measured in the same rounds, with the events of one hook."""

    def __init__(self, core: ModuleType, hook: str) -> None:
        """Measure with the C module `core` and the event source `hook`."""
        self._core = core
        self._hook = hook
        self._cases: list[Case] = []
        # This hook slows down all code while a tracer exists.
        self._plain_first = hook == "settrace" and sys.version_info >= (3, 12)

    def like(self) -> Bench:
        """Return another bench for the same events, without cases."""
        return Bench(self._core, self._hook)

    def case(self, make: Make, *watched: int, event: str = CHEAPER) -> Case:
        """Add a case: see `Case`; the first function is watched unless others are."""
        self._cases.append(Case(make, watched or (0,), event))
        return self._cases[-1]

    def loop(self, source: str, event: str = CHEAPER) -> Case:
        """Add the case of a loop without calls."""
        return self.case(lambda: (function_of(source), ()), event=event)

    def run(self, rounds: int = _ROUNDS) -> None:
        """Measure all cases."""
        if self._plain_first:
            for _ in range(rounds):
                self._run_plain()
        self.run_traced(rounds, plain=not self._plain_first)

    def run_traced(self, rounds: int = _ROUNDS, *, plain: bool = False) -> None:
        """Measure all cases with events; with `plain`, also without, in turn."""
        # With the clock in use: the first tracer of a process chooses one.
        clock = "monotonic" if self._core.clock()[0] == "monotonic" else "auto"
        tracer = self._core.Tracer(self._hook, None, clock)
        try:
            for case in self._cases:
                if case.event != CHEAPER:
                    self._core.set_line_event(case.event)
                for code in case.codes:
                    register(tracer, code, source="", labelled=False)
            for _ in range(rounds):
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


# Loops that are measured, as source.

_COUNTS_INSTRUCTIONS = sys.version_info < (3, 12)  # tracing slows each of them

_LOOP = """\
def loop(n):
    for i in range(n):
        a = i
        b = a
        c = b
        a = c
"""
# The loop begins above the interpreter's cached integers.
_FAR_LOOP = """\
def loop(n):
    if n < 0: n = {}
    for i in range(n):
        a = i
        b = a
        c = b
        a = c
"""
# Two lines of 16 instructions, which are the same whether they are traced or not.
_LONG_LOOP = """\
def loop(n):
    for i in range(n):
        a = b = c = d = e = f = g = h = i
        a = b = c = d = e = f = g = h = i
"""
# Instructions that are specialized if they are not traced, of many kinds: the cost of
# one kind differs from that of another, and varies more.
_SPECIALIZED_LOOP = """\
def loop(n, x, a, d):
    for i in range(n):
        x.b = a[0]
        a[1] = len(a)
        b = x.b, d["c"]
        b = x.b, a[0]
"""
# Four lines begin with an instruction that is specialized if it has no event.
_GLOBALS_LOOP = """\
def loop(n):
    for i in range(n):
        a = number
        b = len
        c = number
        a = len
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
_C_CALLER = """\
def loop(n):
    called = abs
    for i in range(n):
        called(i)
"""
_AWAITED = """\
async def awaited():
    pass
"""
_AWAITER = """\
async def awaiter(n, awaited):
    for i in range(n):
        await awaited()
"""
_DRIVER = """\
def driver(n, awaiter, awaited):
    try:
        awaiter(n, awaited).send(None)
    except StopIteration:
        pass
"""
_OUTER = """\
def outer():
    return inner()
"""


def _max_small_int() -> int:
    """Return the largest power of two below which the interpreter has all int objects.

    An event with a larger line number or offset has to create one.
    """
    number = 256
    while int(str(2 * number)) is int(str(2 * number)):  # 1024 from 3.15 on
        number *= 2
    return number


class Costs(
    namedtuple(
        "Costs",
        [
            "line",
            "high_line",
            "by_instruction",
            "high_by_instruction",
            "instruction",
            "specialized",
            "call",
            "call_by_instruction",
            "resume",
            "awaited",
            "plain_call",
            "plain_inner",
            "max_small_int",
        ],
        defaults=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    )
):
    """Costs of events in ticks times COST_ONE; see ``lp_costs`` in csrc."""

    __slots__ = ()

    line: int
    high_line: int
    by_instruction: int
    high_by_instruction: int
    instruction: int
    specialized: int
    call: int
    call_by_instruction: int
    resume: int
    awaited: int
    plain_call: int
    plain_inner: int
    max_small_int: int


class Calibration(namedtuple("Calibration", "costs turn", defaults=(Costs(), 0.0))):
    """Costs of events, and the time of one traced turn of the loop, for `remeasure`."""

    __slots__ = ()

    costs: Costs
    turn: float  # in ticks; 0: not calibrated


def set_costs(core: ModuleType, costs: Costs) -> None:
    """Have the core subtract `costs` from the times from now on."""
    core.set_costs(
        costs.line,
        costs.high_line,
        costs.by_instruction,
        costs.high_by_instruction,
        costs.instruction,
        costs.specialized,
        costs.call,
        costs.call_by_instruction,
        costs.resume,
        costs.awaited,
        costs.plain_call,
        costs.plain_inner,
        costs.max_small_int,
    )


def measure(core: ModuleType, hook: str, line_event: str) -> Calibration:
    """Measure the costs of `hook`'s events in the clock's ticks.

    `line_event` is the event that is used from then on.
    """
    set_costs(core, Costs())
    bench = Bench(core, hook)
    largest = _max_small_int()
    if _COUNTS_INSTRUCTIONS:
        ticks, turn = _measure_instructions(bench)
    elif hook == "settrace":
        ticks, turn = _measure_lines(bench, largest)
    else:
        try:
            ticks, turn = _measure_both(bench, largest, line_event)
        finally:
            core.set_line_event(line_event)
    costs = {
        name: round(max(0.0, cost) * core.COST_ONE) for name, cost in ticks.items()
    }
    return Calibration(costs=Costs(**costs, max_small_int=largest), turn=turn)


def _call(bench: Bench, event: str) -> Case:
    return bench.case(
        lambda: (function_of(_CALLER), (function_of(_CALLED),)),
        1,
        event=event,
    )


def _globals(bench: Bench, event: str) -> Case:
    return bench.case(
        lambda: (function_of(_GLOBALS_LOOP, number=1), ()),
        event=event,
    )


def _resume(bench: Bench, event: str) -> Case:
    return bench.case(
        lambda: (function_of(_CONSUMER), (function_of(_GENERATOR),)),
        1,
        event=event,
    )


def _measure_instructions(bench: Bench) -> tuple[dict[str, float], float]:
    """Return ticks by kind of event, where each instruction costs, and of a turn."""
    # Lines are measured in rounds of their own: between other loops the processor
    # predicts their many jumps less well than in a program. That is done at two times,
    # in case another process has slowed one of them down.
    lines = bench.like()
    short, long = lines.loop(_LOOP), lines.loop(_LONG_LOOP)
    special = lines.case(
        lambda: (function_of(_SPECIALIZED_LOOP), (_Place(), [1, 2], {"c": 3}))
    )
    called, resumed = _call(bench, CHEAPER), _resume(bench, CHEAPER)
    plain = bench.case(lambda: (function_of(_PLAIN_CALLER), (function_of(_CALLED),)))
    nested = bench.case(
        lambda: (
            function_of(_PLAIN_CALLER),
            (function_of(_OUTER, inner=function_of(_CALLED)),),
        )
    )
    awaits = bench.like()
    awaited = awaits.case(
        lambda: (
            function_of(_DRIVER),
            (function_of(_AWAITER), function_of(_AWAITED)),
        ),
        1,
        2,
    )
    lines.run(_ROUNDS // 2)
    awaits.run(_ROUNDS // 6)  # they take long
    bench.run()
    awaits.run(_ROUNDS // 6)
    lines.run(_ROUNDS // 2)
    # With the jump back, five lines have 11 instructions, and the other three 35.
    instruction = max(0.0, (long.added - short.added * 3 / 5) / (35 - 3 * 11 / 5))
    line = max(0.0, (short.added - 11 * instruction) / 5)
    # Five lines with 29 instructions, 9 of them specialized.
    known = 5 * line + 29 * instruction
    specialized = max(0.0, special.added - known) / 9
    small = line + 2 * instruction  # a line of two instructions
    call = called.added - small
    ticks = {
        "line": line,
        "high_line": line,
        "instruction": instruction,
        "specialized": specialized,
        "call": call,
        # One turn has two lines, and the resumed one again.
        "resume": resumed.added - 3 * small,
        # Two lines with 8 instructions, one of them specialized; so have the awaits,
        # of whose instructions half are counted, and the line of the awaited.
        "awaited": awaited.added
        - (2 * line + 8 * instruction + specialized)
        - small
        - call,
        "plain_call": plain.added - (2 * line + 8 * instruction + specialized),
        "plain_inner": nested.added - plain.added,
    }
    return ticks, short.traced.step


def _measure_lines(bench: Bench, largest: int) -> tuple[dict[str, float], float]:
    """Return ticks by kind of event, if LINE events tell of lines, and of a turn."""
    short, high = bench.loop(_LOOP), bench.loop("\n" * largest + _LOOP)
    special = _globals(bench, CHEAPER)
    called, resumed = _call(bench, CHEAPER), _resume(bench, CHEAPER)
    bench.run()
    line = short.added / 5  # five lines
    ticks = {
        "line": line,
        "high_line": max(line, high.added / 5),
        "specialized": (special.added - short.added) / 4,
        "call": called.added - line,
        # One turn has two lines, and the resumed one again.
        "resume": resumed.added - 3 * line,
    }
    return ticks, short.traced.step


def _measure_both(
    bench: Bench, largest: int, line_event: str
) -> tuple[dict[str, float], float]:
    """Return ticks by kind of event, if both can tell of lines, and of a turn.

    The turn has the events that `line_event` stands for.
    """
    far = _FAR_LOOP.format(" + ".join(["n"] * (largest // 4)))
    by_line = bench.loop(_LOOP, BY_LINE)
    high_by_line = bench.loop("\n" * largest + _LOOP, BY_LINE)
    by_instruction = bench.loop(_LOOP, BY_INSTRUCTION)
    high_by_instruction = bench.loop(far, BY_INSTRUCTION)
    special = _globals(bench, BY_LINE)
    called = _call(bench, BY_LINE)
    called_by_instruction = _call(bench, BY_INSTRUCTION)
    resumed = _resume(bench, BY_LINE)
    bench.run()
    line, instruction = by_line.added / 5, by_instruction.added / 5  # five lines
    ticks = {
        "line": line,
        "high_line": max(line, high_by_line.added / 5),
        "by_instruction": instruction,
        "high_by_instruction": max(instruction, high_by_instruction.added / 5),
        "specialized": (special.added - by_line.added) / 4,
        "call": called.added - line,
        "call_by_instruction": called_by_instruction.added - instruction,
        # One turn has two lines, and the resumed one again.
        "resume": resumed.added - 3 * line,
    }
    is_by_line = line_event == BY_LINE or (line_event == CHEAPER and line < instruction)
    return ticks, (by_line if is_by_line else by_instruction).traced.step


class _Place:
    """Object with an attribute."""

    b = 0


def c_function_cost(core: ModuleType, hook: str) -> int:
    """Measure the cost of the events of one call of a C function, in units of `Costs`.

    Such events are off afterwards.
    """
    steps = []
    for on in (False, True):
        core.c_functions(on, 0)
        bench = Bench(core, hook)
        loop = bench.loop(_C_CALLER)
        bench.run_traced()
        steps.append(loop.traced.step)
    core.c_functions(False, 0)
    one: int = core.COST_ONE
    return round(max(0.0, steps[1] - steps[0]) * one)


def remeasure(core: ModuleType, hook: str, before: Calibration) -> float:
    """Return the factor of the costs at present: 1.0, or less if events are faster.

    The speed of a machine changes while a program runs; the subtracted costs must
    never exceed the real ones.
    """
    if not before.turn:
        return 1.0
    bench = Bench(core, hook)
    short = bench.loop(_LOOP)
    bench.run_traced()
    return min(1.0, short.traced.step / before.turn)
