"""The command `lineprof merge`: files of ranks become one profile."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from as_python import kernprof, viewer
from example_ranks import (
    MS,
    START,
    WALL,
    WORK,
    cell,
    process,
    rank_profile,
    save_ranks,
)

from lineprof.cli.main import main
from lineprof.line_stats import LineStats
from lineprof.model.rank_lines import ranks_of
from lineprof.model.rank_spread import line_spreads
from lineprof.model.records import FunctionStats, Thread
from lineprof.storage import load, reader_gpu, save

PROGRAM = """\
import os

rank = int(os.environ["OMPI_COMM_WORLD_RANK"])


@profile
def work():
    for n in range(rank + 1):
        n * n


work()
"""

SUMS = pytest.mark.parametrize("form", ["--full", "--sums"])


def merged(files: list[str], *flags: str) -> dict[str, object]:
    """Merge files, and return the result as JSON."""
    assert main(["merge", *files, "-o", "all.lprof", *flags]) == 0
    done = viewer("view", "--json", "all.lprof", cwd=Path.cwd())
    assert done.status == 0
    return json.loads(done.out)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the program with four ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    for rank in range(4):
        environ = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "4"}
        name = f"r.r{rank:04}.lprof"
        done = kernprof("-lq", "-o", name, "program.py", cwd=folder, env=environ)
        assert done.status == 0, done.err
    return folder


@SUMS
@pytest.mark.usefixtures("here")
def test_the_files_of_ranks_are_added_up(recorded: Path, form: str) -> None:
    profile = merged([str(recorded)], form)
    (function,) = profile["functions"]  # type: ignore[misc]
    hits = {line["line"]: line["hits"] for line in function["lines"]}
    assert hits == {8: 2 + 3 + 4 + 5, 9: 1 + 2 + 3 + 4}
    assert function["calls"] == 4
    assert [one["rank"] for one in profile["processes"]] == [0, 1, 2, 3]  # type: ignore[attr-defined]
    runs = ranks_of(load("all.lprof")).runs
    assert [run.rank for run in runs] == [0, 1, 2, 3]


@SUMS
def test_the_sums_are_under_the_usual_names(here: Path, form: str) -> None:
    profile = merged(save_ranks(here), form)
    work, main_ = profile["functions"]  # type: ignore[misc]
    compute, allreduce = work["lines"]
    assert (compute["hits"], compute["time_ns"]) == (10, 100 * MS)
    assert (compute["min_ns"], compute["max_ns"]) == (10 * MS, 10 * MS)
    assert (allreduce["hits"], allreduce["time_ns"]) == (4, 80 * MS)
    assert allreduce["mpi_ns"] == 80 * MS
    assert main_["total_ns"] == 184 * MS
    assert profile["warnings"] == []


def test_the_command_says_what_it_wrote(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_ranks(here)
    assert main(["merge", "r.r*.lprof", "-o", "all.lprof"]) == 0
    assert capsys.readouterr().err == (
        "lineprof: wrote all.lprof: 4 profiles, 4 of 4 ranks\n"
    )
    assert len(load("all.lprof").threads) == 4
    assert main(["merge", "r.r*.lprof", "-o", "all.lprof", "--sums"]) == 0
    assert capsys.readouterr().err == (
        "lineprof: wrote all.lprof: 4 profiles, 4 of 4 ranks\n"
        "lineprof: lines are kept by rank, not by thread; --full keeps threads\n"
    )
    assert load("all.lprof").threads == ()


@pytest.mark.usefixtures("here")
def test_many_files_are_summed(capsys: pytest.CaptureFixture[str]) -> None:
    for rank in range(17):
        save(rank_profile(0, rank=rank, ranks=17), f"r.r{rank:04}.lprof")
    assert main(["merge", ".", "-o", "all.lprof"]) == 0
    assert "17 profiles, 17 of 17 ranks" in capsys.readouterr().err
    assert load("all.lprof").threads == ()
    assert len(load("all.lprof").ranks.runs) == 17


@SUMS
def test_a_missing_rank_is_named(
    here: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    files = save_ranks(here, [0, 1, 3])
    profile = merged(files, form)
    note = "rank 2 of 4 is missing: no r.r0002.lprof"
    assert profile["warnings"] == [note]
    assert f"lineprof: {note}\n" in capsys.readouterr().err
    assert (
        main(["merge", "all.lprof", *save_ranks(here, [2]), "-o", "whole.lprof"]) == 0
    )
    assert load("whole.lprof").warnings == ()


@pytest.mark.usefixtures("here")
def test_many_missing_ranks_are_few_lines() -> None:
    save(rank_profile(0, ranks=1_000_000_000), "r.lprof")
    assert main(["merge", "r.lprof", "-o", "all.lprof"]) == 0
    *some, last = load("all.lprof").warnings
    assert some[0] == "rank 1 of 1000000000 is missing"
    assert last == "999,999,991 more of 1,000,000,000 ranks are missing"


@SUMS
def test_two_files_of_one_rank_are_an_error(
    here: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    save_ranks(here, [0])
    save(rank_profile(0, pid=7, start_unix_ns=START + 1), "old.lprof")
    assert main(["merge", "old.lprof", "r.r0000.lprof", "-o", "a.lprof", form]) == 1
    assert capsys.readouterr().err == (
        "lineprof: old.lprof and r.r0000.lprof are both of rank 0;"
        " give the files of one run\n"
    )
    assert not (here / "a.lprof").exists()


@SUMS
def test_a_child_process_of_a_rank_may_have_a_file_of_its_own(
    here: Path, form: str
) -> None:
    save_ranks(here, [0, 1])
    save(rank_profile(1, pid=999, parent_pid=101), "r.r0001.999.lprof")
    names = ["r.r0000.lprof", "r.r0001.999.lprof", "r.r0001.lprof"]
    profile = merged(names, form)
    assert [one["pid"] for one in profile["processes"]] == [100, 999, 101]  # type: ignore[attr-defined]
    ranks = ranks_of(load("all.lprof"))
    assert [run.rank for run in ranks.runs] == [0, 1]
    assert line_spreads(ranks)[WORK, 2].hits == 1 + 2 + 2


@pytest.mark.parametrize(
    ("facts", "note"),
    [
        ({"argv": ("other.py",)}, "is of another program (other.py) than"),
        ({"ranks": 8}, "is of a run of 8 ranks,"),
        ({"start_unix_ns": START + 2 * WALL}, "is of another run than"),
    ],
)
def test_files_that_do_not_belong_together_are_named(
    here: Path, facts: dict[str, object], note: str
) -> None:
    save_ranks(here, [0, 1, 2])
    save(rank_profile(3, **facts), "r.r0003.lprof")
    assert main(["merge", ".", "-o", "all.lprof"]) == 0
    assert any(
        text.startswith("./r.r0003.lprof") and note in text
        for text in load("all.lprof").warnings
    )


@SUMS
def test_a_process_in_two_files_is_an_error(
    here: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    names = [Path(name).name for name in save_ranks(here)]
    save(rank_profile(1, rank=None, pid=999, parent_pid=101), "r.r0001.999.lprof")
    assert main(["merge", *names, "r.r0001.999.lprof", "-o", "all.lprof"]) == 0
    capsys.readouterr()
    assert main(["merge", *names, "all.lprof", "-o", "twice.lprof", form]) == 1
    assert capsys.readouterr().err == (
        "lineprof: r.r0000.lprof and all.lprof both have process 100 of"
        f" {load(names[0]).processes[0].host}; give each profile once\n"
    )
    (here / "copies").mkdir()
    copy = shutil.copy(names[2], "copies")
    assert main(["merge", *names, copy, "-o", "twice.lprof", form]) == 1
    assert "both have process 102" in capsys.readouterr().err
    assert not (here / "twice.lprof").exists()


@SUMS
def test_processes_of_a_rank_that_took_as_long_give_one_sum_in_any_order(
    here: Path, form: str
) -> None:
    one = rank_profile(3, rank=0, pid=103)  # 5 ms of communication
    other = rank_profile(0, pid=999, parent_pid=103)  # 35 ms
    save(one, here / "one.lprof")
    save(other, here / "other.lprof")
    for names in (["one.lprof", "other.lprof"], ["other.lprof", "one.lprof"]):
        merged(names, form)
        (run,) = ranks_of(load("all.lprof")).runs
        assert (run.wall_ns, run.mpi_ns) == (WALL, 35 * MS)


@SUMS
def test_a_process_id_that_came_again_in_a_later_run_makes_no_child(
    here: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    save_ranks(here, [0])
    later = START + 2 * WALL
    save(rank_profile(0, pid=7, parent_pid=100, start_unix_ns=later), "later.lprof")
    assert main(["merge", "r.r0000.lprof", "later.lprof", "-o", "a.lprof", form]) == 1
    assert "are both of rank 0" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("word", [".", "*.lprof"])
def test_a_folder_with_nothing_but_the_output_is_one_line(
    capsys: pytest.CaptureFixture[str], word: str
) -> None:
    save(rank_profile(0), "all.lprof")
    assert main(["merge", word, "-o", "all.lprof"]) == 1
    assert capsys.readouterr().err == (
        "lineprof: there is no profile besides all.lprof; give files *.lprof\n"
    )
    assert len(load("all.lprof").processes) == 1


@SUMS
def test_a_file_without_a_rank_counts_for_no_rank(here: Path, form: str) -> None:
    save_ranks(here, [1])
    save(rank_profile(0, rank=None, ranks=None), "alone.lprof")
    profile = merged(["r.r0001.lprof", "alone.lprof"], form)
    assert [one["rank"] for one in profile["processes"]] == [1, None]  # type: ignore[attr-defined]
    spreads = line_spreads(ranks_of(load("all.lprof")))
    assert spreads[WORK, 2].hits == 2


@SUMS
@pytest.mark.parametrize("name", ["a.lprof", "z.lprof"])  # the first, and the last
def test_a_file_without_a_rank_is_named_and_changes_no_check(
    here: Path, form: str, name: str
) -> None:
    save_ranks(here, [0, 1])
    save(rank_profile(2, ranks=8), "r.r0002.lprof")
    save(rank_profile(3, start_unix_ns=START + 2 * WALL), "r.r0003.lprof")
    save(rank_profile(0, rank=None, ranks=None, pid=7), name)
    names = sorted(["r.r0000.lprof", "r.r0001.lprof", "r.r0003.lprof", name])
    assert merged(names, form)["warnings"] == [
        "rank 2 of 4 is missing: no r.r0002.lprof",
        (
            "r.r0003.lprof is of another run than r.r0000.lprof: one had ended when the"
            " other began"
        ),
        f"{name} has no rank: it counts in the sums, not in --ranks",
    ]
    names = sorted(["r.r0000.lprof", "r.r0002.lprof", name])
    assert (
        "r.r0002.lprof is of a run of 8 ranks, r.r0000.lprof of one of 4"
        in merged(names, form)["warnings"]  # type: ignore[operator]
    )


@pytest.mark.usefixtures("here")
def test_many_files_that_do_not_belong_together_are_few_lines() -> None:
    for rank in range(20):
        start = START + 2 * WALL * (rank > 0)
        save(
            rank_profile(0, rank=rank, ranks=20, start_unix_ns=start),
            f"{rank:02}.lprof",
        )
    assert main(["merge", ".", "-o", "all.lprof"]) == 0
    *some, last = load("all.lprof").warnings
    assert len(some) == 8
    assert last == "11 more files are of another run than ./00.lprof"


VIEWS = pytest.mark.parametrize("flags", [["--ranks"], ["--by", "rank"]])


@VIEWS
def test_a_view_of_files_of_ranks_names_missing_ones(
    here: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    assert main(["view", *flags, *save_ranks(here, [0, 1, 3])]) == 0
    assert "rank 2 of 4 is missing: no r.r0002.lprof" in capsys.readouterr().out


@VIEWS
def test_a_view_of_two_parts_of_the_ranks_misses_none(
    here: Path, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    assert main(["merge", *save_ranks(here, [0, 1]), "-o", "a.lprof"]) == 0
    assert main(["merge", *save_ranks(here, [2, 3]), "-o", "b.lprof"]) == 0
    capsys.readouterr()
    assert main(["view", *flags, "a.lprof", "b.lprof"]) == 0
    assert "missing" not in capsys.readouterr().out


def test_a_file_without_a_rank_that_is_viewed_with_one_counts_for_no_rank() -> None:
    both = LineStats.from_stats_objects(
        rank_profile(1), rank_profile(0, rank=None, ranks=None)
    )
    assert line_spreads(ranks_of(both))[WORK, 2].hits == 2


def test_a_file_that_is_named_twice_counts_once(here: Path) -> None:
    save_ranks(here)
    profile = merged([".", "r.r*.lprof", "r.r0001.lprof"])
    assert len(profile["processes"]) == 4  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.lprof"], "none.lprof does not exist"),
        (["x*.lprof"], "no file matches x*.lprof"),
        (["empty"], "there is no profile in empty"),
        (["text.lprof"], "text.lprof is not a profile"),
    ],
)
@SUMS
def test_files_that_cannot_be_read_are_one_line(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
    form: str,
) -> None:
    (here / "empty").mkdir()
    (here / "text.lprof").write_text("words", encoding="utf-8")
    (here / "all.lprof").write_text("old", encoding="utf-8")
    assert main(["merge", *words, "-o", "all.lprof", form]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"lineprof: {message}")
    assert (here / "all.lprof").read_text(encoding="utf-8") == "old"


@SUMS
def test_all_files_that_cannot_be_read_are_named(
    here: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    names = save_ranks(here)
    for name in (names[1], names[3]):
        Path(name).write_bytes(Path(name).read_bytes()[:50])
    (here / "empty.lprof").touch()
    assert main(["merge", ".", "-o", "all.lprof", form]) == 1
    assert sorted(capsys.readouterr().err.splitlines()) == [
        "lineprof: ./empty.lprof is empty; record it again",
        "lineprof: ./r.r0001.lprof is cut off; record it again",
        "lineprof: ./r.r0003.lprof is cut off; record it again",
    ]
    assert not (here / "all.lprof").exists()


def test_many_files_that_cannot_be_read_are_few_lines(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(20):
        (here / f"{number:02}.lprof").touch()
    assert main(["merge", ".", "-o", "all.lprof"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 9
    assert "lineprof: 12 more files cannot be read" in lines


def test_the_output_cannot_be_one_of_the_files(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_ranks(here)
    assert main(["merge", "r.r0001.lprof", "-o", "./r.r0001.lprof"]) == 1
    assert "'./r.r0001.lprof' is one of the profiles" in capsys.readouterr().err
    assert len(load("r.r0001.lprof").processes) == 1


def test_a_folder_can_have_the_output_of_the_last_time(here: Path) -> None:
    save_ranks(here)
    for _ in range(2):
        assert len(merged(["."])["processes"]) == 4  # type: ignore[arg-type]


@SUMS
@pytest.mark.parametrize("word", ["r.r*.lprof", "."])
def test_an_output_that_is_the_only_profile_of_a_rank_is_kept(
    here: Path, capsys: pytest.CaptureFixture[str], form: str, word: str
) -> None:
    before = Path(save_ranks(here)[1]).read_bytes()
    assert main(["merge", word, "-o", "r.r0001.lprof", form]) == 1
    assert capsys.readouterr().err == (
        "lineprof: r.r0001.lprof is the profile of rank 1 of 4, which no other file"
        " has; name another file with -o, or remove it\n"
    )
    assert Path("r.r0001.lprof").read_bytes() == before


def test_an_output_that_was_forgotten_replaces_no_rank(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = save_ranks(here)
    before = Path(names[0]).read_bytes()
    assert main(["merge", "-o", *names]) == 1  # -o r.r*.lprof
    assert "is the profile of rank 0 of 4, which no" in capsys.readouterr().err
    assert Path(names[0]).read_bytes() == before


def test_an_output_with_a_process_that_no_other_file_has_is_kept(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for pid in (1, 2, 3):
        save(rank_profile(0, rank=None, ranks=None, pid=pid), f"a{pid}.lprof")
    before = (here / "a1.lprof").read_bytes()
    assert main(["merge", "a*.lprof", "-o", "a1.lprof"]) == 1
    assert "a1.lprof is the profile of process 1 of" in capsys.readouterr().err
    assert (here / "a1.lprof").read_bytes() == before


def test_a_part_of_the_ranks_is_kept_when_the_other_part_is_merged(
    here: Path,
) -> None:
    assert main(["merge", *save_ranks(here, [0, 1]), "-o", "part1.lprof"]) == 0
    assert main(["merge", *save_ranks(here, [2, 3]), "-o", "part2.lprof"]) == 0
    assert main(["merge", "part*.lprof", "-o", "part1.lprof"]) == 1
    assert len(load("part1.lprof").processes) == 2


def test_the_merge_of_an_older_run_is_replaced(here: Path) -> None:
    assert main(["merge", *save_ranks(here), "-o", "all.lprof"]) == 0
    for rank in range(4):
        again = rank_profile(rank, pid=900 + rank, start_unix_ns=START + 2 * WALL)
        save(again, f"r.r{rank:04}.lprof")
    assert main(["merge", ".", "-o", "all.lprof"]) == 0
    assert [one.pid for one in load("all.lprof").processes] == [900, 901, 902, 903]


def test_many_lines_that_all_ranks_ran_alike_can_be_read_again(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_gpu, "_FREE_ITEMS", 100)  # lines that need no bytes
    monkeypatch.setattr(reader_gpu, "_ITEMS_PER_BYTE", 1)
    for rank in range(8):
        alike = FunctionStats(
            file="/project/long.py",
            name="long",
            line=1,
            thread_lines=tuple(cell(line, 1, 1) for line in range(2, 2_002)),
            calls=1,
        )
        profile = LineStats.from_functions(
            [alike],
            processes=[process(rank, ranks=8)],
            threads=[Thread(process=0, native_id=100 + rank, name="MainThread")],
        )
        save(profile, f"a.r{rank:04}.lprof")
    assert main(["merge", ".", "-o", "all.lprof", "--sums"]) == 0
    lines = [
        sum(batch.events for batch in run.batches)
        for run in load("all.lprof").ranks.runs
    ]
    size = sum(
        len(data)
        for run in load("all.lprof").ranks.runs
        for batch in run.batches
        for _, data in batch.columns
    )
    assert lines == [2_001] * 8  # with the function itself
    assert sum(lines) > 100 + size  # so many need bytes, were they not alike
    assert main(["view", "--ranks", "all.lprof", "-o", "ranks.txt"]) == 0
    assert (here / "ranks.txt").read_text(encoding="utf-8").startswith("8 ranks, ")


def test_merge_writes_no_file_that_is_named_as_standard_output(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["merge", *save_ranks(here), "-o", "-"]) == 1
    assert capsys.readouterr().err == (
        "lineprof: merge cannot write to standard output; name a file with -o\n"
    )
    assert not (here / "-").exists()
