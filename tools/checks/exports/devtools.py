"""Reader of .cpuprofile: the parser of DevTools, which is part of Chromium."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tools.checks.findings import Mismatch, same

if TYPE_CHECKING:
    from pathlib import Path

    from tools.checks.exports.workspace import Workspace

HOME = "devtools://devtools/bundled/inspector.html"
PARSE = """
(async () => {
  const models = await import(
    "devtools://devtools/bundled/models/cpu_profile/cpu_profile.js");
  const model = new models.CPUProfileDataModel.CPUProfileDataModel(%s);
  const nodes = [];
  const visit = [...(model.profileHead.children || [])];
  while (visit.length) {
    const node = visit.pop();
    nodes.push([node.functionName, node.url, node.lineNumber, node.self]);
    visit.push(...node.children);
  }
  return {start: model.profileStartTime, end: model.profileEndTime,
          total: model.profileHead.total, nodes, errors: []};
})()
"""


def parsed(workspace: Workspace, file: Path) -> dict[str, Any]:
    """Parse a .cpuprofile; return its nodes: name, url, line from 0, self time (ms)."""
    page = workspace.page
    page.open(HOME)
    page.errors.clear()  # an inspector without a page to inspect complains
    profile = json.loads(file.read_text(encoding="utf-8"))
    model: dict[str, Any] = page.value(PARSE % json.dumps(profile))
    if not model["nodes"]:
        raise Mismatch("DevTools finds no node in it")
    return model


def check(workspace: Workspace, profile: Path, file: Path) -> str:
    """Compare the self times of all nodes with ours, each to a microsecond."""
    model, expected = parsed(workspace, file), workspace.expected(profile)
    nodes = model["nodes"]
    own_ms = sum(node[3] for node in nodes)
    known = expected["covered_ns"] if expected["slices"] else expected["lines_ns"]
    same("own time (ms)", own_ms, known / 1e6, (len(nodes) + expected["slices"]) / 1e3)
    return f"{len(nodes)} nodes, {own_ms:.3f} ms"
