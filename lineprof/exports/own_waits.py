"""How much of a line's own time was waiting, and how much of each call's.

The profile knows for how long a line waited, with all that it called. What a
call waited is taken to be the part of its time that its function waited in
all: that is exact where a function is called from one place. What is left of
the line's waiting is its own.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lineprof.call_edges import Edge, EdgeKey
    from lineprof.records import Key
    from lineprof.stats import Profile

    Line = tuple[Key, int]


class OwnWaits:
    """The waiting (ns) of lines without what they called, and of edges."""

    def __init__(
        self, stats: Profile, calls: Sequence[Edge], own_ns: Mapping[Line, int]
    ) -> None:
        """Take the edges of `stats`, and the own time of all its lines."""
        waits: dict[Line, int] = {}
        functions: dict[Key, int] = {}
        for wait in stats.waits:
            place = (wait.function, wait.line)
            waits[place] = waits.get(place, 0) + wait.ns
            functions[wait.function] = functions.get(wait.function, 0) + wait.ns
        times = {
            function.key: sum(cell.time_ns for cell in function.cells)
            for function in stats.functions
            if function.key in functions
        }
        self.edges: dict[EdgeKey, int] = {}
        for edge in calls:
            time = times.get(edge.callee, 0)
            if not time:
                continue
            waited = functions[edge.callee]
            known = (edge.caller, edge.line, edge.callee)
            self.edges[known] = waited * edge.total_ns // time
            if edge.caller is not None:
                place = (edge.caller, edge.line)
                below = waited * edge.inclusive_ns // time
                waits[place] = waits.get(place, 0) - below
        self.lines = {
            place: min(ns, own_ns.get(place, 0))
            for place, ns in waits.items()
            if ns > 0
        }
