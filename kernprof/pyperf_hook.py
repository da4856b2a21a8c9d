"""Hook of pyperf: `python bench.py --hook lineprof` profiles each benchmark.

pyperf enters its hooks around the loops that it times. This one does nothing there: it
makes one more call under the profiler when a worker process has measured all that it
has to, so that no value includes the profiler's time. Which phase of a worker has
ended pyperf does not tell its hooks (its issue 239): it stands in the frame that calls
`teardown`, as the benchmark does.

The module is loaded in every worker: it imports the profiler only for that call.
"""

from __future__ import annotations

import os
import sys
import time
from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_KEY = "lineprof"  # in the metadata of pyperf: the name of the profile


class Hook:
    """Hook of pyperf, made anew for each phase of a worker."""

    def __enter__(self) -> None:
        """Do nothing: what follows is timed."""

    def __exit__(self, *_exception: object) -> None:
        """Do nothing."""

    def teardown(self, metadata: dict[str, Any]) -> None:
        """Profile one more call if this was the last phase of the worker.

        Of the workers of a benchmark the one that calibrates the number of loops does
        it, whose values count nowhere; without it, as with --loops, the first worker.
        """
        if "name" not in metadata:  # of the process that pyperf runs a command in
            return
        phase = sys._getframe(1).f_locals  # noqa: SLF001  # see above
        task = phase.get("self")
        if getattr(task, "metadata", None) is not metadata:
            _say("this pyperf calls its hooks in another way: nothing was profiled")
            return
        is_first = bool(phase.get("calibrate_loops"))
        if type(task).__name__ == "BenchCommandTask":
            metadata[_KEY] = "none: a command (lineprof run --children profiles it)"
        elif is_first or not (phase.get("is_warmup", True) or _is_of_memory(task)):
            _profile(task, metadata, is_first=is_first)


def _is_of_memory(task: Any) -> bool:  # noqa: ANN401  # of pyperf
    """Return whether values are the memory of the process, the profiler's included."""
    return bool(task.args.track_memory or task.args.tracemalloc)


def _profile(task: Any, metadata: dict[str, Any], *, is_first: bool) -> None:  # noqa: ANN401  # of pyperf
    """Write the profile of one call, unless this run has it; name it in `metadata`."""
    path = f"{_stem(task.name)}.lprof"
    if is_first or not _is_of_this_run(path, task):
        try:
            _write(task, path)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # of the benchmark
            from kernprof.extra_call import why_not  # noqa: PLC0415  # seldom

            _say(f"{task.name} was not profiled: {why_not(error)}")
            return
    metadata[_KEY] = path


def _write(task: Any, path: str) -> None:  # noqa: ANN401  # of pyperf
    from kernprof.extra_call import profile_of_call  # noqa: PLC0415  # for that call
    from kernprof.project import files_of_this_process  # noqa: PLC0415
    from kernprof.selection import FunctionFilter  # noqa: PLC0415

    selected = FunctionFilter()
    selected.begin_packages(files_of_this_process())
    stats = profile_of_call(
        lambda: task.task_func(task, 1), _benchmarked(task.task_func), selected
    )
    stats.to_file(path)


def _benchmarked(task_func: Any) -> Iterator[object]:  # noqa: ANN401  # of pyperf
    """Yield the functions that pyperf was given, which `task_func` calls."""
    for cell in getattr(task_func, "__closure__", None) or ():
        value = cell.cell_contents
        module = getattr(value, "__module__", None) or ""
        if callable(value) and module.partition(".")[0] != "pyperf":
            yield value


def _is_of_this_run(path: str, task: Any) -> bool:  # noqa: ANN401  # of pyperf
    """Return whether the file was written since pyperf was started, if that is known.

    pyperf uses psutil, and requires it from 2.11 on.
    """
    try:
        import psutil  # noqa: PLC0415  # of pyperf

        manager = os.getpid() if task.args.pipe is None else os.getppid()
        started = float(psutil.Process(manager).create_time())
        if hasattr(time, "CLOCK_BOOTTIME"):  # psutil has whole seconds of the boot
            up = time.clock_gettime(time.CLOCK_BOOTTIME)
            started += time.time() - up - psutil.boot_time()
        return os.path.isfile(path) and os.stat(path).st_mtime > started
    except Exception:  # noqa: BLE001  # then the profile is written again
        return False


def _stem(name: str) -> str:
    """Return the name of the file for a benchmark: bench-sort, bench-sort-list-2f1c.

    The mark is for names that differ only in characters that the file's name has not.
    """
    from kernprof.extra_call import stem_of  # noqa: PLC0415  # light

    script = os.path.basename(sys.argv[0]).removesuffix(".py")
    stem = stem_of(f"{'pyperf' if script == '__main__' else script}-{name}")
    if stem.endswith(f"-{name}"):
        return stem
    mark = f"{crc32(name.encode(errors='backslashreplace')):08x}"
    return f"{stem}-{mark[:4]}"


def _say(text: str) -> None:
    """Print one line; pyperf's workers share standard error with pyperf."""
    from lineprof.console.output import clean_line  # noqa: PLC0415  # seldom

    sys.stderr.write(f"lineprof: {clean_line(text)}\n")
