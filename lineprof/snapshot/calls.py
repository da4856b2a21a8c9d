"""The call tree, and times of its nodes that add up exactly to those of the lines.

In ticks, and in the measured cost of measuring, all sums hold (see `CallTree`). In ns
each number is rounded by itself; and where more cost was taken off than there was
time, a number becomes 0, but the sums that it is part of do not. So the times of nodes
are computed from the callees to their callers, and from the times of lines, such that:

- the nodes of a function have, together, the inclusive time of its lines;
- no node and no line takes less than its callees. One that would gets more: as little
  as possible, and only if the clock measured so much of it;
- the self time of a node or a line is the rest.

A function stands on a call path once, and calls of it further down are leaves there;
their callees are below the first. So the self time of the first node is that of all
these nodes, less what is below the first, and is divided as it was measured. A node
with calls whose paths were not kept shares that time with its deeper calls.

The arithmetic is in csrc/arithmetic/call_times.c.
"""

from __future__ import annotations

from array import array
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from lineprof.model.records import (
    DEEPER,
    NO_CALLS,
    NO_NODE,
    NODE_COLUMNS,
    CallNodes,
    CallTree,
    MergedCall,
)
from lineprof.snapshot.arithmetic import call_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lineprof.model.records import FunctionStats, Key
    from lineprof.snapshot.profile import TickScale

    RawTree = tuple[int, bytes]  # merged calls, nodes

_NOT_SHOWN = -1
# Flags of functions, as in csrc/arithmetic/call_times.h.
_SEVERAL = 1  # it has several code objects
_OF_C = 2
_ONCE = 4  # it is among the functions with lines, and never recursed
_RECURSED = 8  # the same, but it did


# Numbers of a packed node, as lp_call_row there; ticks, and costs in parts of a tick.
NODE_ROW = (
    "parent",  # index of the caller's node, or NO_NODE
    "line",  # of the caller
    "serial",  # of the code object
    "thread",  # the core's number
    *("calls", "primitive_calls"),
    *("self_ticks", "self_cost", "total_ticks", "total_cost"),
    *("inclusive_ticks", "inclusive_cost"),
    "kind",  # as lp_node_kind in csrc/record/call_tree.h
)
_TICKS = ("self_ticks", "total_ticks", "inclusive_ticks")
_TIMES = attrgetter("line", "thread", "time_ns", "raw_ns")


def tree_of(
    raw: RawTree,
    keys: Mapping[int, Key],
    place_of: Callable[[int], int],
    scale: TickScale,
    functions: Sequence[FunctionStats] = (),
) -> tuple[CallTree, Sequence[FunctionStats]]:
    """Return the call tree in the result of ``Tracer.snapshot``, and `functions`.

    `keys` has the functions that are shown, C functions included, by the serials of
    their code objects; `place_of` returns a thread's index by the core's number;
    `functions` are the profile's, which the nodes' times are made to fit. A line that
    would take less than its callees gets more. The nodes are packed, as
    ``array("q")`` has the numbers of `NODE_ROW` of each.
    """
    folded, nodes = raw
    if not nodes:
        return NO_CALLS, functions
    table = _FunctionTable(keys, functions)
    columns, totals, more, merged = call_times(
        nodes,
        table.of_serials,
        table.flags,
        table.spans(functions),
        _packed_lines(functions),
        place_of,
        (scale.ns_per_tick, scale.cost_one, scale.cost_share),
    )
    numbers_of_nodes = tuple([array("q", column) for column in columns])
    called = numbers_of_nodes[NODE_COLUMNS.index("function")]
    # (Of a program that runs, merged calls may be read before deeper ones.)
    has_deeper = folded or len(table.functions) in called
    tree = CallTree(
        nodes=CallNodes(
            (*table.functions, DEEPER) if has_deeper else table.functions,
            numbers_of_nodes,
        ),
        folded=folded,
        merged=_merged_calls(table.functions, merged),
    )
    indexes = map(table.indexes.__getitem__, [one.key for one in functions])
    all_totals = array("q", totals)
    return tree, _with_more(
        functions, [all_totals[index] for index in indexes], array("q", more)
    )


def max_node_ticks(nodes: bytes) -> int:
    """Return the longest time of a node in packed ones, in ticks; 0 without nodes."""
    return max_of_columns(nodes, NODE_ROW, _TICKS)


def max_of_columns(rows: bytes, names: Sequence[str], some: Sequence[str]) -> int:
    """Return the greatest absolute number in `some` columns of packed rows, or 0.

    `names` are those of all columns.
    """
    numbers = array("q", rows)
    columns = [numbers[names.index(name) :: len(names)] for name in some]
    ends = [end for one in columns if one for end in (min(one), max(one))]
    return max(map(abs, ends), default=0)


def _merged_calls(
    functions: Sequence[Key], columns: Iterable[bytes]
) -> tuple[MergedCall, ...]:
    """Return the records of merged calls."""
    found = []
    for caller, line, called, *rest in zip(*[array("q", one) for one in columns]):
        key = None if caller == NO_NODE else functions[caller]
        found.append(MergedCall(key, line, functions[called], *rest))
    return tuple(found)


def of_c(c_functions: Iterable[tuple[int, str]]) -> dict[int, Key]:
    """Return the keys of C functions, which have no file and no line, by serial."""
    return {serial: ("", 0, name) for serial, name in c_functions}


def remarks(tree: CallTree) -> list[str]:
    """Return warnings for a report that shows `tree`."""
    if not tree.folded:
        return []
    return [
        (
            f"there were more call paths than are kept: {tree.folded} calls have the"
            " right caller and line everywhere, but --tree and flame graphs show them"
            f" as {DEEPER[2]!r} of the last function on their path that is kept;"
            " profile fewer functions (--include, --exclude) to see each path"
        )
    ]


class _FunctionTable:
    """All functions of a profile, by their indexes."""

    def __init__(
        self, keys: Mapping[int, Key], functions: Iterable[FunctionStats]
    ) -> None:
        self.indexes: dict[Key, int] = {}
        self.flags = array("q")
        self.of_serials = array("i", [_NOT_SHOWN]) * (max(keys, default=-1) + 1)
        for serial, key in keys.items():
            known = len(self.indexes)
            index = self.of_serials[serial] = self._index(key)
            if index < known:
                self.flags[index] |= _SEVERAL
        for one in functions:
            recursed = one.recursive_ns is not None
            self.flags[self._index(one.key)] |= _RECURSED if recursed else _ONCE
        self.functions = tuple(self.indexes)

    def _index(self, key: Key) -> int:
        index = self.indexes.setdefault(key, len(self.indexes))
        if index == len(self.flags):
            self.flags.append(0 if key[0] else _OF_C)
        return index

    def spans(self, functions: Iterable[FunctionStats]) -> array[int]:
        """Return the index of each function and the number of its lines, packed."""
        return array(
            "q",
            [
                number
                for function in functions
                for number in (self.indexes[function.key], len(function.thread_lines))
            ],
        )


def _packed_lines(functions: Iterable[FunctionStats]) -> array[int]:
    """Return (line, thread, ns, raw ns) of the lines of all functions."""
    lines = chain.from_iterable([one.thread_lines for one in functions])
    return array("q", chain.from_iterable(map(_TIMES, lines)))


def _with_more(
    functions: Sequence[FunctionStats], totals: Sequence[int], more: array[int]
) -> list[FunctionStats]:
    """Return the functions with the time that their lines are to get, and totals.

    `totals` has one for each function, below 0 if it is not known from the calls;
    `more` has a number of ns for each line of all functions.
    """
    found = []
    start = 0
    for function, total in zip(functions, totals):
        end = start + len(function.thread_lines)
        if function.recursive_ns is not None and total >= 0:
            function = function._replace(recursive_ns=total)  # noqa: PLW2901
        if any(more[start:end]):
            lines = [
                line._replace(time_ns=line.time_ns + ns) if ns else line
                for line, ns in zip(function.thread_lines, more[start:end])
            ]
            function = function._replace(thread_lines=tuple(lines))  # noqa: PLW2901
        found.append(function)
        start = end
    return found
