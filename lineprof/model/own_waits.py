"""Waits of lines themselves, without the waits of profiled functions that they called.

A profile has the waits of a line with its callees. The part of a callee follows if the
line alone calls it; else it lies between bounds, and so does the line's own wait. With
``--split`` the profile has own waits.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from lineprof.model.call_graph import edges, line_self_ns
from lineprof.model.records import WAIT

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from lineprof.model.call_graph import CallSite, Edge, Line
    from lineprof.model.profile import Profile
    from lineprof.model.records import Key

    Causes = dict[str, int]  # ns by cause

_ALL = ""  # key in `Causes` of the sum

_SAME = 100  # two bounds are one number if they differ by less than 1/100


class OwnWait(NamedTuple):
    """The time (ns) that a line itself waited, between two bounds."""

    min_ns: int
    max_ns: int
    cause: str = ""  # of at least half of `max_ns`, if any

    @property
    def is_known(self) -> bool:
        """Whether the bounds are one number, to 1 %."""
        return (self.max_ns - self.min_ns) * _SAME <= self.max_ns


def own_waits(profile: Profile, lines: Collection[Line]) -> dict[Line, OwnWait]:
    """Return the own wait of each of `lines`; {} if the profile has no waits."""
    if not profile.waits:
        return {}
    waits = _OwnWaits(profile, edges(profile.calls))
    return {line: waits.own(line) for line in lines}


def min_waits(
    profile: Profile, lines: Collection[Line], every: Sequence[Edge]
) -> dict[Line, Causes]:
    """Return the time (ns) by cause that each of `lines` waited itself, at least.

    C functions that the line called count as part of it. Causes without any such time
    are left out. `every` has the edges of the profile's calls.
    """
    if not lines or not profile.waits:
        return {}
    waits = _OwnWaits(profile, every)
    return {line: waits.least(line) for line in lines}


class _OwnWaits:
    """The waits and calls of a profile, by line."""

    def __init__(self, profile: Profile, every: Sequence[Edge]) -> None:
        self._profile = profile
        self._every = every
        self._waits: dict[Line, Causes] = defaultdict(lambda: defaultdict(int))
        self._of_functions: dict[Key, Causes] = defaultdict(lambda: defaultdict(int))
        for wait in profile.waits:
            of_function = self._of_functions[wait.function]
            for sums in (self._waits[wait.function, wait.line], of_function):
                for cause in (_ALL, wait.cause):
                    sums[cause] += wait.ns
        self._split: dict[Line, int] = defaultdict(int)
        for one in profile.breakdowns:
            if one.part == WAIT:
                self._split[one.function, one.line] += one.ns
        self._is_split = bool(profile.breakdowns)
        self._from: dict[CallSite, list[Edge]] = defaultdict(list)
        self._into_ns: dict[Key, int] = defaultdict(int)
        for edge in every:
            self._into_ns[edge.callee] += edge.inclusive_ns
            self._from[edge.caller, edge.line].append(edge)
        self._recursive = {edge.callee for edge in every if edge.recurses}

    @cached_property
    def _self_ns(self) -> dict[Key, dict[int, int]]:
        return line_self_ns(self._profile, self._every)

    def own(self, line: Line) -> OwnWait:
        """Return the own wait of a line."""
        key, number = line
        causes = self._waits.get(line, {})
        bounds = {cause: self._bounds(line, cause) for cause in causes}
        min_ns, max_ns = bounds.pop(_ALL, (0, 0))
        if self._is_split:
            min_ns = max_ns = self._split.get(line, 0)
        max_ns = min(max_ns, self._self_ns.get(key, {}).get(number, 0))
        most = max(bounds, key=lambda cause: bounds[cause][1], default="")
        if not max_ns or (most and 2 * bounds[most][1] < max_ns):
            most = ""
        return OwnWait(min_ns=min(min_ns, max_ns), max_ns=max_ns, cause=most)

    def _bounds(self, line: Line, cause: str) -> tuple[int, int]:
        """Return the bounds of a line's own wait for one cause (ns)."""
        whole = self._waits[line][cause]
        parts = [self._part(edge, cause) for edge in self._from.get(line, ())]
        most = sum(part[1] for part in parts)
        least = sum(part[0] for part in parts)
        return max(0, whole - most), max(0, whole - least)

    def _part(self, edge: Edge, cause: str) -> tuple[int, int]:
        """Return the bounds of the wait (ns) in the calls of one edge."""
        if not edge.callee[0]:  # a C function: what it waited has no lines
            return 0, edge.inclusive_ns
        waited = self._of_functions.get(edge.callee, {}).get(cause, 0)
        most = min(waited, edge.inclusive_ns)
        if edge.callee in self._recursive:  # its lines count inner calls again
            return 0, most
        elsewhere_ns = self._into_ns[edge.callee] - edge.inclusive_ns
        return min(most, max(0, waited - elsewhere_ns)), most

    def least(self, line: Line) -> Causes:
        """Return how long a line waited by cause, without Python functions' waits."""
        found: Causes = {}
        for cause, ns in self._waits.get(line, {}).items():
            of_callees = sum(
                self._most_of(edge, cause) for edge in self._from.get(line, ())
            )
            if cause != _ALL and ns > of_callees:
                found[cause] = ns - of_callees
        return found

    def _most_of(self, edge: Edge, cause: str) -> int:
        """Return how long Python functions waited in the calls of one edge, at most."""
        if edge.callee[0]:
            return self._part(edge, cause)[1]
        most, todo, seen = 0, [edge.callee], {edge.callee}
        while todo:
            key = todo.pop()
            for one in self._from.get((key, 0), ()):
                if one.callee[0]:
                    most += self._part(one, cause)[1]
                elif one.callee not in seen:
                    seen.add(one.callee)
                    todo.append(one.callee)
        return min(most, edge.inclusive_ns)
