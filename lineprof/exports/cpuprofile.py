"""A profile as V8 writes one, for Chrome's developer tools and VS Code.

The format: "Profiler.Profile" of the Chrome DevTools Protocol. A hit and a
tick are a microsecond here, so that what readers make of them is the time.
"""

from __future__ import annotations

from lineprof.exports.call_order import is_deeper
from lineprof.exports.cpuprofile_nodes import Nodes
from lineprof.exports.cpuprofile_samples import of_calls, of_traces
from lineprof.exports.pieces import Pieces
from lineprof.exports.stacks import remarks_of_calls
from lineprof.exports.timeline_slices import MOST_DEEP
from lineprof.short_names import names_of_profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.stats import Profile


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the JSON; times in microseconds."""
    nodes, pieces = Nodes(stats, names_of_profile(stats)), Pieces()
    try:
        make = of_traces if stats.traces else of_calls
        keys, end_us = make(stats, nodes, pieces)
        yield b'{"nodes":['
        yield from nodes.chunks()
        yield f'],\n"startTime":0,"endTime":{end_us}'.encode()
        for array in ("samples", "timeDeltas"):
            yield f',\n"{array}":['.encode()
            comma = False
            for key in keys:
                for chunk in pieces.take((key, array)):
                    yield chunk if comma else chunk[1:]
                    comma = comma or bool(chunk)
            yield b"]"
        yield b"}\n"
    finally:
        pieces.close()


def remarks(stats: Profile) -> Iterator[str]:
    """Yield what a reader of the file should know, a line each."""
    if not stats.traces:
        yield (
            "the run had no --trace: the times are right, but the order of what is"
            " shown as a timeline is not that of time"
        )
        yield from remarks_of_calls(stats)
        if is_deeper(stats.calls.nodes, MOST_DEEP):
            yield (
                f"calls that are more than {MOST_DEEP} deep are shown side by side,"
                " for readers go no deeper"
            )
    if len(stats.threads) > 1:
        yield "the format knows one thread: they are shown one after the other"
    left_out = sum(one.left_out for one in stats.traces)
    if left_out:
        yield f"{left_out} slices are not in the trace: there was no room for them"
