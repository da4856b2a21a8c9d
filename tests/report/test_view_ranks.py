"""The views --ranks and --by: lines over the ranks of a parallel program."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from example_ranks import (
    FILE,
    MS,
    START,
    WALL,
    WORK,
    cell,
    node,
    process,
    rank_profile,
    save_ranks,
    summed,
)

from lineprof.cli.main import main
from lineprof.console.terminal import Terminal
from lineprof.line_stats import LineStats
from lineprof.model.records import (
    NO_CALLS,
    NO_NODE,
    CallTree,
    FunctionStats,
    Thread,
)
from lineprof.report import VIEWS
from lineprof.report.options import Options
from lineprof.source import sources_of
from lineprof.storage import save

pytestmark = pytest.mark.once  # text of fixed profiles

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


def view(
    capsys: pytest.CaptureFixture[str],
    files: list[str],
    *arguments: str,
    missing: bool = False,
) -> str:
    """Return the output of a view; JSON comes without notes on `missing` ranks."""
    capsys.readouterr()
    assert main(["view", *arguments, *files]) == 0
    captured = capsys.readouterr()
    assert all(" is missing: " in line for line in captured.err.splitlines())
    assert bool(captured.err) == missing
    return captured.out


def rows(
    capsys: pytest.CaptureFixture[str],
    files: list[str],
    *arguments: str,
    missing: bool = False,
) -> dict[str, object]:
    """Return a view as JSON."""
    return json.loads(view(capsys, files, *arguments, "--json", missing=missing))  # type: ignore[no-any-return]


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
        row
        for row in rows(capsys, names, "--ranks", missing=True)["rows"]  # type: ignore[attr-defined]
        if row["line"] == 2
    ]
    assert line["mean_ns"] == pytest.approx(70 / 3 * MS)
    assert (line["ran_on"], line["ranks"]) == (3, 3)


def test_a_file_that_is_named_twice_is_viewed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = save_ranks(tmp_path)
    link = tmp_path / "link.lprof"
    link.symlink_to(names[2])
    twice = [*names, names[1], str(link)]
    for flags in (["--ranks"], ["--by", "process"], ["--all-functions"]):
        assert view(capsys, twice, *flags) == view(capsys, names, *flags)


@pytest.mark.parametrize("flags", [["--ranks"], ["--by", "rank"]])
def test_files_that_do_not_belong_together_are_not_viewed_by_rank(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    names = save_ranks(tmp_path, [0, 1])
    other = str(tmp_path / "other.lprof")
    save(rank_profile(1, pid=7, start_unix_ns=START + 1), other)
    assert main(["view", *flags, *names, other]) == 1
    assert "are both of rank 1; give the files of one run" in capsys.readouterr().err
    save(rank_profile(2, start_unix_ns=START + 2 * WALL), other)
    assert main(["view", *flags, *names, other]) == 0
    assert "one had ended when the other began" in capsys.readouterr().out


BARRIER = ("/site/torch/distributed/distributed_c10d.py", 9, "barrier")


def of_torch(rank: int, **more: object) -> LineStats:
    """Return a rank that computes in line 2, and then waits in torch's barrier."""
    ns = (4 - rank) * 10 * MS
    return LineStats.from_functions(
        [
            FunctionStats(
                file=FILE,
                name="work",
                line=1,
                thread_lines=(cell(2, 1, 50 * MS - ns), cell(3, 1, ns)),
                calls=1,
            ),
            FunctionStats(
                file=BARRIER[0],
                name=BARRIER[2],
                line=BARRIER[1],
                thread_lines=(cell(12, 1, ns),),
                calls=1,
            ),
        ],
        processes=[process(rank, **more)],
        threads=[Thread(process=0, native_id=100 + rank, name="MainThread")],
        calls=CallTree(
            nodes=(node(NO_NODE, 0, WORK, 50 * MS), node(0, 3, BARRIER, ns))
        ),
    )


@pytest.mark.parametrize("flags", [["--full"], ["--sums"]])
def test_lines_of_a_collective_are_communication(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    names = [str(tmp_path / f"r{rank}.lprof") for rank in range(2)]
    for rank, name in enumerate(names):
        save(of_torch(rank, ranks=2), name)
    merged = str(tmp_path / "all.lprof")
    assert main(["merge", *names, "-o", merged, *flags]) == 0
    lines = {row["line"]: row for row in rows(capsys, [merged], "--ranks")["rows"]}  # type: ignore[attr-defined]
    assert (lines[12]["mpi_ns"], lines[12]["max_ns"]) == (70 * MS, 0)
    assert (lines[3]["mpi_ns"], lines[3]["own_lost_ns"]) == (70 * MS, 0)
    matrix = rows(capsys, [merged], "--by", "rank", "--matrix", "barrier")["rows"]
    assert [(row["mpi_ns"], row["callees_ns"]) for row in matrix] == [  # type: ignore[attr-defined]
        (40 * MS, 0),
        (30 * MS, 0),
    ]


@pytest.mark.parametrize("flags", [["--full"], ["--sums"]])
def test_communication_is_that_of_the_main_thread_of_the_longest_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    main_thread = rank_profile(3, ranks=None)
    child = rank_profile(0, pid=999, parent_pid=103, ranks=None)
    child.processes = (child.processes[0]._replace(rank=3, wall_ns=WALL - 1),)
    helper = of_torch(3)
    both = main_thread.calls.nodes + tuple(
        one._replace(thread=1, parent=one.parent + 3 if one.parent >= 0 else NO_NODE)
        for one in helper.calls.nodes
    )
    whole = LineStats.from_functions(
        main_thread.functions,
        processes=main_thread.processes,
        threads=[*main_thread.threads, Thread(process=0, native_id=7, name="helper")],
        calls=CallTree(nodes=both),
    )
    names = [str(tmp_path / name) for name in ("a.lprof", "b.lprof")]
    save(whole, names[0])
    save(child, names[1])
    merged = str(tmp_path / "all.lprof")
    assert main(["merge", *names, "-o", merged, *flags]) == 0
    (row,) = rows(capsys, [merged], "--by", "rank")["rows"]  # type: ignore[misc]
    assert (row["wall_ns"], row["mpi_ns"]) == (WALL, 5 * MS)


def test_children_of_a_rank_are_rows_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    child = rank_profile(1, rank=None, pid=999, parent_pid=101, argv=("child.py",))
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
    found = rows(capsys, names, "--by", "rank", missing=True)["rows"]
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


def test_columns_of_the_lines_of_processes_are_process_ids(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = view(capsys, files, "--by", "process", "--matrix", "work")
    assert "Line #  100 (ms)  101 (ms)  102 (ms)  103 (ms)  Line Contents" in text


def test_with_names_the_communication_of_the_whole_run_is_left_out(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = view(capsys, files, "--by", "rank", "work")
    assert text.startswith("Rank  PID  Wall (ms)  CPU (ms)  In lines (ms)  Hits  Lines")
    assert "Comm (ms)" not in text
    found = rows(capsys, files, "--by", "rank", "work")["rows"]
    assert {row["mpi_ns"] for row in found} == {None}  # type: ignore[attr-defined]


def test_four_ranks_fit_into_80_columns() -> None:
    options = Options(matrix=True, terminal=Terminal(is_terminal=True, width=80))
    profile = summed()
    lines = list(VIEWS["by"].render(profile, sources_of(profile), options))
    assert "Line #  0 (ms)  1 (ms)  2 (ms)  3 (ms)  Line Contents" in lines


def test_a_narrow_table_keeps_communication() -> None:
    options = Options(terminal=Terminal(is_terminal=True, width=80))
    profile = summed()
    text = "\n".join(VIEWS["ranks"].render(profile, sources_of(profile), options))
    assert "Comm (ms)" in text
