"""Merging of call trees, waits and traces of several profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from example_calls import FORWARD, LEN, MAIN, NODES, WAITS, deep, example

from lineprof.line_stats import LineStats
from lineprof.model.call_graph import Edge, edges, function_totals, line_self_ns
from lineprof.model.records import (
    GIL,
    LOCK,
    NO_NODE,
    UNKNOWN_THREAD,
    CallNode,
    CallTree,
    FunctionStats,
    Process,
    Thread,
    ThreadLine,
    Wait,
)
from lineprof.model.timelines import Batch, Trace
from lineprof.storage import load, save

if TYPE_CHECKING:
    from pathlib import Path

A, B, C = ("a.py", 1, "a"), ("a.py", 5, "b"), ("a.py", 9, "c")


def tree(*nodes: CallNode, folded: int = 0) -> LineStats:
    """Return a profile of these nodes, on an unknown thread."""
    return LineStats.from_functions([], calls=CallTree(nodes, folded))


def node(parent: int, line: int, key: tuple[str, int, str], ns: int) -> CallNode:
    return CallNode(parent, line, key, UNKNOWN_THREAD, 1, 1, ns, ns, ns)


def test_calls_of_two_runs_are_twice_as_many_on_twice_the_threads() -> None:
    total = example() + example()
    assert total.calls.nodes[: len(NODES)] == NODES
    assert total.calls.nodes[len(NODES) :] == tuple(
        one._replace(
            thread=one.thread + 2,
            parent=one.parent if one.parent == NO_NODE else one.parent + len(NODES),
        )
        for one in NODES
    )
    assert edges(total.calls) == tuple(
        Edge(
            *(edge.caller, edge.line, edge.callee),
            *(2 * edge.calls, 2 * edge.primitive_calls),
            *(2 * edge.total_ns, 2 * edge.inclusive_ns),
        )
        for edge in edges(example().calls)
    )
    for key, numbers in function_totals(total).items():
        assert numbers.total_ns == 2 * function_totals(example())[key].total_ns
    assert line_self_ns(total)[MAIN][12] == 2 * 1_540_879


def test_the_same_call_path_on_the_same_thread_is_one_node() -> None:
    one = tree(node(NO_NODE, 0, A, 1), node(0, 2, B, 2), node(1, 6, C, 4), folded=3)
    other = tree(
        *(node(NO_NODE, 0, B, 8), node(NO_NODE, 0, A, 16), node(1, 3, B, 32)),
        *(node(1, 2, B, 64), node(3, 6, C, 128)),
        folded=4,
    )

    def both(parent: int, line: int, key: tuple[str, int, str], ns: int) -> CallNode:
        return CallNode(parent, line, key, UNKNOWN_THREAD, 2, 2, ns, ns, ns)

    assert (one + other).calls == CallTree(
        (
            both(NO_NODE, 0, A, 17),
            both(0, 2, B, 66),
            both(1, 6, C, 132),
            node(NO_NODE, 0, B, 8),
            node(0, 3, B, 32),
        ),
        folded=7,
    )
    assert (one + LineStats({}, 1e-9)).calls is one.calls


def test_each_time_of_a_merged_node_is_the_sum_of_the_same_times() -> None:
    """In a node of a recursive call, total time and inclusive time differ."""
    one = CallNode(NO_NODE, 0, A, UNKNOWN_THREAD, 2, 1, 10, 20, 40)
    other = CallNode(NO_NODE, 0, A, UNKNOWN_THREAD, 6, 5, 100, 200, 400)
    total = tree(one) + tree(other)
    merged = CallNode(NO_NODE, 0, A, UNKNOWN_THREAD, 8, 6, 110, 220, 440)
    assert total.calls.nodes == (merged,)


def test_an_unknown_thread_stays_unknown() -> None:
    unknown = tree(node(NO_NODE, 0, A, 1))
    assert [one.thread for one in (example() + unknown).calls.nodes][-1] == -1


def test_parents_are_before_their_children_in_a_deep_tree(tmp_path: Path) -> None:
    chain = deep(50_000)
    total = LineStats.from_stats_objects(chain, example(), chain)
    assert len(total.calls.nodes) == 100_000 + len(NODES)
    assert all(one.parent < place for place, one in enumerate(total.calls.nodes))
    assert total.calls.nodes[-1].parent == len(total.calls.nodes) - 2
    assert total.calls.nodes[-1].thread == 3
    chain = deep(10_000)  # test_calls_store has one of 50,000 in a file
    total = LineStats.from_stats_objects(chain, example(), chain)
    save(total, tmp_path / "a.lprof")
    assert load(tmp_path / "a.lprof").calls == total.calls


def test_a_profile_without_a_tree_among_others_gives_a_warning() -> None:
    old = LineStats({("a.py", 1, "f"): [(2, 1, 10)]}, 1e-9)
    warning = "1 of the 2 merged profiles has no call tree:"
    assert any(one.startswith(warning) for one in (example() + old).warnings)
    both = LineStats.from_stats_objects(old, example(), old)
    assert any(one.startswith("2 of the 3 merged") for one in both.warnings)
    assert (old + old).warnings == ()
    assert (example() + example()).warnings == ()
    never = LineStats.from_functions([FunctionStats("a.py", "f", 1, ())])
    assert (example() + never).warnings == ()
    assert (example() + never).calls == example().calls


def test_waits_are_added_up_by_line_and_cause() -> None:
    total = example() + example()
    assert total.waits[: len(WAITS)] == WAITS
    assert total.waits[len(WAITS) :] == tuple(
        wait._replace(thread=wait.thread + 2) for wait in WAITS
    )
    waits = [Wait(MAIN, 12, -1, LOCK, 5), Wait(MAIN, 12, -1, GIL, 6)]
    one = LineStats.from_functions([], waits=waits)
    assert (one + one).waits == (
        Wait(MAIN, 12, -1, LOCK, 10),
        Wait(MAIN, 12, -1, GIL, 12),
    )


def test_traces_refer_to_their_process_and_threads() -> None:
    batch = Batch(1, (("start", b"x"),))
    trace = Trace(0, 1, 0, 100, (FORWARD,), (1, UNKNOWN_THREAD, 0), (batch,))
    stats = example()
    stats.traces = (trace,)
    assert (stats + stats).traces == (
        trace,
        replace(trace, process=1, threads=(3, UNKNOWN_THREAD, 2)),
    )


def test_every_thread_of_64_ranks_has_its_own_nodes() -> None:
    ranks = [example() for _ in range(64)]
    total = LineStats.from_stats_objects(*ranks)
    assert len(total.calls.nodes) == 64 * len(NODES)
    assert {one.thread for one in total.calls.nodes} == set(range(128))
    assert function_totals(total)[LEN].calls == 64


def test_adding_in_place_keeps_calls() -> None:
    stats = example()
    stats += example()
    assert stats.calls == (example() + example()).calls
    assert stats.waits == (example() + example()).waits


@pytest.mark.parametrize("n_cells", [0, 1, 2])
def test_merged_lines_of_different_threads_are_separate(n_cells: int) -> None:
    cells = tuple(
        ThreadLine(2, thread, 1, 10, 1, 12, 3, 10) for thread in (UNKNOWN_THREAD, 0)
    )[:n_cells]
    process = Process(1, "", None, (), "", "", 0, 0, "", "", "", 0, "", "")
    stats = LineStats.from_functions(
        [FunctionStats("a.py", "f", 1, cells)],
        processes=[process],
        threads=[Thread(0, 1, "main")],
    )
    (function,) = (stats + stats).functions
    unknown = ThreadLine(2, UNKNOWN_THREAD, 2, 20, 2, 24, 3, 10)
    others = [cell._replace(thread=place) for place in (0, 1) for cell in cells[1:]]
    assert function.thread_lines == ((unknown, *others) if cells else ())
