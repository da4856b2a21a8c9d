"""Benchmarks of the overhead in .venv-bench: installs lineprof and other profilers.

Line events first, then the C part of GPU recording, which needs no GPU.

Environment: ONLY=3.1, all Pythons found whose version starts with that (without it,
the one that runs this); ARGS, passed to benchmarks/overhead.py.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    install,
    make,
    replay,
    require,
)
from tools.dev.pythons import find, this

if TYPE_CHECKING:
    from tools.dev.pythons import Python


def set_up(python: Python) -> Env:
    """Make the environment of a Python; exit with a message if that fails."""
    env = Env(ROOT / ".venv-bench" / python.name)
    try:
        make(env, python)
        require(env, "bench.txt")
        install(env)
    except StepError as error:
        replay(env.log)
        sys.exit(f"lineprof: {error}; see its output above")
    return env


def main() -> int:
    """Set up and run; return the highest exit status of the benchmarks."""
    pythons = [this()]
    only = os.environ.get("ONLY", "")
    if only:
        pythons = [python for python in find()[0] if python.version.startswith(only)]
    if not pythons:
        sys.exit(f"lineprof: no usable Python {only}")
    envs = [set_up(python) for python in pythons]
    arguments = ["--python", ",".join(str(env.python) for env in envs)]
    arguments += shlex.split(os.environ.get("ARGS", ""))
    scripts = [["overhead.py", *arguments]]
    if sys.platform.startswith("linux"):
        scripts.append(["gpu_core.py"])
    statuses = [
        subprocess.run(
            [envs[0].python, ROOT / "benchmarks" / script, *words],
            cwd=envs[0].folder,
            env=clean_environment(),
            check=False,
        ).returncode
        for script, *words in scripts
    ]
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main())
