"""Reader of flame graphs: a browser, in which clicks zoom and a search finds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch, same

if TYPE_CHECKING:
    from pathlib import Path

    from tools.checks.browser import Page
    from tools.checks.exports.workspace import Workspace

FRAMES = "[...document.querySelectorAll('.graph .f')]"
NARROW = f"""
(() => {{
  const shown = {FRAMES}.map((node, index) => {{
    const width = parseFloat(node.getAttribute('width'));
    return [index, width, node.querySelector('rect').getBoundingClientRect()];
  }});
  const fits = ([_, width, box]) =>
    width < 99.9 && box.width > 2 && box.bottom < innerHeight;
  const found = shown.filter(fits).sort((a, b) => a[1] - b[1]);
  if (!found.length) return null;
  const [index, _, box] = found[Math.floor(found.length / 2)];
  return [index, box.x + box.width / 2, box.y + box.height / 2];
}})()
"""
WIDTH = f"parseFloat({FRAMES}[%d].getAttribute('width'))"
ALL = 100  # % of the width


def clicked(workspace: Workspace, profile: Path, file: Path) -> str:
    """Open a flame graph, zoom into a frame and out again, search for a function."""
    page = workspace.page
    page.open("about:blank")
    blank = page.screenshot()
    page.errors.clear()
    page.open(file.as_uri())
    if page.screenshot() == blank:
        raise Mismatch("the picture is blank")
    count = page.value(f"{FRAMES}.length")
    if not count:
        raise Mismatch("there is no frame in it")
    root = "Number(document.querySelector('.graph .f').dataset.ns)"
    expected = workspace.expected(profile)
    same("all of it (ns)", page.value(root), expected["self_ns"], expected["rounding"])
    said = zoomed(page)
    search(page, expected["functions"])
    if page.errors:
        raise Mismatch(f"the browser's console has: {page.errors[0]}")
    return f"{count} frames, {said}, no error"


def zoomed(page: Page) -> str:
    """Zoom into a narrow frame and out again by clicks; return a summary."""
    found = page.value(NARROW)
    if not found:
        return "none narrow enough to zoom into"
    index, x, y = found
    before, picture = page.value(WIDTH % index), page.screenshot()
    page.click(x, y)
    if page.value(WIDTH % index) != ALL:
        raise Mismatch(f"a click on frame {index} does not zoom into it")
    if page.screenshot() == picture:
        raise Mismatch("a click changes nothing that is seen")
    page.value("document.getElementById('reset').dispatchEvent(new Event('click'))")
    if round(page.value(WIDTH % index) - before, 3):
        raise Mismatch("it does not zoom out again")
    return f"a click zooms from {before:.1f} % to the whole"


def search(page: Page, functions: list[dict[str, object]]) -> None:
    """Search for the first function that was called; Mismatch if none is found."""
    name = next(str(one["name"]) for one in functions if one["self_ns"])
    text = json.dumps(name)
    page.value(
        "(() => { const field = document.getElementById('search');"
        f" field.value = {text}; field.dispatchEvent(new Event('input',"
        " {bubbles: true})); })()"
    )
    found = page.value("document.getElementById('found').textContent")
    if not found.startswith("found:"):
        raise Mismatch(f"a search for {name} says {found!r}")
