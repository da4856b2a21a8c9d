"""Threads that decorate at the same time: both get the same result.

The other thread is simulated at the critical point: a function that is called there is
patched so that it first does the work of the other thread.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from running import hits_of, new_profiler

import lineprof.bytecode.code_tables
import lineprof.decorate.code_copies
import lineprof.recording.blocks
import lineprof.recording.profiler
from lineprof.explicit_profiler import GlobalProfiler

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof import LineProfiler

pytestmark = pytest.mark.usefixtures("hook")


def make() -> Callable[[int], int]:
    def add(x: int) -> int:
        return x + 1

    return add


def interrupted(
    patch: pytest.MonkeyPatch, where: object, name: str, other: Callable[[], object]
) -> None:
    """Patch `where.name` so that its next call calls `other` before it returns."""
    original: Any = getattr(where, name)

    def late(*args: Any, **options: Any) -> Any:
        patch.setattr(where, name, original)
        found = original(*args, **options)
        other()
        return found

    patch.setattr(where, name, late)


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (lineprof.bytecode.code_tables, "file_spans"),
        (lineprof.decorate.code_copies, "_copy"),
    ],
)
def test_a_closure_that_two_threads_decorate_is_counted_for_both(
    monkeypatch: pytest.MonkeyPatch, where: object, name: str
) -> None:
    profiler = new_profiler()
    made: list[Callable[[int], int]] = []
    interrupted(monkeypatch, where, name, lambda: made.append(profiler(make())))
    made.append(profiler(make()))
    assert [add(1) for add in made] == [2, 2]
    (lines,) = hits_of(profiler).values()
    assert sum(lines.values()) == 2
    assert len(profiler.functions) == 1
    assert not profiler.get_stats().warnings
    assert made[0].__code__ is made[1].__code__


def test_a_function_that_two_threads_add_is_listed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profiler, add = new_profiler(), make()
    interrupted(
        monkeypatch,
        lineprof.bytecode.code_tables,
        "file_spans",
        lambda: profiler.add_function(add),
    )
    profiler.add_function(add)
    with profiler:
        add(1)
    assert profiler.functions == [add]
    (lines,) = hits_of(profiler).values()
    assert sum(lines.values()) == 1
    assert not profiler.get_stats().warnings


def test_the_first_decorations_of_two_threads_share_a_profiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends: list[object] = []
    monkeypatch.setattr("atexit.register", lambda *what: ends.append(what))
    profile = GlobalProfiler(config=False)
    made: list[Callable[[int], int]] = []
    interrupted(
        monkeypatch,
        lineprof.recording.profiler,
        "LineProfiler",
        lambda: made.append(profile(make())),
    )
    profile.enabled = True
    made.append(profile(make()))
    assert [add(1) for add in made] == [2, 2]
    profiler = profile._profile
    assert profiler is not None
    (lines,) = hits_of(profiler).values()
    assert sum(lines.values()) == 2
    assert len(ends) == 1


def enter(profiler: LineProfiler) -> None:
    with profiler.block("part"):
        pass


@pytest.mark.parametrize("name", ["Blocks", "_WithStatement"])
def test_a_block_that_two_threads_enter_first_is_one(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    profiler = new_profiler()
    interrupted(monkeypatch, lineprof.recording.blocks, name, lambda: enter(profiler))
    enter(profiler)
    (lines,) = hits_of(profiler).values()
    assert lines[min(lines)] == 2


def test_a_block_in_many_threads_counts_every_execution() -> None:
    profiler, times = new_profiler(), 20_000
    before = sys.getswitchinterval()

    def work() -> None:
        for _ in range(times):
            enter(profiler)

    threads = [threading.Thread(target=work) for _ in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    (lines,) = hits_of(profiler).values()
    assert lines[min(lines)] == 4 * times
