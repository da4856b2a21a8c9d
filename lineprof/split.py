"""Each line's time split: Python, C functions, the system, waiting, and calls."""

from __future__ import annotations

from typing import NamedTuple

from lineprof.call_records import NO_NODE
from lineprof.own_records import C_SYSTEM, C_WAIT, PARTS, SYSTEM, WAIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprof.call_records import CallTree
    from lineprof.records import Key
    from lineprof.stats import Profile

    Place = tuple[Key, int]  # function, its line
    Sums = dict[Place, int]  # ns


class Split(NamedTuple):
    """What a line's time was: together, these are its time (ns)."""

    python_ns: int  # on a processor, in none of the others
    native_ns: int  # on a processor, in C functions that the line called
    system_ns: int  # on a processor, in the kernel, wherever it was called from
    own_wait_ns: int  # on no processor, profiled Python functions apart
    callees_ns: int  # in profiled Python functions that it or its C functions called

    @property
    def time_ns(self) -> int:
        """The line's time."""
        return (
            self.python_ns
            + self.native_ns
            + self.system_ns
            + self.own_wait_ns
            + self.callees_ns
        )


def split_of_lines(stats: Profile) -> dict[Key, dict[int, Split]]:
    """Return the parts of the time of each line that has any.

    It is {} for a profile that was not asked for them. What C functions call back
    that is not profiled is theirs; a Python function that is not profiled is the
    line's own. Where the core's rounding, or the grain of the system's clock, would
    make a part longer than what it is part of, it is as long as that.
    """
    if not stats.own_times:
        return {}
    parts: dict[str, Sums] = {part: {} for part in PARTS}
    for one in stats.own_times:
        sums, place = parts[one.part], (one.function, one.line)
        sums[place] = sums.get(place, 0) + one.ns
    native, calls = _called(stats.calls)
    found: dict[Key, dict[int, Split]] = {}
    for function in stats.functions:
        for row in function.rows:
            place = (function.key, row.line)
            if row.time_ns:
                below = min(calls.get(place, 0), row.time_ns)
                of_c = min(native.get(place, 0), row.time_ns - below)
                own = row.time_ns - below - of_c
                found.setdefault(function.key, {})[row.line] = _split(
                    own,
                    of_c,
                    below,
                    {part: parts[part].get(place, 0) for part in PARTS},
                )
    return found


def _split(own: int, of_c: int, calls: int, parts: dict[str, int]) -> Split:
    """Return the parts of a line's own time and that of its C functions."""
    waited = min(parts[WAIT], own)
    system = min(parts[SYSTEM], own - waited)
    c_waited = min(parts[C_WAIT], of_c)
    c_system = min(parts[C_SYSTEM], of_c - c_waited)
    return Split(
        python_ns=own - waited - system,
        native_ns=of_c - c_waited - c_system,
        system_ns=system + c_system,
        own_wait_ns=waited + c_waited,
        callees_ns=calls,
    )


def _called(tree: CallTree) -> tuple[Sums, Sums]:
    """Return what lines called: time in C functions, and in those of Python.

    A call from within a C function is one of the line that called that.
    """
    native: Sums = {}
    calls: Sums = {}
    lines: list[Place | None] = []  # of Python, from which each node was called
    for node in tree.nodes:
        line = None
        if node.parent != NO_NODE:
            above = tree.nodes[node.parent].function
            line = (above, node.line) if above[0] else lines[node.parent]
        lines.append(line)
        if line is not None:
            sums, ns = (
                (calls, node.inclusive_ns)
                if node.function[0]
                else (native, node.self_ns)
            )
            sums[line] = sums.get(line, 0) + ns
    return native, calls
