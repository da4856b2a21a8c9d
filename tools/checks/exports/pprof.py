"""Reader of pprof files: `go tool pprof`, its samples and its source listing."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.checks.findings import Mismatch, MissingReader, same

if TYPE_CHECKING:
    from tools.checks.exports.workspace import Workspace

OURS = {  # by the names of the sample types
    "time": "lines_ns",
    "hits": "hits",
    "calls": "calls",
    "gpu": "gpu_ns",
    "gpu_copy": "copy_ns",
    "alloc_objects": "allocs",
    "alloc_space": "alloc_bytes",
    "inuse_space": "live_bytes",
    "peak_space": "peak_bytes",
}
SAMPLE = re.compile(r"^ +((?: *-?\d+)+): (?:\d+ )*$", re.MULTILINE)


def go(workspace: Workspace, *words: object) -> str:
    """Return the output of pprof, run without a network and settings of the user."""
    if not shutil.which("go"):
        raise MissingReader("go", "Debian: apt install golang-go")
    home = {"HOME": str(workspace.folder), "PPROF_TMPDIR": str(workspace.folder)}
    return workspace.run(["go", "tool", "pprof", *words], home)


def totals(raw: str) -> dict[str, int]:
    """Return sums of the samples of `pprof -raw`, by the name of the sample type."""
    head = re.search(r"^Samples:\n(.+)$", raw, re.MULTILINE)
    if not head:
        raise Mismatch(f"pprof shows no sample types: {raw[:400]}")
    names = [word.partition("/")[0] for word in head[1].split()]
    sums = [0] * len(names)
    for found in SAMPLE.finditer(raw):
        for index, number in enumerate(found[1].split()):
            sums[index] += int(number)
    return dict(zip(names, sums))


def samples(workspace: Workspace, profile: Path, file: Path) -> str:
    """Compare the sums of all samples with ours."""
    found, expected = totals(go(workspace, "-raw", file)), workspace.expected(profile)
    lacking = [name for name in ("time", "hits", "calls") if name not in found]
    if expected["gpu_ns"] and "gpu" not in found:
        lacking.append("gpu")
    if expected["allocs"] and "inuse_space" not in found:
        lacking.append("inuse_space")
    if lacking:
        raise Mismatch(f"it has no {', '.join(lacking)}")
    for name in OURS.keys() & found.keys():
        same(name, found[name], expected[OURS[name]])
    return str(found)


def listing(workspace: Workspace, profile: Path, file: Path) -> str:
    """List the function with the most self time; its source must be there."""
    top = max(
        workspace.expected(profile)["functions"], key=lambda one: int(one["lines_ns"])
    )
    words = ("-unit=ns", "-sample_index=time", f"-list=^{re.escape(top['name'])}")
    output = go(workspace, *words, file)
    found = re.search(r"^ *(?:([\d.]+)ns|0) +\S+ \(flat, cum\)", output, re.MULTILINE)
    if not found:
        raise Mismatch(f"it lists no {top['name']}: {output[:300]}")
    same(f"own time of {top['name']}", float(found[1] or 0), top["lines_ns"])
    return f"{top['name']}: {found[1]} ns{with_source(output, top)}"


def with_source(output: str, function: dict[str, Any]) -> str:
    """Return that a function's source is shown; Mismatch if it is missing."""
    file = Path(function["file"])
    if not file.exists():
        return ", its source gone"
    source = file.read_text(encoding="utf-8").splitlines()[function["line"] - 1]
    if source not in output:
        raise Mismatch(f"it does not show {source!r}")
    return ", with its source"
