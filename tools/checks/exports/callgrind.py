"""Reader of callgrind files: callgrind_annotate, of Valgrind."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from tools.checks.findings import Mismatch, MissingReader, same

if TYPE_CHECKING:
    from pathlib import Path

    from tools.checks.exports.workspace import Workspace

NUMBER = r"[\d,.]+"
EVENTS = {
    "ns": "lines_ns",
    "GPU_ns": "gpu_ns",
    "Allocs": "allocs",
    "Alloc_B": "alloc_bytes",
    "Live_B": "live_bytes",
    "Peak_B": "peak_bytes",
    "Hits": "hits",
}  # callgrind's name, and ours
FLAGS = ("--threshold=100", "--show-percs=no")


def annotate(workspace: Workspace, profile: Path, file: Path) -> str:
    """Compare totals, and the self time and total time of each function."""
    expected = workspace.expected(profile)
    output = run(workspace, "--auto=no", "--inclusive=no", file)
    found = totals(output)
    for event in EVENTS.keys() & found.keys():
        same(event, found[event], expected[EVENTS[event]])
    on_and_off = found.get("CPU_ns", found["ns"]) + found.get("Wait_ns", 0)
    same("CPU_ns and Wait_ns", on_and_off, found["ns"])
    if expected["gpu_ns"] and "GPU_ns" not in found:
        raise Mismatch("it has no GPU time")
    if expected["allocs"] and "Live_B" not in found:
        raise Mismatch("it has no memory")
    own = [one["lines_ns"] for one in expected["functions"] if one["lines_ns"]]
    if sorted(times(output)) != sorted(own):
        raise Mismatch("its functions' own times are not ours")
    whole = times(run(workspace, "--auto=no", "--inclusive=yes", file))
    once = [one for one in expected["functions"] if one["calls"] == one["primitive"]]
    lacking = [one for one in once if one["total_ns"] and not near(one, whole)]
    if lacking:
        raise Mismatch(f"its inclusive times lack {lacking[0]}")
    return f"{len(own)} functions, {found}"


def near(function: dict[str, int], times: list[int]) -> bool:
    """Return whether a total is among `times`, up to the rounding of lines."""
    slack = 100 + function["total_ns"] // 10_000
    return any(abs(one - function["total_ns"]) <= slack for one in times)


def run(workspace: Workspace, *words: object) -> str:
    """Run callgrind_annotate; Mismatch if it warns, MissingReader without it."""
    command = shutil.which("callgrind_annotate")
    if not command:
        raise MissingReader("callgrind_annotate", "Debian: apt install valgrind")
    output = workspace.run([command, *FLAGS, *words])
    if "WARNING" in output:
        raise Mismatch(output[output.index("WARNING") :][:300])
    return output


def table(output: str) -> list[tuple[list[int], str]]:
    """Return rows of functions and of the whole program: numbers, and their name."""
    row = re.compile(rf"^ *((?:{NUMBER} +)+) *(\S.*)$", re.MULTILINE)
    rows = []
    for found in row.finditer(output):
        words = found[1].replace(",", "").split()
        numbers = [0 if word == "." else int(word) for word in words]
        rows.append((numbers, found[2]))
    return rows


def totals(output: str) -> dict[str, int]:
    """Return the numbers of the whole program by the name of the event."""
    events = re.search(r"^Events shown: +(.+)$", output, re.MULTILINE)
    whole = [numbers for numbers, what in table(output) if what == "PROGRAM TOTALS"]
    if not events or not whole:
        raise Mismatch(f"callgrind_annotate shows no totals: {output[:400]}")
    return dict(zip(events[1].split(), whole[0]))


def times(output: str) -> list[int]:
    """Return the first number, time, of each function that has one."""
    rows = table(output[output.index("file:function") :])
    return [numbers[0] for numbers, _ in rows if numbers[0]]
