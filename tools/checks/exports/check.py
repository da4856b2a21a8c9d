"""Check of the exports: profiles in every format, opened by the format's readers.

kernprof runs examples and difficult programs. Their profiles are exported and opened
with programs that read these formats, whose numbers have to be those of the profile.
Lineprof and the readers from PyPI and npm are installed in .venv-exports, other readers
with apt-get if allowed. A missing reader is a failure, unless --allow-missing names it.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tools.checks.exports import readers
from tools.checks.exports.formats import CHECKS
from tools.checks.exports.profiles import PROGRAMS, profile
from tools.checks.exports.workspace import Workspace
from tools.checks.findings import Mismatch, MissingReader
from tools.dev import native
from tools.dev.envs import StepError, explain
from tools.dev.pythons import this

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.checks.exports.formats import Check
    from tools.checks.exports.profiles import Program


def report(verdict: str, what: str, said: str, begun: float) -> None:
    """Print one line, with the seconds since `begun`."""
    print(f"{verdict:7} {what} ({time.monotonic() - begun:.1f} s): {said}", flush=True)


def check_one(
    workspace: Workspace, file: Path, check: Check, allowed: Sequence[str]
) -> bool:
    """Export and open one file and print the result; return whether it is right."""
    begun = time.monotonic()
    what = f"{file.stem}: {check.format} in {check.reader}"
    try:
        exported = workspace.export(file, check.format, check.suffix)
        said = check.check(workspace, file, exported)
    except MissingReader as error:
        spared = error.name in allowed or check.reader in allowed
        report("MISSING" if spared else "FAILED", what, str(error), begun)
        return spared
    except Mismatch as error:
        report("FAILED", what, str(error), begun)
        return False
    report("OK", what, said, begun)
    return True


def profiled(workspace: Workspace, program: Program) -> Path | None:
    """Run a program under kernprof; return its profile, None if the run fails."""
    begun = time.monotonic()
    what = f"{program.name}: kernprof"
    try:
        file = profile(workspace, program)
    except Mismatch as error:
        report("FAILED", what, str(error), begun)
        return None
    report("OK", what, f"a profile of {file.stat().st_size / 1e6:.2f} MB", begun)
    return file


def check_all(workspace: Workspace, asked: argparse.Namespace) -> int:
    """Open all exports of all programs, or of one profile; return how many fail."""
    checks = [c for c in CHECKS if not asked.format or c.format in asked.format]
    programs = [p for p in PROGRAMS if not asked.program or p.name in asked.program]
    if not programs or not checks:
        sys.exit("lineprof: there is no such program or format")
    files = asked.profile or (profiled(workspace, program) for program in programs)
    failed = 0
    for file in files:
        if file is None:
            failed += 1
        else:
            for check in checks:
                failed += not check_one(workspace, file, check, asked.allow_missing)
    return failed


def chosen(words: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--program", action="append", help="check only the exports of this program"
    )
    parser.add_argument("--format", action="append", help="check only this format")
    parser.add_argument(
        "--profile",
        action="append",
        type=Path,
        help="check the exports of this profile, and run no program",
    )
    parser.add_argument(
        "--allow-missing",
        action="append",
        default=[],
        metavar="READER",
        help="accept that this reader is missing",
    )
    parser.add_argument("--keep", type=Path, help="leave all files in this new folder")
    parser.add_argument(
        "--python",
        type=Path,
        help="use this Python, with lineprof and the readers, and install nothing",
    )
    return parser.parse_args([*words, *shlex.split(os.environ.get("ARGS", ""))])


def main() -> int:
    """Check all exports, or those asked for; return 1 if anything is wrong."""
    asked = chosen(sys.argv[1:])
    log = readers.HOME / "log" / "setup.txt"
    python = asked.python
    try:
        if not python:
            print(f"setting up {readers.HOME.name} ...", flush=True)
            python = readers.get(this()).python
        log = native.BUILD_LOG
        native.build(this(), strict=False)
    except StepError as error:
        return explain(error, log)
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        with Workspace(python, folder.resolve()) as workspace:
            failed = check_all(workspace, asked)
    print(f"{failed} failed" if failed else "all as it should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
