"""A profile in a notebook: its report is in a frame that may do little."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tools.checks.browser import frame, page
from tools.checks.findings import Mismatch
from tools.checks.report.walk_frame import OPEN
from tools.checks.report.walk_sharing import SAID, allow
from tools.checks.report.walks import expect, show
from tools.dev.envs import clean_environment

if TYPE_CHECKING:
    from pathlib import Path

    from tools.checks.browser import Pipe

SCRIPT = """
import sys
from lineprof.line_stats import LineStats
print(LineStats.from_files(sys.argv[1])._repr_html_())
"""


def check_notebook(python: Path, profile: Path, pipe: Pipe) -> None:
    """Copy and open a line where there is no address, no storage and no right."""
    target = profile.with_suffix(".notebook.html")
    done = subprocess.run(
        [python, "-c", SCRIPT, profile],
        cwd=profile.parent,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
        check=True,
    )
    target.write_bytes(b'<!DOCTYPE html><meta charset="utf-8">' + done.stdout)
    with page(pipe) as one:
        one.open(target.as_uri())
        allow(one)
        report = frame(pipe)
        report.wait("document.documentElement?.dataset.ready", limit_s=30)
        show(report, "source")
        report.value("copyLink()")
        expect(report, "why there is no link", f"{SAID}.includes('notebook')")
        place = one.value("navigator.clipboard.readText()")
        if not place.startswith(f"{profile.with_suffix('.py')}:"):
            raise Mismatch(f"in a notebook, the place is {place!r}")
        report.value("choose('editor', EDITORS.Zed), openChosen()")
        shown = f"{OPEN}?.querySelector('textarea').value.startsWith('zed://file/')"
        expect(report, "the address of the line", shown)
        errors = [error for tab in (one, report) for error in tab.errors]
        if errors:
            raise Mismatch(f"the console has: {errors[0]}")
