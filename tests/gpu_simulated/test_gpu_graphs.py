"""CUDA graphs: charged to the line that replays a graph, or that captured a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from gpu_rig import Ran, Rig, by_line, check_marks, events, lost

from lineprof.model.gpu import NO_PATH, kernels_of_lines, totals
from lineprof.report import VIEWS
from lineprof.report.options import Options
from lineprof.source import Sources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lineprof import LineStats

pytestmark = pytest.mark.usefixtures("hook")

PROGRAM = """
@profile
def capture():
    gpu.fk_graph_capture_begin(0)
    work()
    gpu.fk_launch(b"two", 0, 20)
    gpu.fk_memset(8, 3, 0)
    gpu.fk_memcpy(1, 64, 5, 0, 2, 3)
    return gpu.fk_graph_end(0)

@profile
def work():
    for _ in range(2):
        gpu.fk_launch(b"one", 0, 100)

@profile
def replay(exec_, times):
    for _ in range(times):
        gpu.fk_graph_launch(exec_, 0)

@profile
def train():
    exec_ = gpu.fk_graph_instantiate(capture())
    replay(exec_, 10)
    gpu.fk_graph_launch(exec_, 1)
    gpu.fk_launch(b"alone", 0, 7)

train()
"""


def lines_of(ran: Ran) -> dict[str, int]:
    """Return line numbers of a program by the text of the line."""
    found = {line.strip(): n for n, line in enumerate(ran.text.splitlines(), 1)}
    assert ran.status == 0, ran.err
    return found


def numbers_by_text(ran: Ran, *, capture: bool = False) -> dict[str, str]:
    """Return the GPU numbers of each line as text, by the text of the line."""
    texts = ran.text.splitlines()
    return {
        texts[line - 1].strip(): " ".join(f"{n}={v}" for n, v in numbers.items())
        for line, numbers in by_line(ran.stats().gpu, capture=capture).items()
    }


def test_a_replay_is_charged_to_the_line_that_replays(rig: Rig) -> None:
    ran = rig.kernprof(PROGRAM).ok()
    assert numbers_by_text(ran) == {
        "gpu.fk_graph_launch(exec_, 0)": "gpu=2230 self=2230 kernels=30"
        " memset=30/10 HtoD=50/640/10",
        "replay(exec_, 10)": "gpu=2230 kernels=30 memset=30/10 HtoD=50/640/10",
        "gpu.fk_graph_launch(exec_, 1)": "gpu=223 self=223 kernels=3"
        " memset=3/1 HtoD=5/64/1",
        'gpu.fk_launch(b"alone", 0, 7)': "gpu=7 self=7 kernels=1",
    }
    # Captured calls leave no record, and none is outstanding.
    assert lost(ran.stats().gpu.runs[0]) == (0, 0, 0, 0)


@pytest.mark.smoke
def test_a_replay_can_be_charged_to_the_lines_that_captured(rig: Rig) -> None:
    ran = rig.kernprof(PROGRAM).ok()
    assert numbers_by_text(ran, capture=True) == {
        'gpu.fk_launch(b"one", 0, 100)': "gpu=2200 self=2200 kernels=22",
        "work()": "gpu=2200 kernels=22",
        'gpu.fk_launch(b"two", 0, 20)': "gpu=220 self=220 kernels=11",
        "gpu.fk_memset(8, 3, 0)": "gpu=33 self=33 memset=33/11",
        "gpu.fk_memcpy(1, 64, 5, 0, 2, 3)": "HtoD=55/704/11",
        "exec_ = gpu.fk_graph_instantiate(capture())": "gpu=2453 kernels=33"
        " memset=33/11 HtoD=55/704/11",
        'gpu.fk_launch(b"alone", 0, 7)': "gpu=7 self=7 kernels=1",
    }
    stats = ran.stats()
    assert totals(stats.gpu).gpu_ns == 2460
    assert all(
        (event.origin == NO_PATH) == (event.name == "alone") for event in events(stats)
    )


def test_the_tables(rig: Rig) -> None:
    stats = rig.kernprof(PROGRAM).ok().stats()
    sources = Sources(stats.sources)
    view = VIEWS["text"]

    def row(text: str, **options: object) -> list[str]:
        lines = view.render(stats, sources, Options(unit=1e-9, **options))  # type: ignore[arg-type]
        [found] = [line for line in lines if line.endswith(text)]
        return found.split()

    assert "2230.0" in row("gpu.fk_graph_launch(exec_, 0)")
    assert "2200.0" not in row('gpu.fk_launch(b"one", 0, 100)')
    assert "2230.0" not in row("gpu.fk_graph_launch(exec_, 0)", graph_origin=True)
    assert "2200.0" in row('gpu.fk_launch(b"one", 0, 100)', graph_origin=True)


def test_a_graph_as_a_whole(rig: Rig) -> None:
    ran = rig.kernprof(PROGRAM, "--cuda-graph", "graph").ok()
    assert numbers_by_text(ran) == {
        "gpu.fk_graph_launch(exec_, 0)": "gpu=2280 self=2280",
        "replay(exec_, 10)": "gpu=2280",
        "gpu.fk_graph_launch(exec_, 1)": "gpu=228 self=228",
        'gpu.fk_launch(b"alone", 0, 7)': "gpu=7 self=7 kernels=1",
    }
    assert lost(ran.stats().gpu.runs[0]) == (0, 0, 0, 0)
    by_variable = rig.kernprof(PROGRAM, LINEPROF_CUDA_GRAPH="graph").ok()
    assert numbers_by_text(by_variable) == numbers_by_text(ran)


OTHERS = {
    "captured outside of any line": """
gpu.fk_graph_capture_begin(0)
gpu.fk_launch(b"k", 0, 10)
exec_ = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
@profile
def f():
    gpu.fk_graph_launch(exec_, 0)  #> gpu=10 kernels=1
f()
gpu.fk_graph_launch(exec_, 0)
""",
    "captured by a native thread": """
@profile
def capture():
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch_from_native_thread(b"k", 10, 3)
    return gpu.fk_graph_end(0)
@profile
def f():
    exec_ = gpu.fk_graph_instantiate(capture())
    gpu.fk_graph_launch(exec_, 0)  #> gpu=30 kernels=3
f()
""",
    "replayed by a native thread's line, and once more": """
@profile
def f():
    gpu.fk_graph_capture_begin(3)
    gpu.fk_launch(b"k", 3, 10)
    graph = gpu.fk_graph_end(3)
    for _ in range(2):
        exec_ = gpu.fk_graph_instantiate(graph)
        gpu.fk_graph_launch(exec_, 5)  #> gpu=20 kernels=2
        gpu.fk_graph_destroy(exec_)
    gpu.fk_graph_destroy(graph)
    gpu.fk_graph_launch(exec_, 5)
f()
""",
    "with another stream that is not captured": """
@profile
def f():
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"k", 0, 10)
    gpu.fk_launch(b"k", 1, 5)  #> gpu=5 kernels=1
    gpu.fk_memcpy(2, 8, 3, 0, 3, 1)
    gpu.fk_memcpy_stream(1, 2, 8, 4, 0, 3, 1)  #> DtoH=4/8/1 wait=9/1
    gpu.fk_graph_launch(gpu.fk_graph_instantiate(gpu.fk_graph_end(0)), 0)  \
#> gpu=10 kernels=1 DtoH=3/8/1
f()
""",
    "a graph with many nodes": """
@profile
def f():
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch_many(b"k", 5000, 1)
    exec_ = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
    for _ in range(3):
        gpu.fk_graph_launch(exec_, 0)  #> gpu=15000 kernels=15000
f()
""",
    "an empty graph": """
@profile
def f():
    gpu.fk_graph_capture_begin(0)
    gpu.fk_graph_launch(gpu.fk_graph_instantiate(gpu.fk_graph_end(0)), 0)
    gpu.fk_launch(b"k", 0, 10)  #> gpu=10 kernels=1
f()
""",
}


OUTSIDE = "gpu=10 kernels=1"  # unattributed work


def test_other_graphs(rig: Rig) -> None:
    played = rig.play(OTHERS, FAKE_CUPTI_BUFFER_LIMIT=100000)
    for name, one in played.items():
        stats = one.check(OUTSIDE if name == "captured outside of any line" else "")
        # A launch of an empty graph is outstanding: that it has no records is unknown.
        empty = int(name == "an empty graph")
        assert lost(stats.gpu.runs[0]) == (0, 0, empty, 0), name


def test_work_charged_to_captures(rig: Rig) -> None:
    played = rig.play(OTHERS)
    outside = played["captured outside of any line"]
    check_marks(outside.text, outside.check(OUTSIDE), OUTSIDE, capture=True)
    native = played["captured by a native thread"]
    found = by_line(native.check().gpu, capture=True)
    assert found == {
        4: {"gpu": "30", "self": "30", "adopted": "30", "kernels": "3"},
        8: {"gpu": "30", "adopted": "30", "kernels": "3"},
    }


def test_a_graph_captured_before_the_first_profiler(rig: Rig) -> None:
    program = """
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch(b"k", 0, 10)
    exec_ = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
    from running import new_profiler
    profile = new_profiler()
    @profile
    def f():
        gpu.fk_graph_launch(exec_, 0)  #> gpu=10 kernels=1
    f()
    profile.dump_stats("program.lprof")
    """
    ran = rig.python(program).ok()
    ran.check()
    ran.check(capture=True)


NODES = """
@profile
def f():
    gpu.fk_graph_capture_begin(0)
    gpu.fk_launch_many(b"k", {0}, 10)
    exec_ = gpu.fk_graph_instantiate(gpu.fk_graph_end(0))
    gpu.fk_graph_launch(exec_, 0)  #> gpu={0}0 kernels={0}
f()
"""


@pytest.mark.parametrize("nodes", [300, 50_000])
def test_all_records_of_a_graph_are_waited_for(rig: Rig, nodes: int) -> None:
    """They may come in many buffers, after the first record of the launch."""
    late = {"FAKE_CUPTI_LATE_MS": 20, "FAKE_CUPTI_BUFFER_LIMIT": 4096}
    stats = rig.check(NODES.format(nodes), frozen=False, **late)
    assert lost(stats.gpu.runs[0]) == (0, 0, 0, 0)


def kernel_names(stats: LineStats, **options: bool) -> Mapping[int, list[str]]:
    """Return names of the kernels of each line, the longest time first."""
    return {
        line: [kernel.name for kernel in kernels]
        for lines in kernels_of_lines(stats.gpu, **options).values()
        for line, kernels in lines.items()
    }


def test_kernels_of_the_lines_that_captured_them(rig: Rig) -> None:
    ran = rig.kernprof(PROGRAM).ok()
    lines, stats = lines_of(ran), ran.stats()
    assert kernel_names(stats)[lines["gpu.fk_graph_launch(exec_, 1)"]] == ["one", "two"]
    captured = kernel_names(stats, capture=True)
    assert captured[lines['gpu.fk_launch(b"two", 0, 20)']] == ["two"]
    assert lines["gpu.fk_graph_launch(exec_, 1)"] not in captured


def test_a_flush_during_a_capture_leaves_the_graph_to_the_next(rig: Rig) -> None:
    program = """
        from lineprof import _core

        gpu.fk_graph_capture_begin(1)
        for _ in range(300):
            gpu.fk_launch(b"node", 1, 10)
        graph = gpu.fk_graph_instantiate(gpu.fk_graph_end(1))

        @profile
        def f():
            gpu.fk_graph_launch(graph, 1)

        f()
        gpu.fk_graph_capture_begin(2)
        _core.gpu_flush()
        gpu.fk_graph_end(2)
        """
    late = {"FAKE_CUPTI_LATE_MS": 20, "FAKE_CUPTI_BUFFER_LIMIT": 4096}
    assert totals(rig.kernprof(program, **late).stats().gpu).kernels == 300
