"""Pictures of docs/, each made from a real run of an example.

    make docs-pictures [ARGS="view report"]

makes all of them again, or those named. The text of a terminal becomes an SVG; the
others are screenshots of a headless Chromium: of reports (`page_pictures`), and of
Perfetto's user interface. Times differ from run to run, and so do the pictures.
tests/docs/test_pictures.py compares the rest with the program: hits, texts, titles.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.checks.exports import perfetto
from tools.checks.exports.workspace import Workspace
from tools.checks.findings import Mismatch, MissingReader
from tools.demo.page_pictures import (
    IMAGES,
    QUIET,
    SHOTS,
    save,
    shoot,
    typed,
    write_examples,
)
from tools.demo.terminal_picture import PROMPT, on_terminal, picture
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
    from collections.abc import Callable

MODULES = "kernprof -lq examples/three_modules/near_duplicates.py"
VIEW = "python -m lineprof view"
TRACED = "kernprof -l --whole --gpu-api --trace -o gpu.lprof examples/simulated_gpu.py"
WHOLE = "kernprof -l --whole -o whole.lprof examples/simulated_gpu.py"
FLAME_WIDTH = 1000  # px
WIDTH, HEIGHT = 1200, 500
ROWS = ("MainThread", "Lines", "Runtime API", "MemCpy (HtoD)", "Compute", "Stream")
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


class Session(NamedTuple):
    """Commands in a terminal, and what they print."""

    commands: tuple[str, ...]
    columns: int
    rows: int  # of the output of each command, at most
    varies: str = ""  # a pattern of what differs from run to run


SESSIONS = {
    "drill-down": Session(
        (MODULES, f"{VIEW} --drill main --depth 4 near_duplicates.lprof"),
        columns=118,
        rows=100,
        varies=r"pairs\.py:1[23]",  # which of two like calls has more time
    ),
    "view": Session(
        (MODULES, f"{VIEW} near_duplicates.lprof"),
        columns=106,
        rows=60,
    ),
}

RECORDED = ROOT / "examples" / "gpu_train.lprof"  # of a real GPU, by gpu_figures
TRAINING = Session(
    (f"{VIEW} examples/gpu_train.lprof train_with_torch",), columns=140, rows=60
)
if RECORDED.exists():
    SESSIONS["gpu-training"] = TRAINING


def printed(session: Session, python: Path, folder: Path) -> list[str]:
    """Return the lines of a terminal in which a session was held."""
    lines = []
    for command in session.commands:
        words = typed(command, python)
        environment = clean_environment(PAGER="cat", **QUIET)
        output = on_terminal(words, folder, environment, session.columns)
        for name, short in ((f"{folder}/", ""), (str(python), "python")):
            output = output.replace(name, short)
        rows = output.rstrip().splitlines()
        lines += [PROMPT + command, *rows[: session.rows], ""]
    return lines[:-1]


def terminal(name: str, workspace: Workspace) -> None:
    """Draw the terminal of a session."""
    lines = printed(SESSIONS[name], workspace.python, workspace.folder)
    (IMAGES / f"{name}.svg").write_text(picture(lines), encoding="utf-8")


def flame(workspace: Workspace) -> None:
    """Draw the flame graphs of a run on a simulated GPU: its time and the GPU's."""
    workspace.run(typed(WHOLE, workspace.python), native.SIMULATED)
    exported = workspace.export(workspace.folder / "whole.lprof", "svg", "svg")
    page = workspace.page
    page.open(exported.as_uri())
    height = page.value("Number(document.documentElement.getAttribute('height'))")
    page.size(FLAME_WIDTH, int(height))
    save(workspace, "flame")


def timeline(workspace: Workspace) -> None:
    """Draw a training step on a simulated GPU as Perfetto shows it."""
    workspace.run(typed(TRACED, workspace.python), native.SIMULATED)
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
    save(workspace, "timeline")


PICTURES: dict[str, Callable[[Workspace], None]] = {
    **{name: partial(terminal, name) for name in SESSIONS},
    **{name: partial(shoot, name) for name in SHOTS},
    "flame": flame,
    "timeline": timeline,
}


def make(python: Path, names: list[str]) -> None:
    """Make pictures; Mismatch or MissingReader if one cannot be made."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "run")
        shutil.copytree(ROOT / "examples", folder / "examples")
        write_examples(folder)
        with Workspace(python, folder) as workspace:
            for name in names:
                PICTURES[name](workspace)
                for image in sorted(IMAGES.glob(f"{name}*")):
                    size = image.stat().st_size / 1e3
                    print(f"{image.relative_to(ROOT)}: {size:.0f} kB", flush=True)


def main() -> int:
    """Set up, and make the pictures; return 1 if one cannot be made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, help="use this Python; set nothing up")
    parser.add_argument("names", nargs="*", choices=[*PICTURES, []], metavar="NAME")
    asked = parser.parse_args([*sys.argv[1:], *shlex.split(os.environ.get("ARGS", ""))])
    python = asked.python and asked.python.absolute()
    env = Env(ROOT / ".venv-pictures")
    log = env.log
    try:
        if not python:
            python = env.python
            make_env(env, this())
            install(env)
            require(env, "exports.txt")  # Perfetto's user interface
            require(env, "pictures.txt")
        log = native.BUILD_LOG
        native.build(this(), strict=False, target="doubles")
    except StepError as error:
        return explain(error, log)
    try:
        make(python, asked.names or [*PICTURES])
    except (MissingReader, Mismatch) as error:
        print(f"lineprof: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
