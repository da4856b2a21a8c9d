"""pytest --lineprof-benchmark: one more call of a benchmark, apart from its rounds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from as_python import write
from pytest_runs import run_pytest
from whole_program import hits, names

from lineprof import load_stats

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


pytest.importorskip("pytest_benchmark")

WORK = """\
import sys

def total(count):
    found = 0
    for number in range(count):
        found += twice(number)
    return found

def twice(number):
    return 2 * number

def is_profiled():
    tools, core = getattr(sys, "monitoring", None), sys.modules.get("lineprof._core")
    used = tools and any(map(tools.get_tool, range(6)))
    return bool(used or sys.gettrace() or (core and core.is_discovering()))
"""

TESTS = """\
import pytest, work

def test_quick(benchmark):
    benchmark(work.total, 2)

class TestAll:
    @pytest.fixture
    def counts(self):
        counts = [20]
        yield counts
        counts.clear()

    @pytest.mark.parametrize("factor", [1, 1000], ids=["a/b", "c d"])
    def test_slow(self, benchmark, counts, factor):
        assert benchmark(lambda: work.total(factor * counts[0])) >= 0

def test_last(benchmark):
    benchmark(work.total, count=1)
"""
SLOW = {4: 1, 5: 20001, 6: 20000, 7: 1}  # hits of `total` in one call of the slowest
SHORT = ("--benchmark-max-time=0.01", "--benchmark-min-rounds=3")
SLOWEST, ALL = "--lineprof-benchmark=slowest", "--lineprof-benchmark=all"
NAME = "test_work-TestAll-test_slow-c-d.lprof"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give a project with a module and its benchmarks."""
    write(tmp_path, "pyproject.toml", "")
    write(tmp_path, "src/work.py", WORK)
    write(tmp_path, "tests/test_work.py", TESTS)
    return tmp_path


def run(
    project: Path, *words: str, under: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run pytest in the project, with few rounds."""
    return run_pytest(project, *SHORT, *words, under=under)


def run_of(project: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run these tests instead."""
    write(project, "tests/test_work.py", text)
    return run(project, *words)


def profiles(project: Path) -> list[str]:
    """Return the names of the profiles in the project."""
    return sorted(path.name for path in project.rglob("*.lprof"))


def benchmarks(file: Path) -> dict[str, dict[str, Any]]:
    """Return the benchmarks in a JSON file of pytest-benchmark."""
    found = json.loads(file.read_text(encoding="utf-8"))["benchmarks"]
    return {one["name"]: one for one in found}


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what lineprof said in single lines."""
    lines = done.stdout.splitlines()
    return [line for line in lines if line.startswith("lineprof: ")]


def test_the_slowest_benchmark_is_profiled(project: Path) -> None:
    done = run(project, SLOWEST, "--benchmark-json=all.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert profiles(project) == [NAME]
    stats = load_stats(str(project / NAME))
    assert hits(stats, "total") == SLOW
    assert hits(stats, "twice") == {10: 20000}
    assert names(stats) == ["test_work.py:<lambda>", "work.py:total", "work.py:twice"]
    table, _, shown = done.stdout.partition(f" lineprof: {NAME} ")
    assert "Legend:" in table
    slowest = "tests/test_work.py::TestAll::test_slow[c d], median "
    assert f"one more call of the slowest benchmark: {slowest}" in shown
    assert "Function: total at line 3" in shown
    known = {
        name: one["extra_info"].get("lineprof")
        for name, one in benchmarks(project / "all.json").items()
    }
    assert known == {
        "test_quick": None,
        "test_slow[a/b]": None,
        "test_slow[c d]": NAME,
        "test_last": None,
    }
    assert said(done) == []


def test_the_run_of_such_a_profile_is_the_call(project: Path) -> None:
    text = """\
import time, work

def nap():
    time.sleep(0.3)
    work.total(20)

def test_nap(benchmark):
    benchmark.pedantic(nap)
"""
    run_of(project, text, SLOWEST)
    (process,) = load_stats(str(project / "test_work-test_nap.lprof")).processes
    assert process.wall_ns >= 0.3e9
    assert process.is_whole


ROUNDS = """\
import pytest, work

STATES = []

def call(count):
    STATES.append(work.is_profiled())
    work.total(count)

@pytest.mark.parametrize("count", [10, 2000, 1])
def test_rounds(benchmark, count):
    STATES.clear()
    benchmark.pedantic(call, args=(count,), rounds=5, warmup_rounds=2)
    benchmark.extra_info["states"] = list(STATES)
"""


def test_no_round_is_measured_under_the_profiler(project: Path) -> None:
    done = run_of(project, ROUNDS, SLOWEST, "--benchmark-json=all.json")
    assert done.returncode == 0, done.stdout
    found = benchmarks(project / "all.json")
    assert [one["stats"]["rounds"] for one in found.values()] == [5, 5, 5]
    states = {
        one["params"]["count"]: one["extra_info"]["states"] for one in found.values()
    }
    apart = [*[False] * 7, True]
    assert states == {10: apart, 2000: apart, 1: [False] * 7}


PEDANTIC = """\
import work

CALLS = []

def prepare():
    CALLS.append("setup")
    return ([3, 1, 2],), {"more": work.total(2)}

def consume(numbers, more):
    CALLS.append("call")
    while numbers:
        numbers.pop()

def clean(numbers, more):
    CALLS.append("teardown" if not numbers else "unused")
    work.total(3)

def test_consume(benchmark):
    benchmark.pedantic(consume, setup=prepare, teardown=clean, rounds=4)
    assert CALLS == ["setup", "call", "teardown"] * 5
"""


def test_setup_and_teardown_of_a_round_surround_the_call(project: Path) -> None:
    done = run_of(project, PEDANTIC, SLOWEST)
    assert done.returncode == 0, done.stdout
    stats = load_stats(str(project / "test_work-test_consume.lprof"))
    assert hits(stats, "consume") == {10: 1, 11: 4, 12: 3}
    assert names(stats) == ["test_work.py:consume"]


def test_each_benchmark_has_a_profile_of_its_own(project: Path) -> None:
    write(
        project,
        "tests/more/test_work.py",
        "def test_quick(benchmark):\n    benchmark(int)\n",
    )
    done = run(project, ALL, "--lineprof-file=%s.all.lprof", "--import-mode=importlib")
    assert done.returncode == 0, done.stdout
    assert profiles(project) == [
        "test_work-TestAll-test_slow-a-b.all.lprof",
        "test_work-TestAll-test_slow-c-d.all.lprof",
        "test_work-test_last.all.lprof",
        "test_work-test_quick-1.all.lprof",
        "test_work-test_quick.all.lprof",
    ]
    last = load_stats(str(project / "test_work-test_last.all.lprof"))
    assert hits(last, "total") == {4: 1, 5: 2, 6: 1, 7: 1}
    shown = "test_work-test_last.all.lprof: tests/test_work.py::test_last, median "
    assert shown in done.stdout


def test_names_that_would_be_one_file_stay_apart(project: Path) -> None:
    text = """\
import pytest, work

IDS = ["a-b-2", "a/b", "a-b", "A-b", "x" * 300, "x" * 301]

@pytest.mark.parametrize("count", range(6), ids=IDS)
def test_total(benchmark, count):
    benchmark(work.total, count)
"""
    done = run_of(project, text, ALL, "--benchmark-json=all.json")
    assert done.returncode == 0, done.stdout
    known = {
        one["params"]["count"]: one["extra_info"]["lineprof"]
        for one in benchmarks(project / "all.json").values()
    }
    assert {count: total_of(project, name) for count, name in known.items()} == {
        count: count + 1 for count in range(6)
    }
    assert len({name.casefold() for name in known.values()}) == 6


def total_of(project: Path, name: str) -> int:
    """Return the hits of the loop in `total`."""
    return hits(load_stats(str(project / name)), "total")[5]


def test_a_test_that_runs_again_has_two_profiles(project: Path) -> None:
    write(
        project,
        "conftest.py",
        "from _pytest.runner import runtestprotocol\n\n"
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    item._initrequest()\n"
        "    runtestprotocol(item, log=False)\n"
        "    item._initrequest()\n",
    )
    done = run(project, ALL, "-k", "last")
    shown = [line.partition(":")[0] for line in done.stdout.splitlines()]
    assert [name for name in shown if name.endswith(".lprof")] == [
        "test_work-test_last.lprof",
        "test_work-test_last-1.lprof",
    ]


def test_an_installed_function_is_profiled(project: Path) -> None:
    text = "import json\n\ndef test_dumps(benchmark):\n    benchmark(json.dumps, [1])\n"
    run_of(project, text, SLOWEST)
    stats = load_stats(str(project / "test_work-test_dumps.lprof"))
    assert names(stats) == ["__init__.py:dumps"]


def test_a_built_in_function_has_an_empty_profile(project: Path) -> None:
    text = "def test_sorted(benchmark):\n    benchmark(sorted, [2, 1])\n"
    done = run_of(project, text, SLOWEST)
    assert done.returncode == 0, done.stdout
    assert f"no function of {project} was called" in done.stdout


def test_flags_choose_other_functions(project: Path) -> None:
    run(project, SLOWEST, "--lineprof-exclude=work.twice", "-k", "c and d")
    shown = names(load_stats(str(project / NAME)))
    assert "work.py:total" in shown
    assert "work.py:twice" not in shown


WRONG = """\
import pytest, work

def test_slow(benchmark):
    assert benchmark(work.total, 20000) == 1

def test_broken(benchmark):
    benchmark(work.total, None)

def test_twice(benchmark):
    benchmark(int)
    benchmark(int)

def test_late(request):
    request.getfixturevalue("benchmark")(work.total, 3)
"""


def without_times(text: str) -> list[str]:
    """Return what pytest shows of failures."""
    failures = text.partition("= FAILURES =")[2].partition("- benchmark:")[0]
    lines = failures.splitlines()
    return [line for line in lines if line.strip("-") and " at 0x" not in line]


def test_failing_benchmarks_fail_as_without_the_flag(project: Path) -> None:
    plain = run_of(project, WRONG)
    done = run(project, SLOWEST)
    assert (plain.returncode, done.returncode) == (1, 1)
    assert "3 failed, 1 passed" in done.stdout
    assert "kernprof" not in done.stdout.partition("- benchmark:")[0]
    assert without_times(done.stdout) == without_times(plain.stdout) != []
    assert hits(load_stats(str(project / "test_work-test_slow.lprof")), "total") == SLOW


@pytest.mark.parametrize(
    ("ending", "shown"),
    [
        ("raise KeyError('gone')", "KeyError: 'gone'"),
        ("raise ValueError('one\\ntwo')", "ValueError: one"),
        ("sys.exit(3)", "SystemExit: 3"),
        ("raise asyncio.CancelledError('c')", "CancelledError: c"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("pytest.skip('now')", "Skipped: now"),
        ("pytest.fail('now')", "Failed: now"),
        ("raise Mute", "Mute: <exception str() failed>"),
    ],
)
def test_an_error_of_the_call_is_one_line(
    project: Path, ending: str, shown: str
) -> None:
    text = f"""\
import asyncio, pytest, sys

class Mute(Exception):
    def __str__(self):
        raise self

CALLS = []

def call():
    CALLS.append(0)
    if len(CALLS) > 3:
        {ending}

def test_call(benchmark):
    benchmark.pedantic(call, rounds=3)
"""
    done = run_of(project, text, SLOWEST)
    assert done.returncode == 0, done.stdout
    (line,) = said(done)
    name = "tests/test_work.py::test_call"
    start = f"lineprof: {name} was not profiled: one more call raised "
    assert line.startswith(start)
    assert line.endswith(shown)
    assert profiles(project) == []


def test_a_fixture_around_that_of_the_plugin_is_watched_once(project: Path) -> None:
    write(
        project,
        "conftest.py",
        "import pytest\n\n@pytest.fixture\ndef benchmark(benchmark):\n"
        "    return benchmark\n",
    )
    done = run_of(project, ROUNDS, SLOWEST, "--benchmark-json=all.json")
    assert done.returncode == 0, done.stdout
    found = benchmarks(project / "all.json")["test_rounds[2000]"]
    assert found["extra_info"]["states"] == [*[False] * 7, True]


def test_the_fixture_looks_as_without_the_flag(project: Path) -> None:
    text = """\
import inspect, work

def test_look(benchmark):
    kind = type(benchmark)
    shown = [kind.__name__, kind.__doc__, kind.__module__]
    shown += [str(inspect.signature(one)) for one in (benchmark, benchmark.pedantic)]
    benchmark.extra_info["shown"] = [*shown, kind.pedantic.__qualname__]
    benchmark(work.total, 1)
"""
    shown = []
    for words in ((), (SLOWEST,)):
        done = run_of(project, text, "--benchmark-json=all.json", *words)
        assert done.returncode == 0, done.stdout
        (one,) = benchmarks(project / "all.json").values()
        shown.append(one["extra_info"]["shown"])
    assert shown[0] == shown[1]


def test_an_interrupted_call_ends_the_run(project: Path) -> None:
    text = """\
import work

def call():
    if work.is_profiled():
        raise KeyboardInterrupt

def test_call(benchmark):
    benchmark.pedantic(call)
"""
    done = run_of(project, text, SLOWEST)
    assert done.returncode == pytest.ExitCode.INTERRUPTED
    (line,) = said(done)
    assert line.endswith(" was not profiled: one more call raised KeyboardInterrupt")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--benchmark-disable"], ", because of --benchmark-disable"),
        (["--benchmark-skip"], ", because of --benchmark-skip"),
        (["-n2"], ", as pytest-xdist switches them off: leave out -n and --dist"),
        (
            ["--dist=load"],
            ", as pytest-xdist switches them off: leave out -n and --dist",
        ),
        (["-k", "nothing"], ""),
    ],
)
def test_without_a_measured_benchmark_a_line_says_why(
    project: Path, words: list[str], why: str
) -> None:
    if words[0] in {"-n2", "--dist=load"}:
        pytest.importorskip("xdist")
    plain = run(project, *words)
    done = run(project, SLOWEST, *words)
    assert done.returncode == plain.returncode
    assert said(done) == [f"lineprof: no benchmark was measured{why}"]
    assert profiles(project) == []


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--lineprof"], "--lineprof profiles the timed rounds as well"),
        (["-p", "no:benchmark", "-o", "addopts="], "pytest-benchmark is not loaded"),
        (["--lineprof-file=nowhere/x.lprof"], "'nowhere/x.lprof': there is no folder"),
        (["--lineprof-exclude=[a"], "bad pattern '[a': its '[' is not closed"),
        ([ALL, "--lineprof-file=x.lprof"], "'x.lprof' is one file for all benchmarks"),
    ],
)
def test_impossible_requests_end_the_run_at_once(
    project: Path, words: list[str], shown: str
) -> None:
    done = run_pytest(project, SLOWEST, *words)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --lineprof-benchmark: " in done.stderr
    assert shown in done.stderr


def test_kernprof_and_the_flag_are_told_apart(project: Path) -> None:
    done = run(project, SLOWEST, under=("-m", "kernprof", "-lq", "-o", "own.lprof"))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "kernprof profiles this run already" in done.stderr


def test_a_regression_has_its_profile(project: Path) -> None:
    run(project, "--benchmark-autosave", "-k", "quick")
    words = ("--benchmark-compare", "--benchmark-compare-fail=min:0.000000001")
    text = (
        "import work\n\ndef test_quick(benchmark):\n    benchmark(work.total, 20000)\n"
    )
    write(project, "tests/test_work.py", text)
    plain = run(project, *words)
    done = run(project, *words, SLOWEST)
    assert plain.returncode == done.returncode != 0
    assert "Performance has regressed" in done.stderr + done.stdout
    assert " lineprof: test_work-test_quick.lprof " in done.stdout


def test_the_profile_is_where_the_run_began(project: Path) -> None:
    text = """\
import os, work

def test_moved(benchmark, tmp_path):
    os.chdir(tmp_path)
    benchmark(work.total, 5)
"""
    done = run_of(project, text, SLOWEST)
    assert done.returncode == 0, done.stdout
    assert (project / "test_work-test_moved.lprof").exists()


def test_a_profile_of_the_whole_run_says_what_it_did_to_the_times(
    project: Path,
) -> None:
    done = run(project, "--lineprof")
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = said(done)
    assert "the times of the benchmarks include the profiler's" in line
    (line,) = said(run(project, "--lineprof", "--benchmark-disable")) or ("",)
    assert line == ""
