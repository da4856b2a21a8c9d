"""What views call the work of a GPU, and the lines of Python that caused it."""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.model.gpu import (
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    MIGRATION,
    NO_PATH,
    UNKNOWN,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lineprof.model.gpu import Gpu, GpuSum
    from lineprof.model.timelines import GpuEvent
    from lineprof.report.options import Options

    # Returns the name, or None where it cannot; and may take for ever.
    Demangler = Callable[[bytes], "bytes | None"]


# The names of kernels as their source has them: C++ ones are demangled.
#
# The C++ runtime does it, where there is one. It is asked in a thread of its
# own and for a limited time, for a name of 200 characters, made for the purpose,
# can stand for one of gigabytes.


_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib")

_SYMBOL = "__cxa_demangle"

_LONGEST = 16 * 1024  # characters, of either name; no compiler gives such

_STACK = 16 * 1024 * 1024  # bytes; some runtimes recurse with each character

_PATIENCE = 1.0  # s; an honest name takes microseconds


@cache
def demangled(name: str) -> str:
    """Return `name` as C++ source has it; as it is if it is no mangled C++ name.

    It is also left as it is where no C++ runtime is found, or where that
    cannot read it: GCC's reads 1,024 characters at most.
    """
    if not name.startswith("_Z") or not name.isprintable() or len(name) > _LONGEST:
        return name
    for demangler in _demanglers():
        text = _in_time(demangler, name.encode())
        if text is not None and len(text) <= _LONGEST:
            return text.decode("utf-8", "backslashreplace")
    return name


@cache
def _demanglers() -> list[Demangler]:
    """Return what can demangle: one of each C++ runtime that is found."""
    return [one for one in map(_demangler, _LIBRARIES) if one is not None]


def _demangler(library: str) -> Demangler | None:
    """Return the demangler of a C++ runtime; None where there is none."""
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


def _in_time(demangler: Demangler, name: bytes) -> bytes | None:
    """Return what `demangler` says of `name`, None if it does not come to an end.

    After one such name no other is demangled: there may be many. The thread
    that is still at it ends with the process.
    """
    answers: list[bytes | None] = []
    thread = threading.Thread(
        target=lambda: answers.append(demangler(name)), daemon=True
    )
    before = threading.stack_size(_STACK)
    try:
        thread.start()
    except RuntimeError:  # no more threads
        return None
    finally:
        threading.stack_size(before)
    thread.join(_PATIENCE)
    if not answers:
        _demanglers().clear()
    return answers[0] if answers else None


# Theoretical occupancy: how many of a multiprocessor's warps a kernel can fill.
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

_REGISTER_UNIT = 256  # registers, in which a warp gets them

_SMEM_UNIT, _SMEM_UNIT_BEFORE_AMPERE = 128, 256  # bytes

_SMEM_RESERVED = 1024  # bytes a block, that CUDA takes from Ampere on


def warps_per_block(threads: int, attributes: Mapping[str, int]) -> int | None:
    """Return how many warps a block of `threads` has; None where it is not known."""
    size = attributes.get("warp_size", 0)
    return -(-threads // size) if size > 0 and threads > 0 else None


def occupancy(
    threads: int, registers: int, smem: int, attributes: Mapping[str, int]
) -> float | None:
    """Return the greatest share of a multiprocessor's warps in flight, 0 to 1.

    `threads` and `smem` (bytes, static and dynamic) are those of a block,
    `registers` of a thread, `attributes` the device's. None where these are
    not known, or where no such block could run on it.
    """
    warps = warps_per_block(threads, attributes)
    if warps is None or any(attributes.get(name, -1) < 0 for name in _NEEDED):
        return None
    if attributes["cc_major"] < _OLDEST:
        return None
    most = attributes["threads_per_sm"] // attributes["warp_size"]
    blocks = min(
        attributes["blocks_per_sm"],
        most // warps,
        _blocks_by_registers(warps, registers, attributes),
        _blocks_by_smem(smem, attributes),
    )
    return blocks * warps / most if blocks > 0 else None


def _blocks_by_registers(
    warps: int, registers: int, attributes: Mapping[str, int]
) -> int:
    """Return for how many blocks of `warps` there are registers."""
    if registers <= 0:
        return attributes["blocks_per_sm"]
    capability = (attributes["cc_major"], attributes["cc_minor"])
    partitions = 2 if capability == (6, 0) else 4
    of_warp = _up(registers * attributes["warp_size"], _REGISTER_UNIT)
    in_partition = attributes["registers_per_sm"] // partitions // of_warp
    return in_partition * partitions // warps


def _blocks_by_smem(smem: int, attributes: Mapping[str, int]) -> int:
    """Return for how many blocks there is shared memory."""
    if attributes["cc_major"] >= _AMPERE:
        of_block = _up(smem + _SMEM_RESERVED, _SMEM_UNIT)
    else:
        of_block = _up(smem, _SMEM_UNIT_BEFORE_AMPERE)
    if not of_block:
        return attributes["blocks_per_sm"]
    return attributes["smem_per_sm"] // of_block


def _up(number: int, unit: int) -> int:
    """Return the least multiple of `unit` that is not below `number`."""
    return -(-number // unit) * unit


NOWHERE = "-"  # in the place of a line: outside of all that are profiled

_ACTIVITIES = frozenset({KERNEL, MEMCPY, MEMSET, GRAPH})


@cache
def kernel_name(name: str) -> str:
    """Return the name of a kernel, fit for a terminal."""
    return printable(demangled(name))


def call_name(name: str) -> str:
    """Return the name of a call as source has it: cudaMemcpy for cudaMemcpy_v3020."""
    plain, _, version = name.rpartition("_v")
    return printable(plain if plain and version.isdecimal() else name)


def activity_name(kind: str, name: str) -> str:
    """Return what nvprof calls an activity."""
    if kind == MEMSET:
        return "[CUDA memset]"
    shown = kernel_name(name)
    if kind == MEMCPY:
        return f"[CUDA memcpy {shown}]" if name != UNKNOWN else "[CUDA memcpy]"
    if kind == MIGRATION:
        return f"[Unified Memory Memcpy {shown}]"
    return shown or f"[CUDA {kind}]"


def matcher(pattern: str | None) -> Callable[[str], bool] | None:
    """Return what tells whether a kernel's name, as compiled, is asked for.

    None when all are: `pattern` is one as of file names.
    """
    if pattern is None:
        return None
    from fnmatch import fnmatchcase  # noqa: PLC0415  # few ask for it

    def matches(name: str) -> bool:
        return fnmatchcase(name, pattern) or fnmatchcase(demangled(name), pattern)

    return cache(matches)


def wanted(options: Options) -> Callable[[GpuSum | GpuEvent], bool]:
    """Return what tells whether a sum or an event is an activity to be shown."""
    kinds = _ACTIVITIES | {MIGRATION} if options.uvm else _ACTIVITIES
    matches = matcher(options.kernel)

    def is_wanted(one: GpuSum | GpuEvent) -> bool:
        if one.kind not in kinds:
            return False
        return one.kind != KERNEL or matches is None or matches(one.name)

    return is_wanted


class Places:
    """The innermost profiled line of each path, as text."""

    def __init__(self, gpu: Gpu, options: Options) -> None:
        """Take the paths; files are shown without their folder unless in CSV."""
        known: dict[tuple[str, int], str] = {}
        self._texts = []
        self._capture = options.graph_origin
        for path in gpu.paths:
            (file, _, _), line = path.lines[-1]
            place = (file, line)
            if place not in known:
                name = file if options.csv else os.path.basename(file)
                known[place] = printable(f"{name}:{line}")
            self._texts.append(known[place])
        self.width = max(map(len, known.values()), default=0)

    def of(self, one: GpuSum | GpuEvent) -> str:
        """Return the line that a sum or an event is charged to, or NOWHERE."""
        path = self.path(one)
        return NOWHERE if path == NO_PATH else self._texts[path]

    def path(self, one: GpuSum | GpuEvent) -> int:
        """Return the index of the path that it is charged to, or NO_PATH."""
        if self._capture and one.origin != NO_PATH:
            return one.origin
        return one.path


# Times and sizes as nvprof writes them: five digits and a unit; and for CSV.


_SECOND = 1e9  # ns

_TIMES = ((_SECOND, "s"), (1e6, "ms"), (1e3, "us"))

_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


def _digits(number: float, more: int = 0) -> str:
    """Return a number below 1,000 with five digits, and so many `more`."""
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
    """Return how fast `size` bytes went in `ns`."""
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
