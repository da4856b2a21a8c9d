"""Profiles for the module pstats, SnakeViz and gprof2dot: functions and callers.

The file is like that of ``cProfile.Profile.dump_stats``: a marshalled dict from
(file, line, name) to (primitive calls, calls, self time, total time, callers), where
callers is a dict from (file, line, name) to (calls, primitive calls, self time, total
time). Times are floats in seconds.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING

from lineprof.errors import printable, without_surrogates
from lineprof.export.stacks import calls_between, remarks_of_calls, remarks_of_memory
from lineprof.model.call_graph import function_totals, sum_of_nodes
from lineprof.model.records import DEEPER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from lineprof.model.profile import Profile
    from lineprof.model.records import CallNode, CallTree, Key, MergedCall

    CallerNumbers = tuple[int, int, float, float]

_MARSHAL_VERSION = 4  # all Pythons from 3.4 on read it

_SECOND = 1e9  # ns

_BUILTIN = "~"  # cProfile's file of C functions

# No reader opens a file without functions.
_NO_FUNCTION = (_BUILTIN, 0, "<nothing was measured>")


def content(profile: Profile) -> Iterator[bytes]:
    """Yield the file: totals of functions, without their lines."""
    callers = _callers(profile.calls)
    functions = {}
    for key, totals in function_totals(profile).items():
        functions[_place(key)] = (
            totals.primitive_calls,
            totals.calls,
            totals.self_ns / _SECOND,
            totals.total_ns / _SECOND,
            {_place(caller): n for caller, n in callers.get(key, {}).items()},
        )
    if not functions:
        functions[_NO_FUNCTION] = (0, 0, 0.0, 0.0, {})
    yield marshal.dumps(functions, _MARSHAL_VERSION)


def _callers(tree: CallTree) -> dict[Key, dict[Key, CallerNumbers]]:
    """Return the numbers of each function from each of its callers."""
    groups: dict[Key, dict[Key, list[CallNode | MergedCall]]] = {}
    for caller, one in calls_between(tree):
        if one.function != DEEPER:
            groups.setdefault(one.function, {}).setdefault(caller, []).append(one)
    return {
        key: {caller: _caller_numbers(group) for caller, group in callers.items()}
        for key, callers in groups.items()
    }


def _caller_numbers(nodes: Collection[CallNode | MergedCall]) -> CallerNumbers:
    """Return the numbers of one function from one caller, as cProfile orders them."""
    one = sum_of_nodes(nodes)
    return one.calls, one.primitive_calls, one.self_ns / _SECOND, one.total_ns / _SECOND


def _place(key: Key) -> Key:
    """Return a function's key in cProfile's form; a C function is ``<name>``."""
    file, line, name = key
    if not file:
        return (_BUILTIN, 0, f"<{_shown(name)}>")
    return (_shown(file), line, _shown(name))


def _shown(text: str) -> str:
    """Return `text` with escapes, as pstats prints it unchanged."""
    return without_surrogates(printable(text))


def remarks(profile: Profile) -> Iterator[str]:
    """Yield how the file differs from the profile."""
    yield from remarks_of_calls(profile)
    if profile.gpu.sums:
        yield "GPU time is left out: pstats has no place for it"
    yield from remarks_of_memory(profile, "pstats has no place for it")
