"""Demo: sets lineprof up in .venv, profiles an example and prints its table."""

from __future__ import annotations

import subprocess
import sys

from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    explain,
    install,
    make,
)
from tools.dev.pythons import this

EXAMPLE = "examples/lookup.py"


def main() -> int:
    """Set up and run; return the exit status of kernprof."""
    python = this()
    env = Env(ROOT / ".venv")
    print(f"setting up lineprof in .venv (Python {python.version}) ...", flush=True)
    try:
        make(env, python)
        install(env, editable=True)
    except StepError as error:
        return explain(error, env.log)
    print(f"$ .venv/bin/kernprof -l -v {EXAMPLE}", flush=True)
    return subprocess.run(
        [env.bin / "kernprof", "-l", "-v", EXAMPLE],
        cwd=ROOT,
        env=clean_environment(),
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
