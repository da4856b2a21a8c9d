"""Edges, totals and self times computed from a call tree."""

from __future__ import annotations

import time

import pytest
from example_calls import (
    FIB,
    FORWARD,
    INIT,
    IS_EVEN,
    IS_ODD,
    LAUNCH,
    LEN,
    MAIN,
    MODULE,
    NEVER,
    REPORT,
    SOLVE,
    STEPS,
    WEIGHTS,
    WORK,
    deep,
    example,
    wide,
)

from lineprof.line_stats import LineStats
from lineprof.model.call_graph import (
    Edge,
    FunctionTotals,
    edge_gpu_ns,
    edges,
    function_totals,
    line_self_ns,
)
from lineprof.model.gpu import (
    KERNEL,
    NO_PATH,
    Gpu,
    GpuKernel,
    GpuPath,
    GpuSum,
    kernels_of_lines,
    numbers_of_lines,
)
from lineprof.model.records import (
    NO_CALLS,
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    ThreadLine,
)


def test_edges_are_the_sums_of_their_nodes_in_order_of_appearance() -> None:
    assert edges(example().calls) == (
        Edge(None, 0, MODULE, 1, 1, 6_292_469, 6_292_469),
        Edge(MODULE, 29, MAIN, 1, 1, 6_242_436, 6_242_436),
        Edge(MAIN, 7, INIT, 1, 1, 800, 800),
        Edge(MAIN, 8, STEPS, 1, 1, 880, 880),
        Edge(MAIN, 9, FORWARD, 3, 3, 4_564_877, 4_564_877),
        Edge(FORWARD, 13, SOLVE, 4, 4, 59_606, 59_606),  # sum of two threads
        Edge(SOLVE, 14, LAUNCH, 4, 4, 36_006, 36_006),
        Edge(SOLVE, 15, IS_EVEN, 4, 4, 14_400, 14_400),
        Edge(IS_EVEN, 6, IS_ODD, 10, 4, 11_600, 19_900),
        Edge(IS_ODD, 10, IS_EVEN, 8, 0, 0, 13_900),
        Edge(FORWARD, 14, FIB, 4, 4, 33_450, 33_450),
        Edge(FIB, 2, FIB, 28, 0, 0, 61_664),
        Edge(FORWARD, 15, WEIGHTS, 4, 4, 6_000_000, 6_000_000),
        Edge(None, 0, WORK, 1, 1, 1_533_879, 1_533_879),
        Edge(WORK, 18, FORWARD, 1, 1, 1_532_779, 1_532_779),
        Edge(MAIN, 13, REPORT, 1, 1, 550, 550),
        Edge(REPORT, 22, LEN, 1, 1, 60, 60),
    )
    assert edges(NO_CALLS) == ()


def test_every_function_has_totals_and_c_functions_are_last() -> None:
    stats = example()
    numbers = function_totals(stats)
    assert list(numbers) == [*(one.key for one in stats.functions), LEN]
    assert numbers[FIB] == FunctionTotals(32, 4, 33_450, 33_450)
    assert numbers[IS_EVEN] == FunctionTotals(12, 4, 8_400, 14_400)
    assert numbers[SOLVE] == FunctionTotals(4, 4, 9_200, 59_606)
    assert numbers[NEVER] == FunctionTotals(0, 0, 0, 0)
    assert numbers[LEN] == FunctionTotals(1, 1, 60, 60)


def test_without_a_tree_all_time_of_a_function_is_self_time() -> None:
    cells = (ThreadLine(2, 0, 3, 40), ThreadLine(3, 0, 3, 2))
    plain = FunctionStats("a.py", "f", 1, cells, calls=3)
    recursive = FunctionStats("a.py", "g", 9, cells, calls=5, recursive_ns=30)
    stats = LineStats.from_functions([plain, recursive])
    assert function_totals(stats) == {
        plain.key: FunctionTotals(3, 3, 42, 42),
        recursive.key: FunctionTotals(5, 5, 30, 30),
    }
    assert line_self_ns(stats) == {
        plain.key: {2: 40, 3: 2},
        recursive.key: {2: 40, 3: 2},
    }
    assert edge_gpu_ns(stats) == {}
    assert function_totals(LineStats({}, 1e-9)) == {}


def test_self_times_of_lines_are_their_times_without_callees() -> None:
    own = line_self_ns(example())
    assert own[MODULE] == {29: 50_033}
    assert own[MAIN] == {
        7: 3000,
        8: 800,
        9: 300,
        10: 40_000,
        11: 90_000,
        12: 1_540_879,
        13: 350,
    }
    assert own[FIB] == {2: 33_450}
    assert own[REPORT] == {22: 490}  # 60 of the 550 ns are of a C function
    assert own[NEVER] == {}


@pytest.mark.parametrize("stats", [example(), deep(3000), wide(200, 2000)])
def test_all_numbers_add_up(stats: LineStats) -> None:
    numbers, own = function_totals(stats), line_self_ns(stats)
    into: dict[object, int] = {}
    for edge in edges(stats.calls):
        into[edge.callee] = into.get(edge.callee, 0) + edge.total_ns
    for function in stats.functions:
        mine = numbers[function.key]
        assert mine.calls == function.calls
        assert mine.total_ns == function.total_ns == into.get(function.key, 0)
        assert mine.self_ns == sum(own[function.key].values())
    roots = [node for node in stats.calls.nodes if node.parent == -1]
    assert sum(one.self_ns for one in numbers.values()) == sum(
        node.total_ns for node in roots
    )


def test_a_line_that_is_shorter_than_its_calls_has_no_self_time() -> None:
    stats = example()
    nodes = tuple(
        node._replace(inclusive_ns=node.inclusive_ns + 100_000)
        for node in stats.calls.nodes
    )
    stats.calls = CallTree(nodes)
    assert line_self_ns(stats)[FORWARD] == {13: 0, 14: 0, 15: 0}


def test_gpu_time_counts_on_the_edges_to_its_launch() -> None:
    stats = example()
    assert edge_gpu_ns(stats) == {
        (None, 0, MODULE): 600_000,
        (MODULE, 29, MAIN): 600_000,
        (MAIN, 9, FORWARD): 600_000,
        (None, 0, WORK): 200_000,
        (WORK, 18, FORWARD): 200_000,
        (FORWARD, 13, SOLVE): 800_000,
        (SOLVE, 14, LAUNCH): 800_000,
    }
    of_lines = numbers_of_lines(stats.gpu)
    for (caller, line, _), ns in edge_gpu_ns(stats).items():
        if caller is not None:
            assert ns == of_lines[caller][line].gpu_ns


def test_kernels_of_a_line_alone_are_those_that_the_line_launched() -> None:
    kernel = GpuKernel("_Z6kernelPfi", 4, 800_000, 150_000, 250_000)
    gpu = example().gpu
    assert kernels_of_lines(gpu, alone=True) == {LAUNCH: {19: (kernel,)}}
    assert kernels_of_lines(gpu)[SOLVE] == {14: (kernel,)}


def test_work_of_a_graph_is_charged_to_its_launch_unless_the_capture_is_asked() -> None:
    """A path and a captured path are indices of the profile's paths."""
    paths = (GpuPath(0, False, ((MAIN, 9),)), GpuPath(0, False, ((SOLVE, 14),)))
    gpu = Gpu(paths=paths, sums=(GpuSum(0, 1, KERNEL, "k", 0, 2, 50, 20, 30),))
    assert set(numbers_of_lines(gpu)) == set(kernels_of_lines(gpu)) == {MAIN}
    assert set(numbers_of_lines(gpu, capture=True)) == {SOLVE}
    assert set(kernels_of_lines(gpu, capture=True)) == {SOLVE}


def test_gpu_time_of_recursion_counts_on_existing_edges() -> None:
    # is_even 15 -> is_odd 6 -> is_even 10 launched; a call path has each line once.
    lines = ((SOLVE, 15), (IS_ODD, 10), (IS_EVEN, 6))
    gpu = Gpu(
        paths=(GpuPath(0, False, lines), GpuPath(0, False, ((FIB, 2),))),
        sums=(
            GpuSum(0, NO_PATH, KERNEL, "k", 0, 1, 70, 70, 70),
            GpuSum(1, NO_PATH, KERNEL, "k", 0, 1, 5, 5, 5),
        ),
    )
    stats = example()
    stats.gpu = gpu
    assert edge_gpu_ns(stats) == {
        (None, 0, SOLVE): 70,
        (SOLVE, 15, IS_EVEN): 70,
        (IS_ODD, 10, IS_EVEN): 70,
        (None, 0, FIB): 5,
    }
    stats.calls = NO_CALLS  # edges are those of the call path
    assert edge_gpu_ns(stats)[SOLVE, 15, IS_ODD] == 70


def test_gpu_time_counts_on_edges_of_c_functions() -> None:
    map_, sort = ("", 0, "builtins.map"), ("", 0, "list.sort")
    paths = (
        (NO_NODE, 0, MAIN),
        (0, 9, LEN),
        (0, 9, map_),
        (2, 0, sort),
        (3, 0, map_),  # map was already open
        (3, 0, LAUNCH),
    )
    nodes = tuple(CallNode(*path, 0, 1, 1, 1, 1, 1) for path in paths)
    lines = ((MAIN, 9), (LAUNCH, 19))
    stats = LineStats.from_functions(
        [],
        calls=CallTree(nodes),
        gpu=Gpu(
            paths=(GpuPath(0, False, lines),),
            sums=(GpuSum(0, NO_PATH, KERNEL, "k", 0, 1, 70, 70, 70),),
        ),
    )
    assert edge_gpu_ns(stats) == {
        (None, 0, MAIN): 70,
        (MAIN, 9, map_): 70,
        (map_, 0, sort): 70,
        (sort, 0, LAUNCH): 70,
    }


@pytest.mark.serial
def test_a_large_profile_is_computed_quickly() -> None:
    stats = wide()
    assert len(stats.functions) == 2000
    assert sum(len(one.thread_lines) for one in stats.functions) == 100_000
    assert len(stats.calls.nodes) > 9000
    began = time.process_time()
    for work in (function_totals, line_self_ns, edge_gpu_ns):
        work(stats)
    assert time.process_time() - began < 2
