"""PyTorch and Triton on a simulated GPU: the items of tests/gpu_hardware for them.

PyTorch, its profiler, Triton and Proton are the real ones.  Beneath them is a double of
the CUDA runtime, cuBLAS, the driver and CUPTI: memory and copies are those of the host,
kernels compute nothing, and each takes a time that is known.  Environment: ONLY=3.12, a
version that starts with that; ARGS, for tests/gpu_hardware/main.py, such as names of
items.  Downloads up to 3 GB, and takes 6 GB of disk.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from tools.checks.torch.check import NEWEST
from tools.dev import native
from tools.dev.envs import (
    ROOT,
    Env,
    StepError,
    clean_environment,
    explain,
    install,
    make,
    must,
    require,
)
from tools.dev.pythons import find, oldest_and_newest

if TYPE_CHECKING:
    from pathlib import Path

    from tools.dev.pythons import Python

LISTED = "torch_gpu.txt"
FREE_BYTES = 9 * 10**9  # of disk, without PyTorch
LAB = ROOT / "tests" / "gpu_hardware" / "main.py"
ITEMS = (
    *("torch*", "triton*", "beside_torch*", "beside_proton", "appearance"),
    *("workload_[!cj]*", "workload_com*", "workload_con*", "graph_memory"),
)


def headers(env: Env) -> list[Path]:
    """Return the folders of CUDA's headers in an environment."""
    [found] = env.folder.glob("lib/python*/site-packages/nvidia/cu13/include")
    return [found, found / "cccl"]


def build(env: Env, python: Python) -> Path:
    """Build the doubles with PyTorch's; return their folder."""
    folder = ROOT / "build" / "torch"
    command = native.cmake(python)
    include = ";".join(map(str, headers(env)))
    switches = [*native.SWITCHES, f"-DLINEPROF_CUDA_INCLUDE={include}"]
    must([command, "-S", ROOT, "-B", folder, *switches], env.log)
    must([command, "--build", folder, "--target", "doubles"], env.log)
    return folder / "doubles"


def set_up(python: Python) -> tuple[Env, Path]:
    """Return an environment with PyTorch and lineprof, and the doubles' folder."""
    env = Env(ROOT / f".venv-check-torch-gpu-{python.name}")
    print(f"{python.version}: setting up PyTorch in {env.folder.name} ...", flush=True)
    free = shutil.disk_usage(ROOT).free
    if not env.folder.exists() and free < FREE_BYTES:
        raise StepError(f"{free / 1e9:.1f} GB of disk are free; PyTorch wants 9 GB")
    make(env, python)
    require(env, LISTED)
    install(env)
    return env, build(env, python)


def main() -> int:
    """Set up, and run the items; return their exit status."""
    if not sys.platform.startswith("linux"):
        sys.exit("lineprof: GPUs are recorded only on Linux")
    pythons = oldest_and_newest(find()[0], os.environ.get("ONLY", ""), NEWEST)
    if not pythons:
        sys.exit("lineprof: no usable Python 3.11 or later")
    python = pythons[-1]
    try:
        env, doubles = set_up(python)
    except StepError as error:
        return explain(error, Env(ROOT / f".venv-check-torch-gpu-{python.name}").log)
    items = shlex.split(os.environ.get("ARGS", "")) or list(ITEMS)
    command = [str(env.python), "-B", str(LAB), "--double", str(doubles), *items]
    return subprocess.run(command, env=clean_environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
