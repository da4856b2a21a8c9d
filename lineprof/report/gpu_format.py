"""Formats of GPU data: names of kernels and calls, times and sizes, occupancy."""

from __future__ import annotations

import ctypes
import os
import threading
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.model.gpu import (
    ALLOC,
    FREE,
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    MIGRATION,
    NO_PATH,
    UNKNOWN,
)
from lineprof.model.gpu_memory import TORCH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lineprof.model.gpu import Gpu, GpuSum
    from lineprof.model.timelines import GpuEvent
    from lineprof.report.options import Options

    # Returns the demangled name, or None if that fails; may never return.
    Demangler = Callable[[bytes], bytes | None]

LINE_TITLE = "Python Line"  # of the column with the profiled line

NOWHERE = "-"  # in place of a line: outside of all profiled functions

_ACTIVITIES = frozenset({KERNEL, MEMCPY, MEMSET, GRAPH})


@cache
def kernel_name(name: str) -> str:
    """Return the demangled name of a kernel, fit for a terminal."""
    return printable(demangled(name))


def call_name(name: str) -> str:
    """Return the name of a call without its version: cudaMemcpy_v3020 is cudaMemcpy."""
    plain, _, version = name.rpartition("_v")
    return printable(plain if plain and version.isdecimal() else name)


def activity_name(kind: str, name: str) -> str:
    """Return the name of an activity as nvprof prints it."""
    if kind == MEMSET:
        return "[CUDA memset]"
    if name == TORCH and kind in {ALLOC, FREE}:
        return f"[PyTorch {kind}]"
    shown = kernel_name(name)
    if kind == MEMCPY:
        return f"[CUDA memcpy {shown}]" if name != UNKNOWN else "[CUDA memcpy]"
    if kind == MIGRATION:
        return f"[Unified Memory Memcpy {shown}]"
    return shown or f"[CUDA {kind}]"


def kernel_filter(pattern: str | None) -> Callable[[str], bool] | None:
    """Return a test of kernels' mangled names for --kernel; None: all fit.

    `pattern`, with wildcards as for file names, may fit the mangled or the demangled
    name.
    """
    if pattern is None:
        return None

    def matches(name: str) -> bool:
        return fnmatchcase(name, pattern) or fnmatchcase(demangled(name), pattern)

    return cache(matches)


def event_filter(options: Options) -> Callable[[GpuSum | GpuEvent], bool]:
    """Return a test whether a sum or an event is an activity to be shown."""
    kinds = _ACTIVITIES | {MIGRATION} if options.uvm else _ACTIVITIES
    matches = kernel_filter(options.kernel)

    def is_shown(one: GpuSum | GpuEvent) -> bool:
        if one.kind not in kinds:
            return False
        return one.kind != KERNEL or matches is None or matches(one.name)

    return is_shown


class Places:
    """The innermost profiled line of each call path, as text."""

    def __init__(self, gpu: Gpu, options: Options) -> None:
        """Take the call paths; files are shown without their folder unless in CSV."""
        self._capture = options.graph_origin
        lines = []
        for path in gpu.paths:
            (file, _, _), line = path.lines[-1]
            lines.append((file, line))
        texts = {}
        for file, line in dict.fromkeys(lines):
            name = file if options.csv else os.path.basename(file)
            texts[file, line] = printable(f"{name}:{line}")
        self._texts = [texts[line] for line in lines]
        self.width = max(map(len, texts.values()), default=0)

    def of(self, one: GpuSum | GpuEvent) -> str:
        """Return the line that a sum or an event is charged to, or NOWHERE."""
        path = self.path(one)
        return NOWHERE if path == NO_PATH else self._texts[path]

    def path(self, one: GpuSum | GpuEvent) -> int:
        """Return the index of the call path of a sum or an event, or NO_PATH."""
        if self._capture and one.origin != NO_PATH:
            return one.origin
        return one.path


# Demangled names of C++ kernels.
#
# The C++ runtime demangles them, if there is one. It runs in a thread of its own and
# for a limited time, because a hostile name of 200 characters can stand for one of
# gigabytes.


_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib")

_SYMBOL = "__cxa_demangle"

_MAX_NAME = 16 * 1024  # characters, of either name; no compiler makes longer ones

_STACK_SIZE = 16 * 1024 * 1024  # bytes; some runtimes recurse with each character

_TIMEOUT = 1.0  # s; a name of a compiler takes microseconds


@cache
def demangled(name: str) -> str:
    """Return a mangled C++ `name` as C++ source has it, any other name unchanged.

    A mangled name also stays unchanged if no C++ runtime is found or the runtime
    cannot demangle the name: GCC's reads at most 1,024 characters.
    """
    if not name.startswith("_Z") or not name.isprintable() or len(name) > _MAX_NAME:
        return name
    for demangler in _demanglers():
        text = _call_with_timeout(demangler, name.encode())
        if text is not None and len(text) <= _MAX_NAME:
            return text.decode("utf-8", "backslashreplace")
    return name


@cache
def _demanglers() -> list[Demangler]:
    """Return the demanglers of all C++ runtimes that are found."""
    return [one for one in map(_demangler, _LIBRARIES) if one is not None]


def _demangler(library: str) -> Demangler | None:
    """Return the demangler of a C++ runtime; None if it is not installed."""
    try:
        function = ctypes.CDLL(library)[_SYMBOL]
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_void_p
    function.argtypes = [ctypes.c_char_p, *[ctypes.c_void_p] * 3]
    free = ctypes.CDLL(None).free
    free.restype = None
    free.argtypes = [ctypes.c_void_p]

    def demangle(name: bytes) -> bytes | None:
        text = function(name, None, None, None)
        if not text:
            return None
        try:
            return ctypes.string_at(text)
        finally:
            free(text)

    return demangle


def _call_with_timeout(demangler: Demangler, name: bytes) -> bytes | None:
    """Return the result of `demangler`, or None if that does not end in time.

    After a timeout no name is demangled any more, as there may be many such names.
    The thread that still runs ends with the process.
    """
    results: list[bytes | None] = []
    thread = threading.Thread(
        target=lambda: results.append(demangler(name)), daemon=True
    )
    before = threading.stack_size(_STACK_SIZE)
    try:
        thread.start()
    except RuntimeError:  # no more threads
        return None
    finally:
        threading.stack_size(before)
    thread.join(_TIMEOUT)
    if not results:
        _demanglers().clear()
    return results[0] if results else None


# Theoretical occupancy: the share of a multiprocessor's warps that a kernel can fill.
#
# The rules are those of CUDA's own calculator, cuda_occupancy.h of the CUDA
# toolkit (`cudaOccMaxActiveBlocksPerMultiprocessor`, version 12.1), for a kernel
# with the default settings: all the shared memory that there is, no partitioned
# caching, one barrier a block.


_NEEDED = (
    *("cc_major", "cc_minor", "warp_size", "threads_per_sm", "blocks_per_sm"),
    *("registers_per_sm", "smem_per_sm"),
)

_OLDEST, _AMPERE = 3, 8  # compute capabilities

_REGISTER_UNIT = 256  # registers; a warp gets a multiple of so many

_SMEM_UNIT, _SMEM_UNIT_BEFORE_AMPERE = 128, 256  # bytes

_SMEM_RESERVED = 1024  # bytes a block, that CUDA takes from Ampere on


def warps_per_block(threads: int, attributes: Mapping[str, int]) -> int | None:
    """Return the number of warps of a block of `threads`, or None if unknown."""
    size = attributes.get("warp_size", 0)
    return -(-threads // size) if size > 0 and threads > 0 else None


def occupancy(
    threads: int, registers: int, smem: int, attributes: Mapping[str, int]
) -> float | None:
    """Return the greatest share of a multiprocessor's warps in flight, 0 to 1.

    `threads` and `smem` (bytes, static and dynamic) are those of a block,
    `registers` of a thread, `attributes` the device's. None if these are unknown,
    or if no such block could run on the device.
    """
    warps = warps_per_block(threads, attributes)
    if warps is None or any(attributes.get(name, -1) < 0 for name in _NEEDED):
        return None
    if attributes["cc_major"] < _OLDEST:
        return None
    max_warps = attributes["threads_per_sm"] // attributes["warp_size"]
    blocks = min(
        attributes["blocks_per_sm"],
        max_warps // warps,
        _blocks_by_registers(warps, registers, attributes),
        _blocks_by_smem(smem, attributes),
    )
    return blocks * warps / max_warps if blocks > 0 else None


def _blocks_by_registers(
    warps: int, registers: int, attributes: Mapping[str, int]
) -> int:
    """Return the number of blocks of `warps` that registers suffice for."""
    if registers <= 0:
        return attributes["blocks_per_sm"]
    capability = (attributes["cc_major"], attributes["cc_minor"])
    partitions = 2 if capability == (6, 0) else 4
    per_warp = _rounded_up(registers * attributes["warp_size"], _REGISTER_UNIT)
    per_partition = attributes["registers_per_sm"] // partitions // per_warp
    return per_partition * partitions // warps


def _blocks_by_smem(smem: int, attributes: Mapping[str, int]) -> int:
    """Return the number of blocks that shared memory suffices for."""
    if attributes["cc_major"] >= _AMPERE:
        per_block = _rounded_up(smem + _SMEM_RESERVED, _SMEM_UNIT)
    else:
        per_block = _rounded_up(smem, _SMEM_UNIT_BEFORE_AMPERE)
    if not per_block:
        return attributes["blocks_per_sm"]
    return attributes["smem_per_sm"] // per_block


def _rounded_up(number: int, unit: int) -> int:
    """Return `number` rounded up to a multiple of `unit`."""
    return -(-number // unit) * unit


# Times and sizes: as nvprof prints them, with five digits and a unit; and for CSV.


_SECOND = 1e9  # ns

_TIMES = ((_SECOND, "s"), (1e6, "ms"), (1e3, "us"))

_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


def _digits(number: float, more: int = 0) -> str:
    """Return a number below 1,000 with five digits, and `more` after the point."""
    places = 4 if number < 10 else 3 if number < 100 else 2  # noqa: PLR2004
    return f"{number:.{places + more}f}"


def time_text(ns: float) -> str:
    """Return a time (ns) in a unit that reads well: 12.039us."""
    if ns < 0:
        return f"-{time_text(-ns)}"
    for unit, name in _TIMES:
        if ns >= unit:
            return f"{_digits(ns / unit, unit == _SECOND)}{name}"
    return f"{ns:.0f}ns"


def size_text(size: float) -> str:
    """Return a size (bytes) in a unit that reads well; a KB has 1,000 bytes."""
    for unit, name in _SIZES:
        if size >= unit:
            return f"{_digits(size / unit)}{name}"
    return f"{size:.0f}B"


def rate_text(size: int, ns: int) -> str:
    """Return the rate of `size` bytes in `ns`."""
    return f"{size_text(size / ns * _SECOND)}/s"


def milliseconds(ns: int) -> str:
    """Return a time (ns) in ms, exactly."""
    whole, part = divmod(abs(ns), 1_000_000)
    return f"{'-' * (ns < 0)}{whole}.{part:06d}"


def microseconds(ns: int) -> str:
    """Return a time (ns) in us, exactly."""
    whole, part = divmod(abs(ns), 1_000)
    return f"{'-' * (ns < 0)}{whole}.{part:03d}"


def quoted(text: str) -> str:
    """Return a text as a field of CSV."""
    return '"' + text.replace('"', '""') + '"'
