"""Calibration: the cost of an event, which is subtracted from the times.

Most of an event's cost lies outside the profiler: in the interpreter, before and
after the call of the hook, where a second reading of the clock does not see it. So
the whole cost is measured: small functions run with and without events, and the
difference is the cost. Calibration takes a few milliseconds at the first use.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from functools import cache
from types import FunctionType

from lineprof.bytecode.code_tables import register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType, ModuleType
    from typing import Any

    Make = Callable[[], tuple[FunctionType, Sequence[Any]]]


# Short loops are timed with and without events, in turn. Other processes slow most
# runs down, for several milliseconds at a time. So runs are short, every round runs
# all loops, and the minimum of each loop counts.
_STEPS = 40  # of a loop in one run
_SUMS, _STARTS = 1, 5  # longer steps
_ROUNDS = 18
_ROUNDS_OF_LINES = 24  # where these are measured alone
# So many rounds are without events, and then as many with them, if the bytecode
# changes in between, which takes longer than a round.
_IN_A_ROW = 3

# The events that may tell of a line, as `_core.set_line_event` has them: sys.monitoring
# has both, and of a function those are used that cost less.
BY_LINE, BY_INSTRUCTION, CHEAPER = "line", "instruction", "cheaper"
# The functions of a case that have events.
_CALLER_ALONE, _CALLEE, _BOTH = (0,), (1,), (0, 1)


def function_of(source: str, **names: object) -> FunctionType:
    """Return the function that `source` defines, with `names` as its globals."""
    return FunctionType(_code_of(source).replace(), dict(names))


@cache  # a compiled function is copied in a hundredth of the time
def _code_of(source: str) -> CodeType:
    code = compile(source, "<calibration>", "exec")
    return next(one for one in code.co_consts if isinstance(one, type(code)))


class Loop:
    """A function that runs a number of steps, and its minimum times."""

    def __init__(
        self, function: FunctionType, arguments: Sequence[object], steps: int
    ) -> None:
        """Time `function`, which takes the number of steps and then `arguments`."""
        self._function = function
        self._arguments = arguments
        self._steps = steps
        self._min_empty = self._min_full = float("inf")

    def run(self, core: ModuleType) -> None:
        """Time a call with no step and one with all steps."""
        ticks, function, arguments = core.ticks, self._function, self._arguments
        # The first call after a while reads the thread's CPU time, which is no part of
        # what an event costs.
        function(1, *arguments)
        start = ticks()
        function(0, *arguments)
        middle = ticks()
        function(self._steps, *arguments)
        end = ticks()
        self._min_empty = min(self._min_empty, middle - start)
        self._min_full = min(self._min_full, end - middle)

    @property
    def step(self) -> float:
        """Ticks of one step, without the call of the loop."""
        return (self._min_full - self._min_empty) / self._steps


class Case:
    """A loop without events, and the same loop with events."""

    def __init__(
        self, make: Make, watched: Sequence[int], event: str, steps: int
    ) -> None:
        """Create both: `make` returns the loop's function and its further arguments.

        Events come from the functions at indices `watched` among them; `event` tells
        of their lines, see `set_line_event`.
        """
        self.event = event
        self.plain = Loop(*make(), steps)
        function, arguments = make()
        self.traced = Loop(function, arguments, steps)
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
        self._in_a_row = _IN_A_ROW if hook == "monitoring" else 1

    def like(self) -> Bench:
        """Return another bench for the same events, without cases."""
        return Bench(self._core, self._hook)

    def case(
        self, make: Make, *watched: int, event: str = CHEAPER, steps: int = _STEPS
    ) -> Case:
        """Add a case: see `Case`; the first function is watched unless others are."""
        self._cases.append(Case(make, watched or (0,), event, steps))
        return self._cases[-1]

    def loop(self, source: str, event: str = CHEAPER, **names: object) -> Case:
        """Add the case of a loop without calls, with `names` as its globals."""
        return self.case(lambda: (function_of(source, **names), ()), event=event)

    def pair(
        self,
        sources: tuple[str, str],
        event: str = CHEAPER,
        watched: Sequence[int] = _CALLEE,
        steps: int = _STEPS,
    ) -> Case:
        """Add the case of a function that calls another, as these `sources` say."""
        return self.case(
            lambda: (function_of(sources[0]), (function_of(sources[1]),)),
            *watched,
            event=event,
            steps=steps,
        )

    def run(self, rounds: int = _ROUNDS) -> None:
        """Measure all cases."""
        if self._plain_first:
            for _ in range(-(-rounds // self._in_a_row)):
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
            for _ in range(-(-rounds // self._in_a_row)):
                if plain:
                    self._run_plain()
                tracer.enable()
                for _ in range(self._in_a_row):
                    for case in self._cases:
                        case.traced.run(self._core)
                tracer.disable()
        finally:
            tracer.close()

    def _run_plain(self) -> None:
        for _ in range(self._in_a_row):
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
# The usual short lines.  Between lines that only copy, as above, an event costs up to
# 2 ns less, because the processor overlaps it with other work.
_SUM = """\
def sum_up(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""
_SUM_CALLER = """\
def caller(n, sum_up):
    for i in range(n):
        sum_up(60)
"""
_SUM_CALLS = _SUM_CALLER, _SUM
_ONE_LINE_LOOP = """\
def loop(n):
    for i in range(n): a = i
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
def called(a):
    b = a
    return b
"""
_CALLER = """\
def caller(n, called):
    for i in range(n):
        called(i)
"""
_CALLS = _CALLER, _CALLED
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
_RESUMES = _CONSUMER, _GENERATOR
# Most of what a generator of two steps costs is its beginning, with the beginning of a
# loop in it or without.
_TWO_STEPS = """\
def generator():
    yield 1
    yield 2
"""
_TWO_STEPS_IN_LOOP = """\
def generator():
    for i in range(2):
        yield i
"""
_STARTER = """\
def starter(n, generator):
    for i in range(n):
        for x in generator():
            pass
"""
_SHORT_STARTER = """\
def starter(n, generator):
    for i in range(n):
        for x in generator(): pass
"""
_PLAIN_CALLED = """\
def called():
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
        "line high_line by_instruction high_by_instruction instruction specialized"
        " call call_by_instruction start start_by_instruction resume consumed"
        " consumed_by_instruction jump jump_by_instruction awaited plain_call"
        " plain_inner max_small_int",
        defaults=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
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
    start: int
    start_by_instruction: int
    resume: int
    consumed: int
    consumed_by_instruction: int
    jump: int
    jump_by_instruction: int
    awaited: int
    plain_call: int
    plain_inner: int
    max_small_int: int


_IN_CORE = Costs._fields  # the core takes them in this order


class Calibration(namedtuple("Calibration", "costs turn", defaults=(Costs(), 0.0))):
    """Costs of events, and the time of one traced turn of the loop, for `remeasure`."""

    __slots__ = ()

    costs: Costs
    turn: float  # in ticks; 0: not calibrated


def set_costs(core: ModuleType, costs: Costs) -> None:
    """Have the core subtract `costs` from the times from now on."""
    core.set_costs(*[getattr(costs, name) for name in _IN_CORE])


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
    _code_of.cache_clear()
    costs = {
        name: round(max(0.0, cost) * core.COST_ONE) for name, cost in ticks.items()
    }
    return Calibration(costs=Costs(**costs, max_small_int=largest), turn=turn)


def _line_and_call(
    short: Case, sums: Case, called: Case, events: int, lines: int = 2
) -> tuple[float, float]:
    """Return the ticks of a line event and of a call.

    A call in `sums` has so many line events, a turn of `called` has events of so many
    `lines`, two of them in the call.
    """
    copying = short.added / 5  # five lines
    usual = (sums.added - called.added) / (events - 2)
    line = (copying + 3 * usual) / 4
    return line, called.added - lines * copying  # which its lines do


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
    called, resumed = bench.pair(_CALLS), bench.pair(_RESUMES)
    straight = bench.pair((_STARTER, _TWO_STEPS), CHEAPER, _CALLEE, _STARTS)
    looped = bench.pair((_STARTER, _TWO_STEPS_IN_LOOP), CHEAPER, _CALLEE, _STARTS)
    plain = bench.pair((_PLAIN_CALLER, _PLAIN_CALLED), watched=_CALLER_ALONE)
    nested = bench.case(
        lambda: (
            function_of(_PLAIN_CALLER),
            (function_of(_OUTER, inner=function_of(_PLAIN_CALLED)),),
        )
    )
    awaits = bench.like()
    awaited = awaits.case(
        lambda: (function_of(_DRIVER), (function_of(_AWAITER), function_of(_AWAITED))),
        1,
        2,
    )
    lines.run(_ROUNDS_OF_LINES // 2)
    awaits.run(_ROUNDS // 6)  # they take long
    bench.run()
    awaits.run(_ROUNDS // 6)
    lines.run(_ROUNDS_OF_LINES // 2)
    # Alone, as `remeasure` does it: that takes less time.
    alone = bench.like()
    turn = alone.loop(_LOOP)
    alone.run_traced(_ROUNDS_OF_LINES)
    # With the jump back, five lines have 11 instructions, and the other three 35.
    instruction = max(0.0, (long.added - short.added * 3 / 5) / (35 - 3 * 11 / 5))
    line = max(0.0, (short.added - 11 * instruction) / 5)
    # Five lines with 29 instructions, 9 of them specialized.
    known = 5 * line + 29 * instruction
    specialized = max(0.0, special.added - known) / 9
    small = line + 2 * instruction  # a line of two instructions
    call = called.added - 2 * small
    # One turn has two lines, and the resumed one again.
    resume = resumed.added - 3 * small
    ticks = {
        "line": line,
        "high_line": line,
        "instruction": instruction,
        "specialized": specialized,
        "call": call,
        # Two lines, which are resumed, or five, of which two are.
        "start": (straight.added + 3 * looped.added - (4 + 3 * 7) * small) / 4
        - 2 * resume,
        "resume": resume,
        # Two lines with 8 instructions, one of them specialized; so have the awaits,
        # of whose instructions half are counted, and the line of the awaited.
        "awaited": awaited.added
        - (2 * line + 8 * instruction + specialized)
        - small
        - call,
        "plain_call": plain.added - (2 * line + 8 * instruction + specialized),
        "plain_inner": nested.added - plain.added,
    }
    return ticks, turn.traced.step


def _measure_lines(bench: Bench, largest: int) -> tuple[dict[str, float], float]:
    """Return ticks by kind of event, if LINE events tell of lines, and of a turn.

    Callers are watched as well: while there is a trace function, they have events also
    if they are not.
    """
    short, high = bench.loop(_LOOP), bench.loop("\n" * largest + _LOOP)
    special = bench.loop(_GLOBALS_LOOP, number=1)
    jumps = bench.loop(_ONE_LINE_LOOP)
    sums = bench.pair(_SUM_CALLS, CHEAPER, _BOTH, _SUMS)
    called = bench.pair(_CALLS, CHEAPER, _BOTH)
    resumed = bench.pair(_RESUMES, CHEAPER, _BOTH)
    straight, looped = (
        bench.pair((_STARTER, source), CHEAPER, _BOTH, _STARTS)
        for source in (_TWO_STEPS, _TWO_STEPS_IN_LOOP)
    )
    bench.run()
    line, call = _line_and_call(short, sums, called, 123, lines=4)
    # One turn has two lines, and the resumed one again, and two lines of the consumer.
    resume = resumed.added - (3 + 2) * line
    # Two lines, which are resumed, or five, of which two are, and six of the consumer.
    start = (
        straight.added + 3 * looped.added - (4 + 3 * 7 + 4 * 6) * line
    ) / 4 - 2 * resume
    ticks = {
        "line": line,
        "high_line": line + max(0.0, high.added - short.added) / 5,
        "specialized": (special.added - short.added) / 4,
        "call": call,
        "start": start,
        "resume": resume,
        "jump": jumps.added,
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
    sums_by_line = bench.pair(_SUM_CALLS, BY_LINE, _CALLEE, _SUMS)
    high_by_line = bench.loop("\n" * largest + _LOOP, BY_LINE)
    by_instruction = bench.loop(_LOOP, BY_INSTRUCTION)
    sums_by_instruction = bench.pair(_SUM_CALLS, BY_INSTRUCTION, _CALLEE, _SUMS)
    high_by_instruction = bench.loop(far, BY_INSTRUCTION)
    special = bench.loop(_GLOBALS_LOOP, BY_LINE, number=1)
    called = bench.pair(_CALLS, BY_LINE)
    called_by_instruction = bench.pair(_CALLS, BY_INSTRUCTION)
    resumed = bench.pair(_RESUMES, BY_LINE)
    straight = bench.pair((_STARTER, _TWO_STEPS), BY_LINE, _CALLEE, _STARTS)
    looped = bench.pair((_STARTER, _TWO_STEPS_IN_LOOP), BY_LINE, _CALLEE, _STARTS)
    jumps = bench.loop(_ONE_LINE_LOOP, BY_LINE)
    jumps_by_instruction = bench.loop(_ONE_LINE_LOOP, BY_INSTRUCTION)
    looped_by_instruction = bench.pair(
        (_STARTER, _TWO_STEPS_IN_LOOP), BY_INSTRUCTION, _CALLEE, _STARTS
    )
    consumed, consumed_by_instruction = (
        bench.pair((_SHORT_STARTER, _TWO_STEPS_IN_LOOP), event, _BOTH, _STARTS)
        for event in (BY_LINE, BY_INSTRUCTION)
    )
    bench.run()
    line, call = _line_and_call(by_line, sums_by_line, called, 123)
    # The head of the loop has another event where it begins.
    instruction, call_by_instruction = _line_and_call(
        by_instruction, sums_by_instruction, called_by_instruction, 124
    )
    # One turn has two lines, and the resumed one again.
    resume = resumed.added - 3 * line
    # Two lines, which are resumed, or five, of which two are.
    start = straight.added - 4 * line - 2 * resume
    in_loop = looped.added - 7 * line - 2 * resume
    # With two more events in the loop: see `sums_by_instruction`.
    in_loop_by_instruction = looped_by_instruction.added - 9 * instruction - 2 * resume
    # Two lines and two jumps of the consumer, and three steps.
    consumer = 2 * (line + jumps.added)
    consumer_by_instruction = 2 * (instruction + jumps_by_instruction.added)
    ticks = {
        "line": line,
        "high_line": line + max(0.0, high_by_line.added - by_line.added) / 5,
        "by_instruction": instruction,
        "high_by_instruction": instruction
        + max(0.0, high_by_instruction.added - by_instruction.added) / 5,
        "specialized": (special.added - by_line.added) / 4,
        "call": call,
        "call_by_instruction": call_by_instruction,
        "start": (start + 3 * in_loop) / 4,
        "start_by_instruction": in_loop_by_instruction - (in_loop - start) / 4,
        "resume": resume,
        "consumed": (consumed.added - looped.added - consumer) / 3,
        "consumed_by_instruction": (
            consumed_by_instruction.added
            - looped_by_instruction.added
            - consumer_by_instruction
        )
        / 3,
        "jump": jumps.added,
        "jump_by_instruction": jumps_by_instruction.added,
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
    bench.run_traced(_ROUNDS_OF_LINES)
    return min(1.0, short.traced.step / before.turn)
