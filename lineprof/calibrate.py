"""What an event costs, so that it can be taken out of the numbers.

Most of an event's cost lies outside the profiler: in the interpreter, before
and after the call of the hook. A second look at the clock would not see it.
So it is measured as a whole: small functions run with and without events, in
turn, and the least difference found is the cost. About 3 ms at the first use.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, NamedTuple

from lineprof.shape import describe

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType, FunctionType, ModuleType

    from lineprof._core import Tracer

_STEPS = 150  # of a loop that is timed once
_ROUNDS = 7  # the least of so many counts
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


def _function(source: str, **names: object) -> FunctionType:
    scope: dict[str, object] = dict(names)
    exec(compile(source, "<calibration>", "exec"), scope)  # noqa: S102
    made = [value for name, value in scope.items() if callable(value)]
    return made[-1]  # type: ignore[return-value]


@dataclass
class Bench:
    """Runs of the same code with and without events."""

    core: ModuleType
    hook: str
    rounds: int = _ROUNDS

    def _least(self, run: Callable[[], object]) -> int:
        ticks = self.core.ticks
        run()
        least = sys.maxsize
        for _ in range(self.rounds):
            start = ticks()
            run()
            least = min(least, ticks() - start)
        return least

    def difference(
        self,
        make: Callable[[], tuple[FunctionType, tuple[FunctionType, ...]]],
        watched: Callable[
            [FunctionType, tuple[FunctionType, ...]], Iterable[FunctionType]
        ],
    ) -> float:
        """Return the ticks that the events of one step add.

        `make` gives a function and its arguments after the number of steps;
        `watched` says which functions have the events.
        """
        plain, plain_args = make()
        without = self._least(lambda: plain(_STEPS, *plain_args))
        traced, traced_args = make()
        tracer = self.core.Tracer(self.hook)
        try:
            for function in watched(traced, traced_args):
                add_code(tracer, function.__code__)
            tracer.enable()
            with_events = self._least(lambda: traced(_STEPS, *traced_args))
        finally:
            tracer.close()
        return max(0.0, (with_events - without) / _STEPS)

    def loop(self, source: str) -> float:
        """Ticks added to one turn of a loop function."""
        return self.difference(lambda: (_function(source), ()), lambda f, _: (f,))


def add_code(
    tracer: Tracer, code: CodeType, key: object = None, text: str | None = None
) -> bool:
    """Register `code`; False where it was already, or its lines can't be told.

    `text` is its file's source where no file has it.
    """
    shape = describe(code, text)
    if shape is None:
        return False
    return tracer.add_code(
        code,
        key,
        shape.first_line,
        shape.n_lines,
        shape.flags,
        shape.awaits,
        shape.start,
        shape.statements,
        shape.instructions,
        shape.marks,
        shape.resumes,
    )


def measure(core: ModuleType, hook: str) -> Costs:
    """Measure the costs of `hook`'s events in the clock's ticks."""
    core.set_costs(*Costs())
    bench = Bench(core, hook)
    line, high, instruction = _line_costs(bench)
    short = line + 2 * instruction  # of a line that does next to nothing
    called = bench.difference(
        lambda: (_function(_CALLER), (_function(_CALLED),)), lambda _, args: args
    )
    # A turn: two lines, and once more the one that the resumed step ends.
    resumed = bench.difference(
        lambda: (_function(_CONSUMER), (_function(_GENERATOR),)), lambda _, args: args
    )
    plain_call, plain_inner = _plain_costs(bench, short) if _TAXED else (0.0, 0.0)
    return Costs(
        *(
            round(max(0.0, ticks) * core.COST_ONE)
            for ticks in (
                line,
                high,
                instruction,
                called - short,
                resumed - 3 * short,
                plain_call,
                plain_inner,
            )
        )
    )


def _line_costs(bench: Bench) -> tuple[float, float, float]:
    """Ticks of a line event, of one above line 256, and per instruction."""
    turn = bench.loop(_LOOP)  # five lines of two instructions
    if not _TAXED:
        return turn / 5, max(turn, bench.loop(_HIGH + _LOOP)) / 5, 0.0
    long = bench.loop(_LONG_LOOP)  # three lines of 2, 24 and 24
    instruction = max(0.0, (long / 3 - turn / 5) / ((2 + 24 + 24) / 3 - 2))
    line = max(0.0, turn / 5 - 2 * instruction)
    return line, line, instruction


def _plain_costs(bench: Bench, short: float) -> tuple[float, float]:
    """Ticks of an unprofiled call from a profiled line, and of one below it."""
    outer = bench.difference(
        lambda: (_function(_PLAIN_CALLER), (_function(_CALLED),)), lambda f, _: (f,)
    )
    nested = bench.difference(
        lambda: (
            _function(_PLAIN_CALLER),
            (_function(_OUTER, inner=_function(_CALLED)),),
        ),
        lambda f, _: (f,),
    )
    return outer - 2 * short, nested - outer


def remeasure(core: ModuleType, hook: str, costs: Costs) -> float:
    """Return how much of `costs` holds now: 1.0, or less on a faster machine.

    The speed of a machine changes while a program runs; what is taken out must
    never be more than the events cost at any time.
    """
    before = costs.line + 2 * costs.instruction
    if before <= 0 or (hook == "settrace" and not _TAXED):
        return 1.0
    now: float = Bench(core, hook, rounds=4).loop(_LOOP) / 5 * core.COST_ONE
    return min(1.0, now / before)
