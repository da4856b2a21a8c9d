"""Reader of SQLite exports: the sqlite3 command, and queries of sums and views."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch, MissingReader, same

if TYPE_CHECKING:
    from pathlib import Path

    from tools.checks.exports.workspace import Workspace


SUMS = {  # one number each, by the name of ours
    "select sum(self_ns) from functions": "self_ns",
    "select sum(calls) from functions": "calls",
    "select count(*) from edges": "edges",
    "select sum(hits) from hot_lines": "hits",
    "select count(*) from slices": "slices",
    "select count(*) from threads": "threads",
}
OF_MEMORY = {  # the same, if there is any
    "select sum(own_allocs) from memory_by_line": "allocs",
    "select sum(own_alloc_bytes) from memory_by_line": "alloc_bytes",
    "select sum(own_live_bytes) from memory_by_line": "live_bytes",
    "select sum(peak_bytes) from memory_runs": "peak_bytes",
}
VIEWS = ("hot_lines", "callers", "callees")
# Functions whose edges do not sum to their total: there must be none.
EDGES = """
select functions.name from functions join edges on callee_id = functions.id
group by functions.id having sum(edges.total_ns) <> functions.total_ns
"""


def ask(workspace: Workspace, file: Path, sql: str) -> list[str]:
    """Return the lines that the command prints for a query."""
    command = shutil.which("sqlite3")
    if not command:
        raise MissingReader("sqlite3", "Debian: apt install sqlite3")
    return workspace.run([command, "-readonly", "-batch", file, sql]).splitlines()


def shell(workspace: Workspace, profile: Path, file: Path) -> str:
    """Check the integrity of the database, query sums, and read the views."""
    found = ask(workspace, file, "pragma integrity_check; pragma foreign_key_check")
    if found != ["ok"]:
        raise Mismatch(f"it is damaged: {found[:3]}")
    expected = workspace.expected(profile)
    sums = {**SUMS, **OF_MEMORY} if expected["allocs"] else SUMS
    for query, name in sums.items():
        (number,) = ask(workspace, file, query)
        same(query, int(number or 0), expected[name])
    counts = {name: ask(workspace, file, f"select * from {name}") for name in VIEWS}  # noqa: S608  # our own views
    if uneven := ask(workspace, file, EDGES):
        raise Mismatch(f"edges do not sum to the total of {uneven[0]}")
    rows = ", ".join(f"{name} {len(rows)}" for name, rows in counts.items())
    return f"whole; rows of its views: {rows}"
