"""Metadata of this process: host, times, names of threads."""

from __future__ import annotations

import os
import sys
import time
from functools import cache


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


def cpu_ns() -> int:
    """Return the time that all threads of this process were on processors, in ns."""
    return time.process_time_ns()


@cache
def started_unix_ns() -> int:
    """Return the time at which this process began, in ns since the epoch.

    Where the system does not tell, that is the time of the first call.
    """
    try:
        with open("/proc/self/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
        ticks = int(fields[19])  # since the system was started
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (AttributeError, IndexError, OSError, ValueError):
        age = 0.0
    return time.time_ns() - int(max(0.0, age) * 1e9)


def thread_names() -> dict[int, str]:
    """Return the names of the running threads by their native ids."""
    threads = getattr(sys.modules.get("threading"), "enumerate", None)
    if threads is None:  # not imported, or a module of the program's own
        return {os.getpid(): "MainThread"}  # on Linux both have the same id
    return {
        thread.native_id: thread.name
        for thread in threads()
        if thread.native_id is not None
    }
