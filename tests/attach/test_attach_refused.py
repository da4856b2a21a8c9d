"""Reasons not to join a process: each is named before the process is touched."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from other_user import become_other_user
from target_process import COUNTING, Target, wait_until, why_not

from lineprof.attach import elf, injection, interpreter, refusal, task_state, tracee
from lineprof.attach.interpreter import UNKNOWN, Interpreter, read_maps
from lineprof.control.place import namespace_pid, read_status
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Callable

linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="processes are joined on Linux only"
)
root = pytest.mark.skipif(os.geteuid() != 0, reason="another user's process needs root")
FOUND = Interpreter(
    pid=12,
    version=(3, 12),
    file="/usr/bin/python3.12",
    bias=0,
    executable="/usr/bin/python3.12",
    machine=elf.X86_64,
    is_debug=False,
    is_free_threaded=False,
    add_pending_call=1,
    run_simple_string=2,
    code=b"",
)


def message(pid: int) -> str:
    """Return why a process cannot be joined."""
    with pytest.raises(LineprofError) as caught:
        refusal.check(pid)
    assert caught.value.hint or "has ended" in caught.value.message
    return str(caught.value)


@pytest.fixture
def target() -> Target:
    with Target(COUNTING) as one:
        yield one


# Real processes ----------------------------------------------------------------------


@linux
def test_a_process_that_does_not_exist() -> None:
    with subprocess.Popen([shutil.which("true")]) as ended:
        pass
    assert message(ended.pid).startswith(f"there is no process {ended.pid}; 'ps")


@linux
def test_a_process_that_its_parent_has_not_waited_for() -> None:
    with subprocess.Popen([shutil.which("true")]) as ended:
        wait_until(lambda: task_state.read(ended.pid).state == "ended")
        parent = f"its parent {os.getpid()} has not asked for its status"
        assert message(ended.pid) == f"process {ended.pid} has ended, and {parent}"


@linux
def test_a_thread_of_the_kernel() -> None:
    try:
        status = read_status(2)
    except LineprofError:
        pytest.skip("this container shows none")
    if status["Name"] != "kthreadd":
        pytest.skip("this container shows none")
    with pytest.raises(LineprofError, match="process 2 is a thread of the kernel"):
        refusal.check(2)


@pytest.mark.parametrize(
    ("pid", "lines", "expected"),
    [
        (2, {"PPid": "0"}, "process 2 is a thread of the kernel"),
        (70, {"PPid": "2"}, "process 70 is a thread of the kernel"),
        (70, {"PPid": "1", "Kthread": "1"}, "process 70 is a thread of the kernel"),
        (70, {"PPid": "1", "Kthread": "0"}, "process 70 has ended"),
        (70, {"PPid": "1"}, "process 70 has ended"),
    ],
)
def test_a_process_without_memory(
    pid: int, lines: dict[str, str], expected: str
) -> None:
    status = {"State": "R (running)", "Threads": "1", **lines}
    with pytest.raises(LineprofError, match=rf"^{expected}$"):
        refusal.check_process(pid, status, own_pid=1000)


@linux
def test_a_process_that_is_no_python() -> None:
    sleep = shutil.which("sleep")
    with subprocess.Popen([sleep, "100"]) as other:
        wait_until(lambda: "nanosleep" in task_state.read(other.pid).call)
        text = message(other.pid)
        other.kill()
    name = os.path.realpath(sleep)
    assert text.startswith(f"process {other.pid} ({name}) is not Python")


@linux
def test_a_process_that_is_stopped(target: Target) -> None:
    os.kill(target.pid, signal.SIGSTOP)
    wait_until(lambda: task_state.read(target.pid).state == "stopped")
    assert message(target.pid).endswith(f"let it go on: kill -CONT {target.pid}")
    os.kill(target.pid, signal.SIGCONT)
    assert target.goes_on()


@linux
def test_a_process_that_has_a_tracer(target: Target) -> None:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with tracee.Tracee(
        target.pid, tracee.MACHINES[refusal._MACHINES[os.uname().machine]]
    ):
        text = message(target.pid)
    name = refusal._name(os.getpid())
    expected = f"process {target.pid} is being traced by process {os.getpid()} ({name})"
    assert text.startswith(expected)
    assert target.goes_on()


@linux
@pytest.mark.skipif(not shutil.which("strace"), reason="there is no strace")
def test_a_process_under_strace(target: Target) -> None:
    words = ["strace", "-qq", "-o", "/dev/null", "-p", str(target.pid)]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as strace:
        wait_until(
            lambda: (
                strace.poll() is not None or read_status(target.pid)["TracerPid"] != "0"
            )
        )
        if strace.poll() is not None:
            pytest.skip(strace.stderr.read().decode())
        text = message(target.pid)
        strace.terminate()
    assert f"is being traced by process {strace.pid} (strace)" in text
    assert target.goes_on()


@linux
@root
def test_a_process_of_another_user(target: Target) -> None:
    expected = f"process {target.pid} is of another user, root; use sudo, or run this"
    assert as_other_user(lambda: refusal.check(target.pid)).startswith(expected)
    assert target.goes_on()


@linux
@root
def test_a_program_that_is_protected_from_its_own_user() -> None:
    """A process that changes its user is one that this user may not trace."""
    program = f"import os\nos.setresuid(65534, 65534, 65534)\n{COUNTING}"
    with Target(program) as target:
        text = as_other_user(lambda: refusal.check(target.pid))
        assert "it is protected" in text
        assert "--cap-add=SYS_PTRACE" in text
        assert target.goes_on()


def as_other_user(act: Callable[[], object]) -> str:
    """Return the error of a function in a child process with another user id."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            become_other_user()
            act()
        except BaseException as error:  # noqa: BLE001  # the parent compares it
            os.write(writing, str(error).encode())
        os._exit(0)
    os.close(writing)
    text = b""
    while part := os.read(reading, 1 << 12):
        text += part
    os.close(reading)
    os.waitpid(child, 0)
    return text.decode()


@linux
def test_this_process_and_threads_of_others() -> None:
    with pytest.raises(LineprofError, match="this command itself"):
        refusal.check(os.getpid())
    program = f"import threading\nthreading.Thread(target=input).start()\n{COUNTING}"
    with Target(program) as threaded:
        tasks = Path(f"/proc/{threaded.pid}/task").iterdir()
        (other,) = {int(task.name) for task in tasks} - {threaded.pid}
        assert message(other) == (
            f"{other} is a thread of process {threaded.pid}; give the process:"
            f" lineprof attach {threaded.pid}"
        )


@linux
def test_a_python_of_another_version() -> None:
    versions = {f"python3.{n}" for n in range(9, 20)}
    versions.remove(f"python3.{sys.version_info.minor}")
    folders = [*Path(sys.base_prefix).parent.glob("*/bin"), Path("/usr/bin")]
    paths = (folder / name for folder in folders for name in versions)
    other = next(filter(Path.exists, paths), None)
    if not other:
        pytest.skip("there is one Python here")
    with subprocess.Popen(
        [other, "-c", "input('ready')"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.read(5) == b"ready"
        text = message(process.pid)
        process.communicate(b"\n")
    assert re.match(rf"process {process.pid} runs Python 3\.\d+", text)
    assert process.returncode == 0


@linux
@pytest.mark.skipif(
    sys.version_info < injection.REMOTE_EXEC, reason="3.14 has remote debugging"
)
def test_a_python_in_which_remote_debugging_is_switched_off() -> None:
    for how in (
        {"env": {"PYTHON_DISABLE_REMOTE_DEBUG": "1"}},
        {"flags": ["-X", "disable-remote-debug"]},
        {"flags": ["-Xdisable_remote_debug"]},
    ):
        with Target(COUNTING, **how) as target:
            assert "has remote debugging switched off by" in message(target.pid)
            assert target.goes_on()


@linux
@pytest.mark.skipif(
    sys.version_info >= injection.REMOTE_EXEC, reason="sys.remote_exec has no ptrace"
)
def test_a_process_that_ignores_the_signals_of_a_tracer() -> None:
    program = f"import signal\nsignal.signal(5, signal.SIG_IGN)\n{COUNTING}"
    with Target(program) as target:
        assert "ignores SIGTRAP" in message(target.pid)
        assert target.goes_on()


# Decisions ---------------------------------------------------------------------------


def denied(**values: int) -> str:
    """Return the reason for which a process's memory may not be read."""
    usual = {"owner": 1, "user": 1, "has_capability": 0, "yama": 0, "is_descendant": 0}
    return str(refusal.denied(12, **{**usual, **values}))


def test_reasons_of_the_kernel() -> None:
    assert "ptrace_scope is 3" in denied(yama=3, has_capability=1)
    assert "until the next boot; start the program with 'kernprof" in denied(yama=3)
    assert "ptrace_scope is 2" in denied(yama=2, is_descendant=1)
    text = denied(yama=1)
    assert "ptrace_scope is 1" in text
    for cure in ("sudo", "sudo sysctl kernel.yama.ptrace_scope=0", "kernprof --listen"):
        assert cure in text
    assert "protected" in denied(yama=1, is_descendant=1)
    assert "--cap-add=SYS_PTRACE" in denied()
    assert denied(owner=0).startswith("process 12 is of another user, root; use sudo")
    assert "the number 4000000000" in denied(owner=4_000_000_000)
    assert "container" in denied(owner=0, has_capability=1)
    assert "(seccomp)" in str(refusal.seccomp(12))
    assert "--cap-add=SYS_PTRACE" in refusal.seccomp(12).hint


def test_other_systems_and_processors() -> None:
    refusal.check_system("linux", "x86_64")
    refusal.check_system("linux", "aarch64")
    with pytest.raises(LineprofError, match="works on Linux alone; start the program"):
        refusal.check_system("darwin", "arm64")
    with pytest.raises(LineprofError, match="the processor riscv64"):
        refusal.check_system("linux", "riscv64")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ""),
        ({"is_debug": True}, ""),
        ({"version": (3, 10)}, "runs Python 3.10, and lineprof needs 3.11"),
        ({"version": UNKNOWN}, "runs an old Python, and lineprof needs 3.11"),
        (
            {"version": (3, 13)},
            "this command Python 3.12; run: python3.13 -m lineprof attach 12",
        ),
        ({"is_free_threaded": True}, "run: python3.12t -m lineprof attach 12"),
        ({"machine": elf.AARCH64}, "another processor"),
    ],
)
def test_other_interpreters(changes: dict[str, object], expected: str) -> None:
    def check() -> None:
        refusal.check_interpreter(
            FOUND._replace(**changes),
            (3, 12),
            is_free_threaded=False,
            machine=elf.X86_64,
        )

    if expected:
        with pytest.raises(LineprofError, match=re.escape(expected)):
            check()
    else:
        check()


@pytest.mark.parametrize(
    ("environment", "command", "cause"),
    [
        ([], [b"python", b"-X", b"dev", b"disable-remote-debug"], ""),
        ([b"PYTHON_DISABLE_REMOTE_DEBUG="], [], ""),
        ([b"A=1", b"PYTHON_DISABLE_REMOTE_DEBUG=1"], [], "PYTHON_DISABLE_REMOTE_DEBUG"),
        ([], [b"python", b"-X", b"disable-remote-debug"], "-X disable-remote-debug"),
        ([], [b"python", b"-Xdisable_remote_debug"], "-X disable_remote_debug"),
    ],
)
def test_remote_debugging(
    environment: list[bytes], command: list[bytes], cause: str
) -> None:
    if not cause:
        refusal.check_remote_debugging(12, environment, command)
        return
    with pytest.raises(LineprofError, match=f"switched off by {cause}; start"):
        refusal.check_remote_debugging(12, environment, command)


def test_states_of_a_process() -> None:
    running = {"State": "S (sleeping)", "VmSize": "1 kB", "Tgid": "12"}
    refusal.check_process(12, running, 1)
    ended = {**running, "State": "Z (zombie)", "Threads": "2"}
    with pytest.raises(LineprofError, match="the main thread of process 12 has ended"):
        refusal.check_process(12, ended, 1)
    refusal.check_signals(12, {"SigIgn": "0000000001001000"})
    with pytest.raises(LineprofError, match="ignores SIGSEGV"):
        refusal.check_signals(12, {"SigIgn": "0000000000000400"})
    with pytest.raises(LineprofError, match="shadow stack"):
        refusal.check_signals(12, {"x86_Thread_features": "shstk wrss"})


def test_system_calls_have_names() -> None:
    assert task_state.system_call("230 0x0 0x1", "x86_64") == "clock_nanosleep"
    assert task_state.system_call("115 0x0", "aarch64") == "clock_nanosleep"
    assert task_state.system_call("999 0x0", "x86_64") == "system call 999"
    assert not task_state.system_call("running", "x86_64")
    assert not task_state.system_call("", "x86_64")
    running = task_state.TaskState(state="running")
    assert not task_state.blocked_notice(running)
    blocked = task_state.TaskState(state="sleeping")
    assert str(blocked) == "blocked in a system call"


@linux
def test_a_process_that_has_ended_has_no_state_and_no_memory() -> None:
    with subprocess.Popen([shutil.which("true")]) as ended:
        pass
    for look in (task_state.read, read_maps, namespace_pid):
        with pytest.raises(LineprofError, match=f"process {ended.pid}"):
            look(ended.pid)


@linux
def test_a_program_that_ends_while_it_is_looked_at(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = interpreter.read_memory

    def end_and_read(*arguments: int) -> bytes:
        target.end()
        return read(*arguments)

    monkeypatch.setattr(interpreter, "read_memory", end_and_read)
    assert message(target.pid).startswith(f"process {target.pid} has ended")
