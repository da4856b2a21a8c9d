"""The profile of one more call of a benchmark, outside its timed rounds.

The profiler is imported for the call alone.
"""

from __future__ import annotations

import re
import sys
import time
from contextlib import contextmanager
from traceback import format_exception_only
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType

    from lineprof.line_stats import LineStats


_NAME_LENGTH = 100  # of a file, without its suffix; 255 bytes is the limit


def stem_of(name: str) -> str:
    """Return the name of a benchmark as part of a file's name: test_sort-10."""
    short = re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.")
    return short[:_NAME_LENGTH] or "benchmark"


def why_not(error: BaseException) -> str:
    """Return one line on an `error` of the call; its text may raise an error itself."""
    from lineprof.errors import LineprofError  # noqa: PLC0415  # seldom

    if isinstance(error, LineprofError):
        return str(error)
    lines = "".join(format_exception_only(error)).strip().splitlines()
    return f"one more call raised {lines[0]}"


def profile_of_call(
    call: Callable[[], object],
    functions: Iterable[object],
    selected: Callable[[CodeType], bool | None],
) -> LineStats:
    """Return the profile of `call()`, which calls the benchmarked `functions`.

    These are profiled wherever they are from, and others that `selected` chooses.
    Nothing is instrumented afterwards. Exceptions of `call` are raised.
    """
    from lineprof.recording.profiler import LineProfiler, close  # noqa: PLC0415

    profiler = LineProfiler()
    try:
        for function in filter(callable, functions):
            profiler.watch(function)
        with _other_tracers_off():
            profiler.discover(selected)
            cpu_ns, start_ns = time.process_time_ns(), time.perf_counter_ns()
            try:
                call()
            finally:
                wall_ns = time.perf_counter_ns() - start_ns
                cpu_ns = time.process_time_ns() - cpu_ns
                profiler.discover(None)
        stats = profiler.final_stats()
        stats.processes = tuple(  # the call is the run
            one._replace(is_whole=True, wall_ns=wall_ns, cpu_ns=cpu_ns)
            for one in stats.processes
        )
        return stats
    finally:
        close(profiler)


@contextmanager
def _other_tracers_off() -> Iterator[None]:
    """Switch coverage and debuggers off, as timed rounds of pytest-benchmark do."""
    trace, profile = sys.gettrace(), sys.getprofile()
    if trace:
        sys.settrace(None)
    if profile:
        sys.setprofile(None)
    try:
        yield
    finally:
        if trace:
            sys.settrace(trace)
        if profile:
            sys.setprofile(profile)
