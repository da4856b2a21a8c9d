"""Programs that die in every way: the profile has all hits, or is recovered."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import Outcome, hits_in, kernprof_forked, run, viewer, write
from deadline import DEADLINE

from lineprof import load_stats

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PROGRAM = """\
import ctypes, os, signal, sys, time
@profile
def inner(n):
    for i in range(n):
        pass
@profile
def main(how):
    for k in range(10):
        inner(5)
    END[how]()
def killed(number):
    os.kill(os.getpid(), number)
    time.sleep(60)
def failing():
    raise ValueError("no")
END = {
    "SIGTERM": lambda: killed(signal.SIGTERM),
    "SIGKILL": lambda: killed(signal.SIGKILL),
    "SIGINT": lambda: killed(signal.SIGINT),
    "SIGHUP": lambda: killed(signal.SIGHUP),
    "SIGUSR1": lambda: killed(signal.SIGUSR1),
    "SIGALRM": lambda: (signal.setitimer(signal.ITIMER_REAL, 0.01), time.sleep(60)),
    "SIGABRT": os.abort,
    "SIGSEGV": lambda: ctypes.string_at(0),
    "os._exit": lambda: os._exit(3),
    "os.exec": lambda: os.execv(sys.executable, [sys.executable, "-c", "exit(5)"]),
    "exception": failing,
    "sys.exit": lambda: sys.exit(4),
}
main(sys.argv[1])
"""
HITS = {"inner": {4: 60, 5: 50}, "main": {8: 11, 9: 10, 10: 1}}
WRITTEN = ("SIGTERM", "SIGINT", "SIGHUP", "exception", "sys.exit")
KILLED = "it was killed (SIGKILL, lack of memory), its stack overflowed, or it left"
REASONS = {
    **dict.fromkeys(("SIGKILL", "os._exit", "os.exec"), KILLED),
    **{name: f"it died of {name}" for name in ("SIGUSR1", "SIGALRM", "SIGABRT")},
    "SIGSEGV": "it died of SIGSEGV",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with the program, and one for its live files below it."""
    monkeypatch.setenv("LINEPROF_LIVE", str(tmp_path / "live"))
    write(tmp_path, "x.py", PROGRAM)
    return tmp_path


def live_files(folder: Path) -> list[Path]:
    """Return the live files below a folder."""
    return list((folder / "live").iterdir())


def json_hits(folder: Path, name: str) -> dict[str, dict[int, int]]:
    """Return the hits by line of each function, as the view in JSON has them."""
    done = viewer("view", "--json", name, cwd=folder)
    assert done.status == 0
    found: dict[str, dict[int, int]] = {}
    for function in json.loads(done.out)["functions"]:
        lines = {line["line"]: line["hits"] for line in function["lines"]}
        found[function["name"]] = {k: v for k, v in lines.items() if v}
    return found


def die(folder: Path, how: str, *flags: str) -> Outcome:
    """Run the program under kernprof; check that it ends as under python."""
    write(folder, "builtin.py", "import builtins; builtins.profile = lambda f: f")
    starter = "import builtins; builtins.profile = lambda f: f; import sys\n"
    starter += "exec(compile(open('x.py').read(), 'x.py', 'exec'))"
    plain = run(["-c", starter, how], cwd=folder)
    ours = kernprof_forked("-lq", *flags, "x.py", how, cwd=folder)
    assert ours.status == plain.status
    return ours


@pytest.mark.smoke
@pytest.mark.parametrize("how", [*WRITTEN, *REASONS])
def test_view_has_all_hits_of_a_program_that_died(folder: Path, how: str) -> None:
    die(folder, how)
    assert (folder / "x.lprof").exists() == (how in WRITTEN)
    programs = 2 if how == "os.exec" else 1  # that process ran
    assert len(live_files(folder)) == (programs if how in REASONS else 0)
    done = viewer("view", "x.lprof", cwd=folder)
    assert done.status == 0
    if how in REASONS:
        assert "recovered" in done.err
        assert REASONS[how] in done.err
        assert "Note: recovered: process" in done.out
    else:
        assert "recovered" not in done.out + done.err
    hits = hits_in(folder / "x.lprof")
    assert {name: hits[name] for name in HITS} == HITS
    assert json_hits(folder, "x.lprof") == HITS
    assert not live_files(folder)


DEEP = """\
import os, signal, sys
@profile
def leaf():
    pass
@profile
def f(times):
    leaf()
    if times:
        f(times - 1)
@profile
def a():
    f(1)
@profile
def b():
    f(2)
    a()
@profile
def main(how):
    a()
    b()
    a()
    b()
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1])
"""


def test_calls_below_the_kept_call_paths_are_recovered_as_they_were_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_MAX_PATHS", "4")
    write(folder, "deep.py", DEEP)
    for how in ("exit", "kill"):
        kernprof_forked("-lqo", how, "deep.py", how, cwd=folder)
    assert viewer("recover", cwd=folder).status == 0
    found = []
    for how in ("exit", "kill"):
        tree = load_stats(folder / how).calls
        nodes = tree.nodes
        assert sum(node.self_ns for node in nodes) == nodes[0].inclusive_ns
        found.append(
            (
                [(one.parent, one.line, one.function, one.calls) for one in nodes],
                {one[:6] for one in tree.merged},
                tree.folded,
            )
        )
    assert found[0] == found[1]
    assert found[0][2]


def test_recover_writes_all_profiles_where_the_runs_would_have(folder: Path) -> None:
    (folder / "a").mkdir()
    for name in ("a/one.lprof", "two.lprof"):
        die(folder, "SIGKILL", "-o", name)
    assert len(live_files(folder)) == 2
    listed = viewer("recover", "--list", cwd=folder)
    assert f"{folder}/a/one.lprof: process" in listed.out
    assert len(live_files(folder)) == 2
    done = run(["-m", "lineprof", "recover"], cwd=folder / "a")
    assert (done.status, done.err) == (0, "")
    assert done.out.count("Recovered ") == 2
    for name in ("a/one.lprof", "two.lprof"):
        assert hits_in(folder / name) == HITS
    assert not live_files(folder)
    again = run(["-m", "lineprof", "recover"], cwd=folder)
    assert again == Outcome(0, "there is nothing to recover\n", "")


def test_open_lines_have_the_time_up_to_the_last_event(folder: Path) -> None:
    die(folder, "SIGKILL")
    viewer("recover", cwd=folder)
    done = viewer("view", "--json", "x.lprof", cwd=folder)
    functions = {one["name"]: one for one in json.loads(done.out)["functions"]}
    times = {line["line"]: line["time_ns"] for line in functions["main"]["lines"]}
    inner = sum(line["time_ns"] for line in functions["inner"]["lines"])
    assert times[9] >= inner > 0  # line 9 calls inner
    assert functions["main"]["total_ns"] >= sum(times.values()) > 0


def write_waiting(folder: Path) -> None:
    """Write a program that waits for the end of its input."""
    program = "def f():\n    print(1, flush=True)\n    sys.stdin.read()\nf()\n"
    write(folder, "wait.py", f"import sys\n@profile\n{program}")


@contextlib.contextmanager
def waiting(folder: Path, env: Mapping[str, str] | None = None) -> Iterator[int]:
    """Let that program wait for the end of the block, which gets its pid."""
    write_waiting(folder)
    process = subprocess.Popen(
        [sys.executable, "-m", "kernprof", "-lq", "wait.py"],
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        yield process.pid
    finally:
        process.communicate(timeout=DEADLINE)


def test_a_program_that_runs_is_left_alone(folder: Path) -> None:
    with waiting(folder) as pid:
        for flags in ((), ("--force",)):
            done = viewer("recover", *flags, cwd=folder)
            assert done.out == "there is nothing to recover\n"
            assert f"wait.lprof is left alone: process {pid} still runs" in done.err
        view = viewer("view", "wait.lprof", cwd=folder)
        assert view.status == 1
        assert f"process {pid}, which writes it, still runs" in view.err
        assert not (folder / "wait.lprof").exists()
    assert hits_in(folder / "wait.lprof")["f"] == {4: 1, 5: 1}
    assert not live_files(folder)


STARTERS = {
    "kernprof": ("kernprof", "-lqo", "x.lprof"),
    "lineprof run": (
        *("lineprof", "run", "--children", "-qo", "x.lprof", "--", sys.executable),
    ),
}


@pytest.mark.parametrize("starter", STARTERS)
def test_children_of_a_program_that_runs_are_left_to_it(
    folder: Path, starter: str
) -> None:
    write(
        folder,
        "parent.py",
        """
        import os, subprocess, sys
        @profile
        def f(n):
            for i in range(n):
                pass
        if not os.fork():
            f(5)
            os._exit(0)
        os.wait()
        subprocess.run([sys.executable, "child.py"])
        f(3)
        print(1, flush=True)
        sys.stdin.read()
        """,
    )
    write(folder, "child.py", "@profile\ndef g():\n    return 1\ng()\n")
    process = subprocess.Popen(
        [sys.executable, "-m", *STARTERS[starter], "parent.py"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    there = len(live_files(folder))
    for flags in ((), ("--force",)):
        done = run(["-m", "lineprof", "recover", *flags], cwd=folder)
        assert done.out == "there is nothing to recover\n"
        assert f"x.lprof is left alone: process {process.pid} still runs" in done.err
    view = viewer("view", "x.lprof", cwd=folder)
    assert "which writes it, still runs" in view.err
    assert len(live_files(folder)) == there
    process.communicate(timeout=DEADLINE)
    assert process.returncode == 0
    hits = hits_in(folder / "x.lprof")
    assert hits == {"f": {5: 10, 6: 8}, "g": {3: 1}}
    assert not live_files(folder)


def test_a_process_of_another_machine_is_taken_by_force(folder: Path) -> None:
    die(folder, "SIGKILL")
    (live,) = live_files(folder)
    data = live.read_bytes()
    changed = re.sub(
        rb"'boot': '[^']*", lambda found: b"'boot': '".ljust(len(found[0]), b"x"), data
    )
    host = os.fsencode(os.uname().nodename)
    other = b"x" * len(host)
    live.write_bytes(changed.replace(b"'host': '" + host, b"'host': '" + other))
    done = viewer("recover", cwd=folder)
    assert done.out == "there is nothing to recover\n"
    assert f"runs, or ran, on host {other.decode()}" in done.err
    done = viewer("recover", "--force", cwd=folder)
    assert (done.status, done.err) == (0, "")
    assert hits_in(folder / "x.lprof") == HITS


def test_a_live_file_that_names_a_folder_of_the_user_removes_nothing_in_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(folder))
    die(folder, "SIGKILL")
    (live,) = live_files(folder)
    (ours,) = folder.glob("lineprof-run-*")
    (ours / "thesis.txt").write_text("of the user")
    data = live.read_bytes()
    theirs = ours.with_name("x" * len(ours.name))
    theirs.mkdir()
    (theirs / "old.lprof").write_text("of the user")
    live.write_bytes(data.replace(bytes(ours), bytes(theirs)))
    assert viewer("recover", cwd=folder).status == 0
    assert [path.name for path in theirs.iterdir()] == ["old.lprof"]
    live.write_bytes(data)
    assert viewer("recover", cwd=folder).status == 0
    assert [path.name for path in ours.iterdir()] == ["thesis.txt"]
    assert hits_in(folder / "x.lprof") == HITS


CHILDREN = """\
import os, pathlib, re
@profile
def f(n):
    for i in range(n):
        pass
for n in (5, 7):
    child = os.fork()
    if not child:
        f(n)
        os._exit(0)
    os.wait()
for path in pathlib.Path(os.environ["LINEPROF_LIVE"]).glob(f"{child}-*"):
    data = path.read_bytes()  # two words become a number
    for pair in re.findall(rb"'thread': \\(\\d+, \\d+\\)", data):
        data = data.replace(pair, b"'thread': ".ljust(len(pair), b"1"))
    path.write_bytes(data)
f(3)
"""


@pytest.mark.parametrize("starter", STARTERS)
def test_a_damaged_file_of_one_child_leaves_the_others(
    folder: Path, starter: str
) -> None:
    write(folder, "c.py", CHILDREN)
    words = [word.replace("-qo", "-o") for word in STARTERS[starter]]
    words = [word.replace("-lqo", "-lo") for word in words]
    done = run(["-m", *words, "c.py"], cwd=folder)
    assert done.status == 0
    said = (
        r"1 (child )?process was not measured: it was killed, or still ran at the end"
    )
    assert re.search(said, done.err)
    assert done.err.count("\n") == 1
    assert hits_in(folder / "x.lprof") == {"f": {4: 10, 5: 8}}


def test_a_damaged_file_of_one_child_is_recovered_apart(folder: Path) -> None:
    write(folder, "c.py", CHILDREN + "os._exit(0)\n")
    kernprof_forked("-lqo", "x.lprof", "c.py", cwd=folder)
    assert len(live_files(folder)) == 3
    assert viewer("recover", cwd=folder).out.startswith("Recovered ")
    assert hits_in(folder / "x.lprof") == {"f": {4: 10, 5: 8}}
    assert len(live_files(folder)) == 1
    assert viewer("recover", cwd=folder).status == 0
    (other,) = folder.glob("x.recovered-*.lprof")
    assert hits_in(other) == {"f": {4: 8, 5: 7}}
    assert not live_files(folder)


def test_a_child_of_another_namespace_that_ended_well_is_measured(
    folder: Path,
) -> None:
    unshare = shutil.which("unshare")
    if not unshare or subprocess.run([unshare, "-pf", "true"], check=False).returncode:
        pytest.skip("cannot make a namespace of process ids")
    write(folder, "child.py", "@profile\ndef g():\n    return 1\ng()\n")
    write(
        folder,
        "u.py",
        """
        import subprocess, sys
        @profile
        def f():
            subprocess.run(["unshare", "-pf", sys.executable, "child.py"])
        f()
        """,
    )
    done = kernprof_forked("-l", "u.py", cwd=folder)
    assert (done.status, done.err) == (0, "")
    assert hits_in(folder / "u.lprof") == {"f": {5: 1}, "g": {3: 1}}
    assert not live_files(folder)


def test_several_that_recover_at_once_write_each_profile_once(folder: Path) -> None:
    names = [f"{number}.lprof" for number in range(6)]
    for name in names:
        kernprof_forked("-lqo", name, "x.py", "SIGKILL", cwd=folder)
    commands = [["recover"], ["recover"], ["recover"], ["view", names[-1]]]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "lineprof", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for words in commands
    ]
    texts = [process.communicate(timeout=DEADLINE) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(commands)
    told = b"".join(out + err for out, err in texts).decode()
    assert len(re.findall(r"(?m)^(?:lineprof: r|R)ecovered ", told)) == len(names)
    assert [err for _, err in texts[:3]] == [b""] * 3
    assert sorted(path.name for path in folder.glob("*.lprof")) == names
    assert all(hits_in(folder / name) == HITS for name in names)
    assert not live_files(folder)


def test_merge_recovers_the_ranks_that_were_killed(folder: Path) -> None:
    for rank, how in enumerate(("sys.exit", "SIGKILL", "sys.exit", "SIGSEGV")):
        env = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "4"}
        kernprof_forked("-lq", "x.py", how, cwd=folder, env=env)
    names = sorted(path.name for path in folder.glob("*.lprof"))
    assert names == ["x.r0000.lprof", "x.r0002.lprof"]
    done = viewer("merge", *names, "-o", "all.lprof", cwd=folder)
    assert done.status == 0
    assert "missing" not in done.err
    assert done.err.count("recovered ") == 2
    hits = hits_in(folder / "all.lprof")["inner"]
    assert hits == {line: 4 * count for line, count in HITS["inner"].items()}


def test_merge_names_the_process_of_a_rank_that_still_runs(folder: Path) -> None:
    def env(rank: int) -> dict[str, str]:
        return {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2"}

    write_waiting(folder)
    kernprof_forked("-lq", "wait.py", cwd=folder, env=env(0))
    with waiting(folder, env(1)) as pid:
        done = viewer("merge", "wait.r0000.lprof", "-o", "all.lprof", cwd=folder)
        assert done.status == 0
        assert (
            "rank 1 of 2 is missing: no wait.r0001.lprof: process"
            f" {pid}, which writes it, still runs\n" in done.err
        )


def test_merge_adds_no_killed_run_that_nobody_named(folder: Path) -> None:
    for number, how in enumerate(("sys.exit", "SIGKILL", "sys.exit")):
        kernprof_forked("-lqo", f"exp{number}.lprof", "x.py", how, cwd=folder)
    files = ["exp0.lprof", "exp2.lprof"]
    done = viewer("merge", *files, "-o", "all.lprof", cwd=folder)
    assert (done.status, done.err) == (0, "lineprof: wrote all.lprof: 2 profiles\n")
    hits = hits_in(folder / "all.lprof")["inner"]
    assert hits == {line: 2 * count for line, count in HITS["inner"].items()}


@pytest.mark.parametrize("place", ["./live", "link", "."])
def test_a_program_that_runs_is_known_by_any_name_of_its_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (folder / "link").symlink_to("live")
    if place == "link":
        monkeypatch.setenv("LINEPROF_LIVE", str(folder / "link"))
    with waiting(folder) as pid:
        (live,) = live_files(folder)
        target = f"live/{live.name}" if place == "." else place
        done = viewer("recover", target, cwd=folder)
        assert f"process {pid} still runs" in done.err
        assert live_files(folder) == [live]


SNAPSHOT = """
import os, time
@profile
def f(n):
    for _ in range(n):
        pass
def written():
    while not os.path.exists("b.lprof"):
        time.sleep(0.01)
    first = os.stat("b.lprof").st_ino
    while os.stat("b.lprof").st_ino == first:
        time.sleep(0.01)
f(2)
with profile.block("phase one"):
    f(1)
written()
f(4)
os._exit(0)
"""
ALL = {5: 10, 6: 7}  # hits of f


def test_a_recovered_profile_has_the_blocks_of_the_last_snapshot(
    folder: Path,
) -> None:
    """Hits go on to the end, and a line says up to when the block goes."""
    write(folder, "b.py", SNAPSHOT)
    kernprof_forked("-lq", "-i", "1", "b.py", cwd=folder)
    assert viewer("view", "b.lprof", cwd=folder).status == 0
    assert hits_in(folder / "b.lprof") == {"f": ALL, "phase one": {14: 1, 15: 1}}
    assert not list(folder.glob("b.*-*.lprof"))
    warnings = load_stats(folder / "b.lprof").warnings
    assert [one.partition(", ")[0] for one in warnings[1:]] == [
        f"recovered: only up to {warnings[1].split()[4]} s after the start"
    ]
    assert ": lines of phase one; hits and times go on to " in warnings[1]


def test_a_snapshot_with_parts_of_times_gets_another_name(folder: Path) -> None:
    write(folder, "b.py", SNAPSHOT.replace("profile.block", "str and profile.block"))
    kernprof_forked("-lq", "-i", "1", "--split", "b.py", cwd=folder)
    assert viewer("view", "b.lprof", cwd=folder).status == 0
    assert hits_in(folder / "b.lprof")["f"] == ALL
    (aside,) = folder.glob("b.snapshot-*.lprof")
    assert load_stats(aside).breakdowns
    assert load_stats(folder / "b.lprof").warnings[-1].endswith(aside.name)


def test_a_snapshot_of_counts_that_were_dropped_later_is_replaced(
    folder: Path,
) -> None:
    dropped = SNAPSHOT.replace("written()\nf(4)", "written()\nprofile.reset()\nf(1)")
    write(folder, "b.py", dropped)
    kernprof_forked("-lq", "-i", "1", "b.py", cwd=folder)
    assert viewer("view", "b.lprof", cwd=folder).status == 0
    assert hits_in(folder / "b.lprof") == {"f": {5: 2, 6: 1}}


def test_a_file_with_other_processes_is_not_replaced(folder: Path) -> None:
    """Somebody has merged the last snapshot with another profile."""
    write(folder, "b.py", SNAPSHOT)
    die(folder, "sys.exit")
    kernprof_forked("-lq", "-i", "1", "b.py", cwd=folder)
    (live,) = live_files(folder)
    aside = live.rename(folder / "aside")
    names = ("b.lprof", "x.lprof", "-o", "all.lprof")
    assert viewer("merge", *names, cwd=folder).status == 0
    (folder / "all.lprof").rename(folder / "b.lprof")
    merged = hits_in(folder / "b.lprof")
    aside.rename(live)
    assert viewer("recover", cwd=folder).status == 0
    assert hits_in(folder / "b.lprof") == merged
    (other,) = folder.glob("b.recovered-*.lprof")
    assert hits_in(other)["f"] == ALL


def test_a_program_that_is_killed_before_it_begins_leaves_nothing(folder: Path) -> None:
    write(folder, "setup.py", "import os; os._exit(0)")
    kernprof_forked("-lq", "-s", "setup.py", "x.py", cwd=folder)
    assert len(live_files(folder)) == 1
    done = viewer("recover", cwd=folder)
    assert done == Outcome(0, "there is nothing to recover\n", "")
    assert not live_files(folder)


def test_children_are_recovered_with_the_first_process(folder: Path) -> None:
    write(
        folder,
        "c.py",
        """
        import os, signal
        @profile
        def f():
            return 1
        for how in (lambda: os._exit(0), lambda: os.kill(os.getpid(), signal.SIGKILL)):
            child = os.fork()
            if not child:
                f()
                how()
            os.waitpid(child, 0)
        f()
        os.kill(os.getpid(), signal.SIGKILL)
        """,
    )
    kernprof_forked("-lq", "c.py", cwd=folder)
    assert len(live_files(folder)) == 3
    assert viewer("view", "c.lprof", cwd=folder).status == 0
    assert hits_in(folder / "c.lprof")["f"] == {5: 3}
    assert not live_files(folder)


def test_forked_children_live_while_their_parent_goes_on(folder: Path) -> None:
    names = range(40)
    functions = "\n".join(
        f"@profile\ndef f{n}():\n    return [i for i in range(3)]" for n in names
    )
    write(
        folder,
        "g.py",
        f"""import os, time
{functions}
children = []
for n in range(8):
    child = os.fork()
    if not child:
        for k in range({len(names)}):
            globals()[f"f{{k}}"]()
        os._exit(7)
    for k in range(5 * n, 5 * n + 5):
        globals()[f"f{{k}}"]()
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) for one in children])
""",
    )
    outcome = kernprof_forked("-lq", "g.py", cwd=folder)
    assert outcome == Outcome(0, f"{[7] * 8}\n", "")
    hits = hits_in(folder / "g.lprof")
    assert [sum(hits[f"f{n}"].values()) for n in names] == [9] * len(names)


def test_a_later_profile_is_not_replaced(folder: Path) -> None:
    die(folder, "SIGKILL")
    (live,) = live_files(folder)
    aside = live.rename(folder / "aside")
    die(folder, "sys.exit")
    later = (folder / "x.lprof").read_bytes()
    aside.rename(live)
    view = viewer("view", "x.lprof", cwd=folder)
    assert "recovered" not in view.err
    done = viewer("recover", cwd=folder)
    assert done.status == 0
    assert (folder / "x.lprof").read_bytes() == later
    (other,) = folder.glob("x.recovered-*.lprof")
    assert hits_in(other) == HITS


def test_an_earlier_profile_and_a_snapshot_of_the_same_run_are_replaced(
    folder: Path,
) -> None:
    die(folder, "sys.exit")
    earlier = (folder / "x.lprof").read_bytes()
    die(folder, "SIGKILL")
    assert (folder / "x.lprof").read_bytes() == earlier
    viewer("view", "x.lprof", cwd=folder)
    assert (folder / "x.lprof").read_bytes() != earlier
    assert hits_in(folder / "x.lprof") == HITS


def limited(program: str) -> str:
    """Return the program with an end at which no file may grow any more."""
    return program.replace(
        "main(sys.argv[1])",
        "main('os._exit') if 0 else None\n"
        "END['full'] = lambda: None\n"
        "main('full')\n"
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))",
    )


def test_a_disk_that_is_full_at_the_end_loses_nothing(folder: Path) -> None:
    write(folder, "x.py", limited(PROGRAM))
    outcome = kernprof_forked("-lq", "x.py", cwd=folder)
    assert outcome.status == 0
    assert outcome.err.count("\n") == 1
    assert "the counts are kept for `lineprof recover`" in outcome.err
    assert not (folder / "x.lprof").exists()
    view = viewer("view", "x.lprof", cwd=folder)
    assert view.status == 0
    assert "the profile could not be written" in view.err
    assert hits_in(folder / "x.lprof") == HITS


def test_counts_are_not_said_to_be_kept_where_the_live_file_is_gone(
    folder: Path,
) -> None:
    program = limited(PROGRAM) + 'import shutil\nshutil.rmtree("live")\n'
    write(folder, "x.py", program)
    outcome = kernprof_forked("-lq", "x.py", cwd=folder)
    assert outcome.status == 1
    assert outcome.err.count("\n") == 1
    assert "are kept" not in outcome.err


@pytest.fixture
def small_disk(folder: Path) -> Path:
    """Give a file system of 64 kB, which a profile does not fit in."""
    place = folder / "small"
    place.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", os.fsencode(place), b"tmpfs", 0, b"size=64k"):
        pytest.skip(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    yield place
    assert libc.umount(os.fsencode(place)) == 0


def test_a_profile_that_did_not_fit_is_recovered_once_there_is_room(
    folder: Path, small_disk: Path
) -> None:
    blocker = small_disk / "blocker"
    blocker.write_bytes(bytes(60_000))
    outcome = kernprof_forked(
        "-lq", "-o", "small/x.lprof", "x.py", "exception", cwd=folder
    )
    assert outcome.status == 1
    assert "small/x.lprof" in outcome.err
    refused = viewer("recover", cwd=folder)
    assert refused.status == 1
    assert len(live_files(folder)) == 1
    blocker.unlink()
    libc = ctypes.CDLL(None)
    remount = 32  # MS_REMOUNT
    libc.mount(b"none", os.fsencode(small_disk), b"tmpfs", remount, b"size=1m")
    done = viewer("recover", cwd=folder)
    assert done.status == 0
    assert hits_in(small_disk / "x.lprof") == HITS
    assert load_exit(small_disk / "x.lprof") == "exception"


def load_exit(path: Path) -> str:
    """Return how the process of a profile ended."""
    from lineprof import load_stats  # noqa: PLC0415

    return load_stats(path).processes[0].exit


def test_a_crash_is_reported_by_faulthandler_and_noted(folder: Path) -> None:
    flags = ["-X", "faulthandler"]
    done = run(["-m", "kernprof", "-lq", "x.py", "SIGSEGV"], cwd=folder, flags=flags)
    assert done.status == -signal.SIGSEGV
    assert done.err.count("Fatal Python error: Segmentation fault") == 1
    assert "died of SIGSEGV" in viewer("recover", cwd=folder).out


def test_a_source_that_was_edited_since_is_left_out(folder: Path) -> None:
    die(folder, "SIGKILL")
    write(folder, "x.py", "# other\n" * 20)
    done = viewer("view", "x.lprof", cwd=folder)
    assert "was changed since the program read it" in done.out
    assert "# other" not in done.out
    assert hits_in(folder / "x.lprof") == HITS


def test_a_program_from_the_command_line_keeps_its_text(folder: Path) -> None:
    program = "def f():\n    import os; os._exit(0)\nf()"
    kernprof_forked("-lq", "-o", "c.lprof", "-c", program, cwd=folder)
    done = viewer("view", "c.lprof", cwd=folder)
    assert "import os; os._exit(0)" in done.out


def test_without_live_files_nothing_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", "off")
    die(folder, "SIGKILL")
    assert not (folder / "live").exists()
    assert viewer("view", "x.lprof", cwd=folder).status == 1


def test_below_a_folder_of_all_users_is_one_for_this_user(folder: Path) -> None:
    (folder / "live").mkdir()
    (folder / "live").chmod(0o1777)
    die(folder, "SIGKILL")
    (own,) = live_files(folder)
    assert own.name == f"lineprof-{os.getuid()}"
    assert own.stat().st_mode & 0o777 == 0o700
    assert "Recovered " in viewer("recover", cwd=folder).out
    assert hits_in(folder / "x.lprof") == HITS


@pytest.mark.parametrize("name", ["missing.live", "x.py"])
def test_a_place_that_is_no_live_file_is_one_line(folder: Path, name: str) -> None:
    done = run(["-m", "lineprof", "recover", name], cwd=folder)
    assert (done.status, done.out) == (1, "")
    assert done.err.count("\n") == 1
    assert name in done.err
    assert "Traceback" not in done.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_live_file_of_another_user_is_refused(folder: Path) -> None:
    die(folder, "SIGKILL")
    (live,) = live_files(folder)
    os.chown(live, 12345, -1)
    done = run(["-m", "lineprof", "recover", str(live)], cwd=folder)
    assert (done.status, done.out) == (1, "")
    assert "it is another user's" in done.err
    assert not (folder / "x.lprof").exists()


def test_a_damaged_file_does_not_stop_the_others(folder: Path) -> None:
    die(folder, "SIGKILL", "-o", "a.lprof")
    (damaged,) = live_files(folder)
    die(folder, "SIGKILL", "-o", "b.lprof")
    data = damaged.read_bytes()
    # The same length: a list in place of a name, and a number among the words.
    name, in_a_list = rb"'file': '(.*?)..', 'state'", rb"'file': ['\1'], 'state'"
    number = data.replace(b"'argv': ('x.py'", b"'argv': (123456")
    for changed in (re.sub(name, in_a_list, data), number):
        assert len(changed) == len(data)
        assert changed != data
        damaged.write_bytes(changed)
        done = viewer("recover", "--list", cwd=folder)
        assert f"{folder}/a.lprof: process" in done.out
        assert f"{folder}/b.lprof: process" in done.out
    assert viewer("view", "b.lprof", cwd=folder).status == 0
    assert hits_in(folder / "b.lprof") == HITS


def test_files_of_another_version_are_one_line(folder: Path) -> None:
    for name in ("a.lprof", "b.lprof", "c.lprof"):
        die(folder, "SIGKILL", "-o", name)
    first, second, whole = sorted(live_files(folder))
    for one in (first, second):
        data = bytearray(one.read_bytes())
        data[64 + 8] ^= 1  # of the format, behind the head of the block and the magic
        one.write_bytes(data)
    done = run(["-m", "lineprof", "recover"], cwd=folder)
    [line] = done.err.splitlines()
    version = "another version of lineprof wrote this file; use the version that"
    many = f"2 files in {folder / 'live'}, such as {first.name}"
    assert line.startswith(f"lineprof: cannot read {many}: {version}")
    assert done.out.startswith("Recovered ")
    assert set(live_files(folder)) == {first, second}
    second.unlink()
    alone = run(["-m", "lineprof", "recover"], cwd=folder)
    assert f"cannot read {first}: {version}" in alone.err
    assert not whole.exists()


def test_profiles_that_cannot_be_written_for_one_reason_are_one_line(
    folder: Path,
) -> None:
    (folder / "gone").mkdir()
    for name in ("gone/a.lprof", "b.lprof", "gone/c.lprof", "gone/d.lprof"):
        die(folder, "SIGKILL", "-o", name)
    (folder / "gone").rmdir()
    done = run(["-m", "lineprof", "recover"], cwd=folder)
    [line] = done.err.splitlines()
    assert line.startswith(f"lineprof: cannot write {folder / 'gone'}/")
    assert line.endswith("; 2 more fail for the same reason: see --list")
    assert (done.status, done.out.count("\n")) == (1, 1)
    assert hits_in(folder / "b.lprof") == HITS
    assert len(live_files(folder)) == 3
    (folder / "gone").mkdir()
    assert run(["-m", "lineprof", "recover"], cwd=folder).out.count("Recovered ") == 3


def test_damaged_live_files_are_said_and_kept(folder: Path) -> None:
    die(folder, "SIGKILL")
    (live,) = live_files(folder)
    data = live.read_bytes()
    for cut in (0, 10, 4096, 5000):
        live.write_bytes(data[:cut])
        done = run(["-m", "lineprof", "recover"], cwd=folder)
        assert "Traceback" not in done.err
        assert live.exists()
        assert not (folder / "x.lprof").exists()


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGUSR2, signal.SIGQUIT])
def test_handlers_of_the_program_are_its_own(folder: Path, number: int) -> None:
    write(
        folder,
        "h.py",
        f"""
        import faulthandler, os, signal
        print(signal.getsignal({int(number)}))
        print(signal.signal({int(number)}, lambda *_: print("mine")))
        os.kill(os.getpid(), {int(number)})
        print(signal.signal({int(number)}, signal.SIG_DFL).__name__)
        faulthandler.enable()
        faulthandler.disable()
        print(faulthandler.is_enabled())
        """,
    )
    plain = run(["h.py"], cwd=folder)
    assert plain.status == 0
    assert kernprof_forked("-lq", "h.py", cwd=folder) == plain


@pytest.mark.smoke
def test_a_child_that_is_forked_does_not_touch_the_counts(folder: Path) -> None:
    write(
        folder,
        "f.py",
        """
        import os, signal
        @profile
        def f(n):
            for i in range(n):
                pass
        f(3)
        child = os.fork()
        if not child:
            f(1000)
            os._exit(0)
        os.waitpid(child, 0)
        f(3)
        os.kill(os.getpid(), signal.SIGKILL)
        """,
    )
    kernprof_forked("-lq", "--no-children", "f.py", cwd=folder)
    viewer("recover", cwd=folder)
    assert hits_in(folder / "f.lprof")["f"] == {5: 8, 6: 6}
    kernprof_forked("-lq", "f.py", cwd=folder)
    viewer("recover", cwd=folder)
    assert hits_in(folder / "f.lprof")["f"] == {5: 8 + 1001, 6: 6 + 1000}


@pytest.mark.smoke
def test_threads_and_calls_are_recovered(folder: Path) -> None:
    write(
        folder,
        "t.py",
        """
        import os, threading
        @profile
        def work(n):
            for i in range(n):
                step()
        @profile
        def step():
            return 1
        threads = [threading.Thread(target=work, args=(n,)) for n in (3, 5)]
        for one in threads: one.start()
        for one in threads: one.join()
        os._exit(0)
        """,
    )
    kernprof_forked("-lq", "t.py", cwd=folder)
    done = viewer("view", "--tree", "t.lprof", cwd=folder)
    assert done.status == 0
    profile = folder / "t.lprof"
    assert hits_in(profile)["step"] == {9: 8}
    from lineprof import load_stats  # noqa: PLC0415

    stats = load_stats(profile)
    assert len({one.native_id for one in stats.threads}) == 2
    calls = {(node.function[2], node.line): 0 for node in stats.calls.nodes}
    for node in stats.calls.nodes:
        calls[node.function[2], node.line] += node.calls
    assert calls == {("work", 0): 2, ("step", 6): 8}


def test_a_program_that_cannot_be_compiled_leaves_the_last_profile(
    folder: Path,
) -> None:
    die(folder, "sys.exit")
    for text in ("def (", "x = '\0'"):
        write(folder, "x.py", text)
        done = kernprof_forked("-l", "x.py", cwd=folder)
        assert done.status == 1
        assert not live_files(folder)
        view = viewer("view", "x.lprof", cwd=folder)
        assert "recovered" not in view.err
    assert hits_in(folder / "x.lprof") == HITS
