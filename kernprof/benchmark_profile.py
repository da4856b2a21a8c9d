"""Profiles of pytest-benchmark's benchmarks: of the slowest one, or of each.

A benchmark that is slower than all before it is called once more under the profiler,
right after its last round, in its test: its fixtures, arguments and patches are there,
and it has just been called often in that state. The rounds themselves run without
a profiler, as do the benchmarks that follow. To run the slowest test again at the end
would set up its fixtures anew, those of the session too.
"""

from __future__ import annotations

import os
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kernprof.extra_call import profile_of_call, stem_of, why_not
from kernprof.output_file import Names, OutputFile, output_of
from kernprof.pytest_profile import WORKER, project_filter, write_screen
from lineprof.console.output import clean_line
from lineprof.errors import LineprofError
from lineprof.files import current_folder
from lineprof.held_signals import HeldSignals
from lineprof.ranks import rank_of_process
from lineprof.recording.descriptors import with_descriptors
from lineprof.report.text_grid import in_words

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from types import CodeType
    from typing import Any

    from lineprof.line_stats import LineStats

_WATCHED = "_lineprof_watched"  # attribute of the class of a fixture


class _Run(NamedTuple):
    """A call that pytest-benchmark has measured."""

    function: Callable[..., object]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    setup: Callable[[], Any] | None = None
    teardown: Callable[..., object] | None = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> _Run:
        """Return the run that a call of the fixture measures, by its arguments."""
        return cls(
            function=given["function_to_benchmark"],
            args=given.get("args", ()),
            kwargs=given.get("kwargs", {}),
        )

    @classmethod
    def of_pedantic(cls, given: dict[str, Any]) -> _Run:
        """Return the run that a call of `pedantic` measures, by its arguments."""
        return cls(
            function=given["target"],
            args=given.get("args", ()),
            kwargs=given.get("kwargs") or {},
            setup=given.get("setup"),
            teardown=given.get("teardown"),
        )

    def profile(self, selected: Callable[[CodeType], bool | None]) -> LineStats:
        """Return the profile of one more call, without its setup and teardown.

        pytest-benchmark 3 ran its cProfile without a setup, and so another call than
        those that it had measured (its issue 89).
        """
        args, kwargs = (self.setup and self.setup()) or (self.args, self.kwargs)
        try:
            return profile_of_call(
                lambda: self.function(*args, **kwargs), [self.function], selected
            )
        finally:
            if self.teardown:
                self.teardown(*args, **kwargs)


class _Measured(NamedTuple):
    """A benchmark that was measured, and the profile of one more call."""

    fixture: Any  # of pytest-benchmark
    median_s: float
    stats: LineStats | None  # None if there is no profile, because of
    problem: str
    file: OutputFile | None = None  # None as long as it is not written

    @property
    def name(self) -> str:
        """The node id of the test."""
        return str(self.fixture.fullname)


class BenchmarkProfile:
    """Plugin of one run of pytest: profiles the slowest benchmark, or `all`."""

    def __init__(self, config: pytest.Config, options: argparse.Namespace) -> None:
        """Take the options; LineprofError if they ask for what is not possible."""
        if not hasattr(options, "benchmark_disable"):
            raise LineprofError("the plugin pytest-benchmark is not loaded")
        if options.lineprof:
            raise LineprofError(
                "--lineprof profiles the timed rounds as well: leave out one of them"
            )
        self._pid = os.getpid()
        self._keeps_all = options.lineprof_benchmark == "all"
        self._template: str | None = options.lineprof_file
        self._start = current_folder()
        self._selected = project_filter(str(config.rootpath), options)
        self._measured: list[_Measured] = []
        one, other = self._file("a"), self._file("b")
        if self._keeps_all and one.path == other.path:
            raise LineprofError(
                f"{one.name!r} is one file for all benchmarks: add %s,"
                " the benchmark, to --lineprof-file"
            )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Iterator[None]:
        """Watch the fixture of pytest-benchmark, also if a test asks for it late."""
        yield
        fixture = fixturedef.cached_result[0] if fixturedef.cached_result else None
        kind = type(fixture)
        is_other = kind.__module__.partition(".")[0] != "pytest_benchmark"
        if fixturedef.argname != "benchmark" or is_other or hasattr(kind, _WATCHED):
            return  # it may be a fixture around that of pytest-benchmark
        fixture.__class__ = _watched(kind, self._note)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Iterator[None]:
        """Write the profiles before pytest-benchmark writes its JSON, which names them.

        Not in a process that a test forked.
        """
        if os.getpid() == self._pid:
            with HeldSignals():
                with_descriptors(self._write)
        yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> Iterator[None]:
        """Print the first screen below the table of pytest-benchmark.

        Also if that raises the error of --benchmark-compare-fail.
        """
        yield
        for line in self._problems(config.option):
            terminalreporter.write_line(f"lineprof: {line}", red=True)
        written = [
            (one, one.stats, one.file.shown)
            for one in self._measured
            if one.stats and one.file
        ]
        if self._keeps_all and written:
            terminalreporter.section("lineprof: one more call of each benchmark")
        for one, stats, shown in written:
            text = f"{one.name}, median {in_words(round(one.median_s * 1e9))}"
            if self._keeps_all:
                terminalreporter.write_line(clean_line(f"{shown}: {text}"))
                continue
            terminalreporter.section(f"lineprof: {shown}")
            text = f"one more call of the slowest benchmark: {text}"
            terminalreporter.write_line(clean_line(text))
            write_screen(stats, shown, terminalreporter, config)

    def _note(self, fixture: Any, run: _Run) -> None:  # noqa: ANN401  # its type
        """Profile a run that was just measured, if that profile is to be kept.

        An exception is noted, and the test goes on, unless a user has interrupted it.
        """
        median = fixture.stats["median"]
        is_slowest = all(median > one.median_s for one in self._measured)
        if not (self._keeps_all or is_slowest):
            return
        stats, problem = None, ""
        try:
            stats = run.profile(self._selected)
        except BaseException as error:  # of the benchmark
            problem = why_not(error)
            if isinstance(error, KeyboardInterrupt):
                raise
        finally:
            one = _Measured(
                fixture=fixture, median_s=median, stats=stats, problem=problem
            )
            self._measured = [*(self._measured if self._keeps_all else ()), one]

    def _write(self) -> None:
        """Write the profiles, and name them in the data of pytest-benchmark."""
        taken: set[str] = set()  # paths without upper case, which a disk may ignore
        for place, one in enumerate(self._measured):
            if one.stats is None:
                continue
            stem = _stem(one.name)
            try:
                while (file := self._file(stem)).path.casefold() in taken:
                    stem = f"{stem}-{place}"
                one.stats.to_file(file.path)
            except LineprofError as error:
                self._measured[place] = one._replace(problem=str(error))
            else:
                taken.add(file.path.casefold())
                self._measured[place] = one._replace(file=file)
                one.fixture.extra_info["lineprof"] = file.shown

    def _file(self, stem: str) -> OutputFile:
        """Return the file for the benchmark that `stem` stands for; UsageError."""
        template = self._template
        if current_folder() != self._start:  # a test has changed it
            template = os.path.join(self._start, template or "")
        names = Names(stem=stem, file_name=stem, place=rank_of_process())
        return output_of(template, names).file

    def _problems(self, option: argparse.Namespace) -> Iterator[str]:
        """Yield why there is no profile."""
        for one in self._measured:
            if one.problem:
                yield clean_line(f"{one.name} was not profiled: {one.problem}")
        if self._measured or WORKER in os.environ or option.collectonly:
            return
        why = ""
        if getattr(option, "dist", "no") != "no":
            why = ", as pytest-xdist switches them off: leave out -n and --dist"
        elif option.benchmark_skip or option.benchmark_disable:
            flag = "skip" if option.benchmark_skip else "disable"
            why = f", because of --benchmark-{flag}"
        yield f"no benchmark was measured{why}"


def _watched(kind: Any, note: Callable[[Any, _Run], None]) -> type:  # noqa: ANN401
    """Return the class of the fixture `benchmark` `kind`, which notes what it measured.

    It is made of the fixture's public calls alone.
    """

    @wraps(kind.__call__)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> object:  # noqa: ANN401
        __tracebackhide__ = True
        result = kind.__call__(self, *args, **kwargs)
        if self.stats:
            given = signature(kind.__call__).bind(self, *args, **kwargs)
            note(self, _Run.of(given.arguments))
        return result

    @wraps(kind.pedantic)
    def pedantic(self: Any, /, *args: Any, **kwargs: Any) -> object:  # noqa: ANN401
        __tracebackhide__ = True
        result = kind.pedantic(self, *args, **kwargs)
        if self.stats:
            given = signature(kind.pedantic).bind(self, *args, **kwargs)
            note(self, _Run.of_pedantic(given.arguments))
        return result

    own = {"__call__": call, "pedantic": pedantic, _WATCHED: True}
    for name in ("__doc__", "__module__", "__qualname__"):  # as tracebacks show them
        own[name] = getattr(kind, name)
    return type(kind.__name__, (kind,), own)


def _stem(name: str) -> str:
    """Return a name of a file for a test's node id: test_sort-test_list-10."""
    path, _, rest = name.partition("::")
    return stem_of(f"{os.path.basename(path).removesuffix('.py')}-{rest}")
