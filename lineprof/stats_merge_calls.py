"""Calls, waits and traces of several profiles become one's."""

from __future__ import annotations

from dataclasses import replace

from lineprof.call_records import NO_CALLS, NO_NODE, CallNode, CallTree
from lineprof.own_records import OwnTime
from lineprof.records import UNKNOWN_THREAD
from lineprof.wait_records import Wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lineprof.records import Key
    from lineprof.stats import Profile
    from lineprof.trace_records import Trace

    Way = tuple[int, int, Key, int]  # parent, line, function, thread


def _moved(thread: int, by: int) -> int:
    """Return a thread's index, with so many others before it."""
    return thread if thread == UNKNOWN_THREAD else thread + by


def _shifts(profiles: Iterable[Profile]) -> Iterator[tuple[Profile, int]]:
    """Yield each profile and how many threads those before it have."""
    threads = 0
    for profile in profiles:
        yield profile, threads
        threads += len(profile.threads)


def calls_of(profiles: Sequence[Profile]) -> CallTree:
    """Return one tree of all calls, with the threads' indexes moved on.

    Nodes become one where thread, function and line are the same, and those of
    all nodes above them up to the root, too.
    """
    trees = [(one.calls, by) for one, by in _shifts(profiles) if one.calls != NO_CALLS]
    if not trees:
        return NO_CALLS
    if len(trees) == 1 and not trees[0][1]:
        return trees[0][0]
    places: dict[Way, int] = {}
    nodes: list[CallNode] = []
    for tree, by in trees:
        _add_tree(tree, by, places, nodes)
    return CallTree(tuple(nodes), sum(tree.folded for tree, _ in trees))


def _add_tree(
    tree: CallTree, by: int, places: dict[Way, int], nodes: list[CallNode]
) -> None:
    """Add a tree to `nodes`; `places` has the index there of each way."""
    new: list[int] = []  # by the index in the tree
    for node in tree.nodes:
        parent = node.parent if node.parent == NO_NODE else new[node.parent]
        thread = _moved(node.thread, by)
        way = (parent, node.line, node.function, thread)
        place = places.setdefault(way, len(nodes))
        new.append(place)
        if place < len(nodes):
            nodes[place] = _sum(nodes[place], node)
            continue
        nodes.append(node._replace(parent=parent, thread=thread))


def _sum(one: CallNode, other: CallNode) -> CallNode:
    """Return the node `one` with the numbers of `other` added to its own."""
    return one._replace(
        calls=one.calls + other.calls,
        primitive_calls=one.primitive_calls + other.primitive_calls,
        self_ns=one.self_ns + other.self_ns,
        total_ns=one.total_ns + other.total_ns,
        inclusive_ns=one.inclusive_ns + other.inclusive_ns,
    )


def calls_unknown(profiles: Sequence[Profile]) -> list[str]:
    """Return what to say where some profiles have calls and others have none."""
    ran = [one for one in profiles if any(f.cells for f in one.functions)]
    without = sum(not one.calls.nodes for one in ran)
    if not 0 < without < len(ran):
        return []
    some = f"{without} of the {len(ran)} merged profiles"
    have = "has" if without == 1 else "have"
    return [f"{some} {have} no call tree: who called whom is told of the others alone"]


def waits_of(profiles: Sequence[Profile]) -> tuple[Wait, ...]:
    """Return all waits, with the threads' indexes moved on, and added up."""
    sums: dict[tuple[Key, int, int, str], int] = {}
    for profile, by in _shifts(profiles):
        for one in profile.waits:
            place = (one.function, one.line, _moved(one.thread, by), one.cause)
            sums[place] = sums.get(place, 0) + one.ns
    return tuple(
        [
            Wait(function=function, line=line, thread=thread, cause=cause, ns=ns)
            for (function, line, thread, cause), ns in sums.items()
        ]
    )


def own_times_of(profiles: Sequence[Profile]) -> tuple[OwnTime, ...]:
    """Return all own times of lines in the same way."""
    sums: dict[tuple[Key, int, int, str], int] = {}
    for profile, by in _shifts(profiles):
        for one in profile.own_times:
            place = (one.function, one.line, _moved(one.thread, by), one.part)
            sums[place] = sums.get(place, 0) + one.ns
    return tuple(
        [
            OwnTime(function=function, line=line, thread=thread, part=part, ns=ns)
            for (function, line, thread, part), ns in sums.items()
        ]
    )


def traces_of(profiles: Sequence[Profile]) -> tuple[Trace, ...]:
    """Return all traces, with the indexes of processes and threads moved on."""
    traces: list[Trace] = []
    processes = 0
    for profile, by in _shifts(profiles):
        traces += [
            replace(
                one,
                process=one.process + processes,
                threads=tuple([_moved(thread, by) for thread in one.threads]),
            )
            for one in profile.traces
        ]
        processes += len(profile.processes)
    return tuple(traces)
