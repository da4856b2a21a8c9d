"""The settable clock of `doubles/clock.c`, as tests of time use it."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Callable

import pytest

SOURCE = Path(__file__).parent / "doubles" / "clock.c"
NAME = b"lineprof.clock"  # of the capsule; it must outlive it


def compiler() -> list[str]:
    """Find a C compiler: $CC, Python's own, or any."""
    wanted = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    for command in (wanted.split(), ["cc"], ["gcc"], ["clang"]):
        if shutil.which(command[0]):
            return command
    pytest.skip("no C compiler for the settable clock")


def build(folder: Path) -> Path:
    """Compile the double, unless LINEPROF_DOUBLES names a folder that has it."""
    ready = Path(os.environ.get("LINEPROF_DOUBLES", "")) / "clock.so"
    if ready.is_file():
        return ready.resolve()
    library = folder / "clock.so"
    options = ["-std=c11", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    subprocess.run([*compiler(), *options], check=True)
    return library


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self.tick: Callable[[int], None] = self._library.lp_clock_double_advance
        """Let so many ns pass.  It is no Python function: no frame, no line."""
        self._library.lp_clock_double_advance.argtypes = [ctypes.c_uint64]
        self._library.lp_clock_double_advance.restype = None
        self._library.lp_clock_double_now.restype = ctypes.c_uint64
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        read = ctypes.cast(self._library.lp_clock_double_now, ctypes.c_void_p)
        self.capsule: object = make(read, NAME, None)

    def now(self) -> int:
        """Tell the time (ns)."""
        return int(self._library.lp_clock_double_now())
