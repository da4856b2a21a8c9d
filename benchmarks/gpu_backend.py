#!/usr/bin/env python3
"""Cost of recording a GPU, with a simulated one: per line event and per launch.

    python benchmarks/gpu_backend.py [--rounds 7]

Both are ratios of a run with the GPU backend on to a run with `gpu="off"`. The loop of
launches calls a double of the driver, which does nothing but keep its records. The
added time is therefore that of the double and of lineprof together;
`benchmarks/gpu_core.py` measures lineprof's part alone. Needs a C compiler.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HELPERS = Path(__file__).resolve().parent.parent / "tests" / "helpers"
LINES, LAUNCHES = 1_000_000, 20_000
PROGRAM = f"""
import ctypes, os, sys, time
from lineprof import LineProfiler

gpu = ctypes.CDLL(os.environ["LINEPROF_CUDA"])
gpu.fk_launch.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64]
gpu.fk_init()
profile = LineProfiler(gpu=sys.argv[1])

@profile
def lines(n):
    for i in range(n):
        a = i

@profile
def launches(n):
    launch = gpu.fk_launch
    for i in range(n):
        launch(b"kernel", 0, 10)

for function, n in ((lines, {LINES}), (launches, {LAUNCHES})):
    function(1000)
    start = time.process_time_ns()
    function(n)
    print((time.process_time_ns() - start) / n)
"""


def run(doubles: Path, mode: str) -> list[float]:
    """Return the ns of a step of each loop, with the backend "auto" or "off"."""
    environment = {
        **os.environ,
        "LINEPROF_CUDA": str(doubles / "fake_cuda.so"),
        "LINEPROF_CUPTI": str(doubles / "fake_cupti.so"),
        "LINEPROF_GPU_FORCE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, mode],
        cwd=doubles,  # not the checkout, whose lineprof has no extension
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [float(line) for line in done.stdout.split()]


def main() -> int:
    """Measure in turn, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    sys.path.insert(0, str(HELPERS))
    from gpu_double import build  # noqa: PLC0415  # in tests/helpers

    off, on = [], []
    with tempfile.TemporaryDirectory() as folder:
        doubles = build(Path(folder))
        for _ in range(rounds):
            off.append(run(doubles, "off"))
            on.append(run(doubles, "auto"))
    for index, name in enumerate(("two line events", "a line that launches")):
        pairs = [(a[index], b[index]) for a, b in zip(off, on)]
        ratio = statistics.median(b / a for a, b in pairs)
        minima = [min(column) for column in zip(*pairs)]
        print(
            f"{name:<22} off {minima[0]:8.1f} ns  on {minima[1]:8.1f} ns  x {ratio:.3f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
