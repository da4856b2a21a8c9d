"""Traces of PyTorch's profiler, replayed and compared with sums of their JSON.

    make check-kineto DIR=FOLDER ARGS="--show 50"

Environment: DIR, the folder of the traces; ONLY=3.12, the Python to use; ARGS, options
of tests/programs/replay_traces.py, which does the work.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    explain,
    install,
    make,
)
from tools.dev.pythons import find

REPLAY = ROOT / "tests" / "programs" / "replay_traces.py"


def main() -> int:
    """Replay the traces on one Python; return the status of the comparison."""
    folder = os.environ.get("DIR", "")
    if not folder or not Path(folder).is_dir():
        sys.exit("lineprof: give a folder of traces: make check-kineto DIR=FOLDER")
    only = os.environ.get("ONLY", "")
    pythons = [python for python in find()[0] if python.version.startswith(only)]
    if not pythons:
        sys.exit(f"lineprof: no usable Python {only or '3.11 or later'}")
    python = pythons[0]
    env = Env(ROOT / f".venv-check-kineto-{python.name}")
    try:
        make(env, python)
        install(env, quick=True)
    except StepError as error:
        return explain(error, env.log)
    words = shlex.split(os.environ.get("ARGS", ""))
    return subprocess.run(
        [env.python, "-B", REPLAY, Path(folder).resolve(), *words],
        cwd=env.folder,
        env=clean_environment(),
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
