"""Children where memory or files are short, or forks go unseen: all counts are kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from as_python import check_same, hits_in, kernprof, run, viewer, write
from endings import BROKEN
from target_process import own_mounts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has live files"
)


@pytest.fixture(autouse=True)
def _own_live_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEPROF_LIVE", str(tmp_path / "live"))


# A fork without the handlers of forks, as programs do by ctypes.
RAW = """
import ctypes, os
@profile
def leaf(n):
    for i in range(n):
        pass
@profile
def deep(n):
    return deep(n - 1) if n else leaf(3)
@profile
def first():
    return 1
leaf(10)
if not ctypes.CDLL(None)._Fork():
    for _ in range(1000):
        leaf(10)
    deep(300)
    first()
    os._exit(0)
os.wait()
deep(3)
first()
print("done")
"""


@pytest.mark.parametrize("flags", [(), ("--no-children",)])
def test_a_child_of_a_plain_system_call_does_no_harm(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    write(tmp_path, "raw.py", RAW)
    outcome = kernprof("-lq", *flags, "raw.py", cwd=tmp_path)
    assert (outcome.status, outcome.out, outcome.err) == (0, "done\n", "")
    hits = hits_in(tmp_path / "raw.lprof")
    assert (hits["deep"], hits["first"]) == ({9: 4}, {12: 1})


LINES = "\n".join(f"    x{n} = {n}" for n in range(600))
FULL = f"""
import os, resource, sys
def limited(function):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    function()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
@profile
def big():
{LINES}
@profile
def late():
    return 1
def count():
    limited(big)  # there is no room in the live file from now on
    late()
if sys.argv[1] == "parent":
    count()
if not os.fork():
    if sys.argv[1] == "child":
        count()
    big()
    late()
    sys.exit()
os.wait()
"""


@pytest.mark.parametrize("where", ["parent", "child"])
def test_a_file_that_has_no_more_room_loses_no_count(
    tmp_path: Path, where: str
) -> None:
    write(tmp_path, "full.py", FULL)
    outcome = kernprof("-lq", "full.py", where, cwd=tmp_path)
    assert outcome.status == 0
    hits = hits_in(tmp_path / "full.lprof")
    assert set(hits["big"].values()) == {2}
    assert len(hits["big"]) == 600
    assert list(hits["late"].values()) == [2]


@pytest.mark.parametrize("flags", [("-lq",), ("-lq", "--memory")])
def test_a_child_without_memory_for_copies_goes_on(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    write(
        tmp_path,
        "data.py",
        """
        import os, resource
        @profile
        def f():
            return 1
        f()
        lines = open("/proc/self/status").read().splitlines()
        used = next(int(line.split()[1]) for line in lines if "VmData" in line)
        free = resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_DATA, (used * 1024, free))
        child = os.fork()
        if not child:
            try:
                f()
            finally:
                os._exit(7)
        status = os.waitpid(child, 0)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (free, free))
        print(os.waitstatus_to_exitcode(status))
        """,
    )
    outcome = kernprof(*flags, "data.py", cwd=tmp_path)
    assert (outcome.status, outcome.out) == (0, "7\n")
    assert hits_in(tmp_path / "data.lprof")["f"] == {5: 2}


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(0)"])
def test_lines_that_are_open_at_the_end_have_the_waits_of_their_callees(
    tmp_path: Path, end: str
) -> None:
    program = f"""
        import os, time
        @profile
        def inner():
            time.sleep(0.02)
        @profile
        def outer():
            inner()
            inner()
        @profile
        def main():
            outer()
            {end}
        @profile
        def top():
            main()
        top()
        """
    write(tmp_path, "waits.py", program)
    kernprof("-lq", "waits.py", cwd=tmp_path)
    done = viewer("view", "--json", "waits.lprof", cwd=tmp_path)
    waits = {
        function["name"]: sum(
            sum(line.get("off_cpu_ns_by_cause", {}).values())
            for line in function["lines"]
        )
        for function in json.loads(done.out)["functions"]
    }
    assert waits["top"] >= waits["main"] >= waits["outer"] >= waits["inner"] > 0


# What a child ends with, after the functions of os, of files and of clocks raise.
ENDS = {"the interpreter ends": "", "os._exit": "leave(0)", "os.execv": "run()"}
DAMAGE = f"""
import builtins, functools, io, json, os, sqlite3, sys, threading, time
profile = vars(builtins).get("profile", lambda function: function)
leave, fork, wait = os._exit, os.fork, os.wait
run = functools.partial(os.execv, sys.executable, [sys.executable, "-c", "pass"])
{BROKEN}
def damage():
    class Thread(threading.Thread):
        name = native_id = property(lambda self: 1 / 0, lambda self, value: None)
    Thread(target=threading.Event().wait, daemon=True).start()
    builtins.open = sqlite3.connect = json.dumps = broken
    break_all(os, os.path, io, time, sys.modules[os.name])
@profile
def work():
    return 1
"""
WORK = DAMAGE.splitlines().index("    return 1") + 1


@pytest.mark.parametrize("live", [{}, {"LINEPROF_LIVE": "off"}])
@pytest.mark.parametrize("end", ENDS)
def test_a_child_that_patches_functions_is_measured(
    tmp_path: Path, live: dict[str, str], end: str
) -> None:
    write(tmp_path, "child.py", f"{DAMAGE}work()\ndamage()\n{ENDS[end]}\n")
    starter = "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'])\n"
    write(tmp_path, "x.py", starter)
    outcome = check_same("x.py", cwd=tmp_path, env=live)
    assert outcome.status == 0
    assert hits_in(tmp_path / "x.lprof")["work"] == {WORK: 1}


@pytest.mark.parametrize("live", [{}, {"LINEPROF_LIVE": "off"}])
@pytest.mark.parametrize("end", ENDS)
def test_a_child_that_is_forked_after_functions_were_patched_is_measured(
    tmp_path: Path, live: dict[str, str], end: str
) -> None:
    child = f"    work()\n    {ENDS[end] or 'sys.exit()'}\n"
    quiet = "import warnings\nwarnings.simplefilter('ignore')\n"  # of threads and forks
    text = f"{DAMAGE}{quiet}damage()\nif not fork():\n{child}wait()\nwork()\n"
    write(tmp_path, "x.py", text)
    outcome = check_same("x.py", cwd=tmp_path, env=live)
    assert (outcome.status, outcome.err) == (0, "")
    assert hits_in(tmp_path / "x.lprof")["work"] == {WORK: 2}


NO_ROOM = """
import os, resource, sys
@profile
def work():
    return 1
work()
if "full" in sys.argv:
    try:
        with open(os.environ["TMPDIR"] + "/fill", "wb", 0) as stream:
            while stream.write(b"x" * 4096):
                pass
    except OSError:
        pass
if not os.fork():
    if "limit" in sys.argv:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    work()
    os._exit(0)
os.wait()
"""


@pytest.mark.parametrize(
    "command", ["kernprof -l", "lineprof run --children -- python"]
)
def test_a_child_that_cannot_write_its_counts_is_not_said_to_be_killed(
    tmp_path: Path, command: str
) -> None:
    write(tmp_path, "x.py", NO_ROOM)
    words = ["-m", *command.replace("python", sys.executable).split()]
    outcome = run([*words, "x.py", "limit"], cwd=tmp_path, env={"LINEPROF_LIVE": "off"})
    assert outcome.status == 0
    assert "1 child process was not measured: it could not write its counts" in (
        outcome.err.replace("1 process was", "1 child process was")
    )
    assert "killed" not in outcome.err


def test_a_child_without_room_for_its_counts_is_told_with_the_reason(
    tmp_path: Path,
) -> None:
    write(tmp_path, "x.py", NO_ROOM)
    (tmp_path / "small").mkdir()
    mounted = f"mount -t tmpfs -o size=64k tmpfs small && exec {sys.executable} "
    done = subprocess.run(
        [*own_mounts(), "sh", "-c", f"{mounted} -m kernprof -l x.py full"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "small"), "LINEPROF_LIVE": "off"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == (
        "kernprof: 1 child process was not measured: it could not write its counts (No"
        " space left on device); set TMPDIR to a folder with room for them\n"
    )
    assert hits_in(tmp_path / "x.lprof") == {"work": {5: 1}}
