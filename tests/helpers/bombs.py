"""Small profile files that stand for much work, and runs of the command with limits."""

from __future__ import annotations

import json
import subprocess
import sys
from array import array
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from damaged_files import execute
from example_gpu import DEVICES, RUNS
from example_stats import PROCESS

from lineprof.model.gpu import KERNEL, NO_PATH, Gpu, GpuPath, GpuSum
from lineprof.model.profile import Profile
from lineprof.model.rank_lines import RanksBuilder, RankValues
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    RankRun,
    SourceFile,
    Thread,
    ThreadLine,
)
from lineprof.model.timelines import EVENT_COLUMNS, packed
from lineprof.storage import save

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from lineprof.model.records import Key

FILE = "/p/a.py"
OUTER, INNER = (FILE, 1, "outer"), (FILE, 5, "inner")
PROCESS_ID = "(SELECT min(id) FROM processes)"
TEXT = "def outer():\n    call()\n\n\ndef inner():\n    launch()\n"


class Outcome(NamedTuple):
    """The end of a command, and what it took."""

    status: int
    out: int  # bytes
    err: str
    seconds: float  # of CPU
    memory: int  # bytes, at most: of this command and those before it


# Run by a small process of its own: what the kernel reports as the largest memory of a
# process includes its parent's, from which it was forked. That of a worker that has
# run tests for a while is more than what is measured here.
LIMITED = """
import os, resource, subprocess, sys
limit = int(sys.argv[1])

def restrict():
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))

sys.exit(subprocess.call(sys.argv[2:], preexec_fn=restrict))
"""

# Commands of one process, as the start of each would take longer than most of them.
COMMANDS = """
import json, os, resource, sys
from lineprof.cli.main import main

def used():
    found = resource.getrusage(resource.RUSAGE_SELF)
    return found.ru_utime + found.ru_stime, found.ru_maxrss * 1024

ends = []
for number, arguments in enumerate(json.load(open("commands.json"))):
    for stream in (1, 2):
        file = os.open(f"{number}.{stream}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.dup2(file, stream)
        os.close(file)
    before, _ = used()
    status = main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    after, memory = used()
    ends.append((status, after - before, memory))
json.dump(ends, open("ends.json", "w"))
"""


def run(
    folder: Path, *commands: Sequence[str], limit: int = 1_500_000_000
) -> list[Outcome]:
    """Run commands in one process of at most `limit` bytes, and five minutes."""
    (folder / "commands.json").write_text(json.dumps(commands), encoding="utf-8")
    limited = [sys.executable, "-IS", "-c", LIMITED, str(limit)]
    subprocess.run([*limited, sys.executable, "-c", COMMANDS], cwd=folder, check=True)
    ends = json.loads((folder / "ends.json").read_text(encoding="utf-8"))
    return [
        Outcome(
            status=status,
            out=(folder / f"{number}.1").stat().st_size,
            err=(folder / f"{number}.2").read_text(encoding="utf-8"),
            seconds=seconds,
            memory=memory,
        )
        for number, (status, seconds, memory) in enumerate(ends)
    ]


def profile_of(
    nodes: Iterable[CallNode], paths: Sequence[GpuPath], sums: Iterable[GpuSum]
) -> Profile:
    """Return a profile with a call tree and GPU work."""
    lines = (ThreadLine(line=2, thread=0, hits=1, time_ns=1000, raw_ns=1000),)
    return Profile.from_functions(
        [
            FunctionStats(FILE, "outer", 1, lines, calls=1),
            FunctionStats(FILE, "inner", 5, (), calls=1),
        ],
        processes=[PROCESS],
        threads=[Thread(0, 1, "MainThread")],
        sources={FILE: SourceFile(FILE, TEXT, "")},
        calls=CallTree(tuple(nodes)),
        gpu=Gpu(paths=tuple(paths), sums=tuple(sums), devices=DEVICES, runs=RUNS),
    )


def _node(parent: int, line: int, key: Key) -> CallNode:
    return CallNode(parent, line, key, 0, 1, 1, 1, 1, 1)


def c_chain(folder: Path, length: int, lines: int = 1) -> str:
    """Return a file with C functions one below the other, down to a launch.

    The first one is called from so many `lines`, each of which launched work.
    """
    nodes = [_node(NO_NODE, 0, OUTER), _node(0, 2, ("", 0, "c0"))]
    nodes += [_node(i, 0, ("", 0, f"c{i}")) for i in range(1, length)]
    nodes.append(_node(length, 0, INNER))
    nodes += [_node(0, 2 + i, ("", 0, "c0")) for i in range(1, lines)]
    paths = [GpuPath(0, False, ((OUTER, 2 + i), (INNER, 6))) for i in range(lines)]
    sums = [GpuSum(i, NO_PATH, KERNEL, "k", 0, 1, 9, 9, 9) for i in range(lines)]
    return _saved(folder, profile_of(nodes, paths, sums))


def c_fan(folder: Path, count: int) -> str:
    """Return a file with lines that call all C functions of a wide and deep tree."""
    nodes = [_node(NO_NODE, 0, OUTER)]
    nodes += [_node(0, 2 + i, ("", 0, "c0")) for i in range(count)]
    nodes += [_node(1, 0, ("", 0, f"d{i}")) for i in range(count)]
    nodes.append(_node(len(nodes) - 1, 0, INNER))
    paths = [GpuPath(0, False, ((OUTER, 2 + i), (INNER, 6))) for i in range(count)]
    sums = [GpuSum(i, NO_PATH, KERNEL, "k", 0, 1, 9, 9, 9) for i in range(count)]
    return _saved(folder, profile_of(nodes, paths, sums))


def long_path(folder: Path, lines: int, sums: int) -> str:
    """Return a file with many kernels at the end of one long call path."""
    keys = [OUTER] * lines
    paths = [GpuPath(0, False, tuple((key, i) for i, key in enumerate(keys)))]
    kernels = [GpuSum(0, NO_PATH, KERNEL, f"k{i}", 0, 1, 9, 9, 9) for i in range(sums)]
    return _saved(folder, profile_of([], paths, kernels))


def deep_names(folder: Path, files: int, parts: int) -> str:
    """Return a file with functions in files whose long paths end alike."""
    lines = (ThreadLine(line=1, thread=0, hits=1, time_ns=1000, raw_ns=1000),)
    return _saved(
        folder,
        Profile.from_functions(
            [
                FunctionStats(f"/{i}{'/a' * parts}/x.py", "f", 1, lines)
                for i in range(files)
            ],
            processes=[PROCESS],
            threads=[Thread(0, 1, "MainThread")],
        ),
    )


def zero_events(folder: Path, events: int, columns: Sequence[str] = ()) -> str:
    """Return a file with a timeline of `events` whose values are all 0.

    Only these `columns` are stored.
    """
    file = _saved(folder, profile_of([], [], []))
    full, rest = divmod(events, 65_536)
    sizes = [65_536] * full + [rest] * bool(rest)
    execute(
        folder / "bomb.lprof",
        "INSERT INTO gpu_names (id, name) VALUES (1, 'k')",
        f"INSERT INTO gpu_timelines VALUES (1, {PROCESS_ID}, {events}, 0, 0)",  # noqa: S608
        "INSERT INTO gpu_timeline_names VALUES (1, 1)",
        "INSERT INTO gpu_launches VALUES (1, 1, 1, 1, 1, 1, 1, 1, 1, 1)",
        *(
            f"INSERT INTO gpu_batches VALUES ({i}, 1, {size})"  # noqa: S608
            for i, size in enumerate(sizes)
        ),
    )
    for name in columns:
        kind = EVENT_COLUMNS[name]
        zeros = packed(kind, bytes(array(kind).itemsize * 65_536))
        execute(
            folder / "bomb.lprof",
            f"INSERT INTO gpu_columns SELECT id, '{name}', ? FROM gpu_batches"  # noqa: S608
            " WHERE events = 65536",
            data=zeros,
        )
    return file


def zero_slices(folder: Path, slices: int) -> str:
    """Return a file with a trace of `slices` without any column."""
    file = _saved(folder, profile_of([_node(NO_NODE, 0, OUTER)], [], []))
    full, rest = divmod(slices, 65_536)
    sizes = [65_536] * full + [rest] * bool(rest)
    execute(
        folder / "bomb.lprof",
        "CREATE TABLE traces (id INTEGER PRIMARY KEY, process_id INTEGER NOT NULL,"
        " slices INTEGER NOT NULL, left_out INTEGER NOT NULL,"
        " origin_ns INTEGER NOT NULL)",
        "CREATE TABLE trace_functions (trace_id INTEGER, function_id INTEGER)",
        "CREATE TABLE trace_threads (trace_id INTEGER, thread_id INTEGER)",
        "CREATE TABLE trace_batches (id INTEGER PRIMARY KEY, trace_id INTEGER,"
        " slices INTEGER)",
        "CREATE TABLE trace_columns (batch_id INTEGER, name TEXT, data BLOB)",
        f"INSERT INTO traces VALUES (1, {PROCESS_ID}, {slices}, 0, 0)",  # noqa: S608
        "INSERT INTO trace_functions SELECT 1, min(id) FROM functions",
        "INSERT INTO trace_threads SELECT 1, min(id) FROM threads",
        *(
            f"INSERT INTO trace_batches VALUES ({i}, 1, {size})"  # noqa: S608
            for i, size in enumerate(sizes)
        ),
    )
    return file


def rank_noise(folder: Path, ranks: int, lines: int) -> str:
    """Return a file of ranks that all ran the same lines, in few bytes."""
    numbers = range(lines)
    random = Random(1)  # noqa: S311  # the same file each time
    noise, zeros = [random.getrandbits(2) for _ in numbers], [0] * lines
    builder = RanksBuilder()
    builder.add(
        RankRun(rank=0, wall_ns=1, mpi_ns=0),
        [(OUTER, 1 + number) for number in numbers],
        RankValues(
            places=(), hits=noise, time_ns=zeros, mpi_ns=zeros, callees_ns=zeros
        ),
    )
    one = builder.ranks
    runs = [one.runs[0]._replace(rank=rank) for rank in range(ranks)]
    whole = profile_of([_node(NO_NODE, 0, OUTER)], [], [])
    profile = Profile.from_functions(
        whole.functions,
        processes=[process._replace(rank=0) for process in whole.processes],
        threads=whole.threads,
        ranks=one._replace(runs=tuple(runs)),
    )
    return _saved(folder, profile)


def _saved(folder: Path, profile: Profile) -> str:
    save(profile, folder / "bomb.lprof")
    return str(folder / "bomb.lprof")
