"""Python interface to the settable clock, `doubles/python/clock.c`."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAME = b"lineprof.clock"  # of the capsule, which it must outlive


class Clock:
    """A clock that moves only by `tick`."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self.tick: Callable[[int], None] = self._library.lp_clock_double_advance
        """Advance the clock by so many ns.  A C function: no frame, no event."""
        self._library.lp_clock_double_advance.argtypes = [ctypes.c_uint64]
        self._library.lp_clock_double_advance.restype = None
        self._library.lp_clock_double_now.restype = ctypes.c_uint64
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        read = ctypes.cast(self._library.lp_clock_double_now, ctypes.c_void_p)
        self.capsule: object = make(read, NAME, None)

    def now(self) -> int:
        """Return the time (ns)."""
        return int(self._library.lp_clock_double_now())
