"""Words that a newcomer gives to kernprof: messages name what is meant."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from as_python import Outcome, kernprof_forked, kernprof_here, run, write

ALONE = "lineprof run: functions alone were timed"
HOW = f"{ALONE}; to time lines, give -l before the program: lineprof run"


def lineprof(*words: str, cwd: Path) -> Outcome:
    """Run the command lineprof in a folder."""
    return run(["-m", "lineprof", *words], cwd=cwd)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with a program that prints its arguments on standard error."""
    text = "import sys\nprint(*sys.argv[1:], file=sys.stderr)\n"
    write(tmp_path, "x.py", text)
    write(tmp_path, "fails.py", text + "1 / 0\n")
    write(tmp_path, "package/__init__.py", "")
    write(tmp_path, "package/module.py", text)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("x.py", "-l x.py"),
        ("-v x.py a --b=c", "-l x.py"),
        ("-m package.module -x", "-l -m package.module"),
        ("-c 1 -x", "-l -c 1"),
    ],
)
def test_a_run_without_l_says_how_to_time_lines(
    folder: Path, words: str, command: str
) -> None:
    outcome = lineprof("run", *words.split(), cwd=folder)
    assert outcome.status == 0
    assert outcome.err.splitlines()[-1] == f"{HOW} {command}"
    assert kernprof_forked(*command.split(), cwd=folder).status == 0


@pytest.mark.parametrize(
    ("arguments", "ours"),
    [
        ("-l -v", "-l"),
        ("-lv a", "-lv"),
        ("a -zlv -n 3", "-zlv"),
        ("--line-by-line --view", "--line-by-line"),
    ],
)
def test_an_l_behind_the_program_is_its_own(
    folder: Path, arguments: str, ours: str
) -> None:
    outcome = lineprof("run", "x.py", *arguments.split(), cwd=folder)
    assert outcome.err == (
        f"{arguments}\n{ALONE}: flags after the program are its own ({ours});"
        f" to time lines: lineprof run -l x.py\n"
    )


@pytest.mark.parametrize(
    "arguments",
    ["", "-h --help -V", "- --", "-x -5 -log l", "-v", "-q", "-n 1 -r 1 -v pass"],
)
def test_other_flags_of_a_program_are_not_mentioned(
    folder: Path, arguments: str
) -> None:
    outcome = lineprof("run", "x.py", *arguments.split(), cwd=folder)
    assert outcome.err.splitlines()[-1] == f"{HOW} -l x.py"


def test_kernprof_says_so_at_a_terminal_alone(folder: Path) -> None:
    assert kernprof_forked("x.py", "-l", cwd=folder).err == "-l\n"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "kernprof", "x.py", "-l"]
    done = subprocess.run(
        command, cwd=folder, stderr=theirs, stdout=subprocess.PIPE, check=True
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # at the end, on Linux
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    assert done.stdout.startswith(b"Wrote profile results to 'x.prof'\n")
    assert b"kernprof: functions alone were timed: flags after" in shown


@pytest.mark.parametrize("words", ["-q x.py -l", "-l x.py -l", "-b x.py", "-qq x.py"])
def test_a_run_that_is_quiet_or_chosen_says_nothing(folder: Path, words: str) -> None:
    assert ALONE not in lineprof("run", *words.split(), cwd=folder).err


def test_a_program_that_fails_has_the_last_word(folder: Path) -> None:
    plain = run(["fails.py"], cwd=folder)
    assert lineprof("run", "fails.py", cwd=folder).err == plain.err
    given = lineprof("run", "fails.py", "-l", cwd=folder).err
    assert f"{ALONE}: flags after the program are its own (-l)" in given


def test_a_call_of_main_says_nothing(folder: Path) -> None:
    assert kernprof_here("x.py", cwd=folder).err == "\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--htlm x.py", "unknown flag --htlm; did you mean --html?"),
        ("--verbos-e x.py", "unknown flag --verbos-e; did you mean --verbose?"),
        (
            "--lines x.py",
            "unknown flag --lines; did you mean --line-by-line or --trace-lines?",
        ),
        ("-l --hot x.py", "unknown flag --hot; after the run: lineprof view --hot"),
        ("-l --sort x.py", "unknown flag --sort; after the run: lineprof view --sort"),
        ("-l --top 5 x.py", "unknown flag --top; kernprof --help lists all flags, "),
        ("--output x x.py", "cannot find script 'x'; leave out 'x': the program"),
        ("--profile x.py", "--profile is no flag; -p NAME profiles functions"),
        ("-l -o x.py", "no program to run was given; x.py is the value of -o: the"),
        ("-lvp x.py", "no program to run was given; x.py is the value of -lvp:"),
        ("help", "cannot find script 'help'; kernprof --help prints it"),
        ("--module x", "--module is no flag; -m NAME runs a module"),
        ("-l --gpu=on x.py", "--gpu: bad value 'on'; give auto or nvtx or off"),
        ("run x.py", "cannot find script 'run'; leave out 'run': the program comes"),
        ("vew x.lprof", "cannot find script 'vew'; lineprof view x.lprof shows"),
        ("package.module", "cannot find script 'package.module'; a module is run by"),
        ("x", "cannot find script 'x'; a module is run by -m x"),
    ],
)
def test_a_wrong_word_is_one_line_with_what_is_meant(
    folder: Path, words: str, line: str
) -> None:
    outcome = kernprof_forked(*words.split(), cwd=folder)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"kernprof: {line}")
    assert outcome.err.count("\n") == 1


def test_python_itself_is_left_out(folder: Path) -> None:
    place = Path(sys.executable)
    env = {"PATH": str(place.parent)}
    outcome = kernprof_forked("-l", place.name, "x.py", cwd=folder, env=env)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"kernprof: {str(place)!r} is no Python script: it")
    said = f"; leave out {place.name!r}: the program comes first\n"
    assert outcome.err.endswith(said)


def test_a_profile_is_no_script(folder: Path) -> None:
    assert kernprof_forked("-lq", "x.py", cwd=folder).status == 0
    outcome = kernprof_forked("-l", "x.lprof", cwd=folder)
    said = "x.lprof is a profile; lineprof view x.lprof shows it"
    assert (outcome.status, outcome.err) == (2, f"kernprof: {said}\n")
