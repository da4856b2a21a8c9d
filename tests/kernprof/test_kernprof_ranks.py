"""Profiles of the ranks of a parallel program: their names, and who prints."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest
from as_python import hits_in, kernprof_forked, run, viewer, write

from kernprof.output_file import Names, output_name
from kernprof.run_options import UsageError
from lineprof.ranks import rank_of_process

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.once  # launchers set the same variables for each
PROGRAM = """\
import os
@profile
def work():
    total = 0
    for _ in range(int(os.environ["OMPI_COMM_WORLD_RANK"]) + 1):
        total += 1
    return total
print("total", work())
"""
RANKS = 4


def open_mpi(rank: int, ranks: int = RANKS) -> dict[str, str]:
    """Return the variables of mpirun of Open MPI."""
    return {
        "OMPI_COMM_WORLD_RANK": str(rank),
        "OMPI_COMM_WORLD_SIZE": str(ranks),
        "OMPI_COMM_WORLD_LOCAL_RANK": str(rank % 2),
        "RANK_OF_MINE": str(rank),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a program whose hits depend on the rank."""
    write(tmp_path, "r.py", PROGRAM)
    return tmp_path


def profiles(folder: Path) -> list[str]:
    """Names of a folder's entries but the program."""
    return sorted(one.name for one in folder.iterdir() if one.suffix != ".py")


def test_each_rank_writes_a_file_and_the_first_one_prints_how_to_merge_them(
    folder: Path,
) -> None:
    for rank in range(RANKS):
        done = kernprof_forked("-l", "r.py", cwd=folder, env=open_mpi(rank))
        assert (done.status, done.err) == (0, "")
        program, *lines = done.out.splitlines()
        assert program == f"total {rank + 1}"
        if rank:
            assert lines == []
            continue
        written, _, view, merge, command = lines
        assert written == "Wrote profile results to 'r.r0000.lprof' (rank 0 of 4)"
        assert view.endswith("-m lineprof view r.r0000.lprof")
        assert merge == "Merge the profiles of all ranks with:"
        assert command.endswith("-m lineprof merge r.r*.lprof -o r.lprof")
    assert profiles(folder) == [f"r.r000{rank}.lprof" for rank in range(RANKS)]
    for rank in range(RANKS):
        name = f"r.r000{rank}.lprof"
        loop = {4: 1, 5: rank + 2, 6: rank + 1, 7: 1}
        assert hits_in(folder / name) == {"work": loop}
        (process,) = json.loads(viewer("view", "--json", name, cwd=folder).out)[
            "processes"
        ]
        assert (process["rank"], process["ranks"]) == (rank, RANKS)


@pytest.mark.parametrize("more", [{}, {"PMIX_RANK": "0", "PMIX_NAMESPACE": "prte.1"}])
def test_a_program_of_one_rank_is_named_as_one_that_runs_alone(
    folder: Path, more: dict[str, str]
) -> None:
    env = {**open_mpi(0, ranks=1), **more}
    done = kernprof_forked("-l", "r.py", cwd=folder, env=env)
    assert "Wrote profile results to 'r.lprof'\n" in done.out
    assert "merge" not in done.out
    assert profiles(folder) == ["r.lprof"]


def test_ranks_of_an_unknown_number_write_a_file_each(tmp_path: Path) -> None:
    write(tmp_path, "r.py", "@profile\ndef work(): pass\nwork()\n")
    for rank in range(2):
        kernprof_forked("-l", "r.py", cwd=tmp_path, env={"PMI_RANK": str(rank)})
    assert profiles(tmp_path) == ["r.r0000.lprof", "r.r0001.lprof"]


def test_tables_and_notes_are_printed_by_the_first_rank(folder: Path) -> None:
    write(folder, "idle.py", "@profile\ndef never(): pass\n")
    for rank in (0, 1):
        env = open_mpi(rank)
        shown = kernprof_forked("-lv", "r.py", cwd=folder, env=env).out
        assert ("Total time" in shown) == (rank == 0)
        details = kernprof_forked("-lvv", "r.py", cwd=folder, env=env).out
        assert ("core:" in details) == (rank == 0)
        quiet = kernprof_forked("-lq", "r.py", cwd=folder, env=env)
        assert (quiet.out, quiet.err) == (f"total {rank + 1}\n", "")
        assert bool(kernprof_forked("-l", "idle.py", cwd=folder, env=env).err) == (
            rank == 0
        )


def test_errors_are_printed_by_every_rank(folder: Path) -> None:
    write(folder, "gone.py", PROGRAM + "import shutil\nshutil.rmtree('out')\n")
    for rank in (0, 1):
        env = open_mpi(rank)
        wrong = kernprof_forked("-lo", "%x", "r.py", cwd=folder, env=env)
        assert (wrong.status, wrong.err.count("\n")) == (2, 1)
        (folder / "out").mkdir()
        lost = kernprof_forked("-lo", "out/", "gone.py", cwd=folder, env=env)
        assert (lost.status, lost.err.count("\n")) == (0, 1)  # its counts are kept
        assert f"out/gone.r000{rank}.lprof" in lost.err


def test_a_name_without_the_rank_gets_it(folder: Path) -> None:
    for rank in (0, 1):
        env = open_mpi(rank)
        done = kernprof_forked("-lo", "my run.lprof", "r.py", cwd=folder, env=env)
        if rank == 0:
            assert (
                "Wrote profile results to 'my run.r0000.lprof' (rank 0 of 4;"
                " 'my run.lprof' has no %r)\n" in done.out
            )
            assert "merge 'my run.r'*.lprof -o 'my run.lprof'\n" in done.out
    assert profiles(folder) == ["my run.r0000.lprof", "my run.r0001.lprof"]


def test_the_command_that_merges_can_be_repeated(folder: Path) -> None:
    for rank in (0, 1):
        env = open_mpi(rank, ranks=2)
        done = kernprof_forked("-lo", "%r.lprof", "r.py", cwd=folder, env=env)
        if rank == 0:
            command = done.out.splitlines()[-1]
    for _ in range(2):
        subprocess.run(command, cwd=folder, shell=True, check=True)  # noqa: S602
        assert hits_in(folder / "r.lprof") == {"work": {4: 2, 5: 5, 6: 3, 7: 2}}


@pytest.mark.parametrize("name", ["out", "out/", "new/"])
def test_a_folder_gets_files_with_the_default_names(folder: Path, name: str) -> None:
    (folder / "out").mkdir()
    where = folder / name
    kernprof_forked("-lqo", name, "r.py", cwd=folder, env=open_mpi(3))
    kernprof_forked("-lqo", name, "r.py", cwd=folder, env=open_mpi(0, ranks=1))
    assert profiles(where) == ["r.lprof", "r.r0003.lprof"]


def test_a_folder_that_cannot_be_made_is_refused(folder: Path) -> None:
    done = kernprof_forked("-lo", "no/new/", "r.py", cwd=folder, env=open_mpi(3))
    assert done.status == 2
    assert done.err == (
        "kernprof: cannot write the profile to 'no/new/r.r0003.lprof':"
        " there is no folder '%s'; make it, or choose another with -o\n"
        % (folder / "no/new")
    )


def test_programs_without_a_file_have_one_name_in_all_ranks(folder: Path) -> None:
    for rank in (0, 1):
        env = open_mpi(rank)
        done = kernprof_forked("-l", "-c", PROGRAM, cwd=folder, env=env)
        if rank == 0:
            words = shlex.split(done.out.splitlines()[-1])
            assert words[-3] == "kernprof-command.r*.lprof"
    assert profiles(folder) == [f"kernprof-command.r000{r}.lprof" for r in (0, 1)]


def name_of(template: str | None, rank: int = 3, ranks: int | None = 8) -> str:
    environ = {"PMI_RANK": str(rank), "PMI_SIZE": str(ranks)}
    if ranks is None:
        environ = {"PMIX_RANK": str(rank), "PMIX_NAMESPACE": "prte.1"}
    place = rank_of_process(environ)
    names = Names(stem="s", file_name="s.py", place=place)
    return output_name(template, names).name


@pytest.mark.parametrize(
    ("template", "name"),
    [
        (None, "s.r0003.lprof"),
        ("%r", "0003"),
        ("%s.%r-of-%n", "s.0003-of-8"),
        ("x", "x.r0003"),
        ("a.b/x.y.lprof", "a.b/x.y.r0003.lprof"),
        ("%%r.lprof", "%r.r0003.lprof"),
        ("%n.lprof", "8.r0003.lprof"),
        ("%q{PMI_RANK}.lprof", "3.lprof"),
        ("%q{PMI_SIZE}.lprof", "8.r0003.lprof"),
        ("%q{STRANGER}.lprof", "3.r0003.lprof"),
        ("%h.%q{MPI_LOCALRANKID}", "HOST.1"),
        ("%q{MPI_LOCALRANKID}", "1.r0003"),
        ("%p.lprof", "PID.r0003.lprof"),
        ("%h-%p.lprof", "HOST-PID.lprof"),
        ("/dev/null", "/dev/null"),
        ("", ""),
    ],
)
def test_names_of_a_rank(
    template: str | None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in (
        *(("PMI_RANK", "3"), ("PMI_SIZE", "8"), ("MPI_LOCALRANKID", "1")),
        ("STRANGER", "3"),
    ):
        monkeypatch.setenv(variable, value)
    here = name.replace("HOST", os.uname().nodename).replace("PID", str(os.getpid()))
    assert name_of(template) == here


def test_ranks_have_as_many_digits_as_the_last_one() -> None:
    assert name_of(None, 9, 10_000) == "s.r0009.lprof"
    assert name_of(None, 9, 10_001) == "s.r00009.lprof"
    assert name_of(None, 12_345, None) == "s.r12345.lprof"


def test_a_program_that_runs_alone_is_rank_0_of_1() -> None:
    names = Names(stem="s", file_name="s.py")
    assert output_name("%s.%r.%n", names).name == "s.0000.1"


def test_a_number_of_ranks_that_is_not_known_is_an_error() -> None:
    with pytest.raises(UsageError, match="PMIx does not say the number of ranks"):
        name_of("%n", 3, None)


EXPLICIT = """\
from lineprof import profile
@profile
def work():
    return 1
work()
print("done")
"""


def test_profiles_of_line_profile_have_the_rank_in_their_names(tmp_path: Path) -> None:
    write(tmp_path, "x.py", EXPLICIT)
    for rank in (0, 1):
        env = {**open_mpi(rank), "LINE_PROFILE": "1"}
        done = run(["x.py"], cwd=tmp_path, env=env)
        assert (done.status, done.err) == (0, "")
        assert (done.out == "done\n") == (rank == 1)
    names = [name for name in profiles(tmp_path) if "_2" not in name]  # with the time
    expected = [
        f"profile_output.r000{r}.{end}" for r in (0, 1) for end in ("lprof", "txt")
    ]
    assert names == expected
    assert hits_in(tmp_path / "profile_output.r0001.lprof") == {"work": {4: 1}}


def test_a_prefix_that_the_program_sets_stays(tmp_path: Path) -> None:
    start = "from lineprof import profile\nprofile.enable(output_prefix='mine-1')\n"
    write(tmp_path, "x.py", start + EXPLICIT)
    run(["x.py"], cwd=tmp_path, env=open_mpi(1))
    assert (tmp_path / "mine-1.lprof").exists()
