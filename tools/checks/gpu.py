"""Tests of lineprof on an NVIDIA GPU: runs tests/gpu_hardware, one verdict per item.

    python tools/checks/gpu.py [ITEM...] [--part N] [--raw] [--jobs N]
                               [--within SECONDS] [--out FOLDER]
                               [--record [--into FOLDER]] [--cupti FILE]
                               [--double FOLDER]
    python tools/checks/gpu.py [ITEM...] [--part N] [--raw] --list|--dry-run
    python tools/checks/gpu.py --merge FOLDER... [--into FOLDER]
    python tools/checks/gpu.py --help

`make test-gpu` takes the same arguments from ARGS. The frameworks are those that this
Python has, because nothing is installed; lineprof itself is built into build/test-gpu.
--double needs no GPU, but the doubles that `make demo-gpu-double` builds.
Exit status: 1 if an item failed, 2 if the arguments, the results to merge or the GPU
can't be used.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # when run as a script

from tools.dev.envs import (
    BUILT_FROM,
    PURE,
    ROOT,
    StepError,
    explain,
    fingerprint,
    must,
)
from tools.dev.pythons import ask

LIST = ROOT / "tests" / "gpu_hardware" / "main.py"
BUILD = ROOT / "build" / "test-gpu"
LOG = BUILD / "build.txt"
REFUSED = 2  # exit status


def gpu_problem() -> str:
    """Return why no GPU can be used here; '' if one can.

    The driver alone knows: it makes its device files itself, at its first use.
    """
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return f"there is no driver of an NVIDIA GPU here: {error}"
    count = ctypes.c_int()
    status = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if status:
        return f"no GPU can be used here: the driver gives error {status}"
    return "" if count.value else "no GPU can be used here: the driver finds none"


def build() -> Path:
    """Build lineprof for this Python unless it is up to date; return its folder.

    It is not a virtual environment, which would hide this Python's frameworks.
    """
    python = ask(sys.executable)
    if python is None:
        raise StepError(f"{sys.executable} cannot describe itself")
    folder = BUILD / python.abi
    stamp, wanted = folder / "stamp.txt", fingerprint(*BUILT_FROM, *PURE)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return folder
    print(f"building lineprof for Python {python.version} ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    options = ["--no-deps", "--no-input", "--target", folder]
    offline = find_spec("scikit_build_core") is not None  # no network is needed then
    if offline:
        options.append("--no-build-isolation")
    options.append(f"--config-settings=build-dir={BUILD / 'cmake' / python.abi}")
    try:
        must([sys.executable, "-m", "pip", "install", *options, ROOT], LOG)
    except StepError as error:
        if offline:
            raise
        needs = f"{sys.executable} needs scikit-build-core, CMake and ninja"
        raise StepError(f"{error}; without a network {needs}") from error
    stamp.write_text(wanted, encoding="utf-8")
    return folder


def read_words(argv: list[str]) -> Any:  # noqa: ANN401 - argparse's namespace
    """Return the options of the list; SystemExit if they are wrong, or for --help."""
    sys.path.insert(0, str(LIST.parent))
    return importlib.import_module(LIST.stem).read_words(argv)


def main() -> int:
    """Look for a GPU, build lineprof, run the tests; return the exit status."""
    try:
        argv = [*sys.argv[1:], *shlex.split(os.environ.get("ARGS", ""))]
    except ValueError as error:
        print(f"lineprof: ARGS: {error}; close each quotation", file=sys.stderr)
        return REFUSED
    words = read_words(argv)  # before what takes long
    folder = ROOT
    if not (words.list or words.dry_run or words.merge):
        problem = "" if words.double else gpu_problem()
        if problem:
            print(f"lineprof: {problem}", file=sys.stderr)
            return REFUSED
        LOG.unlink(missing_ok=True)
        try:
            folder = build()
        except StepError as error:
            return explain(error, LOG)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-B", str(LIST), *argv]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
