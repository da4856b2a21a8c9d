"""Processor time of whole processes that take turns.

Wall time would depend on other processes. Bytecode is cached as that of installed
packages is, but in the folder that the processes run in, and removed with it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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
