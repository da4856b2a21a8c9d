#!/usr/bin/env python3
"""Pages that profilers write for one program, opened in Chromium.

    python benchmarks/report_pages.py [--openings 5] [--folder FOLDER] [--frames]

`programs/algebra.py`, which runs SymPy, is profiled by lineprof and by other profilers
(`pip install sympy memray pyinstrument scalene`; Python 3.15 has `profiling.sampling`).
One that the Python at hand lacks is left out, and that is said. Pages are opened in
turn, without a network; figures are medians of the openings: the size of the page and
of what lies beside it, the first paint, the longest task (0 if none takes 50 ms), the
heap of JavaScript after a second, and requests to other hosts.

`--write` writes the pages alone, and pages that are in the folder are not written
again: so each page can come from another Python, and none of them needs the browser.

With `--frames`, a file of as many `--lines` is scrolled, in lineprof's page and in the
heat map of `profiling.sampling`, by 60 and by 900 pixels in each of 180 frames. The
figure is the 95th percentile of the frames' times, and its ratio; the goal is 1.3.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.goals import Verdict
from harness.installation import ROOT

sys.path.insert(0, str(ROOT))  # a script's own folder is there alone

from tools.checks.browser import browser, page
from tools.checks.report.figures import scroll

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.checks.browser import Page, Pipe

PROGRAM = Path(__file__).resolve().parent / "programs" / "algebra.py"
WIDTH, HEIGHT = 1440, 900
REST_S = 1.0  # from the load event to the figures
SPEEDS, FRAMES, PARTS = (60, 900), 60, 3  # pixels; frames of each part of a scroll
BOUND = 1.3  # of the frames' times of the heat map
SECONDS = 5  # of the program with a long file
LINES_OF_FUNCTION = 31

# Reports of the browser on the page that it opens.
OBSERVER = """
window.tasks = [0];
new PerformanceObserver((list) => {
  tasks.push(...list.getEntries().map((one) => one.duration));
}).observe({ type: "longtask", buffered: true });
"""
PAINT = "performance.getEntriesByName('first-paint')[0]?.startTime ?? 0"
MAIN = f"""

if __name__ == "__main__":
    import time
    values = list(range(20))
    functions = [one for name, one in list(globals().items()) if "function_" in name]
    end = time.monotonic() + {SECONDS}
    while time.monotonic() < end:
        for one in functions:
            one(values)
"""


class Tool(NamedTuple):
    """Profiler that writes a page: its module, and its commands without blanks."""

    name: str
    module: str
    commands: tuple[str, ...]
    page: str


_SAMPLING = "{python} -m profiling.sampling run"
TOOLS = (
    Tool(
        "lineprof",
        "lineprof",
        (
            "{python} -m kernprof -lq {scope} -o run.lprof {program}",
            "{python} -m lineprof view --html page.html run.lprof",
        ),
        "page.html",
    ),
    Tool(
        "profiling.sampling, heat map",
        "profiling.sampling",
        (f"{_SAMPLING} {{rate}} --heatmap -o heat {{program}}",),
        "heat/index.html",
    ),
    Tool(
        "profiling.sampling, flame graph",
        "profiling.sampling",
        (f"{_SAMPLING} --flamegraph -o page.html {{program}}",),
        "page.html",
    ),
    Tool(
        "memray, flame graph",
        "memray",
        (
            "{python} -m memray run -qf -o run.bin {program}",
            "{python} -m memray flamegraph --no-web -f -o page.html run.bin",
        ),
        "page.html",
    ),
    Tool(
        "pyinstrument",
        "pyinstrument",
        ("{python} -m pyinstrument -r html -o page.html {program}",),
        "page.html",
    ),
    Tool(
        "Scalene",
        "scalene",
        (
            "{python} -m scalene run -o run.json {program}",
            "{python} -m scalene view --standalone run.json",
        ),
        "scalene-profile.html",
    ),
)
OURS, HEAT_MAP = TOOLS[:2]


class Opening(NamedTuple):
    """Figures of one opening of a page."""

    paint_ms: float
    task_ms: float
    heap_mb: float
    requests: float


def has(name: str) -> bool:
    """Return whether this Python has a module."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def write(
    tool: Tool, folder: Path, program: Path, scope: str, rate: str
) -> Path | None:
    """Return the page of a profiler, written unless it is there; None without it."""
    place = folder / tool.name.replace(", ", "-").replace(" ", "-")
    target = place / tool.page
    if target.exists():
        return target
    if not has(tool.module):
        print(f"{tool.name} is left out: this Python has no {tool.module}")
        return None
    place.mkdir(parents=True, exist_ok=True)
    values = {"scope": scope, "rate": rate, "program": program}
    for command in tool.commands:
        words = shlex.split(command.format(python=sys.executable, **values))
        done = subprocess.run(
            words,
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not (target.exists() or command != tool.commands[-1]):
            print(f"{tool.name} is left out: {shlex.join(words)}: {done.stderr[-300:]}")
            return None
    return target


def opened(one: Page, file: Path) -> Opening:
    """Open a page; return the figures."""
    one.send("Network.enable")
    one.send("Performance.enable")
    one.send("Page.addScriptToEvaluateOnNewDocument", source=OBSERVER)
    one.open(file.as_uri())
    time.sleep(REST_S)
    metrics = one.send("Performance.getMetrics")["metrics"]
    heap = next(each["value"] for each in metrics if each["name"] == "JSHeapUsedSize")
    return Opening(
        paint_ms=one.value(PAINT),
        task_ms=one.value("Math.max(...tasks)"),
        heap_mb=heap / 1e6,
        requests=sum(url.startswith(("http", "ws")) for url in one.requests),
    )


def size_of(file: Path) -> tuple[int, int]:
    """Return the bytes and the number of files of a page that may be a folder."""
    files = [file]
    if file.name == "index.html":
        files = [each for each in file.parent.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files), len(files)


def compare(pipe: Pipe, pages: dict[str, Path], openings: int) -> None:
    """Open all pages in turn; print a table."""
    found: dict[str, list[Opening]] = {name: [] for name in pages}
    for _ in range(openings):
        for name, file in pages.items():
            with page(pipe, WIDTH, HEIGHT) as one:
                found[name].append(opened(one, file))
    print(
        "| Page | Size | First paint (ms) | Longest task (ms) | Heap (MB) | Requests |"
    )
    print("|---|---|---|---|---|---|")
    for name, all_of_it in found.items():
        bytes_, files = size_of(pages[name])
        size = f"{bytes_ / 1e6:.1f} MB" + (f", {files} files" if files > 1 else "")
        medians = [statistics.median(column) for column in zip(*all_of_it)]
        figures = " | ".join(f"{number:,.0f}" for number in medians)
        print(f"| {name} | {size} | {figures} |")


def largest(index: Path) -> Path:
    """Return the largest page of a file in a heat map."""
    return max(index.parent.glob("file_*.html"), key=lambda file: file.stat().st_size)


def frames(one: Page, url: str, selector: str) -> Iterator[float]:
    """Open a page; yield the 95th percentile of a frame's time (ms) for each speed."""
    one.open(url)
    if selector:
        one.wait("document.documentElement.dataset.ready")
    # A long page may need a minute until it can show its second frame.
    rest = "requestAnimationFrame(() => requestAnimationFrame(done))"
    one.value(f"new Promise((done) => {rest})")
    time.sleep(REST_S)
    for px in SPEEDS:
        times: list[float] = []
        for part in range(PARTS):  # each is one answer of the browser
            times += one.value(scroll(selector, px, FRAMES, part * px * FRAMES))
        yield sorted(times)[int(0.95 * len(times))]


def compare_frames(pipe: Pipe, folder: Path, lines: int, openings: int) -> int:
    """Scroll a long file in two pages; print a verdict for each speed."""
    pages = long_pages(folder, lines)
    if len(pages) < 2:
        return 0
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in pages}
    for _ in range(openings):
        for name, (url, selector) in pages.items():
            with page(pipe, WIDTH, HEIGHT) as one:
                found[name].append(tuple(frames(one, url, selector)))
    medians = {
        name: [statistics.median(column) for column in zip(*rounds)]
        for name, rounds in found.items()
    }
    missed = 0
    for at, px in enumerate(SPEEDS):
        for name, figures in medians.items():
            print(f"{lines:,} lines, {px} px a frame: p95 {figures[at]:.1f} ms, {name}")
        ratio = medians[OURS.name][at] / medians[HEAT_MAP.name][at]
        goal = f"{lines:,} lines, {px} px a frame: p95 over the heat map's"
        verdict = Verdict(goal, ratio, BOUND, "x")
        print(verdict.line())
        missed += not verdict.reached
    return missed


def long_pages(folder: Path, lines: int) -> dict[str, tuple[str, str]]:
    """Return the address, and what scrolls, of pages with a file of so many lines."""
    place = folder / f"lines-{lines}"
    place.mkdir(parents=True, exist_ok=True)
    program = place / "long.py"
    if not program.exists():
        # It needs lineprof, which the Python with another profiler may lack.
        from tools.checks.report.large import module  # noqa: PLC0415

        text = module(random.Random(1), lines // LINES_OF_FUNCTION)  # noqa: S311
        program.write_text(text + MAIN, encoding="utf-8")
    ours = write(OURS, place, program, scope="", rate="")
    heat = write(HEAT_MAP, place, program, scope="", rate="-r 20khz")
    found = {}
    if ours:
        found[OURS.name] = (f"{ours.as_uri()}#source", ".code")
    if heat:
        found[HEAT_MAP.name] = (largest(heat).as_uri(), "")
    return found


def main() -> int:
    """Write the pages, open them, print the figures; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--openings", type=int, default=5, metavar="N")
    parser.add_argument("--lines", type=int, default=50_000, metavar="N")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "report-pages")
    parser.add_argument("--write", action="store_true", help="write the pages alone")
    parser.add_argument("--again", action="store_true", help="write all pages anew")
    parser.add_argument("--frames", action="store_true", help="time frames of a scroll")
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    if asked.again:
        shutil.rmtree(folder, ignore_errors=True)
    if asked.frames:
        if asked.write:
            long_pages(folder, asked.lines)
            return 0
        with browser() as pipe:
            return int(compare_frames(pipe, folder, asked.lines, asked.openings) > 0)
    pages = {}
    for tool in TOOLS:
        file = write(tool, folder, PROGRAM, scope="--include sympy", rate="")
        if file:
            pages[tool.name] = file
            if tool is HEAT_MAP:
                pages[f"{tool.name}, a file"] = largest(file)
    if not asked.write:
        with browser() as pipe:
            compare(pipe, pages, asked.openings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
