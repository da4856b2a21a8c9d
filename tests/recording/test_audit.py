"""`audit`: a callable is called each time that the cost of profiling has grown."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from running import hits_of, new_profiler, run_python

import lineprof._core as core
from lineprof.recording.calibration import Calibration, Costs, set_costs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.usefixtures("hook")

STEP = 200_000  # ns of cost: some thousand calls
CALLS = 200_000
COST = 100 * core.COST_ONE  # of each event: 100 ticks instead of the calibrated cost


def work(value: int) -> int:
    value += 1
    return value


def steps(count: int) -> Iterator[int]:
    yield from range(count)


class Audited:
    """Profiler with an audit that records the threads of its calls."""

    def __init__(
        self, answer: object = None, act: Callable[[], None] = int, cost: int = COST
    ) -> None:
        self.profiler = new_profiler(work, steps, call)
        names = ("line", "by_instruction", "call", "call_by_instruction", "resume")
        set_costs(core, Costs(**dict.fromkeys(names, cost), max_small_int=256))
        # As they were not measured, they are not adapted to the machine's speed later.
        self.profiler._session.calibration = Calibration()
        self.threads: list[threading.Thread] = []
        self.answer, self.act = answer, act
        self.profiler.audit(self.audit, STEP)  # type: ignore[arg-type]
        self.profiler.enable()

    def audit(self) -> object:
        self.threads.append(threading.current_thread())
        self.act()
        return self.answer

    def end(self) -> int:
        self.profiler.disable()
        self.profiler.audit(None)
        return len(self.threads)

    def cost_ns(self) -> int:
        return sum(cost.cost_ns for cost in self.profiler.costs())


def call(times: int = CALLS) -> None:
    for number in range(times):
        work(number)


def test_the_audit_is_called_each_time_the_cost_has_grown_by_a_step() -> None:
    audited = Audited()
    call()
    times = audited.end()
    expected = audited.cost_ns() / STEP
    assert expected > 10
    # The audit's own calls also have a cost, but not one of a function.
    assert 0.5 * expected < times < 1.1 * expected + 1


def test_steps_of_generators_also_cost_and_count() -> None:
    audited = Audited()
    for _ in steps(CALLS):
        pass
    times = audited.end()
    (cost,) = [cost for cost in audited.profiler.costs() if cost.hits]
    assert cost.calls == 1
    assert cost.cost_ns > 10 * STEP
    assert times > 5


def test_the_audit_is_called_on_the_thread_that_had_the_cost() -> None:
    audited = Audited()
    audited.profiler.disable()

    def run() -> None:
        with audited.profiler:
            call()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    audited.profiler.audit(None)
    assert set(audited.threads) == {thread}


def test_the_audit_returns_the_next_step() -> None:
    audited = Audited(10**12)
    call()
    assert audited.end() == 1
    for other in ("x", -1, None, 10**30):
        audited = Audited(other)
        call()
        assert audited.end() > 5


def test_exceptions_of_the_audit_are_ignored_and_the_call_continues() -> None:
    audited = Audited(act=[].pop)
    assert [work(number) for number in range(CALLS)] == list(range(1, CALLS + 1))
    assert audited.end() > 5


@pytest.mark.serial
def test_the_time_of_the_audit_is_not_charged_to_the_program() -> None:
    # A cost that is below the real one: otherwise nothing is left of the lines' time.
    audited = Audited(act=lambda: time.sleep(0.002), cost=COST // 5)
    began = time.perf_counter()
    call()
    wall = time.perf_counter() - began
    times = audited.end()
    assert times > 5
    (total,) = [
        function.total_ns / 1e9
        for function in audited.profiler.get_stats().functions
        if function.name == "call"
    ]
    assert 0 < total < wall - 0.0015 * times


def test_none_ends_the_audit_and_the_min_step_is_1() -> None:
    audited = Audited()
    audited.profiler.audit(None)
    before = len(audited.threads)  # enabling has a measured cost, on a busy machine too
    call()
    assert audited.end() == before
    with pytest.raises(ValueError, match=r"^a step of 0 ns: give 1 or more$"):
        audited.profiler.audit(lambda: None, 0)


def test_the_audit_may_unwatch_the_called_function() -> None:
    audited = Audited()
    audited.profiler.audit(lambda: audited.profiler.unwatch(work.__code__), STEP)
    call()
    audited.end()
    assert "work" not in [cost.key[2] for cost in audited.profiler.costs()]
    (lines,) = [
        lines
        for (_, name), lines in hits_of(audited.profiler).items()
        if name == "work"
    ]
    assert 0 < min(lines.values()) < CALLS / 2


def test_the_audit_may_end_or_replace_itself() -> None:
    text = """\
        from lineprof import LineProfiler
        def work(n):
            return n
        profiler = LineProfiler(work)
        calls = []
        class First:
            def __call__(self):
                calls.append("first")
                profiler.audit(second, 50_000)
            def __del__(self):
                calls.append("gone")
        def second():
            calls.append("second")
            profiler.audit(None)
        profiler.audit(First(), 50_000)
        with profiler:
            for n in range(100_000):
                work(n)
        print(calls)
        """
    assert run_python(text) == (0, "['first', 'gone', 'second']\n", "")


@pytest.mark.serial
def test_time_of_an_unwatched_running_function_is_charged_to_its_caller() -> None:
    profiler = new_profiler()

    def inner() -> float:
        began = time.perf_counter()
        profiler.unwatch(inner.__code__)
        number = 0
        while number < 300_000:
            number += 1
        return time.perf_counter() - began

    def outer() -> float:
        return inner()

    profiler.add_function(inner)
    profiler.add_function(outer)
    with profiler:
        took = outer()
    (total,) = [
        function.total_ns / 1e9
        for function in profiler.get_stats().functions
        if function.name.endswith("outer")
    ]
    assert 0.9 * took < total


SIGNAL = """
import os, signal
from lineprof import LineProfiler
def leaf():
    pass
profiler = LineProfiler(leaf)
profiler.enable()
def handler(number, frame):
    print(number == signal.SIGTERM, frame.f_code.co_name)
    raise ValueError("meant for the program")
signal.signal(signal.SIGTERM, handler)
calls = []
def look():
    if not calls:
        calls.append(1)
        os.kill(os.getpid(), signal.SIGTERM)
        sum(n for n in range(100))
profiler.audit(look, 1)
try:
    for _ in range(1000):
        leaf()
    print("lost")
except ValueError as error:
    print(error)
profiler.audit(None)
print([cost.calls > 0 for cost in profiler.costs()])
"""


def test_signals_during_the_audit_are_handled_by_the_program() -> None:
    status, out, err = run_python(SIGNAL)
    assert (status, err) == (0, "")
    first, *rest = out.splitlines()
    assert first.split()[0] == "True"
    assert first.split()[1] in {"<module>", "leaf"}
    assert rest == ["meant for the program", "[True]"]


PENDING = """
import os, signal
from lineprof import LineProfiler
def leaf(n):
    return leaf(n - 1) if n else 0
profiler = LineProfiler(leaf)
profiler.enable()
signal.signal(signal.SIGTERM, lambda *_: 1 / 0)
profiler.audit(int, 1)
raised = 0
class Kill:
    def __add__(self, other):
        os.kill(os.getpid(), signal.SIGTERM)
for _ in range(50):
    try:
        Kill() + leaf(3)
        leaf(3)
    except ZeroDivisionError:
        raised += 1
profiler.audit(None)
leaf(2)
profiler.disable()
print(raised)
"""


def test_a_signal_before_the_audit_is_handled() -> None:
    status, out, err = run_python(PENDING)
    assert (status, err) == (0, "")
    assert out == "50\n"


def test_the_audit_may_close_the_profiler() -> None:
    """The call that it precedes used what was freed."""
    status, output, errors = run_python(
        """
from lineprof import LineProfiler
from lineprof.recording.profiler import close
def work(n):
    a = n
    return a
profiler = LineProfiler(work)
profiler.enable()
kept = []
def audit():
    close(profiler)
    kept.extend(bytearray(b"\\xff" * n) for n in range(100, 400, 8))
    print("closed")
profiler.audit(audit, 1000)
for n in range(1000):
    work(n)
print("end")
"""
    )
    assert (status, output, errors) == (0, "closed\nend\n", "")
