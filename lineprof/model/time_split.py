"""Split of a line's time: Python, C functions, system, waiting and callees."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.call_graph import calling_lines
from lineprof.model.records import C_SYSTEM, C_WAIT, DEEPER, PARTS, SYSTEM, WAIT

if TYPE_CHECKING:
    from lineprof.model.call_graph import Line
    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode, CallTree, Key, MergedCall

    LineTimes = dict[Line, int]  # ns


class TimeSplit(NamedTuple):
    """Parts of a line's time (ns); their sum is the line's time."""

    python_ns: int  # on a processor, in none of the others
    native_ns: int  # on a processor, in C functions that the line called
    system_ns: int  # on a processor, in the kernel, called from Python or from C
    own_wait_ns: int  # off-CPU, without profiled Python functions
    callees_ns: int  # in profiled Python functions that it or its C functions called

    @property
    def time_ns(self) -> int:
        """The line's time (ns)."""
        return sum(self)


def line_time_splits(profile: Profile) -> dict[Key, dict[int, TimeSplit]]:
    """Return the split of each line that has time; {} if the run did not ask for it.

    Python functions without a profile count for their caller: the line, or the C
    function that called them back. A part that would be longer than the time it is
    part of, by the core's rounding or the coarse clock of the system, is cut to it.
    """
    if not profile.breakdowns:
        return {}
    parts: dict[str, LineTimes] = {part: defaultdict(int) for part in PARTS}
    for one in profile.breakdowns:
        parts[one.part][one.function, one.line] += one.ns
    in_c, in_python = _callee_times(profile.calls)
    found: dict[Key, dict[int, TimeSplit]] = {}
    for function in profile.functions:
        for row in function.rows:
            place = (function.key, row.line)
            if row.time_ns:
                callees_ns = min(in_python.get(place, 0), row.time_ns)
                c_ns = min(in_c.get(place, 0), row.time_ns - callees_ns)
                found.setdefault(function.key, {})[row.line] = _split(
                    self_ns=row.time_ns - callees_ns - c_ns,
                    c_ns=c_ns,
                    callees_ns=callees_ns,
                    parts={part: parts[part].get(place, 0) for part in PARTS},
                )
    return found


def _split(
    *, self_ns: int, c_ns: int, callees_ns: int, parts: dict[str, int]
) -> TimeSplit:
    """Return the split of a line's self time and of the time of its C functions."""
    wait_ns = min(parts[WAIT], self_ns)
    system_ns = min(parts[SYSTEM], self_ns - wait_ns)
    c_wait_ns = min(parts[C_WAIT], c_ns)
    c_system_ns = min(parts[C_SYSTEM], c_ns - c_wait_ns)
    return TimeSplit(
        python_ns=self_ns - wait_ns - system_ns,
        native_ns=c_ns - c_wait_ns - c_system_ns,
        system_ns=system_ns + c_system_ns,
        own_wait_ns=wait_ns + c_wait_ns,
        callees_ns=callees_ns,
    )


def _callee_times(tree: CallTree) -> tuple[LineTimes, LineTimes]:
    """Return the times (ns) of lines in C functions and in Python functions.

    A call from within a C function counts for the line that called the C function.
    """
    in_c: LineTimes = defaultdict(int)
    in_python: LineTimes = defaultdict(int)
    lines = calling_lines(tree.nodes)

    def add(line: Line | None, call: CallNode | MergedCall) -> None:
        if line is None or call.function == DEEPER:
            return
        if call.function[0]:
            in_python[line] += call.inclusive_ns
        else:
            in_c[line] += call.self_ns

    for node, line in zip(tree.nodes, lines):
        add(line, node)
    if tree.merged:
        # A C function has the line that called it first: its calls have no path.
        known: dict[Key, Line | None] = {}
        for node, line in zip(tree.nodes, lines):
            known.setdefault(node.function, line)
        for one in tree.merged:
            line = None
            if one.caller is not None:
                is_python = bool(one.caller[0])
                line = (one.caller, one.line) if is_python else known.get(one.caller)
            known.setdefault(one.function, line)
            add(line, one)
    return in_c, in_python
