"""Differences of two profiles of one run: known answers."""

from __future__ import annotations

import example_gpu
import pytest
from export_shapes import content, shapes
from pprof_file import read

from lineprof.line_stats import LineStats
from lineprof.model.difference import difference
from lineprof.model.profile import Profile
from lineprof.model.records import CallNode, CallTree, FunctionStats, ThreadLine

pytestmark = pytest.mark.once  # fixed profiles

WITH_PROCESSES = [name for name, one in shapes().items() if one.processes]

KEY, CALLEE = ("a.py", 1, "main"), ("a.py", 5, "leaf")


def begun(profile: Profile) -> Profile:
    """Return the same run when it had counted nothing."""
    return Profile.from_functions(
        (), processes=profile.processes, threads=profile.threads
    )


@pytest.mark.parametrize("shape", WITH_PROCESSES)
def test_from_the_beginning_it_is_the_whole(shape: str) -> None:
    whole = shapes()[shape]
    found = difference(begun(whole), whole)
    assert found is not None
    ours, theirs = (read(content(LineStats.of(one), "pprof")) for one in (found, whole))
    without_streams = [
        {name: text for name, text in one.labels.items() if name != "stream"}
        for one in theirs.samples
    ]
    assert [one.labels for one in ours.samples] == without_streams
    assert [one.frames for one in ours.samples] == [
        one.frames for one in theirs.samples
    ]
    for one in theirs.samples:  # a peak is none of a window
        one.values.update(dict.fromkeys({"peak_space"} & one.values.keys(), 0))
    assert [one.values for one in ours.samples] == [
        one.values for one in theirs.samples
    ]


@pytest.mark.parametrize("shape", WITH_PROCESSES)
def test_nothing_is_counted_between_two_equal_profiles(shape: str) -> None:
    whole = shapes()[shape]
    found = difference(whole, whole)
    assert found is not None
    assert read(content(LineStats.of(found), "pprof")).samples == []
    assert not found.calls.nodes
    assert not found.gpu.sums


def counted(mains: int, leaves: int, *, order: tuple[int, int] = (0, 1)) -> Profile:
    """Return a run in which main() was called, and called leaf(), so often.

    An execution of main's line takes 10 ns itself, a call of leaf() 4 ns. `order` is
    that of the threads.
    """
    processes = [
        example_gpu.example().processes[0]._replace(pid=pid, start_unix_ns=1000 + pid)
        for pid in (50, 60)
    ]
    threads = [
        example_gpu.example().threads[0]._replace(native_id=native_id)
        for native_id in (50, 51)
    ]
    one = order.index(0)
    nodes = [
        CallNode(-1, 0, KEY, one, mains, mains, 10 * mains, 99, 99),
        CallNode(0, 2, CALLEE, one, leaves, leaves, 4 * leaves, 4 * leaves, 4 * leaves),
    ]
    time_ns = 10 * mains + 4 * leaves
    return Profile.from_functions(
        [
            FunctionStats(
                "a.py", "main", 1, (ThreadLine(2, one, mains, time_ns),), mains
            ),
            FunctionStats(
                "a.py", "leaf", 5, (ThreadLine(6, one, leaves, 4 * leaves),), leaves
            ),
        ],
        processes=processes,
        threads=[threads[index] for index in order],
        calls=CallTree(tuple(nodes)),
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_lines_and_calls_have_what_came_later(order: tuple[int, int]) -> None:
    found = difference(counted(3, 5), counted(4, 12, order=order))
    assert found is not None
    main, leaf = found.functions
    one = order.index(0)
    assert main.thread_lines == (ThreadLine(2, one, 1, 38),)
    assert (main.calls, leaf.calls) == (1, 7)
    assert leaf.thread_lines == (ThreadLine(6, one, 7, 28),)
    assert [(node.parent, node.calls, node.self_ns) for node in found.calls.nodes] == [
        (-1, 1, 10),
        (0, 7, 28),
    ]


def test_a_caller_that_goes_on_stays_above_what_it_calls() -> None:
    found = difference(counted(3, 5), counted(3, 6))
    assert found is not None
    assert [(node.calls, node.self_ns) for node in found.calls.nodes] == [
        (0, 0),
        (1, 4),
    ]


def test_times_that_are_corrected_do_not_fall() -> None:
    earlier = counted(3, 5)
    later = earlier.with_functions(
        one._replace(
            thread_lines=tuple(
                line._replace(time_ns=line.time_ns - 1) for line in one.thread_lines
            )
        )
        for one in earlier.functions
    )
    found = difference(earlier, later)
    assert found is not None
    assert not any(one.thread_lines for one in found.functions)


@pytest.mark.parametrize("later", [(2, 1), (2, 50), (30, 4)])
def test_fewer_hits_of_a_line_are_those_of_counts_that_were_set_to_zero(
    later: tuple[int, int],
) -> None:
    assert difference(counted(3, 5), counted(*later)) is None


@pytest.mark.parametrize(
    "changed", [{"pid": 51}, {"start_unix_ns": 7}, {"host": "another"}]
)
def test_another_process_is_another_run(changed: dict[str, object]) -> None:
    later = counted(4, 6)
    first, second = later.processes
    other = later.with_processes([first._replace(**changed), second])  # type: ignore[arg-type]
    assert difference(counted(3, 5), other) is None


def test_a_child_that_has_gone_is_no_other_run() -> None:
    earlier = counted(3, 5)
    first, child = earlier.processes
    child = child._replace(parent_pid=first.pid)
    found = difference(
        earlier.with_processes([first, child]),
        counted(4, 6).with_processes([first]),
    )
    assert found is not None


def test_profiles_of_no_process_are_of_no_run() -> None:
    profile = Profile({KEY: [(2, 1, 10)]}, 1e-9)
    assert difference(profile, profile) is None


def test_work_of_a_gpu_has_what_came_later() -> None:
    whole = example_gpu.example()
    half = whole.with_timelines(
        whole.threads,
        whole.traces,
        whole.gpu._replace(
            sums=tuple(
                one._replace(count=one.count // 2, ns=one.ns // 3)
                for one in whole.gpu.sums
            )
        ),
    )
    found = difference(half, whole)
    assert found is not None
    assert [(one.name, one.count, one.ns) for one in found.gpu.sums] == [
        (one.name, one.count - one.count // 2, one.ns - one.ns // 3)
        for one in whole.gpu.sums
    ]
