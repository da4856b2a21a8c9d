"""Progress line of a long task, and the next steps that a command suggests."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from example_calls import deep, example
from example_stats import example as small

from lineprof.cli.main import main
from lineprof.console.progress import Progress
from lineprof.report.notes import next_steps, start_of_drill
from lineprof.storage import save

if TYPE_CHECKING:
    from pathlib import Path

ERASE = "\r\x1b[K"


class Terminal(io.StringIO):
    """Stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Clock that advances by a step with each call."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def progress_lines(stream: io.StringIO, step: float, count: int = 8) -> list[str]:
    """Return the progress lines of reading `count` files, one every `step` s."""
    with Progress(stream, Clock(step)) as progress:
        assert list(progress.each(range(count), "file", count)) == list(range(count))
    return stream.getvalue().split(ERASE)


def test_the_line_leaves_the_end_of_a_programs_output_on_the_terminal() -> None:
    stream = Terminal()
    stream.write("50 %")  # no end of line
    with Progress(stream, Clock(0.3), after_output=True) as progress:
        for rows in range(1, 4):
            progress.say(lambda rows=rows: f"writing {rows}")  # type: ignore[misc]
    save, back = "\x1b7", "\x1b8\x1b[J"
    shown = f"50 %{save}lineprof: writing 2{back}lineprof: writing 3{back}"
    assert stream.getvalue() == shown


def test_writing_a_profile_says_how_many_rows_there_are_so_far(tmp_path: Path) -> None:
    rows: list[int] = []
    stats = deep(600)
    save(stats, tmp_path / "deep.lprof", rows.append)
    assert rows == sorted(set(rows))
    assert rows[-1] >= len(stats.calls.nodes) + len(stats.functions)
    assert len(rows) < rows[-1] / 20


def test_a_short_task_shows_nothing() -> None:
    assert progress_lines(Terminal(), 0.05) == [""]


def test_a_long_task_is_counted_and_its_line_erased() -> None:
    assert progress_lines(Terminal(), 0.2) == [
        "",
        *(f"lineprof: file {number} of 8" for number in range(3, 9)),
        "",
    ]


def test_the_line_is_written_at_intervals() -> None:
    assert len(progress_lines(Terminal(), 0.01, count=200)) == 2 + 15


def test_a_stream_that_is_no_terminal_gets_no_line() -> None:
    assert progress_lines(io.StringIO(), 1.0) == [""]


def test_the_line_is_erased_when_the_task_fails() -> None:
    stream = Terminal()

    def fail() -> None:
        with Progress(stream, Clock(1.0)) as progress:
            for number in progress.each([1, 0], "file"):
                assert 1 // number

    with pytest.raises(ZeroDivisionError):
        fail()
    assert stream.getvalue().endswith(f"file 2{ERASE}")


def test_a_narrow_terminal_has_the_line_in_one_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    assert progress_lines(Terminal(), 1.0, count=1) == ["", "lineprof: f", ""]


def test_bytes_are_counted_as_they_are_read() -> None:
    stream = Terminal()
    with Progress(stream, Clock(1.0)) as progress:
        chunks = list(progress.written([b"x" * 1_500_000, b"y"], "svg,"))
    assert chunks[1] == b"y"
    assert "lineprof: svg, 1.5 MB" in stream.getvalue()


def test_a_closed_terminal_stops_only_the_line() -> None:
    class Gone(Terminal):
        def write(self, _: str) -> int:
            raise OSError

    assert progress_lines(Gone(), 1.0) == [""]


def test_next_steps_are_commands_that_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(example(), "my run.lprof")
    hot, down = next_steps(example(), "my run.lprof")
    assert hot.endswith(" -m lineprof view --hot 'my run.lprof'")
    assert down.endswith(" -m lineprof view --drill main 'my run.lprof'")
    assert main(["view", "--hot", "my run.lprof"]) == 0
    assert main(["view", "--drill", start_of_drill(example()), "my run.lprof"]) == 0
    assert "Function: main at line 6" in capsys.readouterr().out


def test_the_tables_of_many_functions_end_with_next_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, stats in (("main", example()), ("small", small()), ("few", deep(4))):
        save(stats, f"{name}.lprof")
    ends = {}
    for name in ("main", "small", "few"):
        assert main([f"{name}.lprof"]) == 0
        ends[name] = capsys.readouterr().err
    assert "--drill main main.lprof\n" in ends["main"]
    assert ends["main"].count("\n") == 2
    assert "--drill" not in ends["small"] + ends["few"]
    assert next_steps(small(), "x") == next_steps(deep(4), "x") == []


def test_the_way_down_begins_where_the_calls_branch() -> None:
    assert start_of_drill(example()) == "main"
    assert start_of_drill(small()) == "load"
