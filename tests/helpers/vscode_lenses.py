"""Times that VS Code shows above lines, read from a .cpuprofile by its viewer's rules.

The viewer is microsoft/vscode-js-profile-visualizer, which is part of VS Code; the
rules are those of commit 67ef42f8a40939ed8351cb80dffa636cbbe49c18, in the folder
packages/vscode-js-profile-core/src:

- cpu/model.ts: each delta is own time of the sample before it; the rest up to the end
  of the profile is of the last sample. The total of a node is its own time and those of
  its children.
- cpu/cpuProfileAnnotations.ts: the own times of all nodes at one line of one file are
  added up, and so are the totals. Position ticks do not count. A line has a lens unless
  both are 0.
- path.ts and profileAnnotations.ts: a file is found by the path in its file:// URL,
  whose escapes have to be UTF-8: decodeURIComponent of JavaScript raises, and then
  nothing is shown at all. Lines below 0 are at line 0.
- open-location.ts: a click on a path that looks like a "command:" link runs a command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    Line = tuple[str, int]  # file, line from 1 on


class Lens(NamedTuple):
    """Times of a line in us."""

    own: int
    total: int


def lenses(file: dict[str, Any]) -> dict[Line, Lens]:
    """Return the lens of each line that has one."""
    own, times = own_us(file), {}
    totals = dict(own)
    nodes = {one["id"]: one for one in file["nodes"]}
    for number, node in reversed(nodes.items()):  # ours: callers come first
        assert all(number < child for child in node["children"])
        totals[number] += sum(totals[child] for child in node["children"])
    for number, node in nodes.items():
        frame = node["callFrame"]
        line = path_of(frame["url"]), max(0, frame["lineNumber"]) + 1
        before = times.get(line, Lens(0, 0))
        times[line] = Lens(before.own + own[number], before.total + totals[number])
    return {line: lens for line, lens in times.items() if line[0] and any(lens)}


def own_us(file: dict[str, Any]) -> dict[int, int]:
    """Return the own time of each node, by its number."""
    own = dict.fromkeys((one["id"] for one in file["nodes"]), 0)
    samples, deltas = file["samples"], file["timeDeltas"]
    rest = file["endTime"] - file["startTime"] - sum(deltas)
    for sample, us in zip(samples, [*deltas[1:], rest], strict=True):
        own[sample] += us
    return own


def path_of(url: str) -> str:
    """Return the path by which an open file is found, or the URL of no file."""
    if not url.startswith("file:///"):
        assert not re.match(r"\w+:", url), "a click would not open a file"
        return url
    path = unquote(url.removeprefix("file:///"), errors="strict")
    return path if path.startswith("/") else f"/{path}"
