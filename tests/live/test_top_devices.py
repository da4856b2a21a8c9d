"""The line of each NVIDIA device in `lineprof top`, by a double of its library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from as_python import run
from live_program import live_program

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = "import pathlib, sys\npathlib.Path('ready').touch()\nsys.stdin.read()\n"

LIBRARY = """\
import types
def nvmlInit(): {init}
def nvmlShutdown(): raise RuntimeError("shut down twice")
def nvmlDeviceGetCount(): return 3
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetName(handle): return [b"NVIDIA A", "B\\x1b[2J", "C"][handle]
def nvmlDeviceGetMemoryInfo(handle):
    if handle == 2:
        raise RuntimeError("lost")
    return types.SimpleNamespace(used=(handle + 1) * 10**9, total=80 * 10**9)
def nvmlDeviceGetUtilizationRates(handle):
    if handle:
        raise RuntimeError("not supported")
    return types.SimpleNamespace(gpu=87)
"""


def shown(folder: Path, library: str) -> list[str]:
    """Return the lines on devices, with a double that does what `library` says."""
    (folder / "double").mkdir()
    (folder / "double" / "pynvml.py").write_text(library, encoding="utf-8")
    with live_program(folder, PROGRAM) as process:
        done = run(
            ["-m", "lineprof", "top", str(process.pid), "-n1"],
            cwd=folder,
            env={"PYTHONPATH": str(folder / "double")},
        )
    assert (done.status, done.err) == (0, "")
    assert "program.py:3" in done.out
    return [line for line in done.out.splitlines() if line.startswith("GPU ")]


def test_each_device_has_a_line_unless_it_cannot_be_read(tmp_path: Path) -> None:
    assert shown(tmp_path, LIBRARY.format(init="pass")) == [
        "GPU 0 NVIDIA A  87 % busy  1.0 of 80.0 GB used",
        "GPU 1 B\\x1b[2J  ? % busy  2.0 of 80.0 GB used",
    ]


@pytest.mark.parametrize(
    "library",
    [
        LIBRARY.format(init="raise RuntimeError('no driver')"),
        "raise ImportError('broken')",
        "import warnings; warnings.warn('renamed', FutureWarning)",
    ],
)
def test_a_library_that_fails_shows_no_devices(tmp_path: Path, library: str) -> None:
    assert shown(tmp_path, library) == []
