"""Fuzzing of what reads profiles, in an environment of its own: tests/fuzz/fuzz.py.

Environment: SECONDS, how long (default: 300); SEED, the number that the cases follow
from (default: another one each time). Findings go to build/fuzz.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

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
from tools.dev.pythons import this

SECONDS = "300"
FINDINGS = ROOT / "build" / "fuzz"


def main() -> int:
    """Set up and run; the exit status is 1 if something was found."""
    python = this()
    env = Env(ROOT / ".venv-fuzz" / python.name)
    try:
        make(env, python)
        require(env, "fuzz.txt")
        install(env)
    except StepError as error:
        return explain(error, env.log)
    seconds = os.environ.get("SECONDS") or SECONDS
    seed = os.environ.get("SEED") or str(time.time_ns() % 1_000_000)
    fuzzer = ROOT / "tests" / "fuzz" / "fuzz.py"
    return subprocess.run(
        [env.python, fuzzer, seconds, seed, FINDINGS],
        env=clean_environment(),
        cwd=env.folder,
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
