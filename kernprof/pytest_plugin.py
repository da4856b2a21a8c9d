"""Plugin of pytest: `pytest --lineprof` profiles the project while its tests run.

Functions in pytest's root directory, and in the project around it, are found at
their first call, as those of a whole program; installed packages, pytest among them,
are left out. pytest loads this module in every run: it imports the profiler only if
the flag is given.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

    from lineprof.line_stats import LineStats
    from lineprof.recording.profiler import LineProfiler

_WORKER = "PYTEST_XDIST_WORKER"  # of pytest-xdist, in the environment of its workers


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flags."""
    group = parser.getgroup("lineprof", "line profiler")
    group.addoption(
        "--lineprof",
        action="store_true",
        help="profile the lines of the project that is tested, and of its tests",
    )
    group.addoption(
        "--lineprof-file",
        metavar="FILE",
        default="pytest.lprof",
        help="file for the profile (default: pytest.lprof)",
    )
    for name, verb in (("include", "also profile"), ("exclude", "do not profile")):
        group.addoption(
            f"--lineprof-{name}",
            metavar="NAME",
            action="append",
            default=[],
            help=f"{verb} these files, modules or functions; see `kernprof --help`",
        )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Begin before the project's first module is imported."""
    options = early_config.known_args_namespace
    if not options.lineprof or options.help or options.version:
        return
    from lineprof.errors import LineprofError  # noqa: PLC0415  # with the flag alone

    try:
        profile = TestProfile(early_config, options)
    except LineprofError as error:
        raise pytest.UsageError(f"--lineprof: {error.message}") from None
    early_config.pluginmanager.register(profile, "lineprof-profile")
    early_config.add_cleanup(profile.end)


class TestProfile:
    """The profile of one run of pytest.

    With pytest-xdist each worker writes a part of it, and the process that starts
    the workers adds the parts up.
    """

    __test__ = False  # no class of tests

    def __init__(self, config: pytest.Config, options: argparse.Namespace) -> None:
        """Begin to profile; LineprofError if that is not possible."""
        from kernprof.output_file import OutputFile, output_name  # noqa: PLC0415
        from lineprof.ranks import rank_of_process  # noqa: PLC0415

        self._pid = os.getpid()
        named = output_name(
            options.lineprof_file,
            suffix=".lprof",
            stem="pytest",
            file_name="pytest",
            place=rank_of_process(),
        )
        self._out = OutputFile(named.name)
        self._parts: list[str] = []  # files of the workers
        self._stats: LineStats | None = None
        self._problem = ""
        self._started = False
        self._profiler: LineProfiler | None = None
        self._has_workers = _WORKER not in os.environ and bool(
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
        if self._problem:
            terminalreporter.write_line(f"lineprof: {self._problem}", red=True)
        elif self._stats is not None:
            from lineprof.recording.descriptors import (  # noqa: PLC0415  # imported
                with_descriptors,
            )

            terminalreporter.section(f"lineprof: {self._out.shown}")
            lines: list[str] = []
            with_descriptors(
                lambda: lines.extend(self._screen(terminalreporter, config))
            )
            for line in lines:
                terminalreporter.write_line(line)

    def end(self) -> None:
        """Stop, and write the profile if another plugin's error has prevented that."""
        if self._started:
            self._write()
        if self._profiler is not None:
            self._profiler.discover(None)
            self._profiler = None

    def _write(self) -> None:
        """Write the profile once, and not in a process that a test forked."""
        from lineprof.errors import LineprofError  # noqa: PLC0415
        from lineprof.held_signals import HeldSignals  # noqa: PLC0415
        from lineprof.recording.descriptors import with_descriptors  # noqa: PLC0415

        profiler, self._profiler = self._profiler, None
        if os.getpid() != self._pid or not (profiler or self._has_workers):
            return
        self._has_workers = False
        if profiler:
            profiler.discover(None)
        try:
            with HeldSignals():
                with_descriptors(lambda: self._write_file(profiler))
        except LineprofError as error:
            self._problem = str(error)

    def _write_file(self, profiler: LineProfiler | None) -> None:
        from kernprof.earlier_profile import has_profile, how_kept  # noqa: PLC0415

        self._stats = self._new_stats(profiler)
        path = self._out.path + self._worker_part
        if self._stats.is_empty and has_profile(path):
            self._problem = how_kept(self._out.shown)
        else:
            self._stats.to_file(path)

    def _new_stats(self, profiler: LineProfiler | None) -> LineStats:
        """Return the profile of this process, or the sum of the workers' profiles."""
        from kernprof.recorders import marked  # noqa: PLC0415

        if profiler is None:
            return self._sum()
        return marked(profiler.final_stats(), is_whole=True)

    def _sum(self) -> LineStats:
        """Return the sum of the workers' profiles, and remove these."""
        from lineprof.errors import LineprofError  # noqa: PLC0415
        from lineprof.line_stats import LineStats  # noqa: PLC0415

        parts = [path for path in self._parts if os.path.exists(path)]
        if not parts:
            raise LineprofError("no worker of pytest-xdist has written a profile")
        stats = LineStats.from_files(*parts)
        for path in parts:
            os.unlink(path)
        return stats

    def _screen(
        self, reporter: pytest.TerminalReporter, config: pytest.Config
    ) -> Iterator[str]:
        """Yield what `lineprof view` shows of the profile."""
        import sys  # noqa: PLC0415

        from lineprof.console.output import clean_line, shell_path  # noqa: PLC0415
        from lineprof.console.terminal import Terminal, terminal_of  # noqa: PLC0415
        from lineprof.report import Options, default_view  # noqa: PLC0415
        from lineprof.report.notes import view_with_notes  # noqa: PLC0415
        from lineprof.source import sources_of  # noqa: PLC0415

        stats = self._stats
        if stats is None or stats.why_empty:
            yield f"no function of {config.rootpath} was called"
            return
        writer = config.get_terminal_writer()
        options = Options(
            unit=1e-6,
            brief=True,
            file=shell_path(self._out.shown),
            terminal=Terminal(
                is_terminal=bool(reporter.isatty),
                width=writer.fullwidth if reporter.isatty else None,
                colour=writer.hasmarkup,
                boxes=sys.__stdout__ is None or terminal_of(sys.__stdout__).boxes,
            ),
        )
        sources = sources_of(stats)
        view = default_view(stats, sources, options)
        lines = view_with_notes(view, stats, sources, options, stats.warnings)
        yield from map(clean_line, lines)


def _part(worker: dict[str, Any]) -> str:
    """Return the end of the name of a worker's file."""
    return f".{worker['testrunuid']}-{worker['workerid']}"


def _begin(folder: str, options: argparse.Namespace) -> LineProfiler:
    """Return a profiler of the project in `folder`, which records from now on."""
    import builtins  # noqa: PLC0415

    from kernprof.options import targets  # noqa: PLC0415
    from kernprof.project import around  # noqa: PLC0415
    from kernprof.selection import FunctionFilter  # noqa: PLC0415
    from lineprof.errors import LineprofError  # noqa: PLC0415
    from lineprof.files import current_folder  # noqa: PLC0415
    from lineprof.patterns import check, patterns  # noqa: PLC0415
    from lineprof.recording.profiler import LineProfiler  # noqa: PLC0415

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
    profiler = LineProfiler()
    profiler.discover(selected)
    return profiler
