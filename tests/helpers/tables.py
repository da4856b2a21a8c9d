"""A parser of printed tables: names, times and hits of lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from as_python import kernprof, viewer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Cells = dict[str, str]  # a line's columns by their titles; '' if empty


@dataclass(frozen=True)
class Table:
    """The table of one function."""

    name: str
    total: float  # seconds
    lines: Mapping[int, Cells] = field(default_factory=dict)

    def hits(self) -> dict[int, int]:
        """Return the hits of the lines that have hits."""
        return {n: int(row["Hits"]) for n, row in self.lines.items() if row["Hits"]}

    def seconds(self, line: int, column: str = "Time", unit: float = 1e-6) -> float:
        """Return the time of a line in a column, in seconds; 0 if it is empty."""
        return float(self.lines[line][column] or 0) * unit

    def source(self, line: int) -> str:
        """Return the source text of a line."""
        return self.lines[line]["Line Contents"]


def tables(text: str) -> dict[str, Table]:
    """Return all tables of a text, by the names of functions."""
    found: dict[str, Table] = {}
    for part in text.split("Total time: ")[1:]:
        head, _, body = part.partition("Line #")
        name = re.search(r"^Function: (.*) at line \d+$", head, re.MULTILINE)
        header, _, rows = body.partition("\n")
        table = Table(
            name[1] if name else "",
            float(head.split()[0]),
            _lines("Line #" + header, rows.splitlines()[1:]),
        )
        found[table.name] = table
    return found


def _lines(header: str, rows: list[str]) -> dict[int, Cells]:
    """Parse rows up to the first empty one; a title ends where its column ends."""
    titles = list(re.finditer(r"Line Contents|\S+(?: \S+)*", header))
    lines = {}
    for row in rows:
        if not row:
            break
        cells, begin = {}, 0
        for title in titles[:-1]:
            cells[title[0]] = row[begin : title.end()].strip()
            begin = title.end()
        cells[titles[-1][0]] = row[begin:].strip()
        lines[int(cells[titles[0][0]])] = cells
    return lines


def profiled(
    folder: Path,
    script: str,
    *view: str,
    env: Mapping[str, str] | None = None,
    output: str = "",
) -> dict[str, Table]:
    """Run a script under ``kernprof -l`` and return the tables of its profile.

    Fails unless the script succeeds and prints `output` and no errors.
    """
    ran = kernprof("-lq", "-o", "shown.lprof", script, cwd=folder, env=env)
    assert (ran.status, ran.err) == (0, ""), ran.err
    assert ran.out == output
    shown = viewer("view", *view, "shown.lprof", cwd=folder)
    assert (shown.status, shown.err) == (0, ""), shown.err
    return tables(shown.out)
