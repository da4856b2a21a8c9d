"""Runners under kernprof -l: the functions of the user's project are profiled."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_forked, write
from whole_program import names, profiled

from lineprof import load_stats

if TYPE_CHECKING:
    from lineprof.line_stats import LineStats

TEST = """\
    import unittest
    from shop import total

    class Test(unittest.TestCase):
        def test_total(self):
            self.assertEqual(total([1, 2]), 3)
    """
OWN = [
    "__init__.py:<module>",
    "__init__.py:total",
    "test_shop.py:<module>",
    "test_shop.py:Test",
    "test_shop.py:test_total",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a package and its test."""
    write(tmp_path, "shop/__init__.py", "def total(prices):\n    return sum(prices)\n")
    write(tmp_path, "test_shop.py", TEST)
    return tmp_path


def packages(stats: LineStats) -> set[str]:
    """Return the names of the folders that the functions of a profile are in."""
    return {Path(one.file).parent.name for one in stats.functions}


@pytest.mark.parametrize(
    ("words", "runner", "package"),
    [
        (["-m", "pytest", "-q", "test_shop.py"], "pytest", "_pytest"),
        (["-m", "unittest", "-q", "test_shop"], "unittest", "unittest"),
    ],
)
def test_the_functions_of_a_runner_are_profiled_only_if_asked_for(
    folder: Path, words: list[str], runner: str, package: str
) -> None:
    outcome = kernprof_forked("-lo", "out", *words, cwd=folder)
    assert names(load_stats(folder / "out")) == OWN
    assert outcome.err.endswith(
        f"kernprof: profiled 5 functions in 2 files, without {runner}'s own, as no"
        f" @profile was found; choose with --include {package}, --exclude, --all or"
        " -p\n"
    )
    kernprof_forked("-lqo", "out", "--include", package, *words, cwd=folder)
    stats = load_stats(folder / "out")
    assert set(OWN) < set(names(stats))
    assert package in packages(stats)


def test_a_runner_may_be_started_by_its_command(folder: Path) -> None:
    command = folder / "venv" / "bin" / "pytest"
    command.parent.mkdir(parents=True)
    write(folder, "venv/pyvenv.cfg", "")
    command.write_text(
        f"#!{sys.executable}\nimport sys\nfrom pytest import main\nsys.exit(main())\n"
    )
    outcome, stats = profiled(str(command), "-q", "test_shop.py", cwd=folder)
    assert "1 passed" in outcome.out
    assert names(stats) == OWN


def test_a_runner_in_the_users_project_is_a_program(folder: Path) -> None:
    write(folder, "flask/__init__.py", "def run():\n    return 1\n")
    write(folder, "flask/__main__.py", "import flask\nflask.run()\n")
    _, stats = profiled("-m", "flask", cwd=folder)
    assert "__init__.py:run" in names(stats)
