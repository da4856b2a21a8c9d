"""A library that allocates as it is told, and what lineprof counts of it by line."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import TYPE_CHECKING, NamedTuple

from running import new_profiler

from lineprof import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SOURCE = "memory/allocating.c"
OPTIONS = ("-std=c11", "-D_GNU_SOURCE=1", "-shared", "-fPIC", "-pthread")
OPTIONS += ("-fno-builtin",)  # else calls whose block is not used would be dropped
OUTSIDE = 0  # the line of what is outside of lines


class Sum(NamedTuple):
    """What a line allocated."""

    allocs: int
    alloc_bytes: int
    live_bytes: int

    def beyond(self, other: Sum) -> Sum:
        """Return what it is more than another one."""
        return Sum(*(a - b for a, b in zip(self, other, strict=True)))


class Counted(NamedTuple):
    """What lineprof counted."""

    lines: dict[int, Sum]  # by the line after that of `def`
    notes: list[str]


def opened(path: Path) -> ctypes.CDLL:
    """Open the library, and declare its functions."""
    library = ctypes.CDLL(str(path))
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    for name, arguments, result in (
        ("al_batch", [pointer, size, size], None),
        ("al_batch_in_thread", [pointer, size, size], ctypes.c_int),
        ("al_new_batch", [pointer, size, size], ctypes.c_int),
        ("al_free_batch", [pointer, size], None),
        ("al_map", [pointer, size, ctypes.c_int, ctypes.c_int], pointer),
        ("al_unmap", [pointer, size], ctypes.c_int),
        ("al_open", [ctypes.c_char_p], pointer),
        ("al_churn", [size, size], None),
        ("al_churn_maps", [size, size], None),
    ):
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    return library


def blocks(n: int) -> ctypes.Array[ctypes.c_void_p]:
    """Return room for the addresses of n blocks."""
    return (ctypes.c_void_p * n)()


def counted(function: Callable[..., object], *arguments: object) -> Counted:
    """Call a function whose lines are profiled, and return what they allocated."""
    profiler = new_profiler()
    profiled = profiler(function)
    gc.disable()  # it empties free lists
    _core.memory_start(0, True)
    try:
        profiled(*arguments)
    finally:
        _core.memory_stop()
        gc.enable()
    return of_snapshot(function.__code__.co_firstlineno)


def of_snapshot(first: int) -> Counted:
    """Return what was counted since the start, for lines after that one."""
    snapshot = _core.memory_snapshot()
    assert snapshot is not None
    assert snapshot["native"]
    lines: dict[int, Sum] = {}
    paths = snapshot["paths"]
    for path, allocs, alloc_bytes, freed_bytes, *_ in snapshot["sums"]:
        _, serial, number = paths[path]
        line = number - first if serial else OUTSIDE
        before = lines.get(line, Sum(0, 0, 0))
        more = (allocs, alloc_bytes, alloc_bytes - freed_bytes)
        lines[line] = Sum(*(a + b for a, b in zip(before, more, strict=True)))
    return Counted(lines, snapshot["notes"])


def is_possible() -> bool:
    """Return whether extension modules' memory is counted on this machine."""
    machine = getattr(sys.implementation, "_multiarch", "")
    return sys.platform == "linux" and machine.startswith(("x86_64", "aarch64"))
