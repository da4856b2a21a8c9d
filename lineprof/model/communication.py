"""The time of lines and calls in collectives, and in messages between processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.model.call_graph import with_children
from lineprof.model.collectives import is_collective
from lineprof.model.records import NO_NODE, node_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode, Key


def line_mpi_ns(profile: Profile) -> dict[Key, dict[int, int]]:
    """Return the time (ns) in collectives and messages of each line that has any.

    As the line's time does, it includes callees, however deep. Functions called by a
    collective are part of it; lines in a collective have no MPI time themselves. In
    recursion, a line that calls a function which is open already lacks the messages
    of that call: the call tree has them at the outermost call.
    """
    nodes = profile.calls.nodes
    sums = node_mpi_ns(nodes)
    found: dict[Key, dict[int, int]] = {}
    for node, ns in zip(nodes, sums):
        if not ns or node.parent == NO_NODE:
            continue
        caller = nodes[node.parent].function
        if caller[0]:  # a call path has each function once, and so each line
            lines = found.setdefault(caller, {})
            lines[node.line] = lines.get(node.line, 0) + ns
    for one in profile.calls.merged:  # which lines are further out is not known
        if one.caller is not None and one.caller[0] and is_collective(one.function):
            lines = found.setdefault(one.caller, {})
            lines[one.line] = lines.get(one.line, 0) + one.inclusive_ns
    return found


def node_mpi_ns(nodes: Sequence[CallNode]) -> list[int]:
    """Return the time (ns) in collectives and messages of each node of a call tree.

    It includes that of all nodes below. Nodes below a collective have none: that time
    is the collective's.
    """
    columns = node_columns(nodes)
    collectives = {i for i, key in enumerate(columns.functions) if is_collective(key)}
    sums = [0] * len(columns)
    if not collectives:
        return sums
    is_within = [False] * len(columns)
    parents = columns.column("parent")
    called, inclusive = columns.column("function"), columns.column("inclusive_ns")
    for index, parent in enumerate(parents):
        is_below = parent != NO_NODE and is_within[parent]
        is_within[index] = is_below or called[index] in collectives
        if is_within[index] and not is_below:
            sums[index] = inclusive[index]
    return with_children(sums, parents)
