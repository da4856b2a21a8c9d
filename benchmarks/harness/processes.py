"""Processor time of whole processes that take turns.

Wall time would depend on other processes. Bytecode is cached as that of installed
packages is, but in the folder that the processes run in, and removed with it.
"""

from __future__ import annotations

import os
import resource
import select
import statistics
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

POLL_S = 0.005
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    """Resources that a process and the children that it waited for have used."""

    status: int  # negative: the signal that ended the process
    cpu_s: float
    rss_mb: float  # the largest of these processes
    end_s: float | None  # processor time from the last output to the file


def seconds(arguments: Sequence[str], folder: Path) -> float:
    """Run this Python with `arguments` in `folder`; return its processor time in s.

    Raises `subprocess.CalledProcessError` if the program fails.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def spent_so_far(pid: int) -> float:
    """Return the processor time of a process that still exists, in s; 0 if unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - it is timed
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * TICK_S


def usage(  # noqa: PLR0913, PLR0917 - as a shell has them
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    output: Path,
    file: Path,
    timeout_s: float,
) -> Usage:
    """Run a command in `folder`, at most `timeout_s` of wall time; return its usage.

    Both standard streams are written to the file `output`. The command may write
    `file`: the processor time from its last output until then is the time that its
    user waits, known to 10 ms. Memory that this process has would count as that of
    the command, which begins as its copy.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    clock = threading.Timer(timeout_s, process.kill)
    clock.start()
    assert process.stdout is not None  # noqa: S101 - for type checkers
    try:
        with output.open("wb") as stream:
            end_s = _copy(process.pid, process.stdout.fileno(), stream, file)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        clock.cancel()
        process.stdout.close()
    unit = 1 if sys.platform == "darwin" else 1024
    return Usage(
        status=process.returncode,
        cpu_s=used.ru_utime + used.ru_stime,
        rss_mb=used.ru_maxrss * unit / 1e6,
        end_s=end_s,
    )


def _copy(pid: int, pipe: int, stream: BinaryIO, file: Path) -> float | None:
    """Copy a process' output to `stream`.

    Returns the processor time from the last output before `file` exists until then,
    None if it never does, or /proc does not have the time.
    """
    last_s, end_s = 0.0, None
    while True:
        if end_s is None and file.exists():
            end_s = spent_so_far(pid) - last_s
        ready, _, _ = select.select([pipe], [], [], POLL_S if end_s is None else None)
        if not ready:
            continue
        text = os.read(pipe, 1 << 16)
        if not text:
            break
        if end_s is None and not file.exists():
            last_s = spent_so_far(pid)
        stream.write(text)
    return end_s if last_s else None


def in_turn(
    commands: Sequence[Sequence[str]], folder: Path, rounds: int
) -> list[list[float]]:
    """Run the commands in turn, `rounds` times; return the times of each, in s."""
    for command in commands:
        seconds(command, folder)  # files and caches are warm from here on
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(rounds):
        for command, series in zip(commands, times):
            series.append(seconds(command, folder))
    return times


def calmest(times: Sequence[float]) -> float:
    """Return the median of the shorter quarter of `times`: disturbances only add."""
    return statistics.median(sorted(times)[: max(1, len(times) // 4)])


def difference(base: Sequence[float], tool: Sequence[float]) -> float:
    """Return the median of the paired differences, in s."""
    return statistics.median(b - a for a, b in zip(base, tool))
