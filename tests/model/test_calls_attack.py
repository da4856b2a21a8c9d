"""Call trees of interrupted calls: unwatch, stop, resets, snapshots, forks."""

from __future__ import annotations

import os
import sys
import threading
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from running import new_profiler

from lineprof.model.call_graph import edges
from lineprof.snapshot.calls import NODE_ROW
from lineprof.snapshot.profile import line_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof import LineProfiler

pytestmark = pytest.mark.usefixtures("hook")

DEPTH = 5
WORK = "    return sum(range(500))\n"
CHAIN = "".join(f"def f{i}():\n    f{i + 1}()\n{WORK}" for i in range(DEPTH))
CHAIN += f"def f{DEPTH}():\n    stop()\n{WORK}"


def wrong_sums(profiler: LineProfiler) -> list[object]:
    """Return the sums of a call tree that disagree, in ticks."""
    _, codes, (_, packed), *_ = profiler._tracer.snapshot()
    numbers = iter(array("q", packed))
    nodes = list(zip(*[numbers] * len(NODE_ROW)))
    into: Counter[Any] = Counter()  # inclusive ticks, by code and thread
    below: Counter[Any] = Counter()  # ticks of callees, also by line
    own: Counter[Any] = Counter()  # self ticks
    counts: Counter[int] = Counter()  # calls, by code
    roots = 0
    found: list[object] = [
        ("node", place)
        for place, node in enumerate(nodes)
        if node[0] >= place or node[6] < 0
    ]
    for parent, line, code, thread, calls, _, ticks, *_, inclusive, _, _ in nodes:
        into[code, thread] += inclusive
        own[code, thread] += ticks
        counts[code] += calls
        if parent < 0:
            roots += inclusive
        else:
            below[nodes[parent][2], thread] += inclusive
            below[nodes[parent][2], thread, line] += inclusive
    if roots != sum(own.values()):
        found.append(("all", roots, sum(own.values())))
    found += [("self", key) for key in into if into[key] - below[key] != own[key]]
    for key, calls, _, _, _, lines, code in codes:
        if counts[code] != calls:
            found.append((key[2], "calls"))
        found += [
            (key[2], line)
            for line, thread, _, ticks, *_ in line_rows(lines)
            if below[code, thread, line] > ticks
        ]
    return found


def calls_of(profiler: LineProfiler) -> dict[tuple[str, str], int]:
    """Return the calls between functions, without those from outside."""
    sums: Counter[tuple[str, str]] = Counter()
    for edge in edges(profiler.get_stats().calls):
        if edge.caller:
            sums[edge.caller[2], edge.callee[2]] += edge.calls
    return dict(sums)


@pytest.mark.parametrize("depth", range(DEPTH + 1))
def test_times_add_up_after_unwatch_at_any_depth(depth: int) -> None:
    profiler = new_profiler()
    names: dict[str, Any] = {}
    exec(CHAIN, names)
    for i in range(DEPTH + 1):
        profiler.watch(names[f"f{i}"])
    names["stop"] = lambda: profiler.unwatch(names[f"f{depth}"].__code__)
    names["f0"]()
    names["f0"]()
    assert wrong_sums(profiler) == []
    assert calls_of(profiler)["f0", "f1"] == (1 if depth in {0, 1} else 2)


@pytest.mark.parametrize("depth", range(DEPTH + 1))
def test_times_add_up_after_stop_and_start_at_any_depth(depth: int) -> None:
    profiler = new_profiler()
    names: dict[str, Any] = {"stop": lambda: None}
    exec(CHAIN, names)
    deeper = names[f"f{depth}"]

    def cut() -> int:
        profiler.stop()
        profiler.start()
        return int(deeper())

    names[f"f{depth}"] = cut
    for i in range(DEPTH + 1):
        profiler.watch(deeper if i == depth else names[f"f{i}"])
    names["f0"]()
    assert wrong_sums(profiler) == []


@pytest.mark.parametrize("depth", range(4))
def test_times_add_up_after_a_reset_at_any_depth(depth: int) -> None:
    profiler = new_profiler()

    @profiler
    def leaf() -> int:
        return sum(range(50))

    @profiler
    def down(n: int) -> int:
        if n == depth:
            profiler.reset()
        leaf()
        return leaf() + (down(n - 1) if n else 0)

    down(4)
    assert wrong_sums(profiler) == []


def test_times_add_up_in_snapshots_of_a_running_program() -> None:
    profiler = new_profiler()
    done = threading.Event()

    @profiler
    def leaf(i: int) -> int:
        return i

    @profiler
    def steps(n: int) -> Iterator[int]:
        for i in range(n):
            yield leaf(i)

    @profiler
    def down(n: int) -> int:
        return leaf(n) + (down(n - 1) if n else 0)

    @profiler
    def work() -> None:
        while not done.is_set():
            sum(steps(5))
            down(6)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        found = [wrong_sums(profiler) for _ in range(50)]
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    assert [one for one in found if one] == []
    assert wrong_sums(profiler) == []


def test_times_add_up_in_parent_and_child_of_a_fork() -> None:
    profiler = new_profiler()

    @profiler
    def leaf() -> int:
        return 1

    @profiler
    def split() -> int:
        leaf()
        pid = os.fork()
        leaf()
        return pid

    pid = split()
    found = wrong_sums(profiler)
    counts = calls_of(profiler)
    if pid == 0:
        os._exit(bool(found) or list(counts.values()) != [2])
    assert os.waitpid(pid, 0)[1] == 0
    assert found == []
    assert list(counts.values()) == [2]
