"""Reports of examples that are pages of the site, made whenever it is built."""

from __future__ import annotations

import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tools.dev import native
from tools.dev.envs import ROOT, StepError, clean_environment

HOST = "example"
SIMULATES = sys.platform == "linux"  # whether the doubles can be built


class Live(NamedTuple):
    """Run whose report is a page of the site."""

    words: str  # of kernprof
    simulated: bool = False  # on a simulated GPU


LIVE = {
    "report": Live("-p examples/access_log.py examples/access_log.py"),
    "gpu": Live("--whole --gpu-api --trace examples/simulated_gpu.py", simulated=True),
}


def make(python: Path, target: Path) -> None:
    """Write the report of each run that is possible here; StepError if one fails.

    The folder of the examples and the name of the host are not those of this machine.
    """
    target.mkdir(parents=True)
    for name, one in LIVE.items():
        if one.simulated and not SIMULATES:
            continue
        changes = native.SIMULATED if one.simulated else {}
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            shutil.copytree(ROOT / "examples", folder / "examples")
            profile = folder / "run.lprof"
            words = ["-lqq", "-o", str(profile), *shlex.split(one.words)]
            _run(python, ["kernprof", *words], folder, changes)
            with closing(sqlite3.connect(profile)) as base, base:
                base.execute("update processes set host = ?", [HOST])
            page = target / f"{name}.html"
            view = ["lineprof", "view", f"--html={page}", str(profile)]
            _run(python, view, folder, {})


def _run(python: Path, words: list[str], folder: Path, changes: dict[str, str]) -> None:
    done = subprocess.run(
        [python, "-m", *words],
        cwd=folder,
        env=clean_environment(**changes),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StepError(f"`{shlex.join(words)}` failed: {done.stdout[-300:]}")
