"""`go tool pprof`: the samples of a profile, and the source beside its numbers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.checks.exports.findings import Missing, Wrong, same

if TYPE_CHECKING:
    from tools.checks.exports.workspace import Place

OURS = {  # by the names of the sample types
    "time": "lines_ns",
    "hits": "hits",
    "calls": "calls",
    "gpu": "gpu_ns",
    "gpu_copy": "copy_ns",
}
SAMPLE = re.compile(r"^ +((?: *-?\d+)+): (?:\d+ )*$", re.MULTILINE)


def go(place: Place, *words: object) -> str:
    """Run pprof, without a network or settings of the user; give its output."""
    if not shutil.which("go"):
        raise Missing("go", "Debian: apt install golang-go")
    home = {"HOME": str(place.folder), "PPROF_TMPDIR": str(place.folder)}
    return place.run(["go", "tool", "pprof", *words], home)


def totals(raw: str) -> dict[str, int]:
    """Add up the samples of `pprof -raw`, by the name of the sample type."""
    head = re.search(r"^Samples:\n(.+)$", raw, re.MULTILINE)
    if not head:
        raise Wrong(f"pprof shows no sample types: {raw[:400]}")
    names = [word.partition("/")[0] for word in head[1].split()]
    sums = [0] * len(names)
    for found in SAMPLE.finditer(raw):
        for index, number in enumerate(found[1].split()):
            sums[index] += int(number)
    return dict(zip(names, sums))


def samples(place: Place, profile: Path, file: Path) -> str:
    """Compare the sums of all samples with ours."""
    found, ours = totals(go(place, "-raw", file)), place.ours(profile)
    lacking = [name for name in ("time", "hits", "calls") if name not in found]
    if ours["gpu_ns"] and "gpu" not in found:
        lacking.append("gpu")
    if lacking:
        raise Wrong(f"it has no {', '.join(lacking)}")
    for name in OURS.keys() & found.keys():
        same(name, found[name], ours[OURS[name]])
    return str(found)


def listing(place: Place, profile: Path, file: Path) -> str:
    """List the function with the most time of its own; its source must be there."""
    top = max(place.ours(profile)["functions"], key=lambda one: int(one["lines_ns"]))
    words = ("-unit=ns", "-sample_index=time", f"-list=^{re.escape(top['name'])}")
    output = go(place, *words, file)
    found = re.search(r"^ *(?:([\d.]+)ns|0) +\S+ \(flat, cum\)", output, re.MULTILINE)
    if not found:
        raise Wrong(f"it lists no {top['name']}: {output[:300]}")
    same(f"own time of {top['name']}", float(found[1] or 0), top["lines_ns"])
    return f"{top['name']}: {found[1]} ns{with_source(output, top)}"


def with_source(output: str, function: dict[str, Any]) -> str:
    """Say that a function's source is shown; Wrong when it should be and is not."""
    file = Path(function["file"])
    if not file.exists():
        return ", its source gone"
    source = file.read_text(encoding="utf-8").splitlines()[function["line"] - 1]
    if source not in output:
        raise Wrong(f"it does not show {source!r}")
    return ", with its source"
