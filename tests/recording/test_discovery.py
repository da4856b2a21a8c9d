"""`discover`: functions that are not registered are found at their first call."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from running import hits_of, new_profiler, plain, run_python

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

pytestmark = pytest.mark.usefixtures("hook")

MODULE = """
class Box:
    size = 3

    def fill(self, n):
        return [self.put(i) for i in range(n)]

    def put(self, i):
        return (lambda j: j + 1)(i)

def steps(n):
    for i in range(n):
        yield i

def outer(n):
    def inner(m):
        return m * 2
    return sum(inner(i) for i in steps(n))

def never():
    return 1

result = Box().fill(4), outer(3)
"""


class Found:
    """Profiler that watches code by `wanted`, with the code that it was asked about."""

    def __init__(self, wanted: Callable[[CodeType], bool | None]) -> None:
        self.profiler = new_profiler()
        self.asked: Counter[str] = Counter()
        self.wanted = wanted
        self.profiler.discover(self.decide)

    def decide(self, code: CodeType) -> bool | None:
        self.asked[code.co_name] += 1
        return self.wanted(code)

    def hits(self) -> dict[str, dict[int, int]]:
        self.profiler.discover(None)
        return {
            name.rpartition(".")[-1]: lines
            for (_, name), lines in hits_of(self.profiler).items()
        }


def in_test(code: CodeType) -> bool | None:
    """Return whether code is of the text that `run` executes, and no comprehension."""
    if code.co_filename != "<found>":
        return None
    return "comp" not in code.co_name and "genexpr" not in code.co_name


def run(text: str = MODULE) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "found"}
    exec(compile(text, "<found>", "exec"), names)
    return names


def test_the_first_call_counts_and_each_code_is_asked_for_once() -> None:
    found = Found(in_test)
    names = run()
    for _ in range(2):
        names["outer"](2)
    assert names["result"] == ([1, 2, 3, 4], 6)
    hits = found.hits()
    assert hits["<module>"][2] == hits["<module>"][23] == 1
    assert hits["Box"][3] == 1
    assert hits["fill"] == {6: 1}
    assert hits["put"] == {9: 4}
    assert hits["<lambda>"] == {9: 4}
    assert hits["steps"] == {12: 4 + 3 + 3, 13: 3 + 2 + 2}
    assert hits["outer"] == {16: 3, 18: 3}
    assert hits["inner"] == {17: 3 + 2 + 2}
    assert "never" not in hits
    asked = {name: n for name, n in found.asked.items() if name in hits}
    # `inner` is one code object of several functions.
    assert asked == dict.fromkeys(hits, 1)


def test_the_answer_none_counts_for_a_whole_file() -> None:
    found = Found(lambda _: None)
    run()
    assert not found.hits()
    assert found.asked["<module>"] == 1
    assert not set(found.asked) & {"Box", "fill", "outer"}


def test_the_answer_false_counts_for_one_code_object() -> None:
    def decide(code: CodeType) -> bool | None:
        return None if code.co_filename != "<found>" else code.co_name == "put"

    found = Found(decide)
    names = run()
    names["Box"]().fill(2)
    assert found.hits() == {"put": {9: 6}}
    assert found.asked["fill"] == found.asked["outer"] == found.asked["<module>"] == 1


def test_exceptions_of_decide_are_ignored_and_the_code_is_not_watched() -> None:
    def decide(code: CodeType) -> bool | None:
        if code.co_name in {"put", "steps"}:
            raise KeyError(code.co_name)
        return in_test(code)

    found = Found(decide)
    assert run()["result"] == ([1, 2, 3, 4], 6)
    hits = found.hits()
    assert hits["outer"]
    assert not {"put", "steps"} & hits.keys()
    assert found.asked["put"] == 1


def test_an_exception_in_flight_is_not_changed() -> None:
    found = Found(in_test)
    names = run("""
def cleans():
    return 1

class Closing:
    def __enter__(self): return self
    def __exit__(self, *exc):
        cleans()
        return exc[0] is KeyError

def work():
    with Closing():
        raise KeyError("kept")
    return "survived"

def steps():
    try:
        yield 1
    finally:
        cleans()

result = work()
""")
    assert names["result"] == "survived"
    generator = names["steps"]()
    with pytest.raises(OSError, match="thrown"):
        generator.throw(OSError("thrown"))
    assert found.hits()["cleans"] == {3: 1}


def test_functions_are_found_in_every_thread() -> None:
    found = Found(in_test)
    names = run("def work(n):\n    return n\n")
    threads = [threading.Thread(target=names["work"], args=(1,)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.hits()["work"] == {2: 20}


def test_after_the_end_of_discovery_no_function_is_found() -> None:
    found = Found(in_test)
    names = run()
    found.profiler.discover(None)
    before = found.hits()
    asked = sum(found.asked.values())
    names["never"]()
    names["outer"](1)
    assert sum(found.asked.values()) == asked
    after = found.hits()
    assert "never" not in after
    assert after["outer"][16] == before["outer"][16] + 1


def test_a_second_discovery_asks_about_all_functions_again() -> None:
    first = Found(lambda _: None)
    names = run()
    names["never"]()
    first.profiler.discover(None)
    second = Found(in_test)
    names["never"]()
    names["outer"](1)
    hits = second.hits()
    assert hits["never"] == {21: 1}
    assert hits["steps"] == {12: 2, 13: 1}
    assert not first.hits()


def test_a_function_that_was_refused_can_still_be_registered() -> None:
    found = Found(lambda _: None)
    names = run()
    names["never"]()
    other = new_profiler()
    profiled = other(names["never"])
    assert [profiled(), profiled()] == [1, 1]
    names["never"]()
    other.add_function(names["outer"])
    with other:
        names["outer"](1)
    found.profiler.discover(None)
    functions = {f.name: f for f in other.get_stats().functions}
    assert functions["never"].calls == 2
    assert functions["outer"].calls == 1
    assert not found.hits()


def test_a_postponed_function_is_found_at_a_later_call() -> None:
    profiler = new_profiler()
    pauses = iter((1, 0))  # ns
    profiler.discover(lambda code: code.co_name == "late", pause=lambda: next(pauses))
    names = run("def late(n):\n    return n\n")
    assert [names["late"](n) for n in range(5)] == [0, 1, 2, 3, 4]
    assert profiler.overhead().left_out == 0
    profiler.discover(None)
    [lines] = hits_of(profiler).values()
    assert lines == {2: 4}
    [cut] = profiler.get_stats().cuts
    assert (cut.function[2], cut.until_ns) == ("late", None)
    assert cut.from_ns > 0
    with pytest.raises(StopIteration):
        next(pauses)


def test_a_function_that_stays_postponed_is_left_out() -> None:
    profiler = new_profiler()
    asked = []

    def pause() -> int:
        asked.append(None)
        return 10**15

    profiler.discover(lambda code: code.co_name in {"often", "once"}, pause=pause)
    names = run("def often(n): return n\ndef once(n): return n\n")
    assert [names["often"](n) for n in range(1000)] == [*range(1000)]
    names["once"](1)
    assert profiler.overhead().left_out == len(asked) == 2
    assert profiler.overhead().registering_ns >= 0
    profiler.discover(None)
    assert hits_of(profiler) == {}


def test_discovery_ends_with_its_profiler() -> None:
    out = run_python("""
        from lineprof import LineProfiler

        asked = []
        profiler = LineProfiler()
        profiler.discover(lambda code: bool(asked.append(code)))
        def f(): return 1
        def g(): return 2
        f()
        other = LineProfiler()
        del profiler
        import gc
        gc.collect()
        n = len(asked)
        g()
        print(n > 0, len(asked) == n)
    """)
    assert out == (0, "True True\n", "")


def test_a_trace_function_has_no_events_of_decide() -> None:
    seen: set[str] = set()

    def trace(frame: Any, *_: object) -> Any:
        seen.add(frame.f_code.co_filename)
        return trace

    found = Found(in_test)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    assert found.hits()["put"] == {9: 4}
    assert "<found>" in seen
    assert not [file for file in seen if "lineprof" in file and "tests" not in file]
    assert __file__ not in seen or "decide" not in seen


RECURSIVE = """
def down(n):
    if n == 0:
        stop()
        return 0
    return down(n - 1) + 1

def top(n):
    x = down(n)
    return x
"""


def test_unwatch_ends_running_calls_and_keeps_their_counts() -> None:
    found = Found(in_test)
    names = run(RECURSIVE)
    names["stop"] = lambda: found.profiler.unwatch(names["down"].__code__)
    assert names["top"](5) == 5
    assert names["top"](7) == 7
    hits = found.hits()
    assert hits["down"] == {3: 6, 4: 1, 6: 5}
    assert hits["top"] == {9: 2, 10: 2}
    functions = {f.name: f for f in found.profiler.get_stats().functions}
    assert functions["down"].calls == 6
    assert found.profiler.enable_count == 0


def test_unwatched_code_is_not_found_again() -> None:
    found = Found(in_test)
    names = run("def work():\n    return 1\n")
    names["work"]()
    found.profiler.unwatch(names["work"].__code__)
    for _ in range(3):
        names["work"]()
    assert found.hits()["work"] == {2: 1}
    assert found.asked["work"] == 1
    found.profiler.unwatch(compile("1", "?", "eval"))  # has no effect


def test_unwatch_of_the_only_running_function_disables_the_profiler() -> None:
    profiler = new_profiler()
    names = run("def work():\n    stop()\n    return 1\n")
    names["stop"] = lambda: profiler.unwatch(names["work"].__code__)
    profiler.watch(names["work"])
    assert names["work"]() == 1
    assert profiler.enable_count == 0
    assert hits_of(profiler)[1, "work"] == {2: 1}


def test_costs_are_the_cost_and_counts_of_each_function() -> None:
    found = Found(in_test)
    names = run("""
def tiny():
    return 1

def long():
    for _ in range(1000):
        tiny()
    __import__("time").sleep(0.002)
""")
    names["long"]()
    costs = {cost.key[2]: cost for cost in found.profiler.costs()}
    assert costs["tiny"].calls == costs["tiny"].hits == 1000
    assert costs["long"].calls == 1
    assert costs["long"].hits == 2002
    assert costs["tiny"].code is names["tiny"].__code__
    assert costs["tiny"].cost_ns > 1000
    assert costs["long"].time_ns > 1_000_000
    found.profiler.unwatch(names["tiny"].__code__)
    assert "tiny" not in {cost.key[2] for cost in found.profiler.costs()}
    found.profiler.discover(None)


def test_a_function_first_called_in_several_threads_is_counted_in_each() -> None:
    n, rounds = 30, 40
    text = "".join(f"def f{i}():\n    return 1\n" for i in range(n))
    text += "def work():\n" + "".join(f"    f{i}()\n" for i in range(n))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(rounds):
            found = Found(in_test)
            names = run(text)
            together = threading.Barrier(4)

            def begin(work: Callable[[], None], together: Any = together) -> None:
                together.wait()
                work()

            threads = [
                threading.Thread(target=begin, args=(names["work"],)) for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            found.profiler.discover(None)
            functions = found.profiler.get_stats().functions
            counts = {f.name: f.calls for f in functions if f.name != "<module>"}
            assert set(counts.values()) == {4}
    finally:
        sys.setswitchinterval(before)


def test_the_first_calls_of_refused_files_call_no_python() -> None:
    found = Found(lambda _: None)
    run("def first():\n    pass\nfirst()\n")
    found.profiler.overhead()  # its file is refused, too
    before = found.profiler.overhead()
    run("".join(f"def f{i}():\n    pass\nf{i}()\n" for i in range(100)))
    assert found.profiler.overhead().registering_ns == before.registering_ns
    assert not found.hits()
    assert found.asked["<module>"] == 1


@pytest.mark.serial
@pytest.mark.skipif(
    not hasattr(time, "pthread_getcpuclockid"), reason="waits need a thread's clock"
)
def test_time_for_which_decide_blocks_is_neither_time_nor_wait() -> None:
    """Time less waits is processor time: of the program, raw with lineprof's."""

    def decide(code: CodeType) -> bool | None:
        if code.co_name == "slow":
            time.sleep(0.02)
        return code.co_name == "caller"

    text = """
        def caller():
            return [calls()]

        def calls():
            for function in functions:
                function()
            begun = thread_time()
            while thread_time() < begun + 0.05:
                pass
        """
    functions = [compile("def slow(): pass", "<slow>", "exec") for _ in range(10)]
    names: dict[str, Any] = {"thread_time": time.thread_time, "functions": []}
    for code in functions:
        space: dict[str, Any] = {}
        exec(code, space)
        names["functions"].append(space["slow"])
    exec(compile(plain(text), "<found>", "exec"), names)
    found = Found(decide)
    begun = time.thread_time(), time.perf_counter()
    names["caller"]()
    used, wall = time.thread_time() - begun[0], time.perf_counter() - begun[1]
    found.profiler.discover(None)
    stats = found.profiler.get_stats()
    (function,) = stats.functions
    (row,) = function.rows
    waited = sum(wait.ns for wait in stats.waits)
    assert 0.05e9 <= row.time_ns - waited <= used * 1e9
    assert row.raw_ns - waited <= used * 1e9
    assert row.raw_ns <= (wall - 10 * 0.02) * 1e9
