"""The recipe for Ray of docs/recipes.md, which writes more often."""

# mypy: ignore-errors

from __future__ import annotations

import os
import socket
import threading
import time
from typing import TYPE_CHECKING

import sums

from lineprof import LineProfiler

if TYPE_CHECKING:
    from types import CodeType

EVERY_S = 0.2


def is_of_the_program(code: CodeType) -> bool:
    """Return whether `code` is that of the function in the program itself."""
    return code.co_name == "work" and code.co_filename.endswith("on_ray.py")


def profile_worker() -> None:
    """Profile this process from now on, and write the profile again and again."""
    folder = os.environ["PROFILES"]
    profiler = LineProfiler()
    profiler.add_module(sums)
    profiler.discover(is_of_the_program)
    profiler.enable_by_count()
    file = f"{folder}/ray.{socket.gethostname()}.{os.getpid()}.lprof"

    def write() -> None:
        while True:
            time.sleep(EVERY_S)
            profiler.stats_so_far().to_file(file)

    threading.Thread(target=write, daemon=True).start()
