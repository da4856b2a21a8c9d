"""The settable clock of `doubles/python/clock.c`, as tests of time use it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = b"lineprof.clock"  # of the capsule; it must outlive it


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
