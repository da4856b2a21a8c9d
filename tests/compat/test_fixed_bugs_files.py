"""Fixed bugs of line_profiler: files, folders, command lines and terminals."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest
from as_python import kernprof, run, viewer, write
from tables import profiled, tables

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("hook")

PROGRAM = """\
@profile
def work(n):
    return n

work(1)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a small program."""
    write(tmp_path, "x.py", PROGRAM)
    return tmp_path


def view(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run the viewer; return its status, output and errors."""
    shown = viewer("view", *words, cwd=folder)
    return shown.status, shown.out, shown.err


def test_a_script_that_changes_folder_is_found_with_its_profile(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    write(folder, "x.py", "import os\nos.chdir('elsewhere')\n" + PROGRAM)
    outcome = kernprof("-lv", "x.py", cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    assert not list((folder / "elsewhere").iterdir())
    assert tables(outcome.out)["work"].source(5) == "return n"
    _, out, _ = view(folder / "elsewhere", "../x.lprof")
    assert tables(out)["work"].source(5) == "return n"


def test_an_edited_source_gives_a_warning_and_is_not_shown(folder: Path) -> None:
    assert kernprof("-lq", "x.py", cwd=folder).status == 0
    write(folder, "x.py", PROGRAM.replace("return n", "raise OSError(n)"))
    status, out, err = view(folder, "x.lprof")
    assert status == 0
    assert tables(out)["work"].source(3) == "return n"
    [note] = [line for line in out.splitlines() if line.startswith("Note: ")]
    assert "x.py" in note
    assert "changed" in note
    assert err == ""


@pytest.mark.parametrize("flag", ["-r", "-m", "-t"])
def test_output_to_a_pipe_has_no_colour(folder: Path, flag: str) -> None:
    assert kernprof("-lq", "x.py", cwd=folder).status == 0
    status, out, err = view(folder, flag, "x.lprof")
    assert (status, err) == (0, "")
    assert "\x1b" not in out
    assert "Total time" in out


def test_output_of_kernprof_to_a_pipe_has_no_colour(folder: Path) -> None:
    outcome = kernprof("-lvr", "x.py", cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    assert "\x1b" not in outcome.out
    assert "Total time" in outcome.out


def test_the_imported_decorator_writes_no_colour(tmp_path: Path) -> None:
    write(tmp_path, "x.py", "from lineprof import profile\n" + PROGRAM)
    outcome = run(["x.py"], cwd=tmp_path, env={"LINE_PROFILE": "1"})
    assert (outcome.status, outcome.err) == (0, "")
    assert "\x1b" not in outcome.out
    texts = list(tmp_path.glob("profile_output*.txt"))
    assert all("\x1b" not in path.read_text(encoding="utf-8") for path in texts)


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 100, b"text\n", b"\x80\x04.", b"SQLite format 3\0", b"(lp0\n."],
)
def test_a_malformed_profile_is_an_error_of_one_line(folder: Path, data: bytes) -> None:
    (folder / "bad.lprof").write_bytes(data)
    status, out, err = view(folder, "bad.lprof")
    assert (status, out) == (1, "")
    assert err.startswith("lineprof: ")
    assert "bad.lprof" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "name"),
    [(["gone.lprof"], "gone.lprof"), (["."], "."), (["x.py"], "x.py")],
)
def test_a_path_that_is_no_profile_is_an_error_of_one_line(
    folder: Path, words: list[str], name: str
) -> None:
    status, out, err = view(folder, *words)
    assert (status, out) == (1, "")
    assert name in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("words", [["-l", "gone.py"], ["-l", "-m", "gone"]])
def test_a_missing_program_is_an_error_of_one_line(
    folder: Path, words: list[str]
) -> None:
    outcome = kernprof(*words, cwd=folder)
    assert outcome.status != 0
    assert outcome.out == ""
    assert "gone" in outcome.err
    assert len(outcome.err.splitlines()) == 1


class Evil:
    """An object that runs a command when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.marker), "w")


def evil_files(marker: Path) -> dict[str, bytes]:
    """Return malicious files by name, which create `marker` when unpickled."""
    evil = Evil(marker)
    opened = f"(S'{marker}'\nS'w'\n"
    return {
        "whole.lprof": pickle.dumps(evil),
        "inside.lprof": pickle.dumps({"timings": {("f", 1, "g"): evil}, "unit": 1e-9}),
        "old.lprof": f"cio\nopen\n{opened}tR.".encode(),
        "named.lprof": b"cline_profiler.line_profiler\nsys.modules\n.",
        "state.lprof": b"cline_profiler._line_profiler\nLineStats\n)R"
        + f"cio\nopen\n{opened}tRb.".encode(),
    }


@pytest.mark.parametrize(
    "name", ["whole.lprof", "inside.lprof", "old.lprof", "named.lprof", "state.lprof"]
)
def test_a_malicious_file_executes_nothing(tmp_path: Path, name: str) -> None:
    marker = tmp_path / "executed"
    (tmp_path / name).write_bytes(evil_files(marker)[name])
    status, out, err = view(tmp_path, name)
    assert not marker.exists()
    assert (status, out) == (1, "")
    assert name in err
    assert len(err.splitlines()) == 1
    with_python = run(
        ["-c", f"import lineprof; lineprof.load_stats({name!r})"], cwd=tmp_path
    )
    assert not marker.exists()
    assert "LineprofError" in with_python.err


def test_the_malicious_file_is_harmful_to_pickle(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    pickle.loads(evil_files(marker)["whole.lprof"]).close()  # noqa: S301 - under test
    assert marker.exists()


def test_without_l_a_name_error_of_the_decorator_has_a_hint(folder: Path) -> None:
    outcome = kernprof("x.py", cwd=folder)
    *traceback, advice = outcome.err.splitlines()
    assert outcome.status == 1
    assert "NameError" in traceback[-1]
    assert advice.startswith("kernprof: ")
    assert "kernprof -l x.py" in advice
    # The traceback has frames of the program alone.
    assert [line for line in traceback if "File" in line] == [
        line for line in traceback if 'x.py", line 1' in line
    ]


def test_the_imported_decorator_is_silent_under_python_alone(folder: Path) -> None:
    write(folder, "x.py", "from lineprof import profile\n" + PROGRAM)
    outcome = run(["x.py"], cwd=folder, env={"LINE_PROFILE": ""})
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")


@pytest.mark.parametrize(
    "words",
    [
        ["--line-by-line", "x.py"],
        ["-l", "--skip-zero", "x.py"],
        ["-l", "--view", "x.py"],
        ["-l", "-i", "x.py"],
        ["-lz", "--rich", "x.py"],
    ],
)
def test_a_long_flag_does_not_swallow_the_script(
    folder: Path, words: list[str]
) -> None:
    outcome = kernprof("-o", "x.lprof", *words, cwd=folder)
    assert (outcome.status, outcome.err) == (0, "")
    _, out, _ = view(folder, "--rich", "x.lprof")
    assert tables(out)["work"].hits() == {3: 1}


def test_a_script_that_ends_by_os_exit_claims_no_written_file(
    folder: Path,
) -> None:
    write(folder, "x.py", PROGRAM + "import os\nos._exit(7)\n")
    outcome = kernprof("-l", "x.py", cwd=folder)
    assert outcome.status == 7
    assert "Wrote" not in outcome.out


def test_a_child_process_does_not_overwrite_the_profile(
    folder: Path,
) -> None:
    write(
        folder,
        "x.py",
        f"import subprocess, sys\n{PROGRAM}"
        "if len(sys.argv) == 1:\n"
        "    child = [sys.executable, '-c', 'print(1)']\n"
        "    subprocess.run(child, check=True)\n",
    )
    assert profiled(folder, "x.py", output="1\n")["work"].hits() == {4: 1}


def test_the_sum_of_two_files_is_shown(folder: Path) -> None:
    for name in ("a.lprof", "b.lprof"):
        assert kernprof("-lq", "-o", name, "x.py", cwd=folder).status == 0
    status, out, err = view(folder, "a.lprof", "b.lprof")
    said = "these are sums of 2 profiles; lineprof diff BEFORE AFTER compares two"
    assert (status, err) == (0, f"lineprof: {said}\n")
    assert tables(out)["work"].hits() == {3: 2}


def test_lines_before_a_reset_are_not_counted(folder: Path) -> None:
    write(folder, "x.py", PROGRAM + "profile.reset()\nwork(2)\n")
    assert profiled(folder, "x.py")["work"].hits() == {3: 1}
