"""Screenshots of the pages that lineprof writes, with what is in them as text.

A picture has a description (a chunk of PNG): the tabs, the titles of columns, and the
hits and the text of each line of source. Tests compare them with the program.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from tools.dev import native
from tools.dev.envs import ROOT
from tools.docs.live import LIVE

if TYPE_CHECKING:
    from pathlib import Path

    from tools.checks.exports.workspace import Workspace

DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
PAGE = "page.html"
QUIET = {"LINEPROF_WAITS": "off"}  # no waits that other processes cause
SCALE = 1.5  # a page is twice as wide as the column of text that shows it, at most
DRAWN_MS = 600  # until a page has drawn everything
# Programs that a page shows: those of a file, and a later form of its functions.
FILE = "<!-- {}: {} -->\n```python\n(.*?)^```$"
PROGRAMS = {"words": "start", "visits": "tutorial-cpu", "pairs": "tutorial-mpi"}
SEEN = r"""
(() => {
  const shown = (selector) =>
    [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  const text = (one) => one.textContent;
  const row = (one) => [...one.querySelectorAll("[role=cell]")].map(text);
  const titles = [...document.querySelectorAll(".code [role=columnheader]")].map(text);
  const hits = titles.findIndex((one) => one.endsWith("Hits"));
  return {
    tabs: shown("nav button").map(text),
    titles: shown("main [role=columnheader], main th[scope=col]").map(text),
    lines: shown(".code .row.measured").map(row).map((cells) =>
      [Number(cells[0]), cells[hits].split("\u00d7").at(-1).trim(), cells.at(-1)]),
  };
})()
"""
# Takes 256 colours, which is a third of the bytes, and adds the description.
SHRINK = """
import sys
from PIL import Image, PngImagePlugin
file, text = sys.argv[1:]
words = PngImagePlugin.PngInfo()
words.add_text("Description", text, zip=True)
image = Image.open(file).convert("RGB").quantize(256, dither=Image.Dither.NONE)
image.save(file, optimize=True, pnginfo=words)
"""
RANKED = "RANK={} WORLD_SIZE=4 kernprof -lq -o ranks/ pairs.py"


class Shot(NamedTuple):
    """Commands that write a page, and what is shown of it."""

    commands: tuple[str, ...]
    width: int
    height: int
    show: str = ""  # JavaScript: goes to a place of the page
    themes: tuple[str, ...] = ("light",)


def report(words: str, **where: object) -> Shot:
    """Return a shot of the report of a run."""
    commands = (
        f"kernprof -lq -o run.lprof {words}",
        f"python -m lineprof view --html={PAGE} run.lprof",
    )
    return Shot(commands, **where)  # type: ignore[arg-type]


SHOTS = {
    "report": report(
        LIVE["report"].words, width=1240, height=780, themes=("light", "dark")
    ),
    "summary": report(
        "--whole examples/three_modules/near_duplicates.py", width=1240, height=700
    ),
    "first-page": report(
        "words.py", width=1120, height=640, show="go(lineAddress(0, 11))"
    ),
    "faster": Shot(
        (
            "kernprof -lq -o slow.lprof visits.py",
            "kernprof -lq -o faster.lprof faster/visits.py",
            f"python -m lineprof diff --html={PAGE} slow.lprof faster.lprof",
        ),
        width=1180,
        height=320,
        show="document.getElementById('tab-sides').click()",
    ),
    "ranks": Shot(
        (
            *map(RANKED.format, range(4)),
            "python -m lineprof merge ranks -o ranks.lprof",
            f"python -m lineprof view --html={PAGE} ranks.lprof",
        ),
        width=1120,
        height=745,
        show="document.getElementById('tab-ranks').click()",
    ),
    "gpu-lines": report(
        "examples/simulated_gpu.py",
        width=1120,
        height=620,
        show="go(lineAddress(0, 59))",
    ),
    "gpu-idle": report(
        "--gpu-api examples/starved_gpu.py",
        width=1120,
        height=560,
        show="document.getElementById('tab-gpu').click()",
    ),
}


def environment_of(words: str) -> dict[str, str]:
    """Return the variables that a command of a shot needs."""
    simulated = native.SIMULATED if "_gpu.py" in words else {}
    if "starved_gpu.py" not in words:
        return {**QUIET, **simulated}
    return {**simulated, **native.FROZEN}


def typed(command: str, python: Path) -> list[str]:
    """Return the words of a command line, with the Python that is to run it."""
    words = shlex.split(command)
    start = next(i for i, word in enumerate(words) if "=" not in word)
    module = ["-m", "kernprof"] if words[start] == "kernprof" else []
    before = ["/usr/bin/env", *words[:start]] if start else []
    return [*before, str(python), *module, *words[start + 1 :]]


def write_examples(folder: Path) -> None:
    """Write the programs of pages into a folder, and one that is faster."""
    for name, page in PROGRAMS.items():
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        (program,) = _code(text, "file", f"{name}.py")
        (folder / f"{name}.py").write_text(program, encoding="utf-8")
        if name == "visits":
            faster = _code(text, "changes", "visits.py")[0].rstrip()
            start = program.index("def returning")
            end = program.index("\n\n\n", start)
            target = folder / "faster" / "visits.py"
            target.parent.mkdir()
            text = program[:start] + faster + program[end:]
            target.write_text(text, encoding="utf-8")


def _code(text: str, mark: str, name: str) -> list[str]:
    expression = FILE.format(mark, re.escape(name))
    return re.findall(expression, text, re.DOTALL | re.MULTILINE)


def shoot(name: str, workspace: Workspace) -> None:
    """Run the commands of a shot, and draw the page that they write."""
    shot = SHOTS[name]
    for command in shot.commands:
        workspace.run(typed(command, workspace.python), environment_of(command))
    page = workspace.page
    page.size(shot.width, shot.height, SCALE)
    for theme in shot.themes:
        feature = {"name": "prefers-color-scheme", "value": theme}
        page.send("Emulation.setEmulatedMedia", features=[feature])
        page.open("about:blank")  # else the page would not load again
        page.open((workspace.folder / PAGE).as_uri())
        page.wait("document.documentElement.dataset.ready")
        page.value(f"void ({shot.show or 0})")
        page.value(f"new Promise((done) => setTimeout(done, {DRAWN_MS}))")
        seen = json.dumps(page.value(SEEN))
        save(workspace, name if theme == "light" else f"{name}-{theme}", seen)


def save(workspace: Workspace, name: str, description: str = "") -> None:
    """Write a screenshot of the page that is open, small and with a description."""
    image = IMAGES / f"{name}.png"
    image.write_bytes(workspace.page.screenshot())
    workspace.run([workspace.python, "-c", SHRINK, image, description])
