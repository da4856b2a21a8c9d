"""Runs of pytest in a project, with the plugin of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def run_pytest(
    project: Path, *words: str, under: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run pytest in the project, not as a worker of this run of pytest."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, *under, "-m", "pytest", "-p", "no:cacheprovider", *words],
        cwd=project,
        env={**plain, "PYTHONPATH": str(project / "src"), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
