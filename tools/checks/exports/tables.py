"""Readers of tables: Python's csv and json, and line_profiler for its files."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

from tools.checks.exports.readers import HOME
from tools.checks.findings import same

if TYPE_CHECKING:
    from pathlib import Path

    from tools.checks.exports.workspace import Workspace

LOAD = """
import sys
from line_profiler import load_stats
stats = load_stats(sys.argv[1])
lines = [line for lines in stats.timings.values() for line in lines]
print(len(stats.timings), sum(hits for _, hits, _ in lines))
"""


def rows(workspace: Workspace, profile: Path, file: Path) -> str:
    """Compare the sum of hits with ours."""
    with file.open(encoding="utf-8", newline="", errors="surrogateescape") as text:
        found = list(csv.DictReader(text))
    hits = sum(int(row["hits"] or 0) for row in found)
    same("hits", hits, workspace.expected(profile)["hits"])
    return f"{len(found)} rows, {hits} hits"


def values(workspace: Workspace, profile: Path, file: Path) -> str:
    """Compare the sum of hits with ours."""
    found = json.loads(file.read_text(encoding="utf-8"))
    lines = [line for function in found["functions"] for line in function["lines"]]
    hits = sum(line["hits"] for line in lines)
    same("hits", hits, workspace.expected(profile)["hits"])
    return f"{len(found['functions'])} functions, {hits} hits"


def theirs(workspace: Workspace, profile: Path, file: Path) -> str:
    """Load the file with line_profiler, and let it print its table."""
    where = {"PYTHONPATH": str(HOME / "line_profiler")}
    functions, hits = workspace.run([workspace.python, "-c", LOAD, file], where).split()
    same("hits", int(hits), workspace.expected(profile)["hits"])
    workspace.run([workspace.python, "-m", "line_profiler", "-z", file], where)
    return f"{functions} functions, {hits} hits"
