"""speedscope's own importer, in a browser: of every format that it reads."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

from export_checks.judge import Missing, Wrong

if TYPE_CHECKING:
    from pathlib import Path

    from export_checks.browser import Page

# The bundle keeps its importer to itself; this names it in the page.
HIDDEN = re.compile(
    r"async function (\w+)\(\w+,\w+\)\{return\(await \w+\)\.importProfilesFromArrayBuffer"
)
IMPORT = """
(async () => {
  const answer = await fetch(%s);
  const group = await lineprofImporter(%s, await answer.arrayBuffer());
  if (!group) throw Error("no importer takes it");
  return group.profiles.map(profile => {
    const frames = [];
    profile.forEachFrame(f => frames.push(
      [f.name, f.getSelfWeight(), f.getTotalWeight(), f.file || "", f.line || 0]));
    return {name: profile.getName(), unit: profile.getWeightUnit(),
            total: profile.getTotalWeight(), frames};
  });
})()
"""


def lay_out(release: Path, target: Path) -> None:
    """Copy speedscope's release into `target`, its importer named."""
    if not release.is_dir():
        raise Missing("speedscope", "npm (Debian: apt install npm) has it")
    shutil.copytree(release, target)
    (bundle,) = target.glob("speedscope-*.js")
    text = bundle.read_text(encoding="utf-8")
    found = HIDDEN.search(text)
    if not found:
        raise Wrong(f"{bundle.name} has no importProfilesFromArrayBuffer as known")
    named = f"window.lineprofImporter={found[1]};"
    bundle.write_text(
        text[: found.start()] + named + text[found.start() :], encoding="utf-8"
    )


def imported(page: Page, server: str, file: Path) -> list[dict[str, Any]]:
    """Import a file; give its profiles with their frames' weights."""
    page.open(f"{server}/speedscope/index.html")
    page.wait("window.lineprofImporter")
    page.errors.clear()  # what its fonts and its WebGL want is no matter
    script = IMPORT % (json.dumps(f"{server}/files/{file.name}"), json.dumps(file.name))
    profiles: list[dict[str, Any]] = page.value(script)
    if page.errors:
        raise Wrong(f"speedscope says {page.errors[0]}")
    if not profiles:
        raise Wrong("speedscope finds no profile in it")
    return profiles
