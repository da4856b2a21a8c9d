"""Whole processes, timed in turn.

Their bytecode is cached, as that of installed packages is: in the folder they
run in, so that it is there whatever the environment says, and gone afterwards.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def seconds(arguments: Sequence[str], folder: Path) -> float:
    """Run this Python with `arguments` in `folder`; give the wall time in s.

    Raises `subprocess.CalledProcessError` where the program fails.
    """
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        env=environment,
    )
    return time.perf_counter() - start


def in_turn(
    commands: Sequence[Sequence[str]], folder: Path, rounds: int
) -> list[list[float]]:
    """Run the commands one after the other, again and again; give s of each."""
    for command in commands:
        seconds(command, folder)  # files and caches are warm from here on
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(rounds):
        for command, series in zip(commands, times):
            series.append(seconds(command, folder))
    return times


def ratio(base: Sequence[float], tool: Sequence[float]) -> float:
    """Give the median of the paired quotients."""
    return statistics.median(b / a for a, b in zip(base, tool))


def difference(base: Sequence[float], tool: Sequence[float]) -> float:
    """Give the median of the paired differences, in s."""
    return statistics.median(b - a for a, b in zip(base, tool))
