"""Random programs on every Python and core, compared with what they know of themselves.

    make check-executions ONLY=3.12 ARGS="--seeds 2000"
    make check-memory ONLY=3.12 ARGS="--seeds 1000"

Each program runs under lineprof, and rewritten so that it counts its executions, or
its blocks of memory, itself (tests/helpers/executions.py, memory_model.py). Argument:
a script of tests/programs. Environment: ONLY=3.12, any versions that start with that;
ARGS, options of the script.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from tools.dev.pythons import Python

PROGRAMS = ROOT / "tests" / "programs"
AT_ONCE = 2


def compare(env: Env, script: str, core: str) -> int:
    """Compare the programs with one core; print what differs; return the status."""
    words = shlex.split(os.environ.get("ARGS", ""))
    done = subprocess.run(
        [env.python, PROGRAMS / script, "--core", core, *words],
        capture_output=True,
        text=True,
        cwd=env.folder,
        env=clean_environment(),
        check=False,
    )
    sys.stdout.write(done.stdout + done.stderr)
    sys.stdout.flush()
    return done.returncode


def check(python: Python, script: str) -> int:
    """Check a Python with each of its cores; return the number that differ."""
    env = Env(ROOT / f".venv-random-programs-{python.name}")
    try:
        make(env, python)
        install(env)
    except StepError as error:
        return explain(error, env.log)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sum(map(bool, pool.map(partial(compare, env, script), python.cores)))


def main() -> int:
    """Check all Pythons found; return 1 if any program differs."""
    only = os.environ.get("ONLY", "")
    pythons = [python for python in find()[0] if python.version.startswith(only)]
    if not pythons:
        sys.exit(f"lineprof: no usable Python {only or '3.11 or later'}")
    return 1 if sum(check(python, sys.argv[1]) for python in pythons) else 0


if __name__ == "__main__":
    sys.exit(main())
