"""Files for other programs, by the name of their format.

An export's module has two functions of a profile: `content`, which yields the
file's bytes, and, if there is anything to say, `remarks`.
"""

from __future__ import annotations

from lineprof.exports.export import Export

__all__ = ["EXPORTS", "Export"]

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
        "collapsed", ".collapsed", "collapsed stacks, for flamegraph.pl and its kind"
    ),
    Export("svg", ".svg", "a flame graph, for a browser"),
    Export(
        "pstats",
        ".pstats",
        "for pstats and SnakeViz, by function",
        is_text=False,
        module="pstats_",
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
        module="csv_",
    ),
    Export("json", ".json", "JSON, as view --json shows it", module="json_"),
    Export(
        "sqlite",
        ".sqlite",
        "an SQLite database with views, for queries of one's own",
        is_text=False,
        module="sqlite_",
    ),
    Export(
        "line_profiler",
        ".line_profiler.lprof",
        "a .lprof file that line_profiler 3 to 5 reads",
        is_text=False,
    ),
)
EXPORTS = {one.name: one for one in _ALL}
