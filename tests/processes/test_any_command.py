"""lineprof run --children -- COMMAND: every Python process below is profiled."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from as_python import Outcome, hits_in, run, write
from deadline import DEADLINE

from lineprof import load_stats

SCRIPT = """\
def f(n):
    return n
for i in range({calls}):
    f(i)
"""


@pytest.fixture(autouse=True)
def _own_live_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep live files and folders of a test apart: `recover` takes all there are."""
    monkeypatch.setenv("LINEPROF_LIVE", str(tmp_path / "live"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))


def lineprof_run(*words: str, cwd: Path) -> Outcome:
    """Run any command under ``lineprof run``."""
    return run(["-m", "lineprof", "run", "--children", *words], cwd=cwd)


def left_in(folder: Path) -> list[Path]:
    """Return the live files and the folders of runs that a test has left."""
    return [
        path for name in ("live", "temporary") for path in (folder / name).iterdir()
    ]


def test_a_shell_script(tmp_path: Path) -> None:
    write(tmp_path, "one.py", SCRIPT.format(calls=3))
    write(tmp_path, "two.py", SCRIPT.format(calls=4))
    python = sys.executable
    text = f"{python} one.py\n{python} two.py &\nwait\n{python} -m two\nexit 7\n"
    write(tmp_path, "job.sh", text)
    outcome = lineprof_run("-q", "-o", "job.lprof", "--", "sh", "job.sh", cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (7, "", "")
    calls = {
        Path(one.file).name: one.calls
        for one in load_stats(tmp_path / "job.lprof").functions
        if one.name == "f"
    }
    assert calls == {"one.py": 3, "two.py": 8}


def test_a_decorated_function_in_it_is_profiled_alone(tmp_path: Path) -> None:
    write(tmp_path, "one.py", "@profile\n" + SCRIPT.format(calls=3))
    outcome = lineprof_run("--", sys.executable, "one.py", cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    name = Path(sys.executable).stem
    assert f"Wrote profile results of 1 process to '{name}.lprof'\n" in outcome.out
    assert hits_in(tmp_path / f"{name}.lprof") == {"f": {3: 3}}


def test_the_output_and_the_status_are_those_of_the_command(tmp_path: Path) -> None:
    write(tmp_path, "one.py", "import sys\nprint(sys.stdin.read())\nsys.exit(5)\n")
    words = ["-m", "lineprof", "run", "--children", "-qo", "x.lprof", "--"]
    outcome = run([*words, sys.executable, "one.py"], cwd=tmp_path, text="in")
    assert outcome == Outcome(5, "in\n", "")
    killed = ("sh", "-c", f"{sys.executable} one.py; kill -TERM $$")
    assert lineprof_run("-q", "--", *killed, cwd=tmp_path).status == -signal.SIGTERM


def test_a_command_that_is_killed_has_that_status(tmp_path: Path) -> None:
    outcome = lineprof_run("--", "sh", "-c", "kill -9 $$", cwd=tmp_path)
    assert outcome.status == -signal.SIGKILL
    assert outcome.err.count("\n") == 1
    assert "nothing was profiled" in outcome.err


def test_a_script_without_an_interpreter_is_one_of_the_shell(tmp_path: Path) -> None:
    write(tmp_path, "one.py", SCRIPT.format(calls=3))
    write(tmp_path, "bin/job", f'{sys.executable} one.py\nexit "$1$2"\n')
    (tmp_path / "bin/job").chmod(0o755)
    words = ("-q", "-o", "a.lprof", "--")
    assert lineprof_run(*words, "bin/job", "4", "2", cwd=tmp_path).status == 42
    assert hits_in(tmp_path / "a.lprof")["f"] == {2: 3}
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    found = run(
        ["-m", "lineprof", "run", "--children", *words, "job", "4", "3"],
        cwd=tmp_path,
        env={"PATH": path},
    )
    assert found == Outcome(43, "", "")


@pytest.mark.parametrize("name", ["", "o.%r.lprof"])
def test_each_rank_has_a_profile_and_the_first_one_prints(
    tmp_path: Path, name: str
) -> None:
    write(tmp_path, "one.py", "import os\n" + SCRIPT.format(calls=3))
    flags = ("-o", name) if name else ()
    told = []
    for rank in range(2):
        env = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2"}
        words = ["-m", "lineprof", "run", "--children", *flags, "--"]
        outcome = run(
            [*words, "sh", "-c", f"{sys.executable} one.py"], cwd=tmp_path, env=env
        )
        assert (outcome.status, outcome.err) == (0, "")
        told.append(outcome.out)
        nothing = run([*words, "sh", "-c", ":"], cwd=tmp_path, env=env)
        assert ("nothing was profiled" in nothing.err) == (rank == 0)
    names = [
        f"o.000{rank}.lprof" if name else f"sh.r000{rank}.lprof" for rank in range(2)
    ]
    assert sorted(path.name for path in tmp_path.glob("*.lprof")) == names
    for rank, one in enumerate(names):
        assert load_stats(tmp_path / one).processes[0].rank == rank
        assert hits_in(tmp_path / one)["f"] == {3: 3}
    assert told[1] == ""
    assert (
        f"Wrote profile results of 1 process to '{names[0]}' (rank 0 of 2)" in told[0]
    )
    assert f"-m lineprof merge {'o.*' if name else 'sh.r*'}.lprof -o" in told[0]


@pytest.mark.parametrize("flags", [(), ("--split",), ("--trace",)])
def test_a_run_that_is_killed_is_recovered(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    write(tmp_path, "one.py", SCRIPT.format(calls=3))
    words = ("sh", "-c", f"{sys.executable} one.py; kill -9 $PPID")
    lineprof_run("-q", "-o", "a.lprof", "--", sys.executable, "-c", "1", cwd=tmp_path)
    write(tmp_path, "a.lprof", "an earlier file")
    outcome = lineprof_run("-q", *flags, "-o", "a.lprof", "--", *words, cwd=tmp_path)
    assert outcome == Outcome(-signal.SIGKILL, "", "")
    done = run(["-m", "lineprof", "recover"], cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    assert f"Recovered {tmp_path / 'a.lprof'} (process " in done.out
    assert hits_in(tmp_path / "a.lprof")["f"] == {2: 3}
    assert any(
        "recovered: process" in one for one in load_stats(tmp_path / "a.lprof").warnings
    )
    assert left_in(tmp_path) == []


def test_a_run_that_is_killed_before_any_python_ended_leaves_nothing(
    tmp_path: Path,
) -> None:
    lineprof_run("-q", "--", "sh", "-c", "kill -9 $PPID", cwd=tmp_path)
    done = run(["-m", "lineprof", "recover"], cwd=tmp_path)
    assert done == Outcome(0, "there is nothing to recover\n", "")
    assert left_in(tmp_path) == []


def test_a_command_that_ends_as_a_missing_one_is_profiled(tmp_path: Path) -> None:
    write(tmp_path, "one.py", SCRIPT.format(calls=3))
    words = ("sh", "-c", f"{sys.executable} one.py; no-such-command 2>/dev/null")
    assert lineprof_run("-q", "-o", "a.lprof", "--", *words, cwd=tmp_path).status == 127
    assert hits_in(tmp_path / "a.lprof")["f"]


def test_a_command_has_the_usual_signals(tmp_path: Path) -> None:
    words = ("sh", "-c", "yes | head -1")
    plain = subprocess.run(words, capture_output=True, check=True, cwd=tmp_path)
    assert (plain.stdout, plain.stderr) == (b"y\n", b"")
    outcome = lineprof_run("-q", "--", *words, cwd=tmp_path)
    assert (outcome.status, outcome.out) == (0, "y\n")
    assert "yes" not in outcome.err


def test_children_that_the_starter_ignores_are_waited_for(tmp_path: Path) -> None:
    run_it = f"{sys.executable} -m lineprof run --children -q --"
    command = f"{run_it} sh -c 'sleep 0.1; exit 9'"
    words = ("sh", "-c", f"trap '' CHLD; exec {command}")
    done = subprocess.run(words, check=False, cwd=tmp_path, timeout=DEADLINE)
    assert done.returncode == 9


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    outcome = lineprof_run("--", "./nonsense", cwd=tmp_path)
    said = "lineprof run: cannot run './nonsense': No such file or directory\n"
    assert outcome == Outcome(127, "", said)
    outcome = lineprof_run("--", cwd=tmp_path)
    said = "lineprof run: no command follows --; name a program\n"
    assert outcome == Outcome(1, "", said)


@pytest.mark.parametrize("flags", [(), ("--trace",)])
def test_what_cannot_be_written_is_kept_as_the_message_says(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path, "one.py", SCRIPT.format(calls=3))
    words = ("sh", "-c", f"{sys.executable} one.py; rmdir out")
    outcome = lineprof_run(
        "-q", *flags, "-o", "out/a.lprof", "--", *words, cwd=tmp_path
    )
    assert outcome.status == 1
    assert outcome.err.count("\n") == 1
    (tmp_path / "out").mkdir()
    found = re.search(
        r"the profiles in (\S+) are kept for `lineprof merge`", outcome.err
    )
    assert bool(found) == bool(flags)
    assert ("the counts are kept for `lineprof recover`" in outcome.err) == (not flags)
    command = ["merge", found[1], "-o", "out/a.lprof"] if found else ["recover"]
    assert run(["-m", "lineprof", *command], cwd=tmp_path).status == 0
    assert hits_in(tmp_path / "out" / "a.lprof")["f"]
    if found:
        shutil.rmtree(found[1])


@pytest.mark.skipif(sys.platform != "linux", reason="no ancestors are known here")
def test_a_python_without_the_variable_is_profiled(tmp_path: Path) -> None:
    write(tmp_path, "one.py", SCRIPT.format(calls=3))
    command = ("env", "-i", sys.executable, "one.py")
    outcome = lineprof_run("-o", "x.lprof", "--", *command, cwd=tmp_path)
    assert (outcome.status, outcome.err) == (0, "")
    assert hits_in(tmp_path / "x.lprof")["f"]


def test_a_command_that_clears_the_environment_is_said_to_be(tmp_path: Path) -> None:
    command = ("env", "-i", sys.executable, "-S", "-c", "")
    outcome = lineprof_run("-o", "x.lprof", "--", *command, cwd=tmp_path)
    assert (outcome.status, outcome.out) == (0, "")
    assert "nothing was profiled: no Python with lineprof saw the var" in outcome.err
    assert not (tmp_path / "x.lprof").exists()
    write(tmp_path, "sudo", '#!/bin/sh\nexec env -i "$@"\n')
    (tmp_path / "sudo").chmod(0o755)
    command = ("./sudo", sys.executable, "-S", "-c", "")  # as if another user ran it
    outcome = lineprof_run("--", *command, cwd=tmp_path)
    said = "put sudo first: sudo lineprof run ..."
    assert (outcome.status, said in outcome.err) == (0, True)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "SIGINT"])
def test_signals_are_passed_on(tmp_path: Path, name: str) -> None:
    program = f"""
        import os, signal, sys, time
        def handler(number, frame):
            os.write(1, b"received %d\\n" % number)
            sys.exit(3)
        signal.signal(signal.{name}, handler)
        os.write(1, b"ready\\n")
        while True:
            time.sleep(0.01)
        """
    write(tmp_path, "waits.py", program)
    words = ["-m", "lineprof", "run", "--children", "-qo", "x.lprof", "--"]
    process = subprocess.Popen(
        [sys.executable, *words, sys.executable, "waits.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    number = getattr(signal, name)
    process.send_signal(number)
    assert process.stdout.read() == f"received {int(number)}\n".encode()
    process.stdout.close()
    assert process.wait(DEADLINE) == 3
    assert "handler" in hits_in(tmp_path / "x.lprof")
