"""Reader of .cpuprofile: the parser of DevTools, which is part of Chromium."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tools.checks.findings import Mismatch, same

if TYPE_CHECKING:
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
    const ticks = node.positionTicks || [];
    nodes.push([node.functionName, node.url, node.lineNumber, node.self, node.total,
                ticks.map(one => [one.line, one.ticks])]);
    visit.push(...node.children);
  }
  let drawn = 0;
  model.forEachFrame(() => {}, (depth, node, sample, start, ms, own) => {
    drawn += own;
  });
  return {start: model.profileStartTime, end: model.profileEndTime,
          total: model.profileHead.total, drawn, nodes, errors: []};
})()
"""
DEEP = 240  # calls one below the other; the export goes little deeper
US = 1e-3  # ms


def parsed(workspace: Workspace, file: Path) -> dict[str, Any]:
    """Parse a .cpuprofile.

    Its nodes are: name, url, line from 0, own time and total (ms), ticks by line.
    """
    page = workspace.page
    page.open(HOME)
    page.errors.clear()  # an inspector without a page to inspect complains
    profile = json.loads(file.read_text(encoding="utf-8"))
    model: dict[str, Any] = page.value(PARSE % json.dumps(profile))
    if not model["nodes"]:
        raise Mismatch("DevTools finds no node in it")
    return model


def check(workspace: Workspace, profile: Path, file: Path) -> str:
    """Compare times of all lines with ours: each sample is rounded to a microsecond."""
    model, expected = parsed(workspace, file), workspace.expected(profile)
    nodes = model["nodes"]
    own_ms = sum(node[3] for node in nodes)
    known = expected["covered_ns"] if expected["slices"] else expected["lines_ns"]
    rounding = (len(nodes) + expected["slices"]) * US
    same("own time (ms)", own_ms, known / 1e6, rounding)
    same("time in the flame chart (ms)", model["drawn"], own_ms, US)
    own: Counter[tuple[str, int]] = Counter()
    total: Counter[tuple[str, int]] = Counter()
    ticks: Counter[tuple[str, int]] = Counter()
    for _, url, line, self_ms, total_ms, of_lines in nodes:
        place = unquote(url.removeprefix("file://")), line + 1
        own[place] += self_ms
        total[place] += total_ms
        for tick_line, us in of_lines:
            ticks[place[0], tick_line] += us * US
    for path, line, own_ns, total_ns, times in expected["line_times"]:
        where = f"{Path(path).name}:{line}"
        same(f"own time of {where} (ms)", own[path, line], own_ns / 1e6, times * US)
        same(f"ticks of {where} (ms)", ticks[path, line], own_ns / 1e6, times * US)
        if expected["depth"] < DEEP:
            same(
                f"total of {where} (ms)", total[path, line], total_ns / 1e6, times * US
            )
    return f"{len(nodes)} nodes, {len(ticks)} lines, {own_ms:.3f} ms"
