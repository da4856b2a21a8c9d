"""Bytes by line compared with memray's, in an environment that has it.

Environment: ONLY=3.12, the Python to use, which memray has to support; ARGS, options
of against_memray.py.
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
    require,
)
from tools.dev.pythons import find

COMPARE = Path(__file__).with_name("against_memray.py")
NEWEST = (3, 14)  # that memray has wheels for


def main() -> int:
    """Set up an environment and compare; return the status of the comparison."""
    only = os.environ.get("ONLY", "")
    pythons = [
        python
        for python in find()[0]
        if python.version.startswith(only) and python.number[:2] <= NEWEST
    ]
    if not pythons:
        sys.exit(f"lineprof: no usable Python {only}")
    env = Env(ROOT / f".venv-memray-{pythons[0].name}")
    try:
        make(env, pythons[0])
        require(env, "memory.txt")
        install(env)
    except StepError as error:
        return explain(error, env.log)
    words = shlex.split(os.environ.get("ARGS", ""))
    return subprocess.run(
        [env.python, COMPARE, *words],
        cwd=env.folder,
        env=clean_environment(),
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
