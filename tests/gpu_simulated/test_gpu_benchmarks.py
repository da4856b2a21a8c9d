"""Benchmarks of GPU recording: they build, and run on the doubles."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from compiled_doubles import OPTIONS, compiler

if TYPE_CHECKING:
    from gpu_double import Play

QUICK = "-O0"
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux"), reason="GPUs are recorded only on Linux"
    ),
    pytest.mark.once,
]


def test_the_benchmark_of_launches_and_records_prints_its_figures() -> None:
    done = subprocess.run(
        [sys.executable, "-B", str(BENCHMARKS / "gpu_core.py"), "--rounds", "1"],
        env={**os.environ, "CC": " ".join(compiler()), "CFLAGS": QUICK},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr  # 1: a goal is missed
    figures = re.findall(r"^(.+?) +-?\d+\.\d ns", done.stdout, re.MULTILINE)
    assert len(figures) == len(set(figures))
    assert {
        "a launch, depth 5, on lines in turn",
        "both callbacks of a launch, depth 5",
        "a record, kept in the timeline",
    } <= set(figures)


def test_the_floor_of_cupti_gets_all_records_of_the_double(
    play: Play, tmp_path: Path
) -> None:
    library = tmp_path / "cupti_floor.so"
    words = [*OPTIONS, "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]
    source = str(BENCHMARKS / "cupti_floor.c")
    subprocess.run(
        [*compiler(), *words, "-o", str(library), source, "-ldl"], check=True
    )
    begin = f"""
    floor = ctypes.CDLL({str(library)!r})
    print(floor.floor_open(b"/no/libcupti.so"))
    gpu.fk_init()
    print(floor.floor_open(os.environ["LINEPROF_CUPTI"].encode()))
    """
    work = """
    for _ in range(3):
        gpu.fk_launch(b"k", 0, 10)
    gpu.fk_sync(0, 0, -1)
    print(floor.floor_close(), floor.floor_records())
    """
    assert play(begin + work).split() == ["-1", "0", "0", "3"]
    assert play(begin, FAKE_CUPTI_SUBSCRIBE_RC=39).split() == ["-1", "39"]
