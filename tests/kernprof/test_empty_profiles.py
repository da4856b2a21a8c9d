"""Runs that count nothing: an earlier profile stays; --require-hits is about them."""

from __future__ import annotations

import marshal
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import hits_in, kernprof_forked, kernprof_here, run, write

import kernprof as kernprof_module
from kernprof.options import fill, parse
from kernprof.session import Session
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys
def search():
    return 1
search()
"""
DECORATED = """
import sys
@profile
def search():
    return 1
if "quiet" not in sys.argv:
    search()
if "fail" in sys.argv:
    sys.exit(3)
"""
CLASSES = "x = 1\n"  # no function at all
KEPT = "keeps the profile that it had; delete it to have an empty one\n"


def run_twice(folder: Path, first: list[str], second: list[str], name: str) -> bool:
    """Run kernprof with hits, and then without; return whether the profile is kept."""
    assert kernprof_here("-lq", *first, cwd=folder).status == 0
    before = (folder / name).read_bytes()
    assert hits_in(folder / name)
    outcome = kernprof_forked("-l", *second, cwd=folder)
    assert outcome.status == 0
    assert "Wrote" not in outcome.out
    assert outcome.err.count(KEPT) == 1
    return (folder / name).read_bytes() == before


def test_a_typing_error_in_a_name_keeps_the_earlier_profile(tmp_path: Path) -> None:
    write(tmp_path, "x.py", PROGRAM)
    assert run_twice(
        tmp_path,
        ["-p", "x.py::search", "x.py"],
        ["-p", "x.py::search_", "x.py"],
        "x.lprof",
    )


def test_the_status_of_a_run_that_counts_nothing_is_the_programs(
    tmp_path: Path,
) -> None:
    write(tmp_path, "x.py", DECORATED)
    kernprof_here("-lq", "x.py", cwd=tmp_path)
    outcome = kernprof_forked("-lq", "x.py", "quiet", "fail", cwd=tmp_path)
    assert (outcome.status, outcome.out) == (3, "")
    assert outcome.err == f"kernprof: nothing was counted: 'x.lprof' {KEPT}"


def test_a_decorated_function_that_is_not_called(tmp_path: Path) -> None:
    write(tmp_path, "x.py", DECORATED)
    words = ["-o", "out.lprof", "x.py"]
    assert run_twice(tmp_path, words, [*words, "quiet"], "out.lprof")


def test_a_whole_program_without_functions(tmp_path: Path) -> None:
    write(tmp_path, "x.py", PROGRAM)
    write(tmp_path, "y.py", CLASSES)
    out = ["-o", "out.lprof"]
    flags = ["--html", "--no-whole"]
    assert run_twice(tmp_path, [*out, "x.py"], [*out, *flags, "y.py"], "out.lprof")
    assert not (tmp_path / "out.lprof.html").exists()


def test_without_an_earlier_profile_an_empty_one_is_written(tmp_path: Path) -> None:
    write(tmp_path, "x.py", DECORATED)
    for _ in range(2):  # and the empty one is replaced
        outcome = kernprof_forked("-l", "x.py", "quiet", cwd=tmp_path)
        assert "Wrote profile results" in outcome.out
        assert "keeps" not in outcome.err
        assert hits_in(tmp_path / "x.lprof") == {"search": {}}


def test_a_file_that_is_no_profile_is_replaced(tmp_path: Path) -> None:
    write(tmp_path, "x.py", DECORATED)
    (tmp_path / "x.lprof").write_text("something else")
    kernprof_forked("-l", "x.py", "quiet", cwd=tmp_path)
    assert hits_in(tmp_path / "x.lprof") == {"search": {}}


@pytest.mark.parametrize("live", [{}, {"LINEPROF_LIVE": "off"}])
def test_hits_of_children_alone_replace_the_earlier_profile(
    tmp_path: Path, live: dict[str, str]
) -> None:
    text = f"{DECORATED}\nimport os\nif not os.fork():\n    search()\n    search()\n"
    write(tmp_path, "x.py", f"{text}else:\n    os.wait()\n")
    kernprof_forked("-lq", "x.py", cwd=tmp_path)
    outcome = kernprof_forked(
        "-lq", "--require-hits", "x.py", "quiet", cwd=tmp_path, env=live
    )
    assert (outcome.status, outcome.err) == (0, "")
    assert hits_in(tmp_path / "x.lprof") == {"search": {5: 2}}


def test_cprofile_of_decorated_functions(tmp_path: Path) -> None:
    write(tmp_path, "x.py", DECORATED)
    kernprof_forked("-bq", "x.py", cwd=tmp_path)
    before = (tmp_path / "x.prof").read_bytes()
    assert marshal.loads(before)  # noqa: S302  # kernprof wrote it
    outcome = kernprof_forked("-b", "x.py", "quiet", cwd=tmp_path)
    assert outcome.status == 0
    assert KEPT in outcome.err
    assert (tmp_path / "x.prof").read_bytes() == before


def test_the_profile_so_far_without_hits_keeps_the_earlier_one(tmp_path: Path) -> None:
    # As of -i and `lineprof ctl`.
    write(tmp_path, "x.py", DECORATED)
    kernprof_here("-lq", "x.py", cwd=tmp_path)
    path = tmp_path / "x.lprof"
    before = path.read_bytes()
    options = parse(["-lq", "-o", str(path), str(tmp_path / "x.py")])
    fill(options)
    session = Session(options)
    with pytest.raises(LineprofError, match="keeps the profile"):
        session.write_so_far("")
    assert path.read_bytes() == before
    session.write_so_far(str(tmp_path / "other.lprof"))
    assert hits_in(tmp_path / "other.lprof") == {}


@pytest.mark.parametrize(
    ("words", "status"), [([], 1), (["fail"], 3)], ids=["success", "failure"]
)
def test_required_hits_that_are_missing_are_a_failure(
    tmp_path: Path, words: list[str], status: int
) -> None:
    write(tmp_path, "x.py", DECORATED)
    outcome = kernprof_forked(
        "-lq", "--require-hits", "x.py", "quiet", *words, cwd=tmp_path
    )
    assert (outcome.status, outcome.out) == (status, "")
    assert outcome.err == (
        "kernprof: nothing was counted, which --require-hits makes a failure; see that"
        " what is to be profiled has the right name, and is called\n"
    )
    assert (tmp_path / "x.lprof").exists()


def test_required_hits_that_are_there(tmp_path: Path) -> None:
    write(tmp_path, "x.py", PROGRAM)
    outcome = kernprof_forked("-lq", "--require-hits", "x.py", cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")


def test_required_hits_of_a_run_within_a_process(tmp_path: Path) -> None:
    write(tmp_path, "x.py", DECORATED)
    out = str(tmp_path / "x.lprof")
    words = ["-lq", "--require-hits", "-o", out, str(tmp_path / "x.py"), "quiet"]
    with pytest.raises(LineprofError, match="nothing was counted"):
        kernprof_module.main(words, exit_on_error=False)


def test_any_command_without_hits(tmp_path: Path) -> None:
    write(tmp_path, "x.py", DECORATED)
    words = ["-m", "lineprof", "run", "--children", "-o", "out.lprof"]
    command = ["--", sys.executable, "x.py"]
    run([*words, "-q", *command], cwd=tmp_path)
    before = (tmp_path / "out.lprof").read_bytes()
    outcome = run([*words, "--require-hits", *command, "quiet"], cwd=tmp_path)
    assert outcome.status == 1
    assert outcome.err.count(KEPT) == 1
    assert "--require-hits makes a failure" in outcome.err
    assert (tmp_path / "out.lprof").read_bytes() == before


def test_pytest_that_calls_nothing_keeps_the_earlier_profile(tmp_path: Path) -> None:
    write(tmp_path, "test_x.py", "def test_x():\n    pass\n")
    words = ["-m", "pytest", "-p", "no:cacheprovider", "--lineprof"]
    run([*words, "."], cwd=tmp_path)
    before = (tmp_path / "pytest.lprof").read_bytes()
    assert hits_in(tmp_path / "pytest.lprof")["test_x"] == {2: 1}
    (tmp_path / "test_x.py").unlink()
    outcome = run([*words, "."], cwd=tmp_path)
    assert outcome.out.count(KEPT) == 1
    assert (tmp_path / "pytest.lprof").read_bytes() == before
