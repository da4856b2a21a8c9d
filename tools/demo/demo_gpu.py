"""Demo on a simulated GPU: tables, kernels, and the lines that leave the GPU idle."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.demo.setting_up import ready
from tools.dev import native
from tools.dev.envs import ROOT, clean_environment

EXAMPLE = "examples/simulated_gpu.py"
STARVED = "examples/starved_gpu.py"  # by a clock that it advances itself
BANNER = "=== simulated: no GPU is used, and the numbers of one are made up ==="


def main() -> int:
    """Set up, build the doubles and run; return the first exit status other than 0."""
    env = ready(doubles=True)
    if env is None:
        return 1
    environment = clean_environment(**native.SIMULATED)
    frozen = {**environment, **native.FROZEN}
    with tempfile.TemporaryDirectory() as folder:
        profile = str(Path(folder, "simulated.lprof"))
        starved = str(Path(folder, "starved.lprof"))
        prefetch = str(Path(folder, "prefetch.lprof"))
        for command, variables in (
            (["kernprof", "-l", "-v", "-o", profile, EXAMPLE], environment),
            (["lineprof", "view", "--gpu-summary", profile], environment),
            (["kernprof", "-lq", "-o", starved, STARVED], frozen),
            (["lineprof", "view", "--gpu-idle", starved], environment),
            (["kernprof", "-lq", "-o", prefetch, STARVED, "--prefetch"], frozen),
            (["lineprof", "view", "--gpu-idle", prefetch], environment),
        ):
            print(f"{BANNER}\n$ {' '.join(command)}", flush=True)
            program, *arguments = command
            status = subprocess.run(
                [env.bin / program, *arguments], cwd=ROOT, env=variables, check=False
            ).returncode
            if status:
                return status
    print(BANNER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
