"""The rows of a profile's file that hold calls and waits."""

from __future__ import annotations

from lineprof.call_records import NO_NODE
from lineprof.records import UNKNOWN_THREAD
from lineprof.store_schema import CALL_FUNCTIONS, CALL_NODES, OWN_TIMES, WAITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lineprof.records import Key
    from lineprof.stats import Profile
    from lineprof.store_schema import Table

    Row = Iterable[object]


def function_ids(stats: Profile) -> dict[Key, int]:
    """Return the ids of the profile's functions, and then of those it only names.

    They are called, waited in or traced, and no function whose lines are known:
    those of C, above all.
    """
    keys = dict.fromkeys([function.key for function in stats.functions])
    keys.update(dict.fromkeys([node.function for node in stats.calls.nodes]))
    keys.update(dict.fromkeys([wait.function for wait in stats.waits]))
    keys.update(dict.fromkeys([one.function for one in stats.own_times]))
    for trace in stats.traces:
        keys.update(dict.fromkeys(trace.functions))
    return {key: index for index, key in enumerate(keys)}


def tables(stats: Profile) -> Iterator[tuple[Table, Iterable[Row]]]:
    """Yield each table of calls with its rows.

    IndexError when they speak of a thread or a node that there is not.
    """
    ids = function_ids(stats)
    named = list(ids.items())[len(stats.functions) :]
    yield CALL_FUNCTIONS, ((i, file, name, line) for (file, line, name), i in named)
    yield CALL_NODES, _nodes(stats, ids)
    yield WAITS, _waits(stats, ids)
    if stats.own_times:
        yield OWN_TIMES, _own_times(stats, ids)


def _thread(place: int, stats: Profile) -> int | None:
    """Return the id of a thread; NULL where it is not known."""
    if place == UNKNOWN_THREAD:
        return None
    if not 0 <= place < len(stats.threads):
        raise IndexError(f"there is no thread {place} in the profile")
    return place


def _nodes(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for index, node in enumerate(stats.calls.nodes):
        if not NO_NODE <= node.parent < index:
            raise IndexError(f"{node} stands before its parent")
        yield (
            index,
            None if node.parent == NO_NODE else node.parent,
            ids[node.function],
            node.line,
            _thread(node.thread, stats),
            node.calls,
            node.primitive_calls,
            node.self_ns,
            node.total_ns,
            node.inclusive_ns,
        )


def _waits(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for wait in stats.waits:
        thread = _thread(wait.thread, stats)
        yield (ids[wait.function], wait.line, thread, wait.cause, wait.ns)


def _own_times(stats: Profile, ids: Mapping[Key, int]) -> Iterator[Row]:
    for one in stats.own_times:
        thread = _thread(one.thread, stats)
        yield (ids[one.function], one.line, thread, one.part, one.ns)
