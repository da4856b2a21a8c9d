"""C functions as callees: their callers, numbers of calls, and times."""

from __future__ import annotations

import cProfile
import functools
import gc
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from c_events import needs_c_events
from running import new_profiler

import lineprof._core as core
from lineprof.model.call_graph import edges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from settable_clock import Clock

    Make = Callable[[], Any]

pytestmark = [pytest.mark.usefixtures("hook"), needs_c_events]
SORTED = "builtins.sorted"
MODERN = sys.version_info >= (3, 12)  # it has events for classes and other callables


@pytest.fixture
def make() -> Iterator[Make]:
    """Yield a maker of profilers of C functions; the option ends with the test."""

    def new() -> Any:
        profiler = new_profiler()
        profiler.c_functions()
        return profiler

    yield new
    new_profiler().c_functions(on=False)


def called(profiler: Any) -> dict[tuple[str, int, str], int]:
    """Return the calls of each C function, by caller and line within the caller."""
    stats = profiler.get_stats()
    return {
        (edge.caller[2].rpartition(".")[-1], edge.line - edge.caller[1], name): (
            edge.calls
        )
        for edge in edges(stats.calls)
        for file, _, name in [edge.callee]
        if edge.caller and not file
    }


def test_functions_and_methods_are_edges_of_the_line_that_calls_them(
    make: Make,
) -> None:
    profiler = make()

    @profiler
    def work() -> int:
        found: list[int] = []
        for i in (1, 2, 3):
            found.append(i * 2)  # noqa: PERF401 - the call is under test
        text = ",".join(str(i) for i in found)
        return len(found) + len(text)

    assert work() == 8
    counts = called(profiler)
    assert counts["work", 4, "list.append"] == 3
    assert counts["work", 5, "str.join"] == 1
    assert counts["work", 6, "builtins.len"] == 2


def test_a_callback_is_a_child_of_its_c_function(make: Make) -> None:
    profiler = make()

    @profiler
    def key(value: int) -> int:
        return abs(value)

    @profiler
    def work() -> list[int]:
        return sorted([3, -1, 2], key=key)

    assert work() == [-1, 2, 3]
    stats = profiler.get_stats()
    nodes = stats.calls.nodes
    names = [node.function[2].rpartition(".")[-1] for node in nodes]
    by_name = dict(zip(names, nodes))
    assert nodes[by_name["key"].parent] is by_name["sorted"]
    assert nodes[by_name["sorted"].parent] is by_name["work"]
    assert by_name["abs"].calls == by_name["key"].calls == 3
    assert by_name["sorted"].total_ns >= by_name["key"].total_ns


def test_an_exception_in_a_c_function_ends_its_call(make: Make) -> None:
    profiler = make()

    @profiler
    def work() -> int:
        total = 0
        for text in ("1", "x", "3"):
            try:
                total += [1].index(text == "x")
            except ValueError:  # the case under test
                total += len(text)
        return total

    assert work() == 2
    counts = called(profiler)
    assert counts["work", 5, "list.index"] == 3
    assert counts["work", 7, "builtins.len"] == 2


def test_the_time_of_a_line_includes_its_c_functions(make: Make) -> None:
    profiler = make()

    @profiler
    def work() -> None:
        time.sleep(0.02)
        sum([1])

    work()
    stats = profiler.get_stats()
    (function,) = stats.functions
    times = {row.line - function.line: row.time_ns for row in function.rows}
    for edge in edges(stats.calls):
        if edge.caller:
            assert edge.total_ns <= times[edge.line - function.line] + 1
    slept = next(e for e in edges(stats.calls) if e.callee[2] == "time.sleep")
    assert slept.total_ns >= 19_000_000


@pytest.mark.skipif(not MODERN, reason="a profile function has no events for them")
def test_classes_and_named_callables_count_and_python_functions_do_not(
    make: Make,
) -> None:
    profiler = make()

    class Python:
        def __call__(self) -> int:
            return 1

        def method(self) -> int:
            return 2

    made = Python()

    @profiler
    def work() -> tuple[object, ...]:
        return (
            made(),
            made.method(),
            bytes(3),
            made.__class__(),
        )

    work()
    names = {name for _, _, name in called(profiler)}
    here = Python.__module__
    assert names == {
        "builtins.bytes",
        f"{here}.{Python.__qualname__}",
    }


def test_generators_and_threads_keep_their_c_calls_apart(make: Make) -> None:
    profiler = make()

    @profiler
    def steps(n: int) -> Iterator[int]:
        for i in range(n):
            yield abs(i)

    def drain(n: int) -> None:
        for _ in range(n):
            list(steps(5))

    threads = [threading.Thread(target=drain, args=(20,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = called(profiler)
    assert counts["steps", 3, "builtins.abs"] == 8 * 20 * 5
    if MODERN:
        assert counts["steps", 2, "builtins.range"] == 8 * 20


def test_hits_are_the_same_with_c_functions(make: Make) -> None:
    profiler = make()

    def work(n: int) -> int:
        total = 0
        for i in range(n):
            total += max(i, 2)
        return total

    plain = new_profiler()
    profiler.c_functions(on=False)
    plain.add_function(work)
    with plain:
        work(10)
    profiler.c_functions()
    profiler.add_function(work)
    with profiler:
        work(10)
    one, other = (p.get_stats().functions[0].rows for p in (plain, profiler))
    assert [(r.line, r.hits) for r in one] == [(r.line, r.hits) for r in other]


def test_a_program_can_use_cprofile_itself(make: Make) -> None:
    profiler = make()

    @profiler
    def work() -> int:
        return len(str(abs(-3)))

    own = cProfile.Profile()
    assert own.runcall(work) == 1
    own.create_stats()
    names = {name for _, _, name in own.stats}  # type: ignore[attr-defined]
    assert "<built-in method builtins.abs>" in names
    assert "work" in names
    assert work() == 1
    assert called(profiler)["work", 2, "builtins.abs"] >= 1


def test_names_are_found_without_running_code_of_the_program(make: Make) -> None:
    profiler = make()
    looked_up: list[str] = []

    class Watchful:
        def __getattr__(self, name: str) -> object:
            looked_up.append(name)
            raise AttributeError(name)

        def __call__(self) -> int:
            return 1

    class Meta(type):
        def __getattribute__(cls, name: str) -> object:
            looked_up.append(name)
            return super().__getattribute__(name)

    class Made(metaclass=Meta):
        pass

    made = Watchful()

    @profiler
    def work() -> object:
        return made(), Made()

    looked_up.clear()
    work()
    profiler.get_stats()
    assert looked_up == []


def test_a_reset_clears_calls_of_c_functions(make: Make) -> None:
    profiler = make()

    @profiler
    def work() -> int:
        return abs(-1)

    work()
    profiler.reset()
    work()
    assert called(profiler)["work", 2, "builtins.abs"] == 1


def test_callees_live_no_longer_than_without_a_profiler(
    make: Make,
) -> None:
    profiler = make()
    ended: list[int] = []

    class Box(list):  # type: ignore[type-arg]
        pass

    def steps() -> Iterator[int]:
        try:
            yield 1
        finally:
            ended.append(1)

    @profiler
    def methods() -> object:
        box = Box([1])
        box.append(2)
        append = box.append
        append(3)
        steps().__next__()
        return weakref.ref(box)

    @profiler
    def classes() -> list[Any]:
        made = type("Made", (), {})
        made()
        cached = functools.lru_cache(maxsize=None)(lambda x: x)
        cached(1)
        return [weakref.ref(made), weakref.ref(cached)]

    assert methods()() is None  # type: ignore[operator]
    assert ended == [1]
    alive = [classes() for _ in range(50)]
    gc.collect()
    assert {ref() for refs in alive for ref in refs} == {None}
    if MODERN:
        assert called(profiler)["classes", 3, "test_c_functions.Made"] > 0


def test_an_uncounted_function_ends_no_call_of_the_c_function_around_it(
    make: Make,
) -> None:
    profiler, other = make(), make()

    def fails() -> None:
        raise KeyError

    def registered(value: int) -> int:
        return len([value])

    other.add_function(registered)  # but not enabled

    @profiler
    def key(value: int) -> int:
        return -value

    def uncounted(value: int) -> int:
        try:
            fails()
        except KeyError:
            return key(value) + 0 * registered(value)
        return 0

    @profiler
    def work() -> list[int]:
        return sorted([3, 1, 2], key=uncounted)

    work()
    callers = {
        (edge.caller[2] if edge.caller else "").rpartition(".")[-1]: edge.calls
        for edge in edges(profiler.get_stats().calls)
        if edge.callee[2].endswith("key")
    }
    assert callers == {"sorted": 3}


def test_half_of_the_cost_of_a_call_is_in_the_time_of_the_c_function(
    clock: Clock,
) -> None:
    profiler = new_profiler(clock=clock.capsule)
    profiler.c_functions()
    core.c_functions(True, 10 * core.COST_ONE)
    try:

        @profiler
        def work(ticks: Iterator[None]) -> list[object]:
            return [*ticks, sorted([100], key=tick)]

        tick = clock.tick
        work(map(tick, [50]))
        work(map(tick, [50]))
        stats = profiler.get_stats()
    finally:
        profiler.c_functions(on=False)
    (function,) = stats.functions
    assert [row.raw_ns for row in function.rows] == [300]
    assert [row.time_ns for row in function.rows] == [280]
    (call,) = [edge for edge in edges(stats.calls) if edge.callee[2] == SORTED]
    assert (call.calls, call.total_ns) == (2, 190)
    self_ns = {node.function[2]: node.self_ns for node in stats.calls.nodes}
    assert (self_ns[function.name], self_ns[SORTED]) == (90, 190)
