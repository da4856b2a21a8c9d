"""Pythons for programs that drive the doubles, by whether their clock is frozen.

Such a program runs for a hundredth of a second, and a new Python imports lineprof,
kernprof and ctypes for a sixth of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deadline import DEADLINE
from forked_python import ForkedPython

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# Imported once. Programs import the same modules, or kernprof does for them.
PRELOADED = (
    "gpu_client",
    "gpu_double",
    "kernprof.child",
    "kernprof.children",
    "kernprof.cli",
    "kernprof.profilers",
    "kernprof.project",
    "kernprof.selection",
    "kernprof.whole_program",
    "lineprof.line_stats",
    "lineprof.private_folder",
    "lineprof.processes.member",
    "lineprof.processes.parts",
    "lineprof.recording.cupti_libraries",
    "lineprof.recording.live_file",
    "lineprof.recording.profiler",
    "lineprof.recording.trace",
    "lineprof.report",
    "lineprof.snapshot.gpu",
    "lineprof.storage.reader_gpu",
    "resource",
    "running",
    "threading",
)
# A library that is preloaded freezes the clock.
PYTHONS = {frozen: ForkedPython(lambda: PRELOADED) for frozen in (False, True)}


def run_with_doubles(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    frozen: bool = False,
) -> tuple[int, str, str]:
    """Run Python in a fork; return its status, output and errors."""
    python = PYTHONS[frozen]
    ended = python.run(words, folder=folder, environment=environment, deadline=DEADLINE)
    return ended.status, ended.out.decode(), ended.err.decode()
