"""Exports: files for other programs, by the name of their format.

A format is an entry of the table below and a module of its name. The module has two
functions of a profile: `content` yields the bytes of the file, `remarks` the
differences from the profile, one line each. In a module with several formats they
are called `<format>_content` and `<format>_remarks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from lineprof.model.profile import Profile

__all__ = ["EXPORTS", "Export"]


@dataclass(frozen=True)
class Export:
    """One file format of other programs.

    Its module is imported when its functions are first called: there are many
    formats, and a command writes one.
    """

    name: str
    suffix: str  # of a file's name
    help: str
    is_text: bool = True  # and not binary
    module: str = ""  # of lineprof.export, if it has several formats; "": `name`
    has_timeline: bool = False  # has the slices of a run with --trace
    metrics: tuple[str, ...] = ()  # what its one number can be, the default first

    def content(self, profile: Profile, **options: str) -> Iterable[bytes]:
        """Yield the content of the file, in chunks; `options` are a `metric`, if any.

        Raises OSError if a temporary file is needed and cannot be written.
        """
        chunks: Iterable[bytes] = self._function("content")(profile, **options)
        return chunks

    def remarks(self, profile: Profile, **options: str) -> Iterable[str]:
        """Yield how the file differs from the profile, one line each."""
        lines: Iterable[str] = self._function("remarks")(profile, **options)
        return lines

    def _function(self, name: str) -> Callable[..., Any]:
        """Return the function of that name of the format's module."""
        module = import_module(f"lineprof.export.{self.module or self.name}")
        function: Callable[..., Any] = getattr(
            module, f"{self.name}_{name}" if self.module else name
        )
        return function


_ALL = (
    Export(
        "callgrind",
        ".callgrind",
        "for KCachegrind, QCachegrind and callgrind_annotate, by line",
    ),
    Export("pprof", ".pb.gz", "for go tool pprof, by line", is_text=False),
    Export(
        "speedscope",
        ".speedscope.json",
        "for speedscope.app, by function and by line",
        has_timeline=True,
    ),
    Export(
        "collapsed",
        ".collapsed",
        "collapsed stacks, for flamegraph.pl and its kind",
        module="flame_graph",
        metrics=("time", "gpu", "host-alloc", "host-live", "host-peak"),
    ),
    Export("svg", ".svg", "a flame graph, for a browser", module="flame_graph"),
    Export("pstats", ".pstats", "for pstats and SnakeViz, by function", is_text=False),
    Export(
        "chrome",
        ".trace.json",
        "a timeline as trace events, for Perfetto and chrome://tracing",
        has_timeline=True,
    ),
    Export(
        "perfetto",
        ".pftrace",
        "a timeline for ui.perfetto.dev",
        is_text=False,
        has_timeline=True,
    ),
    Export(
        "cpuprofile",
        ".cpuprofile",
        "for the developer tools of Chrome and for VS Code",
        has_timeline=True,
    ),
    Export("csv", ".csv", "CSV, one row a line, times in nanoseconds", module="tables"),
    Export("json", ".json", "JSON, as view --json shows it", module="tables"),
    Export(
        "sqlite",
        ".sqlite",
        "an SQLite database with tables and views, for SQL queries",
        is_text=False,
        module="sqlite_db",
        has_timeline=True,
    ),
    Export(
        "line_profiler",
        ".line_profiler.lprof",
        "a .lprof file that line_profiler 3 to 5 reads",
        is_text=False,
    ),
)

EXPORTS = {one.name: one for one in _ALL}
