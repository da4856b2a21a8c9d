"""Demo: sets lineprof up in .venv, profiles an example and prints its first screen."""

from __future__ import annotations

import subprocess
import sys

from tools.demo.setting_up import ready
from tools.dev.envs import ROOT, clean_environment

EXAMPLE = "examples/three_modules/near_duplicates.py"


def main() -> int:
    """Set up and run; return the exit status of kernprof."""
    env = ready()
    if env is None:
        return 1
    print(f"$ .venv/bin/kernprof -l -v {EXAMPLE}", flush=True)
    return subprocess.run(
        [env.bin / "kernprof", "-l", "-v", EXAMPLE],
        cwd=ROOT,
        env=clean_environment(),
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
