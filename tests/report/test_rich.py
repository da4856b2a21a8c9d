"""Highlighted source of -r: only on terminals that show colour."""

from __future__ import annotations

import importlib.util
import io
import random
import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from lineprof.cli.main import main
from lineprof.line_stats import LineStats
from lineprof.report.line_profiler_tables import show_func, show_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

needs_rich = pytest.mark.skipif(
    importlib.util.find_spec("rich") is None, reason="rich is not installed"
)
ESCAPE = re.compile(r"\x1b(?:\[[0-9;]*m|\]8;[^\x1b]*\x1b\\)")
SOURCE = """\
def f(x):
    # naïve — 損失\ta tab
    text = '''one
two \x1b[2J \x9b three'''
    return x + 1 if x else "a line that is much longer than the terminal is wide"
"""


class Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


@pytest.fixture
def stats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LineStats:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "88")
    file = tmp_path / "a b.py"
    file.write_text(SOURCE, encoding="utf-8")
    lines = [(3, 10, 600), (4, 10, 100), (5, 10, 300), (2, 1, 0)]
    return LineStats({(str(file), 1, "f"): lines}, 1e-9)


def printed(stats: LineStats, stream: io.StringIO, *, rich: bool) -> str:
    stats.print(stream, summarize=True, rich=rich, config=False)
    return stream.getvalue()


def plain(text: str) -> str:
    """Return `text` without colours."""
    return ESCAPE.sub("", text)


@needs_rich
def test_on_a_terminal_the_same_text_is_highlighted(stats: LineStats) -> None:
    coloured = printed(stats, Terminal(), rich=True)
    usual = printed(stats, Terminal(), rich=False)
    assert plain(coloured) == plain(usual)
    assert "\x1b" not in plain(coloured)
    (definition,) = [line for line in coloured.split("\n") if "def" in line]
    assert len(ESCAPE.findall(definition)) > 4
    assert len(ESCAPE.findall(coloured)) > len(ESCAPE.findall(usual)) + 10


@needs_rich
def test_hot_lines_are_marked(stats: LineStats) -> None:
    rows = printed(stats, Terminal(), rich=True).split("\n")
    assert [row[:7] for row in rows if " 600" in row] == ["\x1b[1;31m"]
    assert [row[:7] for row in rows if " 300" in row] == ["\x1b[1;33m"]
    assert [row[:5] for row in rows if " 100.0" in row and "two" in row] == ["\x1b[32m"]


@needs_rich
def test_no_line_is_wider_than_the_terminal(
    stats: LineStats, monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in (1, 20, 60, 64, 70, 88, 200):
        monkeypatch.setenv("COLUMNS", f"{columns}")
        coloured = printed(stats, Terminal(), rich=True)
        assert plain(coloured) == plain(printed(stats, Terminal(), rich=False))


@needs_rich
def test_file_names_on_a_terminal_are_links_to_the_source(stats: LineStats) -> None:
    coloured = printed(stats, Terminal(), rich=True)
    assert re.search(r"File: \x1b\]8;;file:///\S*/a%20b\.py\x1b\\/", coloured)
    assert re.search(r"seconds - \x1b\]8;;file:///", coloured)


@needs_rich
def test_every_function_that_prints_accepts_rich(stats: LineStats) -> None:
    ((key, lines),) = stats.timings.items()
    stream = Terminal()
    show_func(*key, lines, 1e-9, stream=stream, rich=True, config=False)
    assert "\x1b[1;31m" in stream.getvalue()
    stream = Terminal()
    show_text(stats.timings, 1e-9, stream=stream, rich=True, config=False)
    assert "\x1b[1;31m" in stream.getvalue()


@needs_rich
def test_random_numbers_of_the_program_are_unchanged(stats: LineStats) -> None:
    before = random.getstate()
    printed(stats, Terminal(), rich=True)
    assert random.getstate() == before


@needs_rich
@pytest.mark.parametrize(
    "source", ["", "\n", "\\\n", "'''", "\x0c\ndef f(): pass", "é" * 300, "if x:\n\t)"]
)
def test_any_source_is_shown(stats: LineStats, source: str) -> None:
    ((file, *_),) = stats.timings
    with open(file, "w", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write(source)
    coloured = printed(stats, Terminal(), rich=True)
    assert plain(coloured) == plain(printed(stats, Terminal(), rich=False))


def test_output_to_a_pipe_has_no_escapes(stats: LineStats) -> None:
    piped = printed(stats, io.StringIO(), rich=True)
    assert "\x1b" not in piped
    assert piped == printed(stats, io.StringIO(), rich=False)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_output_to_a_terminal_without_colour_has_no_escapes(
    stats: LineStats, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert "\x1b" not in printed(stats, Terminal(), rich=True)


def _missing(_: str) -> None:
    return None


def _of_the_program(name: str) -> ModuleType:
    return ModuleType(name)


@pytest.mark.parametrize("module", [_missing, _of_the_program])
def test_without_rich_the_table_is_plain(
    stats: LineStats,
    module: Callable[[str], ModuleType | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [*sys.modules, "rich"]:
        if name.partition(".")[0] == "rich":
            monkeypatch.setitem(sys.modules, name, module(name))
    shown = printed(stats, Terminal(), rich=True)
    assert shown == printed(stats, Terminal(), rich=False)


@needs_rich
def test_the_table_is_the_same_as_line_profilers(
    stats: LineStats,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    line_profiler = pytest.importorskip("line_profiler", minversion="5.1")
    ((file, *_),) = stats.timings
    with open(file, "w", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write("def f(x):\n    # naïve\n    y = x\n    z = x\n    return y + z\n")
    words = ["-r", "-m", "--no-config", str(tmp_path / "a.lprof")]
    line_profiler.LineStats(stats.timings, stats.unit).to_file(words[-1])
    assert main(["view", *words]) == 0
    ours = capfd.readouterr().out
    monkeypatch.setattr(sys, "argv", ["line_profiler", *words])
    line_profiler.line_profiler.main()
    theirs = capfd.readouterr().out
    assert "\x1b" in theirs
    rows = [line.rstrip() for line in plain(theirs).split("\n")]
    assert [row.rstrip() for row in ours.split("\n") if row] == [r for r in rows if r]
