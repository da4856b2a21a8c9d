"""Time of lines in MPI and NCCL, whose calls look busy while they wait."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import pytest
from as_python import write
from running import hook_name
from view_text import lines_of
from whole_program import names, profiled, summary

from lineprof.line_stats import LineStats
from lineprof.model.collectives import is_collective, is_torch
from lineprof.model.communication import line_mpi_ns
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    ThreadLine,
)

if TYPE_CHECKING:
    from pathlib import Path

    from lineprof.model.records import Key

C10D = "/env/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py"
MAIN, STEP = ("/p/a.py", 1, "main"), ("/p/a.py", 5, "step")
BARRIER = ("", 0, "mpi4py.MPI.Comm.Barrier")
REDUCE, SYNC = (C10D, 900, "all_reduce"), (C10D, 950, "_sync")
SORTED = ("", 0, "builtins.sorted")


def node(parent: int, line: int, function: Key, own: int, all_ns: int) -> CallNode:
    return CallNode(parent, line, function, 0, 1, 1, own, all_ns, all_ns)


def stats(*nodes: CallNode, lines: dict[Key, dict[int, int]]) -> LineStats:
    """Return a profile with these calls and times of lines."""
    functions = [
        FunctionStats(
            *(key[0], key[2], key[1]),
            thread_lines=tuple(
                ThreadLine(n, 0, 1, ns, 0, ns, ns, ns) for n, ns in times.items()
            ),
            calls=1,
        )
        for key, times in lines.items()
    ]
    return LineStats.from_functions(functions, calls=CallTree(nodes))


def example() -> LineStats:
    """Return a profile: main takes 1000 us, 700 in collectives, 600 of them in step."""
    return stats(
        node(NO_NODE, 0, MAIN, 100_000, 1_000_000),
        node(0, 2, STEP, 200_000, 800_000),
        node(1, 6, BARRIER, 400_000, 400_000),
        node(1, 7, REDUCE, 50_000, 200_000),
        node(3, 901, SYNC, 100_000, 150_000),
        node(4, 951, BARRIER, 50_000, 50_000),  # a part of SYNC
        node(0, 3, SORTED, 0, 100_000),
        node(6, 0, BARRIER, 100_000, 100_000),
        lines={
            MAIN: {2: 850_000, 3: 150_000},
            STEP: {6: 500_000, 7: 300_000},
            REDUCE: {901: 200_000},
        },
    )


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (BARRIER, True),
        (("", 0, "mpi4py.MPI.Request.Waitall"), True),
        (("", 0, "cupy_backends.cuda.libs.nccl.NcclCommunicator.allReduce"), True),
        (("", 0, "mpi4py_tools.run"), False),
        (("/p/mpi4py.MPI.py", 1, "mpi4py.MPI.run"), False),
        (REDUCE, True),
        (("torch/distributed/distributed_c10d.py", 3, "send"), True),
        ((C10D, 1, "<module>"), False),
        (("/p/mytorch/distributed/distributed_c10d.py", 3, "send"), False),
        (("/p/torch/distributed/rpc.py", 3, "send"), False),
    ],
)
def test_collectives_are_known_by_file_and_name(key: Key, *, expected: bool) -> None:
    assert is_collective(key) is expected


def test_a_collective_counts_once_on_each_line_of_its_call_path() -> None:
    assert line_mpi_ns(example()) == {
        MAIN: {2: 600_000, 3: 100_000},
        STEP: {6: 400_000, 7: 200_000},
    }
    assert line_mpi_ns(stats(lines={MAIN: {2: 5}})) == {}


@pytest.mark.serial
def test_deep_calls_are_summed_without_recursion() -> None:
    depth = 20_000
    functions = [("/p/a.py", n + 1, f"f{n}") for n in range(depth)]
    nodes = [node(n - 1, 1, key, 1, 1) for n, key in enumerate(functions)]
    made = stats(*nodes, node(depth - 1, 7, BARRIER, 3, 3), lines={})
    started = time.process_time()
    found = line_mpi_ns(made)
    assert time.process_time() - started < 5
    assert found[functions[0]] == {1: 3}
    assert found[functions[-1]] == {7: 3}


def test_the_table_has_a_column_and_a_line_below_a_function() -> None:
    lines = lines_of(example(), "text", unit=1e-6, columns=("mpi",))
    assert [line.split()[-3] for line in lines if line.startswith("Line #")] == [
        "MPI"
    ] * 3
    rows = {line.split()[0]: line.split()[5:] for line in lines if line[:6].strip()}
    assert [rows[n] for n in ("2", "3", "6", "7", "901")] == [
        ["600.0"],
        ["100.0"],
        ["400.0"],
        ["200.0"],
        [],
    ]
    assert [line for line in lines if line.startswith("MPI")] == [
        "MPI: 70.0 % of these times: 700.0 us in its calls",
        "MPI: 75.0 % of these times: 600.0 us in its calls",
    ]


def test_a_profile_without_collectives_has_a_note_on_the_empty_column() -> None:
    without = stats(lines={MAIN: {2: 5}})
    note = "The profile has no calls of MPI or torch.distributed"
    assert lines_of(without, "text", columns=("mpi",))[-1].startswith(note)
    assert not any("MPI" in line for line in lines_of(without, "text"))


def test_json_has_the_time_of_lines_in_collectives() -> None:
    made = json.loads("".join(lines_of(example(), "json")))
    assert {
        line["line"]: line["mpi_ns"]
        for function in made["functions"]
        for line in function["lines"]
        if "mpi_ns" in line
    } == {2: 600_000, 3: 100_000, 6: 400_000, 7: 200_000}


def test_collectives_of_torch_are_found_in_a_whole_program(tmp_path: Path) -> None:
    folder = "env/site-packages/torch"
    for part in ("__init__", "distributed/__init__", "other"):
        write(tmp_path, f"{folder}/{part}.py", "def quick():\n    pass\n")
    text = """
        class Backend:
            @classmethod
            def register_backend(cls):
                return sum(range(1000))

        Backend.register_backend()

        def _check(n):
            return n

        def all_reduce(n):
            return sum(range(_check(n)))

        _check(0)
        """
    write(tmp_path, f"{folder}/distributed/distributed_c10d.py", text)
    write(
        tmp_path,
        "work/x.py",
        """
        import torch
        from torch.distributed import distributed_c10d as dist

        def main():
            torch.quick()
            return dist.all_reduce(100_000)
        main()
        """,
    )
    env = {"PYTHONPATH": f"{tmp_path}/env/site-packages:{':'.join(sys.path)}"}
    _, made = profiled("x.py", cwd=tmp_path / "work", err=summary(3, 2), env=env)
    assert names(made) == [
        "distributed_c10d.py:all_reduce",
        "x.py:<module>",
        "x.py:main",
    ]
    (time_ns,) = line_mpi_ns(made)[
        next(f.key for f in made.functions if f.name == "main")
    ].values()
    reduce = next(f for f in made.functions if is_torch(f.file))
    assert time_ns == reduce.total_ns > 0


@pytest.mark.skipif(
    sys.version_info < (3, 12) or hook_name() == "settrace",
    reason="Python has no events for such C functions",
)
def test_c_functions_with_a_metaclass_have_their_names(tmp_path: Path) -> None:
    """Functions made by Cython and ctypes are objects of a class with a metaclass."""
    write(
        tmp_path,
        "mpi4py/MPI.py",
        """
        import ctypes

        wait = ctypes.CDLL(None).usleep
        wait.__module__, wait.__qualname__ = "mpi4py.MPI", "Comm.Barrier"
        """,
    )
    write(
        tmp_path,
        "x.py",
        """
        from mpi4py import MPI

        def main():
            MPI.wait(20_000)
        main()
        """,
    )
    flags = ("--builtins", "--exclude", "mpi4py/*", "x.py")
    _, made = profiled(*flags, cwd=tmp_path)
    main = next(one for one in made.functions if one.name == "main")
    ((line, ns),) = line_mpi_ns(made)[main.key].items()
    (row,) = (row for row in main.rows if row.line == line)
    assert 15_000_000 < ns <= row.time_ns
