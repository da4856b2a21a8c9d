"""Coverage and lineprof on one program: coverage reports the same lines as alone."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run, write
from running import hook_name

from lineprof import load_stats

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

coverage = pytest.importorskip("coverage")
pytestmark = pytest.mark.usefixtures("hook")

# A trace function in Python is for lineprof what one in C is.
PYTHON = pytest.param("pytrace", marks=pytest.mark.once)
CORES = ["ctrace", PYTHON, *(["sysmon"] if sys.version_info >= (3, 12) else [])]
# Without a frame evaluator, a trace function that C code sets replaces lineprof's
# (docs/design.md): coverage reports all lines, lineprof has no hits.
REPLACES_LINEPROF = hook_name() == "settrace" and sys.version_info >= (3, 12)

PROGRAM = """\
import asyncio, builtins, threading
profile = getattr(builtins, "profile", lambda function: function)

@profile
def loop(n):
    total = 0
    for i in range(n):
        if i % 2:
            total += helper(i)
        else:
            total -= 1
    return [x for x in range(total)]

def helper(i):
    if i > 100:
        return "never"
    return i

@profile
def numbers(n):
    try:
        while n:
            yield n
            n -= 1
    finally:
        helper(n)

@profile
def fails(n):
    try:
        helper(n)
        raise ValueError(n)
    except ValueError as error:
        helper(n)
    with open(__file__) as file:
        helper(n)

class Thing:
    @profile
    def method(self):
        return helper(
            len(str(self))
        )

@profile
async def sleeps(n):
    for i in range(n):
        await asyncio.sleep(0)
        helper(i)
    return n

@profile
def in_thread(n):
    for i in range(n):
        helper(i)
    loop(n)

loop(4)
list(numbers(3))
next(numbers(3))
fails(1)
Thing().method()
asyncio.run(sleeps(2))
thread = threading.Thread(target=in_thread, args=[3])
thread.start()
thread.join()
print("done")
"""
HITS = {
    "loop": {6: 2, 7: 9, 8: 7, 9: 3, 11: 4, 12: 2},
    "numbers": {21: 2, 22: 5, 23: 4, 24: 3, 26: 2},
    "fails": {30: 1, 31: 1, 32: 1, 33: 1, 34: 1, 36: 1},
    "Thing.method": {41: 1},
    "sleeps": {47: 3, 48: 2, 49: 2, 50: 1},
    "in_thread": {54: 4, 55: 3, 56: 1},
}


def program_in(folder: Path) -> Path:
    """Write the program, and what coverage is to look at, into a folder."""
    write(folder, "x.py", PROGRAM)
    write(folder, ".coveragerc", "[run]\ninclude = x.py\n")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the program."""
    return program_in(tmp_path)


def covered(folder: Path) -> list[int]:
    """Return the lines of the program in coverage's data file."""
    file = folder / ".coverage"
    data = coverage.CoverageData(str(file))
    data.read()
    (program,) = data.measured_files()
    lines = data.lines(program)
    data.close()
    file.unlink()
    return sorted(lines)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[int]]:
    """Return the lines that coverage alone reports, by its core."""

    @functools.cache
    def lines(core: str) -> list[int]:
        folder = program_in(tmp_path_factory.mktemp("alone"))
        env = {"COVERAGE_CORE": core}
        outcome = run(["-m", "coverage", "run", "x.py"], cwd=folder, env=env)
        assert (outcome.status, outcome.out) == (0, "done\n"), outcome.err
        found = covered(folder)
        assert {9, 24, 36, 41, 49, 55} <= set(found)
        assert 16 not in found
        return found

    return lines


def hits(folder: Path) -> dict[str, dict[int, int]]:
    """Return the hits in the profile, of lines whose hits are known."""
    counted = {}
    for function in load_stats(folder / "x.py.lprof").functions:
        lines = {row.line: row.hits for row in function.rows}
        counted[function.name] = {n: lines.get(n, 0) for n in HITS[function.name]}
    return counted


def check(folder: Path, core: str, lines: list[int], *words: str) -> None:
    """Compare coverage's lines alone with those of a run of `words` with lineprof."""
    both = run(["-m", *words], cwd=folder, env={"COVERAGE_CORE": core})
    assert (both.status, both.out, both.err) == (0, "done\n", "")
    assert covered(folder) == lines
    if REPLACES_LINEPROF and core == "ctrace":
        return
    assert hits(folder) == HITS


@pytest.mark.parametrize("core", CORES)
def test_coverage_that_runs_kernprof_reports_all_lines(
    folder: Path, core: str, alone: Callable[[str], list[int]]
) -> None:
    words = ["coverage", "run", "-m", "kernprof", "-lq", "-o", "x.py.lprof"]
    check(folder, core, alone(core), *words, "x.py")


@pytest.mark.parametrize("core", CORES)
def test_coverage_that_kernprof_runs_reports_all_lines(
    folder: Path, core: str, alone: Callable[[str], list[int]]
) -> None:
    words = ["kernprof", "-lq", "-o", "x.py.lprof", "-m", "coverage", "run", "x.py"]
    check(folder, core, alone(core), *words)


@pytest.mark.parametrize("core", CORES)
def test_coverage_that_the_program_starts_and_stops(
    folder: Path, core: str, alone: Callable[[str], list[int]]
) -> None:
    write(
        folder,
        "starts.py",
        """\
        import coverage, runpy
        cover = coverage.Coverage()
        cover.start()
        runpy.run_path("x.py")
        cover.stop()
        cover.save()
        """,
    )
    words = ["kernprof", "-lq", "-o", "x.py.lprof", "starts.py"]
    check(folder, core, alone(core), *words)


@pytest.mark.parametrize("core", CORES)
def test_coverage_started_in_the_middle_of_a_profiled_function(
    folder: Path, core: str
) -> None:
    text = PROGRAM.replace(
        "loop(4)\n", "import coverage\ncover = coverage.Coverage()\n@profile\n", 1
    )
    head, _, tail = text.partition("@profile\nlist(")
    body = "".join(f"    {line}\n" for line in ("list(" + tail).splitlines())
    program = f"{head}@profile\ndef work():\n    cover.start()\n{body}"
    write(folder, "x.py", program + "    cover.stop()\nwork()\ncover.save()\n")
    env = {"COVERAGE_CORE": core}
    plain = run(["x.py"], cwd=folder, env=env)
    assert (plain.status, plain.out) == (0, "done\n"), plain.err
    lines = covered(folder)
    assert {24, 36, 41, 49, 55} <= set(lines)
    both = kernprof("-lq", "x.py", cwd=folder, env=env)
    assert both == plain
    assert covered(folder) == lines
