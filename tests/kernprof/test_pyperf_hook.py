"""The hook of pyperf: one more call of each benchmark, when its values are measured."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import write
from whole_program import hits, names

from kernprof.pyperf_hook import Hook
from lineprof import load_stats

if TYPE_CHECKING:
    from pathlib import Path


pyperf = pytest.importorskip("pyperf")

WORK = """\
def total(count):
    found = 0
    for number in range(count):
        found += twice(number)
    return found

def twice(number):
    return 2 * number
"""

BENCH = """\
import json, os, sys, time
import pyperf
import work

def is_profiled():
    tools, core = getattr(sys, "monitoring", None), sys.modules.get("lineprof._core")
    used = tools and any(map(tools.get_tool, range(6)))
    return bool(used or sys.gettrace() or (core and core.is_discovering()))

def note(name):
    state = "profiled" if is_profiled() else "loaded"
    if "kernprof.selection" not in sys.modules:
        state = "free"
    with open("states.txt", "a") as file:
        print(name, os.getpid(), state, file=file)

def quick():
    note("quick")
    work.total(2)

def slow():
    note("slow")
    work.total(50000)

def timed(loops):
    start = time.perf_counter()
    for _ in range(loops):
        work.total(3)
    return time.perf_counter() - start

async def awaited():
    work.total(4)

runner = pyperf.Runner()
runner.bench_func("quick", quick)
runner.bench_func("slow / one", slow)
runner.bench_time_func("timed", timed)
runner.bench_async_func("awaited", awaited)
runner.bench_func("dumps", json.dumps, [1])
runner.bench_command("command", [sys.executable, "-c", "pass"])
"""
FAST = ("-q", "-p2", "-n2", "--min-time=0.0001")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give a project with a module and its benchmarks."""
    write(tmp_path, "pyproject.toml", "")
    write(tmp_path, "work.py", WORK)
    write(tmp_path, "bench.py", BENCH)
    return tmp_path


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program of pyperf with the hook; its workers find the project."""
    hook = ("--hook=lineprof", "--inherit-environ=LINEPROF_CORE", *FAST)
    done = subprocess.run(
        [sys.executable, *words, *hook],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def states(project: Path) -> dict[str, list[list[str]]]:
    """Return by benchmark in which state it was called, a list for each process."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in (project / "states.txt").read_text(encoding="utf-8").splitlines():
        name, pid, state = line.split()
        found.setdefault(name, {}).setdefault(pid, []).append(state)
    return {name: list(one.values()) for name, one in found.items()}


def test_each_benchmark_is_profiled_and_the_slowest_is_known(project: Path) -> None:
    done = run(project, "bench.py", "-o", "all.json")
    assert done.stderr == ""
    suite = pyperf.BenchmarkSuite.load(str(project / "all.json"))
    known = {
        one.get_name(): one.get_metadata()["lineprof"] for one in suite.get_benchmarks()
    }
    assert known.pop("command").startswith("none: a command")
    assert known == {
        "quick": "bench-quick.lprof",
        "slow / one": "bench-slow-one-0585.lprof",
        "timed": "bench-timed.lprof",
        "awaited": "bench-awaited.lprof",
        "dumps": "bench-dumps.lprof",
    }
    assert sorted(known.values()) == sorted(
        path.name for path in project.glob("*.lprof")
    )
    measured = [one for one in suite.get_benchmarks() if one.get_name() in known]
    slowest = max(measured, key=lambda one: one.median())
    assert slowest.get_name() == "slow / one"
    stats = load_stats(str(project / slowest.get_metadata()["lineprof"]))
    assert hits(stats, "total") == {2: 1, 3: 50001, 4: 50000, 5: 1}
    assert hits(stats, "twice") == {8: 50000}
    assert hits(stats, "slow") == {22: 1, 23: 1}
    timed = load_stats(str(project / "bench-timed.lprof"))
    assert hits(timed, "total") == {2: 1, 3: 4, 4: 3, 5: 1}
    awaited = load_stats(str(project / "bench-awaited.lprof"))
    assert hits(awaited, "awaited") == {32: 1}
    dumps = load_stats(str(project / "bench-dumps.lprof"))
    assert names(dumps) == ["__init__.py:dumps"]


def test_no_value_is_measured_under_the_profiler(project: Path) -> None:
    run(project, "bench.py")
    for calibrating, *others in states(project).values():
        assert calibrating == [*["free"] * (len(calibrating) - 1), "profiled"]
        assert len(others) == 2
        assert {state for one in others for state in one} == {"free"}


@pytest.mark.parametrize("flag", ["--loops=3", "--debug-single-value"])
def test_a_run_without_calibration_has_a_new_profile(project: Path, flag: str) -> None:
    old = project / "bench-slow-one-0585.lprof"
    old.write_text("of an earlier run", encoding="utf-8")
    os.utime(old, (1e9, 1e9))
    run(project, "bench.py", flag, "-o", "all.json")
    stats = load_stats(str(old))
    assert hits(stats, "total") == {2: 1, 3: 50001, 4: 50000, 5: 1}
    loops, processes = (1, 1) if "debug" in flag else (9, 2)
    for first, *others in states(project).values():
        assert first == [*["free"] * loops, "profiled"]
        assert len(others) == processes - 1
        assert all("profiled" not in one for one in others)
    suite = pyperf.BenchmarkSuite.load(str(project / "all.json"))
    metadata = suite.get_benchmark("slow / one").get_metadata()
    assert metadata["lineprof"] == old.name


def test_a_worker_that_users_start_has_a_new_profile(project: Path) -> None:
    words = ("bench.py", "--worker", "--loops=1", "--warmups=1")
    run(project, *words)
    write(project, "work.py", WORK.replace("range(count)", "range(count + 1)"))
    run(project, *words)
    stats = load_stats(str(project / "bench-quick.lprof"))
    assert hits(stats, "total") == {2: 1, 3: 4, 4: 3, 5: 1}


def test_a_statement_of_timeit_is_profiled(project: Path) -> None:
    run(project, "-m", "pyperf", "timeit", "-s", "import work", "work.total(7)")
    stats = load_stats(str(project / "pyperf-timeit.lprof"))
    assert hits(stats, "total") == {2: 1, 3: 8, 4: 7, 5: 1}
    assert names(stats) == ["work.py:total", "work.py:twice"]


def test_benchmarks_in_the_process_of_pyperf_are_profiled(project: Path) -> None:
    text = BENCH.replace("runner.bench_command", "# ")
    write(project, "bench.py", text)
    run(project, "bench.py", "--in-process")
    stats = load_stats(str(project / "bench-slow-one-0585.lprof"))
    assert hits(stats, "twice") == {8: 50000}
    (of_quick,) = states(project)["quick"]
    assert of_quick.count("profiled") == 1


@pytest.mark.parametrize("flag", ["--track-memory", "--tracemalloc"])
def test_the_memory_of_the_profiler_is_in_no_value(project: Path, flag: str) -> None:
    run(project, "-m", "pyperf", "timeit", flag, "--loops=1", "-o", "all.json", "int()")
    (benchmark,) = pyperf.BenchmarkSuite.load(str(project / "all.json"))
    assert "lineprof" not in benchmark.get_metadata()
    assert list(project.glob("*.lprof")) == []


NAMES = """\
import pyperf
import work

runner = pyperf.Runner()
for place, name in enumerate(["a-b", "a b", "a/b", "../c", "\u00fc\U0001f600"]):
    runner.bench_func(name, work.total, place)
"""


def test_names_that_are_no_names_of_files_stay_apart(project: Path) -> None:
    write(project, "bench.py", NAMES)
    run(project, "bench.py", "--debug-single-value", "-o", "all.json")
    found = {}
    for one in pyperf.BenchmarkSuite.load(str(project / "all.json")):
        stats = load_stats(str(project / one.get_metadata()["lineprof"]))
        found[one.get_name()] = hits(stats, "total")[3]
    assert found == {"a-b": 1, "a b": 2, "a/b": 3, "../c": 4, "\u00fc\U0001f600": 5}
    assert (project / "bench-a-b.lprof").exists()


FAILING = """\
import pyperf, sys

def fragile():
    if "lineprof.recording" in sys.modules:
        {ending}

pyperf.Runner().bench_func("fra gile", fragile)
"""


@pytest.mark.parametrize(
    ("ending", "shown"),
    [
        ("raise ValueError('no\\x1b more')", "ValueError: no\\x1b more"),
        ("sys.exit(3)", "SystemExit: 3"),
        ("raise GeneratorExit", "GeneratorExit"),
    ],
)
def test_an_error_of_the_call_is_a_line(project: Path, ending: str, shown: str) -> None:
    write(project, "bench.py", FAILING.format(ending=ending))
    done = run(project, "bench.py", "-o", "all.json", "--debug-single-value")
    assert done.stderr == (
        f"lineprof: fra gile was not profiled: one more call raised {shown}\n"
    )
    (benchmark,) = pyperf.BenchmarkSuite.load(str(project / "all.json"))
    assert "lineprof" not in benchmark.get_metadata()
    assert list(project.glob("*.lprof")) == []


def test_a_file_that_cannot_be_written_is_a_line(project: Path) -> None:
    (project / "bench-dumps.lprof").mkdir()
    done = run(project, "bench.py", "--debug-single-value")
    assert "lineprof: dumps was not profiled: " in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_another_pyperf_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    metadata = {"name": "one"}
    Hook().teardown(metadata)
    assert metadata == {"name": "one"}
    assert "in another way: nothing was profiled" in capsys.readouterr().err
