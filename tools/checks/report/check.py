"""Opens reports of `lineprof view --html` in a headless Chromium without a network.

    make check-report [ARGS="--keep FOLDER --only gpu --no-figures"]

Each report is opened in light and in dark; each tab is clicked, sorted and searched,
and walked from a line to its callee and from a kernel to its line. A message on the
console, a request, a page that is too large, too slow to open or too slow to scroll,
wider than the screen of a phone, or that violates a rule of axe-core is a failure.
With --keep, pages and pictures of each tab stay in FOLDER. Last, `lineprof serve` has
to show a profile that changes. With --no-figures, large reports and all times are left
out, and each walk is done once: what is left depends on no machine.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.checks.browser import browser, page
from tools.checks.findings import Mismatch, MissingReader
from tools.checks.report import (
    axe,
    walk_flame,
    walk_frame,
    walk_gpu,
    walk_memory,
    walk_sharing,
    walk_source,
    walk_summary,
    walk_tables,
    walk_timeline,
)
from tools.checks.report.figures import (
    forced_layouts,
    longest_task,
    scroll_trace,
    within,
    zoom_frames,
)
from tools.checks.report.notebook import check_notebook
from tools.checks.report.served import check_compare, check_folder, check_served
from tools.checks.report.walk_frame import PHONE, WINDOW
from tools.checks.report.walks import drawn, show, view_of
from tools.dev import native
from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    explain,
    install,
    require,
)
from tools.dev.envs import make as make_env
from tools.dev.pythons import this

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools.checks.browser import Page, Pipe

HERE = Path(__file__).resolve().parent
SIZES = (WINDOW, (800, 900), PHONE)
MAX_SMALL, MAX_LARGE = 150_000, 5_000_000  # bytes of a page
MAX_OPEN_MS = 2_000
MAX_FRAME_MS = 50
MAX_TASK_MS = 40  # of a scroll, in processor time
# Walks through the source and the tables of any report.
ROWS = (
    walk_source.count_once,
    walk_source.columns_have_numbers,
    walk_source.hot_lines_by_key,
    walk_tables.sort_tables,
    walk_tables.search,
)

SMALL = """\
import time
def norm(values):
    return sum(value * value for value in values) ** 0.5
def work(size):
    return max(norm(range(row)) for row in range(size))
def main():
    for _ in range(20):
        work(60)
    time.sleep(0.05)
main()
"""
HOSTILE = '''\
def evil(x):  # </script><script>throw new Error("injected")</script>
    """<!-- </style><img src=x onerror="throw new Error('no')"> ]]> {{7*7}} ${8*8}"""
    text = "\\u202e reversed \\u2066"  # \u202e gnp.exe \u2066 \x1b[2J\x07 \x00
    return text * x  # <svg onload=alert(1)> &lt;b&gt; `${document}` \\'"
evil(3)
'''
HOSTILE_PATH = "it's 100%41 #1?a=b&\u00e9\u202e\\\"/<img src=x> | `__x__` @me :1:.py"
RANK = """\
def work(n):
    return sum(i * i for i in range(n * 20_000))
import os
work(int(os.environ["RANK"]) + 1)
"""


_SERVED = "served"  # the name of the check of lineprof serve


class Report(NamedTuple):
    """One page, and what is expected of it."""

    name: str
    file: Path
    max_bytes: int = MAX_SMALL
    walk: tuple[Callable[[Page], None], ...] = ()


class Look(NamedTuple):
    """How reports are looked at."""

    axe: str  # the script
    shots: Path | None  # the folder of pictures
    figures: bool  # whether times are measured


class Workspace:
    """A folder, and the Python that writes profiles and reports into it."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python = python
        self.folder = folder

    def run(self, *arguments: object, **variables: str) -> None:
        """Run Python with `arguments`; Mismatch if it fails."""
        live = str(self.folder / "live")
        done = subprocess.run(
            [self.python, *map(str, arguments)],
            cwd=self.folder,
            env=clean_environment(LINEPROF_LIVE=live, **variables),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Mismatch(f"{shlex.join(map(str, arguments))}: {done.stderr[-800:]}")

    def profile(
        self, name: str, program: Path | str, *flags: str, **variables: str
    ) -> Path:
        """Run a program, or its text, under kernprof; return the profile."""
        if isinstance(program, str):
            text, program = program, self.folder / f"{name}.py"
            program.write_text(text, encoding="utf-8", errors="surrogateescape")
        target = self.folder / f"{name}.lprof"
        self.run("-m", "kernprof", "-lq", "-o", target, *flags, program, **variables)
        return target

    def report(self, profile: Path) -> Path:
        """Return the page of a profile."""
        target = profile.with_suffix(".html")
        self.run("-m", "lineprof", "view", "--html", target, profile)
        return target


# The check of one report.


def check(report: Report, one: Page, look: Look) -> None:
    """Open a report in both themes and walk through it; Mismatch if it is wrong."""
    within("size", report.file.stat().st_size, report.max_bytes, "bytes")
    one.send("Network.enable")
    for theme in ("light", "dark"):
        features = {"color-scheme": theme, "reduced-motion": "reduce"}
        one.send(
            "Emulation.setEmulatedMedia",
            features=[
                {"name": f"prefers-{name}", "value": value}
                for name, value in features.items()
            ],
        )
        one.open("about:blank")
        one.errors.clear()
        one.requests.clear()
        one.open(report.file.as_uri())
        one.wait("document.documentElement.dataset.ready", limit_s=30)
        if look.figures:
            ready = one.value("document.documentElement.dataset.ready")
            within("open", float(ready), MAX_OPEN_MS, "ms")
        for size in SIZES:
            # In the other theme, a narrow page differs in nothing but its colours.
            asked = size == WINDOW or (size == PHONE and theme == "light")
            if asked or look.shots:
                one.size(*size)
                script = look.axe if asked else ""
                check_tabs(f"{report.name}-{{}}-{theme}-{size[0]}", one, look, script)
        one.size(*WINDOW)
        drawn(one)
        # Walks look at no colour: one theme is enough for the gate.
        walks = report.walk if look.figures or theme == "light" else ()
        for walk in (*walks, walk_frame.prints_black_on_white):
            walk(one)
        if one.errors:
            raise Mismatch(f"the console has: {one.errors[0]}")
        others = [url for url in one.requests if url != report.file.as_uri()]
        if others:
            raise Mismatch(f"the page asks for {others[0]}")


def check_tabs(name: str, one: Page, look: Look, script: str) -> None:
    """Look at each tab and dialog, with the `script` of axe-core unless it is "".

    `name` has {} for the name of a tab.
    """
    tabs = "[...document.querySelectorAll('nav button')].map((b) => b.id.slice(4))"
    for tab in one.value(tabs):
        show(one, tab)
        if tab == "timeline":
            info = "document.querySelector('#panel-timeline .info')"
            one.wait(f"!{info}.textContent.startsWith('Reading')")
        check_shown(name.format(tab), one, look, script)
    for dialog, opens in walk_frame.DIALOGS.items():
        one.value(f"{opens}, 0")
        check_shown(name.format(dialog), one, look, script)
        one.value("document.querySelector('dialog').close()")


def check_shown(name: str, one: Page, look: Look, script: str) -> None:
    """Look at what is shown, and keep a picture of it."""
    drawn(one)
    walk_frame.fits_the_screen(name, one)
    if script:
        axe.no_violations(name, one, script)
    if look.shots:
        (look.shots / f"{name}.png").write_bytes(one.screenshot())


def check_large(report: Report, one: Page, look: Look) -> None:
    """Check a large report, and time how it scrolls."""
    check(report, one, look)
    pressed = walk_frame.typed_ms(one, "mean value")
    within("longest key in the palette", pressed, MAX_FRAME_MS, "ms")
    for tab, selector in (
        ("source", ".code"),
        ("functions", "#panel-functions .table"),
        ("lines", "#panel-lines .table"),
    ):
        show(one, tab)
        trace = scroll_trace(one, selector)
        within(f"forced layouts, {tab}", forced_layouts(trace), 0, "in a scroll")
        within(f"longest task, {tab}", longest_task(trace), MAX_TASK_MS, "ms")
    if report.name == "slices":
        one.open("about:blank")
        one.open(f"{report.file.as_uri()}#timeline")
        timeline = view_of("timeline")
        one.wait("document.documentElement.dataset.ready", limit_s=30)
        one.value(f"{timeline}.ready")
        within(
            "open at a million slices",
            float(one.value(f"{timeline}.readyMs")),
            MAX_OPEN_MS,
            "ms",
        )
        within("longest frame, timeline", zoom_frames(one), MAX_FRAME_MS, "ms")


def small(workspace: Workspace) -> Report:
    """Write a page with every tab but those of ranks and GPUs."""
    profile = workspace.profile("small", SMALL, "--whole", "--trace")
    rows = (*walk_source.WALK, *walk_tables.WALK, *walk_summary.WALK)
    flames = (*walk_flame.WALK, walk_flame.sandwich_times)
    shared = walk_sharing.walk_of_source(workspace.python)
    sharing = (*walk_sharing.walk(workspace.python), *shared)
    walk = (*rows, *flames, *walk_frame.WALK, *sharing)
    return Report("small", workspace.report(profile), walk=walk)


def nested(workspace: Workspace) -> Report:
    """Write a page of functions that share lines."""
    profile = workspace.profile("nested", walk_source.NESTED, "--whole")
    shares = (walk_source.recursion_ends, walk_source.shares_of_callees)
    rows = (walk_source.hits_of_outer_functions, *shares, walk_tables.time_per_call)
    walk = (*rows, *walk_summary.WALK)
    return Report("nested", workspace.report(profile), walk=walk)


def deeper(workspace: Workspace) -> Report:
    """Write a page of a program with more call paths than are kept."""
    limit = {"LINEPROF_MAX_PATHS": walk_source.MAX_PATHS}
    profile = workspace.profile("deeper", walk_source.DEEPER, "--whole", **limit)
    walk = (walk_source.lost_within_calls, walk_source.recursion_ends)
    return Report("deeper", workspace.report(profile), walk=walk)


def hostile(workspace: Workspace) -> Report:
    """Write a page of source text that tries to break out of it."""
    program = workspace.folder / HOSTILE_PATH
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(HOSTILE.replace("\0", ""), encoding="utf-8")
    profile = workspace.profile("hostile", program, "--whole")
    frame = (walk_frame.no_injection, walk_frame.empty_tabs_come_last)
    sharing = walk_sharing.walk(workspace.python)
    walk = (*frame, *sharing, *walk_sharing.walk_of_source(workspace.python))
    return Report("hostile", workspace.report(profile), walk=walk)


def gpu(workspace: Workspace) -> Report:
    """Write a page of a program on a simulated GPU."""
    program = ROOT / "examples" / "simulated_gpu.py"
    flags = ("--whole", "--gpu-api", "--trace")
    profile = workspace.profile("gpu", program, *flags, **native.SIMULATED)
    flames = (*walk_flame.WALK, walk_flame.gpu_bands)
    rows = (walk_source.columns_fit, *ROWS)
    sharing = walk_sharing.walk(workspace.python)
    walk = (*rows, *walk_timeline.WALK, *walk_summary.WALK, *flames, *sharing)
    return Report("gpu", workspace.report(profile), walk=walk)


def gpu_memory(workspace: Workspace) -> Report:
    """Write a page of a program that allocates memory of a device and loads modules."""
    program, variables = walk_gpu.ALLOCATES, {**native.SIMULATED, **native.FROZEN}
    profile = workspace.profile("gpu_memory", program, "--gpu-memory", **variables)
    walk = (*ROWS, *walk_gpu.WALK)
    return Report("gpu_memory", workspace.report(profile), walk=walk)


def mutual(workspace: Workspace) -> Report:
    """Write a page of functions that call each other and launch work on a GPU."""
    program = walk_flame.MUTUAL
    profile = workspace.profile("mutual", program, "--whole", **native.SIMULATED)
    walk = (walk_flame.bands_in_recursion,)
    return Report("mutual", workspace.report(profile), walk=walk)


def diff(workspace: Workspace) -> Report:
    """Write the page of a comparison."""
    workspace.run(HERE / "with_changes.py", workspace.folder)
    page = workspace.folder / "diff.html"
    sides = ("before.lprof", "after.lprof")
    workspace.run("-m", "lineprof", "diff", "--html", page, *sides)
    tables = (walk_flame.changed_paths, walk_tables.changes_on_phones)
    walk = (*tables, *walk_frame.WALK, *walk_sharing.walk(workspace.python))
    return Report("diff", page, walk=walk)


def memory(workspace: Workspace) -> Report:
    """Write the page of a profile with memory."""
    workspace.run(HERE / "with_memory.py", workspace.folder)
    rows = (*ROWS, *walk_summary.WALK, *walk_frame.WALK)
    walk = (*walk_memory.WALK, *rows, *walk_sharing.walk(workspace.python))
    return Report("memory", workspace.folder / "memory.html", walk=walk)


def memory_diff(workspace: Workspace) -> Report:
    """Write the page of a comparison of profiles with memory."""
    workspace.run(HERE / "with_memory.py", workspace.folder)
    page = workspace.folder / "memory-diff.html"
    return Report("memory-diff", page, walk=walk_memory.OF_COMPARISON)


def ranks(workspace: Workspace) -> Report:
    """Write a page of four ranks."""
    for rank in range(4):
        workspace.profile("rank", RANK, "--whole", RANK=str(rank), WORLD_SIZE="4")
    profiles = sorted(workspace.folder.glob("rank.r*.lprof"))
    merged = workspace.folder / "ranks.lprof"
    workspace.run("-m", "lineprof", "merge", *profiles, "-o", merged)
    walk = (walk_tables.sort_tables, *walk_sharing.walk(workspace.python))
    return Report("ranks", workspace.report(merged), walk=walk)


def large(
    name: str, max_bytes: int, *walk: Callable[[Page], None]
) -> Callable[[Workspace], Report]:
    """Return the function that writes the page of a large profile."""

    def write(workspace: Workspace) -> Report:
        profile = workspace.folder / f"{name}.lprof"
        if not profile.exists():
            workspace.run(HERE / "large.py", workspace.folder)
        return Report(name, workspace.report(profile), max_bytes, walk)

    return write


REPORTS: dict[str, Callable[[Workspace], Report]] = {
    **{
        one.__name__: one
        for one in (
            *(small, nested, deeper, hostile, gpu, gpu_memory, mutual, diff, ranks),
            *(memory, memory_diff),
        )
    },
}
LARGE: dict[str, Callable[[Workspace], Report]] = {
    "functions": large(
        "functions", MAX_LARGE, *ROWS, *walk_flame.WALK, *walk_tables.WALK
    ),
    "slices": large("slices", 2 * MAX_LARGE),
    "long": large("long", MAX_LARGE),
}


def chosen(words: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--keep", type=Path, help="leave pages and pictures in this folder"
    )
    parser.add_argument(
        "--only", action="append", help="check only the report of this name"
    )
    parser.add_argument(
        "--no-figures",
        dest="figures",
        action="store_false",
        help="leave out large reports, and all times",
    )
    parser.add_argument(
        "--python",
        type=Path,
        help="a Python with lineprof, where the simulated GPU is built; else .venv's",
    )
    return parser.parse_args([*words, *shlex.split(os.environ.get("ARGS", ""))])


def check_all(workspace: Workspace, asked: argparse.Namespace) -> int:
    """Check the reports; return how many fail."""
    failed = 0
    look = Look(axe.script(workspace.python), asked.keep, asked.figures)
    with browser() as pipe:
        for name, make in {**REPORTS, **(LARGE if asked.figures else {})}.items():
            if asked.only and name not in asked.only:
                continue
            print(f"{name}:", flush=True)
            try:
                report = make(workspace)
                check_it = check_large if name in LARGE else check
                with page(pipe, *WINDOW) as one:
                    check_it(report, one, look)
            except Mismatch as error:
                print(f"    FAILED: {error}", flush=True)
                failed += 1
        if not asked.only or _SERVED in asked.only:
            failed += _served(workspace, pipe, look)
    return failed


def _served(workspace: Workspace, pipe: Pipe, look: Look) -> int:
    """Check reports in the pages of notebooks and lineprof serve; 1 if one fails."""
    print(f"{_SERVED}:", flush=True)
    first = workspace.profile(_SERVED, SMALL, "--whole")
    second = workspace.profile("changed", SMALL, "--whole")
    try:
        check_notebook(workspace.python, first, pipe)
        check_folder(workspace.python, first, pipe, look.axe)
        check_compare(workspace.python, first, second, pipe, look.axe)
        check_served(workspace.python, first, second, pipe, look.axe)
    except Mismatch as error:
        print(f"    FAILED: {error}", flush=True)
        return 1
    return 0


def main() -> int:
    """Check all reports; return 1 if anything is wrong."""
    asked = chosen(sys.argv[1:])
    env = Env(ROOT / ".venv")
    log = env.log
    try:
        if not asked.python:
            make_env(env, this())
            install(env, editable=True)
            require(env, "pages.txt", "--no-deps")
            log = native.BUILD_LOG
            native.build(this(), strict=False)
    except StepError as error:
        return explain(error, log)
    with tempfile.TemporaryDirectory() as scratch:
        folder = (asked.keep or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        workspace = Workspace(asked.python or env.python, folder)
        try:
            failed = check_all(workspace, asked)
        except (Mismatch, MissingReader) as error:
            print(f"FAILED: {error}")
            failed = 1
    print(f"{failed} failed" if failed else "all as it should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
