"""Reading the calls of a profile's file, which anyone may have made or damaged."""

from __future__ import annotations

from lineprof.call_records import NO_NODE, CallNode, CallTree
from lineprof.own_records import PARTS, OwnTime
from lineprof.records import UNKNOWN_THREAD
from lineprof.store_rows import Damaged, known, natural, rows_of
from lineprof.store_schema import CALL_FUNCTIONS, CALL_NODES, OWN_TIMES, WAITS
from lineprof.wait_records import CAUSES, OTHER, Wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping

    from lineprof.records import Key

    Places = Mapping[object, int]


def named_functions(
    db: sqlite3.Connection, keys: Mapping[object, Key]
) -> dict[object, Key]:
    """Return what tells functions from each other, by their ids.

    These are `keys`, and the functions that calls, waits and traces alone name.
    """
    named = dict(keys)
    for index, file, name, line in rows_of(db, CALL_FUNCTIONS):
        if index in named:
            raise Damaged(f"there are two functions {index}")
        named[index] = (file, line, name)
    return named


def calls_of(
    db: sqlite3.Connection,
    keys: Mapping[object, Key],
    threads: Places,
    folded: int,
) -> CallTree:
    """Return the call tree in an open and checked database; Damaged if it is.

    `keys` and `threads` have the functions, and the indexes of the others, by
    their ids; `folded` is the tree's.
    """
    natural([folded], "a call tree")
    return CallTree(tuple(_nodes(db, keys, threads)), folded)


def _nodes(
    db: sqlite3.Connection, keys: Mapping[object, Key], threads: Places
) -> Iterator[CallNode]:
    found = {None: UNKNOWN_THREAD, **threads}
    placed: dict[object, tuple[int, object]] = {}  # index and thread of those before
    for place, row in enumerate(rows_of(db, CALL_NODES)):
        index, parent, function, line, thread, calls, primitive, *times = row
        own, total, inclusive = times
        above = NO_NODE
        if parent is not None:
            above, its_thread = known(placed, parent, "node before its child, called")
            if its_thread != thread:
                raise Damaged(f"node {index} has another thread than node {parent}")
        if line < 0 or min(calls, primitive, *times) < 0:
            raise Damaged(f"node {index} has a number below 0")
        placed[index] = (place, thread)
        yield CallNode(
            parent=above,
            line=line,
            function=known(keys, function, "function"),
            thread=known(found, thread, "thread"),
            calls=calls,
            primitive_calls=primitive,
            self_ns=own,
            total_ns=total,
            inclusive_ns=inclusive,
        )


def waits_of(
    db: sqlite3.Connection, keys: Mapping[object, Key], threads: Places
) -> tuple[Wait, ...]:
    """Return the waits in an open and checked database; Damaged if they are.

    Of a cause that only a later version knows, nothing is known here.
    """
    found = {None: UNKNOWN_THREAD, **threads}
    sums: dict[tuple[Key, int, int, str], int] = {}
    for function, line, thread, cause, ns in rows_of(db, WAITS):
        natural([line, ns], "a wait")
        key = known(keys, function, "function")
        reason = cause if cause in CAUSES else OTHER
        place = (key, line, known(found, thread, "thread"), reason)
        sums[place] = sums.get(place, 0) + ns
    return tuple(
        [
            Wait(function=function, line=line, thread=thread, cause=cause, ns=ns)
            for (function, line, thread, cause), ns in sums.items()
        ]
    )


def own_times_of(
    db: sqlite3.Connection, keys: Mapping[object, Key], threads: Places
) -> tuple[OwnTime, ...]:
    """Return what lines were themselves; Damaged if that is.

    Parts that only a later version knows are left out.
    """
    found = {None: UNKNOWN_THREAD, **threads}
    times: list[OwnTime] = []
    for function, line, thread, part, ns in rows_of(db, OWN_TIMES):
        natural([line, ns], "an own time")
        key = known(keys, function, "function")
        place = known(found, thread, "thread")
        if part in PARTS:
            times.append(
                OwnTime(function=key, line=line, thread=place, part=part, ns=ns)
            )
    return tuple(times)
