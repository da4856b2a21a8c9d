"""Callgrind files: the numbers of each line and each call."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Any

import example_gpu
import pytest
from example_calls import FIB, FORWARD, MAIN, PROCESS, SOLVE, WORK, example, wide
from export_shapes import content, remarks, shapes

from lineprof.line_stats import LineStats
from lineprof.model.call_graph import edge_gpu_ns, edges, function_totals, line_self_ns
from lineprof.model.records import (
    LOCK,
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    Thread,
    ThreadLine,
    Wait,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.once  # files of fixed profiles

OUTSIDE = "[outside of profiled functions]"


class Parsed:
    """Callgrind file, parsed as the format is specified."""

    def __init__(self, text: str) -> None:
        self.keys: dict[str, str] = {}
        self.events: list[str] = []
        self.lines: dict[tuple[str, str, int], Counter[str]] = {}
        self.calls: dict[tuple[str, str, int, str, str], list[Any]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._at = {"fl": "", "fn": "", "cfi": "", "cfn": ""}
        self._called: tuple[int, int] | None = None
        for line in text.splitlines():
            self._read(line)

    def _read(self, line: str) -> None:
        if not line or line.startswith("#"):
            return
        if found := re.fullmatch(r"(fl|fn|cfi|cfn)=\((\d+)\)(?: (.*))?", line):
            what, number, name = found.groups()
            kind = "file" if what in {"fl", "cfi"} else "function"
            if name is not None:
                assert (kind, number) not in self._names, "a name given twice"
                self._names[kind, number] = name
            self._at[what] = self._names[kind, number]
        elif found := re.fullmatch(r"calls=(\d+) (\d+)", line):
            self._called = (int(found[1]), int(found[2]))
        elif re.fullmatch(r"\d+( \d+)+", line):
            number_, *costs = map(int, line.split())
            self._cost(number_, dict(zip(self.events, costs)))
        else:
            key, value = line.split(": ", 1)
            assert key not in self.keys or key == "event"
            self.keys[key] = value
            if key == "events":
                self.events = value.split()

    def _cost(self, line: int, costs: dict[str, int]) -> None:
        place = (self._at["fl"], self._at["fn"], line)
        if self._called is None:
            assert place not in self.lines
            self.lines[place] = Counter(costs)
        else:
            edge = (*place, self._at["cfi"], self._at["cfn"])
            assert edge not in self.calls
            self.calls[edge] = [*self._called, costs]
            self._called = None

    def of(self, event: str) -> dict[tuple[str, str, int], int]:
        """Return the cost of an event of each line that has a cost."""
        return {at: costs[event] for at, costs in self.lines.items() if costs[event]}


def parsed(stats: LineStats) -> Parsed:
    return Parsed(content(stats, "callgrind").decode())


def shown(key: tuple[str, int, str]) -> tuple[str, str]:
    file, _, name = key
    return file or "???", name.replace("\udcff", "\\udcff")


def test_lines_have_their_self_time_and_their_hits() -> None:
    stats, file = example(), parsed(example())
    own = {
        (*shown(key), line): ns
        for key, lines in line_self_ns(stats).items()
        for line, ns in lines.items()
    }
    assert file.of("ns") == {**own, ("???", "builtins.len", 0): 60}
    assert file.of("Hits") == {
        (*shown(function.key), row.line): row.hits
        for function in stats.functions
        for row in function.rows
    }
    assert file.events == ["ns", "CPU_ns", "Wait_ns", "GPU_ns", "Hits"]
    assert file.keys["positions"] == "line"


def test_calls_have_the_time_of_the_edge_and_its_gpu_time() -> None:
    stats, file = example(), parsed(example())
    gpu = edge_gpu_ns(stats)
    found = {at: (calls, start) for at, (calls, start, _) in file.calls.items()}
    costs = {
        at: (c["ns"], c["GPU_ns"], c["Hits"]) for at, (*_, c) in file.calls.items()
    }
    expected, times = {}, {}
    for edge in edges(stats.calls):
        place = (edge.caller, edge.line, edge.callee)
        caller = ("???", OUTSIDE) if edge.caller is None else shown(edge.caller)
        at = (*caller, edge.line, *shown(edge.callee))
        expected[at] = (edge.calls, edge.callee[1])
        times[at] = (edge.total_ns, gpu.get(place, 0), 0)
    assert found == expected
    assert costs == times


@pytest.mark.parametrize("shape", list(shapes()))
def test_the_totals_are_those_of_the_profile(shape: str) -> None:
    stats = shapes()[shape]
    file = parsed(stats)
    sums = [sum(file.of(event).values()) for event in file.events]
    assert file.keys["totals"] == file.keys["summary"] == " ".join(map(str, sums))
    own = sum(sum(lines.values()) for lines in line_self_ns(stats).values())
    of_c = sum(n.self_ns for n in stats.calls.nodes if not n.function[0])
    assert sums[0] == own + of_c
    into = Counter[object]()
    for (*_, callee_file, callee), (_, _, costs) in file.calls.items():
        into[callee_file, callee] += costs["ns"]
    if len({f.name for f in stats.functions}) == len(stats.functions):
        called = {node.function for node in stats.calls.nodes}
        assert +into == +Counter(
            {
                shown(k): n.total_ns
                for k, n in function_totals(stats).items()
                if k in called
            }
        )


def test_unattributed_gpu_time_is_in_the_totals() -> None:
    file = parsed(example_gpu.example())
    assert sum(file.of("GPU_ns").values()) == example_gpu.TOTAL_GPU_NS
    nowhere = ("???", "[launched by no profiled line]", 0)
    assert file.of("GPU_ns")[nowhere] == example_gpu.UNATTRIBUTED_GPU_NS


def test_waits_are_on_their_lines_and_other_time_is_cpu_time() -> None:
    file = parsed(example())
    main, model, solve = MAIN[0], FORWARD[0], SOLVE[0]
    weights = next(name for _, name, _ in file.lines if "weights" in name)
    assert file.of("Wait_ns") == {
        (main, "main", 12): 1_520_000,
        (solve, weights, 23): 300_000,
    }
    for costs in file.lines.values():
        assert costs["CPU_ns"] + costs["Wait_ns"] == costs["ns"]
    _, _, into_main = file.calls[main, "<module>", 29, main, "main"]
    assert into_main["Wait_ns"] == 1_520_000
    _, _, into_weights = file.calls[model, "Model.forward", 15, solve, weights]
    assert into_weights["Wait_ns"] == 300_000
    assert "waits of calls are estimated" in remarks(example(), "callgrind")[0]


def test_waits_of_recursive_calls_are_not_counted_twice() -> None:
    """A callee's waits are shared by the total time of its calls, as its time is."""
    one, other = ("/p/r.py", 1, "one"), ("/p/r.py", 5, "other")
    nodes = (
        CallNode(NO_NODE, 0, one, 0, 1, 1, 100, 1_000, 1_000),
        CallNode(0, 2, other, 0, 3, 1, 900, 900, 2_100),  # with two calls in itself
    )
    functions = [
        FunctionStats(*one[::2], one[1], (ThreadLine(2, 0, 1, 1_000),), 1),
        FunctionStats(*other[::2], other[1], (ThreadLine(6, 0, 3, 900),), 3),
    ]
    stats = LineStats.from_functions(
        functions,
        processes=[PROCESS],
        threads=[Thread(0, 4711, "MainThread")],
        calls=CallTree(nodes),
        waits=[Wait(other, 6, 0, LOCK, 600)],
    )
    _, _, costs = parsed(stats).calls["/p/r.py", "one", 2, "/p/r.py", "other"]
    assert (costs["ns"], costs["Wait_ns"]) == (900, 600)


def test_a_file_name_with_a_line_break_stays_on_its_line() -> None:
    evil = ("/p/a\nfn=(1) b.py", 1, "f")
    line = ThreadLine(2, 0, 1, 7)
    stats = LineStats.from_functions([FunctionStats(*evil[::2], 1, (line,), 1)])
    assert parsed(stats).of("Hits") == {("/p/a\\nfn=(1) b.py", "f", 2): 1}


def test_two_functions_of_one_name_are_separate() -> None:
    stats = shapes()["random"]
    names = {name for _, name, _ in parsed(stats).lines}
    assert names > {"f2 (2.py:21)", "f2 (1.py:71)", "f3"}


def test_gprof2dot_reads_the_file(tmp_path: Path) -> None:
    gprof2dot = pytest.importorskip("gprof2dot")
    (tmp_path / "out").write_bytes(content(example(), "callgrind"))
    with (tmp_path / "out").open(encoding="utf-8") as stream:
        profile = gprof2dot.CallgrindParser(stream).parse()
    times = {f.name: f[gprof2dot.SAMPLES] for f in profile.functions.values()}
    numbers = function_totals(example())
    for key in (MAIN, FORWARD, FIB, WORK):
        assert times[key[2]] == numbers[key].self_ns
        assert profile.functions[key[2]].called == numbers[key].calls
    assert profile[gprof2dot.SAMPLES] == 7_826_348
    assert profile.functions["main"].calls["Model.forward"][gprof2dot.CALLS] == 3


def test_callgrind_annotate_shows_our_totals(tmp_path: Path) -> None:
    program = shutil.which("callgrind_annotate")
    if program is None:
        pytest.skip("callgrind_annotate comes with Valgrind, not from the index")
    (tmp_path / "out").write_bytes(content(example(), "callgrind"))
    words = [program, "--inclusive=yes", "--threshold=100", str(tmp_path / "out")]
    shown_ = subprocess.run(words, capture_output=True, check=True)
    assert not shown_.stderr
    text = shown_.stdout.decode()
    for key, numbers in function_totals(example()).items():
        file, name = shown(key)
        row = next(
            line for line in text.splitlines() if line.endswith(f"{file}:{name}")
        )
        assert row.split()[0] == (f"{numbers.total_ns:,}" if numbers.total_ns else ".")


def test_two_thousand_functions_are_all_written() -> None:
    file = parsed(wide(2_000, 20_000))
    assert len(file.lines) == 20_000
    assert file.keys["totals"] == "20000000 2000000"


def test_missing_data_is_remarked_on() -> None:
    assert (
        "does not say who called whom" in remarks(shapes()["no tree"], "callgrind")[0]
    )
    assert "the profile is empty" in remarks(shapes()["nothing"], "callgrind")[0]
