"""The plugin of pytest: what --lineprof profiles, writes and leaves alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from as_python import write
from memory_numbers import BLOCK, own_memory
from memory_program import ON_LINUX
from pytest_runs import run_pytest
from whole_program import hits, names

from lineprof import load_stats
from lineprof.model.host_memory import MemoryNumbers

if TYPE_CHECKING:
    from pathlib import Path


WORK = """\
import json

def total(numbers):
    found = 0
    for number in numbers:
        found += twice(number)
    return json.dumps(found)

def twice(number):
    return 2 * number
"""

TESTS = """\
import pytest
import work

@pytest.fixture(scope="session")
def numbers():
    yield range(10)
    work.twice(1)

def test_right(numbers):
    assert work.total(numbers) == "90"

def test_wrong(numbers):
    assert work.total(numbers) == "91"

def test_last(numbers):
    assert work.total([])
"""

INTERRUPT = """\
import pytest

@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    raise {}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give a project with a module and its tests, one of which fails."""
    write(tmp_path, "pyproject.toml", "")
    write(tmp_path, "src/work.py", WORK)
    write(tmp_path, "tests/test_work.py", TESTS)
    return tmp_path


def test_the_project_and_its_tests_are_profiled(project: Path) -> None:
    done = run_pytest(project, "--lineprof")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 2 passed" in done.stdout
    stats = load_stats(str(project / "pytest.lprof"))
    assert hits(stats, "total") == {4: 3, 5: 23, 6: 20, 7: 3}
    assert hits(stats, "twice") == {10: 21}  # by the end of the fixture, too
    assert hits(stats, "numbers") == {6: 1, 7: 1}
    assert names(stats) == [
        "test_work.py:<module>",
        "test_work.py:numbers",
        "test_work.py:test_last",
        "test_work.py:test_right",
        "test_work.py:test_wrong",
        "work.py:<module>",
        "work.py:total",
        "work.py:twice",
    ]
    _, _, shown = done.stdout.partition("lineprof: pytest.lprof =")
    assert "pytest ran " in shown
    assert "Hottest lines" in shown
    assert done.stderr == ""


def test_a_large_project_has_its_first_screen_at_the_end(project: Path) -> None:
    functions = "".join(
        f"def test_{number}():\n    assert {number} + 1\n" for number in range(30)
    )
    write(project, "tests/test_many.py", functions)
    done = run_pytest(project, "--lineprof", "--lineprof-file", "%s-%%.lprof")
    _, _, shown = done.stdout.partition("lineprof: pytest-%.lprof =")
    assert "Hottest lines" in shown
    assert " -m lineprof view pytest-%.lprof" in shown
    assert len(shown.splitlines()) < 65


def test_flags_choose_other_functions(project: Path) -> None:
    run_pytest(
        project, "--lineprof", "--lineprof-exclude=tests", "--lineprof-include=json"
    )
    shown = names(load_stats(str(project / "pytest.lprof")))
    assert "__init__.py:dumps" in shown
    assert "work.py:total" in shown
    assert [name for name in shown if name.startswith("test_")] == []


@pytest.mark.parametrize("flag", ["--lineprof-include", "--lineprof-exclude"])
def test_a_bad_pattern_is_an_error(project: Path, flag: str) -> None:
    done = run_pytest(project, "--lineprof", f"{flag}=json,[a")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --lineprof: bad pattern '[a': its '[' is not closed" in done.stderr


@pytest.mark.parametrize(
    ("ending", "words", "status"),
    [
        ("", ["-x"], 1),
        ("KeyboardInterrupt", [], 2),
        ("SystemError", [], 1),
        ("pytest.exit.Exception('enough', 7)", [], 7),
    ],
)
def test_the_profile_is_written_however_the_run_ends(
    project: Path, ending: str, words: list[str], status: int
) -> None:
    if ending:
        write(project, "conftest.py", INTERRUPT.format(ending))
    plain = run_pytest(project, *words)
    done = run_pytest(project, *words, "--lineprof")
    assert (plain.returncode, done.returncode) == (status, status)
    stats = load_stats(str(project / "pytest.lprof"))
    assert hits(stats, "total")[4] == (2 if words else 3 if status == 1 else 1)


LEAK = """\
import os, resource

def test_last_descriptor():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try:
        while True:
            os.open("/", os.O_RDONLY)
    except OSError:
        pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads share all descriptors")
def test_a_suite_that_leaves_no_descriptors_has_its_profile(project: Path) -> None:
    write(project, "tests/test_work_leak.py", LEAK)
    words = ["--deselect", "tests/test_work.py::test_wrong"]
    plain = run_pytest(project, *words)
    done = run_pytest(project, *words, "--lineprof")
    assert (plain.returncode, done.returncode) == (0, 0), done.stdout
    assert hits(load_stats(str(project / "pytest.lprof")), "total")[4] == 2


def test_an_internal_error_keeps_its_status(project: Path) -> None:
    text = "def pytest_runtest_logfinish(nodeid):\n    raise RuntimeError('internal')\n"
    write(project, "conftest.py", text)
    done = run_pytest(project, "--lineprof")
    assert done.returncode == 3
    assert "INTERNALERROR" in done.stdout
    assert hits(load_stats(str(project / "pytest.lprof")), "total")[4] == 1


def test_the_workers_of_xdist_are_added_up(project: Path) -> None:
    pytest.importorskip("xdist")
    done = run_pytest(project, "--lineprof", "-n", "2")
    assert done.returncode == 1, done.stdout + done.stderr
    stats = load_stats(str(project / "pytest.lprof"))
    assert hits(stats, "total") == {4: 3, 5: 23, 6: 20, 7: 3}
    assert len(stats.processes) == 2
    shown = " ".join(done.stdout.split())
    assert "the time of all threads of 2 processes" in shown
    assert [p.name for p in project.glob("*.lprof*")] == ["pytest.lprof"]


def test_without_the_flag_no_profiler_is_loaded(project: Path) -> None:
    test = """\
import sys

def test_modules():
    ours = [name for name in sys.modules if name.startswith(("lineprof", "kernprof"))]
    assert sorted(ours) == ["kernprof", "kernprof.pytest_plugin"]
"""
    write(project, "tests/test_work.py", test)
    done = run_pytest(project)
    assert done.returncode == 0, done.stdout
    assert sorted(project.glob("*.lprof")) == []


def test_kernprof_and_the_plugin_are_told_apart(project: Path) -> None:
    kernprof = ("-m", "kernprof", "-lq", "-o", "own.lprof")
    done = run_pytest(project, under=kernprof)
    assert done.returncode == 1
    assert "cannot be rewritten; kernprof" not in done.stdout
    assert "cannot be rewritten; lineprof" not in done.stdout
    assert hits(load_stats(str(project / "own.lprof")), "total")[4] == 3
    both = run_pytest(project, "--lineprof", under=kernprof)
    assert both.returncode == 4
    assert "kernprof profiles this run already" in both.stderr
    assert not (project / "pytest.lprof").exists()


def test_a_file_that_cannot_be_written_ends_the_run_at_once(project: Path) -> None:
    done = run_pytest(project, "--lineprof", "--lineprof-file=nowhere/x.lprof")
    assert done.returncode == 4
    assert "'nowhere/x.lprof': there is no folder" in done.stderr


@ON_LINUX
def test_the_memory_of_the_tests_is_measured(tmp_path: Path) -> None:
    text = "kept = [None] * 100\ndef test_it():\n    for i in range(100):\n"
    write(tmp_path, "test_it.py", f"{text}        kept[i] = bytes(1000)\n")
    done = run_pytest(tmp_path, "--lineprof", "--lineprof-memory", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    stats = load_stats(str(tmp_path / "pytest.lprof"))
    one = own_memory(stats, "test_it")[2]
    # (pytest itself may have had more before.)
    assert one._replace(peak_bytes=0) == MemoryNumbers(100, 100 * BLOCK)


def test_the_memory_alone_is_refused(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, "--lineprof-memory")
    assert done.returncode == 4
    assert "--lineprof-memory needs --lineprof" in done.stderr
