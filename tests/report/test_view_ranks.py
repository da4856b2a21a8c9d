"""The views --ranks and --by: lines over the ranks of a parallel program."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from example_ranks import FILE, MS, rank_profile, save_ranks

from lineprof.cli.main import main
from lineprof.console.terminal import Terminal
from lineprof.line_stats import LineStats
from lineprof.model.records import NO_CALLS
from lineprof.report import VIEWS
from lineprof.report.options import Options
from lineprof.source import sources_of
from lineprof.storage import save

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(params=["files", "--full", "--sums"])
def files(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Give the files of four ranks, as they are or merged."""
    monkeypatch.chdir(tmp_path)
    names = [Path(name).name for name in save_ranks(tmp_path)]
    if request.param == "files":
        return names
    assert main(["merge", *names, "-o", "all.lprof", request.param]) == 0
    return ["all.lprof"]


def view(capsys: pytest.CaptureFixture[str], files: list[str], *arguments: str) -> str:
    """Return the output of a view."""
    capsys.readouterr()
    assert main(["view", *arguments, *files]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def rows(
    capsys: pytest.CaptureFixture[str], files: list[str], *arguments: str
) -> dict[str, object]:
    """Return a view as JSON."""
    return json.loads(view(capsys, files, *arguments, "--json"))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("arguments", "golden"),
    [
        (["--ranks"], "ranks.txt"),
        (["--by", "process"], "by_process.txt"),
        (["--by", "rank"], "by_process.txt"),
        (["--by", "rank", "--matrix"], "by_rank_matrix.txt"),
    ],
)
def test_the_text_is_that_of_the_golden_file(
    files: list[str],
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    golden: str,
) -> None:
    expected = (GOLDEN / golden).read_text(encoding="utf-8")
    assert view(capsys, files, *arguments) == expected


def test_each_line_has_its_spread(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    made = rows(capsys, files, "--ranks")
    assert (made["ranks"], made["wall_ns"]) == (4, 50 * MS)
    assert made["load_balance"] == pytest.approx(30 / 45)
    assert made["communication_efficiency"] == pytest.approx(45 / 50)
    assert made["parallel_efficiency"] == pytest.approx(30 / 50)
    lines = {row["line"]: row for row in made["rows"] if row["line"]}  # type: ignore[attr-defined]
    assert [*lines] == [2, 3, 7, 8]
    assert lines[2]["file"] == FILE
    assert lines[2]["function"] == "work"
    assert (lines[2]["hits"], lines[2]["time_ns"]) == (10, 100 * MS)
    assert (lines[2]["max_ns"], lines[2]["max_rank"]) == (40 * MS, 3)
    assert (lines[2]["mean_ns"], lines[2]["min_ns"]) == (25 * MS, 10 * MS)
    assert lines[2]["sd_ns"] == pytest.approx(125**0.5 * MS)
    assert lines[2]["imbalance"] == pytest.approx(0.6)
    assert lines[2]["lost_ns"] == lines[2]["own_lost_ns"] == 60 * MS
    assert (lines[3]["mpi_ns"], lines[3]["max_ns"]) == (80 * MS, 0)
    assert (lines[3]["time_max_ns"], lines[3]["time_max_rank"]) == (35 * MS, 0)
    assert (lines[7]["lost_ns"], lines[7]["own_lost_ns"]) == (60 * MS, 0)
    assert (lines[8]["ran_on"], lines[8]["ranks"]) == (1, 4)
    functions = [row for row in made["rows"] if row["line"] is None]  # type: ignore[attr-defined]
    assert functions[0]["function"] == "work"
    assert functions[0]["load_balance"] == pytest.approx(25 / 40)
    assert functions[0]["communication_efficiency"] == pytest.approx(40 / 45)


def test_csv_has_the_same_rows(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["--ranks"], ["--by", "process"], ["--by", "rank", "--matrix"]):
        made = rows(capsys, files, *arguments)
        text = view(capsys, files, *arguments, "--csv")
        table = list(csv.DictReader(io.StringIO(text)))
        assert len(table) == len(made["rows"])  # type: ignore[arg-type]
        for row, cells in zip(made["rows"], table):  # type: ignore[call-overload]
            assert list(row) == list(cells)


def test_names_choose_the_functions(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Function: work" not in view(capsys, files, "--ranks", "main")
    matrix = view(capsys, files, "--by", "rank", "--matrix", "work")
    assert "Function: main" not in matrix
    made = rows(capsys, files, "--by", "rank", "--matrix", "work")
    numbers = {(row["rank"], row["line"]): row["hits"] for row in made["rows"]}  # type: ignore[attr-defined]
    assert numbers == {(r, n): r + 1 if n == 2 else 1 for r in range(4) for n in (2, 3)}


def test_a_limit_counts_functions(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = view(capsys, files, "--ranks", "--limit", "1")
    assert "Function: work" in text
    assert "1 more function with less lost time not shown" in text
    assert rows(capsys, files, "--ranks", "--limit", "1")["more"] == 1
    assert len(rows(capsys, files, "--by", "rank", "--limit", "3")["rows"]) == 3  # type: ignore[arg-type]


def test_a_missing_rank_is_not_taken_for_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = save_ranks(tmp_path, [0, 1, 3])
    text = view(capsys, names, "--ranks")
    assert text.startswith("3 of 4 ranks (missing: 2), 50.00 ms: ")
    (line,) = [
        row for row in rows(capsys, names, "--ranks")["rows"] if row["line"] == 2
    ]  # type: ignore[attr-defined]
    assert line["mean_ns"] == pytest.approx(70 / 3 * MS)
    assert (line["ran_on"], line["ranks"]) == (3, 3)


def test_children_of_a_rank_are_rows_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    child = rank_profile(1, rank=None, pid=999, argv=("child.py",))
    save(
        LineStats.from_stats_objects(rank_profile(1), child), tmp_path / "r.r0001.lprof"
    )
    names = [*save_ranks(tmp_path, [0]), str(tmp_path / "r.r0001.lprof")]
    found = rows(capsys, names, "--by", "process")["rows"]
    assert [(row["rank"], row["pid"]) for row in found] == [
        (0, 100),
        (1, 101),
        (1, 999),
    ]  # type: ignore[attr-defined]
    assert [row["hits"] for row in found] == [4, 4, 4]  # type: ignore[attr-defined]
    found = rows(capsys, names, "--by", "rank")["rows"]
    assert [row["processes"] for row in found] == [1, 2]  # type: ignore[attr-defined]
    assert [row["hits"] for row in found] == [4, 8]  # type: ignore[attr-defined]
    text = view(capsys, names, "--by", "rank")
    assert "101 +1" in text


def test_a_program_without_ranks_has_processes_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(rank_profile(0, rank=None, ranks=None), tmp_path / "a.lprof")
    names = [str(tmp_path / "a.lprof")]
    assert view(capsys, names, "--ranks").startswith("The profile has no ranks")
    assert view(capsys, names, "--by", "rank").startswith("The profile has no ranks")
    assert "100" in view(capsys, names, "--by", "process")
    assert rows(capsys, names, "--ranks")["ranks"] == 0


def test_unknown_communication_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = rank_profile(0)
    profile.calls = NO_CALLS
    save(profile, tmp_path / "a.lprof")
    text = view(capsys, [str(tmp_path / "a.lprof")], "--ranks")
    assert "Note: The profile has no calls of MPI" in text
    assert "Here all time counts as computing" in text


def test_many_ranks_share_the_columns_of_a_matrix() -> None:
    every = [rank_profile(0, rank=rank, ranks=1000) for rank in range(1000)]
    stats = LineStats.from_stats_objects(*every)
    options = Options(matrix=True, terminal=Terminal(is_terminal=True, width=100))
    lines = list(VIEWS["by"].render(stats, sources_of(stats), options))
    assert (
        lines[0] == "Time without communication by rank, the mean of 200 in each column"
    )
    assert all(len(line) <= 100 for line in lines)
    assert "0-199 (ms)" in lines[3]
    assert "800-999 (ms)" in lines[3]
    assert lines[4].split()[:6] == ["2", *["10.000"] * 5]


def test_a_narrow_terminal_has_no_long_lines() -> None:
    stats = LineStats.from_stats_objects(*[rank_profile(rank) for rank in range(4)])
    options = Options(terminal=Terminal(is_terminal=True, width=100))
    text = list(VIEWS["ranks"].render(stats, sources_of(stats), options))
    tables = [line for line in text if "allreduce" in line or "Line #" in line]
    assert tables
    assert all(len(line) <= 100 for line in tables)
    assert all("Rank" in line for line in tables if "Line #" in line)
