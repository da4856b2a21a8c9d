"""The parts of a run: each moment counts once, whatever it was spent with."""

from __future__ import annotations

import pytest
from example_stats import PROCESS

from lineprof.line_stats import LineStats
from lineprof.model.gpu import NO_DEVICE, NO_PATH, Gpu, GpuSum
from lineprof.model.records import (
    IO,
    NO_NODE,
    RUNNABLE,
    SLEEP,
    CallNode,
    CallTree,
    FunctionStats,
    Key,
    Thread,
    ThreadLine,
    Wait,
)
from lineprof.model.run_parts import RunParts, run_ns, run_parts

MS = 1_000_000  # ns

TEXT = {
    1: "import shop",
    2: "shop.sell()",
    3: "time.sleep(1)",
    4: "    from x import y",
}
MAIN: Key = ("/p/main.py", 1, "<module>")
SHOP: Key = ("/p/shop.py", 1, "<module>")
SELL: Key = ("/p/shop.py", 5, "sell")


def node(parent: int, line: int, key: Key, self_ms: int, all_ms: int) -> CallNode:
    return CallNode(
        parent=parent,
        line=line,
        function=key,
        thread=0,
        calls=1,
        primitive_calls=1,
        self_ns=self_ms * MS,
        total_ns=all_ms * MS,
        inclusive_ns=all_ms * MS,
    )


def function(key: Key, **ms: int) -> FunctionStats:
    """Return a function; `ms` are the times of its lines, such as ``l2=10``."""
    cells = tuple(
        ThreadLine(line=int(name[1:]), thread=0, hits=1, time_ns=time * MS)
        for name, time in ms.items()
    )
    return FunctionStats(
        file=key[0], name=key[2], line=key[1], thread_lines=cells, calls=1
    )


def wait(key: Key, line: int, cause: str, ms: int) -> Wait:
    return Wait(function=key, line=line, thread=0, cause=cause, ns=ms * MS)


def run_of(
    functions: list[FunctionStats],
    nodes: tuple[CallNode, ...],
    waits: list[Wait],
    *,
    wall_ms: int,
    measuring_ms: int,
) -> LineStats:
    """Return the profile of one process with one thread."""
    return LineStats.from_functions(
        functions,
        processes=[
            PROCESS._replace(
                wall_ns=wall_ms * MS, overhead_ns=measuring_ms * MS, rank=None
            )
        ],
        threads=[Thread(process=0, native_id=1, name="MainThread")],
        calls=CallTree(nodes),
        waits=waits,
    )


def program(wall_ms: int = 100) -> LineStats:
    """Return a run: 90 ms in lines, of which 25 ms in an import, 30 ms asleep."""
    return run_of(
        [
            function(MAIN, l1=25, l2=35, l3=30),
            function(SHOP, l1=20),
            function(SELL, l6=35),
        ],
        (
            node(NO_NODE, 0, MAIN, 35, 90),
            node(0, 1, SHOP, 20, 20),
            node(0, 2, SELL, 35, 35),
        ),
        [
            wait(MAIN, 1, IO, 4),
            wait(MAIN, 2, RUNNABLE, 6),
            wait(SELL, 6, RUNNABLE, 6),
            wait(MAIN, 3, SLEEP, 29),
        ],
        wall_ms=wall_ms,
        measuring_ms=8,
    )


def text_of(file: str, line: int) -> str | None:
    return TEXT.get(line) if file == MAIN[0] else None


def test_each_moment_of_a_run_is_in_one_part() -> None:
    parts = run_parts(program(), text_of)
    assert parts == RunParts(
        lines_ns=(90 - 25 - 6 - 29) * MS,
        imports_ns=25 * MS,  # with its waits
        waits_ns=29 * MS,
        ready_ns=6 * MS,
        gpu_ns=0,
        rest_ns=2 * MS,
        measuring_ns=8 * MS,
    )
    assert parts.run_ns == run_ns(program()) == 92 * MS


def test_threads_that_measured_more_than_the_wall_time_are_the_run() -> None:
    parts = run_parts(program(wall_ms=50), text_of)
    assert (parts.run_ns, parts.rest_ns) == (90 * MS, 0)


def test_without_source_nothing_is_an_import() -> None:
    parts = run_parts(program(), lambda _file, _line: None)
    assert (parts.imports_ns, parts.waits_ns) == (0, 33 * MS)


@pytest.mark.parametrize("text", ["exec(code)", "runpy.run_path('shop.py')"])
def test_code_that_is_run_by_a_call_is_no_import(text: str) -> None:
    parts = run_parts(program(), lambda _file, _line: text)
    assert parts.imports_ns == 0


def test_a_lazy_import_has_its_waits() -> None:
    texts = {MAIN[0]: "load()", SHOP[0]: "", "/p/load.py": "    import shop"}
    load: Key = ("/p/load.py", 1, "load")
    stats = run_of(
        [function(MAIN, l2=90), function(load, l6=60), function(SHOP, l1=50)],
        (
            node(NO_NODE, 0, MAIN, 30, 90),
            node(0, 2, load, 10, 60),
            node(1, 6, SHOP, 50, 50),
        ),
        [
            wait(MAIN, 2, SLEEP, 45),
            wait(load, 6, SLEEP, 40),
            wait(SHOP, 1, SLEEP, 40),
        ],
        wall_ms=90,
        measuring_ms=0,
    )
    parts = run_parts(stats, lambda file, _: texts[file])
    assert (parts.imports_ns, parts.waits_ns) == (60 * MS, 5 * MS)
    assert parts.lines_ns == 25 * MS


@pytest.mark.parametrize("gpu_ms", [10, 500])
def test_waits_for_a_gpu_are_no_other_waits_and_no_more_than_the_run(
    gpu_ms: int,
) -> None:
    stats = program()
    stats.gpu = Gpu(
        sums=(
            GpuSum(
                path=NO_PATH,
                origin=NO_PATH,
                kind="wait",
                name="cuCtxSynchronize",
                device=NO_DEVICE,
                count=1,
                ns=gpu_ms * MS,
                bytes=0,
                min_ns=0,
                max_ns=0,
            ),
        )
    )
    parts = run_parts(stats, text_of)
    assert parts.run_ns == 92 * MS
    assert parts.gpu_ns == min(gpu_ms, 92 - 2 - 25) * MS
    assert min(parts) >= 0


def test_a_profile_of_line_profiler_is_all_lines() -> None:
    stats = LineStats({MAIN: [(2, 1, 5), (3, 1, 7)]}, 1e-3)
    assert run_parts(stats, text_of) == RunParts(
        lines_ns=12 * MS, imports_ns=0, waits_ns=0, ready_ns=0, gpu_ns=0, rest_ns=0
    )
