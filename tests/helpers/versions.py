"""Profiles of versions of a program, with known numbers, for comparisons and budgets.

A version is its source and the numbers of its lines, which are named by their text:

    save_version("old.lprof", TEXT, {"work": {"total += n": (1000, 5 * MS)}})
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from example_stats import PROCESS

from lineprof.line_stats import LineStats
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    SourceFile,
    Thread,
    ThreadLine,
    Wait,
)
from lineprof.source_files import text_hash
from lineprof.storage import save

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Numbers = Mapping[str, Mapping[str, tuple[int, int]]]  # hits and ns

    Waits = Mapping[str, Mapping[str, Mapping[str, int]]]  # ns by cause

    # The caller's path (an index, or NO_NODE), a part of its line, the callee, calls
    # and own ns.
    Path = tuple[int, str, str, int, int]

MS = 1_000_000  # ns
FILE = "/project/work.py"


def function_of(text: str, name: str, numbers: Mapping[str, tuple[int, int]],
                file: str = FILE) -> FunctionStats:  # fmt: skip
    """Return the function `name` of a text, with the numbers of its lines.

    Without numbers it was never called, else once.
    """
    lines = text.split("\n")
    last = name.rpartition(".")[2]
    first = next(n for n, line in enumerate(lines, 1) if f"def {last}(" in line)
    cells = []
    for part, (hits, ns) in numbers.items():
        number = next(n for n in range(first, len(lines) + 1) if part in lines[n - 1])
        cells.append(ThreadLine(line=number, thread=0, hits=hits, time_ns=ns))
    return FunctionStats(file, name, first, tuple(cells), calls=1 if cells else 0)


def version(  # noqa: PLR0913  # each has its name
    text: str,
    functions: Numbers,
    *,
    file: str = FILE,
    wall_ns: int = 100 * MS,
    calls: bool = True,
    source: bool = True,
    waits: Waits | None = None,
    paths: Sequence[Path] = (),
) -> LineStats:
    """Return the profile of one version, whose calls are those of `paths`.

    Without any, its functions call each other nowhere.
    Without `calls` it has no call tree, without `source` no text. `waits` are parts of
    the times of lines; without any, all time was spent on processors.
    """
    found = [function_of(text, name, functions[name], file) for name in functions]
    lines = text.split("\n")
    off_cpu = [
        Wait(
            function=one.key,
            line=next(
                n for n in range(one.line, len(lines) + 1) if part in lines[n - 1]
            ),
            thread=0,
            cause=cause,
            ns=ns,
        )
        for one in found
        for part, causes in (waits or {}).get(one.name, {}).items()
        for cause, ns in causes.items()
    ]
    nodes = _nodes(paths, found, lines) or [
        CallNode(
            parent=NO_NODE,
            line=0,
            function=one.key,
            thread=0,
            calls=1,
            primitive_calls=1,
            self_ns=one.total_ns,
            total_ns=one.total_ns,
            inclusive_ns=one.total_ns,
        )
        for one in found
        if one.calls
    ]
    sources = {file: SourceFile(file, text, text_hash(text))} if source else {}
    return LineStats.from_functions(
        found,
        processes=[PROCESS._replace(wall_ns=wall_ns, cpu_ns=wall_ns, overhead_ns=0)],
        threads=[Thread(0, 4711, "MainThread")],
        sources=sources,
        calls=CallTree(nodes=tuple(nodes) if calls else ()),
        waits=off_cpu,
    )


def _nodes(
    paths: Sequence[Path], functions: Sequence[FunctionStats], lines: Sequence[str]
) -> list[CallNode]:
    """Return the nodes of call paths, each with the time of those below."""
    keys = {one.name: one.key for one in functions}
    totals = [ns for _, _, _, _, ns in paths]
    for index in reversed(range(len(paths))):
        if paths[index][0] != NO_NODE:
            totals[paths[index][0]] += totals[index]
    nodes: list[CallNode] = []
    for (parent, part, name, calls, ns), total in zip(paths, totals):
        line = 0
        if parent != NO_NODE:
            first = nodes[parent].function[1]
            numbers = range(first, len(lines) + 1)
            line = next(n for n in numbers if part in lines[n - 1])
        node = CallNode(
            parent=parent,
            line=line,
            function=keys[name],
            thread=0,
            calls=calls,
            primitive_calls=calls,
            self_ns=ns,
            total_ns=total,
            inclusive_ns=total,
        )
        nodes.append(node)
    return nodes


def save_version(name: str, text: str, functions: Numbers, **options: object) -> str:
    """Write the profile of one version to a file; return its name."""
    save(version(text, functions, **options), name)  # type: ignore[arg-type]
    return name
