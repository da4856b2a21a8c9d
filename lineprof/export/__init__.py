"""Files for other programs, by the name of their format.

An export's module has two functions of a profile: `content`, which yields the
file's bytes, and, if there is anything to say, `remarks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    from lineprof.model.profile import Profile

__all__ = ["EXPORTS", "Export"]


@dataclass(frozen=True)
class Export:
    """One format that other programs read.

    Its module is imported once it is asked for its content: the formats are
    many, and a command writes one.
    """

    name: str
    suffix: str  # of a file in it
    help: str
    is_text: bool = True  # that a person can read
    module: str = ""  # of lineprof.export; "": of the same name
    prefix: str = ""  # of its functions' names, where a module has several formats

    def content(self, stats: Profile) -> Iterable[bytes]:
        """Yield the file's content, piece by piece."""
        content: Callable[[Profile], Iterable[bytes]] = getattr(
            self._loaded(), f"{self.prefix}content"
        )
        return content(stats)

    def remarks(self, stats: Profile) -> Iterable[str]:
        """Yield what the file says otherwise than the profile, a line each."""
        said = getattr(self._loaded(), f"{self.prefix}remarks", None)
        return () if said is None else said(stats)

    def _loaded(self) -> ModuleType:
        from importlib import import_module  # noqa: PLC0415  # not for --help

        return import_module(f"lineprof.export.{self.module or self.name}")


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
    ),
    Export(
        "collapsed",
        ".collapsed",
        "collapsed stacks, for flamegraph.pl and its kind",
        module="flame_graph",
        prefix="collapsed_",
    ),
    Export(
        "svg",
        ".svg",
        "a flame graph, for a browser",
        module="flame_graph",
        prefix="svg_",
    ),
    Export(
        "pstats",
        ".pstats",
        "for pstats and SnakeViz, by function",
        is_text=False,
    ),
    Export(
        "chrome",
        ".trace.json",
        "a timeline as trace events, for Perfetto and chrome://tracing",
    ),
    Export("perfetto", ".pftrace", "a timeline for ui.perfetto.dev", is_text=False),
    Export(
        "cpuprofile",
        ".cpuprofile",
        "for the developer tools of Chrome and for VS Code",
    ),
    Export(
        "csv",
        ".csv",
        "CSV, one row a line, times in nanoseconds",
        module="tables",
        prefix="csv_",
    ),
    Export(
        "json",
        ".json",
        "JSON, as view --json shows it",
        module="tables",
        prefix="json_",
    ),
    Export(
        "sqlite",
        ".sqlite",
        "an SQLite database with views, for queries of one's own",
        is_text=False,
        module="sqlite_db",
    ),
    Export(
        "line_profiler",
        ".line_profiler.lprof",
        "a .lprof file that line_profiler 3 to 5 reads",
        is_text=False,
    ),
)

EXPORTS = {one.name: one for one in _ALL}
