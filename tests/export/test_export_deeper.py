"""Exports of a profile with more call paths than are kept.

In each format with stacks, time is under its true ancestors; in each with callers,
these are exact.
"""

from __future__ import annotations

import json
import marshal
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pprof_file
import pytest
from deeper_program import LIMITS, check_stacks, measured
from export_shapes import content, remarks
from test_export_callgrind import Parsed
from test_export_chrome import File
from test_export_cpuprofile import exported

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from settable_clock import Clock

    from lineprof.line_stats import LineStats

pytestmark = pytest.mark.usefixtures("hook")

NOTE = "calls below the first "


@pytest.fixture(params=LIMITS)
def both(
    request: pytest.FixtureRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> tuple[LineStats, LineStats]:
    """Return two profiles of a program: with few call paths, and with all."""
    return measured(request.param, clock, monkeypatch)


@pytest.fixture
def stats(both: tuple[LineStats, LineStats]) -> LineStats:
    """Return the profile with few call paths."""
    return both[0]


@pytest.fixture
def complete(both: tuple[LineStats, LineStats]) -> LineStats:
    """Return the profile with all call paths."""
    return both[1]


def test_collapsed_stacks_have_time_under_its_true_ancestors(stats: LineStats) -> None:
    lines = content(stats, "collapsed").decode().splitlines()
    check_stacks(
        ([frame.split()[0] if "(" in frame else frame for frame in frames], ns / 1000)
        for frames, ns in (
            (words[0].split(";"), int(words[1]))
            for words in (line.rsplit(" ", 1) for line in lines)
        )
    )


def sampled(stats: LineStats) -> Iterator[Iterator[tuple[list[str], float]]]:
    """Yield the stacks of each profile in a file for speedscope."""
    file = json.loads(content(stats, "speedscope"))
    names = [one["name"].split(":")[0] for one in file["shared"]["frames"]]
    for profile in file["profiles"]:
        assert profile["type"] == "sampled"
        yield (
            (_without_lines([names[frame] for frame in frames]), weight / 1000)
            for frames, weight in zip(profile["samples"], profile["weights"])
        )


def _without_lines(frames: list[str]) -> list[str]:
    """Return the functions of a stack, each once in a row."""
    return [one for one, above in zip(frames, ["", *frames]) if one != above]


def test_speedscope_has_time_under_its_true_ancestors(stats: LineStats) -> None:
    profiles = list(sampled(stats))
    assert profiles
    check_stacks(profiles[0])


def test_pprof_has_time_under_its_true_ancestors(stats: LineStats) -> None:
    samples = pprof_file.read(content(stats, "pprof")).samples
    check_stacks(
        ([frame[1] for frame in one.frames], one.values["time"] / 1000)
        for one in samples
    )


def test_cpuprofile_has_time_under_its_true_ancestors(stats: LineStats) -> None:
    file = exported(stats)
    nodes = {one["id"]: one for one in file["nodes"]}
    above = {child: one["id"] for one in nodes.values() for child in one["children"]}

    def frames(node: int) -> list[str]:
        names: list[str] = []
        while node in above:
            names.insert(0, nodes[node]["callFrame"]["functionName"].split(":")[0])
            node = above[node]
        return _without_lines(names[names.index("main") :]) if "main" in names else []

    check_stacks((frames(one), nodes[one]["hitCount"]) for one in nodes if frames(one))


def test_chrome_has_time_under_its_true_ancestors(stats: LineStats) -> None:
    spans = [
        (event["ts"], event["dur"], event["name"].split(" ")[0])
        if not event["name"].startswith("deeper")
        else (event["ts"], event["dur"], event["name"])
        for event in File(stats).phase("X")
    ]
    own: list[list[Any]] = []
    stack: list[tuple[int, list[Any]]] = []
    for start, ns, name in spans:
        while stack and stack[-1][0] <= start:
            stack.pop()
        path = [*(stack[-1][1][0] if stack else []), name]
        if stack:
            stack[-1][1][1] -= ns
        own.append([path, ns])
        stack.append((start + ns, own[-1]))
    check_stacks((path, ns / 1000) for path, ns in own)


def test_a_flame_graph_in_svg_has_time_under_its_true_ancestors(
    stats: LineStats,
) -> None:
    text = content(stats, "svg").decode()
    assert f"{NOTE}" in text
    found = re.findall(r'data-ns="(\d+)"><title>(\S+)', text)
    assert ("8299000", "main") in found
    assert {("90000", "a"), ("804000", "b"), ("7405000", "c")} <= {*found}
    assert any(name == "deeper" for _, name in found)


def test_callers_are_exact_in_callgrind(stats: LineStats, complete: LineStats) -> None:
    one, other = (
        Parsed(content(each, "callgrind").decode()) for each in (stats, complete)
    )
    assert (one.lines, one.calls) == (other.lines, other.calls)


def test_callers_are_exact_in_pstats(stats: LineStats, complete: LineStats) -> None:
    one, other = (marshal.loads(content(each, "pstats")) for each in (stats, complete))  # noqa: S302
    assert one == other


QUERY = """
SELECT caller.name, edges.line, callee.name, edges.calls, edges.primitive_calls,
    edges.total_ns, edges.inclusive_ns
FROM edges LEFT JOIN functions AS caller ON caller.id = edges.caller_id
JOIN functions AS callee ON callee.id = edges.callee_id ORDER BY 1, 2, 3
"""

FUNCTIONS = "SELECT * FROM functions WHERE file != '' ORDER BY id"

STACKS = """
WITH RECURSIVE paths (id, path, own) AS (
    SELECT call_tree.id, name, call_tree.self_ns FROM call_tree
        JOIN functions ON functions.id = function_id WHERE parent_id IS NULL
    UNION ALL
    SELECT call_tree.id, path || ';' || name, call_tree.self_ns FROM call_tree
        JOIN functions ON functions.id = function_id
        JOIN paths ON paths.id = call_tree.parent_id)
SELECT path, own FROM paths
"""


def test_a_database_has_exact_callers_and_true_ancestors(
    stats: LineStats, complete: LineStats, tmp_path: Path
) -> None:
    rows: list[list[Any]] = []
    for number, one in enumerate((stats, complete)):
        file = tmp_path / f"{number}.sqlite"
        file.write_bytes(content(one, "sqlite"))
        with closing(sqlite3.connect(file)) as database:
            rows += [database.execute(QUERY).fetchall()]
            rows += [database.execute(FUNCTIONS).fetchall()]
            if not number:
                stacks = database.execute(STACKS).fetchall()
    assert rows[0] == rows[2]
    assert rows[1] == rows[3]
    check_stacks((path.split(";"), ns / 1000) for path, ns in stacks)


FORMATS = ("collapsed", "speedscope", "pprof", "cpuprofile", "chrome", "perfetto")


@pytest.mark.parametrize("name", [*FORMATS, "svg", "callgrind", "pstats", "sqlite"])
def test_each_export_says_that_there_are_deeper_calls(
    name: str, stats: LineStats, complete: LineStats
) -> None:
    assert any(one.startswith(NOTE) for one in remarks(stats, name))
    assert not any(one.startswith(NOTE) for one in remarks(complete, name))
    assert content(stats, name)
