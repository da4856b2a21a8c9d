"""A source text that runs in another Python process, which then goes on as before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from deadline import DEADLINE
from target_process import (
    COUNTING,
    Target,
    other_namespaces,
    python_below,
    wait_until,
    why_not,
)

from lineprof.attach import injection, interpreter, refusal, task_state, tracee
from lineprof.control.place import namespace_pid
from lineprof.errors import LineprofError
from lineprof.private_folder import own_folder_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.serial
by_ptrace = pytest.mark.skipif(
    sys.version_info >= injection.REMOTE_EXEC, reason="sys.remote_exec has no ptrace"
)
# Not `print`: a text may run inside of the program's own.
SAY = "import os\nos.write(1, b'joined\\n')\n"


@pytest.fixture(scope="module", autouse=True)
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the folder of scripts: one that is replaced before it runs stays there."""
    if not sys.platform.startswith("linux"):
        pytest.skip("processes are joined on Linux only")
    reason = why_not()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("scripts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(
            "TMPDIR", str(folder)
        )  # of the programs, where they are looked for
        own = folder / own_folder_name()
        own.mkdir(mode=0o700)
        yield own


COMPUTING = """\
import sys, threading
stop = threading.Event()
threading.Thread(target=lambda: (input(), stop.set()), daemon=True).start()
before = set(globals())
print("ready", flush=True)
rounds, number, real, wrong = 0, 1, 1.0, 0
while not stop.is_set():
    number, real, rounds = 1, 1.0, rounds + 1
    for i in range(2_000):
        number = number * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        real = real * 0.75 + i / 3
    if rounds == 1:
        expected = number, real
    wrong += (number, real) != expected
new = set(globals()) - before - {"i", "rounds", "number", "real", "wrong", "expected"}
print("names", sorted(new - {"before"}), "wrong", wrong)
sys.exit(7)
"""


def test_it_runs_in_a_busy_loop_that_notices_nothing() -> None:
    with Target(COMPUTING) as target:
        for _ in range(20):
            target.join(SAY)
            assert target.line() == "joined"
        target.tell("")
        assert target.rest() == (7, ["names [] wrong 0"])


ALLOCATING = """\
import gc, sys, threading
gc.set_threshold(50)
joined, stop = [], threading.Event()
sys.joined = joined
def allocate():
    while not stop.is_set():
        cycle = [bytes(n) for n in range(0, 4000, 7)]
        cycle.append(cycle)
threads = [threading.Thread(target=allocate) for _ in range(2)]
for thread in threads:
    thread.start()
threading.Thread(target=lambda: (input(), stop.set()), daemon=True).start()
print("ready", flush=True)
allocate()
for thread in threads:
    thread.join()
print(len(joined))
"""


def test_it_runs_50_times_in_a_program_with_three_allocating_threads() -> None:
    with Target(ALLOCATING) as target:
        for number in range(50):
            text = f"import sys\nsys.joined.append({number})\n{SAY}"
            target.join(text)
            assert target.line() == "joined"
        target.tell("")
        assert target.rest() == (0, ["50"])


def test_it_runs_in_an_asyncio_program() -> None:
    program = """\
import asyncio, sys
async def main():
    print("ready", flush=True)
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, sys.stdin)
    async def tick():
        while True:
            await asyncio.sleep(0.005)
    ticks = asyncio.create_task(tick())
    print((await reader.readline()).decode().strip(), flush=True)
    ticks.cancel()
asyncio.run(main())
"""
    with Target(program) as target:
        for _ in range(10):
            target.join(SAY)
            assert target.line() == "joined"
        target.tell("end")
        assert target.rest() == (0, ["end"])


@pytest.mark.parametrize(
    ("wait", "call"),
    [
        ("time.sleep(1.5)", "nanosleep"),
        ("select.poll().poll(1500)", "poll"),
        ("select.select([], [], [], 1.5)", "select"),
        ("lock.acquire(timeout=1.5)", "futex"),
    ],
)
def test_a_wait_takes_as_long_as_before_and_it_runs_afterwards(
    wait: str, call: str
) -> None:
    program = f"""\
import select, threading, time
lock = threading.Lock()
lock.acquire()
print("ready", flush=True)
start = time.monotonic()
{wait}
took = time.monotonic() - start
for i in range(1000):
    pass
print(took)
"""
    with Target(program) as target:
        target.wait_blocked_in(call)
        state = task_state.read(target.pid)
        blocked = f"the main thread is blocked in {state.call}: it is joined when"
        assert task_state.blocked_notice(state).startswith(blocked)
        time.sleep(1)  # what has been waited is not waited again
        count = 1 if sys.version_info >= injection.REMOTE_EXEC else 3
        for _ in range(count):
            target.join(SAY)
        status, lines = target.rest()
        assert (status, lines[:-1]) == (0, ["joined"] * count)
        assert 1.49 < float(lines[-1]) < 2.49


@pytest.mark.parametrize(
    "text",
    [
        "raise SystemExit(3)",
        "raise KeyboardInterrupt",
        "1 / 0",
        "del __builtins__\nraise ValueError",
    ],
)
def test_an_exception_in_it_does_not_reach_the_program(text: str) -> None:
    with Target(COUNTING) as target:
        target.join(f"import os\nos.write(1, b'tried\\n')\n{text}")
        target.until("tried")
        target.join("import os\nos.write(1, 'joined \\0\\'\"\\\\é€😀\\n'.encode())\n")
        target.until("joined \0'\"\\é€😀")
        assert target.goes_on()


@pytest.mark.parametrize("text", ["no python at all", "\0", "x" * 100_000])
def test_a_text_that_does_not_run_is_forgotten(text: str) -> None:
    with Target(COUNTING) as target:
        target.join(text)
        assert target.goes_on()
        target.join(SAY)
        target.until("joined")


def test_a_program_may_have_a_name_exec_of_its_own() -> None:
    with Target(f"exec = compile = print = None\n{COUNTING_SILENTLY}") as target:
        target.join(SAY)
        target.until("joined")


COUNTING_SILENTLY = """\
import os
os.write(1, b"ready\\n")
while True:
    pass
"""


@by_ptrace
def test_it_knows_the_memory_that_it_came_in_and_may_unmap_it() -> None:
    text = """\
import ctypes
address, size = page
print(b"ctypes" in ctypes.string_at(address), size, flush=True)
print(ctypes.CDLL(None).munmap(ctypes.c_void_p(address), size), flush=True)
"""
    with Target(COUNTING) as target:
        target.join(text + "#" * 5000)
        target.until("True 8192")
        target.until("0")
        assert target.goes_on()


SIGNALS = """\
import itertools, os, signal
received = itertools.count(1)
signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"signal %d\\n" % next(received)))
print("ready", flush=True)
while True:
    pass
"""


def test_no_signal_is_lost() -> None:
    """Signals are sent one after the other while texts are injected all the time."""
    with Target(SIGNALS) as target:
        found = refusal.check(target.pid)
        joined = threading.Semaphore(0)
        failures, rounds = [], []

        def read_lines() -> None:
            number = 0
            try:
                while number < 300 or len(rounds) < 20:
                    number += 1
                    os.kill(target.pid, signal.SIGUSR1)
                    while (line := target.line()) == "joined":
                        joined.release()
                    assert line == f"signal {number}"
            except AssertionError as error:
                failures.append(error)

        thread = threading.Thread(target=read_lines)
        thread.start()
        while thread.is_alive():
            injection.run_in(found, SAY)
            while thread.is_alive() and not joined.acquire(timeout=0.01):
                pass
            rounds.append(1)
        assert not failures


def test_a_signal_that_ends_the_program_ends_it() -> None:
    with Target(COUNTING_SILENTLY) as target:
        target.join("")
        os.kill(target.pid, signal.SIGTERM)
        assert target.rest()[0] == -signal.SIGTERM


@by_ptrace
def test_too_many_calls_in_a_row_are_refused_and_do_no_harm() -> None:
    program = "import time\nprint('ready', flush=True)\ninput()\nfor _ in 'ab': pass\n"
    with Target(program + "print(1, flush=True)\nprint(2)") as target:
        target.wait_blocked_in("read")
        with pytest.raises(LineprofError, match="too many calls waiting"):  # noqa: PT012
            for _ in range(40):
                target.join("print('joined')")
        target.tell("")
        status, lines = target.rest()
        assert (status, lines[-2:]) == (0, ["1", "2"])
        assert lines.count("joined") == len(lines) - 2 >= 31


PENDING = """\
import ctypes
called = 0
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def pending(_):
    global called
    called += 1
    return 0
add = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
    ("Py_AddPendingCall", ctypes.pythonapi)
)
print("ready", flush=True)
n = 0
while True:
    n += not add(ctypes.cast(pending, ctypes.c_void_p), None)
    if n > called + 40:
        print("lost", n, called, flush=True)
"""


@by_ptrace
def test_a_program_that_makes_pending_calls_itself_goes_on() -> None:
    with Target(PENDING) as target:
        found = refusal.check(target.pid)
        for _ in range(70):
            injection.run_in(found, SAY)
            assert target.line() == "joined"


@by_ptrace
def test_a_lock_that_is_taken_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(injection, "_PAUSE_S", 0)
    tries = []

    def call(*_: object) -> int:
        tries.append(1)
        raise tracee.LockTakenError

    with Target(COUNTING) as target:
        found = refusal.check(target.pid)
        with monkeypatch.context() as patch:
            patch.setattr(tracee.Tracee, "call", call)
            with pytest.raises(LineprofError, match="at all of 5 tries; try again"):
                injection.run_in(found, SAY)
        assert len(tries) == 5
        assert target.goes_on()
        injection.run_in(found, SAY)
        target.until("joined")


@by_ptrace
def test_a_semaphore_is_taken_if_it_is_free_and_not_waited_for_else() -> None:
    with Target(COUNTING) as target:
        found = refusal.check(target.pid)
        machine = tracee.MACHINES[found.machine]
        if machine is not tracee.X86_64:
            pytest.skip("other processors cannot step through an atomic exchange")
        maps = interpreter.read_maps(target.pid)
        at = injection._system_call(target.pid, maps, machine)
        paths = {one.path for one in maps if "libc" in one.path}
        (wait,) = filter(
            None,
            (interpreter.exported(found.pid, path, maps, "sem_wait") for path in paths),
        )
        way = injection._way_to_lock(found, maps)._replace(entry=0)
        for _ in range(20):
            with tracee.Tracee(target.pid, machine) as thread:
                semaphore = thread.map_memory(4096, at)
                thread.write(semaphore, b"\1")
                assert thread.call(wait, (semaphore,), way) == 0
                assert thread.read(semaphore, 16) == bytes(16)
                with pytest.raises(tracee.LockTakenError):
                    thread.call(wait, (semaphore,), way)
                assert thread.read(semaphore, 16) == bytes(16)
                thread.unmap_memory(semaphore, 4096, at)
            assert target.goes_on()


@by_ptrace
def test_the_processor_may_lack_breakpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then all instructions up to the lock are stepped through."""
    monkeypatch.setattr(tracee.Tracee, "_run_to", lambda *_: False)
    with Target(COUNTING) as target:
        for _ in range(3):
            target.join(SAY)
            target.until("joined")
        assert target.goes_on()


CLIENT = """\
import sys
import lineprof
from lineprof.attach import injection, refusal
from lineprof.errors import LineprofError
found = refusal.check(int(sys.argv[1]))
print("ready", flush=True)
while True:
    try:
        injection.run_in(found, "")
    except LineprofError:
        pass  # too many calls wait: the program gets no processor
"""


def test_a_client_that_is_interrupted_leaves_the_program_running() -> None:
    with Target(COUNTING) as target:
        for number in range(10):
            client = subprocess.Popen(
                [sys.executable, "-c", CLIENT, str(target.pid)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            assert client.stdout.readline() == b"ready\n"
            ending = (signal.SIGINT, signal.SIGTERM)[number % 2]
            time.sleep(number / 300)
            client.send_signal(ending)
            assert client.wait(DEADLINE) == -ending
            client.stdout.close()
            assert target.goes_on()
        target.join(SAY)
        target.until("joined")


def test_a_program_that_has_ended_is_an_error() -> None:
    with Target(COUNTING) as target:
        found = refusal.check(target.pid)
    with pytest.raises(LineprofError, match=rf"process {found.pid}"):
        injection.run_in(found, SAY)


def test_a_program_that_was_replaced_by_another_is_left_alone() -> None:
    program = """\
import os, sys
print("ready", flush=True)
input()
os.execv("/bin/sh", ["sh", "-c", "echo other; read line; echo $line"])
"""
    with Target(program) as target:
        found = refusal.check(target.pid)
        target.tell("")
        target.until("other")
        with pytest.raises(LineprofError, match=rf"process {found.pid}"):
            injection.run_in(found, SAY)
        target.tell("end")
        assert target.rest() == (0, ["end"])


def test_a_program_that_is_stopped_meanwhile_stays_stopped() -> None:
    with Target(COUNTING) as target:
        found = interpreter.find(target.pid)
        os.kill(target.pid, signal.SIGSTOP)
        wait_until(lambda: task_state.read(target.pid).state == "stopped")
        injection.run_in(found, SAY)
        wait_until(lambda: task_state.read(target.pid).state == "stopped")
        os.kill(target.pid, signal.SIGCONT)
        target.until("joined")
        assert target.goes_on()


def test_a_program_in_other_namespaces_is_joined() -> None:
    """It has another pid for itself, and another folder for temporary files."""
    with Target(COUNTING, before=other_namespaces()) as target:
        pid = python_below(target.pid)
        own = namespace_pid(pid)
        assert own < 10
        found = refusal.check(pid)
        assert found.pid == pid
        text = "import os\nos.write(1, b'joined %d\\n' % os.getpid())"
        injection.run_in(found, text)
        target.until(f"joined {own}")


@pytest.mark.skipif(
    sys.version_info < injection.REMOTE_EXEC, reason="3.14 has sys.remote_exec"
)
@pytest.mark.parametrize(
    ("ends", "expected"), [(True, "has ended"), (False, "cannot be told to run")]
)
def test_a_process_without_a_main_thread_is_perhaps_at_its_end(
    monkeypatch: pytest.MonkeyPatch, scripts: Path, *, ends: bool, expected: str
) -> None:
    def refuse(pid: int, _path: str) -> None:
        if ends:
            os.kill(pid, signal.SIGKILL)
        raise RuntimeError("Can't find the main thread in the remote process")

    monkeypatch.setattr(sys, "remote_exec", refuse, raising=False)
    before = set(scripts.iterdir())
    with Target(COUNTING) as target:
        one = interpreter.find(target.pid)
        with pytest.raises(LineprofError, match=f"process {target.pid} {expected}"):
            injection.run_in(one, SAY)
    assert set(scripts.iterdir()) == before


@pytest.mark.skipif(
    sys.version_info < injection.REMOTE_EXEC, reason="3.14 has scripts on the disk"
)
def test_the_script_is_private_and_is_removed_when_it_has_run(scripts: Path) -> None:
    before = set(scripts.iterdir())
    with Target(COUNTING) as target:
        os.kill(target.pid, signal.SIGSTOP)
        wait_until(lambda: task_state.read(target.pid).state == "stopped")
        injection.run_in(interpreter.find(target.pid), SAY)
        (script,) = set(scripts.iterdir()) - before
        assert script.stat().st_mode & 0o777 == 0o600
        os.kill(target.pid, signal.SIGCONT)
        target.until("joined")
        assert set(scripts.iterdir()) == before
