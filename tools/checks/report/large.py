"""Writes large profiles for the check of the report, from made-up numbers.

    python large.py FOLDER

`functions.lprof` has 4,000 functions on 128,000 lines and 30,000 call paths;
`slices.lprof` a timeline of a million slices; `long.lprof` a file of 50,000 lines.
"""

from __future__ import annotations

import random
import sys
from array import array
from pathlib import Path

from lineprof.line_stats import LineStats
from lineprof.model.records import (
    CallNode,
    CallTree,
    FunctionStats,
    Process,
    Thread,
    ThreadLine,
)
from lineprof.model.timelines import Trace, pack_slices
from lineprof.source import read_source
from lineprof.storage import save

MODULES, FUNCTIONS, STATEMENTS = 100, 40, 21
NODES = 30_000
SLICES = 1_000_000
LONG = 50_000
BODY = (
    "    total = sum(value * {0} for value in argument)  # a comment",
    "    if other is not None:\n        other = function_{1}(argument[:{0}])",
    "    result_{0} = math.sqrt({0}) + len(str(argument))",
)
PROCESS = Process(
    pid=1,
    host="host",
    rank=None,
    argv=("large.py",),
    cwd="/",
    python="3.13.0",
    start_unix_ns=1_700_000_000_000_000_000,
    wall_ns=10**10,
    core="settrace",
    core_reason="",
    clock="monotonic",
    overhead_ns=0,
    version="1",
    exit="",
    cpu_ns=10**10,
    is_whole=True,
)
THREADS = (Thread(process=0, native_id=1, name="MainThread"),)


def module(draw: random.Random, functions: int) -> str:
    """Return the text of a module with so many functions."""
    lines = ["import math", "", ""]
    for number in range(functions):
        lines.append(f"def function_{number}(argument, other=None):")
        lines.append(f'    """Compute number {number}, as the others do."""')
        lines += [
            draw.choice(BODY).format(draw.randrange(99), draw.randrange(functions))
            for _ in range(STATEMENTS)
        ]
        lines += ["    return argument", ""]
    return "\n".join(lines) + "\n"


def measured(draw: random.Random, file: Path) -> list[FunctionStats]:
    """Return made-up numbers for all lines of the functions of a module."""
    lines = file.read_text(encoding="utf-8").splitlines()
    starts = [n for n, line in enumerate(lines, 1) if line.startswith("def ")]
    found = []
    for start, end in zip(starts, [*starts[1:], len(lines) + 1]):
        scale = 10 ** draw.uniform(2, 6)
        cells = tuple(
            ThreadLine(
                line=line,
                thread=0,
                hits=draw.randrange(1, 100_000),
                time_ns=int(scale * draw.random()),
                min_ns=5,
                max_ns=5000,
            )
            for line in range(start + 1, end)
            if lines[line - 1].strip()
        )
        name = lines[start - 1].split("(")[0].removeprefix("def ")
        found.append(
            FunctionStats(
                file=str(file),
                name=name,
                line=start,
                thread_lines=cells,
                calls=draw.randrange(1, 9999),
            )
        )
    return found


def call_tree(draw: random.Random, functions: list[FunctionStats]) -> CallTree:
    """Return a tree of calls between the functions."""
    nodes: list[CallNode] = []
    for index in range(NODES):
        is_root = not index or draw.random() > 0.97  # noqa: PLR2004
        parent = -1 if is_root else draw.randrange(max(0, index - 400), index)
        ns = int(10 ** draw.uniform(2, 6))
        line = 0 if is_root else nodes[parent].function[1] + 2 + draw.randrange(10)
        nodes.append(
            CallNode(
                parent=parent,
                line=line,
                function=draw.choice(functions).key,
                thread=0,
                calls=3,
                primitive_calls=3,
                self_ns=ns,
                total_ns=ns,
                inclusive_ns=ns,
            )
        )
    return CallTree(nodes=tuple(nodes))


def slices(draw: random.Random, functions: list[FunctionStats]) -> Trace:
    """Return a million slices, which are recorded when they end."""
    starts, lengths = array("Q"), array("Q")
    numbers, lines = array("I"), array("I")
    now = origin = 10**14
    while len(starts) < SLICES:
        begun = now
        for inner in range(9):
            length = draw.randrange(100, 3000)
            starts.append(now + 10)
            lengths.append(length)
            numbers.append(draw.randrange(len(functions)))
            lines.append(0 if inner % 3 else 5)
            now += length + 30
        starts.append(begun)
        lengths.append(now - begun)
        numbers.append(1)
        lines.append(0)
        now += 200
    columns = {"function": numbers, "line": lines, "start": starts, "ns": lengths}
    packed = {name: column.tobytes() for name, column in columns.items()}
    return Trace(
        process=0,
        count=len(starts),
        left_out=0,
        origin_ns=origin,
        functions=tuple(one.key for one in functions),
        threads=(0,),
        batches=pack_slices({"thread": bytes(4 * len(starts)), **packed}),
    )


def write(
    folder: Path, name: str, functions: list[FunctionStats], **more: object
) -> None:
    """Write a profile of these functions, with the texts of their files."""
    files = dict.fromkeys(one.file for one in functions)
    profile = LineStats.from_functions(
        functions,
        processes=(PROCESS,),
        threads=THREADS,
        sources={file: read_source(file) for file in files},
        **more,  # type: ignore[arg-type]
    )
    save(profile, folder / name)


def main() -> None:
    """Write the profiles."""
    folder = Path(sys.argv[1])
    draw = random.Random(1)  # noqa: S311  # the same each time
    functions: list[FunctionStats] = []
    for number in range(MODULES):
        file = folder / f"module_{number}.py"
        file.write_text(module(draw, FUNCTIONS), encoding="utf-8")
        functions += measured(draw, file)
    write(folder, "functions.lprof", functions, calls=call_tree(draw, functions))
    some = functions[:500]
    write(folder, "slices.lprof", some, traces=(slices(draw, some),))
    file = folder / "long.py"
    file.write_text(module(draw, LONG // 31), encoding="utf-8")
    write(folder, "long.lprof", measured(draw, file))


if __name__ == "__main__":
    main()
