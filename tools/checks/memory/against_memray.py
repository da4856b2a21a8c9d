"""Bytes by line of lineprof and of memray, for programs of `programs/`.

    python tools/checks/memory/against_memray.py [--only arrays] [--show 3]

Each program runs under `kernprof -l --memory` and twice under memray, without and with
--trace-python-allocators, with PYTHONHASHSEED=0 and with bytecode compiled before. A
block of memray is one of the innermost line of the program's file in its stack, as a
block of lineprof is.

The table has the blocks and bytes of each line by all allocators, which have to be
the same in memray's second run, but for objects that Python makes for memray's profile
function (profile_objects.py), and the bytes by malloc alone, of memray's first run.
These lie between the blocks of more than 512 bytes, which Python takes from malloc,
and all blocks: in between are small blocks of C code, and of PyMem_RawMalloc. Arenas,
which Python maps for its small blocks, are left out of the first run. Exits with 1 if
a line differs by more than --allowed bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from memray import AllocatorType, FileReader

from lineprof import load_stats
from lineprof.model.host_memory import memory_of_lines

OBJECTS = Path(__file__).resolve().with_name("profile_objects.py")
PROGRAMS = Path(__file__).resolve().parent / "programs"
FREES = (AllocatorType.FREE, AllocatorType.MUNMAP, AllocatorType.PYMALLOC_FREE)
PYTHONS = (
    AllocatorType.PYMALLOC_MALLOC,
    AllocatorType.PYMALLOC_CALLOC,
    AllocatorType.PYMALLOC_REALLOC,
)
SMALL = 512  # bytes; larger blocks of Python are those of malloc
ARENA = 1 << 20


class Bytes(NamedTuple):
    """Blocks and bytes by line."""

    blocks: Counter[int]
    bytes: Counter[int]

    def add(self, line: int, size: int) -> None:
        """Add a block of a line."""
        self.blocks[line] += 1
        self.bytes[line] += size


def run(words: list[str], folder: Path) -> None:
    """Run Python in a folder; exit with its output if it fails."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "PYTHONPYCACHEPREFIX": str(folder / "cache"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *words]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False
    )
    if done.returncode:
        sys.exit(f"{words} failed:\n{done.stdout.decode()}{done.stderr.decode()}")


def lineprofs(program: Path, folder: Path) -> Bytes:
    """Return what lineprof has of each line itself."""
    run(["-m", "kernprof", "-lq", "--memory", "-o", "out.lprof", str(program)], folder)
    memory = load_stats(str(folder / "out.lprof")).memory
    found = Bytes(Counter(), Counter())
    for (file, _, _), lines in memory_of_lines(memory, alone=True).items():
        if Path(file) == program:
            for line, numbers in lines.items():
                found.blocks[line] += numbers.allocs
                found.bytes[line] += numbers.alloc_bytes
    return found


def memrays(program: Path, folder: Path, *, python: bool) -> tuple[Bytes, Bytes]:
    """Return what memray has of each line: all blocks, and those by malloc."""
    file = folder / "out.bin"
    flags = ["--trace-python-allocators"] if python else []
    run(["-m", "memray", "run", "-fqo", str(file), *flags, str(program)], folder)
    every, large = Bytes(Counter(), Counter()), Bytes(Counter(), Counter())
    for record in FileReader(str(file)).get_allocation_records():
        kind = AllocatorType(record.allocator)
        if kind in FREES:
            continue
        if not python and kind == AllocatorType.MMAP and record.size == ARENA:
            continue
        line = line_of(record.stack_trace(), program)
        if line is None:
            continue
        every.add(line, record.size)
        if kind not in PYTHONS or record.size > SMALL:
            large.add(line, record.size)
        elif not record.size:
            large.add(line, 1)  # nothing, for which Python asks malloc for a byte
    return every, large


def objects_of_memray(program: Path, folder: Path) -> Bytes:
    """Return what Python makes for a profile function on each line."""
    file = folder / "objects.json"
    run([str(OBJECTS), str(file), str(program)], folder)
    found = json.loads(file.read_text(encoding="utf-8"))
    blocks, sizes = (
        Counter({int(line): number for line, number in found[name].items()})
        for name in ("blocks", "bytes")
    )
    return Bytes(blocks, sizes)


def line_of(stack: list[tuple[str, str, int]], program: Path) -> int | None:
    """Return the innermost line of the program, or None."""
    return next((line for _, file, line in stack if file == str(program)), None)


def compare(program: Path, folder: Path, show: int) -> int:
    """Print the table of a program; return the largest difference (bytes)."""
    ours = lineprofs(program, folder)
    malloc, _ = memrays(program, folder, python=False)
    every, large = memrays(program, folder, python=True)
    made = objects_of_memray(program, folder)
    text = program.read_text(encoding="utf-8").splitlines()
    lines = sorted({*ours.bytes, *every.bytes, *malloc.bytes})
    expected = {line: every.bytes[line] - made.bytes[line] for line in lines}
    apart = {line: abs(ours.bytes[line] - expected[line]) for line in lines}
    wrong = {
        line
        for line in lines
        if apart[line]
        or ours.blocks[line] != every.blocks[line] - made.blocks[line]
        or not large.bytes[line] <= malloc.bytes[line] <= every.bytes[line]
    }
    total, theirs = sum(ours.bytes.values()), sum(every.bytes.values())
    print(
        f"{program.stem}: {len(lines) - len(wrong)} of {len(lines)} lines are the same;"
        f" {total:,} bytes in lineprof, {theirs:,} in memray,"
        f" {sum(made.bytes.values()):,} of these for its profile function"
    )
    heads = ("line", "lineprof", "memray", "for its own", "apart", "by malloc")
    print("{:>6}{:>14}{:>14}{:>12}{:>9}{:>14}".format(*heads))
    largest = sorted(set(lines) - wrong, key=lambda line: -ours.bytes[line])[:show]
    for line in sorted([*wrong, *largest]):
        difference = ours.bytes[line] - expected[line]
        blocks = ours.blocks[line] - every.blocks[line] + made.blocks[line]
        print(
            f"{line:6}{ours.bytes[line]:14,}{every.bytes[line]:14,}"
            f"{made.bytes[line]:12,}{difference:+9,}{malloc.bytes[line]:14,}"
            f"  {blocks:+,} blocks: {text[line - 1].strip()}",
            flush=True,
        )
    return max(apart.values(), default=0)


def main() -> int:
    """Compare all programs; return 1 if a line differs by more than is allowed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="programs whose name begins so")
    parser.add_argument("--show", type=int, default=3, help="lines that are the same")
    parser.add_argument("--allowed", type=int, default=0, metavar="BYTES")
    chosen = parser.parse_args()
    most = 0
    for program in sorted(PROGRAMS.glob(f"{chosen.only}*.py")):
        with tempfile.TemporaryDirectory(prefix="lineprof-memray-") as name:
            folder = Path(name)
            run([str(program)], folder)  # bytecode is compiled from here on
            most = max(most, compare(program, folder, chosen.show))
    return 1 if most > chosen.allowed else 0


if __name__ == "__main__":
    sys.exit(main())
