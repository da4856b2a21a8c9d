"""A profile for the module pstats, SnakeViz and gprof2dot: functions and callers.

The file is what ``cProfile.Profile.dump_stats`` writes: a marshalled dict from
(file, line, name) to (primitive calls, calls, own time, time with callees,
callers), and callers is one from such a triple to (calls, primitive calls, the
two times). Times are floats in seconds.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING

from lineprof.errors import printable
from lineprof.export.stacks import remarks_of_calls
from lineprof.model.call_graph import function_totals
from lineprof.model.records import NO_NODE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineprof.model.profile import Profile
    from lineprof.model.records import CallTree, Key

    Numbers = tuple[int, int, float, float]

_VERSION = 4  # of marshal: all Pythons from 3.4 on read it

_NS = 1e9  # in a second

_BUILTIN = "~"  # where cProfile has functions of C

# Without any function, no reader would open the file.
_NO_FUNCTION = (_BUILTIN, 0, "<nothing was measured>")


def content(stats: Profile) -> Iterator[bytes]:
    """Yield the file of `stats`, in which lines are no more."""
    callers = _callers(stats.calls)
    whole = {}
    for key, one in function_totals(stats).items():
        whole[_place(key)] = (
            *(one.primitive_calls, one.calls, one.self_ns / _NS, one.total_ns / _NS),
            {_place(caller): n for caller, n in callers.get(key, {}).items()},
        )
    if not whole:
        whole[_NO_FUNCTION] = (0, 0, 0.0, 0.0, {})
    yield marshal.dumps(whole, _VERSION)


def _callers(tree: CallTree) -> dict[Key, dict[Key, Numbers]]:
    """Return the numbers of each function from each of its callers."""
    sums: dict[Key, dict[Key, list[int]]] = {}
    for node in tree.nodes:
        if node.parent == NO_NODE:
            continue
        caller = tree.nodes[node.parent].function
        mine = sums.setdefault(node.function, {}).setdefault(caller, [0, 0, 0, 0])
        mine[0] += node.calls
        mine[1] += node.primitive_calls
        mine[2] += node.self_ns
        mine[3] += node.total_ns
    return {
        key: {
            caller: (calls, primitive, own / _NS, total / _NS)
            for caller, (calls, primitive, own, total) in found.items()
        }
        for key, found in sums.items()
    }


def _place(key: Key) -> Key:
    """Return a function as cProfile names it: for those of C ``<name>``."""
    file, line, name = key
    if not file:
        return (_BUILTIN, 0, f"<{_shown(name)}>")
    return (_shown(file), line, _shown(name))


def _shown(text: str) -> str:
    """Return `text` so that pstats can print it: it does so as it is."""
    return printable(text).encode("utf-8", "backslashreplace").decode()


def remarks(stats: Profile) -> Iterator[str]:
    """Yield what the file does not say itself."""
    yield from remarks_of_calls(stats)
    if stats.gpu.sums:
        yield "GPU time is not in it: pstats has no place for it"
