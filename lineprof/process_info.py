"""Metadata of this process: host, times, names of threads."""

from __future__ import annotations

import os
import sys
import time
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    T = TypeVar("T")


def python_version() -> str:
    """Return the interpreter's name and version, as in ``CPython 3.13.0``."""
    release = ".".join(map(str, sys.version_info[:3]))
    name = sys.implementation.name
    name = "CPython" if name == "cpython" else name
    return f"{name} {release}"


def host() -> str:
    """Return the machine's name."""
    return os.uname().nodename


def unix_ns() -> int:
    """Return the time since the epoch in ns."""
    return time.time_ns()


_READINGS = 5


def unix_offset_ns() -> int:
    """Return the time since the epoch less CLOCK_MONOTONIC, in ns.

    Of several pairs of readings it is the one that took least time.
    """
    found = []
    for _ in range(_READINGS):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        now = time.time_ns()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        found.append((after - before, now - (before + after) // 2))
    return min(found)[1]


def cpu_ns() -> int:
    """Return the time that all threads of this process were on processors, in ns."""
    return time.process_time_ns()


@cache
def started_unix_ns() -> int:
    """Return the time at which this process began, in ns since the epoch.

    Where the system does not tell, that is the time of the first call.
    """
    ticks, now = start_ticks(os.getpid()), time.time_ns()
    if ticks is None:
        return now
    return min(now, int((system_started() + ticks / os.sysconf("SC_CLK_TCK")) * 1e9))


def system_started() -> float:
    """Return when the system was started, in seconds since the epoch; 0 if unknown."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return 0.0 if clock is None else time.time() - time.clock_gettime(clock)


def identity() -> dict[str, object]:
    """Return what tells this process from every other one, of all machines and times.

    ``pid`` and ``started`` (in ticks since the system was started, 0 if unknown) are
    those of the process, in the ``namespace`` of process ids ("" if unknown); ``boot``
    is the system's since its start, ``machine`` its id ("" if unknown), and ``host``
    its name.
    """
    return {
        "pid": os.getpid(),
        "started": start_ticks(os.getpid()) or 0,
        "namespace": _namespace(),
        "boot": _boot(),
        "machine": _machine(),
        "host": host(),
        "oom": _oom_kills(_memory_events()),
    }


def start_ticks(pid: int) -> int | None:
    """Return when a process was started, in ticks; None if there is none now."""
    fields = _content(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    try:
        return int(fields[19])
    except (IndexError, ValueError):
        return None


def running_children() -> dict[int, tuple[str, ...]]:
    """Return the commands of the children of this process that run now, by pid.

    The first word is the path by which the executable was started if that is known, as
    with a virtual environment; else its own. Empty where the system does not tell.
    """
    pids: list[bytes] = []
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", "rb") as stream:
                pids += stream.read().split()
    except Exception:  # noqa: BLE001, S110  # another system, a program's audit hook
        pass
    return {int(pid): words for pid in pids if (words := _command(int(pid)))}


def _command(pid: int) -> tuple[str, ...]:
    """Return the command of a process; () if it has ended."""
    try:
        executable = os.readlink(f"/proc/{pid}/exe")
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            words = os.fsdecode(stream.read()).split("\0")[:-1]
        started_as = words[0]
        if os.path.isabs(started_as) and os.path.realpath(started_as) == executable:
            executable = started_as
    except (IndexError, OSError):
        return ()
    return (executable, *words[1:])


def is_same_system(identity: Mapping[str, object]) -> bool:
    """Return whether a process of that `identity` would be seen from this one."""
    mine = (_boot(), _namespace())
    return all(mine) and (identity.get("boot"), identity.get("namespace")) == mine


def oom_kills_since(identity: Mapping[str, object]) -> bool:
    """Return whether a process of the same control group was killed for memory since.

    False if that is not known.
    """
    known = identity.get("oom")
    if not isinstance(known, tuple) or not is_same_system(identity):
        return False
    if list(map(type, known)) != [str, int] or not _is_memory_events(known[0]):
        return False  # the identity is that of a live file, which may be another user's
    path, before = str(known[0]), int(known[1])
    return (_oom_kills(path) or ("", 0))[1] > before


def _memory_events() -> str:
    """Return the file with the memory events of this process's control group."""
    lines = os.fsdecode(_content("/proc/self/cgroup")).splitlines()
    groups = [line.removeprefix("0::") for line in lines if line.startswith("0::")]
    return f"{_GROUPS}{groups[0]}{_EVENTS}" if groups else ""


_GROUPS, _EVENTS = "/sys/fs/cgroup", "/memory.events"


def _is_memory_events(path: str) -> bool:
    """Return whether a path is that of a file of the kernel for a control group."""
    return (
        path.startswith(f"{_GROUPS}/")
        and path.endswith(_EVENTS)
        and path == os.path.normpath(path)
    )


def _oom_kills(path: str) -> tuple[str, int] | None:
    """Return the file and how many processes were killed for memory; None: unknown."""
    lines = _content(path).splitlines()
    counts = [line.split()[1] for line in lines if line.startswith(b"oom_kill ")]
    return (path, int(counts[0])) if counts and counts[0].isdigit() else None


def is_earlier_system(identity: Mapping[str, object]) -> bool:
    """Return whether this machine was started again since that process ran."""
    known = (_machine(), host())
    is_here = all(known) and (identity.get("machine"), identity.get("host")) == known
    boot = identity.get("boot")
    return is_here and bool(boot and _boot()) and boot != _boot()


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _machine() -> str:
    return _id_in("/etc/machine-id")


def _boot() -> str:
    return _id_in("/proc/sys/kernel/random/boot_id")


def _id_in(file: str) -> str:
    """Return the text of a file that has an id, "" if there is none."""
    return _content(file, 64).decode("ascii", "replace").strip()


def _content(file: str, size: int = -1) -> bytes:
    """Return up to `size` bytes of a file; none if it cannot be read."""
    try:
        with open(file, "rb") as stream:
            return stream.read(size)
    except (OSError, ValueError):  # a name from a live file may be no path
        return b""


# Values of the program, which may put anything in their place.

_CLASS_NAME = vars(type)["__name__"].__get__  # a metaclass may have another `__name__`


def asked(ask: Callable[..., T], *arguments: object, otherwise: T) -> T:
    """Return ``ask(*arguments)``; `otherwise` if an object of the program fails.

    KeyboardInterrupt goes through: a user has it raised.
    """
    try:
        return ask(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001  # of whatever kind
        return otherwise


def arguments() -> tuple[str, ...]:
    """Return the words of `sys.argv`, as texts."""
    words = getattr(sys, "argv", None)
    if not isinstance(words, (list, tuple)):
        return ()
    return tuple(map(_text, asked(list, words, otherwise=[])))


def _text(word: object) -> str:
    if type(word) is str:
        return word
    name = _CLASS_NAME(type(word))
    return asked(lambda: str.__str__(str(word)), otherwise=f"<{name}>")


def thread_names() -> dict[int, str]:
    """Return the names of the running threads by their native ids.

    A thread that does not tell its id or its name is left out.
    """
    # Without the lock of `threading.enumerate`, which the program may hold.
    threads = getattr(sys.modules.get("threading"), "_active", None)
    if type(threads) is not dict:  # not imported, or a module of the program's own
        return {os.getpid(): "MainThread"}  # on Linux both have the same id
    names = {}
    for thread in [*threads.values()]:
        number = asked(getattr, thread, "native_id", otherwise=None)
        name = asked(getattr, thread, "name", otherwise=None)
        if type(number) is int and name is not None:
            names[number] = _text(name)
    return names
