"""Readers of many formats: speedscope's importer, in a browser."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

from tools.checks.exports.readers import HOME
from tools.checks.findings import Mismatch, MissingReader, same

if TYPE_CHECKING:
    from pathlib import Path

    from tools.checks.exports.workspace import Workspace

# A million events have the same form, and validation in Python takes minutes.
VALIDATE = """
import json, sys
import jsonschema
whole, schema = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:])
cut = 0
for profile in whole["profiles"]:
    for array in profile.values():
        if isinstance(array, list) and len(array) > 20_000:
            cut += len(array) - 20_000
            del array[10_000:-10_000]
jsonschema.validate(whole, schema)
print("no error", f"({cut} events not looked at)" if cut else "")
"""
MOST_BYTES = 50_000_000
MEMORY = {  # views in bytes
    "memory at the peak by line": "peak_bytes",
    "live memory by line": "live_bytes",
    "allocated memory by line": "alloc_bytes",
}
MOST_SHOWN = 3  # profiles of a file, in a report
# The bundle does not export its importer; this makes the importer global.
HIDDEN = re.compile(
    r"async function (\w+)\(\w+,\w+\)"
    r"\{return\(await \w+\)\.importProfilesFromArrayBuffer"
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
    """Copy speedscope's release into `target`, with its importer as a global name."""
    if not release.is_dir():
        raise MissingReader("speedscope", "npm (Debian: apt install npm) has it")
    shutil.copytree(release, target)
    (bundle,) = target.glob("speedscope-*.js")
    text = bundle.read_text(encoding="utf-8")
    found = HIDDEN.search(text)
    if not found:
        raise Mismatch(f"{bundle.name} has no importProfilesFromArrayBuffer as known")
    named = f"window.lineprofImporter={found[1]};"
    bundle.write_text(
        text[: found.start()] + named + text[found.start() :], encoding="utf-8"
    )


def imported(workspace: Workspace, file: Path) -> list[dict[str, Any]]:
    """Import a file; return its profiles with the weights of their frames."""
    page = workspace.page
    page.open(workspace.reader("speedscope"))
    page.wait("window.lineprofImporter")
    page.errors.clear()  # errors of fonts and WebGL do not matter
    address = f"{workspace.server}/files/{file.name}"
    script = IMPORT % (json.dumps(address), json.dumps(file.name))
    profiles: list[dict[str, Any]] = page.value(script)
    if page.errors:
        raise Mismatch(f"speedscope says {page.errors[0]}")
    if not profiles:
        raise Mismatch("speedscope finds no profile in it")
    return profiles


def in_words(profiles: list[dict[str, Any]]) -> str:
    """Return the totals of the first profiles as text."""
    words = [f"{p['name']} {p['total']:.0f} {p['unit']}" for p in profiles[:MOST_SHOWN]]
    more = len(profiles) - MOST_SHOWN
    return "; ".join(words) + (f"; {more} more" if more > 0 else "")


def lines(workspace: Workspace, profile: Path, file: Path) -> str:
    """Import a file whose first profile is time, line by line."""
    profiles = imported(workspace, file)
    expected = workspace.expected(profile)
    same("time (ns)", profiles[0]["total"], expected["lines_ns"], expected["rounding"])
    return in_words(profiles)


def functions(workspace: Workspace, profile: Path, file: Path) -> str:
    """Import a file whose first profile is time, function by function."""
    profiles = imported(workspace, file)
    expected = workspace.expected(profile)
    same("time (ns)", profiles[0]["total"], expected["self_ns"], expected["rounding"])
    return in_words(profiles)


def samples(workspace: Workspace, profile: Path, file: Path) -> str:
    """Import a file with all threads in one profile, in whole microseconds."""
    profiles = imported(workspace, file)
    expected = workspace.expected(profile)
    known = expected["covered_ns"] if expected["slices"] else expected["lines_ns"]
    rounding = 1 + len(profiles[0]["frames"]) + expected["slices"]
    same("time (us)", profiles[0]["total"], known / 1e3, rounding)
    return in_words(profiles)


def anything(workspace: Workspace, profile: Path, file: Path) -> str:
    """Import a file with intervals; there must be as many threads or more."""
    if file.stat().st_size > MOST_BYTES:
        return f"not tried: {file.stat().st_size / 1e6:.0f} MB take it minutes"
    profiles = imported(workspace, file)
    threads = workspace.expected(profile)["threads"]
    if len(profiles) < threads:
        raise Mismatch(
            f"it has {len(profiles)} profiles, and there were {threads} threads"
        )
    return in_words(profiles)


def own(workspace: Workspace, profile: Path, file: Path) -> str:
    """Import speedscope's own format; without intervals the weights are our times."""
    profiles, expected = imported(workspace, file), workspace.expected(profile)
    sums: dict[str, float] = {}
    for one in profiles:
        what = one["name"].rpartition(": ")[2]
        if one["unit"] != ("bytes" if what in MEMORY else "nanoseconds"):
            raise Mismatch(f"{one['name']} is in {one['unit']}")
        sums[what] = sums.get(what, 0) + one["total"]
    known = {"GPU time by line": "gpu_ns", "copies by line": "copy_ns", **MEMORY}
    if expected["slices"]:
        known["by function"] = "covered_ns"
    else:
        known |= {"by function": "self_ns", "by line": "lines_ns"}
    for what, name in known.items():
        same(what, sums.get(what, 0), expected[name], expected["rounding"])
    return ", ".join(
        f"{what} {number:.0f} {'bytes' if what in MEMORY else 'ns'}"
        for what, number in sums.items()
    )


def schema(workspace: Workspace, _: Path, file: Path) -> str:
    """Validate the file by the schema in speedscope's release."""
    schema = HOME / "node/node_modules/speedscope/dist/release/file-format-schema.json"
    if not schema.exists():
        raise MissingReader("speedscope", "npm (Debian: apt install npm) has it")
    return workspace.run([workspace.python, "-c", VALIDATE, file, schema]).strip()
