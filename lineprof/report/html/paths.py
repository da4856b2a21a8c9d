"""Call paths of the HTML report, as columns for its scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineprof.model.call_graph import with_children
from lineprof.model.relation import NONE

if TYPE_CHECKING:
    from collections.abc import Iterable

    Table = dict[str, list[int | str]]  # columns of the same length, by name


class Paths:
    """Call paths with their calls and own times, callers before callees."""

    def __init__(self) -> None:
        # By the caller's path (NONE: none), the line of the call, and the function.
        self._indexes: dict[tuple[int, int, int], int] = {}
        self._calls: list[int] = []
        self._self_ns: list[int] = []

    def add(self, path: tuple[int, int, int], calls: int = 0, self_ns: int = 0) -> int:
        """Add calls and own time (ns) to those of a path, and return its index."""
        index = self._indexes.setdefault(path, len(self._indexes))
        if index == len(self._calls):
            self._calls.append(0)
            self._self_ns.append(0)
        self._calls[index] += calls
        self._self_ns[index] += self_ns
        return index

    def sums(self, paths: Iterable[int], numbers: Iterable[int]) -> list[int]:
        """Return the sum of each path: `numbers` are those of the indexes `paths`."""
        totals = [0] * len(self._calls)
        for path, number in zip(paths, numbers):
            totals[path] += number
        return totals

    def not_below(self, times: Iterable[int]) -> list[int | str]:
        """Return the part of each path's time (ns) that no path at or below it has.

        Calls deeper than a profile goes have no times: they are this part of their
        caller's.
        """
        parents = [parent for parent, _, _ in self._indexes]
        below = with_children(self._self_ns, parents)
        return [
            0 if function == NONE else ns - ns_below
            for (_, _, function), ns, ns_below in zip(self._indexes, times, below)
        ]

    def table(self) -> Table:
        """Return the paths as columns."""
        return {
            "parent": [parent for parent, _, _ in self._indexes],
            "line": [line for _, line, _ in self._indexes],
            "function": [function for _, _, function in self._indexes],
            "calls": [*self._calls],
            "self": [*self._self_ns],
        }
