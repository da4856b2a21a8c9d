"""Stacks of a profile: each nanosecond is counted once, at its line."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest
from example_calls import (
    FIB,
    FORWARD,
    LEN,
    MAIN,
    MODULE,
    SOLVE,
    WORK,
    deep,
    example,
    function,
)
from export_shapes import random_profile, shapes

from lineprof.export.stacks import (
    CUT,
    call_path_shares,
    cut,
    gpu_stacks,
    max_frames,
    remarks,
    thread_name,
)
from lineprof.line_stats import LineStats
from lineprof.model.call_graph import edges, function_totals, line_self_ns
from lineprof.model.names import names_of_profile
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    ThreadLine,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.export.stacks import Frame

pytestmark = pytest.mark.once  # files of fixed profiles

SHAPES = list(shapes())


class Stack(NamedTuple):
    """Numbers of one leaf line, or of GPU work, at the end of one call path.

    A call is a stack of its own, whose leaf is at the function's first line.
    """

    frames: tuple[Frame, ...]
    thread: int
    ns: int = 0
    hits: int = 0
    calls: int = 0
    gpu_ns: int = 0


def stacks(stats: LineStats) -> Iterator[Stack]:
    """Yield each stack with numbers."""
    for path in call_path_shares(stats):
        key, thread = path.function, path.thread
        if path.calls:
            frames = (*path.callers, (key, key[1]))
            yield Stack(frames, thread, calls=path.calls)
        for one in path.lines:
            frames = (*path.callers, (key, one.line))
            yield Stack(frames, thread, ns=one.ns, hits=one.hits)
    for stack in gpu_stacks(stats):
        yield Stack(stack.frames, stack.thread, gpu_ns=stack.gpu_ns)


@pytest.mark.parametrize("shape", SHAPES)
def test_stacks_of_a_line_have_its_self_time_and_its_hits(shape: str) -> None:
    stats = shapes()[shape]
    times, hits = Counter[object](), Counter[object]()
    for stack in stacks(stats):
        assert min(stack.ns, stack.hits, stack.calls, stack.gpu_ns) >= 0
        key, line = stack.frames[-1]
        times[key, line] += stack.ns
        hits[key, line] += stack.hits
    own = line_self_ns(stats)
    known = {
        (key, line): ns for key, lines in own.items() for line, ns in lines.items()
    }
    of_c = sum(n.self_ns for n in stats.calls.nodes if not n.function[0])
    assert sum(times.values()) == sum(known.values()) + of_c
    assert {place: times[place] for place in known} == known
    for one in stats.functions:
        for row in one.rows:
            assert hits[one.key, row.line] == row.hits


@pytest.mark.parametrize("seed", range(20))
def test_stacks_of_a_call_have_its_self_time(seed: int) -> None:
    stats = random_profile(seed)
    for path in call_path_shares(stats):
        assert (
            sum(ns for _, ns, _ in path.lines) == stats.calls.nodes[path.node].self_ns
        )
        assert all(ns >= 0 and hits >= 0 for _, ns, hits in path.lines)


@pytest.mark.parametrize("seed", range(5))
def test_stacks_below_a_call_sum_to_the_edge(seed: int) -> None:
    stats = random_profile(seed)
    below = Counter[object]()
    for stack in stacks(stats):
        path = [(None, 0), *stack.frames]
        for (caller, line), (callee, _) in itertools.pairwise(path):
            below[caller, line, callee] += stack.ns
    assert below == {
        (edge.caller, edge.line, edge.callee): edge.inclusive_ns
        for edge in edges(stats.calls)
    }


def test_calls_are_those_of_the_functions() -> None:
    stats = example()
    calls = Counter[object]()
    for stack in stacks(stats):
        calls[stack.frames[-1][0]] += stack.calls
    assert +calls == +Counter(
        {key: n.calls for key, n in function_totals(stats).items()}
    )


def test_frames_have_the_calling_line() -> None:
    ways_to_fib = {
        stack.frames for stack in stacks(example()) if stack.frames[-1] == (FIB, 2)
    }
    called = ((FORWARD, 14), (FIB, 2))
    assert ways_to_fib == {
        ((MODULE, 29), (MAIN, 9), *called),
        ((MODULE, 29), (MAIN, 9), *called, (FIB, 2)),
        ((WORK, 18), *called),
        ((WORK, 18), *called, (FIB, 2)),
    }


def test_each_thread_has_its_own_lines() -> None:
    times = Counter[int]()
    for stack in stacks(example()):
        times[stack.thread] += stack.ns
    assert times == {0: 6_292_469, 1: 1_533_879, -1: 0}
    assert thread_name(example(), 1) == "worker 1 (4712)"
    assert not thread_name(example(), -1)


def test_a_c_function_has_its_time_at_no_line() -> None:
    (found,) = (s for s in stacks(example()) if s.frames[-1] == (LEN, 0) and s.ns)
    assert found.ns == 60
    assert found.frames[-2][0][2] == "report"


def test_gpu_work_is_below_the_line_that_launched_it() -> None:
    found = list(gpu_stacks(example()))
    assert sum(stack.gpu_ns for stack in found) == 850_000
    assert sum(stack.copy_ns for stack in found) == 90_000
    first = found[0]
    assert [key for key, _ in first.frames][:3] == [MODULE, MAIN, FORWARD]
    assert first.frames[-1][1] == 19
    assert {stack.work for stack in found} == {
        "kernel(float*, int)",
        "[CUDA memcpy HtoD]",
    }


def test_deep_stacks_are_cut_in_the_middle_with_a_remark() -> None:
    stats = deep(1000)
    last = list(stacks(stats))[-1].frames
    assert len(last) == 256
    assert last.count(CUT) == 1
    assert [key[2] for key, _ in (last[0], last[63], last[65], last[-1])] == [
        *("f0", "f63", "f809", "f999"),
    ]
    assert remarks_of(stats) == ["stacks of more than 256 frames are cut in the middle"]
    assert not remarks_of(deep(256))


def test_very_deep_programs_have_short_stacks() -> None:
    assert max_frames(deep(50_000).calls) == 64
    assert max_frames(deep(20_000).calls) == 128


@pytest.mark.parametrize("depth", [0, 1, 62, 63, 64, 65, 500])
def test_a_cut_stack_has_the_max_number_of_frames(depth: int) -> None:
    callers = [(("a.py", i, "f"), i) for i in range(depth)]
    left = cut(callers, 64)
    assert len(left) == min(depth, 63)
    assert left[:1] + left[-1:] == tuple(callers[:1] + callers[-1:])


def remarks_of(stats: LineStats) -> list[str]:
    return list(remarks(stats))


def test_time_without_a_call_is_a_root() -> None:
    """The example is the sum of a profile without a tree and one with a tree."""
    key = ("a.py", 1, "f")
    node = CallNode(NO_NODE, 0, key, -1, 1, 1, 5_000_000, 5_000_000, 5_000_000)
    whole = FunctionStats("a.py", "f", 1, (ThreadLine(2, -1, 4, 9_000_000),), 2)
    stats = LineStats.from_functions([whole], calls=CallTree((node,)))
    assert [(path.node, path.lines) for path in call_path_shares(stats)] == [
        (0, [(2, 5_000_000, 4)]),
        (NO_NODE, [(2, 4_000_000, 0)]),
    ]


def test_threads_sum_to_no_more_than_the_line() -> None:
    """Rounding can make a line shorter on a thread than its calls."""
    outer, inner = ("a.py", 1, "outer"), ("a.py", 5, "inner")
    nodes = (
        CallNode(NO_NODE, 0, outer, 0, 1, 1, 0, 103, 103),
        CallNode(0, 2, inner, 0, 1, 1, 103, 103, 103),
        CallNode(NO_NODE, 0, outer, 1, 1, 1, 50, 150, 150),
        CallNode(2, 2, inner, 1, 1, 1, 100, 100, 100),
    )
    functions = [
        function(outer, ThreadLine(2, 0, 1, 100), ThreadLine(2, 1, 1, 150), calls=2),
        function(inner, ThreadLine(6, 0, 1, 103), ThreadLine(6, 1, 1, 100), calls=2),
    ]
    stats = LineStats.from_functions(
        functions,
        threads=example().threads,
        calls=CallTree(nodes),
    )
    assert line_self_ns(stats)[outer] == {2: 47}
    mine = [
        (path.thread, path.lines)
        for path in call_path_shares(stats)
        if path.function == outer
    ]
    assert mine == [(0, [(2, 0, 1)]), (1, [(2, 47, 1)])]


def test_profiler_cost_subtracted_only_from_calls_is_distributed() -> None:
    """The cost is subtracted from lines and calls separately; tiny functions differ."""
    key = ("a.py", 1, "f")
    nodes = (
        CallNode(NO_NODE, 0, key, -1, 30, 30, 2_000_000, 2_000_000, 2_000_000),
        CallNode(NO_NODE, 0, key, -1, 10, 10, 0, 0, 0),
    )
    cells = (ThreadLine(2, -1, 40, 3_000_001), ThreadLine(3, -1, 40, 0))
    whole = FunctionStats("a.py", "f", 1, cells, 40)
    stats = LineStats.from_functions([whole], calls=CallTree(nodes))
    assert [path.lines for path in call_path_shares(stats)] == [
        [(2, 3_000_001, 30), (3, 0, 30)],
        [(2, 0, 10), (3, 0, 10)],
    ]


def test_names_of_functions_and_files_are_unique() -> None:
    keys = [
        *(("/p/a/model.py", 3, "fit"), ("/p/b/model.py", 3, "fit")),
        *(("/p/b/model.py", 9, "f\n\x1b"), ("<string>", 1, "g"), (SOLVE[0], 2, "h")),
    ]
    stats = LineStats.from_functions(
        [FunctionStats(file, name, line, ()) for file, line, name in keys]
    )
    names = names_of_profile(stats)
    assert [names.full_label(key) for key in keys] == [
        *("fit (a/model.py:3)", "fit (b/model.py:3)", "f\\n\\x1b (b/model.py:9)"),
        *("g (<string>:1)", "h (solve.py:2)"),
    ]
    assert [names.label(key) for key in keys][1:3] == [
        *("fit (b/model.py:3)", "f\\n\\x1b"),
    ]
