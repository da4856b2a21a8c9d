"""The profile of one run of pytest, from before the first module of the project."""

from __future__ import annotations

import builtins
import os

import pytest

from kernprof.earlier_profile import has_profile, how_kept
from kernprof.line_recorder import marked
from kernprof.options import targets
from kernprof.output_file import Names, output_of
from kernprof.project import around
from kernprof.selection import FunctionFilter
from lineprof.errors import LineprofError
from lineprof.files import current_folder
from lineprof.held_signals import HeldSignals
from lineprof.line_stats import LineStats
from lineprof.patterns import check, patterns
from lineprof.ranks import rank_of_process
from lineprof.recording.core import new_memory_recorder
from lineprof.recording.descriptors import with_descriptors
from lineprof.recording.profiler import LineProfiler, begin_memory, end_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

_FILE = "pytest.lprof"
WORKER = "PYTEST_XDIST_WORKER"  # of pytest-xdist, in the environment of its workers


class TestProfile:
    """The profile of one run of pytest.

    With pytest-xdist each worker writes a part of it, and the process that starts
    the workers adds the parts up.
    """

    __test__ = False  # no class of tests

    def __init__(self, config: pytest.Config, options: argparse.Namespace) -> None:
        """Begin to profile; LineprofError if that is not possible."""
        self._pid = os.getpid()
        names = Names(stem="pytest", file_name="pytest", place=rank_of_process())
        self._out = output_of(options.lineprof_file or _FILE, names).file
        self._parts: list[str] = []  # files of the workers
        self._stats: LineStats | None = None
        self._problem = ""
        self._started = False
        self._profiler: LineProfiler | None = None
        self._has_workers = WORKER not in os.environ and bool(
            getattr(options, "numprocesses", None) or getattr(options, "tx", None)
        )
        self._worker_part = ""  # of the name of this worker's file
        if not self._has_workers:
            self._profiler = _begin(str(config.rootpath), options)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Note that tests will run, and whether this process is a worker."""
        self._started = True
        worker = getattr(session.config, "workerinput", None)
        if worker is not None:
            self._worker_part = _part(worker)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401  # of pytest-xdist
        """Note the file of a worker that pytest-xdist is about to start."""
        self._parts.append(self._out.path + _part(node.workerinput))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write the profile, after the last fixture has ended."""
        self._write()

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Print the first screen."""
        if _has_measured(config):
            terminalreporter.write_line(
                "lineprof: the times of the benchmarks include the profiler's; measure"
                " them without --lineprof, or with --lineprof-benchmark=slowest"
            )
        if self._problem:
            terminalreporter.write_line(f"lineprof: {self._problem}", red=True)
        elif self._stats is not None:
            shown = self._out.shown
            terminalreporter.section(f"lineprof: {shown}")
            write_screen(self._stats, shown, terminalreporter, config)

    def end(self) -> None:
        """Stop, and write the profile if another plugin's error has prevented that."""
        if self._started:
            self._write()
        if self._profiler is not None:
            self._profiler.discover(None)
            self._profiler = None

    def _write(self) -> None:
        """Write the profile once, and not in a process that a test forked."""
        profiler, self._profiler = self._profiler, None
        if os.getpid() != self._pid or not (profiler or self._has_workers):
            return
        self._has_workers = False
        if profiler:
            end_memory(profiler)
            profiler.discover(None)
        try:
            with HeldSignals():
                with_descriptors(lambda: self._write_file(profiler))
        except LineprofError as error:
            self._problem = str(error)

    def _write_file(self, profiler: LineProfiler | None) -> None:
        self._stats = self._new_stats(profiler)
        path = self._out.path + self._worker_part
        if self._stats.is_empty and has_profile(path):
            self._problem = how_kept(self._out.shown)
        else:
            self._stats.to_file(path)

    def _new_stats(self, profiler: LineProfiler | None) -> LineStats:
        """Return the profile of this process, or the sum of the workers' profiles."""
        if profiler is None:
            return self._sum()
        return marked(profiler.final_stats(), is_whole=True)

    def _sum(self) -> LineStats:
        """Return the sum of the workers' profiles, and remove these."""
        parts = [path for path in self._parts if os.path.exists(path)]
        if not parts:
            raise LineprofError("no worker of pytest-xdist has written a profile")
        stats = LineStats.from_files(*parts)
        for path in parts:
            os.unlink(path)
        return stats


def _part(worker: dict[str, Any]) -> str:
    """Return the end of the name of a worker's file."""
    return f".{worker['testrunuid']}-{worker['workerid']}"


def write_screen(
    stats: LineStats,
    file: str,
    reporter: pytest.TerminalReporter,
    config: pytest.Config,
) -> None:
    """Write the first screen of a profile, which is in `file`."""
    lines: list[str] = []

    def make() -> None:
        from kernprof.pytest_screen import screen_of  # noqa: PLC0415  # at the end

        lines.extend(screen_of(stats, file, reporter, config))

    with_descriptors(make)
    for line in lines:
        reporter.write_line(line)


def _has_measured(config: pytest.Config) -> bool:
    """Return whether pytest-benchmark has measured something in this run."""
    session = config.pluginmanager.getplugin("pytest-benchmark")
    return any(getattr(session, "benchmarks", ()))


def project_filter(folder: str, options: argparse.Namespace) -> FunctionFilter:
    """Return the filter of the project in `folder`; LineprofError if none can be used.

    It also has the names of --lineprof-include and --lineprof-exclude.
    """
    if isinstance(getattr(builtins, "profile", None), LineProfiler):
        raise LineprofError("kernprof profiles this run already: leave out one of them")
    here = current_folder()
    include = targets(options.lineprof_include)
    exclude = targets(options.lineprof_exclude)
    for name in (*include, *exclude):
        check(name)
    selected = FunctionFilter(
        include=patterns(include, here), exclude=patterns(exclude, here)
    )
    selected.begin_packages(around(folder))
    return selected


def _begin(folder: str, options: argparse.Namespace) -> LineProfiler:
    """Return a profiler of the project in `folder`, which records from now on."""
    selected = project_filter(folder, options)
    memory = new_memory_recorder(options.lineprof_memory or None, None)
    profiler = LineProfiler(memory=memory or False)
    profiler.discover(selected)
    begin_memory(profiler)
    return profiler
