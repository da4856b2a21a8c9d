"""Installation of the readers that open the exports."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    call,
    install,
    make,
    must,
    pip,
    require,
    stamp,
)
from tools.dev.envs import write_stamp as write

if TYPE_CHECKING:
    from tools.dev.pythons import Python

SPEEDSCOPE = "speedscope@1.25.0"
COMMANDS = {  # by program, the Debian package
    "callgrind_annotate": "valgrind",
    "chromium": "chromium",
    "go": "golang-go",
    "npm": "npm",
    "sqlite3": "sqlite3",
}
HOME = ROOT / ".venv-exports"


def get(python: Python) -> Env:
    """Install lineprof and the readers in HOME; StepError if lineprof fails.

    A reader that cannot be installed is reported by its check.
    """
    env = Env(HOME)
    make(env, python)
    install(env)
    require(env, "exports.txt")
    if stamp(env, "line_profiler") != "there":
        # In its own folder: line_profiler also has a kernprof.
        pip(env, "--target", str(HOME / "line_profiler"), "line_profiler")
        write(env, "line_profiler", "there")
    packages = [package for name, package in COMMANDS.items() if not shutil.which(name)]
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        call(["apt-get", "update"], env.log, DEBIAN_FRONTEND="noninteractive")
        words = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
        call(words, env.log, DEBIAN_FRONTEND="noninteractive")
    if shutil.which("npm") and stamp(env, "speedscope") != SPEEDSCOPE:
        words = ["--ignore-scripts", "--no-audit", "--no-fund", SPEEDSCOPE]
        try:
            must(["npm", "install", "--prefix", HOME / "node", *words], env.log)
        except StepError as error:
            print(f"{error}: see {env.log}", flush=True)
        else:
            write(env, "speedscope", SPEEDSCOPE)
    return env
