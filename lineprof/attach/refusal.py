"""Reasons for which a process cannot be joined, each found before it is touched.

Each function that decides takes values, so that a test needs no such process.
"""

from __future__ import annotations

import errno
import os
import platform
import pwd
import sys
import sysconfig
from typing import TYPE_CHECKING

from lineprof.attach import elf, interpreter
from lineprof.attach.injection import REMOTE_EXEC, uses_remote_exec
from lineprof.attach.interpreter import UNKNOWN
from lineprof.control.place import read_status
from lineprof.control.watch import Watch
from lineprof.errors import LineprofError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lineprof.attach.interpreter import Interpreter

OLDEST = (3, 11)
_MACHINES = {"x86_64": elf.X86_64, "aarch64": elf.AARCH64}
_KTHREADD = "2"  # the number of the process whose children are threads of the kernel
_SYS_PTRACE = 19  # the number of the capability
_SIGTRAP, _SIGSEGV = 5, 11
_LISTEN = "start the program with 'kernprof --listen'"
_YAMA = "/proc/sys/kernel/yama/ptrace_scope"
_YAMA_CHILDREN, _YAMA_ADMIN, _YAMA_NOBODY = 1, 2, 3
_DISABLING = "PYTHON_DISABLE_REMOTE_DEBUG"


def check(pid: int) -> Interpreter:
    """Return the interpreter of a process that can be joined.

    Raises LineprofError, with the cause and the remedy, if it cannot. The process is
    looked at, and not touched.
    """
    check_system(sys.platform, platform.machine())
    with Watch(pid) as watch:
        try:
            return _checked(pid)
        except OSError as error:
            if watch.has_ended:  # while it was looked at
                raise LineprofError(
                    f"process {pid} has ended", hint="name one that still runs"
                ) from None
            raise LineprofError(
                f"cannot look at process {pid}: {error.strerror}", hint="try again"
            ) from error


def _checked(pid: int) -> Interpreter:
    """Return the interpreter of a process: see `check`. OSError if it ends meanwhile.

    Raises LineprofError as well.
    """
    status = read_status(pid)
    check_process(pid, status, os.getpid())
    tracer = int(status.get("TracerPid", "0"))
    if tracer:
        raise traced(pid, tracer, _name(tracer))
    _check_access(pid, status)
    found = interpreter.find(pid)
    check_interpreter(
        found,
        sys.version_info[:2],
        is_free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        machine=_MACHINES[platform.machine()],
    )
    if found.version >= REMOTE_EXEC:
        environment = _bytes(f"/proc/{pid}/environ").split(b"\0")
        command = _bytes(f"/proc/{pid}/cmdline").split(b"\0")
        check_remote_debugging(pid, environment, command)
    if not uses_remote_exec(found):
        check_signals(pid, status)
        _check_ptrace(pid)
    return found


def check_system(system: str, machine: str) -> None:
    """Refuse an operating system or a processor other than those that are known."""
    if system != "linux":
        raise LineprofError(
            "lineprof attach works on Linux alone",
            hint="start the program with kernprof, or let it call lineprof.listen():"
            " both work here",
        )
    if machine not in _MACHINES:
        raise LineprofError(
            f"lineprof attach does not know the processor {machine}", hint=_LISTEN
        )


def check_process(pid: int, status: Mapping[str, str], own_pid: int) -> None:
    """Refuse a process that runs no program, or does not run."""
    if pid == own_pid:
        raise LineprofError(f"process {pid} is this command itself")
    if int(status.get("Tgid", pid)) != pid:
        raise LineprofError(
            f"{pid} is a thread of process {status['Tgid']}",
            hint=f"give the process: lineprof attach {status['Tgid']}",
        )
    state = status.get("State", "")[:1]
    if state in {"Z", "X"}:
        if int(status.get("Threads", "1")) > 1:
            raise LineprofError(f"the main thread of process {pid} has ended")
        raise LineprofError(
            f"process {pid} has ended, and its parent {status.get('PPid', '?')} has"
            " not asked for its status"
        )
    # Before Linux 6.9 `status` does not tell, but kthreadd is their parent.
    if status.get("Kthread") == "1" or _KTHREADD in {str(pid), status.get("PPid")}:
        raise LineprofError(f"process {pid} is a thread of the kernel")
    if "VmSize" not in status:  # its memory goes first, then it is a zombie
        raise LineprofError(f"process {pid} has ended")
    if state == "T":
        raise LineprofError(
            f"process {pid} is stopped, by Ctrl-Z or SIGSTOP",
            hint=f"let it go on: kill -CONT {pid}",
        )


def traced(pid: int, tracer: int, name: str) -> LineprofError:
    """Return the error for a process that has a tracer, 0 in another namespace."""
    return LineprofError(
        f"process {pid} is being traced by process {tracer} ({name})",
        hint="a process can have one tracer: end that one",
    )


def check_interpreter(
    found: Interpreter,
    version: tuple[int, ...],
    *,
    is_free_threaded: bool,
    machine: int,
) -> None:
    """Refuse an interpreter that is not of the kind of this command's own.

    `version` is the major and minor one of this command.
    """
    pid, theirs = found.pid, "{}.{}".format(*found.version)
    if found.version < OLDEST:
        oldest = "{}.{}".format(*OLDEST)
        known = f"Python {theirs}" if found.version != UNKNOWN else "an old Python"
        raise LineprofError(
            f"process {pid} runs {known}, and lineprof needs {oldest}",
            hint=f"run the program with Python {oldest} or later",
        )
    if found.machine != machine:
        raise LineprofError(
            f"process {pid} runs a Python for another processor ({found.file})",
            hint="install lineprof for that Python, and run it with that one",
        )
    threaded = "t" if found.is_free_threaded else ""
    command = f"run: python{theirs}{threaded} -m lineprof attach {pid}"
    if found.version != version:
        ours = "{}.{}".format(*version)
        raise LineprofError(
            f"process {pid} runs Python {theirs}, this command Python {ours}",
            hint=command,
        )
    if found.is_free_threaded != is_free_threaded:
        kinds = ("with the GIL", "without the GIL (free-threaded)")
        raise LineprofError(
            f"process {pid} runs a Python {kinds[found.is_free_threaded]}, this command"
            f" one {kinds[is_free_threaded]}",
            hint=command,
        )


def check_remote_debugging(
    pid: int, environment: Sequence[bytes], command: Sequence[bytes]
) -> None:
    """Refuse a Python 3.14 or later in which remote debugging is switched off."""
    named = f"{_DISABLING}=".encode()
    values = [one for one in environment if one.startswith(named) and one != named]
    options = [b"disable-remote-debug", b"disable_remote_debug"]
    flags = [
        option
        for before, option in zip((b"", *command), command)
        if option.removeprefix(b"-X") in options
        and (before == b"-X" or option.startswith(b"-X"))
    ]
    if not values and not flags:
        return
    cause = _DISABLING if values else f"-X {flags[0].removeprefix(b'-X').decode()}"
    raise LineprofError(
        f"process {pid} has remote debugging switched off by {cause}",
        hint=f"start the program without it, or {_LISTEN}",
    )


def check_signals(pid: int, status: Mapping[str, str]) -> None:
    """Refuse a process whose handling of signals would be changed by a tracer."""
    ignored = int(status.get("SigIgn", "0"), 16)
    for number, name in ((_SIGTRAP, "SIGTRAP"), (_SIGSEGV, "SIGSEGV")):
        if ignored >> number - 1 & 1:
            raise LineprofError(
                f"process {pid} ignores {name}, which joining it would change",
                hint=_LISTEN,
            )
    if "shstk" in status.get("x86_Thread_features", "").split():
        raise LineprofError(
            f"process {pid} has a shadow stack, which forbids calls from outside",
            hint=_LISTEN,
        )


def denied(  # noqa: PLR0913  # each has its name
    pid: int,
    *,
    owner: int,
    user: int,
    has_capability: bool,
    yama: int,
    is_descendant: bool,
) -> LineprofError:
    """Return why a process's memory may not be read and written.

    `owner` and `user` are the user ids of the process and of this command, `yama` is
    the value of kernel.yama.ptrace_scope, 0 without it.
    """
    if yama >= _YAMA_NOBODY:
        return LineprofError(
            f"process {pid} cannot be joined: kernel.yama.ptrace_scope is {yama}, which"
            " forbids tracing to everyone until the next boot",
            hint=_LISTEN,
        )
    if owner != user and not has_capability:
        return LineprofError(
            f"process {pid} is of another user, {_user(owner)}",
            hint=f"use sudo, or run this as {_user(owner)}",
        )
    if yama == _YAMA_ADMIN and not has_capability:
        return LineprofError(
            f"process {pid} cannot be joined: kernel.yama.ptrace_scope is 2, so that"
            " administrators alone may trace",
            hint=f"use sudo, or {_LISTEN}",
        )
    if yama == _YAMA_CHILDREN and not has_capability and not is_descendant:
        return LineprofError(
            f"process {pid} cannot be joined: kernel.yama.ptrace_scope is 1, so that"
            " only child processes may be traced",
            hint=f"use sudo, or 'sudo sysctl kernel.yama.ptrace_scope=0', or {_LISTEN}",
        )
    if has_capability:
        return LineprofError(
            f"process {pid} cannot be joined, as it seems from within a container",
            hint=f"run lineprof on the host or in the process's own container, or"
            f" {_LISTEN}",
        )
    return LineprofError(
        f"process {pid} cannot be joined: it is protected, because its program has"
        " other rights than its user",
        hint=f"use sudo; in a container: --cap-add=SYS_PTRACE; or {_LISTEN}",
    )


def seccomp(pid: int) -> LineprofError:
    """Return the error for a client that may make no ptrace calls."""
    return LineprofError(
        f"process {pid} cannot be joined: a filter of system calls (seccomp) forbids"
        " this command to trace",
        hint=f"start the container with --cap-add=SYS_PTRACE, or {_LISTEN}",
    )


def _check_access(pid: int, status: Mapping[str, str]) -> None:
    """Refuse a process whose memory this command may not write.

    The kernel asks the same questions when the file is opened as when a tracer comes,
    Yama's among them, and nothing happens to the process.
    """
    try:
        os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC))
        os.stat(f"/proc/{pid}/root/")
        interpreter.read_maps(pid)
    except (FileNotFoundError, ProcessLookupError) as error:
        raise LineprofError(f"process {pid} has ended") from error
    except PermissionError as error:
        own = read_status(os.getpid())
        raise denied(
            pid,
            owner=int(status["Uid"].split()[1]),
            user=os.geteuid(),
            has_capability=bool(int(own["CapEff"], 16) >> _SYS_PTRACE & 1),
            yama=int(_bytes(_YAMA) or b"0"),
            is_descendant=_is_descendant(pid),
        ) from error


def _check_ptrace(pid: int) -> None:
    """Refuse if this command may not call ptrace at all: no process is its tracee."""
    import ctypes  # noqa: PLC0415  # 10 ms

    library = ctypes.CDLL(None, use_errno=True)
    detach = 17
    arguments = (ctypes.c_long(detach), os.getpid(), ctypes.c_void_p(), None)
    if library.ptrace(*arguments) and ctypes.get_errno() != errno.ESRCH:
        raise seccomp(pid)


def _is_descendant(pid: int) -> bool:
    """Return whether this process is the parent of `pid`, its grandparent, etc."""
    while pid > 1:
        try:
            pid = int(read_status(pid)["PPid"])
        except LineprofError:
            return False
        if pid == os.getpid():
            return True
    return False


def _name(pid: int) -> str:
    """Return the command of a process."""
    return _bytes(f"/proc/{pid}/comm").decode(errors="replace").strip() or "?"


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"with the number {uid}"


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return b""
