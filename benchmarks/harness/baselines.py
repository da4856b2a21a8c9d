"""Small C modules of `baselines/`: compiled with a C compiler alone, and loaded."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

SOURCES = Path(__file__).resolve().parent.parent / "baselines"
FLAGS = ("-std=gnu11", "-O2", "-DNDEBUG", "-shared", "-fPIC")
NAMES = ("baseline_settrace", "baseline_monitoring", "baseline_delay")


def build(folder: Path) -> None:
    """Compile every baseline that this Python can run into `folder`.

    Raises `subprocess.CalledProcessError` if the compiler fails, and
    `FileNotFoundError` if there is none.
    """
    compiler = shlex.split(os.environ.get("CC") or "cc")
    include = sysconfig.get_paths()["include"]
    for name in NAMES:
        if name == "baseline_monitoring" and sys.version_info < (3, 12):
            continue
        source = SOURCES / f"{name}.c"
        target = folder / f"{name}.so"
        command = [*compiler, *FLAGS, f"-I{include}", str(source), "-o", str(target)]
        if sys.platform == "darwin":
            command += ["-undefined", "dynamic_lookup"]
        subprocess.run(command, check=True)


def load(folder: Path, name: str) -> ModuleType:
    """Import the baseline `name` that `build` compiled into `folder`."""
    path = str(folder / f"{name}.so")
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        message = f"no module in {path}"
        raise ImportError(message)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
