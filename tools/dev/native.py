"""C tests with sanitizers and the doubles, built in build/native without Python.h."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tools.dev.envs import ROOT, Env, call, make, must, pip

if TYPE_CHECKING:
    from tools.dev.pythons import Python

BUILD = ROOT / "build" / "native"
DOUBLES = BUILD / "doubles"
SIMULATED = {  # the environment of a simulated GPU
    "LINEPROF_CUDA": str(DOUBLES / "fake_cuda.so"),
    "LINEPROF_CUPTI": str(DOUBLES / "fake_cupti.so"),
    "LINEPROF_GPU_FORCE": "1",
}
FROZEN = {  # that of a program whose clock moves only when it says so
    "LD_PRELOAD": str(DOUBLES / "frozen_clock.so"),
    "FROZEN_CLOCK_CPU": "1",
    "LINEPROF_CLOCK": "monotonic",
}
BUILD_LOG = BUILD / "build.txt"
TEST_LOG = BUILD / "test.txt"
TEST_REPORT = BUILD / "test.xml"
MIN_CMAKE = (3, 21)  # its ctest writes JUnit reports
SWITCHES = ("-DLINEPROF_MODULE=OFF", "-DLINEPROF_TESTS=ON", "-DLINEPROF_SANITIZE=ON")


def cmake(python: Python) -> str:
    """Return a CMake that is new enough: the machine's or one installed by pip."""
    command = shutil.which("cmake")
    if command and cmake_version(command) >= MIN_CMAKE:
        return command
    env = Env(ROOT / ".venv-cmake")
    make(env, python)
    command = str(env.bin / "cmake")
    if not shutil.which(command):
        pip(env, "cmake")
    return command


def cmake_version(command: str) -> tuple[int, ...]:
    """Return the version that a cmake command prints; () if it prints none."""
    answer = subprocess.run(
        [command, "--version"], capture_output=True, text=True, check=False
    )
    found = re.search(r"version (\d+)\.(\d+)", answer.stdout)
    return tuple(map(int, found.groups())) if found else ()


def build(python: Python, *, strict: bool, target: str = "all") -> None:
    """Build the C tests and the doubles, or a target; StepError if that fails."""
    BUILD_LOG.unlink(missing_ok=True)
    command = cmake(python)
    strictness = f"-DLINEPROF_WERROR={'ON' if strict else 'OFF'}"
    must([command, "-S", ROOT, "-B", BUILD, *SWITCHES, strictness], BUILD_LOG)
    jobs = str(os.cpu_count() or 1)
    words = ["--parallel", jobs, "--target", target]
    must([command, "--build", BUILD, *words], BUILD_LOG)


def test(python: Python) -> int:
    """Run the C tests, write TEST_REPORT; return the exit status of ctest."""
    for old in (TEST_LOG, TEST_REPORT):
        old.unlink(missing_ok=True)
    ctest = shutil.which("ctest", path=str(Path(cmake(python)).parent)) or "ctest"
    options = ["--output-on-failure", "--no-tests=error", "--timeout", "300"]
    options += ["--output-junit", str(TEST_REPORT)]
    return call([ctest, "--test-dir", BUILD, *options], TEST_LOG)
