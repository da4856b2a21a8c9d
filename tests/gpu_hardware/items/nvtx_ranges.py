"""NVTX ranges reach a tool during GPU work, with payloads that name functions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lab import HERE, NotRunError

if TYPE_CHECKING:
    from pathlib import Path

    from lab import Lab, Ran

NEEDS = ()

PROGRAM = """
@profile
def work():
    for _ in range(10):
        gpu.empty()  #> kernels=10
    helper()  #> kernels=1

@profile
def helper():
    gpu.spin(10_000)  #> kernels=1

gpu.init()
work()
"""


def check(lab: Lab) -> None:
    ran, heard = run_with_spy(lab, PROGRAM)
    if lab.expect_well(ran):
        lab.expect_marks(ran)
        lab.expect_whole(ran)
        check_ranges(lab, ran, heard)


def run_with_spy(lab: Lab, program: str) -> tuple[Ran, Path]:
    """Run a program under lineprof and the tool that writes what it hears."""
    heard = lab.folder / "heard.jsonl"
    spy = build(lab)
    ran = lab.kernprof(program, NVTX_INJECTION64_PATH=spy, NVTX_SPY_OUT=heard)
    return ran, heard


def build(lab: Lab) -> Path:
    """Return the library of the tool, from the doubles' folder or compiled here."""
    if lab.doubles and (lab.doubles / "nvtx_spy.so").is_file():
        return lab.doubles / "nvtx_spy.so"
    source = HERE.parent / "doubles" / "nvtx" / "nvtx_spy.c"
    return lab.compiled("nvtx_spy", source)


def check_ranges(lab: Lab, ran: Ran, heard: Path) -> None:
    """Compare the received ranges with the profile."""
    if not heard.exists():
        raise NotRunError("nothing was heard: this lineprof was built without NVTX")
    text = heard.read_text(encoding="utf-8", errors="replace")
    events = [json.loads(line) for line in text.splitlines()]
    ours = [one for one in events if one["domain"] == "lineprof"]
    pushes = [one for one in ours if one["what"] == "push"]
    pops = [one for one in ours if one["what"] == "pop"]
    lab.expect(pushes, "no range was heard")
    lab.expect(
        len(pushes) == len(pops), f"{len(pushes)} ranges begin and {len(pops)} end"
    )
    payloads = {one.get("payload") for one in pushes}
    gpu = ran.stats.gpu
    used = {one.path for one in gpu.sums if one.kind == "kernel" and one.path >= 0}
    wanted = {gpu.paths[path].range for path in used}
    lab.expect(wanted, "no line has a kernel")
    lab.expect(
        wanted <= payloads, f"{wanted - payloads} of the trace are no range's payloads"
    )
