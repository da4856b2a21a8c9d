"""Tables of profile files: those in a file, and those documented in docs/format.md."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")


def tables_of(file: Path) -> dict[str, str]:
    """Return the columns of each table in a file, as in docs/format.md."""
    with closing(sqlite3.connect(file)) as db:
        rows = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        return {
            name: sql[sql.index("(") + 1 : -1].replace(" NOT NULL", "")
            for name, sql in rows
        }


def documented_tables(text: str, place: int = 0) -> dict[str, str]:
    """Return the columns of each table in the sql block number `place` of a text."""
    block = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)[place]
    return {
        name: " ".join(columns.split())
        for name, columns in re.findall(r"^(\w+) +\(([^)]*)\)", block, re.MULTILINE)
    }


def documented_query(text: str, place: int = 0) -> str:
    """Return the SELECT statement number `place` in a text."""
    return " ".join(re.findall(r'"(SELECT[^"]*)"', text)[place].split())
