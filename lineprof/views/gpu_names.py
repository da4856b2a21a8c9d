"""What views call the work of a GPU, and the lines of Python that caused it."""

from __future__ import annotations

import os
from functools import cache

from lineprof.errors import printable
from lineprof.gpu_records import (
    GRAPH,
    KERNEL,
    MEMCPY,
    MEMSET,
    MIGRATION,
    NO_PATH,
    UNKNOWN,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from lineprof.gpu_records import Gpu, GpuEvent, GpuSum
    from lineprof.views.view import Options

NOWHERE = "-"  # in the place of a line: outside of all that are profiled
_ACTIVITIES = frozenset({KERNEL, MEMCPY, MEMSET, GRAPH})


@cache
def kernel_name(name: str) -> str:
    """Return the name of a kernel, fit for a terminal."""
    from lineprof.demangle import demangled  # noqa: PLC0415  # the table needs none

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

    from lineprof.demangle import demangled  # noqa: PLC0415

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
