#!/usr/bin/env python3
"""Time and memory of `lineprof merge` over the files of many ranks.

    python benchmarks/merge_ranks.py [--ranks 1024] [--lines 5000]

Each file has that many lines in functions of 20 lines, a call tree with a collective in
each function, and the text of the program. The time is that of the whole command on the
processor, of which it uses one; the memory is the most that its process had. At 1,024
files of 5,000 lines the command may take 20 s and 300 MB.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

MAX_SECONDS = 20.0
MAX_MEMORY = 300.0  # MB
LINES_OF_A_FUNCTION = 20
FILE = "/project/solver.py"


def write_files(folder: Path, ranks: int, lines: int) -> None:
    """Write a profile for each rank."""
    from lineprof.model.profile import Profile  # noqa: PLC0415 - --help works without it
    from lineprof.model.records import (  # noqa: PLC0415
        NO_NODE,
        CallNode,
        CallTree,
        FunctionStats,
        Process,
        SourceFile,
        Thread,
        ThreadLine,
    )
    from lineprof.source_files import text_hash  # noqa: PLC0415
    from lineprof.storage import save  # noqa: PLC0415

    every = range(lines // LINES_OF_A_FUNCTION)
    keys = [(FILE, 1 + (LINES_OF_A_FUNCTION + 1) * n, f"step_{n}") for n in every]
    body = "    value = compute(value)\n" * LINES_OF_A_FUNCTION
    text = "".join(f"def {name}(value):\n{body}" for _, _, name in keys)
    source = SourceFile(file=FILE, text=text, sha256=text_hash(text))

    def call(parent: int, line: int, key: tuple[str, int, str], ns: int) -> CallNode:
        return CallNode(
            parent=parent,
            line=line,
            function=key,
            thread=0,
            calls=1,
            primitive_calls=1,
            self_ns=0,
            total_ns=ns,
            inclusive_ns=ns,
        )

    for rank in range(ranks):
        numbers = random.Random(rank)  # noqa: S311 - the same file each time
        functions = [
            FunctionStats(
                file=FILE,
                name=key[2],
                line=key[1],
                thread_lines=tuple(
                    ThreadLine(
                        line=key[1] + 1 + line,
                        thread=0,
                        hits=numbers.randrange(1, 2000),
                        time_ns=(ns := numbers.randrange(10**6, 10**8)),
                        raw_ns=ns + 1000,
                        min_ns=100,
                        max_ns=10**5,
                    )
                    for line in range(LINES_OF_A_FUNCTION)
                ),
                calls=10,
            )
            for key in keys
        ]
        nodes = [call(NO_NODE, 0, keys[0], 10**9)]
        for key in keys[1:]:
            nodes.append(call(0, keys[0][1] + 1, key, 10**6))
            collective = ("", 0, "mpi4py.MPI.Comm.Allreduce")
            nodes.append(call(len(nodes) - 1, key[1] + 3, collective, 10**5))
        process = Process(
            pid=1000 + rank,
            host=f"node-{rank // 64}",
            rank=rank,
            ranks=ranks,
            argv=("solver.py",),
            cwd="/project",
            python="CPython 3.13.0",
            start_unix_ns=1_700_000_000_000_000_000,
            wall_ns=10**11,
            core="monitoring",
            core_reason="this Python has sys.monitoring",
            clock="tsc",
            overhead_ns=0,
            version="0.1.0",
            exit="",
        )
        profile = Profile.from_functions(
            functions,
            processes=[process],
            threads=[Thread(process=0, native_id=1000 + rank, name="MainThread")],
            sources={FILE: source},
            calls=CallTree(nodes=tuple(nodes)),
        )
        save(profile, folder / f"solver.r{rank:04}.lprof")


def measured(*arguments: str) -> tuple[float, float]:
    """Run the command; return its seconds of CPU and its most memory in MB."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lineprof", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"lineprof {' '.join(arguments)} failed")
    unit = 1 if sys.platform == "darwin" else 1024
    return used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 1e6


def main() -> int:
    """Print the figures; the exit status is 1 if the merge takes too much."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=1024, help="files")
    parser.add_argument("--lines", type=int, default=5000, help="lines of each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "ranks")
        folder.mkdir()
        write_files(folder, options.ranks, options.lines)
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        print(f"{options.ranks:,} files of {options.lines:,} lines, {size:,.0f} MB")
        output = Path(name, "all.lprof")
        seconds, memory = measured("merge", str(folder), "-o", str(output), "--sums")
        print(f"merge         {seconds:6.1f} s {memory:6.0f} MB", flush=True)
        print(f"its file               {output.stat().st_size / 1e6:6.0f} MB")
        for flags in (["--functions"], ["--json"]):
            taken, most = measured("view", str(output), *flags)
            print(f"view {flags[0]:12}{taken:3.1f} s {most:6.0f} MB", flush=True)
    return int(seconds > MAX_SECONDS or memory > MAX_MEMORY)


if __name__ == "__main__":
    sys.exit(main())
