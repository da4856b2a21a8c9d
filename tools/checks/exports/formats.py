"""Table of the export formats and their readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.checks.exports import (
    callgrind,
    devtools,
    graphs,
    perfetto,
    pprof,
    speedscope,
    sqlite_files,
    svg,
    tables,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tools.checks.exports.workspace import Workspace


class Check(NamedTuple):
    """A format, and a reader of it.

    `check` takes the workspace, the profile and its export, and returns a summary for
    the report; `check` raises Mismatch or MissingReader.
    """

    format: str
    suffix: str  # of the file, as its readers need
    reader: str
    check: Callable[[Workspace, Path, Path], str]


CHECKS = (
    Check("callgrind", "callgrind", "callgrind_annotate", callgrind.annotate),
    Check("callgrind", "callgrind", "gprof2dot", graphs.gprof2dot),
    Check("callgrind", "callgrind", "speedscope", speedscope.lines),
    Check("pprof", "pb.gz", "pprof", pprof.samples),
    Check("pprof", "pb.gz", "pprof -list", pprof.listing),
    Check("pprof", "pb.gz", "speedscope", speedscope.lines),
    Check("speedscope", "speedscope.json", "its schema", speedscope.schema),
    Check("speedscope", "speedscope.json", "speedscope", speedscope.own),
    Check("collapsed", "collapsed", "speedscope", speedscope.functions),
    Check("collapsed", "collapsed", "gprof2dot", graphs.gprof2dot),
    Check("svg", "svg", "Chromium", svg.clicked),
    Check("pstats", "pstats", "pstats", graphs.pstats_module),
    Check("pstats", "pstats", "gprof2dot", graphs.gprof2dot),
    Check("pstats", "pstats", "snakeviz", graphs.snakeviz),
    Check("chrome", "trace.json", "Perfetto", perfetto.check),
    Check("chrome", "trace.json", "speedscope", speedscope.anything),
    Check("perfetto", "pftrace", "Perfetto", perfetto.check),
    Check("cpuprofile", "cpuprofile", "DevTools", devtools.check),
    Check("cpuprofile", "cpuprofile", "speedscope", speedscope.samples),
    Check("csv", "csv", "Python's csv", tables.rows),
    Check("json", "json", "Python's json", tables.values),
    Check("sqlite", "sqlite", "sqlite3", sqlite_files.shell),
    Check("line_profiler", "line_profiler.lprof", "line_profiler", tables.theirs),
)
