"""Profiles made from the text of a program and a few numbers, for tests of advice."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

from example_stats import PROCESS

from lineprof.advice.advise import advise
from lineprof.line_stats import LineStats
from lineprof.model.records import (
    NO_NODE,
    CallNode,
    CallTree,
    FunctionStats,
    SourceFile,
    Thread,
    ThreadLine,
)
from lineprof.snapshot.arithmetic import idle_sums
from lineprof.source import Sources
from lineprof.source_files import text_hash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lineprof.advice.advise import Advice, Finding
    from lineprof.model.records import Key

MS = 1_000_000
RUN = 1_000 * MS  # wall time of the run, of which thresholds are a share
FILE = "/project/program.py"


class Called(NamedTuple):
    """All calls of a function from one line."""

    caller: str
    line: int
    callee: str
    calls: int
    ns: int


Lines = dict[int, tuple[int, ...]]  # hits, ns and perhaps min and max by line


def key_of(text: str, name: str, file: str = FILE) -> Key:
    """Return the key of a function by its name; of C, if the name has a point."""
    if name == "<module>":
        return (file, 1, name)
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip().startswith((f"def {name}(", f"async def {name}(")):
            while lines[number - 2].strip().startswith("@"):
                number -= 1  # noqa: PLW2901  # to the first decorator
            return (file, number, name)
    return ("", 0, name)


def made(
    text: str,
    functions: Mapping[str, tuple[int, Lines]],
    called: Sequence[Called] = (),
    **more: object,
) -> LineStats:
    """Return the profile of `text`; functions have their calls and lines.

    A caller comes before its callees in `called`. The rest of the numbers fit these.
    """
    text = textwrap.dedent(text)
    keys = {name: key_of(text, name) for name in functions}
    stats = []
    for name, (calls, lines) in functions.items():
        cells = [_cell(line, *numbers) for line, numbers in lines.items()]
        stats.append(
            FunctionStats(
                file=FILE,
                name=name,
                line=keys[name][1],
                thread_lines=tuple(cells),
                calls=calls,
            )
        )
    kept = {FILE: SourceFile(file=FILE, text=text, sha256=text_hash(text))}
    facts: dict[str, object] = {
        "processes": [PROCESS._replace(wall_ns=RUN, overhead_ns=0)],
        "threads": [Thread(process=0, native_id=1, name="MainThread")],
        "sources": kept,
        "calls": _tree(text, stats, called),
        **more,
    }
    return LineStats.from_functions(stats, **facts)  # type: ignore[arg-type]


def _cell(line: int, hits: int, ns: int, *extremes: int) -> ThreadLine:
    low, high = extremes or (None, None)
    return ThreadLine(
        line=line, thread=0, hits=hits, time_ns=ns, min_ns=low, max_ns=high
    )


def _tree(
    text: str, functions: Sequence[FunctionStats], called: Sequence[Called]
) -> CallTree:
    own = {one.name: one.total_ns for one in functions}
    for one in called:
        own[one.caller] = own.get(one.caller, one.ns) - one.ns
        own.setdefault(one.callee, one.ns)  # of C: it has no lines
    callees = {one.callee for one in called}
    nodes: list[CallNode] = []
    index: dict[str, int] = {}

    def add(name: str, parent: int, line: int, calls: int, ns: int) -> None:
        index.setdefault(name, len(nodes))
        nodes.append(
            CallNode(
                parent=parent,
                line=line,
                function=key_of(text, name),
                thread=0,
                calls=calls,
                primitive_calls=calls,
                self_ns=max(0, own.pop(name, 0)),
                total_ns=ns,
                inclusive_ns=ns,
            )
        )

    for function in functions:
        if function.name not in callees:
            add(function.name, NO_NODE, 0, function.calls, function.total_ns)
    for one in called:
        add(one.callee, index[one.caller], one.line, one.calls, one.ns)
    return CallTree(tuple(nodes) if called else ())


def advice(stats: LineStats) -> Advice:
    """Return the advice on a profile."""
    return advise(stats, Sources(stats.sources), idle_sums)


def found(stats: LineStats, kind: str) -> list[Finding]:
    """Return the findings of one kind."""
    return [one for one in advice(stats).findings if one.kind == kind]


def places(stats: LineStats, kind: str) -> list[tuple[str, int]]:
    """Return the first place of each finding of a kind: function and line."""
    return [
        (key[2], line) for one in found(stats, kind) for key, line in one.places[:1]
    ]
