"""The tables, the timeline and the NVTX ranges of a real training loop are kept.

The program is examples/gpu_train.py; `--out` has the texts in a tar file.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from items.nvtx_ranges import build
from lab import HERE

if TYPE_CHECKING:
    from lab import Lab

NEEDS = ("torch",)
EXAMPLE = HERE.parents[1] / "examples" / "gpu_train.py"
LINES = 60  # of each text

VIEWS = {  # of `lineprof view`, with words that have to be there
    "table": ([], ("GPU Time", "loss.backward()", "Copies:")),
    "gpu-summary": (["--gpu-summary"], ("GPU activities:", "API calls:", "HtoD")),
    "gpu-trace": (["--gpu-trace"], ("HtoD", "gpu_train.py:")),
    "api-trace": (["--api-trace"], ("cudaLaunchKernel",)),
    "gpu-idle": (["--gpu-idle"], ("idle for",)),
}
PAGE = "page.html"


def check(lab: Lab) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    (lab.new_folder() / EXAMPLE.name).write_text(text, encoding="utf-8")
    heard = lab.here / "heard.jsonl"
    kernprof = [sys.executable, "-m", "kernprof", "-l", "-q", "--trace", "--gpu-api"]
    words = [*kernprof, "-o", "program.lprof", EXAMPLE.name]
    knobs = {"NVTX_INJECTION64_PATH": build(lab), "NVTX_SPY_OUT": heard}
    ran = lab.run(words, text, **knobs)
    if not lab.expect_well(ran):
        return
    lab.keep("output.txt", ran.out)
    lab.expect("PyTorch on the GPU" in ran.out, f"it says {ran.out!r}")
    lab.expect_whole(ran)
    lineprof = [sys.executable, "-m", "lineprof"]
    for name, (options, wanted) in VIEWS.items():
        view = lab.run([*lineprof, "view", *options, "program.lprof"], text)
        if not lab.expect_well(view):
            continue
        lines = view.out.splitlines(keepends=True)
        lab.keep(f"{name}.txt", "".join(lines[:LINES]))
        lab.figure(**{f"lines of {name}": len(lines)})
        lacks = [word for word in wanted if word not in view.out]
        lab.expect(not lacks, f"{name} lacks {', '.join(lacks)}")
    check_page(lab, lineprof, text)
    check_timeline(lab, lineprof, text)
    ranges = heard.read_text(encoding="utf-8").splitlines(keepends=True)
    lab.keep("ranges.jsonl", "".join(ranges[:LINES]))
    lab.expect(
        any("loss.backward()" in line for line in ranges), "no range of backward()"
    )
    lab.keep("gpu_train.lprof", (lab.here / "program.lprof").read_bytes())


def check_page(lab: Lab, lineprof: list[str], text: str) -> None:
    """Check and keep the page for browsers."""
    view = [*lineprof, "view", "program.lprof", "--html", PAGE]
    if lab.expect_well(lab.run(view, text)):
        made = (lab.here / PAGE).read_text(encoding="utf-8")
        lab.expect(EXAMPLE.name in made, f"the page lacks {EXAMPLE.name}")
        lab.keep(PAGE, made)


def check_timeline(lab: Lab, lineprof: list[str], text: str) -> None:
    """Check and keep the exported timeline."""
    export = [*lineprof, "export", "-f", "chrome", "-o", "timeline.json"]
    if not lab.expect_well(lab.run([*export, "program.lprof"], text)):
        return
    made = (lab.here / "timeline.json").read_bytes()
    lab.keep("timeline.json", made)
    slices = [one for one in json.loads(made)["traceEvents"] if one.get("ph") == "X"]
    kernels = [one for one in slices if "kernel" in one.get("cat", "")]
    lab.figure(slices=len(slices), kernels=len(kernels))
    lab.expect(kernels, "the timeline has no kernel")
