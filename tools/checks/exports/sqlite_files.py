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
    for query, name in SUMS.items():
        (number,) = ask(workspace, file, query)
        same(query, int(number or 0), workspace.expected(profile)[name])
    counts = {name: ask(workspace, file, f"select * from {name}") for name in VIEWS}  # noqa: S608  # our own views
    if uneven := ask(workspace, file, EDGES):
        raise Mismatch(f"edges do not sum to the total of {uneven[0]}")
    rows = ", ".join(f"{name} {len(rows)}" for name, rows in counts.items())
    return f"whole; rows of its views: {rows}"
