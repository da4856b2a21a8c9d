#!/usr/bin/env python3
"""Cost of recording GPU work, without a GPU: per launch and per record.

    python benchmarks/gpu_core.py [--rounds 30]

Compiles `gpu_core.c` with lineprof's C rooms that know no Python, and runs it. The
exit status is 1 if a goal is missed. Needs a C compiler.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from overhead import cpu

HERE = Path(__file__).resolve().parent
CSRC = HERE.parent / "csrc"
ROOMS = ("bytecode", "record", "elf", "gpu")
FLAGS = ("-std=c11", "-O2", "-D_GNU_SOURCE", "-DLP_HAVE_NVTX=0", f"-I{CSRC}")


def build(folder: Path) -> Path:
    """Compile the benchmark into `folder`; return the program."""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    sources = [file for room in ROOMS for file in sorted((CSRC / room).glob("*.c"))]
    program = folder / "gpu_core"
    flags = [*FLAGS, *shlex.split(os.environ.get("CFLAGS", ""))]
    words = [*compiler, *flags, HERE / "gpu_core.c", *sources, "-pthread", "-ldl"]
    subprocess.run([*map(str, words), "-o", str(program)], check=True)
    return program


def main() -> int:
    """Build, measure and print; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30, help="at most 30")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="lineprof-gpu-") as folder:
        program = build(Path(folder))
        print(
            f"{cpu()}, {os.cpu_count()} cores · {platform.system()} · "
            f"{time.strftime('%Y-%m-%d')}"
        )
        print("GPU recording, lineprof's part without a GPU (minima):", flush=True)
        return subprocess.run([program, str(rounds)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
