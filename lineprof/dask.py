"""Plugin of Dask: lines of functions that tasks call, in each process of workers.

It is for ``distributed``, which is installed where this module is imported::

    from lineprof.dask import ProfilerPlugin

    client.register_plugin(ProfilerPlugin("shop.cart", folder="profiles"))
"""

from __future__ import annotations

import builtins
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from distributed.diagnostics.plugin import WorkerPlugin

from kernprof.selection import FunctionFilter
from lineprof.console.output import print_error
from lineprof.errors import LineprofError
from lineprof.files import absolute_path, current_folder
from lineprof.patterns import check, patterns
from lineprof.process_info import host
from lineprof.recording.profiler import LineProfiler

if TYPE_CHECKING:
    from lineprof.patterns import Pattern

__all__ = ["ProfilerPlugin", "write_profile"]


class ProfilerPlugin(WorkerPlugin):  # type: ignore[misc]  # distributed has no types
    """Profiles functions in the workers, and writes a profile for each process.

    The profile is written when the worker closes, or when the plugin is removed by
    ``client.unregister_worker_plugin("lineprof")``; `write_profile` writes one before.
    """

    name = "lineprof"

    def __init__(self, *names: str, folder: str | os.PathLike[str] = ".") -> None:
        """Profile the functions of these `names`, which are those of ``kernprof -p``.

        They are modules, files, functions, or patterns of these; ``::total`` stands for
        the functions of that name in any file, those of a notebook among them. The
        files are written to `folder`, which is made if need be. It is relative to the
        current folder here, in the client: workers on other machines need the same
        file system. Raises LineprofError for a name that is wrong, or without any.
        """
        if not names:
            raise LineprofError(
                "the plugin has no names of functions", hint="name a module to profile"
            )
        for one in names:
            check(one)
        self._patterns = patterns(names, current_folder())
        self.folder = absolute_path(os.fspath(folder))

    def setup(self, worker: object) -> None:  # noqa: ARG002  # the interface of Dask
        """Begin to profile; LineprofError if that is not possible in this process."""
        _profile.begin(self._patterns, self.folder)

    def teardown(self, worker: object) -> None:  # noqa: ARG002
        """Write the profile, if this is the last worker of its process.

        A file that cannot be written gives one line on stderr: the worker closes.
        """
        try:
            _profile.end()
        except LineprofError as error:
            print_error(str(error))


def write_profile() -> str:
    """Write the profile so far of this process, and return the file's path.

    ``client.run(write_profile)`` does that in each worker, while tasks run. Raises
    LineprofError if the file cannot be written, or if there is no plugin.
    """
    return _profile.write()


class _Profile:
    """The profile of this process, whose workers share one: threads of LocalCluster."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers = 0
        self._profiler: LineProfiler | None = None
        self._path = ""
        self._count = 0  # profiles that this process has begun

    def begin(self, wanted: tuple[Pattern, ...], folder: str) -> None:
        """Begin with the first worker."""
        with self._lock:
            if self._profiler is None:
                self._profiler = _new_profiler(wanted)
                self._count += 1
                number = f".{self._count}" if self._count > 1 else ""
                name = f"dask.{host()}.{os.getpid()}{number}.lprof"
                self._path = os.path.join(folder, name)
            self._workers += 1

    def end(self) -> None:
        """Write the profile with the last worker; LineprofError."""
        with self._lock:
            self._workers = max(0, self._workers - 1)
            if self._workers:
                return
            profiler, self._profiler = self._profiler, None
            if profiler is not None:
                profiler.discover(None)
                _make_folder(self._path)
                profiler.final_stats().to_file(self._path)

    def write(self) -> str:
        """Write the profile so far, and return its path; LineprofError."""
        with self._lock:
            if self._profiler is None:
                raise LineprofError(
                    "this process has no worker that is profiled",
                    hint="register a ProfilerPlugin first",
                )
            _make_folder(self._path)
            self._profiler.stats_so_far().to_file(self._path)
            return self._path


_profile = _Profile()


def _new_profiler(wanted: tuple[Pattern, ...]) -> LineProfiler:
    if isinstance(getattr(builtins, "profile", None), LineProfiler):
        raise LineprofError(
            "kernprof profiles this process already", hint="leave out one of them"
        )
    profiler = LineProfiler()
    profiler.discover(FunctionFilter(include=wanted, included_only=True))
    return profiler


def _make_folder(path: str) -> None:
    """Make the folder of a file; if that fails, writing the file says why."""
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
