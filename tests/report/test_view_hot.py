"""`lineprof view --hot`: the most expensive lines of all files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof_here, write
from example_calls import IS_EVEN, LAUNCH, MODULE, SOLVE, WEIGHTS, example
from example_stats import example as without_calls
from view_text import lines_of, rows_below

from lineprof.cli.main import main
from lineprof.console.terminal import Terminal
from lineprof.model.records import IO, LOCK, Wait
from lineprof.storage import save

if TYPE_CHECKING:
    from pathlib import Path


def rows(**options: object) -> list[str]:
    """Return the rows, with single blanks between words."""
    lines = lines_of(example(), "hot", **options)
    return [" ".join(row) for row in rows_below(lines, "Own")]


def test_lines_are_ordered_by_self_time_or_gpu_time() -> None:
    assert rows(lines=4) == [
        f"6000.000 76.7 % 300.000 I/O 4 solve.py:23 {WEIGHTS[2]} return sum(sizes)",
        "1540.879 19.7 % 1520.000 a lock 1 main.py:12 main worker.join()",
        (
            "36.006 0.5 % 800.000 100.0 % 4 solve.py:19 launch"
            " kernel[1, 256](n) # größe: 256"
        ),
        "90.000 1.1 % 1 main.py:11 main worker.start()",
    ]
    head = lines_of(example(), "hot")[0]
    assert head == (
        "10 of 23 lines, by their own time; all lines together took 7.826 ms,"
        " and 800.0 us on GPUs:"
    )


def test_a_line_that_only_calls_is_not_hot() -> None:
    own = {
        row.split("main.py:")[1].split()[0]: row for row in rows() if "main.py" in row
    }
    assert own["29"].startswith("50.033 0.6 %")  # of 6292.469 us with its callees
    assert "9" not in own


def test_waits_of_callees_are_not_the_lines_own() -> None:
    waited = {
        row.split("main.py:")[1].split()[0]: row for row in rows() if "main" in row
    }
    assert "1520.000" in waited["12"]
    assert "1520.000" not in waited["29"]  # its line called main


def test_a_line_that_calls_shows_how_long_it_waited_or_at_most() -> None:
    stats = example()
    stats.waits = (
        Wait(MODULE, 29, 0, IO, 30_000),
        *(Wait(SOLVE, 14, 0, LOCK, 35_000), Wait(LAUNCH, 19, 0, LOCK, 27_003)),
        *(Wait(SOLVE, 15, 0, LOCK, 900), Wait(IS_EVEN, 6, 0, LOCK, 500)),
    )
    lines = [" ".join(line.split()) for line in lines_of(stats, "hot", lines=99)]
    [module] = [line for line in lines if line.endswith(" main()")]
    assert module.startswith("50.033 0.6 % 30.000 I/O 1 main.py:29 ")
    [launching] = [line for line in lines if line.endswith(" launch(n)")]
    assert launching.startswith("8.000 0.1 % 7.997 a lock 4 ")
    [recursive] = [line for line in lines if line.endswith(" return is_even(n + 3)")]
    assert recursive.startswith("1.200 0.0 % <= 0.900 a lock 4 ")


@pytest.mark.serial
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no causes")
def test_an_event_loop_that_waits_is_io(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """\
        import asyncio
        async def serve():
            await asyncio.sleep(0.3)
        asyncio.run(serve())
        """
    write(tmp_path, "x.py", text)
    assert kernprof_here("-l", "x.py", cwd=tmp_path).status == 0
    assert main(["view", "--hot", str(tmp_path / "x.lprof")]) == 0
    out = capsys.readouterr().out
    [row] = [line.split() for line in out.splitlines() if "asyncio.run(se" in line]
    assert (row[2], row[4], row[6]) == ("%", "I/O", "x.py:4")
    assert float(row[3]) > 0.9 * 300  # it waits so long at least


def test_self_times_of_all_lines_add_up_to_the_total() -> None:
    shown = rows(lines=1000)
    assert len(shown) == 23
    own = sum(round(1000 * float(row.split()[0])) for row in shown)
    assert own == 7_826_288  # all time but that of a C function


def test_a_profile_without_calls_shows_its_lines() -> None:
    lines = lines_of(without_calls(), "hot", lines=2)
    assert [row[-1] for row in rows_below(lines, "Own")] == ["2)", "stream.read()"]


def test_a_long_name_leaves_room_for_the_source_on_a_terminal() -> None:
    stats = example()
    terminal = Terminal(is_terminal=True, width=130)
    lines = lines_of(stats, "hot", terminal=terminal)
    assert max(map(len, lines)) <= 130
    assert any(line.endswith("worker.join()") for line in lines)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("--hot main.lprof", 10),
        ("--hot 3 main.lprof", 3),
        ("--hot=3 main.lprof", 3),
        ("main.lprof --hot", 10),
        ("main.lprof --hot 3", 3),
        ("--hot 3", 10),  # the name of an existing file
        ("--ho 3 main.lprof", 3),
    ],
)
def test_the_number_of_lines_may_be_left_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    count: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    save(example(), "3" if line == "--hot 3" else "main.lprof")
    assert main(["view", *line.split(" ")]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert len(rows_below(captured.out.splitlines(), "Own")) == count


@pytest.mark.parametrize("line", ["--hot 0 f", "--hot -1 f", "f --hot 2.5"])
def test_a_wrong_number_of_lines_is_an_error(
    capsys: pytest.CaptureFixture[str], line: str
) -> None:
    assert main(["view", *line.split(" ")]) == 2
    assert "give one above 0, like 5" in capsys.readouterr().err
