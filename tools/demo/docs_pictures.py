"""Pictures of docs/, each made from a real run of an example.

The text of a terminal becomes an SVG; the flame graph and the timeline are screenshots
of a headless Chromium, the latter of Perfetto's user interface. Times differ from run
to run, and so do the pictures.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tools.checks.exports import perfetto, readers
from tools.checks.exports.profiles import SIMULATED
from tools.checks.exports.workspace import Workspace
from tools.checks.findings import Mismatch, MissingReader
from tools.demo.terminal_picture import PROMPT, picture
from tools.dev import native
from tools.dev.envs import ROOT, StepError, explain
from tools.dev.pythons import this

IMAGES = ROOT / "docs" / "images"
PROFILE = "near_duplicates.lprof"
DRILL = (
    "kernprof -l examples/three_modules/near_duplicates.py",
    f"python -m lineprof view --drill main --depth 4 {PROFILE}",
)
HOT = ("= near_duplicates(texts", "if similarity(", "= shingles(", "parts | {part}")
WHOLE = "kernprof -l --whole -o whole.lprof examples/simulated_gpu.py"
TRACED = "kernprof -l --whole --gpu-api --trace -o gpu.lprof examples/simulated_gpu.py"
FLAME_WIDTH = 1000  # px
REPORT_WIDTH, REPORT_HEIGHT = 1180, 640
WIDTH, HEIGHT = 1200, 500
ROWS = ("Thread", "Lines", "Runtime API", "MemCpy (HtoD)", "Compute", "Stream")
KERNEL = """
select s.id, s.ts from slice s join flow f on f.slice_in = s.id
where s.category = 'kernel' and s.name like '%matmul%' order by s.ts limit 1 offset 60
"""
SHOW = """
(() => {
  const trace = app.trace, shown = trace.workspace;
  const rows = shown.flatTracks.filter(row => !row.hasChildren);
  const found = %s.map(name => rows.find(row => row.name.startsWith(name)));
  for (const row of [...shown.children]) shown.removeChild(row);
  for (const row of found) if (row) shown.addChildLast(row);
  if (app.sidebar.visible) app.sidebar.toggleVisibility();
  trace.timeline.setViewportTime(%dn, %dn);
  const quietly = {scrollToSelection: false, switchToCurrentSelectionTab: false};
  trace.selection.selectSqlEvent("slice", %d, quietly);
})()
"""
BEFORE_NS, AFTER_NS = 400_000, 500_000
DRAWN_S = 3  # until Perfetto has drawn everything


def typed(workspace: Workspace, command: str, **environment: str) -> str:
    """Run a command line as a user types it; return its output and errors."""
    words = shlex.split(command)
    if words[0] == "kernprof":
        words = ["python", "-m", *words]
    quiet = {"NO_COLOR": "1", **environment}
    output = workspace.run([workspace.python, *words[1:]], quiet, errors=True)
    return output.replace(f"{workspace.folder}/", "").replace(
        str(workspace.python), "python"
    )


def drill_down(workspace: Workspace) -> None:
    """Draw a terminal with a run, and a drill-down to its hot line."""
    lines = []
    for command in DRILL:
        lines += [PROMPT + command, *typed(workspace, command).splitlines(), ""]
    target = IMAGES / "drill-down.svg"
    target.write_text(picture(lines, HOT), encoding="utf-8")


def flame(workspace: Workspace) -> None:
    """Draw the flame graphs of a run on a simulated GPU: its time and the GPU's."""
    typed(workspace, WHOLE, **SIMULATED)
    exported = workspace.export(workspace.folder / "whole.lprof", "svg", "svg")
    page = workspace.page
    page.open(exported.as_uri())
    height = page.value("Number(document.documentElement.getAttribute('height'))")
    page.size(FLAME_WIDTH, int(height))
    (IMAGES / "flame.png").write_bytes(page.screenshot())


def report(workspace: Workspace) -> None:
    """Draw the HTML report of a run, with its hottest line chosen."""
    typed(workspace, DRILL[0])
    typed(workspace, f"python -m lineprof view --html {PROFILE}")
    page = workspace.page
    page.open((workspace.folder / f"{PROFILE}.html").as_uri())
    page.wait("document.documentElement.dataset.ready")
    page.size(REPORT_WIDTH, REPORT_HEIGHT)
    page.value("new Promise((done) => setTimeout(done, 500))")  # until it is drawn
    (IMAGES / "report.png").write_bytes(page.screenshot())


def timeline(workspace: Workspace) -> None:
    """Draw a training step on a simulated GPU as Perfetto shows it."""
    typed(workspace, TRACED, **SIMULATED)
    exported = workspace.export(workspace.folder / "gpu.lprof", "perfetto", "pftrace")
    page = perfetto.load(workspace, exported)
    page.size(WIDTH, HEIGHT)
    page.wait(
        "app.trace.workspace.flatTracks.some(row => row.name.startsWith('Stream'))"
    )
    ((number, at),) = perfetto.ask(page, KERNEL)
    start, end = int(at) - BEFORE_NS, int(at) + AFTER_NS
    page.value(SHOW % (list(ROWS), start, end, int(number)))
    time.sleep(DRAWN_S)
    (IMAGES / "timeline.png").write_bytes(page.screenshot())


def main() -> int:
    """Set up, and make all pictures; return 1 if one cannot be made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, help="use this Python; set nothing up")
    python = parser.parse_args().python
    log = readers.HOME / "log" / "setup.txt"
    try:
        if not python:
            python = readers.get(this()).python
        log = native.BUILD_LOG
        native.build(this(), strict=False)
    except StepError as error:
        return explain(error, log)
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "examples", Path(scratch, "run", "examples"))
        with Workspace(python, Path(scratch, "run")) as workspace:
            try:
                drill_down(workspace)
                flame(workspace)
                report(workspace)
                timeline(workspace)
            except (MissingReader, Mismatch) as error:
                print(f"lineprof: {error}", file=sys.stderr)
                return 1
    for image in sorted(IMAGES.iterdir()):
        print(f"{image.relative_to(ROOT)}: {image.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
