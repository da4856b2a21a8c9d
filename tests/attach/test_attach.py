"""`lineprof attach`: programs started as plain ``python``, profiled for a time."""

from __future__ import annotations

import marshal
import os
import re
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from as_python import Outcome, viewer
from deadline import DEADLINE
from memory_numbers import BLOCK, own_memory
from target_process import Target, wait_until, why_not

from lineprof import load_stats
from lineprof.attach import task_state
from lineprof.attach.bundle import OWN, STANDARD, bundle
from lineprof.model.host_memory import HostMemory

pytestmark = pytest.mark.serial
FOLDER = Path(os.environ.get("TMPDIR", "/tmp"), f"lineprof-{os.getuid()}")  # noqa: S108
COMMAND = (sys.executable, "-m", "lineprof", "attach")


@pytest.fixture(scope="module", autouse=True)
def _can_join() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("processes are joined on Linux only")
    if reason := why_not():
        pytest.skip(reason)


def attach(pid: int, folder: Path, *flags: str) -> Outcome:
    """Attach until the time of `flags` is over; return what the command printed."""
    return viewer("attach", str(pid), "-o", "a.lprof", *flags, cwd=folder)


def hits(folder: Path, name: str) -> dict[int, int]:
    """Return the hits of a function by line, {} if it is not in the profile."""
    timings = load_stats(folder / "a.lprof").timings
    return {
        line: count
        for (_, _, function), rows in timings.items()
        if function == name
        for line, count, _ in rows
    }


BUSY = """\
import sys, threading
stop = threading.Event()
threading.Thread(target=lambda: (input(), stop.set()), daemon=True).start()

def step(n):
    total = 0
    for i in range(n):
        total += i
    return total

def main():
    rounds = wrong = 0
    while not stop.is_set():
        wrong += step(100) != 4950
        rounds += 1
        if not rounds % 10_000:
            print(rounds, flush=True)
    return wrong

print("ready", flush=True)
wrong = main()
print("wrong", wrong, sys.gettrace(), threading.active_count(), sys.getswitchinterval())
sys.exit(7)
"""


@pytest.mark.smoke
def test_a_busy_program_is_profiled_and_goes_on(tmp_path: Path) -> None:
    with Target(BUSY) as target:
        done = attach(target.pid, tmp_path, "--duration", "0.5")
        assert done.status == 0, done.err
        assert f"Attached to process {target.pid} for 0.5 s: joined " in done.out
        assert "Wrote profile results to" in done.out
        target.tell("")
        status, lines = target.rest()
    assert status == 7
    assert lines[-1] == "wrong 0 None 1 0.005"
    step, main = hits(tmp_path, "step"), hits(tmp_path, "main")
    assert step[6] > 0
    assert step[8] == pytest.approx(100 * step[6], abs=200)
    assert step[7] == pytest.approx(101 * step[6], abs=200)
    assert main[14] == pytest.approx(step[6], abs=2)  # `main` was running already
    shown = viewer("view", "a.lprof", cwd=tmp_path).out
    assert "total += i" in shown  # the source of python -c
    assert "attached to a running program" in shown


def test_it_attaches_again_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with Target(BUSY) as target:
        threads = Path(f"/proc/{target.pid}/task")
        files = Path(f"/proc/{target.pid}/fd")
        for _ in range(3):
            assert attach(target.pid, tmp_path, "-d", "0.1").status == 0
            assert hits(tmp_path, "step")[6] > 0
            wait_until(lambda: len([*threads.iterdir()]) == 2)
            wait_until(lambda: len([*files.iterdir()]) == 3)
        assert [*FOLDER.glob(f"{target.pid}[!0-9]*")] == []
        target.tell("")
        assert target.rest()[1][-1] == "wrong 0 None 1 0.005"


ASYNC = """\
import asyncio, sys, threading
stop = threading.Event()
threading.Thread(target=lambda: (input(), stop.set()), daemon=True).start()

async def step(n):
    await asyncio.sleep(0)
    return n + 1

async def worker():
    n = 0
    while not stop.is_set():
        n = await step(n)
    return n > 0

async def main():
    print("ready", flush=True)
    return await asyncio.gather(*(worker() for _ in range(3)))

print(asyncio.run(main()))
sys.exit(3)
"""


def test_coroutines_that_are_suspended_are_joined(tmp_path: Path) -> None:
    with Target(ASYNC) as target:
        assert attach(target.pid, tmp_path, "-d", "0.5").status == 0
        target.tell("")
        assert target.rest() == (3, ["[True, True, True]"])
    assert hits(tmp_path, "step")[7] > 0
    worker = hits(tmp_path, "worker")
    assert worker[12] == pytest.approx(hits(tmp_path, "step")[7], abs=6)


WAITING = """\
import sys

def later():
    return sum(range(1000))

print("ready", flush=True)
sys.stdin.readline()
while True:
    later()
"""


def start_client(pid: int, folder: Path, *flags: str) -> subprocess.Popen[str]:
    """Start to attach."""
    return subprocess.Popen(
        [*COMMAND, str(pid), "-o", folder / "a.lprof", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_program_that_waits_is_joined_when_it_goes_on(tmp_path: Path) -> None:
    with Target(WAITING) as target:
        target.wait_blocked_in("read")
        with start_client(target.pid, tmp_path, "-d", "0.3") as client:
            assert client.stderr.readline() == (
                f"lineprof: process {target.pid}: the main thread is blocked in read:"
                " it is joined when that call returns\n"
            )
            target.tell("")
            client.communicate(timeout=DEADLINE)
            assert client.returncode == 0
    assert hits(tmp_path, "later")[4] > 0


def test_a_client_gives_up_a_program_that_does_not_answer(tmp_path: Path) -> None:
    with Target(WAITING) as target:
        target.wait_blocked_in("read")
        done = attach(target.pid, tmp_path, "--timeout", "0.3")
        assert done.status == 1
        assert done.err == (
            f"lineprof: process {target.pid} has not answered within 0.3 s: the main"
            " thread is blocked in read: it is joined when that call returns; wait"
            " longer with --timeout\n"
        )
        # Python 3.14 still opens its script, which then does nothing.
        left = {file.suffix for file in FOLDER.glob(f"{target.pid}[!0-9]*")}
        assert left == (set() if sys.version_info < (3, 14) else {".py"})
        target.tell("")  # nothing runs in it, now that nobody waits
        assert attach(target.pid, tmp_path, "-d", "0.1").status == 0
        assert hits(tmp_path, "later")[4] > 0


UNREAPED = """\
import os, sys, time
child = os.fork()
if not child:
    os.read(0, 1)
    os._exit(0)
print("ready", flush=True)
print(child, flush=True)
while True:
    time.sleep(60)
"""


def test_a_client_ends_with_a_program_whose_parent_does_not_wait_for_it(
    tmp_path: Path,
) -> None:
    with Target(UNREAPED) as parent:
        child = int(parent.line())
        wait_until(lambda: "read" in task_state.read(child).call)
        with start_client(child, tmp_path) as client:
            client.stderr.readline()  # what it waits for
            os.kill(child, signal.SIGKILL)
            _, err = client.communicate(timeout=DEADLINE)
        assert (client.returncode, err) == (
            1,
            f"lineprof: process {child} has ended; attach to one that still runs\n",
        )
        assert [*FOLDER.glob(f"{child}*")] == []


FORKING = """\
import operator, os, sys
from functools import partial

def work():
    return sum(range(100))

print("ready", flush=True)
# All of this is one instruction: a call that waits is not made in between.
_, child = map(operator.call, (partial(os.read, 0, 1), os.fork))
for _ in range(1000):
    work()
if not child:
    threads = len(os.listdir("/proc/self/task"))
    os._exit(threads + ("_lineprof_boot" in sys.modules))
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
while True:
    work()
"""


def test_a_child_that_inherits_the_call_is_left_alone(tmp_path: Path) -> None:
    """Fork copies the call that the main thread has not made yet."""
    with Target(FORKING, flags=("-S",)) as target:
        target.wait_blocked_in("read")
        with start_client(target.pid, tmp_path, "-d", "0.3") as client:
            client.stderr.readline()  # the call is there, and the main thread waits
            target.tell("")
            _, err = client.communicate(timeout=DEADLINE)
            assert client.returncode == 0, err
        assert target.line() == "child 1"
    assert hits(tmp_path, "work")[5] > 0


ENDING = """\
import sys, threading

def work():
    return sum(range(100))

print("ready", flush=True)
done = threading.Event()
threading.Thread(target=lambda: (input(), done.set()), daemon=True).start()
rounds = 0
while not done.is_set():
    work()
    rounds += 1
    if not rounds % 1000:
        print(rounds, flush=True)
print("bye")
sys.exit(5)
"""


def assert_ends(target: Target) -> None:
    status, lines = target.rest()
    assert (status, lines[-1]) == (5, "bye")


def start_attach(target: Target, folder: Path) -> subprocess.Popen[str]:
    """Start to attach without an end; return once it has attached."""
    client = subprocess.Popen(
        [*COMMAND, str(target.pid), "-o", folder / "a.lprof"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = client.stdout.readline()
    assert line.startswith("Attached"), (line, client.communicate())
    target.wait_for_lines(3)  # it has been counted
    return client


def test_a_program_that_ends_sends_its_profile(tmp_path: Path) -> None:
    with Target(ENDING) as target:
        client = start_attach(target, tmp_path)
        target.tell("")
        assert_ends(target)
        out, err = client.communicate(timeout=DEADLINE)
    assert client.returncode == 0, err
    assert f"(process {target.pid} has ended)" in out
    assert hits(tmp_path, "work")[4] > 0


ENDS_AS_IT_IS_JOINED = """\
import threading, time
import lineprof
from kernprof.attached import AttachedProfile

begun, begin = threading.Event(), AttachedProfile.begin

def begin_late(self):
    begun.set()
    while not threading._SHUTTING_DOWN:  # the main thread gets to its end
        time.sleep(0.001)
    return begin(self)

AttachedProfile.begin = begin_late
lineprof.listen()
print("ready", flush=True)
begun.wait()
"""


def test_a_program_that_ends_while_it_is_joined_is_still_joined(tmp_path: Path) -> None:
    with Target(ENDS_AS_IT_IS_JOINED) as target:
        outcome = attach(target.pid, tmp_path)
        assert target.rest() == (0, [])
    assert outcome.out.startswith("Attached"), outcome
    assert f"(process {target.pid} has ended)" in outcome.out
    assert (outcome.status, outcome.err) == (0, "")


def test_a_program_that_is_killed_leaves_its_counts(tmp_path: Path) -> None:
    with Target(ENDING) as target:
        client = start_attach(target, tmp_path)
        target.process.kill()
        target.process.wait(DEADLINE)
        out, err = client.communicate(timeout=DEADLINE)
    assert client.returncode == 0, err
    assert f"(process {target.pid}: " in out
    assert hits(tmp_path, "work")[4] > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_detaches(number: int, tmp_path: Path) -> None:
    with Target(ENDING) as target:
        client = start_attach(target, tmp_path)
        client.send_signal(number)
        out, err = client.communicate(timeout=DEADLINE)
        assert client.returncode == 0, err
        assert "Wrote profile results" in out
        target.tell("")
        assert_ends(target)
    assert hits(tmp_path, "work")[4] > 0


def test_a_client_that_is_killed_detaches(tmp_path: Path) -> None:
    with Target(ENDING) as target:
        client = start_attach(target, tmp_path)
        client.kill()
        client.communicate(timeout=DEADLINE)
        wait_until(lambda: attach(target.pid, tmp_path, "-d", "0.1").status == 0)
        target.tell("")
        assert_ends(target)


def test_there_is_one_client_at_a_time(tmp_path: Path) -> None:
    with Target(ENDING) as target:
        client = start_attach(target, tmp_path)
        second = attach(target.pid, tmp_path, "-d", "0.1")
        assert second.status == 1
        assert "another client is attached to process" in second.err
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=DEADLINE)
        assert client.returncode == 0


def test_the_program_may_fork_while_it_is_profiled(tmp_path: Path) -> None:
    program = """\
import atexit, os, sys, threading
def work():
    return sum(range(100))
print("ready", flush=True)
stop = threading.Event()
threading.Thread(target=lambda: (input(), stop.set()), daemon=True).start()
bad = 0
while not stop.is_set():
    work()
    child = os.fork()
    if child == 0:
        work()
        atexit._run_exitfuncs()  # as sys.exit does, before it waits for threads
        os._exit(3)
    bad += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 3
print("bad", bad)
"""
    before = {*FOLDER.glob("*.lprof")}
    with Target(program, flags=("-W", "ignore")) as target:
        for _ in range(2):
            assert attach(target.pid, tmp_path, "-d", "0.3").status == 0
        target.tell("")
        assert target.rest() == (0, ["bad 0"])
    assert hits(tmp_path, "work")[3] > 0
    assert {*FOLDER.glob("*.lprof")} <= before  # no child has written one


KEPT = """\
import gc, threading, weakref
stop = threading.Event()
threading.Thread(target=lambda: (input(), stop.set()), daemon=True).start()

class Tensor:
    pass

def train():
    tensor = Tensor()
    while not stop.is_set():
        pass
    return weakref.ref(tensor)

gc.disable()
print("ready", flush=True)
print(train()(), flush=True)
"""


def test_variables_of_running_functions_are_not_kept_alive(tmp_path: Path) -> None:
    with Target(KEPT) as target:
        assert attach(target.pid, tmp_path, "-d", "0.2").status == 0
        target.tell("")
        status, lines = target.rest()
    assert (status, lines) == (0, ["None"])


JOINED = """\
import colorsys, dis, sys, threading
stop = threading.Event()
threading.Thread(target=lambda: (input(), stop.set()), daemon=True).start()

def step(a, b):
    c = a + b
    d = c - a
    return d * b

def joined(function):
    found = dis.get_instructions(function, adaptive=True)
    return sum("__" in one.opname for one in found)

def work():
    for i in range(100):
        step(i, 2)
        colorsys.rgb_to_hls(0.1, 0.2, 0.3)

def all_joined():
    return [joined(f) for f in (step, work, colorsys.rgb_to_hls)]

work()
before = all_joined()
print("ready", flush=True)
while not stop.is_set():
    work()
print(*before, flush=True)
print(*all_joined(), flush=True)
"""


def test_instructions_that_python_has_joined_are_so_afterwards(
    tmp_path: Path, hook: str
) -> None:
    """Python 3.12 undoes them for events, also in functions that do not count."""
    if hook == "settrace" and sys.version_info[:2] == (3, 12):
        pytest.skip("trace functions of Python 3.12 undo them for ever")
    with Target(JOINED) as target:
        for _ in range(2):
            done = attach(target.pid, tmp_path, "-d", "0.2")
            assert done.status == 0, done.err
        target.tell("")
        status, lines = target.rest()
    assert status == 0
    before, after = ([*map(int, line.split())] for line in lines[-2:])
    assert after == before
    assert all(before) == (sys.version_info < (3, 13))


WITHOUT_SQLITE = """\
import sys
sys.modules["sqlite3"] = sys.modules["_sqlite3"] = None
sys.argv.append(7)
def step():
    return sys.modules.get("lineprof.line_stats"), sys.modules.get("typing")
print("ready", flush=True)
while True:
    made, typing = step()
    if sys.gettrace() or made or typing:
        print(made, typing, flush=True)
"""


def test_the_program_needs_nothing_for_the_profile(tmp_path: Path) -> None:
    """The client makes it: the program only writes what was counted."""
    with Target(WITHOUT_SQLITE, flags=("-I", "-S")) as target:
        for _ in range(2):
            done = attach(target.pid, tmp_path, "-d", "0.1")
            assert done.status == 0, done.err
            assert hits(tmp_path, "step")[5] > 0
        assert load_stats(tmp_path / "a.lprof").processes[0].argv == ("-c", "7")
        os.kill(target.pid, signal.SIGKILL)
        assert target.rest()[1] == []


WITHOUT_THREADS = """\
import os, sys
print("ready", flush=True)
def step():
    return sum(range(10))
while not os.path.exists({stop!r}):
    step()
import threading
print(threading.current_thread() is threading.main_thread())
"""


@pytest.mark.parametrize("core", ["auto", "settrace"])
def test_the_main_thread_stays_the_main_one(tmp_path: Path, core: str) -> None:
    """That of a program without threads, which Python does not wait for at the end."""
    stop = tmp_path / "stop"
    with Target(WITHOUT_THREADS.format(stop=str(stop))) as target:
        done = attach(target.pid, tmp_path, "-d", "0.1", "--core", core)
        assert done.status == 0, done.err
        assert hits(tmp_path, "step")[4] > 0
        stop.touch()
        assert target.rest() == (0, ["True"])


def test_a_profile_that_cannot_be_written_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    with Target(ENDING) as target:
        client = start_attach(target, folder)
        folder.rmdir()
        client.send_signal(signal.SIGINT)
        _, err = client.communicate(timeout=DEADLINE)
        assert client.returncode == 1
        kept = re.search(r"; the profile is in '(.*)'\n\Z", err)
        assert kept, err
        Path(kept[1]).rename(tmp_path / "a.lprof")
        assert hits(tmp_path, "work")[4] > 0
        assert [*FOLDER.glob(f"{target.pid}[!0-9]*")] == []


def test_functions_are_chosen(tmp_path: Path) -> None:
    with Target(BUSY) as target:
        flags = ("-d", "0.2", "--exclude", "__main__.step")
        assert attach(target.pid, tmp_path, *flags).status == 0
        assert hits(tmp_path, "step") == {}
        assert hits(tmp_path, "main") != {}
        flags = ("-d", "0.2", "--include", "threading")
        assert attach(target.pid, tmp_path, *flags).status == 0
        assert hits(tmp_path, "Event.is_set") != {}


def test_a_module_in_the_place_of_pythons_own_is_said(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("", encoding="utf-8")
    process = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{ENDING}"
    with Target(process) as target:
        done = attach(target.pid, tmp_path, "-d", "0.1")
        assert done.status == 1
        said = done.err.splitlines()[-1]  # a slow machine is told why it waits before
        assert re.search(r"json\.py is in the place of Python's own module", said)
        target.tell("")
        assert_ends(target)


IMPORTING = """\
import sys, threading
started, may_go, done = threading.Event(), threading.Event(), threading.Event()

class Finders(list):
    def __iter__(self):  # as that of a list, and slow in the thread
        for number in range(100):
            if number < len(self):
                yield self[number]
            last = number == len(self) - 2
            if last and threading.current_thread() is thread:
                started.set()
                may_go.wait()

def imports():
    import colorsys
    print("imported", flush=True)
    done.set()

thread = threading.Thread(target=imports)
def hook(event, arguments):
    if event == "import" and arguments[0] == "kernprof.control" and not thread.ident:
        thread.start()  # while lineprof is being imported
        started.wait()

before = [*sys.meta_path]
sys.meta_path = Finders(before)
sys.addaudithook(hook)
threading.Thread(target=lambda: (input(), may_go.set()), daemon=True).start()
print("ready", flush=True)
while not done.is_set():
    pass
print(sys.meta_path == before, flush=True)
"""


def test_a_thread_that_looks_for_a_module_meanwhile_finds_it(tmp_path: Path) -> None:
    """It goes through the list of finders that lineprof is imported with."""
    with Target(IMPORTING) as target:
        assert attach(target.pid, tmp_path, "-d", "0.1").status == 0
        target.tell("")
        assert target.rest() == (0, ["imported", "True"])


REMOVING = """\
import sys
first = sys.meta_path[0]
seen = []
def hook(event, arguments):
    if event == "import" and arguments[0] == "kernprof.control" and not seen:
        seen.append(first in sys.meta_path)
        sys.meta_path.remove(first)  # while lineprof is being imported
sys.addaudithook(hook)
before = sys.meta_path[1:]
print("ready", flush=True)
while not seen or len(sys.meta_path) != len(before):
    pass
for line in sys.stdin:
    print(seen, sys.meta_path == before, flush=True)
    break
"""


def test_the_program_may_remove_its_finder_meanwhile(tmp_path: Path) -> None:
    with Target(REMOVING) as target:
        attach(target.pid, tmp_path, "-d", "0.1", "--timeout", "5")
        target.tell("")
        assert target.line() == "[True] True"


NEEDS = """
import sys
before = {*sys.modules}
import kernprof.control
print(*({*sys.modules} - before))
import lineprof.line_stats, lineprof.storage.writer, sqlite3
print(*({*sys.modules} - before))
"""


def test_the_code_of_all_modules_that_are_needed_is_given() -> None:
    """And a module of the program in the place of one is found before any runs."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", NEEDS], capture_output=True, text=True, check=True
    )
    first, all_of_them = ({*line.split()} for line in done.stdout.splitlines())
    _version, _optimized, _os, modules = marshal.loads(bundle())  # noqa: S302
    others = {"importlib._abc"}  # which an editable installation imports
    assert {name for name in first if has_file(name)} - others <= {*modules}
    assert {name for name in first if name.startswith(("lineprof", "kernprof"))} == {
        *OWN.split()
    }
    top = {name for name in all_of_them & sys.stdlib_module_names if has_file(name)}
    assert {"json", "sqlite3"} < top <= {*STANDARD.split()}


def has_file(name: str) -> bool:
    """Whether there is a file of source, or an extension, of that name."""
    spec = find_spec(name)
    return str(spec and spec.origin).endswith((".py", ".so"))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("x",), "bad process number 'x'"),
        (("1", "-d", "0"), "bad number '0'"),
        (("1", "-o", "no/where.lprof"), "there is no folder"),
        (("1", "-o", "/dev/full"), "cannot write to '/dev/full'"),
        (("1", "--core", "best"), "invalid choice"),
        (("999999999",), "there is no process 999999999"),
    ],
)
def test_bad_arguments_are_one_line(
    flags: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    done = viewer("attach", *flags, cwd=tmp_path)
    assert done.status != 0
    assert expected in done.err
    assert len(done.err.splitlines()) == 1


def test_the_page_shows_what_the_command_prints(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "attach.md").read_text("utf-8")
    start = page.index("$ lineprof attach 4242")
    shown = page[start : page.index("```", start)].splitlines()[1:]
    with Target(BUSY) as target:
        done = attach(target.pid, tmp_path, "--duration", "0.2")
    out = done.out.replace(str(target.pid), "4242").replace("0.2 s", "10 s")
    out = out.replace(f"{tmp_path}/a.lprof", "/home/ann/server.lprof")
    out = re.sub(r"joined \d+", "joined 4", out)
    *lines, command = out.splitlines()
    assert lines == shown[:-1]
    assert command.endswith(shown[-1].partition(" ")[2])


KEEPING = """\
import sys, threading, time
stop = threading.Event()
threading.Thread(target=lambda: (input(), stop.set()), daemon=True).start()
OLD = [bytes(1000) for _ in range(100)]
kept = [None] * 10

def keep():
    for place in range(10):
        kept[place] = bytes(1000)

print("ready", flush=True)
while not stop.is_set():
    keep()
    time.sleep(0.001)
"""


def test_a_running_program_has_the_memory_of_its_lines(tmp_path: Path) -> None:
    with Target(KEEPING) as target:
        for _ in range(2):  # hooks off, and on again
            done = attach(target.pid, tmp_path, "--memory", "--duration", "0.5")
            assert done.status == 0, done.err
            numbers = own_memory(load_stats(tmp_path / "a.lprof"), "keep")[2]
            assert numbers.alloc_bytes == numbers.allocs * BLOCK
            # It may end between a block's allocation and the end of the one before.
            for size in (numbers.live_bytes, numbers.peak_bytes):
                assert size in {10 * BLOCK, 11 * BLOCK}
        target.tell("")
        assert target.rest()[0] == 0


def test_the_program_has_no_memory_without_the_flag(tmp_path: Path) -> None:
    with Target(KEEPING) as target:
        attach(target.pid, tmp_path, "--duration", "0.2")
        assert load_stats(tmp_path / "a.lprof").memory == HostMemory()
        attach(target.pid, tmp_path, "--memory-sample", "50KB", "--duration", "0.2")
        [one] = load_stats(tmp_path / "a.lprof").memory.runs
        assert one.sample_bytes == 50_000
